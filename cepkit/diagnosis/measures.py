"""Violations: how much combinations violate a requirement, all combinations at once.

A violation is measured relative to a scale, so that one of a price and one of a time can be
compared. The scale of a window is its length. The scale of a comparison is how far its two sides
usually lie apart: the interquartile range of their difference over randomly drawn events. What is
no quantity (a text or a whole number that should be equal to another, a value that is missing, an
event that must not be there) counts 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import assert_never

import numpy as np
import numpy.typing as npt

from cepkit.diagnosis.event_table import (
    Combinations,
    EventTable,
    Ints,
    pairs,
    scope,
    spans,
    without_set_functions,
)
from cepkit.pattern import conditions as c
from cepkit.pattern import requirements as req
from cepkit.pattern.evaluation.columns import Read, truth, value
from cepkit.pattern.evaluation.kinds import as_floats
from cepkit.pattern.nodes import Event
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import Clock, CountWindow, TimeWindow
from cepkit.pattern.rewrite import renamed, without_not
from cepkit.stream.columns import Column

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

_DRAWN = 2000
"""The number of events that are drawn for the scale of a comparison."""
_QUANTITIES = ("float", "integer", "timestamp", "duration")
"""The kinds of values whose difference says by how much a comparison fails."""


@dataclass(frozen=True, slots=True)
class Violation:
    """The violation of one requirement by each of many combinations.

    Attributes:
        broken: Whether each violates it.
        relative: By how much, in units of its scale; 0 where it holds, and also where both sides
            are equal and must not be, as in 3 < 3.
    """

    broken: Mask
    relative: Floats


@dataclass(frozen=True, slots=True)
class Limit:
    """The greatest distance between two events of a match.

    Attributes:
        clock: The clock that it is measured in.
        scale: The number that violations are divided by.
    """

    clock: Clock
    most: int
    scale: float


class Measures:
    """The violations of one branch's requirements, and the scales that they are relative to."""

    def __init__(self, table: EventTable, branch: Branch) -> None:
        self.table = table
        self.branch = branch
        self._rewritten: dict[c.Expression, c.Expression] = {}
        self._scales: dict[c.Expression, float] = {}
        self._time_scale: float | None = None

    def of(self, requirement: req.Requirement, rows: Combinations, size: int) -> Violation:
        """Return how much combinations violate a requirement.

        Args:
            requirement: One about the events themselves: no type, size, NOT or consumption.
        """
        table = self.table
        match requirement:
            case req.Holds(condition):
                return self.condition(condition, table.reader(rows), size)
            case req.Before(first, second):
                late = table.ts[rows[first]] - table.ts[rows[second]]
                order = table.order
                broken = order[rows[first]] >= order[rows[second]]
                return _violation(broken, late / self.time_scale)
            case req.Distinct(first, second):
                return _violation(rows[first] == rows[second], 1.0)
            case req.SamePartition():
                codes = [table.partition[events] for events in rows.values()]
                return _violation(reduce(np.logical_or, [code != codes[0] for code in codes]), 1.0)
            case req.Within() | req.SideBySide():
                limit = self.limit(requirement, len(self.branch.positive))
                beyond = spans(table.clock(limit.clock), rows) - limit.most
                return _violation(beyond > 0, beyond / limit.scale)
            case req.OfType() | req.Size() | req.Absent() | req.Unconsumed():
                raise AssertionError("not about the bound events alone")
            case _:
                assert_never(requirement)

    def condition(self, condition: c.Expression, read: Read, size: int) -> Violation:
        """Return how much a condition is violated by the values that `read` gives."""
        violation = self._condition(self.rewritten(condition), read, size)
        broken = np.broadcast_to(violation.broken, (size,))
        relative = np.nan_to_num(violation.relative)
        return _violation(broken, np.broadcast_to(relative, (size,)))

    def limit(self, requirement: req.Within | req.SideBySide, events: int) -> Limit:
        """Return the greatest distance that a window or contiguity allows."""
        match requirement:
            case req.Within(TimeWindow() as window):
                return Limit(requirement.clock, window.most, self.time_scale)
            case req.Within(CountWindow(count) as window):
                return Limit(requirement.clock, window.most, float(max(1, count)))
            case req.SideBySide():
                return Limit(requirement.clock, events - 1, float(events))
            case _:
                raise AssertionError("checks.py knows two kinds of windows")

    @property
    def time_scale(self) -> float:
        """The scale of times in microseconds: the window, or the spread of all events' times."""
        if self._time_scale is None:
            window = self.branch.window
            if isinstance(window, TimeWindow) and window.microseconds:
                self._time_scale = float(window.microseconds)
            else:
                self._time_scale = _spread(self.table.ts.astype(np.float64))
        return self._time_scale

    def rewritten(self, condition: c.Expression) -> c.Expression:
        """Return a condition as it is evaluated: without NOT and without set functions."""
        if condition not in self._rewritten:
            self._rewritten[condition] = without_not(without_set_functions(condition))
        return self._rewritten[condition]

    def leaf(self, condition: c.Expression, read: Read) -> c.Expression:
        """Return the part of a broken condition that decides by how much it is broken.

        Args:
            condition: From `rewritten`.
            read: Gives the values of one combination.
        """
        match condition:
            case c.AllOf(items) | c.AnyOf(items):
                parts = [(self._condition(item, read, 1), item) for item in items]
                by_size = sorted(
                    (float(part.relative.flat[0]), i)
                    for i, (part, _) in enumerate(parts)
                    if part.broken.flat[0]
                )
                _, deciding = by_size[-1] if isinstance(condition, c.AllOf) else by_size[0]
                return self.leaf(parts[deciding][1], read)
            case _:
                return condition

    def _condition(self, condition: c.Expression, read: Read, size: int) -> Violation:
        match condition:
            case c.AllOf(items):
                parts = [self._condition(item, read, size) for item in items]
                broken = reduce(np.logical_or, [part.broken for part in parts])
                return Violation(broken, reduce(np.add, [part.relative for part in parts]))
            case c.AnyOf(items):
                parts = [self._condition(item, read, size) for item in items]
                broken = reduce(np.logical_and, [part.broken for part in parts])
                least = reduce(np.minimum, [part.relative for part in parts])
                return Violation(broken, np.where(broken, least, 0.0))
            case c.Comparison() | c.InList():
                broken = ~truth(condition, read, size)
                return _violation(broken, self._distance(condition, read))
            case _:
                return _violation(~truth(condition, read, size), 1.0)

    def _distance(self, condition: c.Comparison | c.InList, read: Read) -> Floats | float:
        apart = [np.abs(gap) for gap in gaps(condition, read)]
        if not apart:
            return 1.0
        if condition not in self._scales:
            self._scales[condition] = self._usual(condition)
        nearest = reduce(np.fmin, apart) / self._scales[condition]
        return np.where(np.isfinite(nearest), nearest, 1.0)

    def _usual(self, condition: c.Comparison | c.InList) -> float:
        """Return how far the sides of a condition usually lie apart."""
        rng = np.random.default_rng(0)
        rows = {}
        for variable in sorted(c.variables_of(condition)):
            events = self.table.of_types(self.branch.event(variable).types)
            if not len(events):
                return 1.0
            rows[variable] = events[rng.integers(0, len(events), _DRAWN)]
        read = self.table.reader(rows)
        return max((_spread(gap) for gap in gaps(condition, read)), default=1.0)


