"""The figure of a plan's deciding conditions: how far each is from breaking."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from cepkit.figures.kit.panels import Panels, add_bars, hover_text, rows_of
from cepkit.figures.kit.style import BLUE, TEXT, VERMILLION, beside, message, note
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
    chart = Panels.of(
        f"{title}<br><sub>{below}</sub>", [_ROW * len(rows)], above=_ABOVE, below=_BELOW
    ).chart
    chart.update_layout(bargap=0.4)
    lengths = [_drawn(row) for row in rows]
    add_bars(
        chart,
        lengths,
        list(range(len(rows))),
        orientation="h",
        marker_color=[BLUE if row.holds else VERMILLION for row in rows],
        hovertext=[_hover(row) for row in rows],
    )
    # At the right of the line even where the bar goes left: there the conditions stand.
    ends = enumerate(zip(lengths, rows, strict=True))
    beside(chart, [note(max(0.0, end), place, f" {_text(row)}") for place, (end, row) in ends])
    span = max(map(abs, lengths)) or 0.1
    ticks = sorted({round(t, 6) for t in (-span, 0.0, span)})
    chart.update_xaxes(
        title_text="slack: how many times the left side may grow",
        tickvals=ticks,
        ticktext=[number(10**t) for t in ticks],
        range=[min(0.0, *lengths) - 0.02 * span, 1.02 * span],
    )
    names = [shown(cut(row.condition, _LONGEST)) for row in rows]
    chart.update_yaxes(rows_of(names, 0.6, 0.6))
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
    return hover_text(row.condition, f"{shown(row.numbers)}{known}")
