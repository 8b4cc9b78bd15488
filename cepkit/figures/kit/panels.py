"""Common parts of charts: panels below each other, rows, lines, marks and bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from cepkit.figures.kit.style import LEGEND_MARK, SIZE, SMALL, figure, heading
from cepkit.figures.kit.texts import cut, shown, width_of

_NAME_LENGTH = 22
_LEGEND_ROW, _HEADING, _NARROWEST = 20, 22, 460
"""The heights of a row of a legend and of a heading, and the width of the narrowest page."""


@dataclass(frozen=True, slots=True)
class Panels:
    """A figure of panels below each other.

    Attributes:
        domains: The bottom and the top of each panel, from above, as shares of the plot.
    """

    chart: go.Figure
    domains: tuple[tuple[float, float], ...]

    @classmethod
    def of(
        cls,
        title: str,
        heights: Sequence[float],
        gap: int = 0,
        *,
        above: int,
        below: int,
        legend: Sequence[str] = (),
    ) -> Panels:
        """Return empty panels.

        Args:
            title: Already escaped; a second line after "<br>".
            heights: Of the panels from above, in pixels.
            gap: Between two, with room for a heading.
            above: The margin above, with room for the title and a heading.
            below: The margin below.
            legend: The names in a legend above the first heading, escaped.
        """
        total = sum(heights) + gap * (len(heights) - 1)
        top, domains = total, []
        for height in heights:
            domains.append((max(0.0, (top - height) / total), top / total))
            top -= height + gap
        chart = figure(title, round(total + above + below))
        # The title stays at the top, for any contents of the margin. Plotly aligns the first of
        # several lines where it would align a single one.
        pad = {"l": 12, "t": 12 + 14 * title.count("<br>")}
        at_the_top = {"y": 1, "yref": "container", "yanchor": "top", "pad": pad}
        chart.update_layout(margin={"t": above, "b": below}, title=at_the_top)
        if legend:
            chart.update_layout(**_legend_above(legend, above, total + above + below))
        return cls(chart, tuple(domains))

    def set_axis(self, name: str, place: int | None, /, **settings: Any) -> None:
        """Set up an axis ("x", "y2" ...) in the look of the first, as high as a panel."""
        first = self.chart.layout.xaxis  # plotly does not pass its look on to further ones
        names = ("gridcolor", "linecolor", "zeroline", "automargin", "separatethousands")
        look = {key: first[key] for key in names}
        look |= settings
        if place is not None:
            look["domain"] = self.domains[place]
        self.chart.update_layout({f"{name[0]}axis{name[1:]}": look})

    def add_heading(self, place: int, text: str, size: int = SIZE) -> None:
        """Write the heading of a panel above it; the text is already escaped."""
        top = self.domains[place][1]
        self.chart.add_annotation(heading(text, top, align="left", font={"size": size}))

    def add_name(self, place: int, name: str, text: str) -> None:
        """Write a name from data and, below it, a text above a panel."""
        self.add_heading(place, f"<b>{shown(cut(name, _NAME_LENGTH))}</b><br>{text}", SMALL)


def _legend_above(names: Sequence[str], above: float, height: float) -> dict[str, Any]:
    """Return the layout of a figure whose legend stands above the heading of its first panel.

    Args:
        names: The texts of the legend, escaped.
        above: The margin above, without the legend.
        height: Of the figure, without the legend.
    """
    widest = max((width_of(name, SIZE) for name in names), default=0.0) + LEGEND_MARK + 16
    a_row = max(1, int(_NARROWEST // widest))  # of a narrow page; a wide one needs fewer rows
    room = _LEGEND_ROW * math.ceil(len(names) / a_row) if len(names) > 1 else 0
    y = 1 - (above + room - _HEADING) / (height + room)
    return {
        "height": round(height + room),
        "margin": {"t": above + room},
        "legend": {"yref": "container", "y": y, "yanchor": "bottom"},
    }


def axis_name(letter: str, place: int) -> str:
    """Return plotly's name for an axis of a panel, counted from 0: "x", "x2" ..."""
    return f"{letter}{place + 1}" if place else letter


def rows_of(
    names: Sequence[str],
    below: float = 0.4,
    above: float = 0.6,
    places: Sequence[float] | None = None,
) -> dict[str, Any]:
    """Return the settings of an axis with a row for each name, from above.

    Args:
        names: Already escaped.
        below: How far the axis goes beyond the last row.
        above: How far it goes beyond the first one.
        places: Where the rows are; None for 0, 1, 2 ...
    """
    at = list(range(len(names))) if places is None else list(places)
    span = [(at[-1] if at else -1) + below, -above]
    return {"tickvals": at, "ticktext": list(names), "range": span, "showgrid": False}


def hover_text(head: str, *lines: str) -> str:
    """Return the hover text of a mark: a head from data, and lines that are already escaped."""
    return "<br>".join((f"<b>{shown(cut(head, 200))}</b>", *filter(None, lines)))


def add_points(chart: go.Figure, mode: str, x: Any, y: Any, **settings: Any) -> None:
    """Add "lines", "markers" or both, by plotly's names; only those with a name have a legend."""
    chart.add_scatter(mode=mode, x=x, y=y, **_quiet(settings))


def add_bars(chart: go.Figure, x: Any, y: Any, **settings: Any) -> None:
    """Add bars, by plotly's names; only those with a name have a legend."""
    chart.add_bar(x=x, y=y, **_quiet(settings))


def _quiet(settings: dict[str, Any]) -> dict[str, Any]:
    """Show only `hovertext` at the pointer, and in the legend only traces with a name."""
    hidden = {} if "name" in settings else {"showlegend": False}
    return {"hoverinfo": "text" if "hovertext" in settings else "skip", **hidden, **settings}
