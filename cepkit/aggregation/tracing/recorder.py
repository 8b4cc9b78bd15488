"""Prefix counting and Chop-Connect step by step: for study, not for speed.

Operations come in time order over all keys. Cost: O(live counters) for each.

Source: ASEQ, sections 3.1 to 3.3 and 4.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.sequence.definition import EventSequence, sequence_of
from cepkit.aggregation.sequence.operations import Operations, operations_of
from cepkit.errors import LimitError, PatternError, UnsupportedError, shown
from cepkit.indexing import repeated
from cepkit.lazy import pd
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.query import Query
from cepkit.progress import counted
from cepkit.stream.columns import EventColumns
from cepkit.tracing.counter_rows import Add, Change, Clear, Close, Drop, Open, Row, Rows, Save
from cepkit.tracing.counters import Action, CounterCounts, CounterTrace, Head
from cepkit.tracing.events import CountedEvents, shown_attributes, shown_values


def pieces_of(sequence: EventSequence, pieces: Any) -> tuple[tuple[str, ...], ...]:
    """Return the variables of each piece.

    Args:
        pieces: The pieces that the user gives, valid or not; None for one piece.

    Raises:
        PatternError: The pieces do not make up the sequence.
    """
    variables = tuple(event.variable for event in sequence.positive)
    if pieces is None:
        return (variables,)
    parts = pieces if isinstance(pieces, Sequence) else ("",)
    if isinstance(parts, str) or any(
        isinstance(p, str) or not isinstance(p, Sequence) for p in parts
    ):
        raise PatternError(
            f"plan={shown(pieces)} for prefix counters",
            expected="a list of the variables of each piece, as [['a', 'b'], ['c']]",
        )
    result = tuple(tuple(piece) for piece in pieces)
    if not all(result) or tuple(v for piece in result for v in piece) != variables:
        raise PatternError(
            f"the pieces {' | '.join(' '.join(piece) for piece in result)}",
            expected=f"all variables in their order, cut somewhere: {' '.join(variables)}",
        )
    return result


def traced_events(
    sequence: EventSequence, columns: EventColumns, rows: npt.NDArray[np.integer]
) -> CountedEvents:
    """Return the events of a trace.

    Args:
        rows: Which events, in stream order.
    """
    names = _event_names(sequence, columns)
    return CountedEvents(
        tuple(columns.source_rows(rows).tolist()),
        tuple(columns.ts[rows].tolist()),
        tuple(columns.type_names[code] for code in columns.types[rows].tolist()),
        shown_attributes(columns, sorted(sequence.attributes), rows),
        tuple(names[row] for row in rows.tolist()),
    )


def key_names(
    sequence: EventSequence,
    columns: EventColumns,
    operations: Operations,
    keys: npt.NDArray[np.integer],
) -> tuple[str, ...]:
    """Return names of the operations' keys: "customer 17"."""
    rows = range(len(columns))
    values = {name: shown_values(columns.attributes[name], rows) for name in sequence.attributes}
    names = []
    for begin in operations.starts[keys].tolist():
        row = int(operations.rows[begin])
        kind = columns.type_names[columns.types[row]]
        equal = _equal(sequence, operations.length, int(operations.codes[begin]), kind)
        parts = [f"{name} {_text(values[name][row])}" for name in (*equal, *sequence.partition_by)]
        names.append(", ".join(dict.fromkeys(parts)))
    return tuple(names)


def _equal(sequence: EventSequence, length: int, code: int, kind: str) -> list[str]:
    """Return the attributes that make up the key of an event, by its operation."""
    position = length - (code + 1) // 2
    if code % 2:
        absent = (event for place, event in sequence.negated if place == position)
        event = next(e for e in absent if e.may_have(kind))
    else:
        event = sequence.positive[min(position, len(sequence.positive)) - 1]
    return [dict(key)[event.variable] for key in sequence.keys]


