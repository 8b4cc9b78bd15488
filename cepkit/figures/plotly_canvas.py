"""A canvas as a plotly figure."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from cepkit.figures.canvas import Canvas, Circle, Line, Text
from cepkit.figures.style import TEXT, figure
from cepkit.figures.texts import cut, shown

_HEAD = 44
_HOVER = 600


def to_figure(canvas: Canvas, title: str) -> go.Figure:
    """Return the figure: as large as the canvas, one unit of its axes a pixel.

    Args:
        canvas: The picture.
        title: A text from data; it is escaped here.
    """
    made = figure(shown(title), round(canvas.height) + _HEAD, round(canvas.width))
    made.update_layout(margin={"l": 0, "r": 0, "t": _HEAD, "b": 0, "pad": 0}, dragmode=False)
    hidden: dict[str, Any] = {"visible": False, "fixedrange": True, "automargin": False}
    made.update_xaxes(range=[0, canvas.width], **hidden)
    made.update_yaxes(range=[canvas.height, 0], **hidden)
    # All at once: adding shapes one by one validates all earlier ones again each time.
    shapes = [shape for item in canvas.items for shape in _shapes(item)]
    annotations = [_annotation(item) for item in canvas.items if isinstance(item, Text)]
    made.update_layout(shapes=shapes, annotations=annotations)
    circles = [item for item in canvas.items if isinstance(item, Circle) and item.hover]
    made.add_trace(
        go.Scatter(
            x=[circle.x for circle in circles],
            y=[circle.y for circle in circles],
            mode="markers",
            marker={"size": [2 * c.radius for c in circles], "color": "rgba(0,0,0,0)"},
            hovertext=[_hover(circle.hover) for circle in circles],
            hoverinfo="text",
            showlegend=False,
        )
    )
    return made


def _shapes(item: Circle | Line | Text) -> list[dict[str, Any]]:
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
                    "fillcolor": (fill if r == radius else None) or "rgba(0,0,0,0)",
                }
                for r in radii
            ]
        case Line():
            line = {"color": item.colour or TEXT, "width": 1.4}
            drawn = {"type": "path", "path": item.path(), "line": {**line, "dash": item.dash}}
            if not item.arrow:
                return [drawn]
            head = {"type": "path", "path": item.head(), "line": line, "fillcolor": line["color"]}
            return [drawn, head]
        case Text():
            return []


def _annotation(text: Text) -> dict[str, Any]:
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
        "font": {"size": text.size, "color": text.colour or TEXT},
        "hovertext": _hover(text.hover) or None,
        "captureevents": bool(text.hover),
    }


def _hover(text: str) -> str:
    return "<br>".join(shown(cut(line, _HOVER)) for line in text.splitlines())
