"""Planners side by side: the plan that each finds, its cost, and the time of the search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from cepkit.costs import LATENCY, PARTIAL_MATCHES
from cepkit.costs.contract import CostModel, query_cost
from cepkit.errors import LimitError, PlanError
from cepkit.lazy import pd
from cepkit.pattern.nodes import labels_of
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.query import Query
from cepkit.plan.logarithms import from_log, log_text
from cepkit.plan.nodes import BranchPlan, Plan, TreePlan, as_tree
from cepkit.plan.printer import one_line
from cepkit.planners import DEFAULT, PLANNERS
from cepkit.planners.choose import cost_plan, name_of, searched
from cepkit.planners.contract import Observed, Observer, Planner
from cepkit.planners.deciding import Decisions
from cepkit.printing import Printed, html_output
from cepkit.progress import Bar, Progress
from cepkit.statistics.model import Statistics
from cepkit.tables import html_table, number, text_table, whole

_BEST = "★"
_EQUAL = 1e-9
_WIDEST = 100
"""The widest table that fits a terminal; if it is wider, plans get a table of their own."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The counts of a plan that was run over a part of the stream.

    Attributes:
        events: How many events that part has, of all types.
        candidates: Pairs of a partial match and an event that were looked at.
        partial_matches: Partial matches that its steps kept, matches included.
        matches: The number of matches.
        peak_rows: The most partial matches that its steps held at once, added up.
        seconds: Wall time of the fastest run.
    """

    events: int
    candidates: int
    partial_matches: int
    matches: int
    peak_rows: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ComparedPlan:
    """The plan of one planner, with its costs.

    Attributes:
        plan: The plan that it found, with its cost.
        log_tree_cost: The logarithm of its cost as a tree: an order becomes a tree that leans left,
            whose leaves cost as well.
        log_latency: The logarithm of its cost by the model `latency`.
        relative: The cost as a multiple of the best plan's; if there are trees, as trees.
        seconds: The planning time.
        observed: For each branch the states of the search over time.
        measured: Its counts on a part of the stream; None if it was not run.
        not_run: Why it was not run, although it should have been.
    """

    plan: Plan
    log_tree_cost: float
    log_latency: float
    relative: float
    seconds: float
    observed: tuple[tuple[Observed, ...], ...] = ()
    measured: Measured | None = None
    not_run: str = ""

    @property
    def tree_cost(self) -> float:
        """The cost as a tree; infinity where a float cannot hold it."""
        return from_log(self.log_tree_cost)

    @property
    def latency(self) -> float:
        """The latency cost; infinity where a float cannot hold it."""
        return from_log(self.log_latency)


@dataclass(frozen=True, slots=True, repr=False)
class PlanComparison(Printed):
    """The plans of several planners for one query, side by side.

    Attributes:
        query: The query of the plans.
        rows: One for each planner that found a plan.
        cost: The cost model that ranks the plans.
        refused: The planners that found no plan, and why.
        notes: Remarks on the measured numbers.
    """

    query: Query
    rows: tuple[ComparedPlan, ...]
    cost: CostModel
    refused: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def cost_model(self) -> str:
        """The name of the cost model that ranks the plans."""
        return self.cost.name

    @property
    def best(self) -> Plan:
        """The cheapest plan; of equals that of the default planner, else the first."""
        equals = [row.plan for row in self.rows if self.is_best(row)]
        return next((plan for plan in equals if plan.planner == DEFAULT), equals[0])

    @property
    def has_trees(self) -> bool:
        """Whether one of the plans is a tree, so that all are compared as trees."""
        return any(isinstance(p, TreePlan) for row in self.rows for p in row.plan.branches)

    def plan(self, planner: str) -> Plan:
        """Return the plan of one planner, by its name.

        Raises:
            PlanError: The planner is not in the comparison, or found no plan.
        """
        for row in self.rows:
            if row.plan.planner == planner:
                return row.plan
        names = ", ".join(row.plan.planner for row in self.rows)
        raise PlanError(f"the comparison has no plan of '{planner}'", expected=f"one of {names}")

    @property
    def by_plan(self) -> tuple[tuple[ComparedPlan, ...], ...]:
        """The rows with the same plan together, the cheapest plan first."""
        alike: dict[tuple[BranchPlan, ...], list[ComparedPlan]] = {}
        for row in self.rows:
            alike.setdefault(row.plan.branches, []).append(row)
        return tuple(sorted(map(tuple, alike.values()), key=lambda rows: self.log_cost(rows[0])))

    def log_cost(self, row: ComparedPlan) -> float:
        """Return the logarithm of the cost by which plans are compared here."""
        return row.log_tree_cost if self.has_trees else _log_cost(row.plan)

    def is_best(self, row: ComparedPlan) -> bool:
        """Return whether no plan of the comparison is cheaper by more than rounding error."""
        return row.relative <= 1.0 + _EQUAL

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each plan.

        Columns: planner, plan, cost (of an order as such), tree_cost, relative, latency, seconds;
        where plans were run also candidates, partial_matches, matches, peak_rows and run_seconds.
        """
        records = []
        for row in self.rows:
            record: dict[str, object] = {
                "planner": row.plan.planner,
                "plan": one_line(row.plan),
                "cost": row.plan.cost,
                "tree_cost": row.tree_cost,
                "relative": row.relative,
                "latency": row.latency,
                "seconds": row.seconds,
            }
            if self._was_run:
                for name in ("candidates", "partial_matches", "matches", "peak_rows", "seconds"):
                    column = "run_seconds" if name == "seconds" else name
                    record[column] = getattr(row.measured, name, math.nan)
            records.append(record)
        return pd.DataFrame.from_records(records)

    @property
    def _was_run(self) -> bool:
        return any(row.measured is not None or row.not_run for row in self.rows)

    def _head(self) -> tuple[str, ...]:
        cost = "cost as a tree" if self.has_trees else "cost"
        head = ["planner", "plan", cost, "x best", "latency", "planning ms"]
        if self._was_run:
            head += ["candidates", "partial matches", "run ms"]
        return tuple(head)

    def _cells(self, row: ComparedPlan) -> tuple[str, ...]:
        mark = f" {_BEST}" if self.is_best(row) else ""
        cells = [f"{row.plan.planner}{mark}", one_line(row.plan), log_text(self.log_cost(row))]
        cells += [number(row.relative), log_text(row.log_latency), _milliseconds(row.seconds)]
        if self._was_run:
            run = row.measured
            cells += (
                ["", "", row.not_run]
                if run is None
                else [whole(run.candidates), whole(run.partial_matches), _milliseconds(run.seconds)]
            )
        return tuple(cells)

    def _remarks(self) -> tuple[str, ...]:
        labels = ", ".join(labels_of(self.query.structure).values())
        best = f"{_BEST} the cheapest"
        by_tree = "as a tree: an order leans left, and its leaves cost as well"
        refused = (f"{planner}: {reason}" for planner, reason in self.refused)
        latency = "latency: the work left after the last event of a match"
        of_trees = (by_tree,) if self.has_trees else ()
        return (labels, best, *of_trees, latency, *refused, *self.notes)

    def __str__(self) -> str:
        head, cells = self._head(), [self._cells(row) for row in self.rows]
        table = text_table(head, cells, left=2)
        if max(map(len, table.splitlines())) > _WIDEST:
            # Keep numbers aligned for comparison, wherever a long plan breaks over lines.
            numbers = text_table(_without_plan(head), map(_without_plan, cells))
            table = f"{numbers}\n\n{text_table(head[:2], [row[:2] for row in cells], left=2)}"
        return "\n".join((f"cost: {self.cost_model}", table, *self._remarks()))

    def _repr_html_(self) -> str:
        caption = "; ".join((f"cost: {self.cost_model}", *self._remarks()))
        return html_output(html_table(self._head(), map(self._cells, self.rows), caption, left=2))


