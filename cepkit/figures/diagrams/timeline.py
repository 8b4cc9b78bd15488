"""The figure of matches in time: a row for each, its events as lettered marks on a line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from cepkit.columnar.results.shown import moment_text
from cepkit.figures.kit.panels import add_points
from cepkit.figures.kit.style import GRID, SMALL, TEXT, colour_of, figure, ink, message, symbol_of
from cepkit.figures.kit.texts import cut, shown
from cepkit.lazy import pd
from cepkit.stream.durations import duration_text
from cepkit.tables import number

_MARK = 20
_ROW = 30
_LANE = 20
_ERROR_BELOW = 12
"""How far below a mark the error of its clock stands."""
_APART = 0.03
"""The share of the axis that a mark takes; closer marks go to another lane."""
_SPREAD = 8
"""If matches are shorter than 1/8 of the time shown, each begins at zero."""
_HOVER_ATTRIBUTES = 12
_LEGEND_LENGTH = 40


@dataclass(frozen=True, slots=True)
class EventMark:
    """An event of a match.

    Attributes:
        match: The row, from 0.
        at: The place on the axis: seconds since the first event of the match, or of all; numeric
            times keep their unit.
        lane: Its lane, from 0: events close to each other get different ones.
        hover: Its time, type and attributes in lines of text.
        error: How far its clock may be off, in the unit of the axis.
    """

    match: int
    variable: int
    at: float
    lane: int
    hover: tuple[str, ...]
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class Timeline:
    """Matches in time, as they are drawn.

    Attributes:
        variables: Their names; marks refer to them by number.
        letters: The letters on their marks.
        starts: When each match begins, as a text.
        marks: In the order of match and time.
        since_start: Whether each match begins at zero.
        clock: The time at zero, if times are timestamps and not relative to each match.
        unit: The unit of the axis: "s", or "" for numeric times.
        certainty: Under uncertain clocks, whether each match is "certain" or "possible".
    """

    variables: tuple[str, ...]
    letters: tuple[str, ...]
    starts: tuple[str, ...]
    marks: tuple[EventMark, ...]
    since_start: bool
    clock: pd.Timestamp | None
    unit: str
    certainty: tuple[str, ...] = ()

    def is_possible(self, match: int) -> bool:
        """Return whether a match is possible, but not certain."""
        return bool(self.certainty) and self.certainty[match] == "possible"

    def lanes(self, match: int) -> int:
        """Return how many lanes the row of a match has."""
        return 1 + max(mark.lane for mark in self.marks if mark.match == match)


def timeline(
    tidy: pd.DataFrame, variables: Sequence[str], since_start: bool | None = None
) -> Timeline:
    """Return the timeline of matches.

    Args:
        tidy: From `cepkit.columnar.results.shown.timeline`.
        variables: In the pattern's order.
        since_start: Whether times are relative to the start of each match; None: if matches are so
            short that each would be a dot, unless each is of one moment.
    """
    numeric = pd.api.types.is_numeric_dtype(tidy["ts"].dtype)
    if numeric:
        seconds = tidy["ts"].astype(float)
    else:
        since = tidy["ts"] - tidy["ts"].min()
        seconds = since.dt.total_seconds() if len(tidy) else pd.Series(dtype=float)
    group = seconds.groupby(tidy["match"])
    first = group.transform("min")
    longest = float((seconds - first).max()) if len(tidy) else 0.0
    shown_time = float(seconds.max() - seconds.min()) if len(tidy) else 0.0
    apart = 0 < longest * _SPREAD < shown_time if since_start is None else since_start
    at = seconds - first if apart else seconds
    begin, span = float(at.min()) if len(tidy) else 0.0, longest if apart else shown_time
    numbers = {variable: i for i, variable in enumerate(variables)}
    errors: Any = tidy.get("clock_error")
    gaps = 0.0 if errors is None else errors if numeric else errors.dt.total_seconds()
    marks: list[EventMark] = []
    starts: list[str] = []
    for row, (_, events) in enumerate(tidy.assign(at=at, off=gaps).groupby("match", sort=True)):
        ends: list[float] = []
        starts.append(moment_text(events["ts"].iloc[0]))
        for _, event in events.iterrows():
            place = (float(event["at"]) - begin) / span if span else 0.0
            lane = next((i for i, end in enumerate(ends) if end + _APART <= place), len(ends))
            ends[lane : lane + 1] = [place]
            variable, when, off = numbers[event["variable"]], float(event["at"]), event["off"]
            marks.append(EventMark(row, variable, when, lane, _hover(event), float(off)))
    clock = None if numeric or apart or not len(tidy) else tidy["ts"].min()
    unit = "" if numeric else "s"
    certainty = tuple(tidy.groupby("match")["certainty"].first()) if "certainty" in tidy else ()
    return Timeline(
        tuple(variables), letters(variables), tuple(starts), tuple(marks), apart, clock, unit,
        certainty,
    )  # fmt: skip


def letters(variables: Sequence[str]) -> tuple[str, ...]:
    """Return the letters on the marks of variables: short names themselves, else A, B, C ..."""
    if all(len(variable) <= 2 and variable.isalnum() for variable in variables):
        return tuple(variables)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return tuple(
        alphabet[i % 26] + (str(i // 26) if i >= 26 else "") for i in range(len(variables))
    )


def draw_timeline(content: Timeline, *, more: bool = False) -> go.Figure:
    """Return the matches as a figure; `more` says that there are others."""
    count = len(content.starts)
    if not count:
        return message("timeline of the matches", "no matches")
    tops, height = tops_of(content)
    title = f"the first {count:,} matches" if more else f"{count:,} match{'es' * (count > 1)}"
    chart = figure(title, round(height) + 120)
    names = [
        letter if letter == name else f"{letter}: {cut(name, 30)}"
        for letter, name in zip(content.letters, content.variables, strict=True)
    ]
    below = 0
    if sum(map(len, names)) > _LEGEND_LENGTH:
        # A legend too long for one line above becomes a block below.
        below = 22 * math.ceil(len(names) / 2)
        chart.update_layout(legend={"y": 0, "yref": "container", "x": 0, "xanchor": "left"})
    chart.update_layout(height=round(height) + 120 + below, margin={"t": 64, "b": 56 + below})
    y = [tops[mark.match] + mark.lane * _LANE for mark in content.marks]
    x = [_x(content, mark.at) for mark in content.marks]
    _join(chart, content, x, y)
    _add_errors(chart, content, y)
    for place in range(len(names)):
        picked = [i for i, mark in enumerate(content.marks) if mark.variable == place]
        if not picked:
            continue
        letter, colour = content.letters[place], colour_of(place)
        add_points(
            chart,
            "markers+text",
            [x[i] for i in picked],
            [y[i] for i in picked],
            name=shown(names[place]),
            text=[shown(letter)] * len(picked),
            textfont={"size": SMALL, "color": ink(colour)},
            marker={"size": _MARK, "color": colour, "symbol": symbol_of(place),
                    "line": {"color": TEXT, "width": 0.8}},
            hovertext=["<br>".join(map(shown, content.marks[i].hover)) for i in picked],
            cliponaxis=False,
        )  # fmt: skip
    chart.update_xaxes(title_text=_axis_title(content), showgrid=True)
    chart.update_yaxes(
        tickvals=tops,
        ticktext=[shown(name) for name in names_of(content)],
        range=[height, -_ROW / 2],
        showgrid=False,
    )
    return chart


def names_of(content: Timeline) -> list[str]:
    """Return the label of each match: its number, and its start unless the axis shows it.

    An axis of timestamps labels only round times; a numeric axis is enough.
    """
    with_start = content.since_start or content.clock is not None
    names = [
        f"{i + 1} · {start}" if with_start else f"{i + 1}" for i, start in enumerate(content.starts)
    ]
    if not content.certainty:
        return names
    return [f"{name} · {word}" for name, word in zip(names, content.certainty, strict=True)]


def tops_of(content: Timeline) -> tuple[list[float], float]:
    """Return the y of each match's first lane, and the y of the end of the last row."""
    tops, y = [], _ROW / 2
    for match in range(len(content.starts)):
        tops.append(y)
        y += _ROW + (content.lanes(match) - 1) * _LANE
    return tops, y - _ROW / 2


