"""How figures look: colours, fonts and sizes, in one place.

A kernel cannot know whether the page around a figure is light or dark, so paper is transparent.
Texts have the colour of the page where that tells it (`page_colours`, `svg`), else a grey that can
be read on both; on a fill they are dark where they do not follow the page. The colours are those of
Okabe and Ito, told apart by the colour-blind; wherever one carries a meaning, a shape, a dash or a
letter carries it too.
"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from cepkit.figures.kit.drawing import Drawing

TEXT = "#767676"
"""4.5:1 on white, 4.2:1 on #111: no grey reaches 4.5:1 on both."""
INK, PALE = "#111111", "#ffffff"
"""Of texts on a fill: dark, and on the one dark colour white."""
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
"""Fills of cards and circles that show the page through: the colour of its texts can be read."""

COLOURS = (SKY, ORANGE, GREEN, YELLOW, PURPLE, VERMILLION, BLUE, GREY)
"""Of things that are told apart; black is left out, as it is lost on a dark page."""

LEGEND_MARK = 48
"""Pixels of a line in a legend: each of plotly's dashes shows what it is."""

SYMBOLS = ("circle", "square", "diamond", "hexagon")


def ink(colour: str) -> str:
    """Return the colour of a letter that stands on a mark of `colour`."""
    return PALE if colour == BLUE else INK


def on_white(tint: str) -> str:
    """Return the colour that a tint is on a white page, for where texts do not follow the page."""
    *colour, share = map(float, tint.removeprefix("rgba(").removesuffix(")").split(","))
    return "#" + "".join(f"{round(share * part + (1 - share) * 255):02x}" for part in colour)


def colour_of(number: int) -> str:
    """Return the colour of the thing with this number; they repeat after eight."""
    return COLOURS[number % len(COLOURS)]


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
        # An empty template: what the session has set as default stays there and out of here.
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
    chart.update_xaxes(gridcolor=GRID, zeroline=False, linecolor=GRID, automargin=True)
    chart.update_xaxes(title={"standoff": 8, "font": {"size": SIZE}})
    chart.update_yaxes(gridcolor=GRID, zeroline=False, linecolor=GRID, automargin=True)
    return chart


def axis_of(chart: go.Figure) -> dict[str, Any]:
    """Return the look of a figure's first axes, which plotly does not give to further ones."""
    return {key: chart.layout.xaxis[key] for key in ("gridcolor", "linecolor", "zeroline")}


def at_the_top(lines: int = 1) -> dict[str, object]:
    """Return where a title stays whatever the margin below it has to hold."""
    # Plotly hangs up the first of several lines where it would hang up a single one.
    pad = {"l": 12, "t": 12 + 14 * (lines - 1)}
    return {"y": 1, "yref": "container", "yanchor": "top", "pad": pad}


def note(x: Any, y: Any, text: str, **settings: Any) -> dict[str, Any]:
    """Return an annotation that begins at a place, without an arrow.

    Args:
        x: Where on the axis.
        y: Where on the other.
        text: Already escaped.
        **settings: Further ones, by plotly's names.
    """
    return {"x": x, "y": y, "text": text, "xanchor": "left", "showarrow": False, **settings}


def heading(text: str, top: float, **settings: Any) -> dict[str, Any]:
    """Return an annotation that stands above a panel whose upper edge is at `top`."""
    return note(0, top, text, xref="paper", yref="paper", yanchor="bottom", **settings)


def message(title: str, text: str) -> go.Figure:
    """Return a figure that says why there is nothing to see; both texts already escaped."""
    chart = figure(title, 160)
    chart.update_xaxes(visible=False)
    chart.update_yaxes(visible=False)
    chart.add_annotation(text=text, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    return chart
