"""The figure of a funnel: how many events and partial matches each requirement lets through."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

import plotly.graph_objects as go

from cepkit.diagnosis.funnel import FunnelRow
from cepkit.diagnosis.result import Funnel
from cepkit.figures.kit.panels import Panels, add_bars, rows_of
from cepkit.figures.kit.scales import Scale, log10
from cepkit.figures.kit.style import BLUE, GRID, SIZE, SKY, beside, message, note
from cepkit.figures.kit.texts import cut, shown, wrapped

_ROW = 34
_NAMES = 250
_TITLE = 96
_ABOVE, _BELOW = 60, 40
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
    names = ("came", "events that passed", "partial matches that passed")
    made = Panels.of(
        title, [18 + _ROW * (places[-1] + 1)], above=_ABOVE, below=_BELOW, legend=names
    )
    chart = made.chart
    came = [-math.inf if log is None else log for log in before]
    add_bars(chart, name=names[0], y=places, width=0.62, marker={"color": GRID}, **scale.bars(came))
    for name, colour, of_events in ((names[1], SKY, True), (names[2], BLUE, False)):
        some = [i for i, row in enumerate(rows) if (row.kind in _OF_EVENTS) is of_events]
        add_bars(
            chart,
            name=name,
            y=[places[i] for i in some],
            width=0.62,
            marker={"color": colour},
            hovertext=["<br>".join(map(shown, _hover(steps[i], rows[i]))) for i in some],
            **scale.bars(after[i] for i in some),
        )
    ends = [scale.place(max(logs)) for logs in zip(came, after, strict=True)]
    notes = [
        note(end, place, f" {_label(row)}")
        for end, place, row in zip(ends, places, rows, strict=True)
    ]
    beside(chart, notes)
    chart.update_layout(barmode="overlay")
    chart.update_xaxes(**scale.axis())
    texts = ["<br>".join(map(shown, wrapped(row.text, SIZE, _NAMES, 2))) for row in rows]
    firsts = [step != other for step, other in zip(steps, ["", *steps], strict=False)]
    texts = [f"<b>{text}</b>" if new else text for text, new in zip(texts, firsts, strict=True)]
    chart.update_yaxes(rows_of(texts, 0.8, 0.8, places))
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
