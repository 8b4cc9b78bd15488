"""Matches as bars on a time line, in bands with names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cepkit.figures.kit.style import colour_of
from cepkit.printing import html_text

_NAME = 12
_BAR = 13
"""The height of a lane of bars, in pixels."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A match below the time line.

    Attributes:
        number: The match.
        marks: Its events: when, in seconds since the first event of the match above, and the
            number of the variable.
        lane: Bars that overlap have lanes of their own.
        text: Its description.
        chosen: Whether it is the match above.
        absent: Whether it marks a match that is *missing*.
        action: The action of choosing it; None for none.
    """

    number: int
    marks: tuple[tuple[float, int], ...]
    lane: int
    text: str
    chosen: bool = False
    absent: bool = False
    action: str | None = "choose"


@dataclass(frozen=True, slots=True)
class Band:
    """Bars with a name.

    Attributes:
        name: The text in front of them.
        note: The text below the name.
        bars: In the order of time.
    """

    name: str
    note: str
    bars: tuple[Bar, ...]

    @property
    def height(self) -> float:
        """How high it is, in pixels."""
        return max(34.0, 10.0 + _BAR * (1 + max((bar.lane for bar in self.bars), default=0)))


def lanes_of(spans: Iterable[tuple[float, float]], gap: float, most: int) -> list[int | None]:
    """Return a lane for each span so that none overlaps another; None if all lanes are full.

    Args:
        spans: When each begins and ends.
        gap: Between two spans of a lane.
        most: The most lanes.
    """
    taken: list[list[tuple[float, float]]] = []
    lanes: list[int | None] = []
    for begin, end in spans:
        free = (all(end < a - gap or begin > b + gap for a, b in lane) for lane in taken)
        lane = next((i for i, is_free in enumerate(free) if is_free), len(taken))
        lanes.append(lane if lane < most else None)
        if lane < most:
            if lane == len(taken):
                taken.append([])
            taken[lane].append((begin, end))
    return lanes


def band_svg(band: Band, x: object, left: float, top: float, width: float) -> str:
    """Return bars with their name as SVG.

    Args:
        band: The row of bars.
        x: Returns where in the width a time is.
        left: Where names end.
        top: Where the band begins.
        width: The room, in pixels.
    """
    assert callable(x)
    middle = top + band.height / 2
    parts = [
        (
            f'<path d="M0,{top:.1f} H{width:.1f}" stroke="var(--line)"/>'
            f'<text x="{left:.1f}" y="{middle - 2:.1f}" text-anchor="end" font-size="{_NAME}" '
            f'fill="currentColor">{html_text(band.name)}</text>'
            f'<text x="{left:.1f}" y="{middle + 12:.1f}" text-anchor="end" font-size="11" '
            f'fill="var(--soft)">{html_text(band.note)}</text>'
        )
    ]
    for bar in band.bars:
        y = top + 5 + _BAR * (bar.lane + 0.5)
        a, b = (max(left + 8, min(width - 4, x(at))) for at in (bar.marks[0][0], bar.marks[-1][0]))
        line = f'<path d="M{a:.1f},{y:.1f} H{b + 0.1:.1f}"/>'
        dots = "".join(
            f'<circle cx="{x(at):.1f}" cy="{y:.1f}" r="{4.5 if bar.chosen else 3.5}" '
            f'fill="{colour_of(number)}"/>'
            for at, number in bar.marks
            if left + 8 <= x(at) <= width
        )
        does = ""
        if bar.action is not None:
            does = (
                f' data-do="{bar.action}" data-value="{bar.number}" role="button" '
                f'data-at="{bar.marks[0][0]:.6f}" aria-pressed="{str(bar.chosen).lower()}" '
                f'tabindex="{0 if bar.chosen else -1}"'
            )
        kind = "near" if bar.absent else "match chosen" if bar.chosen else "match"
        parts.append(
            f'<g class="{kind}"{does}><title>{html_text(bar.text)}</title>'
            f'<path class="reach" d="M{a:.1f},{y:.1f} H{b + 0.1:.1f}"/>{line}{dots}</g>'
        )
    return "".join(parts)
