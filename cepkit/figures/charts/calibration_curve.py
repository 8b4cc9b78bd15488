"""The figure of a calibration: matches, precision and recall by the value of a parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from cepkit.calibration.result import CalibratedRow, Calibration
from cepkit.figures.kit.panels import Panels, add_points, hover_text
from cepkit.figures.kit.style import TEXT, colour_of, message
from cepkit.figures.kit.texts import cut, shown
from cepkit.tables import number

_LINES = 6
"""The most values of further parameters that have a line."""


def draw_calibration(calibration: Calibration) -> go.Figure:
    """Return the counts by the first parameter; the figure is returned, not shown.

    Further parameters have a line for each choice of their values, some of them where there are
    many. With labels a second panel has precision, recall and F1, and a dotted line marks the best
    value; further parameters then have their best values there.
    """
    names = [shown(f"${name}") for name in calibration.query.parameters]
    title = f"matches by {names[0]}"
    if not calibration.rows:
        return message(title, "no values")
    best = calibration.best
    others = list(dict.fromkeys(row.values[1:] for row in calibration.rows))
    if len(others) > _LINES:
        step = -(-len(others) // _LINES)
        others = others[::step]
    legend = [_choice(names[1:], each) for each in others] if len(names) > 1 else []
    legend += ["precision", "recall", "F1"] if best is not None else []
    heights = [200.0] if best is None else [200.0, 150.0]
    panels = Panels.of(title, heights, 34, above=60, below=52, legend=legend)
    chart = panels.chart
    panels.set_axis("y", 0, rangemode="tozero", title_text="matches")
    lowest = "y" if best is None else "y2"
    places = _places(calibration)
    texts = [shown(cut(_text(value), 40)) for value in places]
    ticks = {} if _are_numbers(places) else {"tickvals": [*places.values()], "ticktext": texts}
    panels.set_axis("x", None, anchor=lowest, title_text=names[0], **ticks)
    for i, each in enumerate(others):
        rows = [row for row in calibration.rows if row.values[1:] == each]
        style: dict[str, Any] = {"name": legend[i]} if len(names) > 1 else {}
        _add_line(chart, rows, [row.matches for row in rows], calibration, places, i, **style)
    if best is not None:
        panels.set_axis("y2", 1, range=[0, 1.02], title_text="share")
        rows = [row for row in calibration.rows if row.values[1:] == best.values[1:]]
        shares = {"precision": "precision", "recall": "recall", "F1": "f1"}
        for i, (name, field) in enumerate(shares.items()):
            values = [getattr(row, field) for row in rows]
            place = len(others) + i
            _add_line(chart, rows, values, calibration, places, place, name=name, yaxis="y2")
        at = places[best.values[0]]
        line = {"dash": "dot", "color": TEXT, "width": 1}
        chart.add_shape(x0=at, x1=at, y0=0, y1=1, yref="paper", line=line, type="line")
    return chart


def _choice(names: Sequence[str], values: tuple[Any, ...]) -> str:
    pairs = zip(names, values, strict=True)
    return ", ".join(f"{name} = {shown(cut(_text(value), 30))}" for name, value in pairs)


def _text(value: Any) -> str:
    return number(value) if isinstance(value, int | float) else f"{value}"


def _add_line(
    chart: go.Figure,
    rows: Sequence[CalibratedRow],
    heights: Sequence[float],
    calibration: Calibration,
    places: Mapping[Any, float],
    place: int,
    **style: Any,
) -> None:
    add_points(
        chart,
        "lines+markers" if len(rows) <= 60 else "lines",
        [places[row.values[0]] for row in rows],
        list(heights),
        line={"color": colour_of(place), "width": 1.8},
        marker={"color": colour_of(place), "size": 5},
        hovertext=[_hover(row, calibration) for row in rows],
        **style,
    )


def _places(calibration: Calibration) -> dict[Any, float]:
    """Return where each value of the first parameter stands: numbers at themselves."""
    values = list(dict.fromkeys(row.values[0] for row in calibration.rows))
    return {value: value if _are_numbers(values) else i for i, value in enumerate(values)}


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(isinstance(value, int | float) for value in values)


def _hover(row: CalibratedRow, calibration: Calibration) -> str:
    head = ", ".join(
        f"${name} = {_text(value)}"
        for name, value in zip(calibration.query.parameters, row.values, strict=True)
    )
    lines = [f"{row.matches:,} matches"]
    if row.hits is not None and row.per_day is not None:
        lines.append(f"{row.hits:,} hits, {row.misses:,} misses")
        lines.append(f"{row.false_alarms:,} false alarms, {number(row.per_day)} a day")
        lines.append(f"precision {row.precision:.3f}, recall {row.recall:.3f}, F1 {row.f1:.3f}")
        lines.append(f"cost {number(calibration.cost(row))}")
    return hover_text(head, *lines)
