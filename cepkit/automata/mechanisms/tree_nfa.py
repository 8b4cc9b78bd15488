"""The lazy tree NFA: each instance takes the rarest event in its buffer.

A state for each order in which variables are taken, made for its first instance and removed with
its last one. An instance waits until every missing variable has an event in its scope; then it
takes the variable with the fewest events, all of them, and each that passes makes a child. From
then on those events belong to the children: the instance moves its cut-off for that variable behind
them, and children inherit the other cut-offs, so each match is found once although the order
changes. Sets are taken last, for n candidates are 2^n - 1 sets.
With statistics the number of events of a variable is weighted by the selectivity of the conditions
that become due; without, an instance may go on with a variable that no condition links to it.
O(instances that wait for its variable) for an event, O(variables * log buffer) for each decision.
Source: LAZY, section 6; without cut-offs it finds some matches twice. It needs no plan. Weights are
ours.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from cepkit.automata.chart import Chart
from cepkit.automata.compile.demands import Stage
from cepkit.automata.compile.rules import Rules, places
from cepkit.automata.events import Event
from cepkit.automata.lanes.buffers import Buffer
from cepkit.automata.lanes.journal import Instance
from cepkit.automata.lanes.lane import Lane, Setting
from cepkit.automata.mechanisms.contract import Follows
from cepkit.plan.nodes import BranchPlan
from cepkit.statistics.model import Statistics
from cepkit.tracing.diagram import DiagramKind, NodeKind
from cepkit.tracing.operations import Reason

_DRAWN = 3
"""A tree of up to so many variables is drawn whole; of a larger one, the reached states."""

_number = attrgetter("number")


@dataclass(frozen=True, slots=True)
class TreeNFA:
    """The lazy automaton that chooses its order at run time.

    Attributes:
        statistics: The statistics of the pattern, whose selectivities weight events; None: no
            weights.
    """

    statistics: Statistics | None = None
    name: str = "tree-nfa"
    follows: Follows = "nothing"
    diagram: DiagramKind = "tree-nfa"

    def prepare(self, rules: Rules, number: int, chart: Chart, _: BranchPlan) -> TreeProgram:
        """Return the states of a branch."""
        return TreeProgram(rules, number, chart, self.statistics)


class TreeProgram:
    """The states of a branch, each an order of variables, and their edges.

    Attributes:
        singles: The variables that are no sets; they are taken first.
        occupants: The number of instances in each state.
    """

    def __init__(
        self, rules: Rules, number: int, chart: Chart, statistics: Statistics | None
    ) -> None:
        self.rules = rules
        selectivities = {} if statistics is None else statistics.selectivities
        self._shares = tuple(
            (rules.mask(names), selectivity.share)
            for names, selectivity in selectivities.items()
            if names <= rules.slot.keys()
        )
        self.singles = rules.everything & ~sum(1 << slot for slot in rules.bounds)
        self.occupants: Counter[int] = Counter()
        self._number = number
        self._chart = chart
        self.node(())
        if len(rules.variables) <= _DRAWN:
            self._draw(())

    def lane(self, setting: Setting) -> TreeLane:
        """Return a lane with its initial instance."""
        return TreeLane(setting, self)

    def node(self, order: tuple[int, ...]) -> int:
        """Return the state of an order; all complete orders have one final state."""
        names = tuple(self.rules.variables[slot] for slot in order)
        final = len(order) == len(self.rules.variables)
        kind: NodeKind = "final" if final else "state" if order else "start"
        label = "F" if final else " ".join(names) or "q0"
        key = "F" if final else order
        if final:
            names = self.rules.variables
        number_so_far = self._chart.known(self._number, key)
        if number_so_far is not None:
            return number_so_far
        number = self._chart.node(self._number, key, label, kind, names)
        missing = self.rules.everything & ~sum(1 << slot for slot in order)
        if missing:
            stored = ", ".join(self.rules.label(slot) for slot in places(missing))
            self._chart.edge(number, number, "store", stored)
        return number

    def edge(self, order: tuple[int, ...], slot: int) -> int:
        """Return the edge that takes the variable at `slot`; a loop for the last set."""
        longer = order if order[-1:] == (slot,) else (*order, slot)
        bound = sum(1 << other for other in order if other != slot)
        stage = self.rules.stage(bound, slot)
        conditions = self.rules.conditions(stage) if longer is not order else ()
        return self._chart.edge(
            self.node(order), self.node(longer), "take", self.rules.label(slot), conditions,
            stage.scope,
        )  # fmt: skip

    def next(self, bound: int) -> int:
        """Return the variables that may be taken now, as a mask: sets when no other is left."""
        missing = self.rules.everything & ~bound
        return missing & self.singles or missing

    def share(self, bound: int, slot: int) -> float:
        """Return the expected share of a variable's events that pass its due conditions."""
        both = bound | 1 << slot
        decided = (share for mask, share in self._shares if mask >> slot & 1 and not mask & ~both)
        return math.prod(decided)

    def _draw(self, order: tuple[int, ...]) -> None:
        for slot in places(self.next(sum(1 << other for other in order))):
            self.edge(order, slot)
            if slot in self.rules.bounds:
                self.edge((*order, slot), slot)
            self._draw((*order, slot))


