"""The timeline of matches as a canvas: for pages without scripts."""

from __future__ import annotations

import pandas as pd

from cepkit.columnar.results.shown import moment_text
from cepkit.figures.diagrams.timeline import LANE, ROW, Timeline, names_of, room, tops_of
from cepkit.figures.kit.canvas import Canvas, Circle, Item, Line, Text
from cepkit.figures.kit.style import GRID, SIZE, SMALL, colour_of, ink
from cepkit.figures.kit.texts import fitted
from cepkit.statistics.tables import number

WIDTH = 860
_NAMES = 200
_RADIUS = 9
_LEGEND_COLUMN = 215


def layout(found: Timeline, width: float = WIDTH) -> Canvas:
    """Return the picture of matches: a row each, with a legend below.

    Args:
        found: From `timeline.timeline`; with at least one match.
        width: In pixels.
    """
    tops, height = tops_of(found)
    begin = min(mark.at for mark in found.marks)
    length = width - _NAMES - 3 * _RADIUS

    def place(at: float) -> float:
        return _NAMES + _RADIUS + (at - begin) / room(found) * length

    items: list[Item] = []
    for i, (name, top) in enumerate(zip(names_of(found), tops, strict=True)):
        line = fitted(name, SMALL, _NAMES - 16)
        items.append(Text(0, top - SMALL * 0.65, (line,), "left", SMALL))
        marks = [mark for mark in found.marks if mark.match == i]
        points = tuple((place(mark.at), top + mark.lane * LANE) for mark in marks)
        items.append(Line(points, colour=GRID.replace("0.25", "0.7")))
        for mark, (x, y) in zip(marks, points, strict=True):
            items += _mark(x, y, mark.variable, found, "\n".join(mark.told))
    axis = height + 4
    items.append(Line(((_NAMES, axis), (width - _RADIUS, axis)), colour=GRID))
    first, last, caption = _ends(found)
    items += [
        Text(_NAMES, axis + 4, (first,), "left", SMALL),
        Text(width - _RADIUS, axis + 4, (last,), "right", SMALL),
        Text(_NAMES + length / 2, axis + 4, (caption,), "center", SMALL),
    ]
    y = axis + 40
    columns = max(1, int(width // _LEGEND_COLUMN))
    bound = sorted({mark.variable for mark in found.marks})
    for i, number_ in enumerate(bound):
        variable = found.variables[number_]
        x = (i % columns) * _LEGEND_COLUMN
        items += _mark(x + _RADIUS + 1, y + (i // columns) * ROW, number_, found, variable)
        text = fitted(variable, SIZE, _LEGEND_COLUMN - 3 * _RADIUS - 12)
        top = y + (i // columns) * ROW - SIZE * 0.65
        items.append(Text(x + 3 * _RADIUS, top, (text,), "left", SIZE, hover=variable))
    lines = -(-len(bound) // columns)
    return Canvas(width, y + lines * ROW, tuple(items), f"timeline of {len(tops)} matches")


def _mark(x: float, y: float, variable: int, found: Timeline, hover: str) -> list[Item]:
    colour = colour_of(variable)
    letter = Text(x, y - SMALL * 0.65, (found.letters[variable],), colour=ink(colour), hover=hover)
    return [Circle(x, y, _RADIUS, hover, colour), letter]


def _ends(found: Timeline) -> tuple[str, str, str]:
    """Return what stands at the beginning, at the end and in the middle of the axis."""
    ends = [mark.at for mark in found.marks]
    if found.clock is None:
        unit = f" {found.unit}" if found.unit else ""
        caption = "since the match's first event" if found.since_start else "time"
        return f"{number(min(ends))}{unit}", f"{number(max(ends))}{unit}", caption
    last = found.clock + pd.Timedelta(seconds=max(ends))
    zone = f"time, {found.clock.tz}" if found.clock.tz is not None else "time"
    return moment_text(found.clock), moment_text(last), zone
