"""Plans of the slices of a stream in memory: each by its own statistics, or by those before it.

`PerSlice` counts the events of a slice and takes the plan that is best for it before it runs, so it
is never late, and slices need no order: every task of Spark does it by itself. Selectivities and
filters are those of the whole stream. A plan that ran before is kept where it is nearly as good.
Cost: O(events) to count, some 0.1 ms to plan. Source: ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np

from cepkit.columnar.compile.query import CompiledQuery, Sets, compile_query
from cepkit.columnar.slices.cutting import ADAPTED_ROWS, SLICE_ROWS, WINDOWS_PER_SLICE
from cepkit.columnar.slices.plans import Branches, SlicePlan
from cepkit.costs.expectation import window_in
from cepkit.pattern.nodes import events_of
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.query import Query
from cepkit.plan.logarithms import from_log
from cepkit.plan.nodes import BranchPlan, OrderPlan, Plan
from cepkit.planners.by_rates import MOST_VARIABLES, RatePlanner, Rates
from cepkit.statistics.model import Statistics
from cepkit.stream.columns import EventColumns

_NEARLY = math.log(1.1)
"""A plan that costs no more than a tenth above the best is kept."""
_STRETCHES, _LEAST_SLICES, _SAMPLE = 12, 4, 1 << 16
_DOUBT = 3.0
"""How many times too small the forecast of a stream's candidates may be that drifts."""
_PAYS = math.log(1.5)
"""How much more work one plan must promise than plans of slices, where that is to be worth it:
forecasts are rough."""
_SLICE_COSTS = 500_000.0
"""What a slice costs beside its work, in candidates: a millisecond or so."""


def slice_rates(query: Query, columns: EventColumns, first: int, end: int, every: int = 1) -> Rates:
    """Return the rates of a slice.

    Of a type that does not come half an event is taken: it may yet come.

    Args:
        query: Whose variables they are about.
        first: The first row of the slice.
        end: The row after its last.
        every: Count one event of so many.
    """
    counts = np.bincount(columns.types[first:end:every], minlength=len(columns.type_names))
    by_type = dict(zip(columns.type_names, counts.tolist(), strict=True))
    span = (int(columns.ts[end - 1]) - int(columns.ts[first])) / 1e6 if end > first else 0.0
    rates = {}
    for event in events_of(query.structure):
        types: Iterable[str] = by_type if event.types is None else event.types
        total = sum(by_type.get(name, 0) for name in types)
        # One moment has no rate; as if it were a second.
        rates[event.variable] = max(total, 0.5) * every / (span or 1.0)
    return Rates(rates, end - first, span)


