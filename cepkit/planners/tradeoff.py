"""Throughput against latency: the best plan for each weight of the one against the other.

With alpha = 0 only partial matches count; the larger alpha is, the more it pays to leave little
work for after the last event. Plans that another one beats in both are marked.
Source: *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 6.1 and figure 18.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cepkit.costs import PARTIAL_MATCHES, Blend, Latency, OutputProfile
from cepkit.costs.contract import query_cost
from cepkit.costs.latency import NOTHING_KNOWN
from cepkit.errors import PlanError
from cepkit.lazy import pd
from cepkit.pattern.nodes import labels_of
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.query import Query
from cepkit.plan.logarithms import from_log, log_text
from cepkit.plan.nodes import Plan, comparable
from cepkit.plan.printer import one_line
from cepkit.planners import PLANNERS
from cepkit.planners.choose import choose_plan
from cepkit.planners.contract import Planner
from cepkit.planners.search import TOLERANCE
from cepkit.printing import Printed, html_output
from cepkit.progress import Bar, Progress
from cepkit.statistics.model import Statistics
from cepkit.tables import html_table, number, text_table

ALPHAS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
_HEAD = ("planner", "alpha", "plan", "partial matches", "latency")
_BEST = "★"


@dataclass(frozen=True, slots=True)
class Weighed:
    """The plan of one planner for one alpha.

    Attributes:
        planner: Its name.
        alpha: What a unit of latency is worth in partial matches.
        log_partial_matches: The logarithm of its cost by partial matches.
        log_latency: The logarithm of its cost by latency, -infinity for 0.
        best: Whether no other plan is as good in both and better in one.
    """

    planner: str
    alpha: float
    plan: Plan
    log_partial_matches: float
    log_latency: float
    best: bool = True


@dataclass(frozen=True, slots=True, repr=False)
class Tradeoff(Printed):
    """The plans of some planners over a range of alphas.

    Attributes:
        rows: The plans.
        labels: The variables of the query with their types.
    """

    rows: tuple[Weighed, ...]
    labels: tuple[str, ...] = ()

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each: planner, alpha, plan, partial_matches, latency, best."""
        return pd.DataFrame.from_records(
            [
                (
                    r.planner,
                    r.alpha,
                    one_line(r.plan),
                    from_log(r.log_partial_matches),
                    from_log(r.log_latency),
                    r.best,
                )
                for r in self.rows
            ],
            columns=["planner", "alpha", "plan", "partial_matches", "latency", "best"],
        )

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (
                f"{r.planner} {_BEST}" if r.best else r.planner,
                number(r.alpha),
                one_line(r.plan),
                log_text(r.log_partial_matches),
                log_text(r.log_latency),
            )
            for r in self.rows
        ]

    def _remarks(self) -> tuple[str, ...]:
        labels = (", ".join(self.labels),) if self.labels else ()
        return (*labels, f"{_BEST} no plan is as good in both and better in one")

    def __str__(self) -> str:
        return "\n".join((text_table(_HEAD, self._cells(), left=3), *self._remarks()))

    def _repr_html_(self) -> str:
        caption = "; ".join(("partial matches against latency", *self._remarks()))
        return html_output(html_table(_HEAD, self._cells(), caption, left=3))


def weigh(
    query: Query,
    statistics: Statistics,
    planners: Sequence[str | Planner] = ("dp-order", "dp-tree"),
    alphas: Sequence[float] = ALPHAS,
    output: OutputProfile = NOTHING_KNOWN,
    *,
    progress: Progress = False,
) -> Tradeoff:
    """Return the plans that planners find while alpha changes.

    If one of them is a tree, all are costed as trees: an order is a tree that leans left.

    Args:
        statistics: The statistics of the stream.
        planners: Names of the shelf, or planners with settings of their own.
        alphas: What a unit of latency is worth in partial matches.
        output: How often each variable came last in the matches found so far; None if unknown.
        progress: Whether to show a bar: see `cepkit.progress`.

    Raises:
        PlanError: No planner or no alpha is given.
    """
    planners, alphas = tuple(planners), tuple(alphas)
    if not planners or not alphas:
        raise PlanError(
            "no planner or no alpha to compare", expected="at least one planner and one alpha"
        )
    plans = []
    with Bar(len(planners) * len(alphas), progress, "weighing plans") as bar:
        for planner in map(PLANNERS.pick, planners):
            for alpha in alphas:
                bar.begin(f"{planner.name}, alpha {number(alpha)}")
                plan = choose_plan(
                    query, statistics, planner, Blend(alpha, output),
                    lambda state: bar.move(state.done or 0.0),
                )  # fmt: skip
                plans.append((alpha, plan))
    branches = normal_form(query)
    alive, waited = (
        [model.on(branch, statistics) for branch in branches]
        for model in (PARTIAL_MATCHES, Latency(output))
    )
    rows = []
    for (alpha, plan), parts in zip(plans, comparable([plan for _, plan in plans]), strict=True):
        work, waiting = query_cost(alive, parts), query_cost(waited, parts)
        rows.append(Weighed(plan.planner, alpha, plan, work, waiting))
    labels = tuple(labels_of(query.structure).values())
    return Tradeoff(tuple(_marked(row, rows) for row in rows), labels)


def _marked(row: Weighed, rows: Sequence[Weighed]) -> Weighed:
    mine = (row.log_partial_matches, row.log_latency)
    beaten = any(
        _less(theirs[0], mine[0]) >= 0 <= _less(theirs[1], mine[1])
        and _less(theirs[0], mine[0]) + _less(theirs[1], mine[1]) > 0
        for theirs in ((other.log_partial_matches, other.log_latency) for other in rows)
    )
    return Weighed(row.planner, row.alpha, row.plan, *mine, best=not beaten)


def _less(one: float, other: float) -> int:
    """Return 1 if `one` is less, 0 if both are equal up to rounding, -1 if it is more."""
    if one == other:
        return 0
    if math.isfinite(one - other) and abs(one - other) <= TOLERANCE * max(1.0, abs(other)):
        return 0
    return 1 if one < other else -1
