"""The state of a match browser: the visible rows, their order, and the current match."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from cepkit.errors import ArgumentError, PatternError
from cepkit.pattern import conditions as c
from cepkit.pattern.checks import check
from cepkit.pattern.evaluation.columns import truth
from cepkit.pattern.evaluation.kind_checks import check_condition
from cepkit.pattern.parsing.parser import parse_condition
from cepkit.pattern.query import Query
from cepkit.pattern.rewrite import without_not
from cepkit.stream.columns import Column
from cepkit_widgets.kit.parts import place_after
from cepkit_widgets.matches.known import NONE, Ints, Known
from cepkit_widgets.matches.paged import PagedMatches, Search

Key: TypeAlias = tuple[str, str]
"""A variable and an attribute, or ("", "number" | "start" | "length")."""

NUMBER: Key = ("", "number")
START: Key = ("", "start")
LENGTH: Key = ("", "length")
SIZES = (10, 25, 50, 100)
_FIRST = 1000
"""The number of matches found before the table is shown."""
Move: TypeAlias = Literal["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"]


@dataclass(frozen=True, slots=True)
class BrowserState:
    """The visible matches, and the current one.

    Attributes:
        wanted: How many matches to find, if there are that many.
        sort: The column they are sorted by.
        descending: Whether the greatest comes first.
        condition: The condition on visible matches; empty for all.
        event: The event that visible matches contain; None for all.
        current: The number of the current match; None if there is none.
        marked: The numbers of the matches that the user marked.
        page: The number of the page, from 0.
        rows: How many matches a page has.
    """

    wanted: int = _FIRST
    sort: Key = NUMBER
    descending: bool = False
    condition: str = ""
    event: int | None = None
    current: int | None = None
    marked: frozenset[int] = frozenset()
    page: int = 0
    rows: int = 10

    def sorted_by(self, key: Key) -> BrowserState:
        """Return the state sorted by a column; the same column again reverses the order."""
        down = key == self.sort and not self.descending
        return replace(self, sort=key, descending=down, page=0)

    def turned(self, page: int, seen: int) -> BrowserState:
        """Return the state on another page, or on the nearest one."""
        return replace(self, page=max(0, min(page, (seen - 1) // self.rows)))

    def at(self, number: int, order: Ints) -> BrowserState:
        """Return the state with another current match, on its page.

        Raises:
            ArgumentError: No visible match has this number.
        """
        places = np.flatnonzero(order == number)
        if not len(places):
            raise ArgumentError(
                f"match {number} is not among those that are seen",
                expected=f"one of {len(order):,}",
                hint="take away the filter, or look at more matches",
            )
        return replace(self, current=int(number), page=int(places[0]) // self.rows)

    def stepped(self, move: str, order: Ints) -> BrowserState:
        """Return the state with the next or previous match as the current one.

        Args:
            move: The name of a key: an arrow for the next or the previous one.
            order: The numbers of the visible matches.
        """
        if not len(order):
            return self
        places = np.flatnonzero(order == (NONE if self.current is None else self.current))
        at = int(places[0]) if len(places) else -1
        return self.at(int(order[place_after(move, at, len(order), self.rows)]), order)

    def toggled(self, number: int) -> BrowserState:
        """Return the state with a match marked, or no longer marked."""
        return replace(self, marked=self.marked ^ {number})


def order_of(state: BrowserState, known: Known) -> Ints:
    """Return the numbers of the visible matches, in table order.

    Args:
        known: The matches; it finds as many as the state wants.

    Raises:
        PatternError: The condition is invalid.
        StreamError: A column is unknown.
    """
    known.at_least(state.wanted)
    # Only as many as wanted: the last block may have had more.
    numbers = np.arange(known.looked_at(state.wanted))
    if state.event is not None:
        numbers = np.intersect1d(numbers, known.with_event(state.event))
    if state.condition.strip():
        numbers = numbers[_satisfied(state.condition, known)[numbers]]
    if state.sort != NUMBER:
        keys, missing = _keys(state.sort, known)
        keys, missing = keys[numbers], missing[numbers]
        ranks = np.unique(keys, return_inverse=True)[1]
        # Missing values come last in both directions.
        numbers = numbers[np.lexsort((-ranks if state.descending else ranks, missing))]
    elif state.descending:
        numbers = numbers[::-1]
    search = searched(state, known)
    if search is not None and search.sort is not None and not search.complete:
        # After the first matches that Spark found in this order there may be others.
        numbers = numbers[: search.size]
    return numbers


def search_of(state: BrowserState) -> Search:
    """Return the search of all matches that fits the current table."""
    sort = None if state.sort == NUMBER else state.sort
    return Search(state.condition.strip(), sort, sort is not None and state.descending)


def searched(state: BrowserState, known: Known) -> Search | None:
    """Return the result of that search; None if there was none."""
    if not isinstance(known, PagedMatches) or known.search is None or state.event is not None:
        return None
    found = known.search
    same = replace(found, size=0, complete=False) == search_of(state)
    return found if same else None


def can_search(state: BrowserState, known: Known) -> bool:
    """Return whether a search of all matches may find more for the table than is known."""
    if not isinstance(known, PagedMatches) or known.complete or state.event is not None:
        return False
    search, wanted = searched(state, known), search_of(state)
    if (search is not None and search.complete) or (not wanted.condition and wanted.sort is None):
        return False
    return known.pages.can_search(condition_of(wanted.condition, known))


def condition_of(text: str, known: Known) -> c.Expression | None:
    """Return the condition of a filter's text; None if it is empty.

    Raises:
        PatternError: It is invalid.
        StreamError: A column is unknown.
    """
    if not text.strip():
        return None
    condition = parse_condition(text)
    query = known.query
    check(Query(query.written, condition))
    Query(query.written, condition).check_attributes(known.attributes)
    names = {node.variable for node in c.walk(condition) if isinstance(node, c.Attribute)}
    if any(isinstance(node, c.Aggregate) for node in c.walk(condition)) or names & known.repeated:
        raise PatternError(
            "a filter reads single events, and this one a set of them",
            hint="filter by the variables that bind one event",
        )
    check_condition(condition, lambda _, name: known.attribute(name).kind)
    return condition


def _keys(key: Key, known: Known) -> tuple[np.ndarray, np.ndarray]:
    """Return the sort keys of matches, and where they are missing."""
    variable, name = key
    if not variable:
        begin, end = known.times()
        return (begin if key == START else end - begin), np.zeros(known.size, dtype=np.bool_)
    column, absent = values_of(known, variable, name)
    return column.values, absent | column.missing()


def values_of(known: Known, variable: str, name: str) -> tuple[Column, np.ndarray]:
    """Return an attribute of a variable's (first) event in each match, and where it is missing.

    If a match has no event of the variable, the value is an arbitrary one.
    """
    rows = known.first(variable)
    return known.attribute(name).take(np.where(rows == NONE, 0, rows)), rows == NONE


def _satisfied(text: str, known: Known) -> np.ndarray:
    """Return for each known match whether it satisfies a condition."""
    condition = condition_of(text, known)
    assert condition is not None
    absent = np.zeros(known.size, dtype=np.bool_)
    for variable in {node.variable for node in c.walk(condition) if isinstance(node, c.Attribute)}:
        absent |= known.first(variable) == NONE
    held = truth(without_not(condition), lambda v, name: values_of(known, v, name)[0], known.size)
    return np.asarray(held & ~absent)
