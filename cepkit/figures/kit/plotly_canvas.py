"""A canvas as a plotly figure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, assert_never

import plotly.graph_objects as go

from cepkit.figures.kit.canvas import THIN, Canvas, Card, Circle, Item, Line, Text
from cepkit.figures.kit.drawing import Drawing
from cepkit.figures.kit.responsive import layouts_of
from cepkit.figures.kit.style import INK, SIZE, TEXT, TINTS, figure, on_white
from cepkit.figures.kit.texts import cut, fitted, shown, width_of

ROOM = 900.0
"""The width of pictures in plotly's figures, where none is named."""

_BUTTONS = 60.0
"""The width that plotly's buttons take from the title's line."""
_HEAD = 44
_HOVER = 600


def laid_out(picture: Callable[[float], Canvas], title: str, width: float | None = None) -> Drawing:
    """Return the figure of a picture that notebooks show in a fitting width.

    Args:
        title: A text from data; it is escaped here.
        width: The only width to lay out; None for several.
    """
    if width is not None:
        return to_figure(picture(width), title)
    drawing = to_figure(picture(ROOM), title)
    return drawing.with_layouts(
        layouts_of(picture), lambda width: to_figure(picture(width), title, width)
    )


def to_figure(canvas: Canvas, title: str, least: float = 0.0) -> Drawing:
    """Return the figure: as large as the canvas, one unit of its axes a pixel.

    Args:
        title: A text from data; it is escaped here.
        least: The least width in pixels; 0 for room for the title.
    """
    room = max(canvas.width, least or min(ROOM, width_of(title, SIZE + 2) + _BUTTONS))
    title = fitted(title, SIZE + 2, room - _BUTTONS)
    chart = figure(shown(title), round(canvas.height) + _HEAD, round(room))
    chart.update_layout(margin={"l": 0, "r": 0, "t": _HEAD, "b": 0, "pad": 0}, dragmode=False)
    hidden: dict[str, Any] = {"visible": False, "fixedrange": True, "automargin": False}
    chart.update_xaxes(range=[0, room], **hidden)
    chart.update_yaxes(range=[canvas.height, 0], **hidden)
    # All at once: adding shapes one by one would validate all earlier ones again.
    shapes = [shape for item in canvas.items for shape in _shapes(item)]
    filled = [i for i in canvas.items if isinstance(i, Circle | Card) and i.fill is not None]
    annotations = [
        _annotation(item, TEXT if not any(map(partial(_is_on, item), filled)) else INK)
        for item in canvas.items
        if isinstance(item, Text)
    ]
    chart.update_layout(shapes=shapes, annotations=annotations)
    spots = [spot for item in canvas.items for spot in _spots(item)]
    chart.add_trace(
        go.Scatter(
            x=[x for x, _, _, _ in spots],
            y=[y for _, y, _, _ in spots],
            mode="markers",
            marker={
                "size": [size for _, _, size, _ in spots],
                "color": "rgba(0,0,0,0)",
                # Marks of many sizes would have an outline.
                "line": {"width": 0},
            },
            hovertext=[_hover(text) for _, _, _, text in spots],
            hoverinfo="text",
            showlegend=False,
        )
    )
    return chart.with_layouts((canvas,))


def _spots(item: Item) -> list[tuple[float, float, float, str]]:
    """Return the places, sizes and texts of invisible marks that catch the pointer for an item."""
    match item:
        case Circle(hover=text) | Card(hover=text) if text:
            left, top, right, bottom = item.box()
            return [((left + right) / 2, (top + bottom) / 2, min(right - left, bottom - top), text)]
        case _:
            return []


def _shapes(item: Item) -> list[dict[str, Any]]:
    match item:
        case Circle(x, y, radius, _, fill, dash, double):
            radii = (radius, radius - 4) if double else (radius,)
            return [
                {
                    "type": "circle",
                    "x0": x - r,
                    "x1": x + r,
                    "y0": y - r,
                    "y1": y + r,
                    "line": {"color": TEXT, "width": 1.6, "dash": dash},
                    "fillcolor": _opaque(fill if r == radius else None),
                }
                for r in radii
            ]
        case Card():
            outline = {"color": TEXT, "width": THIN, "dash": item.dash}
            fill = _opaque(item.fill)
            card = {"type": "path", "path": item.path(), "line": outline, "fillcolor": fill}
            behind = {"type": "path", "path": item.behind(), "line": outline}
            return [behind, card] if item.stacked else [card]
        case Line():
            line = {"color": item.colour or TEXT, "width": item.width}
            stroke = {"type": "path", "path": item.path(), "line": {**line, "dash": item.dash}}
            if not item.arrow:
                return [stroke]
            edge = {**line, "width": THIN}
            head = {"type": "path", "path": item.head(), "line": edge, "fillcolor": line["color"]}
            return [stroke, head]
        case Text():
            return []
        case _:
            assert_never(item)


def _opaque(fill: str | None) -> str:
    """Return an opaque fill on which dark texts are readable on any page."""
    return "rgba(0,0,0,0)" if fill is None else on_white(fill) if fill in TINTS else fill


def _is_on(text: Text, shape: Circle | Card) -> bool:
    left, top, right, bottom = text.box()
    x, y = (left + right) / 2, (top + bottom) / 2
    outer = shape.box()
    return outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3]


def _annotation(text: Text, colour: str) -> dict[str, Any]:
    lines = "<br>".join(map(shown, text.lines))
    return {
        "x": text.x,
        "y": text.y,
        "text": f"<b>{lines}</b>" if text.bold else lines,
        "showarrow": False,
        "xanchor": text.anchor,
        "yanchor": "top",
        "align": text.anchor,
        "borderpad": 0,
        "font": {"size": text.size, "color": text.colour or colour},
        "hovertext": _hover(text.hover) or None,
        "captureevents": bool(text.hover),
    }


def _hover(text: str) -> str:
    return "<br>".join(shown(cut(line, _HOVER)) for line in text.splitlines())
