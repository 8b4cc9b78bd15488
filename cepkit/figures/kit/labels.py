"""Labels beside points that never overlap, however wide the figure becomes.

The height of a figure in pixels is known, its width is not. So a label goes to the right of its
point at a fixed distance, and only its height is chosen, for the narrowest width. A wider figure
moves points apart horizontally, so labels that did not overlap still do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import plotly.graph_objects as go

from cepkit.figures.kit.scales import Scale
from cepkit.figures.kit.style import SIZE, TEXT, note
from cepkit.figures.kit.texts import width_of

HEIGHT = 15
"""Of a label, in pixels."""
GAP = 11
"""Between the middle of a point and its label."""
RADIUS = 8
"""Of a point, with the room kept free around it."""

_MOST_STEPS = 41


@dataclass(frozen=True, slots=True)
class Point:
    """A point and the width of its label, in pixels; y downwards."""

    x: float
    y: float
    width: float


def shifts(points: Sequence[Point], height: float) -> list[float]:
    """Return for each point how far above (below zero) or below it its label stands, in pixels.

    Args:
        height: Of the plot: labels stay within.
    """
    placed: list[tuple[Point, float]] = []
    result = [0.0] * len(points)
    for i in sorted(range(len(points)), key=lambda i: (points[i].y, points[i].x)):
        result[i] = _shift(points[i], points, placed, height)
        placed.append((points[i], points[i].y + result[i]))
    return result


def _shift(
    point: Point, points: Sequence[Point], placed: Sequence[tuple[Point, float]], height: float
) -> float:
    for step in range(_MOST_STEPS):
        # Try a little above first: a line that falls to the right passes below.
        shift = -6 + (step + 1) // 2 * HEIGHT * (1 if step % 2 else -1)
        y = point.y + shift
        inside = HEIGHT / 2 <= y <= height - HEIGHT / 2
        free = not any(_on_point(point, y, other) for other in points if other != point)
        free = free and not any(_on_label(point, y, *other) for other in placed)
        if inside and free:
            break
    return shift


def _on_point(label: Point, y: float, other: Point) -> bool:
    if abs(other.y - y) >= HEIGHT / 2 + RADIUS:
        return False
    # A point that is not to the right of this one stays on its left.
    is_left = other.x <= label.x and other.x + RADIUS <= label.x + GAP
    return not (is_left or other.x - RADIUS >= label.x + GAP + label.width)


def _on_label(label: Point, y: float, other: Point, other_y: float) -> bool:
    if abs(other_y - y) >= HEIGHT:
        return False
    return label.x < other.x + other.width and other.x < label.x + label.width


def spread(places: Sequence[float], height: float, gap: float = HEIGHT) -> list[float]:
    """Return places near the given ones, in the same order, that are at least `gap` apart.

    Args:
        places: The best places for the labels of line ends, in pixels.
        height: Of the plot: labels stay within it while there is room.
        gap: Between the middles of two labels.
    """
    order = sorted(range(len(places)), key=places.__getitem__)
    result = list(places)
    for before, i in pairwise(order):
        result[i] = max(result[i], result[before] + gap)
    beyond = height
    for i in reversed(order):
        result[i] = min(result[i], beyond)
        beyond = result[i] - gap
    return result


def add_labels(
    chart: go.Figure,
    points: Sequence[tuple[float, float, str]],
    axes: tuple[Scale, Scale],
    size: tuple[float, float],
    font: int = SIZE,
) -> None:
    """Put labels beside points, with a thin line to those that stand off.

    Args:
        points: Where on the axes each point is, and its label, not yet escaped: a letter, which
            becomes bold, and what may follow it after a space.
        axes: The one from left to right and the one upwards.
        size: The width and height of the plot, in pixels.
        font: The size of the labels.
    """
    (across, upwards), (width, height) = axes, size
    places = [
        Point(across.share(x) * width, (1 - upwards.share(y)) * height, width_of(text, font))
        for x, y, text in points
    ]
    for (x, y, text), shift in zip(points, shifts(places, height), strict=True):
        letter, space, rest = text.partition(" ")
        chart.add_annotation(
            x=x, y=y, ax=GAP, ay=shift, text=f"<b>{letter}</b>{space}{rest}", font={"size": font},
            xanchor="left", yanchor="middle", align="left", borderpad=0, showarrow=True,
            arrowhead=0, arrowwidth=0.8, standoff=5,
            arrowcolor=TEXT if abs(shift) > HEIGHT else "rgba(0,0,0,0)",
        )  # fmt: skip


def add_ends(
    chart: go.Figure, ends: Sequence[tuple[float, str, str]], upwards: Scale, height: float
) -> None:
    """Put letters beside the right ends of lines.

    Args:
        ends: Where on the axis each line ends, its letter, and the text shown when the pointer
            is on it, escaped.
        upwards: The axis.
        height: Of the plot, in pixels.
    """
    places = [(1 - upwards.share(end)) * height for end, _, _ in ends]
    for (end, letter, hover), best, place in zip(ends, places, spread(places, height), strict=True):
        chart.add_annotation(
            note(1, end, f"<b>{letter}</b>", xref="paper", xshift=6, yshift=best - place),
            hovertext=hover or None,
        )
