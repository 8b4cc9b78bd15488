"""The figure of prefix counters at one moment, as tables.

A table for each piece, a row for each live START; cells that the step changed are highlighted and
show the amount added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from cepkit.errors import TraceError
from cepkit.figures.kit.canvas import BOLD, LINE_HEIGHT, Canvas, Card, Item, Line, Text, moved
from cepkit.figures.kit.plotly_canvas import laid_out
from cepkit.figures.kit.style import CHANGED, GRID, SIZE
from cepkit.figures.kit.texts import width_of, wrapped
from cepkit.figures.player.moments import Moment, moments_of
from cepkit.tables import number, whole
from cepkit.tracing import CounterTrace
from cepkit.tracing.counter_rows import StartCounters

_MOST_ROWS = 20
_MOST_SAVED = 6
_MOST_TERMS = 8
_PAD, _GAP, _MARGIN = 8.0, 40.0, 16.0
_SUMMARY, _MOST_LINES = 640.0, 4
"""The least width for the sum of live matches beside narrower tables, and its lines."""
_ROW = SIZE * LINE_HEIGHT + 6


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of a table: its lines, and whether the step changed it."""

    lines: tuple[str, ...]
    changed: bool = False


@dataclass(frozen=True, slots=True)
class PieceTable:
    """The counters of a piece.

    Attributes:
        title: The name of the piece.
        head: The name of each column.
        rows: The cells of each START.
        more: How many further rows there are.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    more: int


def draw_counter_table(trace: CounterTrace, *, step: int | None = None) -> go.Figure:
    """Return the counters after a step as a figure; it is returned, not shown.

    Args:
        trace: Of prefix counters, from `simulate`.
        step: The number of the step, as in the player; None for the last that can end a match, or
            else for the last.

    Raises:
        TraceError: There is no such step.
    """
    moments = moments_of([trace])
    place = _default(trace, moments) if step is None else step
    if not 0 <= place < len(moments):
        raise TraceError(
            f"no step {place:,} in a trace of {len(moments):,}",
            expected=f"0 to {len(moments) - 1:,}" if moments else "a stream with events",
        )
    title = _title(trace, moments[place], place)
    return laid_out(lambda room: layout(trace, moments, place, room), title)


def tables(trace: CounterTrace, moments: Sequence[Moment], place: int) -> tuple[PieceTable, ...]:
    """Return the tables to draw: the counters of each piece after a moment."""
    after, before = _counters(trace, moments, place), _counters(trace, moments, place - 1)
    earlier = {row.name: row for row in before}
    time = moments[place].time
    result = []
    for piece, variables in enumerate(trace.pieces):
        prefixes = (" ".join(variables[: n + 1]) for n in range(len(variables)))
        head = ["START", *(["left"] if trace.window is not None else [])]
        head += ["before it"] if piece else []
        rows = [row for row in after if row.piece == piece]
        title = " ".join(variables)
        result.append(
            PieceTable(
                f"piece {piece + 1}: {title}" if len(trace.pieces) > 1 else title,
                (*head, *prefixes),
                tuple(_row(trace, row, earlier.get(row.name), time) for row in rows[-_MOST_ROWS:]),
                max(0, len(rows) - _MOST_ROWS),
            )
        )
    return tuple(result)


def layout(
    trace: CounterTrace, moments: Sequence[Moment], place: int, room: float = math.inf
) -> Canvas:
    """Return the picture: the tables side by side, the sum of live matches below them.

    Args:
        room: The available width; tables that do not fit go below the others.
    """
    items: list[Item] = []
    left, top, bottom, right = float(_MARGIN), 0.0, 0.0, 0.0
    for table in tables(trace, moments, place):
        placed: list[Item] = []
        width, below = _placed(table, left, placed)
        dx = 0.0
        if left > _MARGIN and left + width + _MARGIN > room:
            dx, left, top = _MARGIN - left, _MARGIN, bottom + _ROW
        items += moved(placed, dx, top)
        right, bottom = max(right, left + width), max(bottom, below + top)
        left += width + _GAP
    summary = sum_text(trace, moments, place)
    wide = min(room, max(right + _MARGIN, _SUMMARY)) - 2 * _MARGIN
    lines = tuple(wrapped(summary, SIZE * BOLD, wide, _MOST_LINES))
    total = Text(_MARGIN, bottom + 12, lines, anchor="left", size=SIZE, bold=True, hover=summary)
    items.append(total)
    right = max(right, total.box()[2]) + _MARGIN
    return Canvas(right, bottom + 12 + total.height + 6 + _MARGIN, tuple(items), summary)


def sum_text(trace: CounterTrace, moments: Sequence[Moment], place: int) -> str:
    """Return the terms of the live matches: "live matches: a1 2 + a2 0 = 2, 2 new"."""
    last = len(trace.pieces) - 1
    rows = [row for row in _counters(trace, moments, place) if row.piece == last]
    if len(rows) > _MOST_TERMS:
        rows = [row for row in rows if any(saved.count for saved in row.whole())]
    terms = [_term(row) for row in rows[:_MOST_TERMS]]
    terms += ["…"] if len(rows) > _MOST_TERMS else []
    count = sum(saved.count for row in rows for saved in row.whole())
    total = f"{' + '.join(terms)} = {whole(count)}" if terms else whole(count)
    number_of = moments[place].steps[0]
    new = trace.steps[number_of].new if number_of is not None else 0
    return f"live matches: {total}{f', {whole(new)} new' if new else ''}"


def _term(row: StartCounters) -> str:
    name = f"{row.start or 'all'} "
    if not row.piece:
        return f"{name}{whole(row.counts[-1])}"
    saved = sum(one.count for one in row.snapshot)
    return f"{name}{whole(saved)} \N{MULTIPLICATION SIGN} {whole(row.counts[-1])}"


def _default(trace: CounterTrace, moments: Sequence[Moment]) -> int:
    triggers = [
        place
        for place, moment in enumerate(moments)
        if moment.steps[0] is not None and trace.steps[moment.steps[0]].trigger
    ]
    return triggers[-1] if triggers else max(0, len(moments) - 1)


def _counters(
    trace: CounterTrace, moments: Sequence[Moment], place: int
) -> tuple[StartCounters, ...]:
    """Return the counters after a moment: those of the last step up to it."""
    steps = (moment.steps[0] for moment in reversed(moments[: place + 1]))
    last = next((step for step in steps if step is not None), None)
    return () if last is None else trace.steps[last].counters


def _title(trace: CounterTrace, moment: Moment, place: int) -> str:
    first = trace.events.time[0] if trace.events.time else 0
    at = f"{number((moment.time - first) / 1e6)} s after the first event"
    if moment.event is not None:
        return f"{trace.name}, step {place}: {trace.events.name[moment.event]}, {at}"
    step = moment.steps[0]
    start = "" if step is None else trace.steps[step].event
    return f"{trace.name}, step {place}: {start} expires, {at}"


def _row(
    trace: CounterTrace, row: StartCounters, earlier: StartCounters | None, time: int
) -> tuple[TableCell, ...]:
    key = trace.keys[row.key]
    cells = [TableCell((f"{row.start or 'all'}{f' of {key}' if key else ''}",), earlier is None)]
    if trace.window is not None:
        cells.append(TableCell(("" if row.expires is None else _left(row.expires - time),)))
    if row.piece:
        lines = [f"{one.start or 'all'} {whole(one.count)}" for one in row.snapshot[-_MOST_SAVED:]]
        more = len(row.snapshot) - len(lines)
        cells.append(TableCell((*lines, *([f"and {more} older"] if more else [])) or ("nothing",)))
    before = (0,) * len(row.counts) if earlier is None else earlier.counts
    for old, new in zip(before, row.counts, strict=True):
        text = whole(new)
        if earlier is not None and old != new:
            text = (
                f"{whole(old)} + {whole(new - old)} = {text}"
                if new > old
                else f"{whole(old)} → {text}"
            )
        cells.append(TableCell((text,), old != new))
    return tuple(cells)


def _left(microseconds: int) -> str:
    return f"{number(max(0, microseconds) // 1000 / 1e3)} s"


def _placed(table: PieceTable, left: float, items: list[Item]) -> tuple[float, float]:
    """Put a table on the canvas; return its width and its bottom."""
    columns = [(head, [row[i] for row in table.rows]) for i, head in enumerate(table.head)]
    widths = [
        max(width_of(text, SIZE * BOLD) for text in (head, *(t for c in cells for t in c.lines)))
        + 2 * _PAD
        for head, cells in columns
    ]
    width = max(sum(widths), width_of(table.title, SIZE * BOLD))
    items.append(Text(left, 8, (table.title,), anchor="left", size=SIZE, bold=True))
    y = 8 + _ROW
    rights = [left + sum(widths[: i + 1]) - _PAD for i in range(len(widths))]

    def put(column: int, below: float, lines: tuple[str, ...], *, bold: bool = False) -> None:
        # STARTs are names, everything else is a number.
        if column:
            items.append(Text(rights[column], below, lines, anchor="right", size=SIZE, bold=bold))
        else:
            items.append(Text(left + _PAD, below, lines, anchor="left", size=SIZE, bold=bold))

    for column, head in enumerate(table.head):
        put(column, y, (head,))
    y += _ROW
    items.append(Line(((left, y - 2), (left + sum(widths), y - 2))))
    for row in table.rows:
        height = _ROW + (max(len(cell.lines) for cell in row) - 1) * SIZE * LINE_HEIGHT
        for column, (cell, wide) in enumerate(zip(row, widths, strict=True)):
            if cell.changed:
                corner = rights[column] + _PAD - wide + 1
                items.append(Card(corner, y, wide - 2, height - 2, fill=CHANGED))
            put(column, y + 2, cell.lines, bold=cell.changed)
        y += height
        items.append(Line(((left, y - 1), (left + sum(widths), y - 1)), colour=GRID))
    note = f"and {table.more:,} older" if table.more else "" if table.rows else "no live START"
    if note:
        items.append(Text(left, y + 2, (note,), anchor="left", size=SIZE))
        y += _ROW
    return width, y
