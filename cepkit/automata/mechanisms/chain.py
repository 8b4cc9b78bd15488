"""The lazy chain NFA: it takes variables in the order of a plan, not in their order in time.

A state for each prefix of the order. An instance takes its next variable from the input buffer
and, if its scope is open at the end, from the stream; events that a later state may need are
stored. Each instance sees each event once, and a child takes it, so each match is found once.
O(instances in a state) for an event, O(log buffer + candidates) for a new instance. Sets grow by a
loop on the state that took them, members in stream order.
Source: LAZY, sections 4 and 5, with scopes in the order of the pattern. It cannot change its
order while it runs.

With several patterns it is the multi-pattern NFA: chains share their common prefixes and one
initial state. Source: MULTI.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepkit.automata.chart import Chart
from cepkit.automata.compile.demands import Stage
from cepkit.automata.compile.rules import Rules
from cepkit.automata.events import Event
from cepkit.automata.lanes.buffers import Buffer
from cepkit.automata.lanes.journal import Instance
from cepkit.automata.lanes.lane import Setting
from cepkit.automata.lanes.shared import Handed, SharedLane
from cepkit.automata.mechanisms.contract import Follows
from cepkit.plan.nodes import BranchPlan
from cepkit.tracing.diagram import DiagramKind, NodeKind
from cepkit.tracing.operations import Reason


@dataclass(frozen=True, slots=True)
class ChainNFA:
    """The lazy automaton of an order."""

    name: str = "chain-nfa"
    follows: Follows = "an order"
    diagram: DiagramKind = "chain"
    together: str = "multi-pattern-nfa"
    joint_diagram: DiagramKind = "forest"

    def prepare(self, rules: Rules, number: int, chart: Chart, plan: BranchPlan) -> ChainProgram:
        """Return the states of the order of a plan."""
        return ChainProgram(rules, number, chart, plan.variables)

    def prepare_following(
        self,
        rules: Rules,
        number: int,
        chart: Chart,
        plan: BranchPlan,
        followed: Sequence[tuple[ChainProgram, Handed]],
    ) -> ChainProgram:
        """Return the states after those of another branch (see `contract.Joint`)."""
        ((other, handed),) = followed
        first = other.first(handed.theirs)
        return ChainProgram(rules, number, chart, plan.variables, first)


@dataclass(frozen=True, slots=True)
class First:
    """The states and edges of a chain that another chain shares as its prefix."""

    nodes: tuple[int, ...] = ()
    takes: tuple[int, ...] = ()


NO_FIRST = First()
"""All states are the chain's own."""


class ChainProgram:
    """The states and edges of a chain, and the demands of each take edge.

    Attributes:
        begin: The number of variables that another chain takes for it.
        rooted: Whether the initial state is its own.
        stages: The demands at each position of the order.
        position: The position of each variable.
        stored: For each position whether its events are stored.
        nodes: The state for each number of bound variables.
        takes: The take edge of each position.
        loops: The edge on which a set grows, for each position of a set.
    """

    def __init__(
        self,
        rules: Rules,
        number: int,
        chart: Chart,
        order: Sequence[str],
        first: First = NO_FIRST,
    ) -> None:
        begin = self.begin = len(first.takes)
        self.rooted = not first.nodes
        slots = [rules.slot[variable] for variable in order]
        bound = [sum(1 << slot for slot in slots[:i]) for i in range(len(slots) + 1)]
        self.stages = tuple(rules.stage(bound[i], slot) for i, slot in enumerate(slots))
        self.position = {slot: i for i, slot in enumerate(slots)}
        self.stored = tuple(
            i >= begin and _stored(rules, bound[i], slot) for i, slot in enumerate(slots)
        )
        self.nodes = first.nodes + tuple(
            _node(chart, number, rules, slots, i) for i in range(len(first.nodes), len(order) + 1)
        )
        self.takes = first.takes + tuple(
            chart.edge(
                self.nodes[i],
                self.nodes[i + 1],
                "take",
                rules.label(slot),
                rules.conditions(stage),
                stage.scope,
            )
            for i, (slot, stage) in enumerate(zip(slots, self.stages, strict=True))
            if i >= begin
        )
        self.loops = {
            i: chart.edge(
                self.nodes[i + 1],
                self.nodes[i + 1],
                "take",
                rules.label(slot),
                tuple(test.text for test in self.stages[i].growing),
            )
            for i, slot in enumerate(slots)
            if slot in rules.bounds and i >= begin
        }
        for i, node in enumerate(self.nodes[:-1]):
            stored = [slot for j, slot in enumerate(slots) if j >= i and self.stored[j]]
            # The last set may still grow, so its events are not ignored.
            ignored = [s for j, s in enumerate(slots[:i]) if j < i - 1 or s not in rules.bounds]
            if stored:
                chart.edge(node, node, "store", ", ".join(map(rules.label, stored)))
            if ignored and i >= len(first.nodes):
                chart.edge(node, node, "ignore", ", ".join(map(rules.label, ignored)))

    def lane(self, setting: Setting) -> ChainLane:
        """Return a lane, with its initial instance if the initial state is its own."""
        return ChainLane(setting, self)

    def node_of(self, bound: int) -> int:
        """Return the state whose instances bind some variables."""
        return self.nodes[bound.bit_count()]

    def first(self, bound: int) -> First:
        """Return the states up to the one whose instances bind some variables."""
        length = bound.bit_count()
        return First(self.nodes[: length + 1], self.takes[:length])


