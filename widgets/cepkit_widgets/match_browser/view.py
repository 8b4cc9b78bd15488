"""The match browser as a notebook app."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from cepkit.columnar.results.matches import Matches
from cepkit.errors import ArgumentError
from cepkit.stream.reading.sources import is_spark
from cepkit.tables import count_text
from cepkit_widgets.kit.app import App
from cepkit_widgets.kit.work import Work
from cepkit_widgets.match_browser.page import browser_html
from cepkit_widgets.match_browser.state import (
    LENGTH,
    NUMBER,
    SIZES,
    START,
    BrowserState,
    condition_of,
    order_of,
    search_of,
    searched,
)
from cepkit_widgets.matches.frame import frame_of
from cepkit_widgets.matches.known import Ints, Known, KnownMatches
from cepkit_widgets.matches.look import Looker
from cepkit_widgets.matches.paged import PagedMatches


class MatchBrowser(App):
    """Matches in a table of any length, and each in time among the events around it.

    It finds the first thousand when it is shown, and others when the user asks for them. Matches on
    Spark stay there: it fetches a thousand, then those that the user asks for.

    Attributes:
        error: The error of the last input; None if it was valid.

    Example:
        >>> import cepkit as ck
        >>> from cepkit_widgets import MatchBrowser
        >>> trades = [
        ...     {"ts": 1, "type": "MSFT", "price": 30.0},
        ...     {"ts": 2, "type": "GOOG", "price": 31.0},
        ...     {"ts": 3, "type": "GOOG", "price": 29.0},
        ... ]
        >>> stream = ck.events(trades, time="ts", type="type", unit="s")
        >>> browser = MatchBrowser(ck.detect(stream, "PATTERN SEQ(MSFT a, GOOG b)"))
        >>> print(browser)
        MatchBrowser: 2 of 2 known matches
        >>> browser.filter("b.price > 30")
        >>> print(browser)
        MatchBrowser: 1 of 2 known matches
    """

    def __init__(self, matches: Any) -> None:
        """Show the first matches.

        Args:
            matches: From `cepkit.detect`, over a local stream or one on Spark.
        """
        self.state = BrowserState()
        self._known: Known | None = None
        self._order: Ints = np.empty(0, dtype=np.int64)
        self._total = self._typed = self._doing = ""
        self._work: Work | None = None

        def begin() -> None:
            known = _known_of(matches)
            known.at_least(self.state.wanted)
            self._looker = Looker(known)
            self._known, self._all = known, matches
            self._to(self.state)

        super().__init__(begin)

    def body(self) -> str:
        """Return the HTML of the app."""
        if self._known is None:
            return ""
        return browser_html(
            self.state,
            self._known,
            self._order,
            self._looker,
            self.width,
            self._total,
            self._typed,
            self._doing,
        )

    @property
    def selected(self) -> pd.DataFrame:
        """The marked matches, or the current one if none is marked.

        A row for each; columns `match` and, for each variable, `a.price` and so on. Those of a
        repeated variable hold lists.
        """
        known = self._there()
        current = [] if self.state.current is None else [self.state.current]
        return frame_of(known, sorted(self.state.marked) or current)

    @property
    def current(self) -> int | None:
        """The number of the current match, in the order in which matches were found."""
        return self.state.current

    @property
    def chosen(self) -> tuple[int, ...]:
        """The numbers of the events of the current match in the stream; none on Spark."""
        known, current = self._known, self.state.current
        if known is None or current is None or known.place or known.lacking:
            return ()
        return known.events_of(current)

    def choose(self, events: tuple[int, ...]) -> bool:
        """Choose the match of these events; return whether it is in the table."""
        known = self._known
        if known is None or known.place or known.lacking:
            return False
        number = known.number_of(events)
        if number is None or not (self._order == number).any():
            return False
        self.state = self.state.at(number, self._order)
        return True

    def select(self, number: int) -> None:
        """Make a match the current one.

        Args:
            number: Its number, from 0, in the order in which matches are found.

        Raises:
            ArgumentError: No visible match has this number.
        """
        with self.moving:
            self.state = self.state.at(number, self._order)
            self.refresh()

    def filter(self, condition: str) -> None:
        """Show only the matches that satisfy a condition.

        Args:
            condition: As after WHERE, about the variables of the pattern; empty for all matches.

        Raises:
            PatternError: The condition is invalid.
        """
        with self.moving:
            self._to(replace(self.state, condition=condition, page=0))
            self._typed = condition
            self.refresh()

    def sort(self, by: str, *, descending: bool = False) -> None:
        """Sort the table.

        Args:
            by: "match", "start", "length", or an attribute as "a.price".
            descending: Whether the greatest comes first.
        """
        keys = {"match": NUMBER, "start": START, "length": LENGTH}
        variable, _, name = by.partition(".")
        key = keys.get(by, (variable, name))
        with self.moving:
            self._to(replace(self.state, sort=key, descending=descending, page=0))
            self.refresh()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the requested matches are fetched; return whether they are."""
        return self._work is None or self._work.wait(seconds)

    def stop(self) -> None:
        """Stop fetching, and its Spark jobs."""
        if self._work is not None:
            self._work.stop()

    def act(self, name: str, value: Any) -> None:
        """Handle an action of the user."""
        self._there()
        state = self.state
        match name:
            case "filter":
                # Keep the invalid text, so that the user can correct it.
                self._typed = str(value)
                self._to(replace(state, condition=self._typed, page=0))
            case "rows":
                rows = int(value)
                self.state = replace(state, rows=rows if rows in SIZES else state.rows, page=0)
            case "sort":
                variable, column = json.loads(str(value))
                self._to(state.sorted_by((str(variable), str(column))))
            case "page":
                self.state = state.turned(int(value), len(self._order))
            case "choose":
                self.state = state.at(int(value), self._order)
            case "step":
                self.state = state.stepped(str(value), self._order)
            case "with":
                self._to(replace(state, event=int(value), page=0))
            case "all":
                self._to(replace(state, event=None, page=0))
            case "more":
                self._more()
            case "search":
                self._search(state.wanted)
            case "around":
                self._fetch_around()
            case "stop":
                self.stop()
            case "count":
                self._total = "counting …"
                Work(self._all.count, self._counted)
            case _ if name.startswith("mark:"):
                number = int(name.removeprefix("mark:"))
                self.state = state.toggled(number)
            case _:
                raise ArgumentError(f"unknown action '{name}'")

    def _there(self) -> Known:
        if self._known is None:
            raise ArgumentError(
                "there are no matches to look at", hint="the app says what is wrong"
            )
        return self._known

    def _to(self, state: BrowserState) -> None:
        known = self._there()
        order = order_of(state, known)
        if self._looker.columns is not known.columns:
            self._looker = Looker(known)
        if state.current is None or not (order == state.current).any():
            state = replace(state, current=int(order[0]) if len(order) else None)
        self.state, self._order = state, order

    def _more(self) -> None:
        known = self._there()
        wanted = min(known.most, self.state.wanted * 10)
        if not isinstance(known, PagedMatches):
            self._to(replace(self.state, wanted=wanted))
        elif searched(self.state, known) is not None:
            self._search(wanted)
        else:
            self._later(
                f"fetching {wanted:,} matches",
                lambda: known.pages.first(wanted),
                lambda found: known.take(found, wanted),
                wanted,
            )

    def _search(self, wanted: int) -> None:
        known, search = self._there(), search_of(self.state)
        assert isinstance(known, PagedMatches)
        condition = condition_of(search.condition, known)
        self._later(
            f"searching all matches {known.place}",
            lambda: known.pages.searched(
                wanted, condition, search.sort, descending=search.descending
            ),
            lambda found: known.take(found, wanted, search),
            wanted,
        )

    def _fetch_around(self) -> None:
        known, number = self._there(), self.state.current
        assert isinstance(known, PagedMatches)
        assert number is not None
        asked = known.around(number)
        self._later(
            "fetching the events around",
            lambda: known.pages.around(*asked),
            lambda found: known.take_around(number, found),
            self.state.wanted,
        )

    def _later(
        self, doing: str, fetch: Callable[[], Any], take: Callable[[Any], None], wanted: int
    ) -> None:
        """Fetch in the background, then show the result.

        Args:
            doing: A description of the work.
            fetch: Takes long and changes nothing.
            take: Takes over the fetched matches.
            wanted: How many matches are wanted from then on.
        """
        if self._work is not None and self._work.running:
            raise ArgumentError("matches are being fetched", hint="wait for them, or stop it")
        self._doing = doing

        def done(found: Any, error: BaseException | None) -> None:
            with self.moving:
                self._doing = ""
                try:
                    if error is None:
                        self._take(take, found, wanted)
                except Exception as reason:  # noqa: BLE001 - it becomes a text in the app
                    error = reason
                if isinstance(error, Exception):
                    self.error = error
                self.refresh()

        self._work = Work(fetch, done)

    def _take(self, take: Callable[[Any], None], found: Any, wanted: int) -> None:
        known, state = self._there(), self.state
        assert isinstance(known, PagedMatches)
        row = None if state.event is None else known.row(state.event)
        take(found)
        event = None if row is None else known.event(row)
        self._to(replace(state, event=event, wanted=wanted))

    def _counted(self, count: int | None, error: BaseException | None) -> None:
        with self.moving:
            self._total = "" if count is None else f"{count_text(count, 'match', 'matches')} in all"
            self.error = error if isinstance(error, Exception) else None
            self.refresh()

    def __repr__(self) -> str:
        if self._known is None:
            return f"MatchBrowser: {self.error}"
        known = self._known.looked_at(self.state.wanted)
        return f"MatchBrowser: {len(self._order):,} of {known:,} known matches"


def _known_of(matches: Any) -> Known:
    """Return the known matches: of events in this process, or fetched from Spark."""
    if is_spark(matches):
        from cepkit.spark.matches.pages import MatchPages
        from cepkit.spark.matches.result import SparkMatches

        if isinstance(matches, SparkMatches):
            if matches.here is None:
                return PagedMatches(MatchPages(matches))
            known = KnownMatches(matches.here)
            known.lacking = "events that the pattern has no use for are on Spark"
            return known
    if isinstance(matches, Matches):
        return KnownMatches(matches)
    raise ArgumentError(
        f"matches of the type {type(matches).__name__}", expected="what cepkit.detect returns"
    )
