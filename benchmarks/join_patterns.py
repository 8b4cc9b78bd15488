"""The patterns of JOIN's study, drawn at random: five sets over changes of stock prices.

As in JOIN, section 7.2: tickers at random, and about half as many conditions as events, each about
the price changes of two of them, so that selectivities range widely. A condition is
`a.difference + k < b.difference`; the share of pairs that satisfy it is drawn from the range of the
source, and k is chosen for that share.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.datasets import nasdaq, trades
from cepkit import sample_stocks
from cepkit.stream.stream import Stream, events

Floats = npt.NDArray[np.float64]
Kind = Literal["sequence", "negation", "conjunction", "kleene", "disjunction"]

KINDS: tuple[Kind, ...] = ("sequence", "negation", "conjunction", "kleene", "disjunction")
SHARES = (0.002, 0.88)
"""JOIN, section 7.2: the range of the selectivities."""
_PAIRS = 4_000
_BRANCHES = 3


@dataclass(frozen=True)
class Market:
    """A stream of prices.

    Attributes:
        name: Its name in tables.
        data: The folder of a recorded stream, empty for a generated one.
        load: Returns its rows, among them the price changes as `difference`.
        time: The column of times.
        unit: The unit of times that are numbers.
        seconds: The window of each set of patterns.
        least: The fewest candidates that the best order may be expected to have. With fewer, a
            pattern is drawn again: a run would measure the building of indexes.
        most: The most of them, for each branch: with more, a run would take too long. Real trades
            come in bursts, with ten times as many candidates as evenly spread ones.
    """

    name: str
    data: str
    load: Callable[[], pd.DataFrame]
    time: str
    unit: str | None
    seconds: Mapping[Kind, float]
    least: float
    most: float

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The rows."""
        return self.load()

    @cached_property
    def stream(self) -> Stream:
        """The rows as events; the ticker is the type."""
        return events(self.frame, time=self.time, type="ticker", unit=self.unit)

    @cached_property
    def changes(self) -> dict[str, Floats]:
        """The price changes of each ticker, in the order of their names."""
        known = self.frame.dropna(subset=["difference"]).groupby("ticker")["difference"]
        return {str(name): of_one.to_numpy(dtype=np.float64) for name, of_one in known}


def _windows(seconds: float, conjunction: float, kleene: float) -> dict[Kind, float]:
    return {
        "sequence": seconds,
        "negation": seconds,
        "conjunction": conjunction,
        "kleene": kleene,
        "disjunction": seconds,
    }


MARKETS = (
    Market(
        "generated",
        "",
        lambda: sample_stocks(100_000).assign(ticker=lambda rows: rows["ticker"].astype(str)),
        "ts",
        None,
        _windows(60, 20, 40),
        2e5,
        5e6,
    ),
    Market(
        "bars", "nasdaq-minute", nasdaq, "timestamp", None, _windows(1200, 1200, 1200), 6e3, 5e6
    ),
    Market("trades", "stock-trades", trades, "ts_ms", "ms", _windows(10, 2, 5), 4e4, 5e5),
)
"""A day of twelve generated tickers, minute bars of seven, and trades of ten."""


class Draw:
    """Draws patterns over a market; equal seeds give equal patterns."""

    def __init__(self, market: Market, seed: int) -> None:
        self._market = market
        self._rng = np.random.default_rng(seed)

    def pattern(self, kind: Kind, size: int, strategy: str = "") -> str:
        """Return the text of a pattern.

        Args:
            kind: Which of the five sets.
            size: The number of positive variables of each branch.
            strategy: Added after the window if it is given.
        """
        branches = _BRANCHES if kind == "disjunction" else 1
        parts = [self._branch(kind, size, first * size) for first in range(branches)]
        structures, conditions = zip(*parts, strict=True)
        structure = f"OR({', '.join(structures)})" if branches > 1 else structures[0]
        where = " AND ".join(text for of_branch in conditions for text in of_branch)
        window = f"WITHIN {self._market.seconds[kind]:g} seconds"
        return " ".join(filter(None, (f"PATTERN {structure} WHERE {where} {window}", strategy)))

    def _branch(self, kind: Kind, size: int, first: int) -> tuple[str, list[str]]:
        names = [*string.ascii_lowercase[first : first + size]]
        if kind == "negation":
            # Inside the sequence, so that it is checked as soon as its neighbours are bound.
            names.insert(int(self._rng.integers(1, size)), "x")
        tickers = self._rng.choice(list(self._market.changes), size=len(names), replace=False)
        of = dict(zip(names, map(str, tickers), strict=True))
        inside = [f"{of[name]} {name}" for name in names]
        if kind == "negation":
            inside[names.index("x")] = f"NOT({of['x']} x)"
        if kind == "kleene":
            repeated = int(self._rng.integers(size))
            inside[repeated] = f"KL({inside[repeated]})"
        operator = "AND" if kind == "conjunction" else "SEQ"
        positive = [name for name in names if name != "x"]
        conditions = [self._condition(pair, of) for pair in self._pairs(positive)]
        if kind == "negation":
            other = str(self._rng.choice(positive))
            conditions.append(self._condition(("x", other), of))
        return f"{operator}({', '.join(inside)})", conditions

    def _pairs(self, names: Sequence[str]) -> list[tuple[str, str]]:
        every = list(combinations(names, 2))
        chosen = self._rng.choice(len(every), size=max(1, len(names) // 2), replace=False)
        return [every[i] for i in sorted(chosen)]

    def _condition(self, pair: tuple[str, str], of: Mapping[str, str]) -> str:
        small, great = pair if self._rng.random() < 0.5 else pair[::-1]
        share = np.exp(self._rng.uniform(*np.log(SHARES)))
        below, above = (
            self._rng.choice(self._market.changes[of[name]], size=_PAIRS) for name in (small, great)
        )
        k = round(float(np.quantile(above - below, 1 - share)), 3)
        if k == 0:
            return f"{small}.difference < {great}.difference"
        sign = "+" if k > 0 else "-"
        return f"{small}.difference {sign} {abs(k):g} < {great}.difference"
