"""A canvas as inline SVG: for pages that need no scripts, and for files.

Colours are those of the page around it (`currentColor`), so it is right on light and on dark.
"""

from __future__ import annotations

from typing import assert_never

from cepkit.figures.kit.canvas import THIN, Canvas, Card, Circle, Item, Line, Text
from cepkit.printing import html_text

_DASHES = {"solid": "", "dash": ' stroke-dasharray="6 4"', "dot": ' stroke-dasharray="1.5 3.5"'}
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}


def to_svg(canvas: Canvas) -> str:
    """Return the picture as an SVG element, all texts in it escaped."""
    width, height = round(canvas.width), round(canvas.height)
    items = "".join(map(_element, canvas.items))
    return (
        f'<svg role="img" aria-label="{html_text(canvas.summary)}" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'fill="none" stroke="none" stroke-linecap="round">{items}</svg>'
    )


def _element(item: Item) -> str:
    match item:
        case Circle(x, y, radius, hover, fill, dash, double):
            radii = (radius, radius - 4) if double else (radius,)
            colours = (fill or "transparent", "transparent")
            circles = "".join(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" fill="{colour}" '
                f'stroke="currentColor" stroke-width="{THIN}"{_DASHES[dash]}/>'
                for r, colour in zip(radii, colours, strict=False)
            )
            return f"<g>{_title(hover)}{circles}</g>"
        case Card():
            outline = f'stroke="currentColor" stroke-width="{THIN}"{_DASHES[item.dash]}/>'
            behind = f'<path d="{item.behind()}" {outline}' if item.stacked else ""
            card = f'<path d="{item.path()}" fill="{item.fill or "transparent"}" {outline}'
            return f"<g>{_title(item.hover)}{behind}{card}</g>"
        case Line():
            colour = item.colour or "currentColor"
            line = (
                f'<path d="{item.path()}" stroke="{colour}" stroke-width="{item.width:.1f}"'
                f"{_DASHES[item.dash]}/>"
            )
            return line + (f'<path d="{item.head()}" fill="{colour}"/>' if item.arrow else "")
        case Text():
            return _text(item)
        case _:
            assert_never(item)


def _text(text: Text) -> str:
    step = text.height / max(1, len(text.lines))
    lines = "".join(
        f'<tspan x="{text.x:.1f}" y="{text.y + (number + 0.77) * step:.1f}">'
        f"{html_text(line)}</tspan>"
        for number, line in enumerate(text.lines)
    )
    weight = ' font-weight="600"' if text.bold else ""
    return (
        f'<text text-anchor="{_ANCHORS[text.anchor]}" font-size="{text.size}"{weight} '
        f'fill="{text.colour or "currentColor"}">{_title(text.hover)}{lines}</text>'
    )


def _title(hover: str) -> str:
    if not hover:
        return ""
    lines = "\n".join(html_text(line) for line in hover.splitlines())
    return f"<title>{lines}</title>"
