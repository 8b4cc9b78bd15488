"""Arguments of the first-match search loop: records and arrays.

Rows, tables and key codes are concatenated in `ints`, times in `times`, columns and limits in
`floats`; records hold the offsets. Numba takes a NamedTuple of arrays at no cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.compiling import by_name, lent

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(slots=True)
class SearchNode:
    """A step of a search, or a negated variable to check there.

    Attributes:
        rows: Where the rows of its candidates begin in `ints`.
        count: How many candidates there are.
        limits: Where its part of `limits` begins.
        limits_end: Where it ends.
        checks: Where its part of `checks` begins, first those about the last event.
        fixed_end: Where these end.
        checks_end: Where it ends.
        predicate: Its residual predicate that does not depend on the last event; -1 for none.
        last_predicate: The one that depends on the last event; -1 for none.
        absent: Where the nodes of the NOTs to check after it begin.
        absent_end: Where they end.
        distinct: Whether it could be the same event as a bound one.
        position: Its place in the pattern, among the variables of the branch.
        jump: The step to continue with if its range is empty: the steps between cannot fill it.
        chain: The step below whose candidates can only narrow the range; 0 for none.
        strict: Whether it is before the last event in time; otherwise in stream order.
        final: For a NOT, whether it rules out all later candidates of its step.
        wakes: Where the memory of its candidates begins.
        memory: Whether there is one: no step between it and the last event affects the later steps.
    """

    rows: int = 0
    count: int = 0
    limits: int = 0
    limits_end: int = 0
    checks: int = 0
    fixed_end: int = 0
    checks_end: int = 0
    predicate: int = -1
    last_predicate: int = -1
    absent: int = 0
    absent_end: int = 0
    distinct: int = 0
    position: int = 0
    jump: int = 0
    chain: int = 0
    strict: int = 0
    final: int = 0
    wakes: int = 0
    memory: int = 0


@dataclass(slots=True)
class Limit:
    """A bound of a range.

    Attributes:
        upper: 1 where the range ends there, 0 where it begins.
        depth: The step whose candidate is looked up.
        table: Where its table begins in `ints`; -1 for a binary search.
        partner: The step that has the key; -1: no key.
        codes: Where the codes of the key begin in `ints`.
        starts: Where the groups by key begin in `times`.
        wanted: Where the target times begin in `times`, one for each candidate.
        own: Where the times of the node's own candidates begin in `times`.
    """

    upper: int
    depth: int
    table: int = -1
    partner: int = -1
    codes: int = 0
    starts: int = 0
    wanted: int = 0
    own: int = 0


@dataclass(slots=True)
class Check:
    """A comparison: least <= column <= most.

    Attributes:
        column: Where the column begins in `floats`.
        side: The step on the other side.
        least: Where the lower limits begin in `floats`; -1 for none.
        most: The same for the upper limits.
    """

    column: int
    side: int
    least: int
    most: int


@dataclass(slots=True)
class Predicate:
    """A residual predicate.

    Attributes:
        number: That of its compiled shape.
        operands: Where its part of `operands` begins.
        operands_end: Where it ends.
    """

    number: int
    operands: int
    operands_end: int


@dataclass(slots=True)
class Operand:
    """An operand of a residual predicate.

    Attributes:
        numbers: Where they begin in `floats`, one for each candidate.
        depth: The step whose candidate is looked up.
    """

    numbers: int
    depth: int


class Tables(NamedTuple):
    """All searches of a query over one slice.

    An event under NOT is the candidate of an extra step after the last one, and a constant that of
    another extra step, which is always 0.

    Attributes:
        begins: int64[searches + 1], the node of the first step of each, and the end of the last.
        nodes: Node[nodes], one for each step of each search, then one for each negated variable.
        limits: Limit[limits], the bounds of ranges.
        checks: Check[checks], the comparisons.
        predicates: Predicate[predicates], the residual predicates.
        operands: Operand[operands], their operands.
        ints: int32[n], rows, tables and key codes.
        times: int64[n], times, arrival numbers, and where the groups of keys begin.
        floats: float64[n], columns, their limits, and operands.
        window: The greatest time between events of a match, in microseconds.
    """

    begins: Times
    nodes: npt.NDArray[Any]
    limits: npt.NDArray[Any]
    checks: npt.NDArray[Any]
    predicates: npt.NDArray[Any]
    operands: npt.NDArray[Any]
    ints: Ints
    times: Times
    floats: Floats
    window: int


def records(kind: type, items: Sequence[Any]) -> npt.NDArray[Any]:
    """Return instances of a class of integers as an array of records."""
    names = [field.name for field in fields(kind)]
    values = [tuple(getattr(item, name) for name in names) for item in items]
    return by_name(np.array(values, dtype=[(name, np.int64) for name in names]))


class LastEvents(NamedTuple):
    """The events that can be last in a match, in stream order.

    Attributes:
        begin: The row of the stream at which the slice begins.
        searches: int32[n], for each the search in which it can be last; for one event ascending.
        at: int32[n], its number among the candidates of the first step of the search.
        rows: int32[n], its row in the slice.
    """

    begin: int
    searches: Ints
    at: Ints
    rows: Ints

    def since(self, row: int) -> LastEvents:
        """Return the events from a row of the stream on."""
        first = int(np.searchsorted(self.rows, row - self.begin))
        return LastEvents(self.begin, self.searches[first:], self.at[first:], self.rows[first:])


class Events(NamedTuple):
    """The events of the slice.

    Attributes:
        ts: int64[rows], their times.
        order: int64[rows], a number that increases from each event to those after it.
        consumed: bool[rows], whether a match has consumed them.
    """

    ts: Times
    order: Times
    consumed: Flags


class MatchArrays(NamedTuple):
    """Output arrays for matches, one for each event that can be last.

    Attributes:
        rows: int32[n, width], the rows of the variables in pattern order, then -1.
        searches: int32[n], the search that found it.
    """

    rows: Ints
    searches: Ints


class Counts(NamedTuple):
    """Counters of the work, updated in place.

    Attributes:
        looked: int64[nodes + 1], the candidates examined, and at the end all work.
        removed: int64[nodes + 1], the partial matches that NOT ruled out.
    """

    looked: Times
    removed: Times


class Work(NamedTuple):
    """Scratch arrays.

    Attributes:
        at: int64[width + 2], the candidate of each step.
        begins: int64[width + 2], the first candidate of each range.
        ends: int64[width + 2], the end of each range.
        fitting: bool[width + 2], whether any candidate of the range fits the last event.
        until: int64[width + 2], the row up to which the step before must fail.
        least: float64[checks], the values that columns are compared with.
        most: float64[checks], the same from above.
        operands: float64[operands + 1], the operands of a residual predicate.
        skips: int32[candidates], how many consumed ones follow each.
        wakes: int32[candidates], the row up to which each must fail.
        trial: int32[width], the match under construction.
    """

    at: Times
    begins: Times
    ends: Times
    fitting: Flags
    until: Times
    least: Floats
    most: Floats
    operands: Floats
    skips: Ints
    wakes: Ints
    trial: Ints


@lent
def _edge_of(tables: Tables, k: int, at: Times, size: int) -> int:
    """Return the first candidate at or after the time of limit `k`, with its key."""
    limit, times = tables.limits[k], tables.times
    wanted = times[limit.wanted + at[limit.depth]]
    low, high = 0, size
    if limit.partner >= 0:
        code = tables.ints[limit.codes + at[limit.partner]]
        low = times[limit.starts + code]
        high = times[limit.starts + code + 1]
    while low < high:
        middle = (low + high) >> 1
        if times[limit.own + middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@lent
def range_of(tables: Tables, number: int, at: Times) -> tuple[int, int]:
    """Return the range of a node's candidates, given the bound steps."""
    node = tables.nodes[number]
    low, high = 0, node.count
    for k in range(node.limits, node.limits_end):
        limit = tables.limits[k]
        if limit.table >= 0:
            edge = int(tables.ints[uintp(limit.table + at[limit.depth])])
        else:
            edge = int(_edge_of(tables, k, at, node.count))
        if limit.upper:
            high = min(high, edge)
        else:
            low = max(low, edge)
    return low, high
