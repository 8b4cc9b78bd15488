"""Events as operations on prefixes, in their order of application.

An event at position p extends prefixes of length p - 1; an event that must be absent between p and
p + 1 ends all prefixes of length p. Events of equal time are applied from the last position to the
first, an absence after p + 1 and before p, so no event follows one of its own time. Operations are
sorted by time, then by that rule; most methods aggregate each key separately and need them sorted
by key first. Cost: one pass over the events, and one over the operations to sort them.

Source: ASEQ, sections 3.3 and 3.4 (recounting rule, hashed prefix counters).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.sequence.definition import EventSequence
from cepkit.aggregation.sequence.gathering import in_order, keys_of, needs_slots
from cepkit.compiling import compiled_beyond
from cepkit.pattern.evaluation.columns import truth
from cepkit.pattern.nodes import Event
from cepkit.stream.columns import Column, EventColumns

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Bits = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True)
class _Ordered:
    """The operations of a stream's events on the prefixes of a sequence, in some order.

    Attributes:
        length: How many positions the sequence has.
        window: As in `EventSequence`.
        ts: The time of each operation.
        codes: The code of each: 2 (length - p) extends to position p; one less, an odd number, ends
            the prefixes of length p.
        rows: The event of each.
        groups: The group of each key.
        group_rows: An event of each group.
        grouped: Whether there is GROUP BY.
        loops: int8[length + 1], 1 if an event at a position also extends prefixes that have
            reached it: it takes sets. 2 if also those of the position two before: at the one before
            are sets after which an absence was broken (`EventSequence.places`).
    """

    length: int
    window: int | None
    ts: Times
    codes: Ints
    rows: Ints
    groups: Ints
    group_rows: Ints
    grouped: bool
    loops: npt.NDArray[np.int8]

    @property
    def start_code(self) -> int:
        """The code of a START: an event at position 1."""
        return 2 * (self.length - 1)

    def __len__(self) -> int:
        return len(self.ts)


@dataclass(frozen=True, eq=False, slots=True)
class Interleaved(_Ordered):
    """Operations in stream order.

    Attributes:
        keys: The key of each; empty if all have the same.
    """

    keys: Ints

    @property
    def absences(self) -> bool:
        """Whether the sequence has negated events."""
        return bool((self.codes & 1).any())

    def by_key(self) -> Operations:
        """Return the operations sorted stably by key."""
        ts, codes, rows = self.ts, self.codes, self.rows
        starts = np.array([0, len(ts)], dtype=np.int64)
        if len(self.keys) or len(self.groups) != 1:
            starts = np.zeros(len(self.groups) + 1, dtype=np.int64)
            ts, codes, rows = np.empty_like(ts), np.empty_like(codes), np.empty_like(rows)
            _sort(self.keys, self.ts, self.codes, self.rows, starts, ts, codes, rows)
        return Operations(
            self.length, self.window, ts, codes, rows, self.groups, self.group_rows,
            self.grouped, self.loops, starts,
        )  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class Operations(_Ordered):
    """Operations sorted by key.

    Attributes:
        starts: Where the operations of each key begin, and the end.
    """

    starts: Times


def operations_of(sequence: EventSequence, columns: EventColumns) -> Interleaved:
    """Return the operations of the events."""
    # If no match is possible there are still triggers: of a sequence that never starts.
    possible = can_match(sequence)
    places = sequence.places
    n = len(places) if possible else max(2, len(places))
    at = {variable: p for p, variable in enumerate(places, 1)}
    events = [(2 * (n - at[e.variable]), e) for e in sequence.positive]
    events += [
        (2 * (n - at[sequence.positive[p - 1].variable]) - 1, e) for p, e in sequence.negated
    ]
    if not possible:
        events = [(0, sequence.positive[-1])]
    events.sort(key=lambda pair: pair[0])
    operations, _ = _operations(sequence, columns, n, events, {0})
    if not possible:
        return operations
    loops = np.zeros(n + 1, dtype=np.int8)
    for variable in sequence.repeated:
        loops[at[variable]] = places.count(variable)
    return replace(operations, loops=loops)


def can_match(sequence: EventSequence) -> bool:
    """Return whether window and constants allow any match."""
    fits = sequence.window is None or sequence.window >= 0
    return fits and all(bool(truth(part, _unread, 1)[0]) for part in sequence.constants)


def operations_in(
    sequence: EventSequence,
    columns: EventColumns,
    length: int,
    events: Sequence[tuple[int, Event]],
    triggers: Collection[int],
) -> tuple[Operations, Bits]:
    """Return the operations of some events, by key.

    Args:
        events: (code, event): those of one time are applied in this order.
        triggers: Events with these codes stay even if they have no key.

    Returns:
        The operations, and for each key whether its events have none.
    """
    operations, lost = _operations(sequence, columns, length, events, triggers)
    return operations.by_key(), lost


def _operations(
    sequence: EventSequence,
    columns: EventColumns,
    length: int,
    events: Sequence[tuple[int, Event]],
    triggers: Collection[int],
) -> tuple[Interleaved, Bits]:
    ts, codes, rows, slots = in_order(columns, sequence, events, slots=needs_slots(sequence))
    variables = [event.variable for _, event in events]
    keys, groups, group_rows = keys_of(sequence, columns, rows, slots, variables)
    lost = np.zeros(len(groups), dtype=np.bool_)
    if len(keys) and int(keys.min()) < 0:
        without = keys < 0
        lost[~keys[without]] = True
        stays = ~without | np.isin(codes, list(triggers))
        keys = np.where(without, ~keys, keys)[stays]
        ts, codes, rows = ts[stays], codes[stays], rows[stays]
    interleaved = Interleaved(
        length, sequence.window, ts, codes, rows, groups, group_rows, bool(sequence.group_by),
        np.zeros(length + 1, dtype=np.int8), keys,
    )  # fmt: skip
    return interleaved, lost


def _unread(variable: str, attribute: str) -> Column:
    raise AssertionError(f"a constant reads {variable}.{attribute}")


def in_stream_order(rows: npt.NDArray[np.integer]) -> Times:
    """Return the sorting order of distinct rows, in one pass."""
    at = np.full(int(rows.max(initial=-1)) + 1, -1, dtype=np.int64)
    at[rows] = np.arange(len(rows))
    return at[at >= 0]


@compiled_beyond(20_000)
def _sort(
    keys: Ints,
    ts: Times,
    codes: Ints,
    rows: Ints,
    starts: Times,
    ts_out: Times,
    codes_out: Ints,
    rows_out: Ints,
) -> None:
    """Sort operations stably by key, and write where each key begins."""
    for key in keys:
        starts[key + 1] += 1
    for k in range(1, starts.size):
        starts[k] += starts[k - 1]
    cursors = starts.copy()
    for i in range(keys.size):
        at = cursors[keys[i]]
        ts_out[at] = ts[i]
        codes_out[at] = codes[i]
        rows_out[at] = rows[i]
        cursors[keys[i]] = at + 1