@dataclass(slots=True, eq=False)
class _Wish:
    """The search of an instance of the tree: its order, and its cut-off for each variable.

    Attributes:
        order: The variables that it has taken, in that order.
        cuts: For each variable the last event that belongs to others: children, or the parent's.
        sets: The order of the Kleene variables; None until it is decided.
    """

    order: tuple[int, ...]
    cuts: list[int]
    sets: tuple[int, ...] | None = None


class TreeLane(Lane):
    """The instances of the tree in one partition."""

    def __init__(self, setting: Setting, program: TreeProgram) -> None:
        super().__init__(setting)
        self._program = program
        names = self.rules.variables
        self._buffers = tuple(Buffer(name) for name in names)
        self._wishes: dict[int, _Wish] = {}
        self._watching: tuple[dict[int, Instance], ...] = tuple({} for _ in names)
        self._taking: tuple[dict[int, Instance], ...] = tuple({} for _ in names)
        self._growing: tuple[dict[int, Instance], ...] = tuple({} for _ in names)
        self._now = -1
        self._visit(program.node(()))
        root = self.create((), program.node(()), 0, (None,) * len(names), 0, 0)
        self._wishes[root.number] = _Wish((), [-1] * len(names))
        self.stay(root, self._watching[0])

    def arrive(self, event: Event, slots: Sequence[int]) -> None:
        """Store the event, and offer it to the instances that wait for it."""
        self._now = event.number
        for slot in slots:
            self.clock.keep(event, self._buffers[slot])
        watching = [i for slot in slots for i in self._watching[slot].values()]
        taking = [(i, slot) for slot in slots for i in self._taking[slot].values()]
        growing = [(i, slot) for slot in slots for i in self._growing[slot].values()]
        self.journal.work.take(len(watching) + len(taking) + len(growing))
        for instance in watching:
            if instance.alive:
                self._decide(instance)
        for instance, slot in (*taking, *growing):
            stage = self._stage(instance, slot)
            if instance.alive and self.scopes.in_scope(stage, instance, event):
                self._take(instance, slot, event)

    def discard(self, instance: Instance, reason: Reason, by: Sequence[Event] = ()) -> None:
        """End an instance, and remove its state with the last instance there."""
        super().discard(instance, reason, by)
        self._wishes.pop(instance.number, None)
        occupants = self._program.occupants
        occupants[instance.node] -= 1
        if not occupants[instance.node] and instance.bound != self.rules.everything:
            self.journal.leave(instance.node)

    def _visit(self, node: int, *, final: bool = False) -> None:
        """Count an instance at a state, and note a new state; the final one always exists."""
        occupants = self._program.occupants
        if not occupants[node] and not final:
            self.journal.visit(node)
        occupants[node] += 1

    def _stage(self, instance: Instance, slot: int) -> Stage:
        return self.rules.stage(instance.bound & ~(1 << slot), slot)

    def _decide(self, instance: Instance) -> None:
        """Take the rarest variable if all have events; else wait, or end."""
        wish = self._wishes[instance.number]
        missing = self.rules.everything & ~instance.bound
        available = {slot: self._available(instance, slot) for slot in places(missing)}
        lacking = [slot for slot in available if not available[slot]]
        if any(self._stage(instance, slot).before for slot in lacking):
            self.discard(instance, "exhausted")
            return
        if lacking:
            self._watch(instance, lacking[0])
            return
        program = self._program
        ranked = sorted(
            places(program.next(instance.bound)),
            key=lambda s: len(available[s]) * program.share(instance.bound, s),
        )
        slot = ranked[0]
        if slot in self.rules.bounds:
            # From here on the order is fixed: sets grow while others are taken.
            self._unwatch(instance)
            wish.sets = tuple(ranked)
            self._go_on(instance)
            if len(instance.homes) == 1:
                self.discard(instance, "exhausted")
            return
        for event in available[slot]:
            self._take(instance, slot, event)
        # These events now belong to children, or have failed.
        wish.cuts[slot] = self._now
        if self._stage(instance, slot).before:
            self.discard(instance, "exhausted")
        else:
            self._watch(instance, slot)

    def _available(self, instance: Instance, slot: int) -> list[Event]:
        """Return the events for a variable in an instance's scope, behind its cut-off."""
        events = self.scopes.candidates(self._buffers[slot], self._stage(instance, slot), instance)
        cut = self._wishes[instance.number].cuts[slot]
        self.journal.work.take(len(events))
        return events[bisect_right(events, cut, key=_number) :]

    def _take(self, instance: Instance, slot: int, event: Event) -> None:
        """Offer an instance an event for a variable, or one more member for its set."""
        wish, stage = self._wishes[instance.number], self._stage(instance, slot)
        place, tests, binding = self.offered(instance, stage, event)
        edge = self._program.edge(wish.order, slot)
        if self.holds(instance, edge, event, tests, binding):
            order = (*wish.order, slot) if instance.binding[slot] is None else wish.order
            node = self._program.node(order)
            self._visit(node, final=len(order) == len(self.rules.variables))
            child = self.extended(instance, node, slot, place, event)
            self._wishes[child.number] = _Wish(order, [*wish.cuts], wish.sets)
            self._settle(child, slot, stage)

    def _settle(self, instance: Instance, slot: int, stage: Stage) -> None:
        """Do all possible steps of an instance that has just bound the variable at `slot`."""
        if slot not in self.rules.bounds:
            by = self.breaker(stage.absences, instance)
            if by is not None:
                self.discard(instance, by.reason, by.events)
            elif instance.bound != self.rules.everything:
                self._decide(instance)
            else:
                self.complete(instance)
                if len(instance.homes) == 1:
                    self.discard(instance, instance.outcome or "exhausted")
            return
        if self.loses(instance, stage.lasting):
            return
        reason: Reason = "exhausted"
        if self.may_end(instance, slot, stage.closing, stage.absences):
            self._go_on(instance)
        else:
            reason = "unfinished"
        self._grow_from_buffer(instance, slot, stage)
        if len(instance.homes) == 1:
            self.discard(instance, instance.outcome or reason)

    def _go_on(self, instance: Instance) -> None:
        """Take the next set; after the last one make a match."""
        if instance.bound == self.rules.everything:
            self.complete(instance)
            return
        sets = self._wishes[instance.number].sets
        assert sets is not None, "sets are taken after their order is decided"
        slot = next(slot for slot in sets if not instance.bound >> slot & 1)
        for event in self._available(instance, slot):
            self._take(instance, slot, event)
        if not self._stage(instance, slot).before:
            self.stay(instance, self._taking[slot])

    def _grow_from_buffer(self, instance: Instance, slot: int, stage: Stage) -> None:
        if not self.may_grow(instance, slot):
            return
        last = self.members(instance, slot)[-1]
        for event in self.scopes.candidates(self._buffers[slot], stage, instance):
            if event.number > last.number:
                self._take(instance, slot, event)
        if not stage.before:
            self.stay(instance, self._growing[slot])

    def _watch(self, instance: Instance, slot: int) -> None:
        """Let an instance wait for an event of a variable."""
        self._unwatch(instance)
        self.stay(instance, self._watching[slot])

    def _unwatch(self, instance: Instance) -> None:
        for home in self._watching:
            if instance.number in home:
                self.move_out(instance, home)
