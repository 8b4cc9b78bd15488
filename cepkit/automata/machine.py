"""A mechanism at work on a query: events go in one at a time, operations and matches come out.

Branches of an OR run side by side, and each partition has lanes of its own. Time passes for all of
them before an event is handed on, so that nothing lives longer than its window.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from cepkit.automata.chart import Chart
from cepkit.automata.compile.rules import Rules
from cepkit.automata.events import Binding, Event
from cepkit.automata.lanes.buffers import Clock
from cepkit.automata.lanes.journal import Journal
from cepkit.automata.lanes.lane import Lane, Setting
from cepkit.automata.mechanisms.contract import Mechanism
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import CountWindow
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.stream.columns import Kind
from cepkit.tracing.clauses import Clauses
from cepkit.tracing.operations import Operation


class Machine:
    """A run of a mechanism.

    Attributes:
        journal: The counters, and what happened in the step under way.
        chart: The nodes and edges.
        rules: What each branch demands.

    Args:
        mechanism: Which.
        query: What is looked for.
        plan: A plan for each branch.
        names: The attributes that events carry.
        kinds: What the values of each are.
        ascending: Whether the clock of the window never goes back in stream order.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        query: Query,
        plan: Plan,
        names: Sequence[str],
        kinds: Mapping[str, Kind],
        *,
        ascending: bool = True,
    ) -> None:
        self.journal = Journal()
        self.chart = Chart()
        clauses = Clauses.of(query)
        branches = normal_form(query)
        self.rules = tuple(
            Rules(branch, clauses, names, kinds, ascending=ascending) for branch in branches
        )
        self._limit = self.rules[0].limit if ascending else None
        self._programs = tuple(
            mechanism.prepare(rules, number, self.chart, branch_plan)
            for number, (rules, branch_plan) in enumerate(
                zip(self.rules, plan.branches, strict=True)
            )
        )
        # Branches that bind the same differ in absences alone, and may find the same match.
        bound = [branch.variables for branch in branches]
        seen_by_variables: dict[tuple[str, ...], set[Hashable]] = {v: set() for v in bound}
        self._seen = tuple(seen_by_variables[v] if bound.count(v) > 1 else None for v in bound)
        limit = self.rules[0].limit
        self._possible = tuple(
            rules.possible and (limit is None or limit >= 0) for rules in self.rules
        )
        # Numbers inside a partition say nothing about other partitions.
        self._clock_each = isinstance(query.window, CountWindow) and bool(query.partition_by)
        self._clocks: dict[Hashable, Clock] = {}
        self._lanes: dict[Hashable, tuple[Lane, ...]] = {}
        if not query.partition_by:
            self._lanes_of(())

    def feed(self, event: Event) -> list[Operation]:
        """Take in the next event in stream order.

        Returns:
            What it caused, in the order in which it happened; nothing unless `journal` records.
        """
        clock = self._clock_of(event.key)
        lanes = self._lanes_of(event.key)
        clock.advance(event.clock)
        for lane, possible in zip(lanes, self._possible, strict=True):
            if possible:
                lane.feed(event)
        return self._end()

    def finish(self) -> list[Operation]:
        """Return what the end of the stream causes: absences are certain, the rest is dropped."""
        for lanes in self._lanes.values():
            for lane in lanes:
                lane.finish()
        for clock in self._clocks.values():
            clock.end()
        return self._end()

    def take_matches(self) -> list[tuple[int, int, Binding]]:
        """Return the matches since this was last asked: instance, branch and binding of each.

        None are kept unless `journal` records.
        """
        matches, self.journal.new_matches = self.journal.new_matches, []
        return matches

    def _end(self) -> list[Operation]:
        # What came to be before the first event, initial instances, belongs to the first step.
        operations, self.journal.operations = self.journal.operations, []
        return operations

    def _clock_of(self, key: Hashable) -> Clock:
        clock_key = key if self._clock_each else None
        clock = self._clocks.get(clock_key)
        if clock is None:
            clock = self._clocks[clock_key] = Clock(self._limit, self.journal)
        return clock

    def _lanes_of(self, key: Hashable) -> tuple[Lane, ...]:
        lanes = self._lanes.get(key)
        if lanes is None:
            clock = self._clock_of(key)
            lanes = self._lanes[key] = tuple(
                program.lane(Setting(rules, number, self.journal, clock, seen))
                for number, (program, rules, seen) in enumerate(
                    zip(self._programs, self.rules, self._seen, strict=True)
                )
            )
        return lanes
