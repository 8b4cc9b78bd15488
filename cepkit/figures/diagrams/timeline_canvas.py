"""The timeline of matches as a canvas: for pages without scripts."""

from __future__ import annotations

from cepkit.columnar.results.shown import moment_text
from cepkit.figures.diagrams.timeline import (
    ERROR_BELOW,
    LANE,
    ROW,
    Timeline,
    names_of,
    room,
    tops_of,
)
from cepkit.figures.kit.canvas import Canvas, Circle, Dash, Item, Line, Text
from cepkit.figures.kit.style import GRID, SIZE, SMALL, colour_of, ink
from cepkit.figures.kit.texts import fitted
from cepkit.lazy import pd
from cepkit.tables import number

WIDTH = 860
_NAMES = 200
_RADIUS = 9
_LEGEND_COLUMN = 215


def layout(timeline: Timeline, width: float = WIDTH) -> Canvas:
    """Return the picture of matches: a row each, with a legend below.

    Args:
        timeline: From `timeline.timeline`; with at least one match.
        width: In pixels.
    """
    tops, height = tops_of(timeline)
    begin = min(mark.at for mark in timeline.marks)
    length = width - _NAMES - 3 * _RADIUS

    def place(at: float) -> float:
        return _NAMES + _RADIUS + (at - begin) / room(timeline) * length

    items: list[Item] = []
    for i, (name, top) in enumerate(zip(names_of(timeline), tops, strict=True)):
        line = fitted(name, SMALL, _NAMES - 16)
        items.append(Text(0, top - SMALL * 0.65, (line,), "left", SMALL))
        marks = [mark for mark in timeline.marks if mark.match == i]
        points = tuple((place(mark.at), top + mark.lane * LANE) for mark in marks)
        dash: Dash = "dot" if timeline.is_possible(i) else "solid"
        items.append(Line(points, dash=dash, colour=GRID.replace("0.25", "0.7")))
        for mark, (x, y) in zip(marks, points, strict=True):
            if mark.error:
                low, high = (place(mark.at + sign * mark.error) for sign in (-1, 1))
                items.append(Line(((low, y + ERROR_BELOW), (high, y + ERROR_BELOW)), width=1.5))
            items += _mark(x, y, mark.variable, timeline, "\n".join(mark.hover))
    axis = height + 4
    items.append(Line(((_NAMES, axis), (width - _RADIUS, axis)), colour=GRID))
    first, last, caption = _ends(timeline)
    items += [
        Text(_NAMES, axis + 4, (first,), "left", SMALL),
        Text(width - _RADIUS, axis + 4, (last,), "right", SMALL),
        Text(_NAMES + length / 2, axis + 4, (caption,), "center", SMALL),
    ]
    y = axis + 40
    columns = max(1, int(width // _LEGEND_COLUMN))
    variables = sorted({mark.variable for mark in timeline.marks})
    for i, number_ in enumerate(variables):
        variable = timeline.variables[number_]
        x = (i % columns) * _LEGEND_COLUMN
        items += _mark(x + _RADIUS + 1, y + (i // columns) * ROW, number_, timeline, variable)
        text = fitted(variable, SIZE, _LEGEND_COLUMN - 3 * _RADIUS - 12)
        top = y + (i // columns) * ROW - SIZE * 0.65
        items.append(Text(x + 3 * _RADIUS, top, (text,), "left", SIZE, hover=variable))
    lines = -(-len(variables) // columns)
    return Canvas(width, y + lines * ROW, tuple(items), f"timeline of {len(tops)} matches")


def _mark(x: float, y: float, variable: int, timeline: Timeline, hover: str) -> list[Item]:
    colour = colour_of(variable)
    letter = Text(
        x, y - SMALL * 0.65, (timeline.letters[variable],), colour=ink(colour), hover=hover
    )
    return [Circle(x, y, _RADIUS, hover, colour), letter]


def _ends(timeline: Timeline) -> tuple[str, str, str]:
    """Return the labels at the beginning, the end and the middle of the axis."""
    ends = [mark.at for mark in timeline.marks]
    if timeline.clock is None:
        unit = f" {timeline.unit}" if timeline.unit else ""
        caption = "since the match's first event" if timeline.since_start else "time"
        return f"{number(min(ends))}{unit}", f"{number(max(ends))}{unit}", caption
    last = timeline.clock + pd.Timedelta(seconds=max(ends))
    zone = f"time, {timeline.clock.tz}" if timeline.clock.tz is not None else "time"
    return moment_text(timeline.clock), moment_text(last), zone
