"""A plotly figure of cepkit as SVG: panels of points and bars, shapes, annotations, a legend.

It draws only what cepkit's figures use; plotly's own `write_image` needs a browser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, TypeAlias

from cepkit.figures.kit.canvas import LINE_HEIGHT
from cepkit.figures.kit.image import marks
from cepkit.figures.kit.image.axes import Axis, Kind, axis_of, kind_of, numbers
from cepkit.figures.kit.image.legend import Legend, legend_of
from cepkit.figures.kit.image.markup import Label, plain_text

WIDTH = 900.0
"""The width of a picture whose figure has none of its own."""

NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'
"""What an SVG element needs outside of HTML."""

_TICK = 6.0
_STANDOFF = 8.0
_EDGE = 5.0
_NUMBER = re.compile(r"([MLQCHVTZ ])|(-?\d+(?:\.\d+)?(?:e-?\d+)?)")


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the panels lie: left, top, right, bottom of all."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Side:
    """An axis with its plotly settings."""

    settings: Any
    axis: Axis
    share: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Panel:
    """Two axes and the traces between them."""

    across: str
    up: str
    traces: tuple[Any, ...]


def chart_svg(chart: Any, width: float | None = None, *, hover: bool = False) -> str:
    """Return a figure as an SVG document.

    Args:
        chart: Plotly's figure, one of those that cepkit draws.
        width: In pixels; None for that of the figure, or what a page has room for. A figure with
            a width of its own is scaled, with its letters.
        hover: Whether marks have the texts that are shown at the pointer.
    """
    layout = chart.layout
    wide = float(layout.width or width or WIDTH)
    scale = width / wide if width else 1.0
    high = float(layout.height or 450)
    panels = _panels(chart)
    sides = _sides(chart, panels)
    legend = legend_of(chart, wide)
    frame = _frame(chart, sides, legend, wide, high)
    placed = {name: _placed(name, side, frame) for name, side in sides.items()}
    parts: list[str] = []
    for panel in panels:
        parts += _grid(placed[panel.across], placed[panel.up])
    parts += _shapes(chart, placed, frame, below=True)
    for panel in panels:
        parts += _drawn(chart, panel, placed, hover=hover)
    parts += _shapes(chart, placed, frame, below=False)
    for name, side in placed.items():
        parts += _ticks(name, side, placed, frame, layout)
    parts += (_annotation(note, placed, frame, layout) for note in layout.annotations)
    parts += legend.drawn(frame.left, frame.right, frame.top, high)
    parts.append(_title(layout))
    return (
        f'<svg{NAMESPACE} role="img" aria-label="{escape(summary(chart))}" '
        f'viewBox="0 0 {wide:g} {high:g}" width="{wide * scale:g}" height="{high * scale:g}" '
        f'font-family="{escape(layout.font.family or "sans-serif")}">{"".join(parts)}</svg>'
    )


def summary(chart: Any) -> str:
    """Return a figure in words, for screen readers: its title, axes and series."""
    layout = chart.layout
    axes = [
        plain_text(axis.title.text)
        for name in layout
        if re.fullmatch(r"[xy]axis\d*", name) and (axis := layout[name]).title.text
    ]
    series = dict.fromkeys(plain_text(t.name) for t in chart.data if t.name)
    parts = [plain_text(layout.title.text or "figure")]
    parts += [f"axes: {', '.join(dict.fromkeys(axes))}"] if axes else []
    parts += [f"series: {', '.join(series)}"] if series else []
    return "; ".join(parts)


def _panels(chart: Any) -> list[Panel]:
    by_axes: dict[tuple[str, str], list[Any]] = {}
    for trace in chart.data:
        by_axes.setdefault((trace.xaxis or "x", trace.yaxis or "y"), []).append(trace)
    if not by_axes:
        by_axes["x", "y"] = []
    return [Panel(x, y, tuple(traces)) for (x, y), traces in by_axes.items()]


def _settings(chart: Any, name: str) -> Any:
    return chart.layout[f"{name[0]}axis{name[1:]}"]


def _sides(chart: Any, panels: Sequence[Panel]) -> dict[str, Side]:
    sides: dict[str, Side] = {}
    for name in dict.fromkeys(name for panel in panels for name in (panel.across, panel.up)):
        settings = _settings(chart, name)
        shared = {name, settings.matches} - {None}
        shared |= {p.across for p in panels if _settings(chart, p.across).matches in shared}
        traces = [t for p in panels if {p.across, p.up} & shared for t in p.traces]
        raw = [_values(trace, name[0]) for trace in traces]
        kind = kind_of(settings, (value for values in raw for value in values[:1]))
        drawn = [numbers(values, kind) for values in raw]
        drawn += [
            numbers([] if t.base is None or not _is_length(t, name[0]) else [0.0], "linear")
            for t in traces
            if t.type == "bar"
        ]
        with_marks = any("markers" in (t.mode or "") for t in traces if t.type != "bar")
        padded = name[0] == "y" or with_marks
        axis = axis_of(settings, drawn, kind, padded)
        share = settings.domain or (0.0, 1.0)
        sides[name] = Side(settings, axis, (float(share[0]), float(share[1])))
    return sides


def _is_length(trace: Any, letter: str) -> bool:
    """Return whether the lengths of bars lie along an axis."""
    return bool((letter == "x") == (trace.orientation == "h"))


def _values(trace: Any, letter: str) -> list[Any]:
    values = trace.x if letter == "x" else trace.y
    listed = [] if values is None else list(values)
    if trace.type == "bar" and _is_length(trace, letter):
        listed.append(0.0)
    return listed


def _frame(
    chart: Any, sides: dict[str, Side], legend: Legend, wide: float, high: float
) -> Frame:  # fmt: skip
    layout = chart.layout
    margin, size = layout.margin, float(layout.font.size)
    left, foot = float(margin.l), 0.0
    for name, side in sides.items():
        if side.settings.visible is False or side.settings.automargin is False:
            continue
        labels = [_tick_label(text, side.settings, layout) for _, text in side.axis.ticks]
        title = size * LINE_HEIGHT + _STANDOFF if side.settings.title.text else 0.0
        if name[0] == "y":
            widest = max((label.width for label in labels), default=0.0)
            left = max(left, widest + _TICK + title + 4)
        elif _is_at_the_foot(side, sides):
            tallest = max((label.height for label in labels), default=0.0)
            foot = max(foot, tallest + _TICK + title + 4)
    top = float(margin.t)
    if legend.rows and not legend.at_the_bottom:
        top = max(top, _title_height(layout) + legend.height + 8)
    # The margin already has room for a legend that is known to stand there.
    bottom = max(float(margin.b), foot + (legend.height if legend.at_the_bottom else 0.0))
    return Frame(left, top, wide - float(margin.r), max(top + 10, high - bottom))


def _is_at_the_foot(side: Side, sides: dict[str, Side]) -> bool:
    other = sides.get(side.settings.anchor or "y")
    return other is None or other.share[0] == 0


def _placed(name: str, side: Side, frame: Frame) -> Side:
    begin, end = side.share
    if name[0] == "x":
        width = frame.right - frame.left
        pixels = (frame.left + begin * width, frame.left + end * width)
    else:
        height = frame.bottom - frame.top
        pixels = (frame.bottom - begin * height, frame.bottom - end * height)
    return replace(side, axis=replace(side.axis, pixels=pixels))


def _grid(across: Side, up: Side) -> Iterator[str]:
    x0, x1 = across.axis.pixels
    y0, y1 = up.axis.pixels
    for side, flat in ((across, False), (up, True)):
        if side.settings.visible is False or side.settings.showgrid is False:
            continue
        colour = escape(side.settings.gridcolor or "rgba(118,118,118,0.25)")
        for value, _ in side.axis.ticks:
            at = side.axis.place(value)
            path = f"M{x0:.1f},{at:.1f} H{x1:.1f}" if flat else f"M{at:.1f},{y0:.1f} V{y1:.1f}"
            yield f'<path d="{path}" stroke="{colour}"/>'


def _ticks(
    name: str, side: Side, placed: dict[str, Side], frame: Frame, layout: Any
) -> Iterator[str]:
    """Yield the labels of an axis, on the side of the panels that it is anchored to."""
    if side.settings.visible is False:
        return
    (begin, end), settings = side.axis.pixels, side.settings
    other = placed.get(settings.anchor or ("y" if name[0] == "x" else "x"))
    labels = [(v, _tick_label(text, settings, layout)) for v, text in side.axis.ticks]
    title = Label(settings.title.text or "", float(layout.font.size), layout.font.color)
    if name[0] == "x":
        foot = other.axis.pixels[0] if other else frame.bottom
        for value, label in labels:
            yield label.at(side.axis.place(value), foot + _TICK, "center")
        lowest = max((label.height for _, label in labels), default=0.0)
        if title.text:
            yield title.at((begin + end) / 2, foot + _TICK + lowest + _STANDOFF / 2, "center")
        return
    edge = other.axis.pixels[0] if other else frame.left
    for value, label in labels:
        yield label.at(edge - _TICK, side.axis.place(value) - label.height / 2, "right")
    widest = max((label.width for _, label in labels), default=0.0)
    if title.text:
        x = edge - _TICK - widest - _STANDOFF - title.height
        yield title.at(x, (begin + end) / 2, "center", turn=-90)


def _tick_label(text: str, settings: Any, layout: Any) -> Label:
    return Label(text, float(settings.tickfont.size or layout.font.size), layout.font.color)


def _drawn(chart: Any, panel: Panel, placed: dict[str, Side], *, hover: bool) -> Iterator[str]:
    across, up = placed[panel.across].axis, placed[panel.up].axis
    (x0, x1), (y0, y1) = sorted(across.pixels), sorted(up.pixels)
    free: list[str] = []
    clipped: list[str] = []
    some = [trace for trace in panel.traces if trace.type == "bar"]
    if some:
        free += marks.bars(some, across, up, chart)
    for trace in panel.traces:
        if trace.type != "bar":
            target = free if trace.cliponaxis is False else clipped
            target += marks.scatter(trace, across, up, chart.layout.font.color, hover=hover)
    if clipped:
        # An inner picture clips at its sides; a mark on an edge stays whole.
        x, y, wide, high = x0 - _EDGE, y0 - _EDGE, x1 - x0 + 2 * _EDGE, y1 - y0 + 2 * _EDGE
        box = f'x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}"'
        view = f'viewBox="{x:.1f} {y:.1f} {wide:.1f} {high:.1f}"'
        yield f"<svg {box} {view}>{''.join(clipped)}</svg>"
    yield from free


Placing: TypeAlias = Callable[[Any], float]
"""Maps numbers of an axis, or shares between two sides, to places on the page."""


def _between(begin: float, end: float) -> Placing:
    return lambda share: begin + (end - begin) * float(share)


def _along(ref: str, placed: dict[str, Side]) -> Placing:
    name, _, domain = ref.partition(" ")
    axis = placed[name].axis
    if domain:
        return _between(*axis.pixels)
    kind: Kind = "date" if axis.kind == "date" else "linear"
    return lambda value: axis.place(float(numbers([value], kind)[0]))


def _placing(what: Any, placed: dict[str, Side], frame: Frame) -> tuple[Placing, Placing]:
    """Return the functions that place an annotation or a shape across and up."""
    across, up = what.xref or "x", what.yref or "y"
    return (
        _between(frame.left, frame.right) if across == "paper" else _along(across, placed),
        _between(frame.bottom, frame.top) if up == "paper" else _along(up, placed),
    )


def _shapes(chart: Any, placed: dict[str, Side], frame: Frame, below: bool) -> Iterator[str]:
    for shape in chart.layout.shapes:
        if (shape.layer == "below") is not below:
            continue
        across, up = _placing(shape, placed, frame)
        line = shape.line
        look = (
            f'fill="{escape(shape.fillcolor or "none")}" '
            f'stroke="{escape(line.color or chart.layout.font.color)}" '
            f'stroke-width="{2 if line.width is None else line.width:g}"{marks.dashes(line.dash)}'
        )
        if shape.type == "path":
            yield f'<path d="{_path(shape.path, across, up)}" {look}/>'
            continue
        x0, x1, y0, y1 = across(shape.x0), across(shape.x1), up(shape.y0), up(shape.y1)
        if shape.xsizemode == "pixel":
            x0, x1 = (across(shape.xanchor) + float(x) for x in (shape.x0, shape.x1))
        if shape.ysizemode == "pixel":
            y0, y1 = (up(shape.yanchor) - float(y) for y in (shape.y0, shape.y1))
        left, top, wide, high = min(x0, x1), min(y0, y1), abs(x1 - x0), abs(y1 - y0)
        match shape.type:
            case "line":
                yield f'<path d="M{x0:.1f},{y0:.1f} L{x1:.1f},{y1:.1f}" {look}/>'
            case "circle":
                middle = f'cx="{left + wide / 2:.1f}" cy="{top + high / 2:.1f}"'
                yield f'<ellipse {middle} rx="{wide / 2:.1f}" ry="{high / 2:.1f}" {look}/>'
            case _:
                box = f'x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{high:.1f}"'
                yield f"<rect {box} {look}/>"


def _path(path: str, across: Placing, up: Placing) -> str:
    parts: list[str] = []
    is_x = True
    for letter, digits in _NUMBER.findall(path):
        if letter.strip():
            parts.append(letter)
            is_x = True
        elif digits:
            parts.append(f"{(across if is_x else up)(float(digits)):.1f}")
            is_x = not is_x
    return " ".join(parts)


def _annotation(note: Any, placed: dict[str, Side], frame: Frame, layout: Any) -> str:
    across, up = _placing(note, placed, frame)
    x = across(note.x) + (note.xshift or 0)
    y = up(note.y) - (note.yshift or 0)
    label = Label(
        note.text or "",
        float(note.font.size or layout.font.size),
        note.font.color or layout.font.color,
    )
    arrow = ""
    if note.showarrow is not False:
        tip = (x, y)
        x, y = x + (note.ax or 0), y + (note.ay or 0)
        colour = note.arrowcolor or layout.font.color
        if colour != "rgba(0,0,0,0)":
            path = f"M{x:.1f},{y:.1f} L{tip[0]:.1f},{tip[1]:.1f}"
            arrow = f'<path d="{path}" stroke="{escape(colour)}" stroke-width="0.8"/>'
    wide = label.width
    begin = x - wide * {"left": 0.0, "right": 1.0}.get(note.xanchor or "", 0.5)
    align = note.align or "center"
    at = begin + wide * {"left": 0.0, "right": 1.0}.get(align, 0.5)
    above = {"top": 0.0, "bottom": 1.0}.get(note.yanchor or "", 0.5)
    return arrow + label.at(at, y - label.height * above, align)


def _title(layout: Any) -> str:
    title = layout.title
    if not title.text:
        return ""
    label = Label(title.text, float(title.font.size or 14), layout.font.color)
    return label.at(float(title.pad.l or 0), 12)


def _title_height(layout: Any) -> float:
    if not layout.title.text:
        return 0.0
    return 12 + Label(layout.title.text, float(layout.title.font.size or 14), "").height
