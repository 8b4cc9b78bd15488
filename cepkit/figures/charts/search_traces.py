"""The figure of searches: the cost of each planner's best plan so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import plotly.graph_objects as go

from cepkit.costs.contract import BranchCost
from cepkit.errors import CepkitError
from cepkit.figures.kit.key import HEIGHT, KeyRow, add_key, mark_of, plot, runs_of
from cepkit.figures.kit.labels import add_ends
from cepkit.figures.kit.panels import add_points, hover_text
from cepkit.figures.kit.scales import Scale, log10
from cepkit.figures.kit.texts import cut, shown
from cepkit.pattern.normal_form import normal_form
from cepkit.plan.logarithms import grouped, log_text
from cepkit.plan.nodes import BranchPlan, TreePlan, as_tree
from cepkit.planners.compare import PlanComparison
from cepkit.planners.contract import Observed

Over: TypeAlias = Literal["plans", "seconds"]

_OVER = {"plans": "plans examined (exact planners: sets of variables)", "seconds": "seconds"}
_RIGHT = 96
_RUN = 3
_DASH = "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class Trace:
    """One planner's search through one branch.

    Attributes:
        at: The plans examined, or the seconds, at each improvement.
        log_costs: The logarithms to base ten of the cost of the best plan from then on.
        end: Where the search ended.
        plan: The final plan.
        examined: How many plans, or sets of variables, it examined.
        seconds: How long it took.
    """

    planner: str
    at: tuple[float, ...]
    log_costs: tuple[float, ...]
    end: float
    plan: str
    examined: int
    seconds: float


def traces(
    comparison: PlanComparison, over: Over = "plans", branch: int | None = None
) -> tuple[Trace, ...]:
    """Return the searches of a comparison, in its order.

    Args:
        over: The horizontal axis: "plans" examined, or "seconds".
        branch: Of a pattern with OR, which branch, counted from 1; None for the largest.

    Raises:
        CepkitError: There is no such measure, or no such branch.
    """
    if over not in _OVER:
        wrong = f"searches cannot be followed over '{over}'"
        raise CepkitError.unknown(wrong, over, _OVER, option="over= ")
    number_of_branch = _branch(comparison, branch)
    plans = [row.plan.branches[number_of_branch] for row in comparison.rows]
    as_trees = any(isinstance(plan, TreePlan) for plan in plans)
    statistics = comparison.rows[0].plan.statistics
    assert statistics is not None, "a compared plan knows the statistics that it was made with"
    cost = comparison.cost.on(normal_form(comparison.query)[number_of_branch], statistics)
    searches = []
    for row, plan in zip(comparison.rows, plans, strict=True):
        observed = [each for each in row.observed[number_of_branch] if each.plan is not None]
        # A planner need not report progress; its result is known anyway.
        observed = observed or [Observed(row.seconds, 1, plan, cost.of(plan), 1.0)]
        steps = _steps(observed, cost, over, as_trees=as_trees)
        last = observed[-1]
        searches.append(
            Trace(
                row.plan.planner,
                tuple(at for at, _ in steps),
                tuple(log for _, log in steps),
                _place(last, over),
                str(plan),
                last.examined,
                last.seconds,
            )
        )
    return tuple(searches)


def _branch(comparison: PlanComparison, branch: int | None) -> int:
    branches = normal_form(comparison.query)
    if branch is None:
        return max(range(len(branches)), key=lambda i: len(branches[i].variables))
    if not 1 <= branch <= len(branches):
        raise CepkitError(f"there is no branch {branch}", expected=f"1 to {len(branches)}")
    return branch - 1


def _place(observed: Observed, over: Over) -> float:
    # Before the first plan, and within the first microsecond: at the beginning.
    return max(observed.seconds, 1e-6) if over == "seconds" else max(observed.examined, 1)


def _steps(
    observed: Sequence[Observed], cost: BranchCost, over: Over, *, as_trees: bool
) -> list[tuple[float, float]]:
    """Return where another plan became the best, and log10 of its cost."""
    steps: list[tuple[float, float]] = []
    before: BranchPlan | None = None
    for each in observed:
        if each.plan is None or each.plan == before:
            continue
        before = each.plan
        costed = as_tree(before) if as_trees else before
        log = cost.of(costed)
        place = _place(each, over)
        if steps and steps[-1][0] == place:
            steps.pop()
        steps.append((place, log / math.log(10)))
    return steps


def draw_searches(
    comparison: PlanComparison, over: Over = "plans", branch: int | None = None
) -> go.Figure:
    """Return how searches went, a line for each planner; the figure is returned, not shown.

    A line falls where the planner found a better plan, and stays level after its last one. Planners
    that do not search, or know their plan only at the end, are level throughout. The dot marks the
    end of the search.

    Args:
        comparison: From `compare_plans`.
        over: "plans" examined, or "seconds".
        branch: Of a pattern with OR, which branch, counted from 1; None for the largest.

    Raises:
        CepkitError: There is no such measure, or no such branch.
    """
    searches = traces(comparison, over, branch)
    title = f"searches: the best plan so far, cost: {shown(comparison.cost_model)}"
    several = len(comparison.rows[0].plan.branches)
    if several > 1:
        title += f", branch {_branch(comparison, branch) + 1} of {several}"
    across = Scale.of_powers((log10(v) for t in searches for v in (*t.at, t.end)), room=0.05)
    upwards = Scale.of_powers(log for t in searches for log in t.log_costs)
    as_trees = ", as trees" if comparison.has_trees else ""
    chart = plot(title, across, upwards, (_OVER[over], f"cost{as_trees}"), right=_RIGHT)
    ends = []
    for i, trace in enumerate(searches):
        mark = mark_of(i)
        x = [across.place(log10(v)) for v in trace.at]
        y = [upwards.place(log) for log in trace.log_costs]
        line = {"shape": "hv", "width": 2, "color": mark.colour, "dash": mark.dash}
        add_points(chart, "lines", [*x, across.end], [*y, y[-1]], line=line)
        marker = {"size": 9, "color": mark.colour, "symbol": mark.symbol}
        end = across.place(log10(trace.end))
        add_points(chart, "markers", [end], [y[-1]], marker=marker, hovertext=_hover(trace))
        ends.append(y[-1])
    # Lines that end at the same point share a place.
    together = grouped(range(len(ends)), lambda i: (ends[i],))
    letters = [
        (ends[members[0]], _letters(members),
         "<br>".join(shown(searches[i].planner) for i in members))
        for members in together
    ]  # fmt: skip
    add_ends(chart, letters, upwards, HEIGHT)
    add_key(chart, [_key(trace, i) for i, trace in enumerate(searches)])
    return chart


def _letters(numbers: Sequence[int]) -> str:
    """Return the letters of marks; three or more in a row as first to last."""
    texts = []
    for run in runs_of(numbers):
        letters = [mark_of(each).letter for each in run]
        texts += letters if len(run) < _RUN else [f"{letters[0]}{_DASH}{letters[-1]}"]
    return " ".join(texts)


def _key(trace: Trace, number_: int) -> KeyRow:
    mark = mark_of(number_)
    text = f"{_effort(trace)}, cost {_cost(trace)}"
    return KeyRow(f"{mark.letter}  {trace.planner}", text, colour=mark.colour, dash=mark.dash)


def _effort(trace: Trace) -> str:
    milliseconds = f"{trace.seconds * 1000:.3g} ms"
    took = milliseconds if trace.seconds < 0.1 else f"{trace.seconds:,.1f} s"
    return f"{trace.examined:,} looked at in {took}"


def _cost(trace: Trace) -> str:
    return log_text(trace.log_costs[-1] * math.log(10))


def _hover(trace: Trace) -> str:
    plan = shown(cut(trace.plan, 400))
    return hover_text(trace.planner, plan, f"cost {_cost(trace)}", _effort(trace))
