"""A branch compiled for evaluation event by event.

Scopes, due conditions and decidable absences depend on the bound variables, not on the events; they
are computed once for each set of bound variables. Such sets are bit masks over places. Source:
LAZY, sections 4 and 5, with the scope taken in the order of the pattern.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import assert_never

from cepkit.automata.compile.demands import Absence, Sought, Stage, Test
from cepkit.automata.compile.shown import shown
from cepkit.automata.events import Binding
from cepkit.automata.scalars import Layout, truth, truth_of_last
from cepkit.pattern import requirements as req
from cepkit.pattern.conditions import (
    Aggregate,
    Attribute,
    Expression,
    has_functions_of,
    is_filter,
    reach_back,
    set_of_members,
    variables_of,
    walk,
)
from cepkit.pattern.names import is_repetition
from cepkit.pattern.nodes import Event as EventNode
from cepkit.pattern.nodes import Kleene
from cepkit.pattern.normal_form import Branch, next_in
from cepkit.pattern.printer import expression_text, structure_text
from cepkit.pattern.rewrite import renamed, replaced
from cepkit.stream.columns import Kind
from cepkit.tracing.clauses import Clauses

NOTHING: Mapping[str, str] = MappingProxyType({})


class Rules:
    """The demands of a branch on its events.

    Args:
        names: The attributes of events, in the order of their values.
        ascending: Whether the clock of the window never goes back in stream order.
        called: The names of variables in traces that differ from their own.
        taken: Sets of variables that other branches bind for this one.

    Attributes:
        called: The name of each variable in traces.
        searches: For each absent variable its absence and the search that starts with it.
        possible: Whether the conditions without variables hold.
        decided: For each absent variable whether this branch decides its absence.
    """

    def __init__(
        self,
        branch: Branch,
        clauses: Clauses,
        names: Iterable[str],
        kinds: Mapping[str, Kind],
        *,
        ascending: bool,
        called: Mapping[str, str] = NOTHING,
        taken: Iterable[Collection[str]] = (),
    ) -> None:
        self.branch = branch
        self.clauses = clauses
        self._called = called
        self.ascending = ascending
        self.variables = branch.variables
        self.slot = {variable: i for i, variable in enumerate(branch.variables)}
        self.everything = (1 << len(self.variables)) - 1
        self.bounds = {self.slot[v]: (least, most) for v, least, most in branch.repeated}
        self.limit: int | None = None
        self.timed = True
        conditions = []
        for requirement in req.requirements_of(branch):
            match requirement:
                case req.Holds(condition):
                    conditions.append(condition)
                case req.Within(window):
                    self.limit, self.timed = window.most, requirement.clock == "time"
                case req.OfType() | req.Before() | req.Distinct() | req.SamePartition():
                    pass  # what buffers, scopes and lanes are for
                case req.Size() | req.Absent():
                    pass
                case req.SideBySide() | req.Unconsumed():
                    raise AssertionError("simulation.py refuses these")
                case _:
                    assert_never(requirement)
        self._written = {e.variable: v for e in branch.negated if (v := _written_as(e)) is not None}
        self._missed = {
            e.variable for e in branch.negated if e.beside and e.variable in self._written
        }
        self._names, self._kinds = {name: i for i, name in enumerate(names)}, kinds
        self._sets = frozenset(variable for variable, _, _ in branch.repeated)
        self._stages: dict[tuple[int, int], Stage] = {}
        self._roles: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self.filters = tuple(self._filters(v) for v in self.variables)
        self.absent_filters = tuple(self._filters(e.variable) for e in branch.negated)
        self.tests = tuple(
            self._test(c) for c in conditions if variables_of(c) and not is_filter(c)
        )
        constant = [self._test(c) for c in conditions if not variables_of(c)]
        self.possible = all(test.holds(()) for test in constant)
        self.absences = self._absences()
        self.searches = self._searches()
        self.called = tuple(map(self.name_of, self.variables))
        masks = [self.mask(variables) for variables in taken]
        self._own = self.everything & ~sum(masks)
        self.decided = tuple(all(a.needs & ~mask for mask in masks) for a, _ in self.searches)

    def name_of(self, variable: str) -> str:
        """Return the name of a variable in traces, also of an absent one."""
        if variable in self._missed:
            return f"missed {self.name_of(self._written[variable])}"
        return self._called.get(variable, variable)

    def roles(self, kind: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the variables, and the absent ones, that may have an event of a type.

        Variables that another branch binds or decides are not among them.
        """
        if kind not in self._roles:
            positive = _of_type(kind, self.branch.positive)
            self._roles[kind] = (
                tuple(slot for slot in positive if self._own >> slot & 1),
                tuple(
                    i
                    for i in _of_type(kind, self.branch.negated)
                    if self.decided[i] or self.searches[i][0].awaited
                ),
            )
        return self._roles[kind]

    def earlier(self, slot: int) -> int:
        """Return the variables that are strictly before the one at `slot`."""
        return self.mask(self.branch.before(self.variables[slot]))

    def later(self, slot: int) -> int:
        """Return the variables that are strictly after the one at `slot`."""
        return self.mask(self.branch.after(self.variables[slot]))

    def stage(self, bound: int, slot: int) -> Stage:
        """Return the demands on the event at `slot`; sets among `bound` have ended."""
        stage = self._stages.get((bound, slot))
        if stage is None:
            stage = self._stages[bound, slot] = self._stage(bound, slot)
        return stage

    def _stage(self, bound: int, slot: int) -> Stage:
        bit, both = 1 << slot, bound | 1 << slot
        after = self.nearest_before(bound & self.earlier(slot))
        before = self.nearest_after(bound & self.later(slot))
        ordered = self.earlier(slot) | self.later(slot)
        rivals = tuple(other for other in places(bound & ~ordered) if self.overlap(slot, other))
        due = [t for t in self.tests if t.mask & bit and not t.mask & ~both]
        absences = [a for a in self.absences if a.needs & bit and not a.needs & ~both]
        is_set = slot in self.bounds
        tests = tuple(t for t in due if not t.sets & bit)
        growing = tuple(t.of_last for t in due if t.growing & bit and t.of_last is not None)
        if growing:  # these read the whole set; the others read its newest member alone
            tests = tuple(_of_newest(t, slot) for t in tests)
        return Stage(
            slot,
            after,
            before,
            rivals,
            tests,
            growing,
            tuple(t for t in due if t.sets & bit and not t.growing & bit),
            tuple(a for a in absences if is_set and a.lasting),
            tuple(a for a in absences if not (is_set and a.lasting)),
            self.scope(after, before),
        )

    def overlap(self, slot: int, other: int) -> bool:
        """Return whether one event could have a type of both variables."""
        return self.branch.positive[slot].overlaps(self.branch.positive[other])

    def nearest_before(self, mask: int) -> tuple[int, ...]:
        """Return the variables of a mask without a later one in it."""
        return tuple(x for x in places(mask) if not self.later(x) & mask)

    def nearest_after(self, mask: int) -> tuple[int, ...]:
        """Return the variables of a mask without an earlier one in it."""
        return tuple(x for x in places(mask) if not self.earlier(x) & mask)

    def scope(self, after: tuple[int, ...], before: tuple[int, ...]) -> str:
        """Return ``after a, before c``."""
        parts = ((word, slots) for word, slots in (("after", after), ("before", before)) if slots)
        return ", ".join(
            f"{word} {' and '.join(self.called[slot] for slot in slots)}" for word, slots in parts
        )

    def label(self, slot: int) -> str:
        """Return a variable as the pattern writes it: ``A a``, ``KL(B b)``; repeated ``A a[1]``."""
        variable, called = self.variables[slot], self.called[slot]
        if called != variable or is_repetition(variable):
            event = replace(self.branch.event(variable), variable=called)
            bounds = self.bounds.get(slot)
            return structure_text(event if bounds is None else Kleene(event, *bounds))
        return self.clauses.text_of(self.clauses.events[variable])

    def conditions(self, stage: Stage) -> tuple[str, ...]:
        """Return the conditions and absences of a stage as texts."""
        filters = self.filters[stage.slot]
        tests = (*filters, *stage.tests, *stage.growing, *stage.closing)
        absences = (*stage.lasting, *stage.absences)
        absent = map(self.absence_text, absences)
        return tuple(dict.fromkeys((*(t.text for t in tests), *absent)))

    def absence_text(self, absence: Absence) -> str:
        """Return an absence as the pattern writes it."""
        if absence.beside is not None and absence.beside.place == "until":
            return f"UNTIL {structure_text(self.branch.negated[absence.searches[0][0].index])}"
        return self.clauses.text_of(absence.clause)

    def named(self, mask: int) -> tuple[str, ...]:
        """Return the names in traces of the variables in a mask, in pattern order."""
        return tuple(self.called[slot] for slot in places(mask))

    def test_of(self, condition: Expression) -> Test:
        """Return the test of a condition of the branch about several variables."""
        return self._test(condition)

    def mask(self, variables: Iterable[str]) -> int:
        """Return the positive ones of some variables as a mask."""
        return sum(1 << self.slot[v] for v in variables if v in self.slot)

    def _filters(self, variable: str) -> tuple[Test, ...]:
        layout = Layout({variable: 0}, 1, frozenset(), self._names, self._kinds)
        return tuple(
            self._test(condition, layout)
            for condition in self.branch.conditions
            if variables_of(condition) == {variable} and is_filter(condition)
        )

    def _test(self, condition: Expression, layout: Layout | None = None) -> Test:
        if layout is None:
            layout = Layout(self.slot, len(self.variables), self._sets, self._names, self._kinds)
        set_slots = {
            node.variable
            for node in walk(condition)
            if isinstance(node, Aggregate) and node.variable is not None
        }
        test = Test(
            expression_text(replaced(condition, self._renamed)),
            self._clause(condition),
            truth(condition, layout),
            shown(condition, layout),
            self.mask(variables_of(condition)),
            self.mask(set_slots),
        )
        variable = set_of_members(condition)
        if variable is None:
            return test
        last = replace(test, holds=truth_of_last(condition, layout), reach=reach_back(condition))
        return replace(test, growing=self.mask((variable,)), of_last=last)

    def _test_of_next(self, condition: Expression, event: EventNode) -> Test:
        """Return a test of an absent event as the next member of its set."""
        assert event.beside is not None
        slot = self.slot[event.beside.variable]
        whole = self._test(renamed(condition, {event.variable: event.beside.variable}))
        last = whole.of_last or whole  # a member by its number may be the last one, for all others

        def longer(binding: Binding) -> Binding:
            members, new = binding[slot], binding[-1]
            assert isinstance(members, tuple)
            assert new is not None
            assert not isinstance(new, tuple)
            return (*binding[:slot], (*members, new), *binding[slot + 1 : -1])

        def holds(binding: Binding) -> bool:
            binding_with_event = longer(binding)
            members = binding_with_event[slot]
            assert isinstance(members, tuple)
            return len(members) <= last.reach or last.holds(binding_with_event)

        return replace(whole, holds=holds, shown=lambda b: last.shown(longer(b)), of_last=None)

    def _clause(self, condition: Expression) -> int:
        """Return the number of the clause of a condition: its own, or that of an event."""
        following = next_in(condition)
        if following is not None:
            return self.clauses.events[self._written.get(following, following)]
        number = self.clauses.conditions.get(renamed(condition, self._written))
        if number is not None:
            return number
        # A condition of GREEDY on an event behind a set, in other words.
        implied = next(v for v in variables_of(condition) if v in self._written)
        return self.clauses.events[self._written[implied]]

    def _renamed(self, node: Attribute | Aggregate) -> Expression:
        """Return a node of a condition under the name of its variable in traces."""
        variable = self._written.get(node.variable or "", node.variable)
        return node if variable is None else replace(node, variable=self.name_of(variable))

    def _absences(self) -> tuple[Absence, ...]:
        absences: list[Absence] = []
        for events in self.branch.absences:
            # The UNTIL of a set precedes the absences of its GREEDY.
            ends = [a for a in absences if a.beside and a.beside.place == "until"]
            absences.append(self._absence(events, {a.slot: a for a in ends}))
        return tuple(absences)

    def _searches(self) -> tuple[tuple[Absence, tuple[Sought, ...]], ...]:
        by_first = {s[0].index: (a, s) for a in self.absences for s in a.searches}
        return tuple(by_first[i] for i in range(len(self.branch.negated)))

    def _absence(self, events: Sequence[EventNode], ends: Mapping[int, Absence]) -> Absence:
        """Return the absence of an event, or of several events together.

        Args:
            events: The events; all have the same neighbours outside.
            ends: The UNTIL of each set, by the place of the set.
        """
        event, name = events[0], events[0].variable
        orders = [[one, *(other for other in events if other is not one)] for one in events]
        searches = tuple(tuple(self._sought(order)) for order in orders)
        earlier = self.mask(self.branch.before(name))
        later = self.mask(self.branch.after(name))
        nearest = {*searches[0][0].after, *searches[0][0].before}
        beside = event.beside
        place = None if beside is None else beside.place
        low = bool(earlier) or (beside is not None and beside.begin is not None)
        high = bool(later) or (beside is not None and beside.end is not None)
        windowed = not (low and high and (self.timed or self.ascending))
        slot = -1 if beside is None else self.slot[beside.variable]
        end = ends.get(slot) if place in ("before", "behind") else None
        needs = self.everything
        if not windowed:
            # An event between two events of a match is in its window, whatever else the match
            # binds. But it must not be one of the match's own events.
            own = (
                1 << other
                for other in places(self.everything & ~(earlier | later))
                if place != "until"
                and any(one.overlaps(self.branch.positive[other]) for one in events)
            )
            needs = sum(own) | sum(1 << other for other in nearest)
            needs |= 0 if slot < 0 else 1 << slot
            for step in searches[0]:
                for test in step.tests:
                    needs |= test.mask
            needs |= 0 if end is None else end.needs
        clause = self.clauses.events[self._written.get(name, name)]
        return Absence(searches, clause, needs, windowed, beside, slot, end)

    def _sought(self, events: Sequence[EventNode]) -> Iterator[Sought]:
        """Yield the steps of the search for absent events in a given order."""
        places_of = dict(self.slot)
        absent = {event.variable for event in self.branch.negated}
        for event in events:
            name = event.variable
            before, after = self.branch.neighbours(name, [*places_of])
            places_of[name] = len(places_of)
            layout = Layout({**places_of}, len(places_of), self._sets, self._names, self._kinds)
            about = [
                c
                for c in self.branch.conditions
                if name in variables_of(c) and (variables_of(c) & absent) <= places_of.keys()
                if not (variables_of(c) == {name} and is_filter(c))
            ]
            tests = tuple(
                self._test_of_next(c, event) if has_functions_of(c, name) else self._test(c, layout)
                for c in about
            )
            yield Sought(
                self.branch.negated.index(event),
                tuple(places_of[x] for x in before),
                tuple(places_of[x] for x in after),
                tests,
            )


def _of_newest(test: Test, slot: int) -> Test:
    """Return a test of the newest member of a set, on bindings with the whole set."""

    def alone(binding: Binding) -> Binding:
        place = binding[slot]
        assert isinstance(place, tuple)
        return (*binding[:slot], place[-1:], *binding[slot + 1 :])

    return replace(test, holds=lambda b: test.holds(alone(b)), shown=lambda b: test.shown(alone(b)))


def _written_as(event: EventNode) -> str | None:
    """Return the variable whose FIRST, GREEDY or run implies an absent event; None if written."""
    if event.beside is not None and event.beside.place != "until":
        return event.beside.variable
    return event.earlier_than


def places(mask: int) -> Iterable[int]:
    """Yield the places of a mask, ascending."""
    slot = 0
    while mask:
        if mask & 1:
            yield slot
        mask >>= 1
        slot += 1


def _of_type(kind: str, nodes: Iterable[EventNode]) -> tuple[int, ...]:
    return tuple(i for i, n in enumerate(nodes) if n.may_have(kind))
