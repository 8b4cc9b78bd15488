"""The key below a figure: marks, letters and their meaning.

Plotly's own legend cuts long names, and many of them cover the plot; here each has its own lines,
broken to fit the narrowest page (500 pixels).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from cepkit.figures.kit import style
from cepkit.figures.kit.panels import Panels
from cepkit.figures.kit.scales import Scale
from cepkit.figures.kit.texts import cut, shown, width_of, wrapped

LEFT = 76
"""The margin left of a plot above a key, with room for ticks."""
NARROWEST = 500 - LEFT - 24
"""The width of a plot on the narrowest supported page."""

HEIGHT = 320
"""The height of a plot."""
AXIS = 52
"""The margin between a plot and its key: ticks and the name of the axis."""

_LINE = style.SMALL * 1.3
_SIGN = 15
_BETWEEN = 5
_WIDTH = 500 - 2 * 12 - 8
_MOST_LINES = 3
_MOST_HOVER = 400
_SPACE = "\N{NO-BREAK SPACE}"

# Without yellow: a yellow line is invisible on a white page.
_COLOURS = (
    style.BLUE,
    style.ORANGE,
    style.GREEN,
    style.VERMILLION,
    style.PURPLE,
    style.SKY,
    style.GREY,
)
_SYMBOLS = (
    ("circle", "●"), ("square", "■"), ("diamond", "◆"), ("triangle-up", "▲"),
    ("triangle-down", "▼"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mark:
    """The look of one of several things; 28 of them differ, even without colours.

    Attributes:
        letter: Its name in the plot.
        colour: Of its mark or line.
        dash: Of its line.
        symbol: Of its mark.
        sign: The symbol as a character.
    """

    letter: str
    colour: str
    dash: str
    symbol: str
    sign: str


def mark_of(number: int) -> Mark:
    """Return the mark of the thing with this number, counted from 0."""
    symbol, sign = _SYMBOLS[number % len(_SYMBOLS)]
    colour = _COLOURS[number % len(_COLOURS)]
    return Mark(letter_of(number), colour, style.dash_of(number), symbol, sign)


def letter_of(number: int) -> str:
    """Return the letter of the thing with this number: A to Z, then AA, AB ..."""
    above, last = divmod(number, 26)
    return (letter_of(above - 1) if above else "") + chr(ord("A") + last)


def runs_of(numbers: Iterable[int]) -> list[list[int]]:
    """Return ascending numbers as runs of consecutive ones."""
    runs: list[list[int]] = []
    for each in numbers:
        if runs and each == runs[-1][-1] + 1:
            runs[-1].append(each)
        else:
            runs.append([each])
    return runs


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A row of the key; its texts are not yet escaped.

    Attributes:
        head: Said in bold.
        text: The text after it, or below it if the line is too short.
        sign: A mark as a character, in front.
        colour: Of the sign, or the line.
        dash: Of a line in front, by plotly's name; empty for none.
        thick: The width of that line.
    """

    head: str
    text: str = ""
    sign: str = ""
    colour: str = style.GREY
    dash: str = ""
    thick: float = 2.4

    @property
    def indent(self) -> float:
        """The pixels that its mark takes."""
        if self.dash:
            return style.LEGEND_MARK + 8
        return width_of(self.sign, _SIGN) + 6 if self.sign else 0.0

    def lines(self, width: float) -> list[str]:
        """Return the row broken into lines as plotly reads them, without its sign."""
        bold = style.SMALL * 1.1
        if not self.text:
            return [shown(line) for line in wrapped(self.head, style.SMALL, width, _MOST_LINES)]
        if width_of(f"{self.head}  {self.text}", bold) <= width:
            return [f"<b>{shown(self.head)}</b>{_SPACE * 2}{shown(self.text)}"]
        head = wrapped(self.head, bold, width, _MOST_LINES)
        text = wrapped(self.text, style.SMALL, width, _MOST_LINES)
        return [*(f"<b>{shown(line)}</b>" for line in head), *map(shown, text)]


def plot(
    title: str,
    across: Scale,
    upwards: Scale,
    names: tuple[str, str],
    *,
    above: int = 68,
    right: int = 24,
    shift: int = 6,
) -> go.Figure:
    """Return an empty plot between two axes, as `add_key` puts a key below it.

    Args:
        title: Already escaped, as the names are.
        across: The axis from left to right.
        upwards: The axis upwards.
        names: Of both axes. That of the second stands above it: beside it, long labels of ticks
            would cover it.
        above: The margin above, in pixels.
        right: The margin at the right.
        shift: The pixels between the plot and the name above it.
    """
    chart = Panels.of(title, [HEIGHT], above=above, below=AXIS).chart
    chart.update_layout(margin={"l": LEFT, "r": right})
    chart.update_xaxes(**across.axis(), title_text=names[0])
    chart.update_yaxes(**upwards.axis(), automargin=False)
    chart.add_annotation(style.heading(names[1], 1, xshift=12 - LEFT, yshift=shift, borderpad=0))
    return chart


def _add_mark(chart: go.Figure, row: KeyRow, left: float, below: float) -> None:
    """Draw the mark of a row at its left, with its middle `below` the plot."""
    if row.dash:
        chart.add_shape(
            type="line", xref="paper", yref="paper", xsizemode="pixel", ysizemode="pixel",
            xanchor=0, yanchor=0, x0=left, x1=left + style.LEGEND_MARK, y0=-below, y1=-below,
            line={"color": row.colour, "width": row.thick, "dash": row.dash},
        )  # fmt: skip
    elif row.sign:
        chart.add_annotation(
            style.note(0, 0, row.sign, xref="paper", yref="paper", yanchor="middle"),
            xshift=left, yshift=-below, borderpad=0, font={"size": _SIGN, "color": row.colour},
        )  # fmt: skip


def add_key(
    chart: go.Figure, rows: Sequence[KeyRow], *, axis: int = AXIS, left: int = LEFT - 12
) -> None:
    """Put rows below the plot and make the figure as much taller as they need.

    Args:
        axis: The pixels between the plot and the first row: ticks and title of the axis.
        left: How many pixels left of the plot they begin.
    """
    width = _WIDTH - (0 if left else LEFT)
    below = float(axis)
    for row in rows:
        lines = row.lines(width - row.indent)
        chart.add_annotation(
            style.note(0, 0, "<br>".join(lines), xref="paper", yref="paper", yanchor="top"),
            hovertext=shown(cut(f"{row.head} {row.text}", _MOST_HOVER)), xshift=row.indent - left,
            yshift=-below, align="left", borderpad=0, font={"size": style.SMALL},
        )  # fmt: skip
        _add_mark(chart, row, -left, below + _LINE / 2)
        below += len(lines) * _LINE + _BETWEEN
    bottom = round(below + 8) if rows else axis
    chart.update_layout(
        height=chart.layout.height - chart.layout.margin.b + bottom, margin={"b": bottom}
    )
