"""A picture as a list of circles, lines and texts in pixels: laid out once, drawn twice.

`plotly_canvas` draws it as a plotly figure, `svg` as inline SVG for pages without scripts.
Pixels, so that it can be computed, and tested, that nothing lies on anything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from cepkit.figures.texts import width_of

Anchor: TypeAlias = Literal["left", "center", "right"]
Dash: TypeAlias = Literal["solid", "dash", "dot"]

LINE_HEIGHT = 1.3
"""Of a text, in units of its size."""

BOLD = 1.1
"""How much wider bold text is."""

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True, slots=True)
class Circle:
    """A circle; what it stands for is told when the pointer is on it.

    Attributes:
        x: Of its centre.
        y: Of its centre, downwards.
        radius: Of the circle.
        hover: What is told.
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
class Line:
    """A line, straight through its points or, with four of them, a cubic Bézier curve.

    Attributes:
        points: From where to where.
        curved: Whether the four points are those of a curve.
        dash: How it is drawn.
        arrow: Whether an arrow's head stands at its end.
        colour: None for the colour of text.
    """

    points: tuple[tuple[float, float], ...]
    curved: bool = False
    dash: Dash = "solid"
    arrow: bool = False
    colour: str | None = None

    def path(self) -> str:
        """Return the line as an SVG path; plotly's shapes read the same."""
        points = [f"{x:.1f},{y:.1f}" for x, y in self.points]
        if self.curved:
            return f"M{points[0]} C{' '.join(points[1:])}"
        return f"M{' L'.join(points)}"

    def head(self) -> str:
        """Return the path of the arrow's head, a triangle along the last stretch."""
        (x0, y0), (x1, y1) = self.points[-2:]
        length = max(1e-9, ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5)
        dx, dy = (x1 - x0) / length, (y1 - y0) / length
        left = (x1 - 9 * dx - 4 * dy, y1 - 9 * dy + 4 * dx)
        right = (x1 - 9 * dx + 4 * dy, y1 - 9 * dy - 4 * dx)
        corners = " L".join(f"{x:.1f},{y:.1f}" for x, y in (left, right))
        return f"M{x1:.1f},{y1:.1f} L{corners} Z"


@dataclass(frozen=True, slots=True)
class Text:
    """Lines of text, as they come from data: escaping is the matter of who draws them.

    Attributes:
        x: Of the left, the middle or the right of the lines, as `anchor` says.
        y: Of the top of the first line.
        lines: The lines, each short enough for its place.
        anchor: What `x` is.
        size: Of the font.
        bold: Whether it is.
        colour: None for the colour of text.
        hover: What is told when the pointer is on it, mostly the text uncut.
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


Item: TypeAlias = Circle | Line | Text


@dataclass(frozen=True, slots=True)
class Canvas:
    """A picture.

    Attributes:
        width: In pixels.
        height: In pixels.
        items: What is on it; later ones are drawn over earlier ones.
        summary: What a reader who cannot see it should know.
    """

    width: float
    height: float
    items: tuple[Item, ...]
    summary: str = ""
