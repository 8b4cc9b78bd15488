"""The figure of a funnel: how many events and partial matches each requirement lets through."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

import plotly.graph_objects as go

from cepkit.diagnosis.funnel import FunnelRow
from cepkit.diagnosis.result import Funnel
from cepkit.figures.kit.scales import Scale, log10
from cepkit.figures.kit.style import (
    BLUE,
    GRID,
    SIZE,
    SKY,
    at_the_top,
    beside,
    figure,
    legend_above,
    message,
    note,
)
from cepkit.figures.kit.texts import cut, shown, wrapped

_ROW = 34
_NAMES = 250
_TITLE = 96
_ABOVE = 60
"""Pixels above the rows, without the legend."""
_OF_EVENTS = ("type", "filter", "stretch")


def draw_funnel(
    funnel: Funnel, title: str = "partial matches that pass each requirement"
) -> go.Figure:
    """Return the funnel as bars; the figure is returned, not shown.

    The pale bar is the number that came, the full one the number that passed. The axis is
    logarithmic if numbers differ much. A requirement that lets nothing through is labelled.

    Args:
        funnel: From `why_not`.
        title: A text from data; it is escaped here.
    """
    rows = funnel.rows
    title = shown(cut(title, _TITLE))
    if not rows:
        return message(title, "no steps")
    several = len({row.branch for row in rows}) > 1
    steps = [f"{row.branch}: {_step(row)}" if several else _step(row) for row in rows]
    # A scope has no incoming number: all pairs of events come to it.
    before = [None if row.kind == "scope" else log10(row.before) for row in rows]
    after = [log10(row.after) for row in rows]
    scale = Scale.of((*(log for log in before if log is not None), *after))
    places = _places(steps)
    height = round(118 + _ROW * (places[-1] + 1))
    chart = figure(title, height)
    came = [-math.inf if log is None else log for log in before]
    chart.add_bar(
        **scale.bars(came), name="came", y=places, width=0.62, marker={"color": GRID},
        hoverinfo="skip",
    )  # fmt: skip
    for name, colour, of_events in (("events", SKY, True), ("partial matches", BLUE, False)):
        some = [i for i, row in enumerate(rows) if (row.kind in _OF_EVENTS) is of_events]
        chart.add_bar(
            **scale.bars(after[i] for i in some),
            name=f"{name} that passed",
            y=[places[i] for i in some],
            width=0.62,
            marker={"color": colour},
            hovertext=["<br>".join(map(shown, _hover(steps[i], rows[i]))) for i in some],
            hoverinfo="text",
        )
    ends = [scale.place(max(logs)) for logs in zip(came, after, strict=True)]
    notes = [
        note(end, place, f" {_label(row)}")
        for end, place, row in zip(ends, places, rows, strict=True)
    ]
    beside(chart, notes)
    legend = legend_above([bar.name for bar in chart.data], _ABOVE, height)
    chart.update_layout(barmode="overlay", title=at_the_top(), **legend)
    chart.update_xaxes(**scale.axis())
    names = ["<br>".join(map(shown, wrapped(row.text, SIZE, _NAMES, 2))) for row in rows]
    firsts = [step != other for step, other in zip(steps, ["", *steps], strict=False)]
    names = [f"<b>{name}</b>" if new else name for name, new in zip(names, firsts, strict=True)]
    span = [places[-1] + 0.8, -0.8]
    chart.update_yaxes(tickvals=places, ticktext=names, range=span, showgrid=False)
    return chart


def _step(row: FunnelRow) -> str:
    return row.variable or "NOT"


def _places(steps: Sequence[str]) -> list[float]:
    """Return the places of rows: rows of one step close together, steps further apart."""
    gaps = (1.0 if one == other else 1.4 for one, other in pairwise(steps))
    return list(accumulate(gaps, initial=0.0))


def _hover(step: str, row: FunnelRow) -> list[str]:
    lines = [f"{step}: {row.text}", f"before: {row.before:,}", f"after: {row.after:,}"]
    return lines if row.alone is None else [*lines, f"removed by this alone: {row.alone:,}"]


def _empties(row: FunnelRow) -> bool:
    return row.after == 0 and row.removed > 0


def _label(row: FunnelRow) -> str:
    text = f"{row.after:,}"
    if row.kind != "scope" and row.removed:
        text += f"  (-{row.removed:,})"
    if row.alone:
        text += f"  {row.alone:,} by this alone"
    return f"<b>{text}</b>" if _empties(row) else text
