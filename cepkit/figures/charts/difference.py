"""The figure of two patterns that differ: a small stream, and the matches that one alone has."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import plotly.graph_objects as go

from cepkit.figures.kit.canvas import Canvas, Card, Circle, Item, Line, Text
from cepkit.figures.kit.plotly_canvas import laid_out
from cepkit.figures.kit.style import FINAL, PLAIN, QUIET, SMALL, message
from cepkit.figures.kit.texts import cut, fitted
from cepkit.teaching.equivalence import Equivalence
from cepkit.teaching.small_streams import Match

_NAMES, _LEAST, _MOST = 76, 58.0, 120.0
"""The width of the names of the lanes, and the least and the most of an event."""
_LINE, _LANE, _RADIUS = 15.0, 34.0, 13.0
_SHOWN = 4
"""The most matches of one pattern that are drawn."""


def draw_difference(difference: Equivalence) -> go.Figure:
    """Return the stream over which two patterns differ, and a lane for the matches of each.

    Circles are the events of a match that the other pattern has not, with their variables.
    """
    title = str(difference).splitlines()[0]
    if not difference.differ:
        return message("two patterns", title)
    return laid_out(lambda room: _picture(difference, title, room), title)


def _picture(difference: Equivalence, title: str, room: float) -> Canvas:
    head, rows = difference.cells()
    width = max(_LEAST, min(_MOST, (room - _NAMES) / len(rows)))
    places = [_NAMES + width * (i + 0.5) for i in range(len(rows))]
    values = [name for name in head[2:] if name not in ("only first", "only second")]
    high = _LINE * (1 + len(values)) + 8
    items: list[Item] = [_name("the stream", 16 + high / 2)]
    for x, (time, kind, *own) in zip(places, rows, strict=True):
        values_text = [f"{name} = {value}" for name, value in zip(values, own, strict=False)]
        hover = "\n".join([kind, time, *values_text])
        items.append(Card(x - width / 2 + 3, 16, width - 6, high, hover, QUIET))
        items.append(Text(x, 0, (time,), size=SMALL))
        lines = (kind, *values_text)
        for i, line in enumerate(lines):
            shown = fitted(cut(line, 60), SMALL, width - 14)
            items.append(Text(x, 20 + i * _LINE, (shown,), size=SMALL, bold=not i, hover=hover))
    top = 16 + high + 12
    for name, matches, fill in (
        ("first", difference.only_first, PLAIN),
        ("second", difference.only_second, FINAL),
    ):
        items.append(_name(name, top + _LANE / 2))
        if not matches:
            items.append(Text(places[0], top + 10, ("no match of its own",), size=SMALL))
        for match in matches[:_SHOWN]:
            items += _match(match, places, top + _LANE / 2, fill)
            top += _LANE
        more = len(matches) - _SHOWN
        if more > 0:
            items.append(Text(_NAMES, top, (f"and {more:,} more",), "left", SMALL))
        top += _LANE if not matches else 18 if more > 0 else 0
    return Canvas(places[-1] + width / 2, top + 4, tuple(items), title)


def _name(text: str, middle: float) -> Text:
    return Text(0, middle - 8, (text,), "left", SMALL, bold=True)


def _match(match: Match, places: Sequence[float], y: float, fill: str) -> list[Item]:
    bound = {row: variable for variable, rows in match for row in rows}
    # Lines lie above circles: they end at their edges, so that no letter is struck through.
    items: list[Item] = [
        Line(((places[earlier] + _RADIUS, y), (places[later] - _RADIUS, y)))
        for earlier, later in pairwise(sorted(bound))
    ]
    for row, variable in sorted(bound.items()):
        items.append(Circle(places[row], y, _RADIUS, variable, fill))
        name = fitted(variable, SMALL, 2 * _RADIUS - 4)
        items.append(Text(places[row], y - 8, (name,), size=SMALL, bold=True, hover=variable))
    return items
