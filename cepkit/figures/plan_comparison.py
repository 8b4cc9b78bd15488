"""The figure of planners side by side: what each one's plan costs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import plotly.graph_objects as go

from cepkit.figures.scales import Scale
from cepkit.figures.style import BLUE, GREEN, SMALL, figure
from cepkit.figures.texts import cut, shown
from cepkit.plan.logarithms import log_text
from cepkit.plan.printer import one_line
from cepkit.planners.compare import PlanComparison
from cepkit.statistics.tables import number

_ROW = 58
_PLAN_LENGTH = 92
_NAME_LENGTH = 28


@dataclass(frozen=True, slots=True)
class Bar:
    """One planner's plan.

    Attributes:
        planner: Its name.
        plan: The plan on one line.
        log_cost: The logarithm of its cost to base ten, -infinity for 0.
        cost: The cost as a text.
        relative: The cost as a multiple of the best.
        seconds: How long it planned.
        best: Whether no plan is cheaper.
    """

    planner: str
    plan: str
    log_cost: float
    cost: str
    relative: float
    seconds: float
    best: bool


def bars(comparison: PlanComparison) -> tuple[Bar, ...]:
    """Return what is drawn of a comparison, in its order."""
    made = []
    for row in comparison.rows:
        log = -math.inf if row.plan.log_cost is None else row.plan.log_cost
        made.append(
            Bar(
                row.plan.planner,
                one_line(row.plan),
                log / math.log(10),
                log_text(log),
                row.relative,
                row.seconds,
                row.relative <= 1.0,
            )
        )
    return tuple(made)


def draw_comparison(comparison: PlanComparison) -> go.Figure:
    """Return the costs of the plans as bars; the figure is returned, not shown.

    The best are green, hatched and say so. The axis is logarithmic where costs differ much.
    """
    rows = bars(comparison)
    scale = Scale.of((row.log_cost for row in rows), room=0.24)
    made = figure(f"cost of the plans: {shown(comparison.cost_model)}", 96 + _ROW * len(rows))
    places = list(range(len(rows)))
    made.add_bar(
        orientation="h",
        y=places,
        base=scale.begin,
        x=[scale.place(row.log_cost) - scale.begin for row in rows],
        width=0.42,
        marker={
            "color": [GREEN if row.best else BLUE for row in rows],
            "pattern": {
                "shape": ["/" if row.best else "" for row in rows],
                "fillmode": "overlay",
                "fgcolor": "#111111",
                "fgopacity": 0.35,
            },
        },
        hovertext=[_told(row) for row in rows],
        hoverinfo="text",
        showlegend=False,
    )
    costs = [
        {
            "x": scale.place(row.log_cost),
            "y": place,
            "text": f" {shown(row.cost)}" + (" <b>best</b>" if row.best else _times(row.relative)),
            "xanchor": "left",
            "showarrow": False,
        }
        for place, row in zip(places, rows, strict=True)
    ]
    plans = [
        {
            "x": 0,
            "xref": "paper",
            "y": place - 0.4,
            "text": shown(cut(row.plan, _PLAN_LENGTH)),
            "hovertext": shown(row.plan),
            "xanchor": "left",
            "xshift": 8,
            "font": {"size": SMALL},
            "showarrow": False,
        }
        for place, row in zip(places, rows, strict=True)
    ]
    made.update_layout(annotations=[*costs, *plans])
    made.update_xaxes(**scale.axis(), title_text="cost")
    names = [shown(cut(row.planner, _NAME_LENGTH)) for row in rows]
    made.update_yaxes(
        tickvals=places, ticktext=names, range=[len(rows) - 0.5, -0.62], showgrid=False
    )
    return made


def _times(relative: float) -> str:
    return f" ({number(relative)} x)" if math.isfinite(relative) else ""


def _told(row: Bar) -> str:
    return "<br>".join(
        (
            f"<b>{shown(row.planner)}</b>",
            shown(cut(row.plan, 400)),
            f"cost {shown(row.cost)}, {number(row.relative)} times the best",
            f"planned in {number(row.seconds)} s",
        )
    )
