"""Traces of plotly's figures as SVG: lines, marks, bars."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np

from cepkit.figures.kit.image.axes import Axis, numbers
from cepkit.figures.kit.image.markup import Label, plain_text

_DASHES = {
    "dot": "1.5 3.5",
    "dash": "7 4",
    "longdash": "12 5",
    "dashdot": "8 3 1.5 3",
    "longdashdot": "12 3 1.5 3",
}
_NAMES = ("circle", "square", "diamond", "cross", "x", "triangle-up", "triangle-down")
_CORNERS: dict[str, tuple[tuple[float, float], ...]] = {
    "square": ((-0.89, -0.89), (0.89, -0.89), (0.89, 0.89), (-0.89, 0.89)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "triangle-up": ((0, -1.2), (1.15, 0.8), (-1.15, 0.8)),
    "triangle-down": ((0, 1.2), (-1.15, -0.8), (1.15, -0.8)),
    "triangle-left": ((-1.2, 0), (0.8, -1.15), (0.8, 1.15)),
    "triangle-right": ((1.2, 0), (-0.8, -1.15), (-0.8, 1.15)),
    "hexagon": ((0, -1.05), (0.91, -0.52), (0.91, 0.52), (0, 1.05), (-0.91, 0.52), (-0.91, -0.52)),
    "cross": tuple(
        (x * a, y * b)
        for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))
        for a, b in (((1.1, 0.4), (0.4, 0.4), (0.4, 1.1)) if x * y < 0 else
                     ((0.4, 1.1), (0.4, 0.4), (1.1, 0.4)))
    ),
}  # fmt: skip


def dashes(dash: str | None) -> str:
    """Return the attribute that makes a stroke dashed."""
    return f' stroke-dasharray="{_DASHES[dash]}"' if dash in _DASHES else ""


def stroke(path: str, line: Any, otherwise: str) -> str:
    """Return a path in the colour, width and dashes of a line of plotly."""
    return (
        f'<path d="{path}" fill="none" stroke="{escape(line.color or otherwise)}" '
        f'stroke-width="{2 if line.width is None else line.width:g}"{dashes(line.dash)}/>'
    )


def symbol(
    name: str | int | None, x: float, y: float, size: float, look: tuple[str, str, float]
) -> str:
    """Return a mark.

    Args:
        name: Plotly's, or its number.
        x: Of its middle.
        y: Of its middle.
        size: Its diameter.
        look: The colour of the mark, that of its outline, and how wide that is.
    """
    fill, edge, width = look
    called = _NAMES[name % len(_NAMES)] if isinstance(name, int) else (name or "circle")
    if called.endswith("-open"):
        called, edge, width, fill = called.removesuffix("-open"), fill, max(width, 1.5), "none"
    style = f'fill="{escape(fill)}" stroke="{escape(edge)}" stroke-width="{width:g}"'
    radius = size / 2
    if called == "x":
        style += f' transform="rotate(45 {x:.1f} {y:.1f})"'
        called = "cross"
    corners = _CORNERS.get(called)
    if corners is None:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" {style}/>'
    points = " ".join(f"{x + radius * a:.1f},{y + radius * b:.1f}" for a, b in corners)
    return f'<polygon points="{points}" {style}/>'


def scatter(
    trace: Any, across: Axis, up: Axis, colour: str, *, hover: bool = False
) -> Iterator[str]:
    """Yield lines, marks and texts of a trace of points, with hover texts if they are wanted."""
    hovers = trace.hovertext if hover else None
    xs, ys = numbers(_some(trace.x), across.kind), numbers(_some(trace.y), up.kind)
    places = [
        (across.place(x), up.place(y)) if math.isfinite(x) and math.isfinite(y) else None
        for x, y in zip(xs, ys, strict=False)
    ]
    mode = trace.mode or ("lines+markers" if len(places) < 20 else "lines")
    if "lines" in mode:
        yield from _lines(trace, places, up, colour)
    yield from _errors(trace, xs, places, across, colour)
    marker = trace.marker
    if "markers" in mode:
        for number, place in enumerate(places):
            if place is not None:
                look = (
                    _one(marker.color, number) or colour,
                    _one(marker.line.color, number) or "none",
                    float(_one(marker.line.width, number) or 0),
                )
                size = float(_one(marker.size, number) or 6)
                if look[0] != "rgba(0,0,0,0)":
                    mark = symbol(_one(marker.symbol, number), *place, size, look)
                    yield _titled(mark, _one(hovers, number))
    if "text" in mode:
        size = float(trace.textfont.size or 12)
        for number, place in enumerate(places):
            text = _one(trace.text, number)
            if place is not None and text:
                ink = _one(trace.textfont.color, number) or colour
                label = Label(str(text), size, ink)
                right = (trace.textposition or "").endswith("right")
                top = place[1] - label.height / 2
                letter = label.at(place[0], top, "left" if right else "center")
                yield _titled(letter, _one(hovers, number))


def _titled(drawn: str, text: str | None) -> str:
    return f"<g><title>{escape(plain_text(text))}</title>{drawn}</g>" if text else drawn


def bars(traces: Sequence[Any], across: Axis, up: Axis, chart: Any) -> Iterator[str]:
    """Yield the bars of all traces of a panel."""
    places = [
        numbers(_some(trace.y), up.kind)
        if trace.orientation == "h"
        else numbers(_some(trace.x), across.kind)
        for trace in traces
    ]
    every = np.concatenate(places)
    different = np.unique(every[np.isfinite(every)])
    apart = float(np.diff(different).min()) if different.size > 1 else 1.0
    beside = chart.layout.barmode in (None, "group") and every.size > different.size
    room = apart * (1 - (0.2 if chart.layout.bargap is None else chart.layout.bargap))
    share = room / (len(traces) if beside else 1)
    for number, (trace, along) in enumerate(zip(traces, places, strict=True)):
        shift = (number - (len(traces) - 1) / 2) * share if beside else 0.0
        flat = trace.orientation == "h"
        value_axis, place_axis = (across, up) if flat else (up, across)
        values = numbers(_some(trace.x if flat else trace.y), "linear")
        for i, (place, value) in enumerate(zip(along, values, strict=True)):
            begin = _begin(trace.base, i, value_axis)
            wide = _one(trace.width, i)
            half = (share if wide is None else float(wide)) / 2
            end = begin + (0.0 if math.isnan(value) else value)
            if value_axis.kind == "log":
                end = math.log10(value) if value > 0 else begin
            a, b = sorted((value_axis.place(begin), value_axis.place(end)))
            middle = place + shift
            c, d = sorted((place_axis.place(middle - half), place_axis.place(middle + half)))
            box = (a, c, b - a, d - c) if flat else (c, a, d - c, b - a)
            yield _bar(trace, i, box)
            text = _one(trace.text, i)
            if text and trace.textposition == "outside" and flat:
                ink = _one(trace.textfont.color, i) or chart.layout.font.color
                label = Label(str(text), float(trace.textfont.size or chart.layout.font.size), ink)
                tip = (a - 4, "right") if end < begin else (b + 4, "left")
                yield label.at(tip[0], (c + d - label.height) / 2, tip[1])


def _bar(trace: Any, number: int, box: tuple[float, float, float, float]) -> str:
    x, y, wide, high = box
    marker = trace.marker
    edge = _one(marker.line.color, number)
    thick = _one(marker.line.width, number) or 1
    line = f' stroke="{escape(edge)}" stroke-width="{thick:g}"' if edge else ""
    fill = escape(_one(marker.color, number) or "#777")
    drawn = f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}"'
    whole = f'{drawn} fill="{fill}"{line}/>'
    if not _one(marker.pattern.shape, number):
        return whole
    hatch = _one(marker.pattern.fgcolor, number) or "#111111"
    strokes = []
    for start in np.arange(x - high, x + wide, 7.0):
        left, right = max(start, x), min(start + high, x + wide)
        if right > left:
            strokes.append(f"M{left:.1f},{y + high - (left - start):.1f} "
                           f"L{right:.1f},{y + high - (right - start):.1f}")  # fmt: skip
    return f'{whole}<path d="{" ".join(strokes)}" stroke="{escape(hatch)}" stroke-width="1.2"/>'


def _begin(base: Any, number: int, axis: Axis) -> float:
    value = _one(base, number)
    if value is None:
        return axis.span[0] if axis.kind == "log" else 0.0
    return float(numbers([value], axis.kind)[0])


def _lines(
    trace: Any, places: Sequence[tuple[float, float] | None], up: Axis, colour: str
) -> Iterator[str]:
    runs: list[list[tuple[float, float]]] = [[]]
    for place in places:
        if place is not None:
            runs[-1].append(place)
        elif not trace.connectgaps:
            runs.append([])
    for run in runs:
        if not run:
            continue
        path = _stepped(run) if trace.line.shape == "hv" else _straight(run)
        if trace.fill == "tozeroy":
            floor = up.place(min(max(0.0, min(up.span)), max(up.span)))
            area = f"{path} L{run[-1][0]:.1f},{floor:.1f} L{run[0][0]:.1f},{floor:.1f} Z"
            yield f'<path d="{area}" fill="{escape(trace.fillcolor or colour)}" stroke="none"/>'
        elif trace.fill == "toself":
            yield f'<path d="{path} Z" fill="{escape(trace.fillcolor or colour)}" stroke="none"/>'
        if trace.line.width != 0:
            yield stroke(path, trace.line, colour)


def _straight(points: Sequence[tuple[float, float]]) -> str:
    return "M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _stepped(points: Sequence[tuple[float, float]]) -> str:
    """Return a step line: it keeps its height up to each next point."""
    parts = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for (_, y), (x, later) in pairwise(points):
        if f"{y:.1f}" != f"{later:.1f}":
            parts.append(f"H{x:.1f}V{later:.1f}")
    return f"{''.join(parts)}H{points[-1][0]:.1f}"


def _errors(
    trace: Any, xs: np.ndarray, places: Sequence[Any], across: Axis, colour: str
) -> Iterator[str]:
    error = trace.error_x
    if error.array is None:
        return
    for number, (x, place) in enumerate(zip(xs, places, strict=False)):
        if place is None:
            continue
        after = float(error.array[number])
        less = error.arrayminus
        before = after if less is None else float(less[number])
        a, b, y = across.place(x - before), across.place(x + after), place[1]
        path = f"M{a:.1f},{y - 4:.1f} v8 m0,-4 L{b:.1f},{y:.1f} m0,-4 v8"
        look = f'stroke="{escape(error.color or colour)}" stroke-width="{error.thickness or 2:g}"'
        yield f'<path d="{path}" fill="none" {look}/>'


def _some(values: Any) -> Any:
    return () if values is None else values


def _one(value: Any, number: int) -> Any:
    """Return the value for one mark, from a setting for all marks or a list for each."""
    if isinstance(value, list | tuple | np.ndarray):
        return value[number] if number < len(value) else None
    return value