def _node(chart: Chart, number: int, rules: Rules, slots: Sequence[int], i: int) -> int:
    final = i == len(slots)
    kind: NodeKind = "final" if final else "state" if i else "start"
    names = tuple(rules.called[slot] for slot in slots[:i])
    return chart.node(number, i, "F" if final else f"q{i}", kind, names)


def _stored(rules: Rules, bound: int, slot: int) -> bool:
    """Return whether an instance may need an earlier event for a variable.

    An instance is created at its last event. If the variable comes after every bound variable that
    may have that event, its events are still to come.
    """
    last = rules.nearest_before(bound)
    return bool(bound) and not all(rules.earlier(slot) >> x & 1 for x in last)


class ChainLane(SharedLane):
    """The instances of a chain in one partition."""

    def __init__(self, setting: Setting, program: ChainProgram) -> None:
        super().__init__(setting)
        self._program = program
        count = len(program.stages)
        names = self.rules.called
        self._buffers = tuple(
            Buffer(names[stage.slot]) if stored else None
            for stage, stored in zip(program.stages, program.stored, strict=True)
        )
        self._waiting: tuple[dict[int, Instance], ...] = tuple({} for _ in range(count))
        self._growing: tuple[dict[int, Instance], ...] = tuple({} for _ in range(count))
        if program.rooted:
            empty = (None,) * count
            root = self.create((), program.nodes[0], 0, empty, 0, 0)
            self.stay(root, self._waiting[0])

    def point(self, bound: int) -> int:
        """Return the number of bound variables (see `SharedLane`)."""
        return bound.bit_count()

    def arrive(self, event: Event, slots: Sequence[int]) -> None:
        """Store the event if a later instance may need it; offer it to the waiting instances."""
        waiting: list[tuple[Instance, int]] = []
        growing: list[tuple[Instance, int]] = []
        for slot in slots:
            i = self._program.position[slot]
            buffer = self._buffers[i]
            if buffer is not None:
                self.clock.keep(event, buffer)
            waiting += [(instance, i) for instance in self._waiting[i].values()]
            growing += [(instance, i) for instance in self._growing[i].values()]
        self.journal.work.take(len(waiting) + len(growing))
        # Instances created from here on find the event in the buffer.
        stages = self._program.stages
        for instance, i in waiting + growing:
            if instance.alive and self.scopes.in_scope(stages[i], instance, event):
                self._take(instance, i, event)

    def _take(self, instance: Instance, i: int, event: Event) -> None:
        """Offer an instance an event for the variable at position `i`, or one more for its set."""
        program = self._program
        stage = program.stages[i]
        place, tests, binding = self.offered(instance, stage, event)
        edge = program.takes[i] if instance.binding[stage.slot] is None else program.loops[i]
        if self.holds(instance, edge, event, tests, binding):
            child = self.extended(instance, program.nodes[i + 1], stage.slot, place, event)
            self._settle(child, i, stage)

    def _settle(self, instance: Instance, i: int, stage: Stage) -> None:
        """Do all possible steps of an instance that has just bound the variable at position `i`."""
        slot = stage.slot
        reason: Reason = "exhausted"
        if self.loses(instance, stage.lasting):
            return
        if slot in self.rules.bounds:
            if self.may_end(instance, slot, stage.closing, stage.absences):
                self.go_on(instance, i + 1)
            else:
                reason = "unfinished"
            self._grow_from_buffer(instance, i, stage)
        else:
            by = self.breaker(stage.absences, instance)
            if by is not None:
                self.discard(instance, by.reason, by.events)
                return
            self.go_on(instance, i + 1)
        if len(instance.homes) == 1 and not instance.views:
            self.discard(instance, instance.outcome or reason)

    def go_on(self, instance: Instance, point: int) -> None:
        """Take the variable at position `point`; after the last one make a match."""
        if point == len(self._program.stages):
            self.complete(instance)
        else:
            stage, buffer = self._program.stages[point], self._buffers[point]
            if buffer is not None:
                for event in self.scopes.candidates(buffer, stage, instance):
                    self._take(instance, point, event)
            if not stage.before:
                self.stay(instance, self._waiting[point])
        if self.followers:
            self.hand_on(instance, point)

    def _grow_from_buffer(self, instance: Instance, i: int, stage: Stage) -> None:
        if not self.may_grow(instance, stage.slot):
            return
        last, buffer = self.members(instance, stage.slot)[-1], self._buffers[i]
        if buffer is not None:
            for event in self.scopes.candidates(buffer, stage, instance):
                if event.number > last.number:
                    self._take(instance, i, event)
        if not stage.before:
            self.stay(instance, self._growing[i])
