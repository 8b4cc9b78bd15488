"""Patterns over recorded stock prices, as the papers behind cepkit ask for them.

docs/sources.md says which papers LAZY, JOIN and ASEQ are. A history is the last 20 closes of a
ticker, so the window of LAZY is 20 minutes, as that of JOIN is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.datasets import nasdaq, nasdaq_skewed, trades
from cepkit.stream.stream import Stream, events

BARS = "nasdaq-minute"
TRADES = "stock-trades"

STREAMS: dict[str, Callable[[], Stream]] = {
    "bars": lambda: events(nasdaq(), time="timestamp", type="ticker"),
    "skewed bars": lambda: events(nasdaq_skewed(), time="timestamp", type="ticker"),
    "trades": lambda: events(trades(), time="ts_ms", type="ticker", unit="ms"),
}
"""The streams: minute bars of seven tickers, bars with one rare ticker, and 120,000 trades."""

FOLDERS = {"bars": BARS, "skewed bars": BARS, "trades": TRADES}


@dataclass(frozen=True)
class Case:
    """A pattern and the stream in which it is detected."""

    name: str
    stream: str
    text: str


def _aseq(name: str, structure: str, window: int) -> Case:
    text = f"PATTERN SEQ({structure}) WITHIN {window} ms"
    return Case(f"ASEQ {name}, {window:,} ms", "trades", text)


LAZY = Case(
    "LAZY SEQ-3, correlated",
    "bars",
    """PATTERN SEQ(a IN (AAPL, MSFT), b IN (ORLY, CBRL), GOOG c)
    WHERE corr(a.history, b.history) > 0.8 AND corr(b.history, c.history) > 0.8
    WITHIN 20 minutes""",
)
SKEWED = Case(
    "LAZY rare last, none fits",
    "skewed bars",
    # All bars of DRIV and MSFT are of one minute, so that SEQ of the three could not match.
    """PATTERN SEQ(AND(DRIV a, MSFT b), CBRL c)
    WHERE a.close > b.close AND b.close > c.close
    WITHIN 8 hours""",
)
JOIN_AND = Case(
    "JOIN AND-3",
    "bars",
    """PATTERN AND(MSFT m, GOOG g, AAPL a) WHERE m.difference < g.difference WITHIN 20 minutes""",
)
JOIN_NOT = Case(
    "JOIN SEQ-3 with NOT",
    "bars",
    """PATTERN SEQ(MSFT m, NOT(DRIV d), GOOG g, AAPL a)
    WHERE m.difference < g.difference AND d.difference > m.difference
    WITHIN 20 minutes""",
)
JOIN_OR = Case(
    "JOIN OR of three SEQ-3",
    "bars",
    """PATTERN OR(
      SEQ(MSFT a, GOOG b, AAPL c), SEQ(AMZN d, ORLY e, CBRL f), SEQ(DRIV g, AAPL h, AMZN i))
    WHERE a.difference < b.difference AND d.difference < e.difference
      AND g.difference < h.difference
    WITHIN 20 minutes""",
)
JOIN_KL = Case(
    "JOIN SEQ-3 with KL",
    "bars",
    """PATTERN SEQ(MSFT m, KL(GOOG g), AAPL a) WHERE m.difference < g.difference
    WITHIN 20 minutes""",
)
TRADES_KL = tuple(_aseq("q1 with KL", "DELL a, KL(IPIX b), AMAT c", w) for w in (500, 2000, 5000))
ASEQ_1 = tuple(_aseq("q1", "DELL a, IPIX b, AMAT c", w) for w in (100, 500, 2000))
ASEQ_NEXT = tuple(
    Case(f"{case.name}, next match", case.stream, f"{case.text} STRATEGY skip-till-next-match")
    for case in (
        _aseq("q1", "DELL a, IPIX b, AMAT c", 2000),
        _aseq("q2", "DELL a, IPIX b, NOT(QQQ q), AMAT c", 2000),
    )
)
ASEQ_2 = tuple(_aseq("q2", "DELL a, IPIX b, NOT(QQQ q), AMAT c", w) for w in (100, 500, 2000))

CASES = (
    LAZY,
    SKEWED,
    Case(
        "JOIN SEQ-3",
        "bars",
        """PATTERN SEQ(MSFT m, GOOG g, AAPL a)
        WHERE m.difference < g.difference WITHIN 20 minutes""",
    ),
    JOIN_AND,
    Case(
        "JOIN AND-4",
        "bars",
        """PATTERN AND(MSFT m, GOOG g, AAPL a, CBRL c)
        WHERE m.difference > g.difference + 1 AND a.difference < c.difference
        WITHIN 20 minutes""",
    ),
    Case(
        "JOIN SEQ-5",
        "bars",
        """PATTERN SEQ(MSFT m, GOOG g, AAPL a, AMZN z, CBRL c)
        WHERE m.difference < g.difference AND a.difference < z.difference
        WITHIN 20 minutes""",
    ),
    Case(
        "JOIN SEQ-6",
        "bars",
        """PATTERN SEQ(MSFT m, GOOG g, AAPL a, AMZN z, CBRL c, DRIV d)
        WHERE m.difference < g.difference AND a.difference < z.difference
          AND c.difference > d.difference + 0.05
        WITHIN 20 minutes""",
    ),
    JOIN_NOT,
    JOIN_OR,
    JOIN_KL,
    *ASEQ_1,
    *ASEQ_2,
    *ASEQ_NEXT,
    *TRADES_KL,
    Case(
        "JOIN SEQ-3, one side",
        "trades",
        """PATTERN SEQ(MSFT m, INTC i, CSCO c)
        WHERE m.difference < i.difference AND m.side = i.side AND i.side = c.side
        WITHIN 20 seconds""",
    ),
    Case(
        "JOIN AND-4",
        "trades",
        """PATTERN AND(MSFT m, INTC i, CSCO c, DELL d)
        WHERE m.difference < i.difference AND c.difference < d.difference
        WITHIN 2 seconds""",
    ),
    Case(
        "JOIN SEQ-4, one filtered",
        "trades",
        """PATTERN SEQ(IPIX a, QQQ b, INTC c, YHOO d)
        WHERE a.difference < b.difference AND d.volume > 5000
        WITHIN 10 seconds""",
    ),
)
