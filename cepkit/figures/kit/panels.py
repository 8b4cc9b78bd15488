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
    whole = sum(heights) + gap * (len(heights) - 1)
    top, found = whole, []
    for height in heights:
        found.append((max(0.0, (top - height) / whole), top / whole))
        top -= height + gap
    return whole, found


def add_heading(made: go.Figure, name: str, told: str, top: float) -> None:
    """Write what a panel is about above it.

    Args:
        made: The figure.
        name: Whose panel it is; not yet escaped.
        told: What is said of it, in a second line.
        top: The panel's upper edge, as a share of the figure.
    """
    made.add_annotation(
        text=f"<b>{shown(cut(name, _NAME_LENGTH))}</b><br>{told}",
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
