"""The strategy comparison as a notebook app."""

from __future__ import annotations

from typing import Any

import pandas as pd

from cepkit.api.arguments import detectable
from cepkit.arguments import check_range
from cepkit.errors import ArgumentError
from cepkit.pattern.builder import Pattern
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.stream.stream import Stream
from cepkit_widgets.kit.app import App
from cepkit_widgets.kit.parts import place_after
from cepkit_widgets.matches.frame import frame_of_bindings
from cepkit_widgets.matches.look import Looker
from cepkit_widgets.strategy_comparison.page import comparison_html, group_text
from cepkit_widgets.strategy_comparison.state import Comparison, Extent, StrategyState


class StrategyComparison(App):
    """The four strategies side by side over one stream.

    It shows how many matches each strategy finds, which of them the others lack, and why, on one
    time line.

    Attributes:
        state: The selection of the user.
        error: The error of the last input; None if it was valid.

    Example:
        >>> import cepkit as ck
        >>> from cepkit_widgets import StrategyComparison
        >>> trades = [
        ...     {"ts": 1, "type": "MSFT", "price": 30.0},
        ...     {"ts": 2, "type": "GOOG", "price": 31.0},
        ...     {"ts": 3, "type": "GOOG", "price": 29.0},
        ... ]
        >>> stream = ck.events(trades, time="ts", type="type", unit="s")
        >>> app = StrategyComparison(stream, "PATTERN SEQ(MSFT a, GOOG b)")
        >>> app.counts["matches"].head(3)
        0    2
        1    1
        2    1
        Name: matches, dtype: Int64
    """

    def __init__(
        self, stream: Stream, pattern: Query | Pattern | str, *, events: int = 10_000
    ) -> None:
        """Find the matches of each strategy.

        Args:
            stream: From `cepkit.events`.
            pattern: The query, or its text; its own strategy is ignored.
            events: How many events of the stream to take, from its beginning.
        """
        self.state = StrategyState()
        self._comparison: Comparison | None = None
        self._code = ""

        def begin() -> None:
            check_range("events", events, 1)
            query = detectable(stream, pattern)
            first, extent = Extent.of(stream, events)
            comparison = Comparison(first, query, extent)
            assert comparison.known is not None
            self._looker = Looker(comparison.known)
            chosen = query.strategy if query.strategy in comparison.ran else comparison.ran[0]
            self.state = self.state.choose(chosen, comparison)
            self._comparison = comparison

        super().__init__(begin)

    def body(self) -> str:
        """Return the HTML of the app."""
        if self._comparison is None:
            return ""
        return comparison_html(
            self.state, self._comparison, self._looker, self.width, code=self.as_code()
        )

    @property
    def chosen(self) -> Strategy:
        """The strategy that is chosen."""
        return self.state.chosen

    @property
    def query(self) -> Query:
        """The pattern under the chosen strategy."""
        return self._there().outcomes[self.state.chosen].query

    @property
    def counts(self) -> pd.DataFrame:
        """The result of each strategy: strategy, matches, lacks, error, and in how many events."""
        there = self._there()
        events = there.extent.taken
        rows = [
            (str(s), o.count, there.lacks(s), None if o.error is None else str(o.error), events)
            for s, o in there.outcomes.items()
        ]
        frame = pd.DataFrame(rows, columns=["strategy", "matches", "lacks", "error", "events"])
        return frame.astype({"matches": "Int64", "lacks": "Int64"})

    @property
    def groups(self) -> pd.DataFrame:
        """The matches of each group of strategies: a column for each strategy, and matches."""
        there = self._there()
        rows = [
            (*(strategy in owners for strategy in there.ran), size)
            for owners, size in there.groups.items()
        ]
        return pd.DataFrame(rows, columns=[*map(str, there.ran), "matches"])

    @property
    def matches(self) -> pd.DataFrame:
        """The listed matches, as far as they are held.

        Columns `match`, for each variable `a.price` and so on, lists where a variable is repeated,
        and for each strategy whether it has the match.
        """
        there = self._there()
        assert there.known is not None
        numbers = there.numbers(self.state)
        frame = frame_of_bindings(there.known, numbers, [there.binding(n) for n in numbers])
        for strategy in there.ran:
            frame[str(strategy)] = [strategy in there.owners[n] for n in numbers]
        return frame

    @property
    def current(self) -> int | None:
        """The number of the current match."""
        return self.state.current

    def choose(self, strategy: str) -> None:
        """List the matches of a strategy.

        Raises:
            ArgumentError: There is no such strategy, or it cannot run the pattern.
        """
        with self.moving:
            self.state = self.state.choose(_strategy(strategy), self._there())
            self.refresh()

    def select(self, number: int) -> None:
        """Make a match the current one.

        Raises:
            ArgumentError: There is no match of this number.
        """
        with self.moving:
            self.state = self.state.at(number, self._there())
            self.refresh()

    def as_code(self, stream: str = "stream") -> str:
        """Return the cell that finds the matches of the chosen strategy.

        Args:
            stream: The name of the variable with the stream.
        """
        text, extent = str(self.query), self._there().extent
        # So that it finds what the app shows.
        of = f"{stream}.head({extent.taken})" if extent.within else stream
        return f'import cepkit as ck\n\nmatches = ck.detect({of}, """\n{text}\n""")'

    def act(self, name: str, value: Any) -> None:
        """Handle an action of the user."""
        there, state = self._there(), self.state
        match name:
            case "strategy":
                self.state = state.choose(_strategy(value), there)
            case "step-strategy":
                order = there.ran
                to = place_after(str(value), order.index(state.chosen), len(order))
                self.state = state.choose(order[to], there)
            case "group":
                by_name = {group_text(owners): owners for owners in there.groups}
                if value not in by_name:
                    raise ArgumentError(f"no group of strategies '{value}'")
                self.state = state.grouped(by_name[value], there)
            case "choose":
                self.state = state.at(int(value), there)
            case "step":
                self.state = state.stepped(str(value), there)
            case _:
                raise ArgumentError(f"there is nothing to do called '{name}'")

    def _there(self) -> Comparison:
        if self._comparison is None:
            raise ArgumentError("there is nothing to compare", hint="the app says what is wrong")
        return self._comparison

    def __repr__(self) -> str:
        if self._comparison is None:
            return f"StrategyComparison: {self.error}"
        counts = [
            f"{strategy} {'-' if outcome.count is None else f'{outcome.count:,}'}"
            for strategy, outcome in self._comparison.outcomes.items()
        ]
        within = self._comparison.extent.within
        return f"StrategyComparison{within}: {', '.join(counts)}"


def _strategy(name: object) -> Strategy:
    names = [str(strategy) for strategy in Strategy]
    if name not in names:
        raise ArgumentError.unknown(f"no strategy '{name}'", name, names)
    return Strategy(str(name))
