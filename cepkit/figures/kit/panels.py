"""Panels one below the other in one figure: where each lies, and the heading above it."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from cepkit.figures.kit.style import SMALL
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
    """Write what a panel is about above it.

    Args:
        chart: The figure.
        name: Whose panel it is; not yet escaped.
        text: What is said of it, in a second line.
        top: The panel's upper edge, as a share of the figure.
    """
    chart.add_annotation(
        text=f"<b>{shown(cut(name, _NAME_LENGTH))}</b><br>{text}",
        align="left",
        x=0,
        xref="paper",
        xanchor="left",
        y=top,
        yref="paper",
        yanchor="bottom",
        showarrow=False,
        font={"size": SMALL},
    )
