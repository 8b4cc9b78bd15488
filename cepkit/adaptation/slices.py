"""Plans each slice of a stream in memory by its own statistics.

`PerSlice` counts the events of a slice and chooses the best plan before the slice runs, so it is
never late, and slices need no order: every Spark task does it independently. Selectivities and
filters are those of the whole stream, unless a slice of much work differs (drift.py). An earlier
plan is reused if it is nearly as good. Cost: O(events) to count, some 0.1 ms to plan. Source: ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from cepkit.adaptation.drift import Drift
from cepkit.columnar.compile.query import CompiledQuery, Sets, compile_query
from cepkit.columnar.results.plans import why_planned
from cepkit.columnar.slices.cutting import ADAPTED_ROWS, SLICE_ROWS, WINDOWS_PER_SLICE
from cepkit.columnar.slices.plans import Branches, SlicePlan, SlicePlans, SliceRun
from cepkit.costs.expectation import window_in
from cepkit.indexing import bin_counts
from cepkit.pattern.nodes import events_of
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.query import Query
from cepkit.plan.logarithms import from_log
from cepkit.plan.nodes import BranchPlan, OrderPlan, Plan
from cepkit.planners.by_rates import MOST_VARIABLES, RatedCosts, RatePlanner, Rates
from cepkit.statistics.model import Statistics
from cepkit.stream.columns import EventColumns

_NEARLY = math.log(1.1)
"""A known plan is reused if it costs at most a tenth more than the best."""
_STRETCHES, _LEAST_SLICES, _SAMPLE = 12, 4, 1 << 16
_DOUBT = 3.0
"""The forecast of candidates of a drifting stream may be too small by this factor."""
_PAYS = math.log(1.5)
"""Plans of slices are worth it only if a single plan costs this much more: forecasts are rough."""
_SLICE_COSTS = 500_000.0
"""The overhead of a slice in candidates: about a millisecond."""
_WORTH_ASKING = 2 * _SLICE_COSTS
"""The least work of a slice to sample its own selectivities, which takes a millisecond."""


def slice_rates(query: Query, columns: EventColumns, first: int, end: int, every: int = 1) -> Rates:
    """Return the rates of a slice.

    A type without events counts as half an event: one may yet come.

    Args:
        every: Count only one event in this many.
    """
    counts = bin_counts(columns.types[first:end:every], minlength=len(columns.type_names))
    by_type = dict(zip(columns.type_names, counts.tolist(), strict=True))
    span = (int(columns.ts[end - 1]) - int(columns.ts[first])) / 1e6 if end > first else 0.0
    rates = {}
    for event in events_of(query.structure):
        types: Iterable[str] = by_type if event.types is None else event.types
        total = sum(by_type.get(name, 0) for name in types)
        # A single moment has no rate: count it as one second.
        rates[event.variable] = max(total, 0.5) * every / (span or 1.0)
    return Rates(rates, end - first, span)


class PerSlice(SlicePlans):
    """Plans each slice by its own statistics.

    Args:
        plan: The plan of the whole stream, with its statistics.
        always: Whether to do so even if it promises little.
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
        worth = _NEARLY if self._always else _PAYS
        statistics = self._statistics
        return tuple(
            BranchPlanner(branch, branch_plan, statistics, worth)
            for branch, branch_plan in zip(
                normal_form(self._query), self._plan.branches, strict=True
            )
        )

    @cached_property
    def _statistics(self) -> Statistics:
        assert self._plan.statistics is not None
        # Sampled joins of the whole stream include its changing rates; a slice has its own rates.
        return replace(self._plan.statistics, joins={})

    @cached_property
    def _drift(self) -> Drift:
        return Drift(self._query, self._statistics)

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
            own, work = None, self._work(rates, branches)
            if work > _WORTH_ASKING:
                own = self._drift.now_and_then(columns, first, end, work)
            if own is not None:
                branches = tuple(planner.plan(rates, own.statistics) for planner in self._planners)
            why = "" if own is None else own.why
            self._asked[asked] = SlicePlan(self._under(branches), branches, rates.of, why)
        return self._asked[asked]

    def _work(self, rates: Rates, branches: Branches) -> float:
        """Return the expected cost of plans on a slice, in candidates."""
        costs = (
            planner.cost(plan, rates)
            for planner, plan in zip(self._planners, branches, strict=True)
        )
        return sum(from_log(cost) * windows for cost, windows in costs)

    def why(self, run: SliceRun) -> str:
        """Return why a slice did not run the plan of the whole stream (see `SlicePlans`)."""
        return run.why or why_planned(self._query, self._plan, self._plan.branches, run)

    def least_rows(self, columns: EventColumns) -> int:
        """Return the least number of events of a slice: few if plans of slices promise much.

        It compares the plan of the whole stream with the best plans of some long stretches.
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
        ours = best = 0.0
        drift = Drift(self._query, self._statistics)
        work = 0.0 if forecast is None else forecast.candidates / _STRETCHES
        asks = work > _WORTH_ASKING
        for i in range(_STRETCHES):
            part = columns, n * i // _STRETCHES, n * (i + 1) // _STRETCHES
            rates = slice_rates(self._query, *part, max(1, n // _SAMPLE))
            drifted = drift.now_and_then(*part, work) if asks else None
            known = None if drifted is None else drifted.statistics
            for planner in self._planners:
                compared = planner.compared(rates, known)
                # The expected number in a window, times the number of windows in the stretch.
                ours += from_log(compared[0]) * rates.span_seconds / window
                best += from_log(compared[1]) * rates.span_seconds / window
        pays = ours > math.exp(_PAYS) * best and ours - best > costs
        return ADAPTED_ROWS if pays else SLICE_ROWS

    def _under(self, branches: Branches) -> CompiledQuery | None:
        """Return the query compiled under a plan, cached; None for the plan of the whole stream."""
        if branches == self._plan.branches:
            return None
        if branches not in self._compiled:
            plan = Plan(branches, "slices")
            self._compiled[branches] = compile_query(self._query, plan, self._sets)
        return self._compiled[branches]


class BranchPlanner:
    """Plans one branch, slice by slice.

    Attributes:
        known: The plans that slices have run; the first is the whole stream's.

    Args:
        branch: The branch; with very many variables all slices run the same plan.
        worth: A plan is replaced if it costs more than the best by this factor, as a logarithm.
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

    def compared(self, rates: Rates, known: Statistics | None = None) -> tuple[float, float]:
        """Return the logarithms of the costs of the whole stream's plan and of the best plan.

        Args:
            known: Other statistics of the stretch; None for the whole stream's.
        """
        if self._planner is None:
            return -math.inf, -math.inf
        costs = self._under(rates, known)
        return costs.weight(self.known[0]), costs.weight(costs.best(self._order))

    def cost(self, plan: BranchPlan, rates: Rates) -> tuple[float, float]:
        """Return the logarithm of a plan's cost in a window, and the number of windows."""
        if self._planner is None:
            return -math.inf, 0.0
        costs = self._planner.under(rates)
        return costs.of(plan), rates.span_seconds / costs.window

    def plan(self, rates: Rates, known: Statistics | None = None) -> BranchPlan:
        """Return the plan of a slice: a known one if it is nearly as good as the best.

        Args:
            known: Other statistics of the slice; None for the whole stream's.
        """
        if self._planner is None:
            return self.known[0]
        costs = self._under(rates, known)
        best = costs.best(self._order)
        cheapest = min(self.known, key=costs.weight)
        if costs.weight(cheapest) <= costs.weight(best) + self._worth:
            return cheapest
        self.known.append(best)
        return best

    def _under(self, rates: Rates, known: Statistics | None) -> RatedCosts:
        planner = self._planner if known is None else RatePlanner(self.branch, known)
        assert planner is not None
        return planner.under(rates)
