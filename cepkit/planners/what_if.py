"""The cost of plans as one rate changes, and the cross-overs.

The plans stay as they are and are costed anew for each rate of one variable. Where two of them
cross over, an engine that runs the one should have changed to the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cepkit.costs import PARTIAL_MATCHES
from cepkit.costs.contract import CostModel, query_cost
from cepkit.errors import PlanError, StatisticsError
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.query import Query
from cepkit.plan.logarithms import from_log
from cepkit.plan.nodes import Plan, comparable
from cepkit.plan.printer import one_line
from cepkit.printing import Printed, html_output
from cepkit.statistics.model import Statistics
from cepkit.statistics.tables import html_table, number, text_table

if TYPE_CHECKING:
    import pandas as pd

_POINTS = 41
_HEAD = ("from", "to", "cheapest", "plan")


@dataclass(frozen=True, slots=True)
class Curve:
    """The cost of one plan at each rate.

    Attributes:
        log_costs: The logarithm of its cost at each of the rates.
    """

    plan: Plan
    log_costs: tuple[float, ...]


@dataclass(frozen=True, slots=True, repr=False)
class WhatIf(Printed):
    """The costs of plans as the rate of one variable changes.

    Attributes:
        variable: Whose rate changes.
        rates: In events per second, ascending.
        now: The rate that the statistics have.
        curves: One for each plan; all costed as trees where one of them is a tree.
        cost_model: The name of what was costed by.
    """

    variable: str
    rates: tuple[float, ...]
    now: float
    curves: tuple[Curve, ...]
    cost_model: str

    def cheapest(self) -> tuple[tuple[float, float, Plan], ...]:
        """Return the stretches of rates (first, last) with the plan that is cheapest there."""
        segments: list[tuple[float, float, Plan]] = []
        for i, rate in enumerate(self.rates):
            best = min(self.curves, key=lambda curve: curve.log_costs[i]).plan
            if segments and segments[-1][2] is best:
                segments[-1] = (segments[-1][0], rate, best)
            else:
                segments.append((rate, rate, best))
        return tuple(segments)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each plan and rate: planner, plan, rate, cost."""
        import pandas as pd

        return pd.DataFrame.from_records(
            [
                (curve.plan.planner, one_line(curve.plan), rate, from_log(cost))
                for curve in self.curves
                for rate, cost in zip(self.rates, curve.log_costs, strict=True)
            ],
            columns=["planner", "plan", "rate", "cost"],
        )

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (number(first), number(last), plan.planner, one_line(plan))
            for first, last, plan in self.cheapest()
        ]

    def _title(self) -> str:
        return f"cheapest plan by the rate of {self.variable} in events/s, now {number(self.now)}"

    def __str__(self) -> str:
        return f"{self._title()}\n{text_table(_HEAD, self._cells(), left=0)}"

    def _repr_html_(self) -> str:
        return html_output(html_table(_HEAD, self._cells(), self._title(), left=0))


def what_if(
    query: Query,
    statistics: Statistics,
    plans: Sequence[Plan],
    variable: str,
    rates: Sequence[float] | None = None,
    cost: CostModel = PARTIAL_MATCHES,
) -> WhatIf:
    """Return what plans cost as the rate of one variable changes.

    Plans that are the same are taken once.

    Args:
        statistics: What is known of the stream; all but one rate stays.
        plans: Plans for the query.
        variable: Whose rate changes.
        rates: In events per second; None for a hundredth to the hundredfold of the present one.

    Raises:
        PlanError: No plan is given.
        StatisticsError: The variable has no rate, or one of the rates cannot be.
    """
    if not plans:
        raise PlanError("no plans to compare", expected="one or more")
    statistics.rate(variable)  # refuses a variable that it does not know
    now = statistics.rates[variable]
    points = _around(now) if rates is None else tuple(sorted(rates))
    if not points:
        raise StatisticsError("no rates to evaluate", expected="one or more")
    distinct = list({plan.branches: plan for plan in reversed(plans)}.values())[::-1]
    branches = normal_form(query)
    curves = []
    for plan, parts in zip(distinct, comparable(distinct), strict=True):
        costs = []
        for rate in points:
            changed = statistics.with_rate(variable, rate)
            costs.append(query_cost([cost.on(branch, changed) for branch in branches], parts))
        curves.append(Curve(plan, tuple(costs)))
    return WhatIf(variable, points, now, tuple(curves), cost.name)


def _around(now: float) -> tuple[float, ...]:
    middle = math.log10(now) if now > 0 else 0.0
    return tuple(10 ** (middle - 2 + 4 * i / (_POINTS - 1)) for i in range(_POINTS))
