"""The figure of near misses: what each violates, and by how much."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go

from cepkit.diagnosis.result import NearMisses
from cepkit.figures.kit.scales import Scale, log10
from cepkit.figures.kit.style import COLOURS, SMALL, figure, message
from cepkit.figures.kit.texts import cut, shown, wrapped
from cepkit.statistics.tables import number

_ROW = 74
_TOLD = 560


@dataclass(frozen=True, slots=True)
class Missed:
    """A near miss.

    Attributes:
        events: Its events on a line.
        lines: What it violates, in at most two lines.
        kind: The first requirement that it violates, as a text.
        relative: By how much.
        hover: All of it, in lines.
    """

    events: str
    lines: tuple[str, ...]
    kind: str
    relative: float
    hover: tuple[str, ...]


def missed(misses: NearMisses) -> tuple[Missed, ...]:
    """Return what is drawn of near misses, the nearest first."""
    rows = []
    for row, miss in zip(misses.to_pandas().to_dict("records"), misses, strict=True):
        events = ", ".join(f"{event.variable} = {event.name}" for event in miss.events)
        each = [
            f"{event.variable} = {event.name}: {event.type}"
            + "".join(f", {name} = {value}" for name, value in event.values.items())
            for event in miss.events
        ]
        lines = tuple(wrapped(miss.detail, SMALL, _TOLD, 2))
        rows.append(Missed(events, lines, row["violated"][0], miss.relative, (*each, miss.detail)))
    return tuple(rows)


def draw_near_misses(misses: NearMisses) -> go.Figure:
    """Return near misses as bars, the nearest on top; the figure is returned, not shown.

    The length is the violation in units of its scale: of the window for times, of what is usual
    for values. Each requirement has a colour.
    """
    rows = missed(misses)
    title = "nearest misses"
    if not rows:
        return message(title, "no near misses")
    scale = Scale.of((log10(row.relative) for row in rows), room=0.12)
    kinds = list(dict.fromkeys(row.kind for row in rows))
    chart = figure(title, 104 + _ROW * len(rows))
    chart.add_bar(
        orientation="h",
        y=list(range(len(rows))),
        base=scale.begin,
        x=[scale.place(log10(row.relative)) - scale.begin for row in rows],
        width=0.22,
        marker={"color": [COLOURS[kinds.index(row.kind) % len(COLOURS)] for row in rows]},
        hovertext=["<br>".join(shown(cut(line, 200)) for line in row.hover) for row in rows],
        hoverinfo="text",
        showlegend=False,
    )
    sizes = [
        {"x": scale.place(log10(row.relative)), "y": place, "text": f" {number(row.relative)}",
         "xanchor": "left", "showarrow": False}
        for place, row in enumerate(rows)
    ]  # fmt: skip
    texts = [
        {"x": 0, "xref": "paper", "y": place - 0.14, "yanchor": "bottom", "xanchor": "left",
         "align": "left", "xshift": 8, "font": {"size": SMALL}, "showarrow": False,
         "text": f"<b>{shown(cut(row.events, 84))}</b><br>" + "<br>".join(map(shown, row.lines))}
        for place, row in enumerate(rows)
    ]  # fmt: skip
    chart.update_layout(annotations=[*sizes, *texts])
    chart.update_xaxes(**scale.axis(), title_text="violation, relative to what is usual")
    chart.update_yaxes(
        tickvals=list(range(len(rows))),
        ticktext=[str(place + 1) for place in range(len(rows))],
        range=[len(rows) - 0.7, -0.9],
        showgrid=False,
    )
    return chart
