"""The figure of a verdict: events on a time line, and the requirements that hold and fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from cepkit.columnar.results.shown import moment_text
from cepkit.diagnosis.result import AnswerEvent, WhyNot
from cepkit.diagnosis.words import duration_text
from cepkit.figures.charts.funnel import draw_funnel
from cepkit.figures.diagrams.timeline import letters
from cepkit.figures.kit.canvas import Canvas, Circle, Dash, Item, Line, Text
from cepkit.figures.kit.plotly_canvas import laid_out
from cepkit.figures.kit.style import GRID, SIZE, SMALL, VERMILLION, colour_of, ink
from cepkit.figures.kit.texts import cut, fitted, width_of, wrapped
from cepkit.pattern.policies import TimeWindow, window_text
from cepkit.pattern.requirements import text_of

WIDTH = 860
_LEFT, _RIGHT = 28, 28
_RADIUS = 10
_LANE = 58
_LABEL = 150
_ABOVE = 31
"""The height from a mark to the top of its label."""
_CULPRITS = 3
_OTHERS = 4
_HOLDING = 12


@dataclass(frozen=True, slots=True)
class PlacedEvent:
    """An event on the line of time.

    Attributes:
        letter: The letter on its mark.
        number: The number of its variable; -1 for an event that must be absent.
        role: "given", "found" (chosen for a variable that was not given), "other" (a further
            candidate) or "culprit".
        x: In pixels.
        lane: Events whose labels would touch have lanes of their own, from 0.
    """

    event: AnswerEvent
    letter: str
    number: int
    role: str
    x: float
    lane: int


def placed(why: WhyNot, width: float = WIDTH) -> tuple[PlacedEvent, ...]:
    """Return the events of a verdict with their places on the line of time."""
    variables = list(dict.fromkeys(s.variable for s in (*why.events, *why.culprits)))
    names = dict(zip(variables, letters(variables), strict=True))
    shown_events = {s.event for s in why.events}
    others: list[AnswerEvent] = []
    for miss in why.near_misses:
        for event in miss.events:
            if event.event not in shown_events and len(others) < _OTHERS:
                shown_events.add(event.event)
                others.append(event)
    culprits = [s for s in why.culprits if s.event not in shown_events][:_CULPRITS]
    wrong = {s.event for s in why.culprits}
    roles = [
        (s, "culprit" if s.event in wrong else "given" if s.given else "found") for s in why.events
    ]
    roles += [(s, "other") for s in others] + [(s, "culprit") for s in culprits]
    roles.sort(key=lambda pair: pair[0].time)
    place = _scale(why, [s for s, _ in roles], width)
    ends: list[float] = []
    marks = []
    for event, role in roles:
        x = place(event.time)
        half = max(width_of(line, SMALL) for line in _label(event)) / 2 + 6
        left = min(max(x - half, 0.0), width - 2 * half)
        lane = next((i for i, end in enumerate(ends) if end <= left), len(ends))
        ends[lane : lane + 1] = [left + 2 * half]
        number = -1 if role == "culprit" else variables.index(event.variable)
        marks.append(PlacedEvent(event, names[event.variable], number, role, x, lane))
    return tuple(marks)


def draw_why_not(why: WhyNot) -> go.Figure:
    """Return the answer of `why_not`: its events in time, or its funnel; returned, not shown."""
    return draw_verdict(why) if why.events else draw_funnel(why.funnel, why.reason)


def draw_verdict(why: WhyNot) -> go.Figure:
    """Return the verdict on named events; the figure is returned, not shown."""
    return laid_out(lambda room: layout(why, room), cut(why.reason, 110))


def layout(why: WhyNot, width: float = WIDTH) -> Canvas:
    """Return the picture of a verdict."""
    marks = placed(why, width)
    lanes = 1 + max((mark.lane for mark in marks), default=0)
    axis = 8.0 + lanes * _LANE
    items: list[Item] = [Line(((_LEFT, axis), (width - _RIGHT, axis)), colour=GRID)]
    for mark in marks:
        items += _mark(mark, axis, _foot(mark, marks, axis, width), width)
    y = axis + _RADIUS + 4
    if marks:
        first, last = marks[0], marks[-1]
        start = moment_text(np.datetime64(first.event.time, "us"))
        length = duration_text(last.event.time - first.event.time)
        items.append(Text(first.x - 4, y, (start,), "left", SMALL))
        if last.x - first.x > width_of(start, SMALL) + width_of(length, SMALL) + 20:
            items.append(Text(last.x + 4, y, (f"+ {length}",), "right", SMALL))
    y += 24
    window = why.query.window
    own = [m for m in marks if m.role in ("given", "found")]
    if isinstance(window, TimeWindow) and len(own) > 1:
        items += _window(why, own, y, width)
        y += 26
    failing = [f for f in why.requirements if f.holds is not True]
    holding = [f for f in why.requirements if f.holds is True]
    for finding in failing:
        word = "fails" if finding.holds is False else "open"
        text = f"{text_of(finding.requirement)}: {finding.detail}"
        lines = tuple(wrapped(text, SIZE, width - _LEFT - 84, 3))
        items.append(Text(_LEFT, y, (word,), "left", SIZE, True))
        detail = Text(_LEFT + 52, y, lines, "left", SIZE, hover=text)
        items.append(detail)
        y += detail.height + 5
    for finding in holding[:_HOLDING]:
        text = f"{text_of(finding.requirement)}: {finding.detail}"
        items.append(Text(_LEFT, y, ("holds",), "left", SMALL))
        line = fitted(text, SMALL, width - _LEFT - 84)
        items.append(Text(_LEFT + 52, y, (line,), "left", SMALL, hover=text))
        y += 18
    if len(holding) > _HOLDING:
        more = f"and {len(holding) - _HOLDING} more hold"
        items.append(Text(_LEFT + 52, y, (more,), "left", SMALL))
        y += 18
    return Canvas(width, y + 12, tuple(items), why.reason)


def _scale(why: WhyNot, events: list[AnswerEvent], width: float) -> Callable[[int], float]:
    """Return where on the line a time lies."""
    times = [s.time for s in events] or [0]
    begin, end = min(times), max(times)
    window = why.query.window
    if isinstance(window, TimeWindow):
        # So that the window can be seen, unless the events would be dots.
        end = max(end, min(begin + window.microseconds, begin + 4 * (end - begin)))
    span = max(1, end - begin)
    room = width - _LEFT - _RIGHT - 2 * _RADIUS

    def place(time: int) -> float:
        return _LEFT + _RADIUS + (time - begin) / span * room

    return place


def _window(why: WhyNot, own: list[PlacedEvent], y: float, width: float) -> list[Item]:
    """Return the window as a bar that begins with the first event."""
    window = why.query.window
    assert isinstance(window, TimeWindow)
    times = [m.event.time for m in own]
    place = _scale(why, [m.event for m in placed(why, width)], width)
    end = place(min(times) + window.microseconds)
    ahead = end > width - _RIGHT
    stop = min(end, width - _RIGHT)
    begin = place(min(times))
    items: list[Item] = [Line(((begin, y), (stop, y)), arrow=ahead)]
    items.append(Line(((begin, y - 5), (begin, y + 5))))
    if not ahead:
        items.append(Line(((stop, y - 5), (stop, y + 5))))
    text = f"within {window_text(window)}"
    x = min(max((begin + stop) / 2, 0), width)
    half = width_of(text, SMALL) / 2
    x = min(max(x, half + 4), width - half - 4)
    items.append(Text(x, y + 4, (text,), "center", SMALL))
    return items


def _label(event: AnswerEvent) -> tuple[str, str]:
    return fitted(event.name, SMALL, _LABEL), fitted(event.type, SMALL, _LABEL)


def _middle(mark: PlacedEvent, width: float) -> tuple[float, float]:
    """Return the middle of a mark's label, inside of the picture, and half its width."""
    half = max(width_of(line, SMALL) for line in _label(mark.event)) / 2
    return min(max(mark.x, half + 2), width - half - 2), half


