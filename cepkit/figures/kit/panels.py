"""Layout of panels below each other in one figure, with headings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from cepkit.figures.kit.style import SMALL, heading
from cepkit.figures.kit.texts import cut, shown

_NAME_LENGTH = 22


def stacked(heights: Sequence[int], gap: int) -> tuple[int, list[tuple[float, float]]]:
    """Return the height of all panels together, and the bottom and top of each as shares of it.

    Args:
        heights: Of the panels from the top, in pixels.
        gap: Between two, with room for a heading.
    """
    total = sum(heights) + gap * (len(heights) - 1)
    top, domains = total, []
    for height in heights:
        domains.append((max(0.0, (top - height) / total), top / total))
        top -= height + gap
    return total, domains


def add_heading(chart: go.Figure, name: str, text: str, top: float) -> None:
    """Write the heading of a panel above it.

    Args:
        name: Whose panel it is; not yet escaped.
        text: The second line.
        top: The panel's upper edge, as a share of the figure.
    """
    lines = f"<b>{shown(cut(name, _NAME_LENGTH))}</b><br>{text}"
    chart.add_annotation(heading(lines, top, align="left", font={"size": SMALL}))


def axis_name(letter: str, place: int) -> str:
    """Return plotly's name for an axis of a panel, counted from 0: "x", "x2" ..."""
    return f"{letter}{place + 1}" if place else letter


def rows_of(names: Sequence[str], below: float = 0.4, above: float = 0.6) -> dict[str, Any]:
    """Return the settings of an axis with a row for each name, from above.

    Args:
        names: Already escaped.
        below: How far the axis goes beyond the last row.
        above: How far it goes beyond the first one.
    """
    places = list(range(len(names)))
    span = [len(names) - 1 + below, -above]
    return {"tickvals": places, "ticktext": list(names), "range": span, "showgrid": False}
