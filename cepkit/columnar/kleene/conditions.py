"""Conditions that can be checked only on chosen sets.

- conditions with set functions, and those between members of two sets: true for every member;
- that two sets have no event in common;
- absences that depend on members;
- under contiguity, that nothing lies between the events of a match;
- windows in arrival numbers where the stream did not arrive in the order of time.

Each is checked as soon as all sets that it is about are chosen. Cost: the members of the sets, for
members of several sets their combinations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import StepCounters
from cepkit.columnar.join.step import Join, Partials
from cepkit.columnar.kleene.neighbours import between_neighbours, members_before, with_before
from cepkit.columnar.slices.binding import BoundProgram
from cepkit.columnar.slices.blocks import Members
from cepkit.columnar.slices.bound import BoundAbsence
from cepkit.indexing import bin_counts, reduced, repeated
from cepkit.pattern.conditions import (
    DISTINCT,
    EARLIER,
    RUNNING,
    Aggregate,
    Attribute,
    Expression,
    place_of,
    plain_function,
    reach_back,
    set_of_members,
    set_of_prev,
    variables_of,
    walk,
)
from cepkit.pattern.evaluation.columns import truth
from cepkit.pattern.evaluation.set_functions import new_in_sets, set_function
from cepkit.pattern.requirements import Windows
from cepkit.pattern.rewrite import replaced
from cepkit.stream.columns import Column

Ints = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ChosenRows:
    """Rows for which some sets are chosen.

    Attributes:
        rows: The candidate of each single variable in each row.
        members: The chosen sets, as events of the slice.
        size: The number of rows.
    """

    rows: Partials
    members: Mapping[str, Members]
    size: int

    def take(self, at: npt.NDArray[np.integer]) -> ChosenRows:
        """Return the rows at `at`."""
        rows = {v: column[at] for v, column in self.rows.items()}
        return ChosenRows(rows, {v: sets.take(at) for v, sets in self.members.items()}, len(at))

    def with_members(self, variable: str, members: Members) -> ChosenRows:
        """Return the rows with one more set chosen."""
        return replace(self, members={**self.members, variable: members})


@dataclass(frozen=True, slots=True)
class _Check:
    """A check, and the Kleene variables that must be chosen before it."""

    variables: frozenset[str]
    holds: Callable[[ChosenRows], Mask]
    of_neighbours: bool = False


class SetConditions:
    """The conditions of a bound program on chosen sets.

    Attributes:
        variables: The Kleene variables that the checks are about.
        of_neighbours: Those of them whose checks are all about neighbouring members.
    """

    def __init__(self, bound: BoundProgram, join: Join) -> None:
        self._bound = bound
        self._join = join
        self._absence_counters: dict[str, StepCounters] = {}
        self._checks = tuple(self._all_checks())
        self.variables = frozenset(v for check in self._checks for v in check.variables)
        others = [v for check in self._checks if not check.of_neighbours for v in check.variables]
        self.of_neighbours = self.variables - {*others}

    def hold(self, chosen: ChosenRows) -> Mask:
        """Return which rows pass the checks that the newest set makes possible."""
        newest = [*chosen.members][-1]
        mask = np.ones(chosen.size, dtype=np.bool_)
        for check in self._checks:
            if newest in check.variables and check.variables <= chosen.members.keys():
                mask &= check.holds(chosen)
        return mask

    def last_holds(self, conditions: Sequence[Expression], chosen: ChosenRows) -> Mask:
        """Return for which rows conditions on each member hold for the last member of the set.

        Those that read a member by its number are checked on all members: for the first ones it may
        be the last one.
        """
        mask = np.ones(chosen.size, dtype=np.bool_)
        for condition in conditions:
            mask &= self._true(condition, chosen, last=set_of_members(condition) is not None)
        return mask

    def _all_checks(self) -> Iterable[_Check]:
        program = self._bound.program
        every = frozenset(step.variable for step in program.listed)
        for condition in program.on_sets:
            names = variables_of(condition) & every
            between = bool(between_neighbours([condition], set_of_prev(condition) or ""))
            yield _Check(names, partial(self._true, condition), between)
        for x, y in program.overlapping:
            yield _Check(frozenset((x, y)), partial(self._apart, x, y))
        clock = program.side_by_side
        if clock is not None:
            yield _Check(every, self._gapless)
        counted = tuple(window for window in program.windows if window[1] != "time")
        if counted and not self._bound.binder.in_order:
            yield _Check(every, partial(self._within, counted))
        for absence in self._bound.late:
            yield _Check(self._needed((absence,), every), partial(self._is_absent, absence))
        for group in self._bound.otherwise:
            if is_late(group, len(self._bound.steps)):
                yield _Check(self._needed(group, every), partial(self._some_exists, group))

    def _needed(self, group: Iterable[BoundAbsence], every: frozenset[str]) -> frozenset[str]:
        """Return the Kleene variables that must be chosen before absences can be checked."""
        needed: set[str] = set()
        for one in group:
            together = one.absence.together
            mentioned = {v for each in together for v in each.apart}.union(
                *(variables_of(c) for each in together for c in each.conditions)
            ) & every
            if one.absence.further is not None:
                mentioned |= {one.absence.further.variable}
            if one.absence.after == len(self._bound.steps):
                needed |= mentioned or every
                if any(clock != "time" for _, clock in one.absence.step.windows):
                    needed |= every
        return frozenset(needed)

    def _true(self, condition: Expression, chosen: ChosenRows, *, last: bool = False) -> Mask:
        """Return for which rows a condition is true for all members that it is about.

        Args:
            last: Whether it is checked on the last member of a set only.
        """
        functions: dict[tuple[str, str], Aggregate] = {}
        before: dict[str, npt.NDArray[np.int64]] = {}

        def new(node: Attribute | Aggregate) -> Expression:
            if isinstance(node, Attribute):
                return node
            # No variable has such a name.
            name = (f"{node.function} of {node.variable}", node.attribute or "")
            functions[name] = node
            return Attribute(*name, node.span)

        compared, back = set_of_members(condition), reach_back(condition)
        if compared is not None:
            condition = with_before(condition)
            chosen = chosen.with_members(compared, chosen.members[compared].in_stream_order())
        condition = replaced(condition, new)
        read_of = {n.variable for n in walk(condition) if isinstance(n, Attribute)}
        if compared is not None:
            read_of.add(compared)
        each = sorted(read_of & chosen.members.keys())
        if last and compared is not None:
            owners = np.arange(chosen.size)
            places = {compared: chosen.members[compared].starts[1:] - 1}
        else:
            owners, places = _combined({v: chosen.members[v] for v in each}, chosen.size)
        if compared is not None and back:
            later = places[compared] >= chosen.members[compared].starts[:-1][owners] + back
            owners, places = owners[later], {v: at[later] for v, at in places.items()}
            before = {
                name: places[compared] - far for name, far in members_before(condition).items()
            }
        known: dict[tuple[str, str], Column] = {}

        def read(variable: str, attribute: str) -> Column:
            if (variable, attribute) in functions:
                node = functions[variable, attribute]
                if node.function.startswith((RUNNING, EARLIER)):
                    assert compared is not None
                    return self._running(node, chosen.members[compared], owners, places[compared])
                if (variable, attribute) not in known:
                    assert node.variable is not None
                    sets = chosen.members[node.variable]
                    if place_of(node.function) is not None:
                        sets = sets.in_stream_order()
                    of_members = (
                        None
                        if node.attribute is None
                        else self._attribute(node.variable, node.attribute, sets.rows)
                    )
                    known[variable, attribute] = set_function(node, of_members, sets.starts)
                return known[variable, attribute].take(owners)
            if variable in before and compared is not None:
                rows = chosen.members[compared].rows[before[variable]]
                return self._attribute(compared, attribute, rows)
            if variable in places:
                rows = chosen.members[variable].rows[places[variable]]
                return self._attribute(variable, attribute, rows)
            return (
                self._bound.candidates[variable]
                .column(attribute)
                .take(chosen.rows[variable][owners])
            )

        mask = np.ones(chosen.size, dtype=np.bool_)
        mask[owners[~truth(condition, read, len(owners))]] = False
        return mask

    def _running(
        self,
        node: Aggregate,
        members: Members,
        owners: npt.NDArray[np.int64],
        places: npt.NDArray[np.int64],
    ) -> Column:
        """Return a function's values over the members of sets up to, or before, some places."""
        assert node.variable is not None
        begins = members.starts[:-1][owners]
        sizes = places - begins + node.function.startswith(RUNNING)
        if node.attribute is not None and plain_function(node.function) == DISTINCT:
            values = self._attribute(node.variable, node.attribute, members.rows)
            new = np.append(0, np.cumsum(new_in_sets(values, members.starts)))
            return Column("integer", new[begins + sizes] - new[begins])
        starts = np.concatenate(([0], np.cumsum(sizes)))
        rows = members.rows[repeated(begins - starts[:-1], sizes) + np.arange(starts[-1])]
        of_members = None
        if node.attribute is not None:
            of_members = self._attribute(node.variable, node.attribute, rows)
        plain = replace(node, function=plain_function(node.function))
        return set_function(plain, of_members, starts)

    def _attribute(self, variable: str, attribute: str, rows: npt.NDArray[np.integer]) -> Column:
        return self._bound.candidates[variable].attribute(attribute).take(rows)

    def _apart(self, x: str, y: str, chosen: ChosenRows) -> Mask:
        """Return for which rows two sets have no event in common."""
        owners, places = _combined({v: chosen.members[v] for v in (x, y)}, chosen.size)
        same = chosen.members[x].rows[places[x]] == chosen.members[y].rows[places[y]]
        return np.asarray(bin_counts(owners[same], minlength=chosen.size) == 0)

    def _gapless(self, chosen: ChosenRows) -> Mask:
        clock = self._bound.program.side_by_side
        assert clock is not None
        least, greatest = self._extremes(chosen, clock)
        ends = self._bound.program.ends
        count = np.full(chosen.size, sum(v not in ends for v in chosen.rows if v), dtype=np.int64)
        for sets in chosen.members.values():
            count += sets.sizes
        return np.asarray(greatest - least + 1 == count)

    def _within(self, windows: Windows, chosen: ChosenRows) -> Mask:
        mask = np.ones(chosen.size, dtype=np.bool_)
        for length, clock in windows:
            least, greatest = self._extremes(chosen, clock)
            mask &= greatest - least <= length
        return mask

    def _extremes(
        self, chosen: ChosenRows, clock: Any
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the least and the greatest arrival number of each row."""
        candidates = self._bound.candidates
        parts = [candidates[v].clock(clock)[at] for v, at in chosen.rows.items() if v]
        lows, highs = list(parts), list(parts)
        for variable, sets in chosen.members.items():
            numbers = candidates[variable].all_numbers[clock][sets.rows]
            lows.append(reduced(np.minimum, numbers, sets.starts[:-1]))
            highs.append(reduced(np.maximum, numbers, sets.starts[:-1]))
        return reduce(np.minimum, lows), reduce(np.maximum, highs)

    def _is_absent(self, one: BoundAbsence, chosen: ChosenRows) -> Mask:
        return ~self._exists(one, chosen)

    def _some_exists(self, group: Sequence[BoundAbsence], chosen: ChosenRows) -> Mask:
        return reduce(np.logical_or, [self._exists(one, chosen) for one in group])

    def _exists(self, one: BoundAbsence, chosen: ChosenRows) -> Mask:
        """Return for which rows there are events that must be absent together."""
        present = np.zeros(chosen.size, dtype=np.bool_)
        for parents, _ in self._forbidden_events(one, chosen):
            present[parents] = True
        return present

    def _forbidden_events(
        self, one: BoundAbsence, chosen: ChosenRows
    ) -> Iterator[tuple[npt.NDArray[np.integer], Ints]]:
        """Yield rows with an event each that must not be there, some at a time."""
        within = None if one.end is None else self._within_ends(one, one.end, chosen)
        variable = one.absence.step.variable
        counters = self._absence_counters.setdefault(variable, StepCounters(variable))
        rows = {v: at for v, at in chosen.rows.items() if v}
        windows = tuple(window for window in one.absence.step.windows if window[1] != "time")
        for _, _, parents, candidates in self._join.groups(one.bound, counters, rows, chosen.size):
            pairs = chosen.take(parents)
            pairs = replace(pairs, rows={**pairs.rows, variable: candidates.copy()})
            mask = np.ones(pairs.size, dtype=np.bool_)
            if windows and not self._bound.binder.in_order:
                mask &= self._within(windows, pairs)
            events = self._bound.candidates[variable].rows[candidates]
            for other in one.absence.apart:
                sets = pairs.members[other]
                owners = np.repeat(np.arange(pairs.size), sets.sizes)
                mask[owners[sets.rows == events[owners]]] = False
            for condition in one.absence.conditions:
                mask &= self._true(condition, pairs)
            if one.absence.further is not None:
                name = one.absence.further.variable
                longer = pairs.with_members(name, pairs.members[name].with_last(events))
                mask &= self.last_holds(one.absence.further.conditions, longer)
            if within is not None:
                mask &= within(parents, events)
            if one.bound.then is not None and one.absence.then is not None and mask.any():
                then = BoundAbsence(one.bound.then, one.absence.then)
                rest = np.flatnonzero(mask)
                mask[rest] = self._exists(then, pairs.take(rest))
            yield parents[mask], events[mask]

    def _within_ends(
        self, one: BoundAbsence, end: BoundAbsence, chosen: ChosenRows
    ) -> Callable[[npt.NDArray[np.integer], Ints], Mask]:
        """Return a function that tells which events, one for each row, UNTIL lets into its set."""
        assert one.absence.further is not None
        behind = one.absence.further.behind
        # Events of a slice are numbered in stream order.
        ends = np.full(chosen.size, np.iinfo(np.int32).max if behind else -1, dtype=np.int32)
        for rows, events in self._forbidden_events(end, chosen):
            (np.minimum if behind else np.maximum).at(ends, rows, events)

        def within(rows: npt.NDArray[np.integer], events: Ints) -> Mask:
            return np.asarray(events < ends[rows] if behind else events > ends[rows])

        return within


def is_late(group: Iterable[BoundAbsence], steps: int) -> bool:
    """Return whether any of the absences can be checked only when sets are chosen."""
    return any(one.absence.after == steps for one in group)


def _combined(
    sets: Mapping[str, Members], size: int
) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[np.int64]]]:
    """Return all combinations of a member of each set: their row, and the members' places."""
    owners = np.arange(size)
    places: dict[str, npt.NDArray[np.int64]] = {}
    for variable, members in sets.items():
        sizes = members.sizes[owners]
        again = repeated(np.arange(len(owners)), sizes)
        within = np.arange(len(again)) - repeated(np.cumsum(sizes) - sizes, sizes)
        places = {v: at[again] for v, at in places.items()}
        places[variable] = members.starts[:-1][owners][again] + within
        owners = owners[again]
    return owners, places
