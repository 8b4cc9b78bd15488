"""Prefix counting and Chop-Connect, step by step: for seeing how, not for speed.

Operations come in the order of time over all keys. Cost: O(live counters) for each; to keep them
costs as much, but what stays as it was is kept once.

Source: ASEQ, sections 3.1 to 3.3 and 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from cepkit.aggregation.sequence.definition import sequence_of
from cepkit.aggregation.sequence.operations import Operations, operations_of
from cepkit.aggregation.tracing.names import key_names, pieces_of, traced_events
from cepkit.aggregation.tracing.records import (
    Action,
    CountedEvents,
    Saved,
    StartCounters,
    Step,
)
from cepkit.aggregation.tracing.trace import CounterTrace
from cepkit.errors import LimitError
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.query import Query
from cepkit.stream.columns import EventColumns

MOST_STEPS = 2_000

Numbers: TypeAlias = npt.NDArray[np.integer]


@dataclass(slots=True)
class _Row:
    """The counters of a START."""

    key: int
    piece: int
    start: str
    expires: int | None
    counts: list[int]
    snapshot: dict[str, Saved] = field(default_factory=dict)
    kept: StartCounters | None = None
    saved: tuple[Saved, ...] | None = None

    def frozen(self) -> StartCounters:
        """Return the counters as they are now: the same object until they change."""
        if self.kept is None:
            if self.saved is None:  # one for all steps: it is as long as there are STARTs
                self.saved = tuple(self.snapshot.values())
            self.kept = StartCounters(
                self.key, self.piece, self.start, self.expires, tuple(self.counts), self.saved
            )
        return self.kept

    def set(self, place: int, count: int) -> None:
        """Change a counter."""
        if self.counts[place] != count:
            self.counts[place] = count
            self.kept = None

    def drop(self, moment: int) -> None:
        """Forget what of the snapshot expires then."""
        left = {tag: row for tag, row in self.snapshot.items() if row.expires != moment}
        if len(left) < len(self.snapshot):
            self.snapshot, self.kept, self.saved = left, None, None


def trace(
    columns: EventColumns, query: Query, pieces: Sequence[Sequence[str]] | None = None
) -> CounterTrace:
    """Return what prefix counters do with each event of a stream.

    Args:
        columns: The events, with the attributes that the query reads.
        query: A sequence; what it aggregates does not matter, matches are counted.
        pieces: The variables of each piece; None for one.

    Raises:
        UnsupportedError: The query is no sequence.
        PatternError: The pieces are not the sequence.
        LimitError: There are too many steps to keep.
    """
    sequence = sequence_of(query)
    check_kinds(query, columns.kinds)
    cut = pieces_of(sequence, pieces)
    operations = operations_of(sequence, columns).by_key()
    if len(operations) > MOST_STEPS:
        raise LimitError(
            f"a trace of {len(operations):,} steps",
            expected=f"at most {MOST_STEPS:,}",
            hint="limit=100 takes the first hundred events",
        )
    # Of a stream with very many events those that do nothing are not worth keeping.
    few = len(columns) <= MOST_STEPS
    rows = np.arange(len(columns)) if few else np.unique(operations.rows)
    events = traced_events(sequence, columns, rows)
    order = np.lexsort((operations.rows, operations.codes, operations.ts))
    keys = np.repeat(np.arange(len(operations.groups)), np.diff(operations.starts))[order]
    numbers, distinct = pd.factorize(keys)
    tracing = _Tracing(operations, cut, events)
    return CounterTrace(
        str(query),
        cut,
        tuple((position, event.variable) for position, event in sequence.negated),
        sequence.window,
        key_names(sequence, columns, operations, distinct),
        events,
        tuple(tracing.run(order, numbers, np.searchsorted(rows, operations.rows))),
        len(columns),
    )


class _Tracing:
    """The counters of all keys, and what was done with them."""

    def __init__(
        self, operations: Operations, pieces: tuple[tuple[str, ...], ...], events: CountedEvents
    ) -> None:
        self._operations = operations
        self._begins = np.cumsum([0, *map(len, pieces)]).tolist()
        self._sizes = [len(piece) for piece in pieces]
        self._events = events
        self._rows: list[_Row] = []
        self._count = 0

    def run(self, order: Numbers, keys: Numbers, numbers: Numbers) -> list[Step]:
        """Return the steps of all operations.

        Args:
            order: The operations in the order of time.
            keys: The key of each of them, in that order.
            numbers: For each operation its event's place among those of the trace.
        """
        given = self._operations
        steps: list[Step] = []
        for i, key in zip(order.tolist(), keys.tolist(), strict=True):
            ts, code, number = int(given.ts[i]), int(given.codes[i]), int(numbers[i])
            steps += self._expiries(ts)
            position = given.length - (code + 1) // 2
            action: Action = "end"
            if position > self._begins[-1]:
                # Where there can be no match a position that nothing reaches stands before the
                # only one.
                action, position, updates = "extend", self._begins[-1], 0
            elif code % 2:
                updates = self._end(key, position)
            else:
                action, updates = self._take(key, position, ts, self._events.name[number])
            steps.append(
                self._step(ts, number, key, action, position, trigger=code == 0, updates=updates)
            )
        return [*steps, *self._expiries(None)]

    def _rows_of(self, key: int, piece: int) -> list[_Row]:
        return [row for row in self._rows if row.key == key and row.piece == piece]

    def _place(self, position: int) -> tuple[int, int]:
        """Return in which piece a position is, and where in it."""
        piece = next(n for n, end in enumerate(self._begins[1:]) if position <= end)
        return piece, position - 1 - self._begins[piece]

    def _take(self, key: int, position: int, ts: int, name: str) -> tuple[Action, int]:
        """Take an event at a position; say what it did, and how much it wrote."""
        piece, place = self._place(position)
        rows = self._rows_of(key, piece)
        if place:
            for row in rows:
                row.set(place, row.counts[place] + row.counts[place - 1])
            return "extend", len(rows)
        window = self._operations.window
        if window is None and piece == 0:  # one row for all
            if not rows:
                rows = [_Row(key, 0, "", None, [0] * self._sizes[0])]
                self._rows += rows
            rows[0].set(0, rows[0].counts[0] + 1)
            return "start", 1
        expires = None if window is None else ts + window + 1
        new = _Row(key, piece, name, expires, [1] + [0] * (self._sizes[piece] - 1))
        for row in self._rows_of(key, piece - 1):
            for saved in row.frozen().whole():
                known = new.snapshot.get(saved.start)
                count = saved.count + (0 if known is None else known.count)
                new.snapshot[saved.start] = Saved(saved.start, saved.expires, count)
        self._rows.append(new)
        return "start", 1 + len(new.snapshot)

    def _end(self, key: int, position: int) -> int:
        """Take an event that must be absent after a position; return how much it wrote."""
        piece, place = self._place(position)
        rows = self._rows_of(key, piece)
        for row in rows:
            row.set(place, 0)
        return len(rows)

    def _expiries(self, now: int | None) -> list[Step]:
        """Let expire what does up to a time; None: all."""
        steps: list[Step] = []
        while True:
            ends = [row.expires for row in self._rows if row.expires is not None]
            moment = min(ends, default=None)
            if moment is None or (now is not None and moment > now):
                return steps
            gone = [row for row in self._rows if row.expires == moment]
            self._rows = [row for row in self._rows if row.expires != moment]
            for row in self._rows:
                row.drop(moment)
            position = self._begins[gone[0].piece] + 1
            names = ", ".join(dict.fromkeys(row.start for row in gone))
            steps.append(self._step(moment, None, None, "expire", position, name=names))

    def _step(
        self,
        ts: int,
        number: int | None,
        key: int | None,
        action: Action,
        position: int,
        *,
        name: str = "",
        trigger: bool = False,
        updates: int = 0,
    ) -> Step:
        last = len(self._sizes) - 1
        counters = tuple(row.frozen() for row in self._rows)
        count = sum(s.count for row in counters if row.piece == last for s in row.whole())
        new = max(0, count - self._count) if trigger else 0
        self._count = count
        row = None
        if number is not None:
            name, row = self._events.name[number], self._events.row[number]
        return Step(
            ts, name, row, number, key, action, position, counters, count, new, trigger, updates
        )
