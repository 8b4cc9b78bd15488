"""Plans of slices by the slices before them: what micro-batches can do, and for study.

Rates are those of the events of some slices before, the rest is as in the whole stream. The first
slice, before which there is nothing, is planned by its own. After each change of the stream this is
late by a slice; where the whole stream is at hand, `PerSlice` is not.
Cost of a slice: O(events) to count, the decision function, and the planner where that fires.
"""

from __future__ import annotations

from dataclasses import replace

from cepkit.adaptation.loop import Adaptation, InForce
from cepkit.adaptation.slices import slice_rates
from cepkit.columnar.compile.query import CompiledQuery, Sets, compile_query
from cepkit.columnar.slices.cutting import ADAPTED_ROWS
from cepkit.columnar.slices.plans import Branches, SlicePlan
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.statistics.model import Statistics
from cepkit.stream.columns import EventColumns


class Causal:
    """Plans slices one after the other, each by the statistics of those before it.

    Args:
        adaptation: When to plan anew, and how.
        query: What is looked for.
        plan: The plan of the whole stream; its statistics say all but the rates.
        sets: Which sets of Kleene variables make matches.
    """

    def __init__(
        self, adaptation: Adaptation, query: Query, plan: Plan, sets: Sets = "every"
    ) -> None:
        assert plan.statistics is not None
        self._adaptation, self._query, self._sets = adaptation, query, sets
        self._statistics = plan.statistics
        self._asked: dict[int, SlicePlan] = {}
        self._compiled: dict[Branches, CompiledQuery] = {}
        self._in_force: InForce | None = None

    def least_rows(self, _columns: EventColumns) -> int:
        """Return how many events slices have at least (see `SlicePlans`)."""
        return ADAPTED_ROWS

    def __call__(self, columns: EventColumns, first: int, end: int) -> SlicePlan:
        """Return the plan of the slice after those that were asked for (see `SlicePlans`)."""
        if first not in self._asked:
            begins = [*self._asked, first]
            begin = begins[-min(len(begins), self._adaptation.history + 1)]
            until = first if self._asked else end
            now = self._now(columns, begin, until)
            if self._in_force is None:
                self._in_force = self._adaptation.start(self._query, now)
            else:
                self._in_force = self._adaptation.step(self._query, self._in_force, now)
            why = self._in_force.fired or "" if self._in_force.switched else ""
            branches = self._in_force.plan.branches
            if branches not in self._compiled:
                plan = self._in_force.plan
                self._compiled[branches] = compile_query(self._query, plan, self._sets)
            self._asked[first] = SlicePlan(self._compiled[branches], branches, now.rates, why)
        return self._asked[first]

    def _now(self, columns: EventColumns, begin: int, until: int) -> Statistics:
        """Return the statistics of some rows: their rates, and all else of the whole stream."""
        rates = slice_rates(self._query, columns, begin, until)
        at = (int(columns.ts[begin]), int(columns.ts[until - 1])) if until > begin else (None, None)
        return replace(
            self._statistics,
            rates=rates.of,
            events=rates.events,
            first=at[0],
            last=at[1],
            over_time=None,
            forecast=None,
            joins={},
            others=(),
        )
