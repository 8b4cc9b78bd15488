"""The figure of a funnel: how many events and partial matches each requirement lets through."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import plotly.graph_objects as go

from cepkit.diagnosis.result import Funnel
from cepkit.figures.kit.scales import Scale, log10
from cepkit.figures.kit.style import BLUE, GRID, SIZE, SKY, VERMILLION, figure, message
from cepkit.figures.kit.texts import cut, shown, wrapped

_ROW = 34
_NAMES = 250
_TITLE = 96


@dataclass(frozen=True, slots=True)
class Stage:
    """A row of the funnel.

    Attributes:
        step: The variable of the step, with its branch where there are several.
        label: The requirement, in lines.
        before: How many came; None for a scope, to which all pairs of events come.
        after: How many passed.
        of_events: Whether events are counted, not partial matches.
        removed: How many were removed.
        alone: How many fail in this alone; None where not counted.
        hover: All of it, in lines.
    """

    step: str
    label: tuple[str, ...]
    before: int | None
    after: int
    of_events: bool
    removed: int
    alone: int | None
    hover: tuple[str, ...]


def stages(funnel: Funnel) -> tuple[Stage, ...]:
    """Return what is drawn of a funnel, in its order."""
    several = len({row.branch for row in funnel}) > 1
    rows = []
    for row in funnel:
        step = row.variable or "NOT"
        step = f"{row.branch}: {step}" if several else step
        hover = [f"{step}: {row.text}", f"before: {row.before:,}", f"after: {row.after:,}"]
        if row.alone is not None:
            hover.append(f"removed by this alone: {row.alone:,}")
        rows.append(
            Stage(
                step,
                tuple(wrapped(row.text, SIZE, _NAMES, 2)),
                None if row.kind == "scope" else row.before,
                row.after,
                row.kind in ("type", "filter", "stretch"),
                row.removed,
                row.alone,
                tuple(hover),
            )
        )
    return tuple(rows)


def draw_funnel(funnel: Funnel, title: str = "what each requirement lets through") -> go.Figure:
    """Return the funnel as bars; the figure is returned, not shown.

    The pale bar is what came, the full one what passed. The axis is logarithmic where numbers
    differ much. What lets nothing through says so.

    Args:
        funnel: From `why_not`.
        title: A text from data; it is escaped here.
    """
    rows = stages(funnel)
    title = shown(cut(title, _TITLE))
    if not rows:
        return message(title, "no steps")
    numbers = [n for row in rows for n in (row.before, row.after) if n is not None]
    scale = Scale.of(map(log10, numbers), room=0.34)
    places = _places(rows)
    chart = figure(title, round(118 + _ROW * (places[-1] + 1)))
    chart.add_bar(
        name="came",
        orientation="h",
        y=places,
        base=scale.begin,
        x=[0 if r.before is None else scale.place(log10(r.before)) - scale.begin for r in rows],
        width=0.62,
        marker={"color": GRID},
        hoverinfo="skip",
    )
    for name, colour, of_events in (("events", SKY, True), ("partial matches", BLUE, False)):
        some = [(row, place) for row, place in zip(rows, places, strict=True)
                if row.of_events == of_events]  # fmt: skip
        chart.add_bar(
            name=f"{name} that passed",
            orientation="h",
            y=[place for _, place in some],
            base=scale.begin,
            x=[scale.place(log10(row.after)) - scale.begin for row, _ in some],
            width=0.62,
            marker={"color": colour},
            hovertext=["<br>".join(map(shown, row.hover)) for row, _ in some],
            hoverinfo="text",
        )
    chart.update_layout(
        barmode="overlay",
        annotations=[
            {"x": scale.place(log10(max(r.after, r.before or 0))), "y": place, "xanchor": "left",
             "text": f" {_label(r)}", "showarrow": False,
             "font": {"color": VERMILLION} if _empties(r) else {}}
            for r, place in zip(rows, places, strict=True)
        ],
    )  # fmt: skip
    chart.update_xaxes(**scale.axis())
    chart.update_yaxes(
        tickvals=places,
        ticktext=[_name(row, before) for row, before in zip(rows, [None, *rows], strict=False)],
        range=[places[-1] + 0.8, -0.8],
        showgrid=False,
    )
    return chart


def _places(rows: tuple[Stage, ...]) -> list[float]:
    """Return where rows lie: those of one step together, the next step apart."""
    places, at = [0.0], 0.0
    for before, row in pairwise(rows):
        at += 1.0 if row.step == before.step else 1.4
        places.append(at)
    return places


def _name(row: Stage, before: Stage | None) -> str:
    label = "<br>".join(map(shown, row.label))
    return label if before is not None and before.step == row.step else f"<b>{label}</b>"


def _empties(row: Stage) -> bool:
    return row.after == 0 and row.removed > 0


def _label(row: Stage) -> str:
    text = f"{row.after:,}"
    if row.before is not None and row.removed:
        text += f"  (-{row.removed:,})"
    if row.alone:
        text += f"  {row.alone:,} by this alone"
    return f"<b>{text}</b>" if _empties(row) else text
