"""The figures of plans, alone and side by side, and of a query as an automaton."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from cepkit.arguments import check_range
from cepkit.figures.diagrams import plan_canvas
from cepkit.figures.diagrams.pictures import Picture, pictures
from cepkit.figures.kit.plotly_canvas import laid_out, to_figure
from cepkit.pattern.builder import Pattern, as_query
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.plan.logarithms import from_log, log_text
from cepkit.plan.nodes import Plan, TreePlan
from cepkit.tables import number


def draw_plan(
    plan: Plan, pattern: Query | Pattern | None = None, *, per_row: int | None = None
) -> go.Figure:
    """Return a plan as a figure: orders as automata, trees as trees; it is returned, not shown.

    Args:
        pattern: The query that the plan evaluates; without it types and conditions are unknown.
        per_row: How many steps of an order stand side by side; None for as many as have room.

    Raises:
        PlanError: The plan does not belong to the pattern.
    """
    return _figure(pictures(plan, _query(pattern)), f"plan: {_head(plan)}", per_row)


def draw_plans(
    plans: Sequence[Plan], pattern: Query | Pattern | None = None, *, width: float | None = None
) -> go.Figure:
    """Return plans of one query side by side, on one scale; the figure is returned, not shown.

    If they do not fit side by side, they are stacked.

    Args:
        pattern: The query that the plans evaluate; without it types and conditions are unknown.
        width: The width in pixels; None to fill the available width.

    Raises:
        PlanError: A plan does not belong to the pattern.
    """
    least = min((p.log_cost for p in plans if p.log_cost is not None), default=None)
    # The cost of a tree includes its leaves, that of an order does not.
    mixed = len({type(branch) for plan in plans for branch in plan.branches}) > 1
    query = _query(pattern)
    headed = [
        (_head(plan, None if mixed else least) + mixed * _as_kind(plan), pictures(plan, query))
        for plan in plans
    ]
    return laid_out(
        lambda room: plan_canvas.side_by_side(headed, room), f"{len(plans)} plans", width
    )


def draw_query(pattern: Query | Pattern, *, per_row: int | None = None) -> go.Figure:
    """Return the automata of a query in the order of its text; returned, not shown."""
    query = as_query(pattern)
    parts = pictures(as_plan(None, query), query)
    return _figure(parts, "the pattern as an automaton, in the order of its text", per_row)


def _query(pattern: Query | Pattern | None) -> Query | None:
    return None if pattern is None else as_query(pattern)


def _figure(parts: Sequence[Picture], title: str, per_row: int | None) -> go.Figure:
    if per_row is None:
        return laid_out(lambda room: plan_canvas.layout(parts, room), title)
    check_range("per_row", per_row, 1)
    return to_figure(plan_canvas.layout(parts, per_row=per_row), title)


def _as_kind(plan: Plan) -> str:
    """Return by which rule a plan's cost counts, where plans of both kinds stand side by side."""
    if plan.log_cost is None:
        return ""
    trees = any(isinstance(branch, TreePlan) for branch in plan.branches)
    return " as a tree" if trees else " as an order"


def _head(plan: Plan, least: float | None = None) -> str:
    """Return the planner and the cost of a plan, with the least cost of plans of its kind."""
    if plan.log_cost is None:
        return plan.planner
    times = ""
    if least is not None and math.isfinite(least) and plan.log_cost > least:
        times = f", {number(from_log(plan.log_cost - least))} times the least"
    return f"{plan.planner}, cost {log_text(plan.log_cost)}{times}"