def _text(value: Any) -> str:
    return "null" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _event_names(sequence: EventSequence, columns: EventColumns) -> list[str]:
    """Return a name for each event, as b2 for the second event of variable b's type."""
    variable_of: dict[str, str] = {}
    for event in (*sequence.positive, *(event for _, event in sequence.negated)):
        for name in columns.type_names if event.types is None else sorted(event.types):
            variable_of.setdefault(name, event.variable)
    counts: dict[str, int] = {}
    names = []
    for code in columns.types.tolist():
        kind = columns.type_names[code]
        word = variable_of.get(kind, kind)
        counts[word] = counts.get(word, 0) + 1
        # The second event of `a1` must not be called like the twelfth of `a`.
        names.append(f"{word}{'.' if word[-1:].isdigit() else ''}{counts[word]}")
    return names


MOST_STEPS = 2_000

Numbers: TypeAlias = npt.NDArray[np.integer]


def trace(
    columns: EventColumns, query: Query, pieces: Sequence[Sequence[str]] | None = None
) -> CounterTrace:
    """Return a trace of prefix counters over a stream.

    Args:
        query: A sequence; its aggregates are ignored, matches are counted.
        pieces: The variables of each piece; None for one.

    Raises:
        UnsupportedError: The query is no sequence, or has HAVING.
        PatternError: The pieces are not the sequence.
        LimitError: There are too many steps to keep.
    """
    if query.having:
        raise UnsupportedError(
            "a pattern with HAVING cannot be traced: a trace shows the count at each step",
            hint="leave HAVING out; aggregate applies it",
            span=query.having[0].span,
        )
    sequence = sequence_of(query)
    if sequence.repeated:
        raise UnsupportedError(
            "a pattern with KL cannot be traced by prefix counters: a set feeds its own counter",
            hint="aggregate counts it; the mechanisms of `simulate` show it with its sets",
        )
    check_kinds(query, columns.kinds)
    cut = pieces_of(sequence, pieces)
    operations = operations_of(sequence, columns).by_key()
    if len(operations) > MOST_STEPS:
        raise LimitError(
            f"a trace of {len(operations):,} steps",
            expected=f"at most {MOST_STEPS:,}",
            hint="limit=100 takes the first hundred events",
        )
    # In a stream with very many events, those without an effect are not worth keeping.
    few = len(columns) <= MOST_STEPS
    rows = np.arange(len(columns)) if few else np.unique(operations.rows)
    events = traced_events(sequence, columns, rows)
    order = np.lexsort((operations.rows, operations.codes, operations.ts))
    keys = repeated(np.arange(len(operations.groups)), np.diff(operations.starts))[order]
    numbers, distinct = pd.factorize(keys)
    tracing = _Tracing(operations, cut, events)
    tracing.run(order, numbers, np.searchsorted(rows, operations.rows))
    return CounterTrace(
        pattern=str(query),
        pieces=cut,
        absent=tuple((position, event.variable) for position, event in sequence.negated),
        window=sequence.window,
        keys=key_names(sequence, columns, operations, distinct),
        events=events,
        heads=tuple(tracing.heads),
        operations=tuple(tracing.changes),
        counters=tuple(tracing.counters),
        looked_at=len(columns),
    )