def gaps(condition: c.Comparison | c.InList, read: Read) -> Iterator[Floats]:
    """Yield the differences of a comparison's sides, if they are quantities and less is better."""
    match condition:
        case c.Comparison("!=") | c.InList(_, _, True):
            return
        case c.Comparison("=", c.Attribute() as left, c.Attribute() as right) if (
            value(left, read).kind == value(right, read).kind == "integer"
        ):
            return
        case c.Comparison(_, left, right):
            sides = [(left, right)]
        case c.InList(operand, choices):
            sides = [(operand, choice) for choice in choices]
    for left, right in sides:
        one, other = value(left, read), value(right, read)
        if one.kind in _QUANTITIES and other.kind in _QUANTITIES:
            yield difference(one, other)


def difference(one: Column, other: Column) -> Floats:
    """Return the difference of two columns of numbers or times."""
    if one.kind == other.kind != "float" and not (one.has_missing or other.has_missing):
        # Subtracted as integers: floats are not exact for large numbers and times.
        return np.asarray(np.subtract(one.values, other.values), dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return as_floats(one) - as_floats(other)


def _spread(values: Floats) -> float:
    """Return the interquartile range of values, or if it is 0 their range, or 1."""
    known = values[np.isfinite(values)]
    if not len(known):
        return 1.0
    low, high = np.quantile(known, (0.25, 0.75))
    return float(high - low) or float(known.max() - known.min()) or 1.0


def _violation(broken: npt.NDArray[np.bool_], relative: Floats | float) -> Violation:
    return Violation(np.asarray(broken), np.where(broken, relative, 0.0))


def forbidden_together(
    measures: Measures,
    events: Sequence[Event],
    rows: Combinations,
    size: int,
    *,
    sets: Mapping[str, Sequence[int]] | None = None,
    spend: Callable[[int], None] = lambda _: None,
) -> Iterator[tuple[Ints, Ints]]:
    """Yield combinations with events that break a NOT there together, some at a time.

    Args:
        events: The events that must be absent together; often one.

    Yields:
        int64[n], the combination of each; int64[events, n], the event of each variable.
    """
    first, *rest = events
    for parents, new in forbidden_events(measures, first, rows, size, sets=sets, spend=spend):
        if not rest:
            yield parents, new[np.newaxis]
            continue
        longer = {**{v: bound[parents] for v, bound in rows.items()}, first.variable: new}
        further = forbidden_together(measures, rest, longer, len(new), sets=sets, spend=spend)
        for at, others in further:
            yield parents[at], np.vstack((new[at], others))


def forbidden_events(
    measures: Measures,
    event: Event,
    rows: Combinations,
    size: int,
    *,
    sets: Mapping[str, Sequence[int]] | None = None,
    spend: Callable[[int], None] = lambda _: None,
) -> Iterator[tuple[Ints, Ints]]:
    """Yield pairs of a combination and an event that breaks a NOT there, some at a time.

    If a combination is longer than the window, its own length takes the place of the window.

    Args:
        rows: Combinations of all positive variables, and of those absent together with it for which
            there are events already.
        sets: The events of all variables, if `rows` are choices of members of one match.
        spend: Called with the number of pairs before they are looked at.
    """
    table, branch, name, beside = measures.table, measures.branch, event.variable, event.beside
    about = [
        each
        for each in branch.conditions
        if name in c.variables_of(each) and c.variables_of(each) <= {*rows, name}
    ]
    of_members = [each for each in about if c.has_functions_of(each, name)]
    about = [each for each in about if each not in of_members]
    candidates = table.of_types(event.types)
    for condition in (each for each in about if c.variables_of(each) == {name}):
        read = table.reader({name: candidates})
        candidates = candidates[~measures.condition(condition, read, len(candidates)).broken]
    windows = []
    if branch.window is not None:
        limit = measures.limit(req.Within(branch.window, bool(branch.partition_by)), 0)
        clock = table.clock(limit.clock)
        if sets is None:
            length = spans(clock, rows)
        else:
            length = np.full(size, np.ptp(clock[list(chain.from_iterable(sets.values()))]))
        windows.append((limit.clock, np.maximum(limit.most, length)))
    low, high = scope(
        table,
        rows,
        size,
        after=branch.before(name) & rows.keys(),
        before=branch.after(name) & rows.keys(),
        windows=windows,
    )
    if beside is not None:
        assert sets is not None, "sets are chosen"
        members = sets[beside.variable]
        first, last = beside.stretch(min(members), max(members))
        if beside.maximum is not None and len(members) >= beside.maximum:
            last = -1
        low = low if first is None else np.maximum(low, first)
        high = high if last is None else np.minimum(high, last + 1)
    begin, end = np.searchsorted(candidates, low), np.searchsorted(candidates, high)
    for parents, at in pairs(begin, np.maximum(begin, end)):
        spend(len(at))
        new = candidates[at]
        together = {**{v: events[parents] for v, events in rows.items()}, name: new}
        fits = np.ones(len(new), dtype=np.bool_)
        is_until = beside is not None and beside.place == "until"
        for variable in () if is_until else rows:
            if req.may_coincide(branch, variable, name):
                fits &= together[variable] != new
        if branch.partition_by:
            fits &= table.partition[together[branch.variables[0]]] == table.partition[new]
        for name_of_clock, most in windows:
            if name_of_clock != "time":
                fits &= spans(table.clock(name_of_clock), together) <= most[parents]
        for condition in (each for each in about if c.variables_of(each) != {name}):
            read = table.reader(together, sets)
            fits &= ~measures.condition(condition, read, len(new)).broken
        if beside is not None and beside.place in ("before", "behind") and sets is not None:
            for at_one in np.flatnonzero(fits):
                one = {v: events[parents[at_one : at_one + 1]] for v, events in rows.items()}
                one[beside.variable] = new[at_one : at_one + 1]
                fits[at_one] = _joins(measures, beside.variable, name, of_members, one, sets)
        yield parents[fits], new[fits]


def _joins(
    measures: Measures,
    variable: str,
    name: str,
    of_members: Sequence[c.Expression],
    one: Combinations,
    sets: Mapping[str, Sequence[int]],
) -> bool:
    """Return whether UNTIL and the conditions between members let an event join a greedy set.

    Args:
        variable: The variable of the set; in `one` it has the event that could join.
        of_members: The conditions on each member and others up to it.
        one: The event that could join, and those of the other variables.
        sets: The events of all variables.
    """
    longer = {**sets, variable: sorted((*sets[variable], int(one[variable][0])))}
    for condition in of_members:
        own = renamed(condition, {name: variable})
        if longer[variable].index(int(one[variable][0])) >= c.reach_back(own):
            # A member by its number may be the event, for all other members too.
            by_number = c.set_of_members(own) is None
            members = np.array(longer[variable]) if by_number else one[variable]
            rows = {v: np.resize(events, len(members)) for v, events in one.items()}
            read = measures.table.reader({**rows, variable: members}, longer)
            if measures.condition(own, read, len(members)).broken.any():
                return False
    end = measures.branch.until(variable)
    return end is None or not any(
        len(events) for _, events in forbidden_events(measures, end, one, 1, sets=longer)
    )