def _milliseconds(seconds: float) -> str:
    return number(float(f"{1000 * seconds:.3g}"))


def compare_plans(
    query: Query,
    statistics: Statistics,
    planners: Sequence[str | Planner] | None = None,
    cost: CostModel = PARTIAL_MATCHES,
    *,
    progress: Progress = False,
) -> PlanComparison:
    """Return the plans that the planners find for `query`.

    If the user interrupts, the comparison has the plans found until then.

    Args:
        statistics: The statistics of the stream.
        planners: Names of the shelf, or planners with settings of their own; None for all.
        progress: Whether to show a bar: see `cepkit.progress`.

    Raises:
        PlanError: No planner is given, or a name is unknown.
        StatisticsError: The statistics lack a variable of the query.
        LimitError: Every planner refused because the query is too large for it.
    """
    names = tuple(PLANNERS) if planners is None else tuple(planners)
    if not names:
        raise PlanError("no planner to compare", expected=f"some of {', '.join(PLANNERS)}")
    branches = normal_form(query)
    rows: list[ComparedPlan] = []
    refused: list[tuple[str, LimitError]] = []
    with Bar(len(names), progress, "comparing plans") as bar:
        for planner in map(PLANNERS.pick, names):
            bar.begin(planner.name)
            try:
                row, whole = _compared(planner, query, branches, statistics, cost, bar)
                rows.append(row)
                if not whole:
                    refused.append((planner.name, LimitError("interrupted: its best plan so far")))
                    break
            except LimitError as reason:
                refused.append((planner.name, reason))
            except KeyboardInterrupt:
                if not rows:
                    raise
                refused.append((planner.name, LimitError("interrupted, as are those after it")))
                break
    if not rows:
        raise refused[0][1]
    reasons = tuple((name, reason.found) for name, reason in refused)
    comparison = PlanComparison(query, tuple(rows), cost, reasons)
    costs = [comparison.log_cost(row) for row in rows]
    related = (
        replace(row, relative=_multiple(log_cost, min(costs)))
        for row, log_cost in zip(rows, costs, strict=True)
    )
    return replace(comparison, rows=tuple(related))


