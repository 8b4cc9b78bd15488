"""The eager NFA: it takes events in the order of the stream, and stores none.

A state for each set of variables that can be bound so far: for a SEQ the prefixes of the pattern,
q0 to F; for AND every subset. An event makes a child of each instance that can take it; the
instance stays for the next event. The events of a match have one order, so it is found once.
O(instances in the states that wait for it) for an event.
Source: LAZY, section 3; the states beyond sequences are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepkit.automata.chart import Chart
from cepkit.automata.compile.demands import Absence, Stage, Test
from cepkit.automata.compile.rules import Rules, places
from cepkit.automata.events import Event
from cepkit.automata.lanes.journal import Instance
from cepkit.automata.lanes.lane import Lane, Setting, with_place
from cepkit.automata.mechanisms.contract import Follows
from cepkit.plan.nodes import BranchPlan
from cepkit.tracing.diagram import DiagramKind, NodeKind

_DRAWN = 32
"""Up to so many states are drawn in advance; of more, only those that are reached."""


@dataclass(frozen=True, slots=True)
class EagerNFA:
    """The automaton of the pattern's own order."""

    name: str = "eager-nfa"
    follows: Follows = "nothing"
    diagram: DiagramKind = "chain"

    def prepare(self, rules: Rules, number: int, chart: Chart, _: BranchPlan) -> EagerProgram:
        """Return the states of a branch."""
        return EagerProgram(rules, number, chart)


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """The transition of a state by an event for a variable.

    Attributes:
        stage: The demands on the event, with its scope.
        grows: Whether the event is one more member of a set.
        tests: The conditions that the event decides.
        absences: The absences that the event decides.
        ends: The sets that end before it; they need their least number of members.
        node: The next state.
    """

    stage: Stage
    grows: bool
    tests: tuple[Test, ...]
    absences: tuple[Absence, ...]
    ends: tuple[int, ...]
    node: int
    edge: int


class EagerProgram:
    """The states of a branch, masks of bound variables, and the moves between them."""

    def __init__(self, rules: Rules, number: int, chart: Chart) -> None:
        self.rules = rules
        self._number = number
        self._chart = chart
        self._moves: dict[tuple[int, int], Move | None] = {}
        self._sets = sum(1 << slot for slot in rules.bounds)
        # Each member decides the conditions on the members of one set alone.
        self._tests = tuple(test for test in rules.tests if test.growing != test.mask)
        states = self._states()
        for state in states:
            self.node(state)
        for state in states:
            for slot in range(len(rules.variables)):
                self.move(state, slot)

    def lane(self, setting: Setting) -> EagerLane:
        """Return a lane with its initial instance."""
        return EagerLane(setting, self)

    def node(self, state: int) -> int:
        """Return the node of a state."""
        final = state == self.rules.everything
        kind: NodeKind = "final" if final else "state" if state else "start"
        names = self.rules.named(state)
        chain = all(
            self.rules.earlier(x) >> y & 1 or self.rules.later(x) >> y & 1
            for x in range(len(self.rules.variables))
            for y in range(x)
        )
        label = "F" if final else f"q{len(names)}" if chain else ", ".join(names) or "q0"
        return self._chart.node(self._number, state, label, kind, names)

    def move(self, state: int, slot: int) -> Move | None:
        """Return the move of a state by an event for the variable at `slot`, or None."""
        key = (state, slot)
        if key not in self._moves:
            self._moves[key] = self._move(state, slot)
        return self._moves[key]

    def at_the_end(self) -> tuple[tuple[Test, ...], tuple[Absence, ...]]:
        """Return the conditions and absences that only complete matches decide: on open sets."""
        everything = self.rules.everything
        due, absences = self._due(everything), self._decided(everything)
        return (
            tuple(test for test in self._tests if test not in due),
            tuple(absence for absence in self.rules.absences if absence not in absences),
        )

    def open_sets(self, state: int) -> int:
        """Return the sets that may still grow in a state."""
        return self._sets & state & ~self._closed(state)

    def _states(self) -> list[int]:
        """Return all reachable states, if they are few; else the initial one."""
        states = [0]
        for state in states:
            for slot in places(self.rules.everything & ~state):
                follower = state | 1 << slot
                if not self.rules.earlier(slot) & ~state and follower not in states:
                    states.append(follower)
                    if len(states) > _DRAWN:
                        return [0]
        return states

    def _move(self, state: int, slot: int) -> Move | None:
        rules, bit = self.rules, 1 << slot
        grows = bool(state & bit)
        if rules.earlier(slot) & ~state or (grows and not self.open_sets(state) & bit):
            return None
        after = state | bit
        stage = rules.stage(state & ~bit, slot)
        due = self._due(state)
        if grows:
            tests = tuple(t for t in due if t.mask & bit and not t.sets & bit)
            absences: tuple[Absence, ...] = ()
        else:
            tests = tuple(t for t in self._due(after) if t not in due)
            decided = self._decided(state)
            absences = tuple(a for a in self._decided(after) if a not in decided)
        begin, end = self.node(state), self.node(after)
        conditions = (
            *(t.text for t in (*rules.filters[slot], *tests, *stage.growing)),
            *map(rules.absence_text, (*stage.lasting, *absences)),
        )
        conditions = tuple(dict.fromkeys(conditions))
        edge = self._chart.edge(begin, end, "take", rules.label(slot), conditions, stage.scope)
        ends = tuple(places(self.open_sets(state) & rules.earlier(slot)))
        return Move(stage, grows, tests, absences, ends, end, edge)

    def _closed(self, state: int) -> int:
        """Return the sets that have ended, because a later variable is bound."""
        return sum(1 << s for s in self.rules.bounds if self.rules.later(s) & state)

    def _due(self, state: int) -> tuple[Test, ...]:
        open_ = ~self._closed(state)
        return tuple(t for t in self._tests if not t.mask & ~state and not t.sets & open_)

    def _decided(self, state: int) -> tuple[Absence, ...]:
        open_ = self._sets & ~self._closed(state)
        return tuple(a for a in self.rules.absences if not a.needs & (~state | open_))


