"""A generator of sample events: stock trades.

The results depend only on the arguments, the seed and the NumPy version.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_MONDAY = np.datetime64("2024-03-04", "us").astype(np.int64)
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND


@dataclass(frozen=True, slots=True)
class Ticker:
    """A stock of `stock_events`.

    Attributes:
        name: Its ticker.
        share: Its share of the trades; shares are scaled to 1.
        level: The price around which it walks.
        morning: The slope of its rate from the opening, if positive the busier end, to the close;
            between -1 and 1.
    """

    name: str
    share: float
    level: float
    morning: float


TICKERS = (
    Ticker("MSFT", 0.170, 30.1, 0.6),
    Ticker("INTC", 0.150, 21.0, -0.5),
    Ticker("GOOG", 0.120, 30.0, -0.4),
    Ticker("CSCO", 0.115, 24.5, 0.2),
    Ticker("AMZN", 0.095, 33.0, 0.5),
    Ticker("ORCL", 0.085, 20.5, 0.0),
    Ticker("QCOM", 0.075, 38.0, -0.6),
    Ticker("YHOO", 0.065, 28.0, 0.7),
    Ticker("EBAY", 0.055, 26.5, -0.2),
    Ticker("NVDA", 0.045, 25.0, 0.4),
    Ticker("DELL", 0.022, 20.0, 0.0),
    Ticker("AAPL", 0.003, 29.65, -0.3),
)

# A session in minutes after midnight UTC: 9:30 to 16:00 in New York, in winter.
_OPEN, _MINUTES = 14 * 60 + 30, 390
_CLOCK_TICK = 10_000  # microseconds; a coarse clock makes ties
_BURSTS = 18


def stock_events(n: int = 200_000, *, seed: int = 7, events_per_day: int | None = None) -> pa.Table:
    """Return stock trades: skewed rates that drift over the day, bursts, prices that walk.

    The market is busy at the opening and at the close; some tickers trade mostly in the
    morning, others in the afternoon; now and then one has a burst of some minutes. A price
    walks at random around its level and returns to it by the next opening. AAPL is rare, and
    MSFT, GOOG and AAPL cost about the same.

    Args:
        n: The number of events.
        seed: The seed of the random generator.
        events_per_day: The events of one day; None for 200,000. A longer stream has more days,
            without weekends, with the same rates.

    Returns:
        Columns ts (timestamp, UTC; a clock that ticks every 10 ms), ticker (text), price
        (dollars), difference (from the ticker's price before; 0 for its first), volume (shares),
        in order of time.

    Example:
        >>> from cepkit.stream.generators import stock_events
        >>> stock_events(3).column("ticker").to_pylist()
        ['ORCL', 'CSCO', 'CSCO']
    """
    rng = np.random.default_rng(seed)
    per_day = events_per_day or 200_000
    times, codes = [], []
    for day, start in enumerate(range(0, n, per_day)):
        first = _MONDAY + (day + day // 5 * 2) * _DAY
        count = min(per_day, n - start)
        # An incomplete day is as busy as a whole one, and ends early.
        day_times, day_codes = _trades(rng, per_day)
        times.append(first + day_times[:count])
        codes.append(day_codes[:count])
    ts = np.concatenate(times) if times else np.empty(0, dtype=np.int64)
    ticker = np.concatenate(codes) if codes else np.empty(0, dtype=np.int32)
    price, difference = np.zeros(n), np.zeros(n)
    for code, stock in enumerate(TICKERS):
        rows = np.flatnonzero(ticker == code)
        price[rows] = _prices(rng, stock, ts[rows])
        difference[rows[1:]] = np.round(np.diff(price[rows]), 2)
    return pa.table(
        {
            "ts": _timestamps(ts),
            "ticker": _texts(ticker, [stock.name for stock in TICKERS]),
            "price": price,
            "difference": difference,
            "volume": 100 * np.ceil(rng.lognormal(0.8, 1.0, n)).astype(np.int64),
        }
    )


def _trades(rng: np.random.Generator, count: int) -> tuple[Integers, npt.NDArray[np.int32]]:
    """Return the times after midnight of a day's trades, in order, and their tickers."""
    hour = np.linspace(-1, 1, _MINUTES)
    market = 0.7 + 0.9 * hour**2
    rates = np.array([s.share * market * (1 - s.morning * hour) for s in TICKERS])
    for _ in range(_BURSTS):
        stock, begin = rng.integers(len(TICKERS)), rng.integers(_MINUTES)
        rates[stock, begin : begin + rng.integers(1, 5)] *= rng.uniform(3, 8)
    cells = rng.choice(rates.size, size=count, p=(rates / rates.sum()).ravel())
    code, minute = np.divmod(cells, _MINUTES)
    within = rng.integers(0, 60 * _SECOND // _CLOCK_TICK, count) * _CLOCK_TICK
    ts = (_OPEN + minute) * 60 * _SECOND + within
    order = np.argsort(ts, kind="stable")
    return ts[order], code[order].astype(np.int32)


def _prices(rng: np.random.Generator, stock: Ticker, ts: Integers) -> Floats:
    """Return the ticker's price at each of its trades, to the cent."""
    price = np.empty(len(ts))
    day = ts // _DAY
    edges = np.flatnonzero(np.diff(day, prepend=-1, append=-1))
    for begin, end in itertools.pairwise(edges):
        price[begin:end] = stock.level * (1 + _walk(rng, ts[begin:end]))
    bounce = rng.normal(0, 0.004, len(ts)) * stock.level
    return np.maximum(0.01, np.round(price + bounce, 2))


def _walk(rng: np.random.Generator, ts: Integers) -> Floats:
    """Return a random walk over the session, pinned to 0 at both ends, at the given times."""
    steps = rng.normal(0, 0.0003, _MINUTES)
    walk = np.concatenate([[0.0], np.cumsum(steps)])
    grid = np.arange(_MINUTES + 1)
    walk -= walk[-1] * grid / _MINUTES
    minute: Floats = (ts % _DAY) / (60 * _SECOND) - _OPEN
    return np.asarray(np.interp(minute, grid, walk))


def _timestamps(microseconds: Integers) -> pa.Array:
    return pa.array(microseconds, pa.timestamp("us", "UTC"))


def _texts(codes: npt.NDArray[np.int32], names: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(codes, names).cast(pa.string())
