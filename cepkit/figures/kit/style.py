"""How figures look: colours, fonts and sizes, in one place.

A kernel cannot know whether the page around a figure is light or dark, so paper is transparent.
Texts take the page's colour if it is known (`page_colours`, `svg`), else a grey that is readable on
both; on a fill they are dark unless they follow the page. The colours are those of Okabe and Ito,
which colour-blind readers can tell apart; wherever a colour carries a meaning, a shape, a dash or a
letter carries it too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from cepkit.figures.kit.canvas import BOLD
from cepkit.figures.kit.drawing import Drawing
from cepkit.figures.kit.texts import width_of

TEXT = "#767676"
"""4.5:1 on white, 4.2:1 on #111: no grey reaches 4.5:1 on both."""
INK, PALE = "#111111", "#ffffff"
"""Colours of texts on a fill: dark, and white on the one dark colour."""
GRID = "rgba(118,118,118,0.25)"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
SIZE = 12
SMALL = 11

ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, VERMILLION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#999999"

PLAIN, REACHED = "rgba(86,180,233,0.16)", "rgba(86,180,233,0.30)"
FINAL, FULFILLED = "rgba(0,158,115,0.22)", "rgba(0,158,115,0.30)"
QUIET, CHANGED = "rgba(118,118,118,0.08)", "rgba(213,94,0,0.20)"
TINTS = (PLAIN, REACHED, FINAL, FULFILLED, QUIET, CHANGED)
"""Transparent fills of cards and circles: texts in the page's colour stay readable."""

COLOURS = (SKY, ORANGE, GREEN, YELLOW, PURPLE, VERMILLION, BLUE, GREY)
"""Colours that tell things apart; black is left out, as it is invisible on a dark page."""

LEGEND_MARK = 48
"""Pixels of a line in a legend: enough to recognise each of plotly's dashes."""

_MARKUP = re.compile(r"<[^>]*>|&(?=[a-z]+;)")

_DASHES = ("solid", "dash", "dot", "dashdot")
SYMBOLS = ("circle", "square", "diamond", "hexagon")


def ink(colour: str) -> str:
    """Return the colour of a letter that stands on a mark of `colour`."""
    return PALE if colour == BLUE else INK


def on_white(tint: str) -> str:
    """Return the colour of a tint on a white page, for texts that do not follow the page."""
    *colour, share = map(float, tint.removeprefix("rgba(").removesuffix(")").split(","))
    return "#" + "".join(f"{round(share * part + (1 - share) * 255):02x}" for part in colour)


def colour_of(number: int) -> str:
    """Return the colour of the thing with this number; they repeat after eight."""
    return COLOURS[number % len(COLOURS)]


def dash_of(number: int) -> str:
    """Return the dash of the line with this number; they repeat after four."""
    return _DASHES[number % len(_DASHES)]


def symbol_of(number: int) -> str:
    """Return the shape of the thing with this number: another one when the colours repeat."""
    return SYMBOLS[number // len(COLOURS) % len(SYMBOLS)]


def figure(title: str, height: int, width: int | None = None) -> Drawing:
    """Return an empty figure in this style.

    Args:
        title: Already escaped for plotly (`texts.shown`).
        height: In pixels.
        width: In pixels; None for as wide as there is room.
    """
    chart = Drawing()
    chart.update_layout(
        # An empty template: the session's default template must not apply here.
        template=go.layout.Template(),
        title={"text": title, "x": 0, "xref": "container", "xanchor": "left", "pad": {"l": 12}},
        title_font_size=SIZE + 2,
        font={"family": FONT, "size": SIZE, "color": TEXT},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        height=height,
        width=width,
        autosize=width is None,
        margin={"l": 16, "r": 24, "t": 56, "b": 40},
        legend={
            "orientation": "h",
            "y": 1.0,
            "yanchor": "bottom",
            "x": 1,
            "xanchor": "right",
            "itemwidth": LEGEND_MARK,
        },
        modebar={
            "bgcolor": "rgba(0,0,0,0)",
            "color": GRID,
            "activecolor": TEXT,
            "remove": ["select2d", "lasso2d"],
        },
        hoverlabel={"align": "left", "font": {"family": FONT, "size": SIZE}},
    )
    look = {"gridcolor": GRID, "zeroline": False, "linecolor": GRID, "automargin": True}
    chart.update_xaxes(**look, separatethousands=True)
    chart.update_yaxes(**look, separatethousands=True)
    chart.update_xaxes(title={"standoff": 8, "font": {"size": SIZE}})
    return chart


def note(x: Any, y: Any, text: str, **settings: Any) -> dict[str, Any]:
    """Return an annotation that begins at a place, without an arrow.

    Args:
        x: Where on the axis.
        y: Where on the other.
        text: Already escaped.
        **settings: Further ones, by plotly's names.
    """
    return {"x": x, "y": y, "text": text, "xanchor": "left", "showarrow": False, **settings}


def beside(chart: go.Figure, notes: Sequence[dict[str, Any]]) -> None:
    """Add notes right of marks, and the margin that they need: on a narrow page none is cut."""
    widest = max(width_of(_MARKUP.sub("", one["text"]), SIZE * BOLD) for one in notes)
    chart.update_layout(annotations=notes, margin_r=round(widest) + 12)


def heading(text: str, top: float, **settings: Any) -> dict[str, Any]:
    """Return an annotation that stands above a panel whose upper edge is at `top`."""
    return note(0, top, text, xref="paper", yref="paper", yanchor="bottom", **settings)


def message(title: str, text: str) -> go.Figure:
    """Return a figure with a message in place of data; both texts already escaped."""
    chart = figure(title, 160)
    chart.update_xaxes(visible=False)
    chart.update_yaxes(visible=False)
    chart.add_annotation(text=text, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    return chart
