"""Plans each slice of a stream in memory for several queries together.

`SharedPerSlice` counts the events of a slice and searches the shared plan by its rates before the
slice runs, by the same search as `detect` for a whole stream. Filters and selectivities are those
of the whole stream. The plan of the whole stream, or the last new one, is reused if it is nearly as
good: costs of shared plans count equal nodes once. Cost of a slice: O(events) to count, a few
milliseconds for each query to plan, and a search of common parts only where the slice is expected
to take longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cepkit.adaptation.choice import Adapt, checked, slice_plans
from cepkit.adaptation.loop import Adaptation
from cepkit.adaptation.slices import slice_rates
from cepkit.columnar.compile.query import CompiledQuery, Sets, compile_query
from cepkit.columnar.slices.cutting import ADAPTED_ROWS, SLICE_ROWS
from cepkit.columnar.slices.plans import Branches, SlicePlan, SlicePlans
from cepkit.columnar.workload import grouped
from cepkit.errors import UnsupportedError
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.planners.by_rates import Rates
from cepkit.sharing.choose import plans_to_run
from cepkit.sharing.shared_plan import SharedPlan, Sharing, cost_under
from cepkit.statistics.model import Statistics
from cepkit.stream.columns import EventColumns

_NEARLY, _PAYS = 1.1, 1.5
"""A known plan is replaced if it costs this much more than the best: always asked for, or not."""
_PLANNING_NS = 2_000_000.0
"""The time of planning each query of a slice; a unit of work takes about 1 ns."""


@dataclass(frozen=True, slots=True)
class FollowingTogether:
    """How the plans of several queries follow a recorded stream.

    Attributes:
        adapt: "slices" or "auto", as for one query.
    """

    adapt: str

    @classmethod
    def of(cls, adapt: Adapt, place: str) -> FollowingTogether | None:
        """Return the choice of `detect`; None for a static plan.

        Raises:
            UnsupportedError: Shared plans cannot follow the stream in this way.
            PlanError: There is no such choice.
        """
        way = checked(adapt)
        if way is None:
            return None
        if isinstance(way, Adaptation):
            raise UnsupportedError(
                "a decision function for several patterns: it watches the plan of one pattern",
                hint="adapt='slices' or 'auto' plans all of them together for each slice",
            )
        if place == "spark":
            raise UnsupportedError(
                f"adapt='{way}' with several patterns of a Spark DataFrame",
                hint="detect them one by one, or in memory",
            )
        return cls(way)

    def together(self, whole: SharedPlan, names: Sequence[str], sets: Sets) -> SharedPerSlice:
        """Return the planner of slices for queries that run together."""
        return SharedPerSlice(whole, names, sets, always=self.adapt == "slices")

    def alone(self, query: Query, plan: Plan, sets: Sets) -> SlicePlans | None:
        """Return the planner of slices for one query."""
        known = plan.statistics
        assert known is not None
        return slice_plans(self.adapt, query, plan, sets, lambda: known)


class SharedPerSlice(SlicePlans):
    """Plans each slice for several queries by its own rates.

    Args:
        names: The queries that run together, in the order of the plan.
        always: Whether to do so even if it promises little.
    """

    def __init__(
        self, whole: SharedPlan, names: Sequence[str], sets: Sets = "every", *, always: bool = True
    ) -> None:
        for name in [name for name in whole.names if name not in names]:
            whole = whole.remove(name)
        self._whole, self._sets, self._always = whole, sets, always
        self._plans: dict[Branches, SharedPlan] = {branches_of(whole): whole}
        self._compiled: dict[Branches, CompiledQuery | None] = {branches_of(whole): None}
        self._asked: dict[tuple[int, ...], SlicePlan] = {}

    def __call__(self, columns: EventColumns, first: int, end: int) -> SlicePlan:
        """Return the plan of a slice (see `SlicePlans`)."""
        asked = (first, end, *columns.ts[[first, end - 1]].tolist()) if end > first else ()
        if asked not in self._asked:
            branches = branches_of(self._whole)
            if end > first:
                now = slice_statistics(self._whole, columns, first, end)
                branches = branches_of(self._plan(now))
            self._asked[asked] = SlicePlan(self.compiled(branches), branches, {})
        return self._asked[asked]

    def _plan(self, now: Statistics) -> SharedPlan:
        """Return the shared plan of a slice: a known one if it is nearly as good as the best."""
        whole = self._whole
        known = [*self._plans.values()]
        costs = {branches_of(plan): cost_under(plan, now) for plan in (whole, known[-1])}
        cheapest = min(costs, key=costs.__getitem__)
        work = costs[cheapest] * now.span_seconds
        if not self._always and work < _PLANNING_NS * len(whole.queries):
            return self._plans[cheapest]
        queries = dict(zip(whole.names, whole.queries, strict=True))
        best = plans_to_run(queries, now, whole.share, brief=True)
        if costs[cheapest] <= best.cost * (_NEARLY if self._always else _PAYS):
            return self._plans[cheapest]
        return self._plans.setdefault(branches_of(best), best)

    def compiled(self, branches: Branches) -> CompiledQuery | None:
        """Return the queries compiled under a plan that a slice ran; None for the whole's."""
        if branches not in self._compiled:
            plan = self._plans[branches]
            sharing = Sharing.of(plan)
            queries = [
                compile_query(query, own, self._sets, late)
                for query, own, late in zip(plan.queries, sharing.plans, sharing.late, strict=True)
            ]
            (group,) = grouped(queries, share=plan.share != "none", pools=sharing.pools)
            self._compiled[branches] = group.query
        return self._compiled[branches]

    def least_rows(self, _columns: EventColumns) -> int:
        """Return the least number of events of a slice (see `SlicePlans`)."""
        return ADAPTED_ROWS if self._always else SLICE_ROWS


def branches_of(plan: SharedPlan) -> Branches:
    """Return the plans of all branches of all queries."""
    return tuple(branch for each in plan.plans for branch in each.branches)


def slice_statistics(whole: SharedPlan, columns: EventColumns, first: int, end: int) -> Statistics:
    """Return the statistics of several queries with the rates of a slice."""

    def now(statistics: Statistics, queries: Sequence[Query]) -> Statistics:
        parts = [slice_rates(query, columns, first, end) for query in queries]
        of = {name: rate for part in parts for name, rate in part.of.items()}
        rates = Rates(of, parts[0].events, parts[0].span_seconds)
        return replace(
            statistics,
            rates={**statistics.rates, **rates.of},
            events=rates.events,
            first=0,
            last=round(rates.span_seconds * 1e6),
            # Sampled joins of the whole stream include its changing rates.
            joins={},
            over_time=None,
            forecast=None,
            others=(),
        )

    known = whole.statistics
    if known.query is None:
        return now(known, whole.queries)
    own, *others = (now(part, (part.query,)) for part in (known, *known.others) if part.query)
    return replace(own, others=tuple(others))