def _join(chart: go.Figure, content: Timeline, x: list[Any], y: list[float]) -> None:
    for word, dash in (("certain", "solid"), ("possible", "dot")):
        points: list[tuple[Any, Any]] = []
        for i, mark in enumerate(content.marks):
            if content.is_possible(mark.match) != (word == "possible"):
                continue
            if points and mark.match != content.marks[i - 1].match:
                points.append((None, None))
            points.append((x[i], y[i]))
        if not points:
            continue
        line = {"color": GRID.replace("0.25", "0.7"), "width": 2, "dash": dash}
        named = {"name": word} if content.certainty else {}
        xs, ys = zip(*points, strict=True)
        add_points(chart, "lines", [*xs], [*ys], line=line, **named)


def _add_errors(chart: go.Figure, content: Timeline, y: list[float]) -> None:
    """Add below each mark the stretch in which its true time is."""
    ends: list[Any] = []
    heights: list[float | None] = []
    for mark, top in zip(content.marks, y, strict=True):
        if mark.error:
            low, high = (_x(content, mark.at + sign * mark.error) for sign in (-1, 1))
            ends += [low, low, low, high, high, high, None]
            below = top + _ERROR_BELOW + 4 * (mark.variable % 2)  # neighbours may overlap
            heights += [below - 2, below + 2, below, below, below - 2, below + 2, None]
    if ends:
        line = {"color": TEXT, "width": 1.5}
        add_points(chart, "lines", ends, heights, line=line, cliponaxis=False)


def _x(content: Timeline, at: float) -> object:
    if content.clock is None:
        return at
    # Wall-clock time of the events' own zone: plotly would convert it.
    return content.clock.tz_localize(None) + pd.Timedelta(seconds=at)


def _axis_title(content: Timeline) -> str:
    if content.since_start:
        return "since the match's first event" + (f", {content.unit}" if content.unit else "")
    if content.clock is None:
        return "time"
    return f"time, {shown(content.clock.tz)}" if content.clock.tz is not None else "time"


def _hover(event: pd.Series[Any]) -> tuple[str, ...]:
    attributes: Mapping[str, object] = event["attributes"]
    lines = [
        cut(f"{event['variable']}: {event['type']}", 120),
        moment_text(event["ts"]),
        *(cut(f"{k} = {v}", 80) for k, v in list(attributes.items())[:_HOVER_ATTRIBUTES]),
    ]
    if event.get("clock_error"):
        off = event["clock_error"]
        is_time = isinstance(off, pd.Timedelta)
        lines[1] += f" ± {duration_text(off // pd.Timedelta(1, 'us')) if is_time else number(off)}"
    if len(attributes) > _HOVER_ATTRIBUTES:
        lines.append(f"and {len(attributes) - _HOVER_ATTRIBUTES} more attributes")
    return tuple(lines)
