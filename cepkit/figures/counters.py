"""Counters of evaluation mechanisms over the steps of a stream, one panel for each counter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from cepkit.automata.trace import Trace
from cepkit.errors import TraceError
from cepkit.figures.style import BLUE, GREEN, ORANGE, PURPLE, SIZE, SKY, VERMILLION, figure
from cepkit.figures.texts import cut, shown

TITLES = {
    "evaluations": "evaluations",
    "instances": "instances alive",
    "stored": "events stored",
    "created": "instances created",
    "expired": "instances expired",
    "matches": "matches",
}
"""What each counter counts; all but `instances` and `stored` only grow."""

_LINES = ((BLUE, "solid"), (VERMILLION, "dash"), (GREEN, "dot"), (PURPLE, "dashdot"),
          (ORANGE, "longdash"), (SKY, "longdashdot"))  # fmt: skip
_PANEL = 150
_GAP = 46
_ABOVE, _BELOW = 96, 48
_MOST_POINTS = 1_000
_NAME_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Series:
    """A counter of one trace.

    Attributes:
        trace: The name of the trace.
        counter: Which counter.
        steps: After how many steps.
        values: The counter then; of long traces the least and the most of each stretch.
    """

    trace: str
    counter: str
    steps: tuple[int, ...]
    values: tuple[int, ...]


def counted(traces: Sequence[Trace], counters: Sequence[str]) -> tuple[Series, ...]:
    """Return what is drawn: for each counter a series for each trace.

    Raises:
        TraceError: There is no trace, or no such counter.
    """
    if not traces:
        raise TraceError("no trace to draw", expected="one trace or several of the same stream")
    unknown = [name for name in counters if name not in TITLES]
    if unknown:
        raise TraceError(f"no counter '{unknown[0]}'", expected=", ".join(TITLES))
    made = []
    for name in counters:
        for trace in traces:
            column = [getattr(counts, name) for counts in trace.counters]
            kept = _decimated(column)
            steps = tuple(place + 1 for place in kept)
            made.append(Series(trace.name, name, steps, tuple(column[place] for place in kept)))
    return tuple(made)


def draw_counters(
    traces: Sequence[Trace],
    *,
    counters: Sequence[str] = ("evaluations", "instances", "stored", "matches"),
) -> go.Figure:
    """Return the counters of traces over the steps as a figure; it is returned, not shown.

    Args:
        traces: Of one stream, so that their steps are the same events.
        counters: Which, from above.

    Raises:
        TraceError: There is no trace, or no such counter.
    """
    series = counted(traces, counters)
    panels = len(counters)
    plot = panels * _PANEL + (panels - 1) * _GAP
    made = figure("counters over the steps", plot + _ABOVE + _BELOW)
    made.update_layout(margin={"t": _ABOVE, "b": _BELOW}, hovermode="x unified")
    first = {key: made.layout.xaxis[key] for key in ("gridcolor", "linecolor", "zeroline")}
    axes: dict[str, Any] = {}
    titles = []
    for place, name in enumerate(counters):
        number = "" if place == 0 else str(place + 1)
        top = 1 - place * (_PANEL + _GAP) / plot
        bottom = max(0.0, top - _PANEL / plot)
        axes[f"yaxis{number}"] = {
            **first, "domain": [bottom, top], "anchor": f"x{number}", "automargin": True,
            "rangemode": "tozero",
        }  # fmt: skip
        axes[f"xaxis{number}"] = {
            **first, "anchor": f"y{number}", "showticklabels": place == panels - 1,
        }  # fmt: skip
        if place:
            axes[f"xaxis{number}"]["matches"] = "x"
        titles.append(
            {
                "text": f"<b>{shown(TITLES[name])}</b>", "x": 0, "y": top, "xref": "paper",
                "yref": "paper", "xanchor": "left", "yanchor": "bottom", "showarrow": False,
                "font": {"size": SIZE},
            }
        )  # fmt: skip
    axes[f"xaxis{'' if panels == 1 else panels}"]["title"] = {"text": "events so far"}
    made.update_layout(annotations=titles, **axes)
    for place, one in enumerate(series):
        panel, line = divmod(place, len(traces))
        number = "" if panel == 0 else str(panel + 1)
        colour, dash = _LINES[line % len(_LINES)]
        name = shown(cut(one.trace, _NAME_LENGTH))
        made.add_scatter(
            x=one.steps,
            y=one.values,
            mode="lines",
            name=name,
            legendgroup=str(line),
            showlegend=panel == 0,
            # A counter stays as it is until the next event.
            line={"color": colour, "dash": dash, "width": 2, "shape": "hv"},
            xaxis=f"x{number}",
            yaxis=f"y{number}",
        )
    return made


def _decimated(column: Sequence[int]) -> list[int]:
    """Return the places of a column to draw: of each stretch the least, the most and the last."""
    width = max(1, -(-len(column) * 2 // _MOST_POINTS))
    places: set[int] = set()
    for begin in range(0, len(column), width):
        stretch = range(begin, min(begin + width, len(column)))
        places |= {min(stretch, key=column.__getitem__), max(stretch, key=column.__getitem__)}
    if column:
        places.add(len(column) - 1)
    return sorted(places)