class _Tracing:
    """The counters of all keys, and the steps so far."""

    def __init__(
        self, operations: Operations, pieces: tuple[tuple[str, ...], ...], events: CountedEvents
    ) -> None:
        self.heads: list[Head] = []
        self.changes: list[tuple[Change, ...]] = []
        self.counters: list[CounterCounts] = []
        self._operations = operations
        self._begins = np.cumsum([0, *map(len, pieces)]).tolist()
        self._rows = Rows([len(piece) for piece in pieces], events.name)
        self._begun: dict[tuple[int, str], int] = {}
        self._step: list[Change] = []

    def run(self, order: Numbers, keys: Numbers, numbers: Numbers) -> None:
        """Do all operations, a step each.

        Args:
            numbers: For each operation its event's place among those of the trace.
        """
        operations = self._operations
        for i, key in counted([*zip(order.tolist(), keys.tolist(), strict=True)]):
            ts, code, event = int(operations.ts[i]), int(operations.codes[i]), int(numbers[i])
            self._expire(ts)
            position = operations.length - (code + 1) // 2
            action: Action = "end"
            if position > self._begins[-1]:
                # If no match is possible, an unreachable position precedes the only one.
                action, position, updates = "extend", self._begins[-1], 0
            elif code % 2:
                updates = self._end(key, position)
            else:
                action, updates = self._take(key, position, ts, event)
            self._keep(Head(ts, event, key, action, position, code == 0), updates)
        self._expire(None)

    def _do(self, change: Change) -> None:
        self._rows.apply(change)
        self._step.append(change)

    def _add(self, row: Row, place: int, added: int) -> None:
        if added:
            self._do(Add(row.number, place, row.counts[place], added))

    def _place(self, position: int) -> tuple[int, int]:
        """Return the piece of a position, and its place there."""
        piece = next(n for n, end in enumerate(self._begins[1:]) if position <= end)
        return piece, position - 1 - self._begins[piece]

    def _take(self, key: int, position: int, ts: int, event: int) -> tuple[Action, int]:
        """Apply an event at a position; return a description, and the number of writes."""
        piece, place = self._place(position)
        rows = self._rows.of(key, piece)
        if place:
            for row in rows:
                self._add(row, place, row.counts[place - 1])
            return "extend", len(rows)
        window = self._operations.window
        number = self._rows.opened
        if window is None and piece == 0:  # one row for all
            if not rows:
                self._do(Open(number, key, piece, None, None))
                self._begun[key, ""] = number
            self._add(self._rows.of(key, piece)[0], 0, 1)
            return "start", 1
        self._do(Open(number, key, piece, event, None if window is None else ts + window + 1))
        new = self._rows.row(number)
        if piece == 0:
            self._begun[key, new.start] = number
        before: Counter[int] = Counter()
        for row in self._rows.of(key, piece - 1):
            for saved in row.frozen().whole():
                before[self._begun[key, saved.start]] += saved.count
        for start, count in before.items():
            self._do(Save(number, start, count))
        self._add(new, 0, 1)
        return "start", 1 + len(before)

    def _end(self, key: int, position: int) -> int:
        """Apply an event that must be absent after a position; return the number of writes."""
        piece, place = self._place(position)
        rows = self._rows.of(key, piece)
        for row in rows:
            if row.counts[place]:
                self._do(Clear(row.number, place, row.counts[place]))
        return len(rows)

    def _expire(self, now: int | None) -> None:
        """Expire matches up to a time; None: all."""
        while True:
            ends = [row.expires for row in self._rows.live if row.expires is not None]
            moment = min(ends, default=None)
            if moment is None or (now is not None and moment > now):
                return
            ended = [row for row in self._rows.live if row.expires == moment]
            for row in ended:
                self._do(Close(row.number))
            for row in self._rows.live:
                for start in [n for n, one in row.snapshot.items() if one.expires == moment]:
                    self._do(Drop(row.number, start))
            position = self._begins[ended[0].piece] + 1
            self._keep(Head(moment, None, None, "expire", position, False), 0)

    def _keep(self, head: Head, updates: int) -> None:
        """End a step."""
        last = len(self._begins) - 2
        rows = list(self._rows.live)
        count = sum(row.matches for row in rows if row.piece == last)
        known = self.counters[-1] if self.counters else CounterCounts(0, 0, 0, 0, 0)
        self.heads.append(head)
        self.changes.append(tuple(self._step))
        self._step.clear()
        self.counters.append(
            CounterCounts(
                count,
                max(0, count - known.matches) if head.trigger else 0,
                len(rows),
                sum(len(row.snapshot) for row in rows),
                known.updates + updates,
            )
        )
