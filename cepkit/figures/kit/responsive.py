"""Pictures as HTML without scripts that fit the available width.

The HTML contains every layout of a picture and shows the widest one that fits: styles query the
width of the container, not of the window.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence

from cepkit.figures.kit.canvas import Canvas
from cepkit.figures.kit.svg import to_svg
from cepkit.printing import html_output, html_text

_INK = "var(--jp-content-font-color1, currentColor)"


_ROOMS = (1100.0, 860.0, 720.0, 580.0, 440.0)


def layouts_of(picture: Callable[[float], Canvas]) -> tuple[Canvas, ...]:
    """Return a picture laid out for several widths, the widest first."""
    layouts: list[Canvas] = []
    for room in _ROOMS:
        layout = picture(room)
        if not layouts or layout.width < layouts[-1].width:
            layouts.append(layout)
    return tuple(layouts)


def as_image(svg: str, text: str) -> str:
    """Return an SVG document as an image with a text for screen readers."""
    return html_output(_image(svg, text))


def as_layouts(canvases: Sequence[Canvas], title: str = "", otherwise: str = "") -> str:
    """Return a picture as HTML that shows the widest layout that fits.

    An untrusted notebook drops styles and SVG but keeps the texts inside. So the SVG stays hidden
    until a style shows it, and an image is shown until a style hides it.

    Args:
        otherwise: The image, as SVG; none for a page that is always trusted.
    """
    widths = [round(canvas.width) for canvas in canvases]
    name = "-".join(["cepkit", *map(str, widths)])
    drawn = "".join(
        f'<div class="{name}-{number}" style="display:none;overflow-x:auto">{to_svg(canvas)}</div>'
        for number, canvas in enumerate(canvases)
    )
    head = f'<figcaption style="padding:0 8px 4px">{html_text(title)}</figcaption>' if title else ""
    image = _image(otherwise, canvases[0].summary) if otherwise else ""
    instead = f'<div class="{name}-image">{image}</div>' if otherwise else ""
    return html_output(
        f"<style>{_rules(name, widths)}</style>"
        f'<figure style="margin:0;container-type:inline-size;color:{_INK}">'
        f"{head}{drawn}{instead}</figure>"
    )


def _image(svg: str, text: str) -> str:
    data = base64.b64encode(svg.encode()).decode()
    source = f"data:image/svg+xml;base64,{data}"
    return f'<img src="{source}" alt="{html_text(text)}" style="max-width:100%">'


def _rules(name: str, widths: Sequence[int]) -> str:
    """Return styles that show one layout: the widest that fits, or else the last."""
    rules = [f".{name}-image {{display: none}}"]
    above = ""
    for number, width in enumerate(widths):
        least = f"(min-width: {width}px)" if number < len(widths) - 1 else ""
        where = " and ".join(filter(None, (least, above))) or "(min-width: 0)"
        rules.append(f"@container {where} {{.{name}-{number} {{display: block !important}}}}")
        above = f"(max-width: {width - 0.02:.2f}px)"
    return "".join(rules)
