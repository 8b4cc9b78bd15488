"""The evaluation tree: partial matches are joined at the nodes of a binary tree.

An event makes an instance at its variable's leaf. A new instance is combined with all instances at
the other child of its parent, then stored, so each pair is combined once; the children go on from
the parent in the same way, up to the root. At the leaf of a Kleene variable an event extends every
stored set. O(instances at the sibling) for each new instance.
Source: JOIN, section 2.3. It stores all instances that may still be needed, and cannot delay work.

With several patterns it is the multitree: equal subtrees are one, with several nodes above them.
Source: MULTI.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import assert_never

from cepkit.automata.chart import Chart
from cepkit.automata.compile.demands import Absence, Test
from cepkit.automata.compile.rules import Rules, places
from cepkit.automata.events import Binding, Event, Place
from cepkit.automata.lanes.journal import Instance
from cepkit.automata.lanes.lane import Setting, with_place
from cepkit.automata.lanes.scopes import begin_of, end_of
from cepkit.automata.lanes.shared import Handed, SharedLane
from cepkit.automata.mechanisms.contract import Follows
from cepkit.plan.nodes import BranchPlan, Pair, Tree, as_tree, leaves, tree_text
from cepkit.tracing.diagram import DiagramKind, NodeKind

NO_OTHERS: Mapping[int, int] = MappingProxyType({})
"""No nodes of other branches."""


@dataclass(frozen=True, slots=True)
class EvaluationTree:
    """The tree of a plan; an order is a tree that leans left."""

    name: str = "evaluation-tree"
    follows: Follows = "a tree"
    diagram: DiagramKind = "evaluation-tree"
    together: str = "multitree"
    joint_diagram: DiagramKind = "multitree"

    def prepare(self, rules: Rules, number: int, chart: Chart, plan: BranchPlan) -> JoinProgram:
        """Return the nodes of the tree of a plan."""
        return JoinProgram(rules, number, chart, as_tree(plan).root)

    def prepare_following(
        self,
        rules: Rules,
        number: int,
        chart: Chart,
        plan: BranchPlan,
        followed: Sequence[tuple[JoinProgram, Handed]],
    ) -> JoinProgram:
        """Return the nodes above those of other branches (see `contract.Joint`)."""
        nodes_by_variables = {
            handed.bound: other.node_of(handed.theirs) for other, handed in followed
        }
        return JoinProgram(rules, number, chart, as_tree(plan).root, nodes_by_variables)


@dataclass(slots=True, eq=False)
class Station:
    """A node of the tree with its demands.

    Attributes:
        index: Its place among the nodes of its branch.
        node: Its number in the diagram.
        bound: The variables below it.
        tests: The conditions that it decides, on single events and whole sets.
        absences: The absences that it decides.
        parent: The node above it, None for the root.
        sibling: The other child of its parent.
        edge: The edge to the parent.
        earlier: Pairs of places, here and at the sibling; the first comes before the second.
        later: Pairs of places, here and at the sibling; the first comes after the second.
        rivals: Pairs of places, here and at the sibling, that could have the same event.
        slot: For a leaf, the place of its variable.
        loop: For the leaf of a Kleene variable, the edge on which its sets grow.
        growing: The conditions on each new member and earlier ones.
        lasting: The absences that each member decides.
    """

    index: int
    node: int
    bound: int
    tests: tuple[Test, ...]
    absences: tuple[Absence, ...]
    parent: Station | None = None
    sibling: Station | None = None
    edge: int = -1
    earlier: tuple[tuple[int, int], ...] = ()
    later: tuple[tuple[int, int], ...] = ()
    rivals: tuple[tuple[int, int], ...] = ()
    slot: int = -1
    loop: int = -1
    growing: tuple[Test, ...] = ()
    lasting: tuple[Absence, ...] = ()


class JoinProgram:
    """The nodes of a tree.

    Attributes:
        stations: The nodes, children before their parents.
        leaves: The leaf of each variable, except below a node of another branch.
        places: The index of each station, by its variables.
    """

    def __init__(
        self,
        rules: Rules,
        number: int,
        chart: Chart,
        tree: Tree,
        others: Mapping[int, int] = NO_OTHERS,
    ) -> None:
        self.stations: list[Station] = []
        self.leaves: dict[int, Station] = {}
        self.places: dict[int, int] = {}
        self._rules, self._number, self._chart, self._others = rules, number, chart, others
        self._station(tree, top=True)

    def lane(self, setting: Setting) -> JoinLane:
        """Return a lane, without instances before the first event."""
        return JoinLane(setting, self)

    def node_of(self, bound: int) -> int:
        """Return the node whose instances bind some variables."""
        return self.stations[self.places[bound]].node

    def _station(self, tree: Tree, *, top: bool = False) -> Station:
        rules = self._rules
        names = leaves(tree)
        bound = rules.mask(names)
        if bound in self._others:
            return self._added(Station(len(self.stations), self._others[bound], bound, (), ()))
        parts: tuple[Station, ...] = ()
        kind: NodeKind
        match tree:
            case str():
                label, kind = rules.label(rules.slot[tree]), "leaf"
            case Pair(left, right):
                parts = self._station(left), self._station(right)
                label, kind = tree_text(_called(tree, rules)), "final" if top else "join"
            case _:
                assert_never(tree)
        bound_below = [part.bound for part in parts]
        tests = tuple(
            t
            for t in rules.tests
            if not t.mask & ~bound and all(t.mask & ~part for part in bound_below)
        )
        absences = tuple(
            a
            for a in rules.absences
            if not a.needs & ~bound and all(a.needs & ~part for part in bound_below)
        )
        names_in_traces = tuple(map(rules.name_of, names))
        node = self._chart.node(self._number, names, label, kind, names_in_traces)
        station = self._added(Station(len(self.stations), node, bound, tests, absences))
        if not parts:
            station.slot = rules.slot[names[0]]
            self.leaves[station.slot] = station
            if station.slot in rules.bounds:
                stage = rules.stage(0, station.slot)
                station.growing, station.lasting = stage.growing, stage.lasting
                texts = tuple(test.text for test in stage.growing)
                station.loop = self._chart.edge(node, node, "take", label, texts)
        for here, there in (parts, parts[::-1]) if parts else ():
            self._connect(here, there, station)
        return station

    def _added(self, station: Station) -> Station:
        self.stations.append(station)
        self.places[station.bound] = station.index
        return station

    def _connect(self, here: Station, there: Station, parent: Station) -> None:
        rules = self._rules
        pairs = [(x, y) for x in places(here.bound) for y in places(there.bound)]
        here.parent, here.sibling = parent, there
        here.earlier = tuple((x, y) for x, y in pairs if rules.later(x) >> y & 1)
        here.later = tuple((x, y) for x, y in pairs if rules.earlier(x) >> y & 1)
        here.rivals = tuple(
            (x, y)
            for x, y in pairs
            if (x, y) not in here.earlier and (x, y) not in here.later and rules.overlap(x, y)
        )
        conditions = (
            *(t.text for t in parent.tests),
            *map(rules.absence_text, parent.absences),
        )
        conditions = tuple(dict.fromkeys(conditions))
        label = ", ".join(rules.named(here.bound))
        here.edge = self._chart.edge(here.node, parent.node, "join", label, conditions)


class JoinLane(SharedLane):
    """The instances at the nodes of the tree in one partition."""

    def __init__(self, setting: Setting, program: JoinProgram) -> None:
        super().__init__(setting)
        self._program = program
        self._kept: tuple[dict[int, Instance], ...] = tuple({} for _ in program.stations)
        self._growing: dict[int, dict[int, Instance]] = {slot: {} for slot in self.rules.bounds}
        self._empty: Binding = (None,) * len(self.rules.variables)

    def point(self, bound: int) -> int:
        """Return the number of the station (see `SharedLane`)."""
        return self._program.places[bound]

    def arrive(self, event: Event, slots: Sequence[int]) -> None:
        """Make an instance at the leaf of each variable."""
        for slot in slots:
            leaf, bounds = self._program.leaves[slot], self.rules.bounds
            growing = list(self._growing[slot].values()) if slot in bounds else []
            place = (event,) if slot in bounds else event
            binding = with_place(self._empty, slot, place)
            clock, variable = event.clock, self.rules.called[slot]
            new = self.create((), leaf.node, leaf.bound, binding, clock, clock, variable, event)
            self._settle(new, leaf)
            for instance in growing:
                longer = (*self.members(instance, slot), event)
                binding = with_place(self._empty, slot, longer)
                tests = tuple(t for t in leaf.growing if t.reach < len(longer))
                if self.scopes.in_window(instance, event) and self.holds(
                    instance, leaf.loop, event, tests, binding
                ):
                    self._settle(self.extended(instance, leaf.node, slot, longer, event), leaf)

    def _settle(self, instance: Instance, station: Station) -> None:
        """Do all possible steps of a new instance: join others, wait, or become a match."""
        slot = station.slot
        if self.loses(instance, station.lasting):
            return
        if slot in self.rules.bounds:
            if self.may_grow(instance, slot):
                self.stay(instance, self._growing[slot])
            if self.may_end(instance, slot, station.tests, station.absences):
                self.go_on(instance, station.index)
            if len(instance.homes) == 1 and not instance.views:
                self.discard(instance, instance.outcome or "unfinished")
            return
        by = self.breaker(station.absences, instance)
        if by is not None:
            self.discard(instance, by.reason, by.events)
            return
        self.go_on(instance, station.index)
        if len(instance.homes) == 1 and not instance.views:
            self.discard(instance, instance.outcome or "exhausted")

    def go_on(self, instance: Instance, point: int) -> None:
        """Join an instance with those at the sibling; at the root make a match of it."""
        station = self._program.stations[point]
        if station.parent is None:
            self.complete(instance)
        else:
            self._meet(instance, station)
        if self.followers:
            self.hand_on(instance, point)

    def _meet(self, instance: Instance, station: Station) -> None:
        assert station.sibling is not None
        others = list(self._kept[station.sibling.index].values())
        self.journal.work.take(len(others))
        for other in others:
            if other.alive and self._meets(station, instance, other):
                self._join(station, instance, other)
        self.stay(instance, self._kept[station.index])

    def _meets(self, station: Station, instance: Instance, other: Instance) -> bool:
        """Return whether two instances are in order, in one window, and of different events."""
        one, two = instance.binding, other.binding
        limit = self.rules.limit
        if limit is not None:
            low, high = min(instance.low, other.low), max(instance.high, other.high)
            if high - low > limit:
                return False
        if any(end_of(one[x]) >= begin_of(two[y]) for x, y in station.earlier):
            return False
        if any(end_of(two[y]) >= begin_of(one[x]) for x, y in station.later):
            return False
        return not any(_share(one[x], two[y]) for x, y in station.rivals)

    def _join(self, station: Station, instance: Instance, other: Instance) -> None:
        parent = station.parent
        assert parent is not None
        binding = tuple(
            one if one is not None else two
            for one, two in zip(instance.binding, other.binding, strict=True)
        )
        if not self.holds(instance, station.edge, None, parent.tests, binding, other):
            return
        child = self.create(
            (instance.number, other.number),
            parent.node,
            parent.bound,
            binding,
            min(instance.low, other.low),
            max(instance.high, other.high),
        )
        self._settle(child, parent)


def _called(tree: Tree, rules: Rules) -> Tree:
    """Return a tree with the names of its variables in traces."""
    if isinstance(tree, str):
        return rules.name_of(tree)
    return Pair(_called(tree.left, rules), _called(tree.right, rules))


def _share(one: Place, two: Place) -> bool:
    """Return whether two places have a common event."""
    left = one if isinstance(one, tuple) else (one,)
    right = two if isinstance(two, tuple) else (two,)
    return any(x is y for x in left for y in right)