class EagerLane(Lane):
    """The instances of the eager automaton in one partition."""

    def __init__(self, setting: Setting, program: EagerProgram) -> None:
        super().__init__(setting)
        self._program = program
        self._final = program.at_the_end()
        self._at: dict[int, dict[int, Instance]] = {}
        empty = (None,) * len(self.rules.variables)
        root = self.create((), program.node(0), 0, empty, 0, 0)
        self.stay(root, self._at.setdefault(0, {}))

    def arrive(self, event: Event, slots: Sequence[int]) -> None:
        """Offer the event to every instance with a move for it."""
        offers = [
            (instance, move)
            for state, instances in self._at.items()
            for slot in slots
            if (move := self._program.move(state, slot)) is not None
            for instance in instances.values()
        ]
        self.journal.work.take(len(offers))
        for instance, move in offers:
            if instance.alive and self.scopes.in_scope(move.stage, instance, event):
                self._offer(instance, move, event)

    def _offer(self, instance: Instance, move: Move, event: Event) -> None:
        slot, bounds = move.stage.slot, self.rules.bounds
        if move.grows and not self.may_grow(instance, slot):
            return
        members = self.members(instance, slot) if move.grows else ()
        if any(len(self.members(instance, ended)) < bounds[ended][0] for ended in move.ends):
            return
        place = (*members, event) if slot in bounds else event
        growing = tuple(t for t in move.stage.growing if t.reach <= len(members))
        one = (event,) if slot in bounds and not growing else place
        binding = with_place(instance.binding, slot, one)
        if self.holds(instance, move.edge, event, (*move.tests, *growing), binding):
            child = self.extended(instance, move.node, slot, place, event)
            if self.loses(child, move.stage.lasting):
                return
            by = self.breaker(move.absences, child)
            if by is None:
                self._settle(child)
            else:
                self.discard(child, by.reason, by.events)

    def _settle(self, instance: Instance) -> None:
        """Make a match of a complete instance; keep the instance if it may take more events."""
        state = instance.bound
        if state == self.rules.everything:
            if self._may_end(instance):
                self.complete(instance)
            if not any(self.may_grow(instance, s) for s in places(self._program.open_sets(state))):
                if len(instance.homes) == 1:
                    self.discard(instance, instance.outcome or "unfinished")
                return
        self.stay(instance, self._at.setdefault(state, {}))

    def _may_end(self, instance: Instance) -> bool:
        for slot in places(self._program.open_sets(self.rules.everything)):
            if len(self.members(instance, slot)) < self.rules.bounds[slot][0]:
                return False
        return self.closes(instance, *self._final)
