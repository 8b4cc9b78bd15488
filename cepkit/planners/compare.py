"""Planners side by side: the plan that each finds, its cost, and how long it took."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from cepkit.costs.contract import CostModel
from cepkit.costs.partial_matches import PARTIAL_MATCHES
from cepkit.errors import PlanError
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.query import Query
from cepkit.plan.logarithms import from_log, log_text
from cepkit.plan.nodes import Plan
from cepkit.plan.printer import one_line
from cepkit.planners import PLANNERS
from cepkit.planners.choose import cost_plan, get_planner
from cepkit.planners.contract import Planner
from cepkit.statistics.model import Statistics
from cepkit.statistics.tables import html_table, number, text_table

if TYPE_CHECKING:
    import pandas as pd

_HEAD = ("planner", "plan", "cost", "relative", "seconds")


@dataclass(frozen=True, slots=True)
class ComparedPlan:
    """One planner's answer.

    Attributes:
        plan: The plan that it found, with its cost.
        relative: The cost as a multiple of the best plan's.
        seconds: How long it planned.
    """

    plan: Plan
    relative: float
    seconds: float


@dataclass(frozen=True, slots=True)
class PlanComparison:
    """The answers of several planners to one query, in the order in which they were asked."""

    rows: tuple[ComparedPlan, ...]
    cost_model: str

    @property
    def best(self) -> Plan:
        """The cheapest plan, the first of equals."""
        return min(self.rows, key=lambda row: _log_cost(row.plan)).plan

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with the columns planner, plan, cost, relative and seconds."""
        import pandas as pd

        return pd.DataFrame.from_records(
            [
                (r.plan.planner, one_line(r.plan), r.plan.cost, r.relative, r.seconds)
                for r in self.rows
            ],
            columns=list(_HEAD),
        )

    def __str__(self) -> str:
        return f"cost: {self.cost_model}\n{text_table(_HEAD, map(_cells, self.rows), left=2)}"

    def _repr_html_(self) -> str:
        caption = f"cost: {self.cost_model}"
        return html_table(_HEAD, map(_cells, self.rows), caption, left=2)


def compare_plans(
    query: Query,
    statistics: Statistics,
    planners: Sequence[str | Planner] | None = None,
    cost: CostModel = PARTIAL_MATCHES,
) -> PlanComparison:
    """Return the plans that the planners find for `query`.

    Args:
        query: The query.
        statistics: What is known of the stream.
        planners: Names of the shelf, or planners with settings of their own; None for all.
        cost: The cost model.

    Raises:
        PlanError: No planner is given, or there is none of a given name.
        StatisticsError: The statistics lack a variable of the query.
        UnsupportedError: The cost model does not know a part of the query.
    """
    asked = tuple(PLANNERS) if planners is None else tuple(planners)
    if not asked:
        raise PlanError("no planner to compare", expected=f"some of {', '.join(PLANNERS)}")
    branches = normal_form(query)
    timed = []
    for planner in map(get_planner, asked):
        begin = perf_counter()
        orders = tuple(planner.plan(branch, statistics, cost) for branch in branches)
        seconds = perf_counter() - begin
        timed.append((cost_plan(Plan(orders, planner.name), query, statistics, cost), seconds))
    best = min(_log_cost(plan) for plan, _ in timed)
    rows = (ComparedPlan(plan, _multiple(_log_cost(plan), best), s) for plan, s in timed)
    return PlanComparison(tuple(rows), cost.name)


def _log_cost(plan: Plan) -> float:
    assert plan.log_cost is not None, "cost_plan gives every plan a cost"
    return plan.log_cost


def _multiple(log_cost: float, best: float) -> float:
    # Where the best costs nothing, what costs nothing too is as good and all else endlessly worse.
    if math.isinf(best):
        return 1.0 if log_cost == best else math.inf
    return from_log(log_cost - best)


def _cells(row: ComparedPlan) -> tuple[str, ...]:
    assert row.plan.log_cost is not None
    return (
        row.plan.planner,
        one_line(row.plan),
        log_text(row.plan.log_cost),
        number(row.relative),
        number(row.seconds),
    )
