"""Generators of sample events: benchmark streams, stock trades and clicks.

The results depend only on the arguments, the seed and the NumPy version. From a terminal: ``python
-m cepkit.stream.generators stocks --events 2000 --out stocks.csv``.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from cepkit.errors import FileError
from cepkit.files import CSV, PARQUET, check_target, whole_file
from cepkit.stream.clicks import click_events as click_events

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_MONDAY = np.datetime64("2024-03-04", "us").astype(np.int64)
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND

_TIE_SHARE = 0.09
"""The share of events with the time of the one before, in `zipf_events`."""
_FIXED_WEIGHTS = (100, 100)
_MEAN_GAP = 5_000
"""The mean microseconds from an event to the next, in `drifting_events`."""


def zipf_events(
    n: int,
    *,
    types: int = 50,
    mean_gap_ms: float = 5.0,
    keys: int = 1000,
    seed: int = 0,
) -> pa.Table:
    """Return the benchmark stream: many types, from very frequent to rare, without drift.

    Args:
        n: The number of events.
        types: The number of types: T01, T02, ... The rate of rank r is proportional to 1 / r.
        mean_gap_ms: The mean milliseconds from an event to the next.
        keys: The number of keys.
        seed: The seed of the random generator.

    Returns:
        Columns ts (timestamp, UTC), type (text), price (uniform over 0 to 100), diff (standard
        normal), key (integer, uniform over 0 to keys - 1), in order of time.

    Example:
        >>> from cepkit.stream.generators import zipf_events
        >>> zipf_events(3, types=2).column("type").to_pylist()
        ['T01', 'T02', 'T01']
    """
    rng = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, types + 1)
    width = len(str(types))
    names = [f"T{rank:0{max(2, width)}}" for rank in range(1, types + 1)]
    gaps = rng.exponential(mean_gap_ms * 1000 / (1 - _TIE_SHARE), n)
    ticks: Integers = np.maximum(1, np.rint(gaps)).astype(np.int64)
    ticks[rng.random(n) < _TIE_SHARE] = 0
    codes = rng.choice(types, size=n, p=weights / weights.sum()).astype(np.int32)
    return pa.table(
        {
            "ts": _timestamps(_MONDAY + np.cumsum(ticks)),
            "type": _texts(codes, names),
            "price": rng.uniform(0, 100, n),
            "diff": rng.standard_normal(n),
            "key": rng.integers(0, keys, n),
        }
    )


def drifting_events(
    n: int,
    *,
    weights: Sequence[float] = (1, 100, 100, 100),
    segment: int = 100_000,
    drift: Literal["sudden", "slow", "periodic"] = "sudden",
    noise: float = 0.0,
    seed: int = 0,
) -> pa.Table:
    """Return a stream whose types change their rates: a rare type may become frequent.

    Args:
        n: The number of events.
        weights: The weights of the types T1, T2, ..., permuted in each segment. The types O1 and
            O2 have fixed weights.
        segment: The number of events of a segment.
        drift: "sudden": the weights change at once; "slow": they change linearly over a segment;
            "periodic": they change at once, and each type takes the weight of the next one.
        noise: The standard deviation of the logarithm of each weight, in each twentieth of a
            segment.
        seed: The seed of the random generator.

    Returns:
        Columns ts (timestamp, UTC), type (text), diff (standard normal), in order of time.

    Example:
        >>> from cepkit.stream.generators import drifting_events
        >>> drifting_events(3).column_names
        ['ts', 'type', 'diff']
    """
    rng = np.random.default_rng(seed)
    names = [f"T{i + 1}" for i in range(len(weights))]
    names += [f"O{i + 1}" for i in range(len(_FIXED_WEIGHTS))]
    codes = np.empty(n, dtype=np.int32)
    current = np.array(weights, dtype=np.float64)
    step = max(1, segment // 20)
    for begin in range(0, n, segment):
        before = current
        current = np.roll(before, 1) if drift == "periodic" else rng.permutation(current)
        before = current if begin == 0 else before
        for first in range(begin, min(begin + segment, n), step):
            size = min(step, n - first)
            part = (first - begin) / segment if drift == "slow" else 1.0
            now = before + (current - before) * part
            if noise:
                now = now * np.exp(rng.normal(0, noise, len(now)))
            shares = np.concatenate((now, _FIXED_WEIGHTS))
            codes[first : first + size] = rng.choice(len(shares), size, p=shares / shares.sum())
    gaps = np.maximum(1, np.rint(rng.exponential(_MEAN_GAP, n))).astype(np.int64)
    return pa.table(
        {
            "ts": _timestamps(_MONDAY + np.cumsum(gaps)),
            "type": _texts(codes, names),
            "diff": rng.standard_normal(n),
        }
    )


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


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a generated stream to a CSV or Parquet file.

    Args:
        arguments: The arguments of the command line; None for those of the process.
    """
    parser = argparse.ArgumentParser(
        prog="python -m cepkit.stream.generators", description="Write a generated stream to a file."
    )
    parser.add_argument("stream", choices=("stocks", "clicks", "zipf"))
    parser.add_argument("--events", type=int, default=200_000, help="how many (default 200000)")
    parser.add_argument("--seed", type=int, default=7, help="of the random generator (default 7)")
    parser.add_argument(
        "--per-day", type=int, help="stocks: how many events a day has (default 200000)"
    )
    parser.add_argument("--out", required=True, help="a .csv or .parquet file")
    parser.add_argument("--overwrite", action="store_true", help="replace --out where it exists")
    options = parser.parse_args(arguments)
    if options.events < 0 or (options.per_day is not None and options.per_day < 1):
        parser.error("--events must not be negative, --per-day must be positive")
    try:
        target = check_target(
            options.out, PARQUET, CSV, overwrite=options.overwrite, option="--overwrite"
        )
        _write(_generated(options), target, overwrite=options.overwrite)
    except FileError as error:
        parser.error(str(error))


def _generated(options: argparse.Namespace) -> pa.Table:
    match options.stream:
        case "zipf":
            return zipf_events(options.events, seed=options.seed)
        case "clicks":
            return click_events(options.events, seed=options.seed)
        case _:
            return stock_events(options.events, seed=options.seed, events_per_day=options.per_day)


def _write(table: pa.Table, target: Path, *, overwrite: bool) -> None:
    with whole_file(target, overwrite=overwrite) as file:
        if target.suffix.casefold() in PARQUET.endings:
            pa_parquet.write_table(table, file)
            return
        # Arrow would quote the names.
        file.write((",".join(table.column_names) + "\n").encode())
        no_quotes = pa_csv.WriteOptions(include_header=False, quoting_style="none")
        pa_csv.write_csv(table, file, no_quotes)


if __name__ == "__main__":
    main()
