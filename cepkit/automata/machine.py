"""A run of a mechanism: it takes events one at a time and returns operations and matches.

Branches run side by side, and each partition has lanes of its own. Clocks advance before lanes get
an event, so that nothing outlives its window. The queries of a machine have one clock and one
partition; machines of other queries share its journal.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from cepkit.automata.chart import Chart
from cepkit.automata.compile.rules import Rules
from cepkit.automata.events import Event
from cepkit.automata.joint import Member, Taken
from cepkit.automata.lanes.buffers import Clock
from cepkit.automata.lanes.journal import Journal
from cepkit.automata.lanes.lane import Lane, Setting
from cepkit.automata.lanes.shared import Handed, SharedLane
from cepkit.automata.mechanisms.contract import Joint, Mechanism, Program
from cepkit.pattern.policies import CountWindow
from cepkit.stream.columns import Kind
from cepkit.tracing.clauses import Clauses
from cepkit.tracing.operations import Operation


class Machine:
    """A run of a mechanism.

    Attributes:
        journal: The counters, and the operations of the current step.
        chart: The nodes and edges.
        rules: The demands of each branch, by its number.
        programs: The prepared branches, by their numbers.
        members: The branches.

    Args:
        members: The branches; one that others follow comes before these.
        ascending: Whether the clock of the window never goes back in stream order.
        journal: A journal that other machines share; None for an own one.
        chart: A chart that other machines share; None for an own one.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        members: Sequence[Member],
        clauses: Sequence[Clauses],
        names: Sequence[str],
        kinds: Mapping[str, Kind],
        *,
        ascending: bool = True,
        journal: Journal | None = None,
        chart: Chart | None = None,
    ) -> None:
        self.journal = Journal() if journal is None else journal
        self.chart = Chart() if chart is None else chart
        self.rules: dict[int, Rules] = {}
        self.programs: dict[int, Program] = {}
        self._handed: dict[int, tuple[Handed, ...]] = {}
        self._mechanism, self.members = mechanism, tuple(members)
        for member in members:
            self.rules[member.number] = Rules(
                member.branch,
                clauses[member.query],
                names,
                kinds,
                ascending=ascending,
                called=member.called,
                taken=[[here for here, _ in taken.variables] for taken in member.taken],
            )
            self.programs[member.number] = self._program(member)
        # Branches with the same variables differ only in absences, and may find the same match.
        bound = [(member.query, member.branch.variables) for member in members]
        seen_by_variables: dict[Hashable, set[Hashable]] = {v: set() for v in bound}
        self._seen = tuple(seen_by_variables[v] if bound.count(v) > 1 else None for v in bound)
        limits = [self.rules[member.number].limit for member in members]
        self._possible = tuple(
            rules.possible and (limit is None or limit >= 0)
            for rules, limit in zip(self.rules.values(), limits, strict=True)
        )
        self._limits = tuple(limit if ascending else None for limit in limits)
        # Numbers inside a partition say nothing about other partitions.
        first = members[0].branch
        self._clock_each = isinstance(first.window, CountWindow) and bool(first.partition_by)
        self._clocks: dict[Hashable, dict[int | None, Clock]] = {}
        self._lanes: dict[Hashable, tuple[Lane, ...]] = {}
        # The clocks and lanes of each partition, looked up once for all its events.
        self._fed: dict[Hashable, tuple[tuple[Clock, ...], tuple[Lane, ...]]] = {}
        if not first.partition_by:
            self._lanes_of(())

    def _program(self, member: Member) -> Program:
        """Return the program of a branch, after those of the branches that it follows."""
        mechanism, rules, number = self._mechanism, self.rules[member.number], member.number
        self._handed[number] = tuple(self._handing(rules, taken) for taken in member.taken)
        if not member.taken:
            return mechanism.prepare(rules, number, self.chart, member.plan)
        assert isinstance(mechanism, Joint)
        followed = [(self.programs[one.owner], one) for one in self._handed[number]]
        return mechanism.prepare_following(rules, number, self.chart, member.plan, followed)

    def _handing(self, rules: Rules, taken: Taken) -> Handed:
        other = self.rules[taken.owner]
        return Handed(
            taken.owner,
            rules.mask(here for here, _ in taken.variables),
            other.mask(there for _, there in taken.variables),
            tuple((rules.slot[here], other.slot[there]) for here, there in taken.variables),
            tuple(map(rules.test_of, taken.conditions)),
        )

    def feed(self, event: Event) -> list[Operation]:
        """Take in the next event in stream order.

        Returns:
            The operations that it caused, in order; none unless `journal` records.
        """
        receivers = self._fed.get(event.key)
        if receivers is None:
            lanes = zip(self._lanes_of(event.key), self._possible, strict=True)
            clocks = tuple(self._clocks_of(event.key).values())
            receivers = self._fed[event.key] = clocks, tuple(lane for lane, able in lanes if able)
        clocks, able_lanes = receivers
        for clock in clocks:
            clock.advance(event.clock)
        for lane in able_lanes:
            lane.feed(event)
        return self._end()

    def finish(self) -> list[Operation]:
        """End the stream and return the operations: pending matches count, other instances end."""
        for lanes in self._lanes.values():
            for lane in lanes:
                lane.mature()
            for lane in lanes:
                lane.finish()
        for clocks in self._clocks.values():
            for clock in clocks.values():
                clock.end()
        return self._end()

    def _end(self) -> list[Operation]:
        # The initial instances, older than the first event, belong to the first step.
        operations, self.journal.operations = self.journal.operations, []
        return operations

    def _clocks_of(self, key: Hashable) -> dict[int | None, Clock]:
        """Return the clocks of a partition, one for each window, small ones first."""
        clock_key = key if self._clock_each else None
        clocks = self._clocks.get(clock_key)
        if clocks is None:
            limits = sorted({*self._limits}, key=lambda limit: (limit is None, limit or 0))
            clocks = {limit: Clock(limit, self.journal) for limit in limits}
            self._clocks[clock_key] = clocks
        return clocks

    def _lanes_of(self, key: Hashable) -> tuple[Lane, ...]:
        lanes = self._lanes.get(key)
        if lanes is None:
            clocks = self._clocks_of(key)
            lanes_by_number: dict[int, Lane] = {}
            for member, limit, seen in zip(self.members, self._limits, self._seen, strict=True):
                number = member.number
                setting = Setting(self.rules[number], number, self.journal, clocks[limit], seen)
                lane = lanes_by_number[number] = self.programs[number].lane(setting)
                for handed in self._handed[number]:
                    owner = lanes_by_number[handed.owner]
                    assert isinstance(lane, SharedLane)
                    assert isinstance(owner, SharedLane)
                    lane.follow(owner, handed)
            lanes = self._lanes[key] = tuple(lanes_by_number.values())
        return lanes
