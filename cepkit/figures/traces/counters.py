"""The figure of a trace's counters over its steps, one panel for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from cepkit.errors import TraceError
from cepkit.figures.kit import style
from cepkit.figures.kit.key import mark_of
from cepkit.figures.kit.panels import Panels, add_points, axis_name
from cepkit.figures.kit.texts import cut, shown
from cepkit.figures.player import Traces
from cepkit.figures.player.moments import counts_at, first_of, moments_of

_PANEL = 150
_GAP = 46
_ABOVE, _BELOW = 64, 48
_MOST_POINTS = 1_000
_NAME_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Series:
    """A counter of one trace.

    Attributes:
        steps: The numbers of steps taken.
        values: The counter after them; for long traces the least and the greatest of each stretch.
    """

    trace: str
    counter: str
    steps: tuple[int, ...]
    values: tuple[int, ...]


def counted(traces: Traces, counters: Sequence[str] | None = None) -> tuple[Series, ...]:
    """Return the series to draw: for each counter one for each trace.

    Raises:
        TraceError: There is no trace, or no such counter.
    """
    first = first_of(traces)
    titles = first.counter_titles
    names = counters
    if names is None:
        names = [name for name in titles if any(name in trace.telling for trace in traces)]
    unknown = [name for name in names if name not in titles]
    if unknown:
        raise TraceError(f"no counter '{unknown[0]}'", expected=", ".join(titles))
    result = []
    rows: list[Sequence[Any]] = [trace.counters for trace in traces]
    if first.unit != "events":  # if each step is an event, traces are aligned already
        moments = moments_of(traces)
        rows = [counts_at(trace, n, moments) for n, trace in enumerate(traces)]
    shown_as = [trace.name for trace in traces]
    for name in names:
        for trace, counts_of in zip(shown_as, rows, strict=True):
            column = [getattr(counts, name) for counts in counts_of]
            places = _decimated(column)
            steps = tuple(place + 1 for place in places)
            result.append(Series(trace, name, steps, tuple(column[place] for place in places)))
    return tuple(result)


def draw_counters(traces: Traces, *, counters: Sequence[str] | None = None) -> go.Figure:
    """Return the counters of traces over the steps as a figure; it is returned, not shown.

    Args:
        traces: Traces of one stream, so that their steps are the same events; all of mechanisms or
            all of prefix counters.
        counters: The names of counters; None for the most telling ones.

    Raises:
        TraceError: There is no trace, or no such counter.
    """
    series = counted(traces, counters)
    if not any(one.steps for one in series):
        return style.message("counters over the steps", "the stream is empty: there is no step")
    names = list(dict.fromkeys(one.counter for one in series))
    titles_of = traces[0].counter_titles
    shown_names = [shown(cut(trace.name, _NAME_LENGTH)) for trace in traces]
    made = Panels.of(
        "counters over the steps", [_PANEL] * len(names), _GAP, above=_ABOVE, below=_BELOW,
        legend=shown_names,
    )  # fmt: skip
    for place, name in enumerate(names):
        x, y = axis_name("x", place), axis_name("y", place)
        most = max(max(one.values) for one in series if one.counter == name)
        # Counters are whole numbers.
        made.set_axis(y, place, anchor=x, rangemode="tozero", dtick=1 if most < 4 else None)
        last = place == len(names) - 1
        below = {"title": {"text": f"{traces[0].unit} so far"}} if last else {}
        made.set_axis(
            x, None, anchor=y, showticklabels=last, **({"matches": "x"} if place else {}), **below
        )
        made.add_heading(place, f"<b>{shown(titles_of[name])}</b>")
    for number, one in enumerate(series):
        place, line = divmod(number, len(traces))
        mark = mark_of(line)
        add_points(
            made.chart,
            "lines",
            one.steps,
            one.values,
            name=shown_names[line],
            legendgroup=str(line),
            showlegend=place == 0,
            hoverinfo="all",
            # A counter keeps its value until the next event.
            line={"color": mark.colour, "dash": mark.dash, "width": 2, "shape": "hv"},
            xaxis=axis_name("x", place),
            yaxis=axis_name("y", place),
        )
    made.chart.update_layout(hovermode="x unified")
    return made.chart


def _decimated(column: Sequence[int]) -> list[int]:
    """Return the places to draw: the least, the greatest and the last of each stretch."""
    width = max(1, -(-len(column) * 2 // _MOST_POINTS))
    places: set[int] = set()
    for begin in range(0, len(column), width):
        stretch = range(begin, min(begin + width, len(column)))
        places |= {min(stretch, key=column.__getitem__), max(stretch, key=column.__getitem__)}
    if column:
        places.add(len(column) - 1)
    return sorted(places)
