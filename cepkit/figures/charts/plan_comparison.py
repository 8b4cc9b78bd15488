"""The figure of compared plans by cost: a bar for each plan, and the planners that find it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import plotly.graph_objects as go

from cepkit.figures.kit.key import KeyRow, add_key
from cepkit.figures.kit.panels import add_bars, hover_text, rows_of
from cepkit.figures.kit.scales import Scale
from cepkit.figures.kit.style import BLUE, GREEN, SMALL, beside, figure, note
from cepkit.figures.kit.texts import cut, shown, wrapped
from cepkit.plan.logarithms import log_text
from cepkit.plan.printer import one_line
from cepkit.planners.compare import PlanComparison
from cepkit.tables import number

_BAR = 25
_LINE = SMALL * 1.3
_BETWEEN = 17
_AXIS = 56
_PLAN_WIDTH = 380
_PLAN_LINES = 3
_NAME_LENGTH = 28


@dataclass(frozen=True, slots=True)
class Bar:
    """The bar of one plan.

    Attributes:
        planners: The planners that find it, with the seconds that each takes.
        plan: The plan on one line.
        log_cost: The logarithm to base ten, -infinity for 0, of the cost that plans are compared
            by: the cost as a tree if one of them is a tree.
        cost: The same cost as a text.
        relative: The cost as a multiple of the best.
        best: Whether no plan is cheaper.
    """

    planners: tuple[tuple[str, float], ...]
    plan: str
    log_cost: float
    cost: str
    relative: float
    best: bool

    @property
    def label(self) -> str:
        """The planner, or how many there are."""
        (first, _), *others = self.planners
        return f"{1 + len(others)} planners" if others else cut(first, _NAME_LENGTH)

    @property
    def lines(self) -> tuple[str, ...]:
        """The plan in the lines above its bar; then the planners, if there are several."""
        lines = wrapped(self.plan, SMALL, _PLAN_WIDTH, _PLAN_LINES)
        if len(self.planners) > 1:
            names = ", ".join(name for name, _ in self.planners)
            lines = [*lines, *wrapped(names, SMALL, _PLAN_WIDTH, _PLAN_LINES)]
        return tuple(lines)


def bars(comparison: PlanComparison) -> tuple[Bar, ...]:
    """Return a bar for each plan of a comparison, the cheapest first."""
    made = []
    for rows in comparison.by_plan:
        log = comparison.log_cost(rows[0])
        made.append(
            Bar(
                tuple((row.plan.planner, row.seconds) for row in rows),
                one_line(rows[0].plan),
                log / math.log(10),
                log_text(log),
                rows[0].relative,
                comparison.is_best(rows[0]),
            )
        )
    return tuple(made)


def draw_costs(comparison: PlanComparison) -> go.Figure:
    """Return the costs of the plans as bars; the figure is returned, not shown.

    The best are green, hatched and labelled. The axis is logarithmic if costs differ much. Planners
    that refused are named below.
    """
    rows = bars(comparison)
    scale = Scale.of(row.log_cost for row in rows)
    texts = [row.lines for row in rows]
    # Places are in pixels, because a plan takes one line or several.
    tops, below = [], 8.0
    for lines in texts:
        tops.append(below)
        below += len(lines) * _LINE + _BAR + _BETWEEN
    places = [
        top + len(lines) * _LINE + 2 + _BAR / 2 for top, lines in zip(tops, texts, strict=True)
    ]
    title = f"cost of the plans: {shown(comparison.cost_model)}"
    chart = figure(title, round(below + 56 + _AXIS))
    chart.update_layout(margin={"b": _AXIS})
    hatched = {"shape": ["/" if row.best else "" for row in rows], "fillmode": "overlay",
               "fgcolor": "#111111", "fgopacity": 0.35}  # fmt: skip
    add_bars(
        chart,
        y=places,
        width=_BAR,
        marker={"color": [GREEN if row.best else BLUE for row in rows], "pattern": hatched},
        hovertext=[_hover(row) for row in rows],
        **scale.bars(row.log_cost for row in rows),
    )
    costs = [
        note(scale.place(row.log_cost), place, f" {shown(row.cost)}{_remark(row)}", align="left")
        for place, row in zip(places, rows, strict=True)
    ]
    plans = [
        note(0, top, "<br>".join(map(shown, lines)), xref="paper", yanchor="top", align="left",
             hovertext=shown(row.plan), xshift=8, borderpad=0, font={"size": SMALL})
        for top, row, lines in zip(tops, rows, texts, strict=True)
    ]  # fmt: skip
    beside(chart, costs)
    chart.update_layout(annotations=[*costs, *plans])
    as_trees = " as a tree; an order is one that leans left" if comparison.has_trees else ""
    chart.update_xaxes(**scale.axis(), title_text=f"cost{as_trees}")
    names = [shown(row.label) for row in rows]
    chart.update_yaxes(rows_of(names, below - places[-1], 0, places))
    refused = [KeyRow(f"{planner} refused", reason) for planner, reason in comparison.refused]
    if refused:
        add_key(chart, refused, axis=_AXIS, left=0)
    return chart


def _remark(row: Bar) -> str:
    return " <b>★ best</b>" if row.best else _times(row.relative)


def _times(relative: float) -> str:
    if not math.isfinite(relative):
        return ""
    # A plan that is not the best must not round to the best.
    times = number(relative) if relative >= 1.0005 else f"{relative:.7g}"
    return f" ({times} x)"


def _hover(row: Bar) -> str:
    return hover_text(
        shown(cut(row.plan, 400)),
        f"cost {shown(row.cost)}, {number(row.relative)} times the best",
        *(f"{shown(name)}: planned in {number(seconds)} s" for name, seconds in row.planners),
    )
