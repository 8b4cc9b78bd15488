"""The figures of plans, alone and side by side, and of a query as an automaton."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import plotly.graph_objects as go

from cepkit.arguments import check_range
from cepkit.figures.diagrams import plan_canvas
from cepkit.figures.diagrams.automaton import PER_ROW
from cepkit.figures.diagrams.pictures import pictures
from cepkit.figures.diagrams.tree_canvas import ROOM
from cepkit.figures.kit.canvas import Canvas
from cepkit.figures.kit.plotly_canvas import to_figure
from cepkit.figures.kit.style import SIZE
from cepkit.figures.kit.texts import fitted, width_of
from cepkit.pattern.builder import Pattern, as_query
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.plan.logarithms import from_log, log_text
from cepkit.plan.nodes import Plan
from cepkit.statistics.tables import number

_TITLE_ROOM = 60
"""What the buttons of a figure take of the line of its title."""


def draw_plan(
    plan: Plan, pattern: Query | Pattern | None = None, *, per_row: int = PER_ROW
) -> go.Figure:
    """Return a plan as a figure: orders as automata, trees as trees; it is returned, not shown.

    Args:
        pattern: The query that it evaluates: without it types and conditions are not known.
        per_row: How many steps of an order stand side by side.

    Raises:
        PlanError: The plan does not belong to the pattern.
    """
    check_range("per_row", per_row, 1)
    canvas = plan_canvas.layout(pictures(plan, _query(pattern)), per_row=per_row)
    return _figure(canvas, f"plan: {_head(plan)}")


def draw_plans(
    plans: Sequence[Plan], pattern: Query | Pattern | None = None, *, width: float = ROOM
) -> go.Figure:
    """Return plans of one query side by side, on one scale; the figure is returned, not shown.

    Where they do not fit beside each other they stand one below the other.

    Args:
        pattern: The query that they evaluate: without it types and conditions are not known.
        width: The width to keep to, in pixels.

    Raises:
        PlanError: A plan does not belong to the pattern.
    """
    least = min((p.log_cost for p in plans if p.log_cost is not None), default=None)
    # The cost of a tree has its leaves in it, that of an order has not.
    if len({type(branch) for plan in plans for branch in plan.branches}) > 1:
        least = None
    query = _query(pattern)
    headed = [(_head(plan, least), pictures(plan, query)) for plan in plans]
    return _figure(plan_canvas.side_by_side(headed, width), f"{len(plans)} plans")


def draw_query(pattern: Query | Pattern, *, per_row: int = PER_ROW) -> go.Figure:
    """Return the automata of a query in the order of its text; returned, not shown."""
    check_range("per_row", per_row, 1)
    query = as_query(pattern)
    canvas = plan_canvas.layout(pictures(as_plan(None, query), query), per_row=per_row)
    return _figure(canvas, "the pattern as an automaton, in the order of its text")


def _query(pattern: Query | Pattern | None) -> Query | None:
    return None if pattern is None else as_query(pattern)


def _figure(canvas: Canvas, title: str) -> go.Figure:
    room = max(canvas.width, min(ROOM, width_of(title, SIZE + 2) + _TITLE_ROOM))
    return to_figure(replace(canvas, width=room), fitted(title, SIZE + 2, room - _TITLE_ROOM))


def _head(plan: Plan, least: float | None = None) -> str:
    """Return who made a plan and what it costs, beside the least cost of plans of its kind."""
    if plan.log_cost is None:
        return plan.planner
    times = ""
    if least is not None and math.isfinite(least) and plan.log_cost > least:
        times = f", {number(from_log(plan.log_cost - least))} times the least"
    return f"{plan.planner}, cost {log_text(plan.log_cost)}{times}"
