"""The legend of a picture: a line of series, above the panels or below."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from cepkit.figures.kit.image import marks
from cepkit.figures.kit.image.markup import Label

_SIGN = 56.0
_GAP = 18.0
_ROW = 20.0


@dataclass(frozen=True, slots=True)
class Legend:
    """Rows of series, each with its label and its width.

    Attributes:
        at_the_bottom: Whether it stands below all panels.
        to_the_right: Whether its rows end at the right.
        foot: Its lower end, as a share of the height from below; None: at the top of the panels.
    """

    rows: tuple[tuple[tuple[Any, Label, float], ...], ...]
    at_the_bottom: bool
    to_the_right: bool
    foot: float | None = None

    @property
    def height(self) -> float:
        """The height of all rows."""
        return len(self.rows) * _ROW

    def drawn(self, left: float, right: float, top: float, high: float) -> Iterator[str]:
        """Yield it as SVG, between the sides of the panels and above their top."""
        foot = top if self.foot is None else high * (1 - self.foot)
        y = (high if self.at_the_bottom else foot) - self.height - 2
        for row in self.rows:
            x = right - sum(width for _, _, width in row) if self.to_the_right else left
            for trace, label, width in row:
                yield from _sign(trace, x, y + _ROW / 2, label.colour)
                yield label.at(x + _SIGN, y + (_ROW - label.height) / 2)
                x += width
            y += _ROW


def legend_of(chart: Any, wide: float) -> Legend:
    """Return the legend of a figure."""
    layout = chart.layout
    named = [t for t in chart.data if t.name and t.showlegend is not False]
    if layout.showlegend is False or (len(named) < 2 and not any(t.showlegend for t in named)):
        named = []
    room = wide - float(layout.margin.l) - float(layout.margin.r)
    rows: list[list[tuple[Any, Label, float]]] = []
    for trace in named:
        size = float(layout.legend.font.size or layout.font.size)
        label = Label(trace.name, size, layout.font.color)
        width = _SIGN + label.width + _GAP
        if not rows or sum(w for _, _, w in rows[-1]) + width > room:
            rows.append([])
        rows[-1].append((trace, label, width))
    legend = layout.legend
    held = legend.yref == "container" and legend.y != 0
    foot = float(legend.y) if held else None
    return Legend(tuple(map(tuple, rows)), legend.y == 0, legend.xanchor == "right", foot)


def _sign(trace: Any, x: float, y: float, colour: str) -> Iterator[str]:
    marker = trace.marker
    fill = marker.color if isinstance(marker.color, str) else colour
    if trace.type == "bar":
        edge = marker.line.color or "none"
        box = f'x="{x + 22:.1f}" y="{y - 6:.1f}" width="28" height="12"'
        yield f'<rect {box} fill="{escape(fill)}" stroke="{escape(edge)}"/>'
        return
    mode = trace.mode or "lines"
    if "lines" in mode:
        yield marks.stroke(f"M{x:.1f},{y:.1f} h{_SIGN - 6:.1f}", trace.line, fill)
    if "markers" in mode:
        size = float(marker.size) if isinstance(marker.size, int | float) else 8.0
        name = marker.symbol if isinstance(marker.symbol, str | int) else "circle"
        edge = marker.line.color if isinstance(marker.line.color, str) else "none"
        yield marks.symbol(name, x + _SIGN / 2 - 3, y, size, (fill, edge, 1.0))