class PerSlice:
    """Plans each slice by its own statistics.

    Args:
        query: What is looked for.
        plan: The plan of the whole stream, with its statistics.
        sets: Which sets of Kleene variables make matches.
        always: Whether to do so where it promises little, too.
    """

    def __init__(
        self, query: Query, plan: Plan, sets: Sets = "every", *, always: bool = True
    ) -> None:
        assert plan.statistics is not None
        self._query, self._plan, self._sets, self._always = query, plan, sets, always
        self._compiled: dict[Branches, CompiledQuery] = {}
        self._asked: dict[tuple[int, ...], SlicePlan] = {}

    @cached_property
    def _planners(self) -> tuple[BranchPlanner, ...]:
        assert self._plan.statistics is not None
        worth = _NEARLY if self._always else _PAYS
        # Rates that change are part of what joins tell of the whole stream; a slice has its own.
        statistics = replace(self._plan.statistics, joins={})
        return tuple(
            BranchPlanner(branch, branch_plan, statistics, worth)
            for branch, branch_plan in zip(
                normal_form(self._query), self._plan.branches, strict=True
            )
        )

    def __call__(self, columns: EventColumns, first: int, end: int) -> SlicePlan:
        """Return the plan of a slice (see `SlicePlans`)."""
        whole = first == 0 and end == len(columns)
        if not self._always and (whole or end - first < ADAPTED_ROWS):
            return SlicePlan(None, self._plan.branches, {})
        times = (int(columns.ts[first]), int(columns.ts[end - 1])) if end > first else ()
        asked = (first, end, *times)
        if asked not in self._asked:
            rates = slice_rates(self._query, columns, first, end)
            branches = tuple(planner.plan(rates) for planner in self._planners)
            self._asked[asked] = SlicePlan(self._under(branches), branches, rates.of)
        return self._asked[asked]

    def least_rows(self, columns: EventColumns) -> int:
        """Return how many events slices have at least: few where plans of slices promise much.

        Of some long stretches of the stream the plan for all is compared with the best plans.
        """
        if self._always:
            return ADAPTED_ROWS
        n = len(columns)
        if n < _LEAST_SLICES * ADAPTED_ROWS:
            return SLICE_ROWS
        span = (int(columns.ts[-1]) - int(columns.ts[0])) / 1e6
        window = window_in(normal_form(self._query)[0], span, n, 1.0)
        in_slice = max(ADAPTED_ROWS, WINDOWS_PER_SLICE * window * n / max(span, window))
        costs = _SLICE_COSTS * n / in_slice
        forecast = self._plan.forecast
        little = forecast is not None and _DOUBT * forecast.candidates < costs
        if n < _LEAST_SLICES * in_slice or little:
            return SLICE_ROWS
        ours = own = 0.0
        for i in range(_STRETCHES):
            part = columns, n * i // _STRETCHES, n * (i + 1) // _STRETCHES
            rates = slice_rates(self._query, *part, max(1, n // _SAMPLE))
            for planner in self._planners:
                one, best = planner.compared(rates)
                # What is expected of a window, as often as the stretch has windows.
                ours += from_log(one) * rates.span_seconds / window
                own += from_log(best) * rates.span_seconds / window
        pays = ours > math.exp(_PAYS) * own and ours - own > costs
        return ADAPTED_ROWS if pays else SLICE_ROWS

    def _under(self, branches: Branches) -> CompiledQuery | None:
        """Return the query compiled under a plan, once; None for the plan of the whole stream."""
        if branches == self._plan.branches:
            return None
        if branches not in self._compiled:
            plan = Plan(branches, "slices")
            self._compiled[branches] = compile_query(self._query, plan, self._sets)
        return self._compiled[branches]


class BranchPlanner:
    """The plans of one branch, slice by slice.

    Attributes:
        known: The plans that slices have run; the first is that of the whole stream.

    Args:
        branch: The branch; of one of very many variables all slices run the same plan.
        plan: Its plan for the whole stream.
        statistics: Those of the whole stream.
        worth: How much a plan must cost above the best, as a logarithm, to be given up.
    """

    def __init__(
        self, branch: Branch, plan: BranchPlan, statistics: Statistics, worth: float
    ) -> None:
        self._worth = worth
        self.branch = branch
        self.known = [plan]
        self._order = OrderPlan(branch.variables)
        few = len(branch.variables) <= MOST_VARIABLES
        self._planner = RatePlanner(branch, statistics) if few else None

    def compared(self, rates: Rates) -> tuple[float, float]:
        """Return the logarithms of what the plan of the whole stream and the best plan cost."""
        if self._planner is None:
            return -math.inf, -math.inf
        costs = self._planner.under(rates)
        return costs.weight(self.known[0]), costs.weight(costs.best(self._order))

    def plan(self, rates: Rates) -> BranchPlan:
        """Return the plan of a slice: a known one if that is nearly as good as the best."""
        if self._planner is None:
            return self.known[0]
        costs = self._planner.under(rates)
        best = costs.best(self._order)
        cheapest = min(self.known, key=costs.weight)
        if costs.weight(cheapest) <= costs.weight(best) + self._worth:
            return cheapest
        self.known.append(best)
        return best
