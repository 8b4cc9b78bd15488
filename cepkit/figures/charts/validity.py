"""The figure of a plan's deciding conditions: how far each is from breaking."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from cepkit.figures.kit.style import BLUE, SMALL, TEXT, VERMILLION, at_the_top, figure, message
from cepkit.figures.kit.texts import cut, shown
from cepkit.plan.validity import Validity, ValidityRow
from cepkit.tables import number

_ROW, _ABOVE, _BELOW = 30, 76, 48
_LONGEST, _MOST = 60, 40
_FARTHEST = 1e6
"""A larger slack is drawn at the edge: such a condition will not break soon."""


def draw_validity(validity: Validity) -> go.Figure:
    """Return the slack of each deciding condition, the nearest to breaking on top.

    A condition whose bar points right holds, and the bar says how many times its left side may
    grow; a bar to the left is broken. The axis is logarithmic.
    """
    title = f"while {shown(cut(validity.plan, _LONGEST))} is right"
    if not validity.rows:
        return message(title, "under any statistics: its planner compares nothing")
    rows = validity.rows[:_MOST]
    left_out = len(validity.rows) - len(rows)
    more = f"; {left_out} more are farther off" if left_out else ""
    below = f"planner: {shown(cut(validity.planner, _LONGEST))}{more}"
    chart = figure(f"{title}<br><sub>{below}</sub>", len(rows) * _ROW + _ABOVE + _BELOW)
    chart.update_layout(
        margin={"t": _ABOVE, "b": _BELOW}, title=at_the_top(2), showlegend=False, bargap=0.4
    )
    places = list(range(len(rows)))
    chart.add_bar(
        orientation="h",
        y=places,
        x=[_drawn(row) for row in rows],
        marker_color=[BLUE if row.holds else VERMILLION for row in rows],
        text=[_text(row) for row in rows],
        textposition="outside",
        textfont={"size": SMALL, "color": TEXT},
        cliponaxis=False,
        hovertext=[_hover(row) for row in rows],
        hoverinfo="text",
    )
    span = max(abs(_drawn(row)) for row in rows) or 0.1
    ticks = sorted({round(t, 6) for t in (-span, 0.0, span)})
    least = min(0.0, *(_drawn(row) for row in rows))
    chart.update_xaxes(
        title_text="slack: how many times the left side may grow",
        tickvals=ticks,
        ticktext=[number(10**t) for t in ticks],
        range=[1.6 * least - 0.02 * span, 1.6 * span],
    )
    names = [shown(cut(row.condition, _LONGEST)) for row in rows]
    chart.update_yaxes(
        tickvals=places, ticktext=names, range=[len(rows) - 0.4, -0.6], showgrid=False
    )
    chart.add_vline(x=0, line={"color": TEXT, "width": 1})
    return chart


def _drawn(row: ValidityRow) -> float:
    """Return the logarithm of the slack to base ten, within the limits of the chart."""
    limits = math.log10(_FARTHEST)
    if not row.slack > 0:
        return -limits
    return min(limits, max(-limits, math.log10(row.slack))) if row.slack < math.inf else limits


def _text(row: ValidityRow) -> str:
    broken = "" if row.holds else ", broken"
    crossed = f", crossed {row.crossed:.0%} of the time" if row.crossed else ""
    return f"{number(row.slack)}{broken}{crossed}"


def _hover(row: ValidityRow) -> str:
    known = "" if row.crossed is None else f"<br>does not hold in {row.crossed:.0%} of the stream"
    return f"<b>{shown(cut(row.condition, 120))}</b><br>{shown(row.numbers)}{known}"
