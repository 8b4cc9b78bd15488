"""The cost of plans as one rate changes, and the cross-overs.

The plans stay the same; only their costs are computed anew for each rate of one variable. At a
cross-over, an engine should change from one plan to the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from cepkit.costs import PARTIAL_MATCHES
from cepkit.costs.contract import CostModel, query_cost
from cepkit.errors import PlanError, StatisticsError
from cepkit.lazy import pd
from cepkit.pattern.nodes import labels_of
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.query import Query
from cepkit.plan.logarithms import from_log
from cepkit.plan.nodes import Plan, comparable
from cepkit.plan.printer import one_line
from cepkit.planners.cross_overs import (
    CrossOver,
    Curve,
    RateCurve,
    cheapest_at,
    cross_overs,
    rate_curves,
)
from cepkit.printing import Printed, html_output
from cepkit.progress import counted
from cepkit.statistics.model import Statistics
from cepkit.tables import html_table, number, text_table

_POINTS = 41
_HEAD = ("events/s", "cheapest plan", "found by")
_BEST = "★"


@dataclass(frozen=True, slots=True, repr=False)
class WhatIf(Printed):
    """The costs of plans as the rate of one variable changes.

    Attributes:
        variable: The variable whose rate changes.
        rates: In events per second, ascending.
        now: The rate in the statistics.
        curves: One for each plan; all costed as trees if one of them is a tree.
        cost_model: The name of the cost model.
        labels: The variables with their types, in the order of the query.
    """

    variable: str
    rates: tuple[float, ...]
    now: float
    curves: tuple[Curve, ...]
    cost_model: str
    labels: Mapping[str, str] = field(default_factory=dict)

    def lines(self) -> tuple[RateCurve, ...]:
        """Return the curves; plans that cost the same at every rate share one."""
        return rate_curves(self.curves)

    def cross_overs(self) -> tuple[CrossOver, ...]:
        """Return where another plan becomes the cheapest, by ascending rates."""
        return cross_overs(self.lines(), self.rates)

    def cheapest(self) -> tuple[tuple[float, float, Plan], ...]:
        """Return the stretches of rates (first, last) with the plan that is cheapest there."""
        lines = self.lines()
        segments: list[tuple[float, float, Plan]] = []
        for i, rate in enumerate(self.rates):
            best = lines[cheapest_at(lines, i)].members[0]
            if segments and segments[-1][2] is best:
                segments[-1] = (segments[-1][0], rate, best)
            else:
                segments.append((rate, rate, best))
        return tuple(segments)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each plan and rate: planner, plan, rate, cost."""
        return pd.DataFrame.from_records(
            [
                (curve.plan.planner, one_line(curve.plan), rate, from_log(cost))
                for curve in self.curves
                for rate, cost in zip(self.rates, curve.log_costs, strict=True)
            ],
            columns=["planner", "plan", "rate", "cost"],
        )

    def _cells(self) -> list[tuple[str, ...]]:
        """Return a row for each stretch between two cross-overs, the current one marked."""
        lines, crossings = self.lines(), self.cross_overs()
        limits = [self.rates[0], *(each.rate for each in crossings), self.rates[-1]]
        best = [cheapest_at(lines, 0), *(each.above for each in crossings)]
        cells: list[tuple[str, ...]] = []
        for i, ((low, high), number_) in enumerate(zip(pairwise(limits), best, strict=True)):
            line = lines[number_]
            mark = f" {_BEST}" if low <= self.now <= high else ""
            rates = _rates(low, high, first=i == 0, last=i == len(crossings))
            plans = " or ".join(dict.fromkeys(line.plans))
            cells.append((f"{rates}{mark}", plans, ", ".join(line.planners)))
        return cells

    def _title(self) -> str:
        label = self.labels.get(self.variable, self.variable)
        span = _span(self.rates[0], self.rates[-1])
        return f"cheapest plan by the rate of {label}, {span}/s, now {number(self.now)}/s"

    def _remarks(self) -> tuple[str, ...]:
        """Return the variables, the fate of the current plan, and the meaning of costs."""
        labels = (", ".join(self.labels.values()),) if self.labels else ()
        crossings = self.cross_overs()
        above = next((each for each in crossings if each.rate > self.now), None)
        below = next((each for each in reversed(crossings) if each.rate < self.now), None)
        if above is None and below is None:
            changes = ["no other plan is the cheapest at any of these rates"]
        else:
            changes = [
                f"{side} {number(each.rate)}/s{self._times(each.rate)} another plan is the cheapest"
                for side, each in (("below", below), ("beyond", above))
                if each is not None
            ]
        known = self.rates[0] <= self.now <= self.rates[-1]
        mark = (f"{_BEST} the current rate",) if known else ()
        return (*labels, *mark, *changes, f"cost: {self.cost_model}")

    def _times(self, rate: float) -> str:
        return (
            f" ({number(float(f'{rate / self.now:.3g}'))} times the current rate)"
            if self.now
            else ""
        )

    def __str__(self) -> str:
        table = text_table(_HEAD, self._cells(), left=len(_HEAD))
        return "\n".join((self._title(), table, *self._remarks()))

    def _repr_html_(self) -> str:
        caption = "; ".join((self._title(), *self._remarks()))
        return html_output(html_table(_HEAD, self._cells(), caption, left=len(_HEAD)))


def _span(low: float, high: float) -> str:
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def _rates(low: float, high: float, *, first: bool, last: bool) -> str:
    if first == last:
        return _span(low, high)
    return f"up to {number(high)}" if first else f"beyond {number(low)}"


def what_if(
    query: Query,
    statistics: Statistics,
    plans: Sequence[Plan],
    variable: str,
    rates: Sequence[float] | None = None,
    cost: CostModel = PARTIAL_MATCHES,
) -> WhatIf:
    """Return the costs of plans as the rate of one variable changes.

    Equal plans are taken once.

    Args:
        statistics: The statistics of the stream; all but one rate stays the same.
        plans: Plans for the query.
        variable: Whose rate changes.
        rates: In events per second; None for 1/100 to 100 times the present rate.

    Raises:
        PlanError: No plan is given.
        StatisticsError: The variable has no rate, or one of the rates is invalid.
    """
    if not plans:
        raise PlanError("no plans to compare", expected="one or more")
    statistics.rate(variable)  # refuses an unknown variable
    now = statistics.rates[variable]
    points = _around(now) if rates is None else tuple(sorted(rates))
    if not points:
        raise StatisticsError("no rates to evaluate", expected="one or more")
    distinct = list({plan.branches: plan for plan in reversed(plans)}.values())[::-1]
    branches = normal_form(query)
    curves = []
    for plan, parts in counted([*zip(distinct, comparable(distinct), strict=True)]):
        costs = []
        for rate in points:
            changed = statistics.with_rate(variable, rate)
            costs.append(query_cost([cost.on(branch, changed) for branch in branches], parts))
        curves.append(Curve(plan, tuple(costs)))
    labels = labels_of(query.structure)
    return WhatIf(variable, points, now, tuple(curves), cost.name, labels)


def _around(now: float) -> tuple[float, ...]:
    middle = math.log10(now) if now > 0 else 0.0
    return tuple(10 ** (middle - 2 + 4 * i / (_POINTS - 1)) for i in range(_POINTS))
