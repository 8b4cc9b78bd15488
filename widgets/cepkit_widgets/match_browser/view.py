"""The match browser as a notebook app."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from cepkit.columnar.results.matches import Matches
from cepkit.errors import ArgumentError
from cepkit.tables import count_text
from cepkit_widgets.kit.app import App
from cepkit_widgets.match_browser.page import browser_html
from cepkit_widgets.match_browser.state import LENGTH, NUMBER, SIZES, START, BrowserState, order_of
from cepkit_widgets.matches.frame import frame_of
from cepkit_widgets.matches.known import MOST, Ints, KnownMatches
from cepkit_widgets.matches.look import Looker


class MatchBrowser(App):
    """Matches in a table of any length, and each in time among the events around it.

    However many there are, the first thousand are found when it is shown; others when the reader
    asks for them.

    Attributes:
        error: What was wrong with the last input; None where nothing was.

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
            matches: From `cepkit.detect`. Those of a Spark stream are shown of a piece of it,
                100,000 events from the first matches on.
        """
        self.state = BrowserState()
        self._known: KnownMatches | None = None
        self._order: Ints = np.empty(0, dtype=np.int64)
        self._total = self._typed = self._piece = ""
        error: Exception | None = None
        try:
            here, self._piece = _at_hand(matches)
            self._known = KnownMatches(here)
            self._all = matches
            self._looker = Looker(self._known)
            self._to(self.state)
        except Exception as reason:  # noqa: BLE001 - an app never raises into the notebook
            self._known, error = None, reason
        super().__init__()
        if error is not None:
            self.error = error
            self.refresh()

    def body(self) -> str:
        """Return what is shown, as HTML."""
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
            self._piece,
        )

    @property
    def selected(self) -> pd.DataFrame:
        """The matches that are marked, or the one that is looked at where none is.

        A row for each; columns `match` and, for each variable, `a.price` and so on. Those of a
        repeated variable hold lists.
        """
        known = self._there()
        current = [] if self.state.current is None else [self.state.current]
        return frame_of(known, sorted(self.state.marked) or current)

    @property
    def current(self) -> int | None:
        """The number of the match that is looked at, in the order in which they were found."""
        return self.state.current

    def select(self, number: int) -> None:
        """Look at a match.

        Args:
            number: Its number, from 0, in the order in which matches are found.

        Raises:
            ArgumentError: No match that is seen has this number.
        """
        with self.moving:
            self.state = self.state.at(number, self._order)
            self.refresh()

    def filter(self, condition: str) -> None:
        """Show the matches that satisfy a condition alone.

        Args:
            condition: As after WHERE, about the variables of the pattern; empty for all matches.

        Raises:
            PatternError: It means nothing.
        """
        with self.moving:
            self._to(replace(self.state, condition=condition, page=0))
            self._typed = condition
            self.refresh()

    def sort(self, by: str, *, descending: bool = False) -> None:
        """Sort the table.

        Args:
            by: "match", "start", "length", or an attribute as "a.price".
            descending: Whether the greatest stands first.
        """
        keys = {"match": NUMBER, "start": START, "length": LENGTH}
        variable, _, name = by.partition(".")
        key = keys.get(by, (variable, name))
        with self.moving:
            self._to(replace(self.state, sort=key, descending=descending, page=0))
            self.refresh()

    def act(self, name: str, value: Any) -> None:
        """Do what the reader asks for."""
        self._there()
        state = self.state
        match name:
            case "filter":
                # What is wrong stays to be mended.
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
                self._to(replace(state, wanted=min(MOST, state.wanted * 10)))
            case "count":
                self._total = "counting …"
                threading.Thread(target=self._count, daemon=True).start()
            case _ if name.startswith("mark:"):
                number = int(name.removeprefix("mark:"))
                self.state = state.toggled(number)
            case _:
                raise ArgumentError(f"unknown action '{name}'")

    def _there(self) -> KnownMatches:
        if self._known is None:
            raise ArgumentError(
                "there are no matches to look at", hint="the app says what is wrong"
            )
        return self._known

    def _to(self, state: BrowserState) -> None:
        known = self._there()
        order = order_of(state, known)
        if state.current is None or not (order == state.current).any():
            state = replace(state, current=int(order[0]) if len(order) else None)
        self.state, self._order = state, order

    def _count(self) -> None:
        error: Exception | None = None
        total = ""
        try:
            total = f"{count_text(self._all.count(), 'match', 'matches')} in all"
        except Exception as reason:  # noqa: BLE001 - it becomes a text in the app
            error = reason
        with self.moving:
            self._total, self.error = total, error
            self.refresh()

    def __repr__(self) -> str:
        if self._known is None:
            return f"MatchBrowser: {self.error}"
        known = min(self._known.size, self.state.wanted)
        return f"MatchBrowser: {len(self._order):,} of {known:,} known matches"


def _at_hand(matches: Any) -> tuple[Matches, str]:
    """Return matches of events in this process, and which of the stream these are in words."""
    if isinstance(matches, Matches):
        return matches, ""
    if callable(piece := getattr(matches, "piece", None)):
        here, words = piece()
        assert isinstance(here, Matches)
        return here, words
    raise ArgumentError(
        f"matches of the type {type(matches).__name__}", expected="what cepkit.detect returns"
    )