def _foot(mark: PlacedEvent, marks: tuple[PlacedEvent, ...], axis: float, width: float) -> float:
    """Return down to where the stem of a mark goes: the axis, or the first label in its way."""
    tops = [
        axis - other.lane * _LANE - _RADIUS - _ABOVE
        for other in marks
        if other.lane < mark.lane
        for middle, half in (_middle(other, width),)
        if abs(mark.x - middle) <= half + 2
    ]
    return min(tops, default=axis)


def _mark(mark: PlacedEvent, axis: float, foot: float, width: float) -> list[Item]:
    event = mark.event
    y = axis - mark.lane * _LANE
    hover = "\n".join(
        [
            f"{event.variable} = {event.name}: {event.type}",
            moment_text(np.datetime64(event.time, "us")),
        ]
        + [f"{name} = {value}" for name, value in event.values.items()]
    )
    colour = VERMILLION if mark.role == "culprit" else colour_of(mark.number)
    full = mark.role != "other"
    dash: Dash = "solid" if full else "dot"
    label = _label(event)
    x, _ = _middle(mark, width)
    stem = Line(((mark.x, y + _RADIUS), (mark.x, foot)), colour=GRID)
    return [
        *([stem] if mark.lane else []),
        Circle(mark.x, y, _RADIUS, hover, colour if full else None, dash, mark.role == "culprit"),
        Text(mark.x, y - SMALL * 0.65, (mark.letter,), "center", SMALL,
             colour=ink(colour) if full else None, hover=hover),
        Text(x, y - _RADIUS - _ABOVE, label, "center", SMALL, mark.role == "given", hover=hover),
    ]  # fmt: skip
