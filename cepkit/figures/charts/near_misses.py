"""The figure of near misses: which requirements each violates, and by how much."""

from __future__ import annotations

import plotly.graph_objects as go

from cepkit.diagnosis.result import NearMiss, NearMisses
from cepkit.figures.kit.panels import add_bars, rows_of
from cepkit.figures.kit.scales import Scale, log10
from cepkit.figures.kit.style import SMALL, beside, colour_of, figure, message, note
from cepkit.figures.kit.texts import cut, shown, wrapped
from cepkit.pattern.requirements import text_of
from cepkit.tables import number

_ROW = 74
_DETAIL = 560


def draw_near_misses(misses: NearMisses) -> go.Figure:
    """Return near misses as bars, the nearest on top; the figure is returned, not shown.

    The length is the violation in units of its scale: the window for times, the usual spread for
    values. Each requirement has a colour.
    """
    rows = misses.rows
    title = "nearest misses"
    if not rows:
        return message(title, "no near misses")
    logs = [log10(row.relative) for row in rows]
    scale = Scale.of(logs)
    kinds = [text_of(row.violated[0].requirement) for row in rows]
    colours = {kind: colour_of(i) for i, kind in enumerate(dict.fromkeys(kinds))}
    chart = figure(title, 104 + _ROW * len(rows))
    add_bars(
        chart,
        y=list(range(len(rows))),
        width=0.22,
        marker={"color": [colours[kind] for kind in kinds]},
        hovertext=["<br>".join(shown(cut(line, 200)) for line in _hover(row)) for row in rows],
        **scale.bars(logs),
    )
    sizes = [
        note(scale.place(log), place, f" {number(row.relative)}")
        for place, (row, log) in enumerate(zip(rows, logs, strict=True))
    ]
    texts = [
        note(0, place - 0.14, _text(row), xref="paper", yanchor="bottom", align="left", xshift=8,
             font={"size": SMALL})
        for place, row in enumerate(rows)
    ]  # fmt: skip
    beside(chart, sizes)
    chart.update_layout(annotations=[*sizes, *texts])
    chart.update_xaxes(**scale.axis(), title_text="violation, relative to what is usual")
    chart.update_yaxes(rows_of([str(place + 1) for place in range(len(rows))], 0.3, 0.9))
    return chart


def _text(row: NearMiss) -> str:
    """Return the events on one line, and the violations on at most two."""
    events = ", ".join(f"{event.variable} = {event.name}" for event in row.events)
    lines = wrapped(row.detail, SMALL, _DETAIL, 2)
    return f"<b>{shown(cut(events, 84))}</b><br>" + "<br>".join(map(shown, lines))


def _hover(row: NearMiss) -> list[str]:
    events = [
        f"{event.variable} = {event.name}: {event.type}"
        + "".join(f", {name} = {value}" for name, value in event.values.items())
        for event in row.events
    ]
    return [*events, row.detail]
