"""Prefix counting and Chop-Connect, step by step: for seeing how, not for speed.

Operations come in the order of time over all keys. Cost: O(live counters) for each, and as much
again to keep what they were.

Source: ASEQ, sections 3.1 to 3.3 and 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cepkit.aggregation.operations import Operations, operations_of
from cepkit.aggregation.sequence import EventSequence, sequence_of
from cepkit.aggregation.trace import Action, CounterTrace, Saved, StartCounters, Step
from cepkit.errors import LimitError, PatternError
from cepkit.pattern.query import Query
from cepkit.stream.columns import EventColumns

MOST_STEPS = 2_000


@dataclass(slots=True)
class _Row:
    """The counters of a START."""

    key: int
    piece: int
    start: str
    expires: int | None
    counts: list[int]
    snapshot: dict[str, Saved] = field(default_factory=dict)

    def frozen(self) -> StartCounters:
        saved = tuple(self.snapshot.values())
        return StartCounters(
            self.key, self.piece, self.start, self.expires, tuple(self.counts), saved
        )  # fmt: skip

    def whole(self) -> dict[str, Saved]:
        """Return how many matches of this piece and those before it there are, by their START."""
        if self.piece == 0:
            return {self.start: Saved(self.start, self.expires, self.counts[-1])}
        return {
            tag: Saved(tag, row.expires, row.count * self.counts[-1])
            for tag, row in self.snapshot.items()
        }


def pieces_of(
    sequence: EventSequence, pieces: Sequence[Sequence[str]] | None
) -> tuple[tuple[str, ...], ...]:
    """Return the variables of each piece.

    Args:
        sequence: The query.
        pieces: What the user said; None for one piece.

    Raises:
        PatternError: They are not the sequence, cut.
    """
    variables = tuple(event.variable for event in sequence.positive)
    if pieces is None:
        return (variables,)
    found = tuple(tuple(piece) for piece in pieces)
    if not all(found) or tuple(v for piece in found for v in piece) != variables:
        raise PatternError(
            f"the pieces {' | '.join(' '.join(piece) for piece in found)}",
            expected=f"all variables in their order, cut somewhere: {' '.join(variables)}",
        )
    return found


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
    cut = pieces_of(sequence, pieces)
    operations = operations_of(sequence, columns)
    if len(operations) > MOST_STEPS:
        raise LimitError(
            f"a trace of {len(operations):,} steps",
            expected=f"at most {MOST_STEPS:,}",
            hint="limit=100 takes the first hundred events",
        )
    tracing = _Tracing(operations, cut, _names(sequence, columns))
    return CounterTrace(query, cut, tuple(tracing.run(columns)), len(columns))


def _names(sequence: EventSequence, columns: EventColumns) -> list[str]:
    """Return a name for each event, as b2 for the second of the type of variable b."""
    variable_of: dict[str, str] = {}
    events = [*sequence.positive, *(event for _, event in sequence.negated)]
    for event in events:
        for name in columns.type_names if event.types is None else sorted(event.types):
            variable_of.setdefault(name, event.variable)
    seen: dict[str, int] = {}
    names = []
    for code in columns.types.tolist():
        variable = variable_of.get(columns.type_names[code], "")
        seen[variable] = seen.get(variable, 0) + 1
        names.append(f"{variable}{seen[variable]}")
    return names


class _Tracing:
    """The counters of all keys, and what was done with them."""

    def __init__(
        self, operations: Operations, pieces: tuple[tuple[str, ...], ...], names: list[str]
    ) -> None:
        self._operations = operations
        self._sizes = [len(piece) for piece in pieces]
        self._begins = np.cumsum([0, *self._sizes]).tolist()
        # Where there can be no match a position stands before the only one.
        if operations.length > self._begins[-1]:
            self._sizes, self._begins = [operations.length], [0, operations.length]
        self._names = names
        self._rows: list[_Row] = []
        self._count = 0

    def run(self, columns: EventColumns) -> list[Step]:
        """Return the steps of all operations."""
        given = self._operations
        keys = np.repeat(np.arange(len(given.groups)), np.diff(given.starts))
        order = np.lexsort((given.rows, given.codes, given.ts))
        steps: list[Step] = []
        for i in order.tolist():
            ts, code, row = int(given.ts[i]), int(given.codes[i]), int(given.rows[i])
            steps += self._expiries(ts)
            position = given.length - (code + 1) // 2
            action: Action = "end"
            if code % 2:
                self._end(int(keys[i]), position)
            else:
                action = self._take(int(keys[i]), position, ts, self._names[row])
            source = int(columns.source_rows(np.array([row]))[0])
            steps.append(
                self._step(ts, self._names[row], source, action, position, trigger=code == 0)
            )
        return [*steps, *self._expiries(None)]

    def _take(self, key: int, position: int, ts: int, name: str) -> Action:
        """Take an event at a position; say what it did."""
        piece = next(n for n, end in enumerate(self._begins[1:]) if position <= end)
        place = position - 1 - self._begins[piece]
        rows = [row for row in self._rows if row.key == key and row.piece == piece]
        if place:
            for row in rows:
                row.counts[place] += row.counts[place - 1]
            return "extend"
        window = self._operations.window
        if window is None and piece == 0:  # one row for all
            if not rows:
                rows = [_Row(key, 0, "", None, [0] * self._sizes[0])]
                self._rows += rows
            rows[0].counts[0] += 1
            return "start"
        expires = None if window is None else ts + window + 1
        counts = [1] + [0] * (self._sizes[piece] - 1)
        new = _Row(key, piece, name, expires, counts)
        for row in self._rows:
            if row.key != key or row.piece != piece - 1:
                continue
            for tag, saved in row.whole().items():
                known = new.snapshot.get(tag)
                count = saved.count + (0 if known is None else known.count)
                new.snapshot[tag] = Saved(tag, saved.expires, count)
        self._rows.append(new)
        return "start"

    def _end(self, key: int, position: int) -> None:
        """Take an event that must be absent after a position."""
        piece = next(n for n, end in enumerate(self._begins[1:]) if position <= end)
        place = position - 1 - self._begins[piece]
        for row in self._rows:
            if row.key == key and row.piece == piece:
                row.counts[place] = 0

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
                row.snapshot = {t: s for t, s in row.snapshot.items() if s.expires != moment}
            names = ", ".join(dict.fromkeys(row.start for row in gone))
            position = self._begins[gone[0].piece] + 1
            steps.append(self._step(moment, names, None, "expire", position, trigger=False))

    def _step(
        self, ts: int, name: str, row: int | None, action: Action, position: int, *, trigger: bool
    ) -> Step:
        last = len(self._sizes) - 1
        count = sum(s.count for r in self._rows if r.piece == last for s in r.whole().values())
        new = max(0, count - self._count) if trigger else 0
        self._count = count
        counters = tuple(row.frozen() for row in self._rows)
        return Step(ts, name, row, action, position, counters, count, new, trigger)
