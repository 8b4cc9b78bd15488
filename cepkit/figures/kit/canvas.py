"""A picture as a list of circles, lines and texts in pixels: laid out once, drawn twice.

`plotly_canvas` draws it as a plotly figure, `svg` as inline SVG for pages without scripts.
Pixels make it possible to compute, and test, that nothing overlaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, assert_never

from cepkit.figures.kit.texts import width_of

Anchor: TypeAlias = Literal["left", "center", "right"]
Dash: TypeAlias = Literal["solid", "dash", "dot"]

LINE_HEIGHT = 1.3
"""The line height of a text, in units of its font size."""

BOLD = 1.1
"""The width of bold text, relative to normal text."""

THIN = 1.4
"""The width of strokes."""

CORNER = 6
"""The radius of a card's corners."""

STACKED = 4
"""How far the second card behind a stacked one shows."""

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True, slots=True)
class Circle:
    """A circle, with a text that shows when the pointer is on it.

    Attributes:
        x: Of its centre.
        y: Of its centre, downwards.
        radius: Of the circle.
        hover: The text on hovering.
        fill: Its colour; None for an outline.
        dash: Of its outline.
        double: Whether a second circle stands inside, as in a final state.
    """

    x: float
    y: float
    radius: float
    hover: str = ""
    fill: str | None = None
    dash: Dash = "solid"
    double: bool = False

    def box(self) -> Box:
        """Return the box around it."""
        return (
            self.x - self.radius, self.y - self.radius, self.x + self.radius, self.y + self.radius,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Card:
    """A rectangle with round corners, on which texts stand.

    Attributes:
        x: Of its left side.
        y: Of its top.
        width: To the right.
        height: Downwards.
        hover: The text that is shown when the pointer is on it.
        fill: Its colour; None for an outline.
        dash: Of its outline.
        stacked: Whether the edge of a second one shows behind it, as where it stands for a set.
    """

    x: float
    y: float
    width: float
    height: float
    hover: str = ""
    fill: str | None = None
    dash: Dash = "solid"
    stacked: bool = False

    def box(self) -> Box:
        """Return the box around it, with the second one behind."""
        behind = STACKED if self.stacked else 0
        return self.x, self.y - behind, self.x + self.width + behind, self.y + self.height

    def path(self) -> str:
        """Return the outline as an SVG path; plotly's shapes read the same."""
        left, top, right, bottom = self.x, self.y, self.x + self.width, self.y + self.height
        r = CORNER
        return (
            f"M{left + r:.1f},{top:.1f} L{right - r:.1f},{top:.1f} "
            f"Q{right:.1f},{top:.1f} {right:.1f},{top + r:.1f} L{right:.1f},{bottom - r:.1f} "
            f"Q{right:.1f},{bottom:.1f} {right - r:.1f},{bottom:.1f} L{left + r:.1f},{bottom:.1f} "
            f"Q{left:.1f},{bottom:.1f} {left:.1f},{bottom - r:.1f} L{left:.1f},{top + r:.1f} "
            f"Q{left:.1f},{top:.1f} {left + r:.1f},{top:.1f} Z"
        )

    def behind(self) -> str:
        """Return the visible part of the second one as a path."""
        left, top, right, bottom = self.box()
        r, s = CORNER, STACKED
        return (
            f"M{left + s:.1f},{top + s:.1f} Q{left + s:.1f},{top:.1f} {left + s + r:.1f},{top:.1f} "
            f"L{right - r:.1f},{top:.1f} Q{right:.1f},{top:.1f} {right:.1f},{top + r:.1f} "
            f"L{right:.1f},{bottom - s - r:.1f} "
            f"Q{right:.1f},{bottom - s:.1f} {right - s:.1f},{bottom - s:.1f}"
        )


@dataclass(frozen=True, slots=True)
class Line:
    """A line, straight through its points or, with four of them, a cubic Bézier curve.

    Attributes:
        points: From where to where.
        curved: Whether the four points are those of a curve.
        dash: How it is drawn.
        arrow: Whether an arrow's head stands at its end.
        colour: None for the colour of text.
        width: Of the stroke.
    """

    points: tuple[tuple[float, float], ...]
    curved: bool = False
    dash: Dash = "solid"
    arrow: bool = False
    colour: str | None = None
    width: float = THIN

    def path(self) -> str:
        """Return the line as an SVG path; plotly's shapes read the same."""
        points = self.points
        if self.arrow and self.width > THIN:
            # A wide line ends inside of its arrow's head, whose tip it would blunt.
            points = (*points[:-1], self._back(self._head_length() / 2))
        texts = [f"{x:.1f},{y:.1f}" for x, y in points]
        if self.curved:
            return f"M{texts[0]} C{' '.join(texts[1:])}"
        return f"M{' L'.join(texts)}"

    def head(self) -> str:
        """Return the path of the arrow's head, a triangle along the last stretch."""
        x, y = self.points[-1]
        (dx, dy), (foot_x, foot_y) = self._direction(), self._back(self._head_length())
        half = 4 + 0.7 * (self.width - THIN)
        left, right = ((foot_x - side * dy, foot_y + side * dx) for side in (half, -half))
        corners = " L".join(f"{a:.1f},{b:.1f}" for a, b in (left, right))
        return f"M{x:.1f},{y:.1f} L{corners} Z"

    def _head_length(self) -> float:
        return 9 + self.width - THIN

    def _direction(self) -> tuple[float, float]:
        (x0, y0), (x1, y1) = self.points[-2:]
        length = max(1e-9, ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5)
        return (x1 - x0) / length, (y1 - y0) / length

    def _back(self, distance: float) -> tuple[float, float]:
        """Return the point so far before the end."""
        (x, y), (dx, dy) = self.points[-1], self._direction()
        return x - distance * dx, y - distance * dy


@dataclass(frozen=True, slots=True)
class Text:
    """Lines of text from data; writers of formats must escape them.

    Attributes:
        x: Of the left, the middle or the right of the lines, as `anchor` says.
        y: Of the top of the first line.
        lines: The lines, each short enough for its place.
        anchor: The meaning of `x`.
        size: Of the font.
        bold: Whether it is.
        colour: None for the colour of text.
        hover: The text shown when the pointer is on it, mostly the whole text.
    """

    x: float
    y: float
    lines: tuple[str, ...]
    anchor: Anchor = "center"
    size: int = 11
    bold: bool = False
    colour: str | None = None
    hover: str = ""

    @property
    def height(self) -> float:
        """The height of all lines."""
        return len(self.lines) * self.size * LINE_HEIGHT

    def box(self) -> Box:
        """Return the box around it, by the foreseen width of its lines."""
        size = self.size * (BOLD if self.bold else 1.0)
        width = max((width_of(line, size) for line in self.lines), default=0.0)
        left = self.x - width * {"left": 0.0, "center": 0.5, "right": 1.0}[self.anchor]
        return left, self.y, left + width, self.y + self.height


Item: TypeAlias = Circle | Card | Line | Text


@dataclass(frozen=True, slots=True)
class Canvas:
    """A picture.

    Attributes:
        width: In pixels.
        height: In pixels.
        items: Its items; later ones are drawn over earlier ones.
        summary: Its contents in words, for readers who cannot see it.
    """

    width: float
    height: float
    items: tuple[Item, ...]
    summary: str = ""


def stacked(canvases: Sequence[Canvas], gap: float) -> Canvas:
    """Return one picture of several, one below the other."""
    items: list[Item] = []
    y = 0.0
    for canvas in canvases:
        items += moved(canvas.items, 0, y)
        y += canvas.height + gap
    width = max((canvas.width for canvas in canvases), default=0.0)
    summary = "; ".join(canvas.summary for canvas in canvases)
    return Canvas(width, max(0.0, y - gap), tuple(items), summary)


def moved(items: Iterable[Item], dx: float, dy: float) -> list[Item]:
    """Return the items at another place."""
    result: list[Item] = []
    for item in items:
        match item:
            case Line(points):
                there = tuple((x + dx, y + dy) for x, y in points)
                result.append(replace(item, points=there))
            case Circle(x, y) | Card(x, y) | Text(x, y):
                result.append(replace(item, x=x + dx, y=y + dy))
            case _:
                assert_never(item)
    return result