def _compared(
    planner: Planner,
    query: Query,
    branches: tuple[Branch, ...],
    statistics: Statistics,
    cost: CostModel,
    bar: Bar,
) -> tuple[ComparedPlan, bool]:
    """Return the plan of a planner, and whether it finished."""
    observed: list[list[Observed]] = [[] for _ in branches]

    def observer(number: int) -> Observer:
        def observe(state: Observed) -> None:
            observed[number].append(state)
            bar.move((number + (state.done or 0.0)) / len(branches))

        return observe

    begin = perf_counter()
    plans, whole = searched(planner, branches, statistics, cost, observer)
    seconds = perf_counter() - begin
    trees = [as_tree(plan) for plan in plans]
    costs = [cost.on(branch, statistics) for branch in branches]
    waiting = [LATENCY.on(branch, statistics) for branch in branches]
    decided = Decisions(branches, plans, planner, cost, statistics)
    plan = Plan(plans, name_of(planner, whole=whole), decided=decided)
    compared = ComparedPlan(
        cost_plan(plan, query, statistics, cost),
        query_cost(costs, trees),
        query_cost(waiting, plans),
        1.0,
        seconds,
        tuple(map(tuple, observed)),
    )
    return compared, whole


def _without_plan(cells: tuple[str, ...]) -> tuple[str, ...]:
    return cells[:1] + cells[2:]


def _log_cost(plan: Plan) -> float:
    assert plan.log_cost is not None, "cost_plan gives every plan a cost"
    return plan.log_cost


def _multiple(log_cost: float, best: float) -> float:
    # If the best plan costs nothing, other free plans are equally good and all others infinitely
    # worse.
    if math.isinf(best):
        return 1.0 if log_cost == best else math.inf
    return from_log(log_cost - best)
