"""Events as operations on prefixes, in the order in which they must be applied.

An event that may stand at position p extends prefixes by one; one that must be absent between p
and p + 1 ends all prefixes of length p. Events of one time are applied from the last position to
the first, an absence after p + 1 and before p: so no event follows one of its own time. Operations
are sorted by key, then by time, then by that rule; each key is aggregated by itself.
Cost: one pass over the events, and one over the operations to sort them by key.

Source: ASEQ, sections 3.3 and 3.4 (recounting rule, hashed prefix counters).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from cepkit.aggregation.loops import compiled
from cepkit.aggregation.sequence import EventSequence
from cepkit.pattern.conditions import Expression
from cepkit.pattern.evaluation import truth
from cepkit.pattern.keys import dense_keys, partition_keys
from cepkit.pattern.nodes import Event
from cepkit.stream.columns import Column, EventColumns

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Bits = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True)
class Operations:
    """What the events of a stream do to the prefixes of a sequence.

    Attributes:
        length: How many positions the sequence has.
        window: As in `EventSequence`.
        ts: The time of each operation.
        codes: What each does: 2 (length - p) extends to position p, and one less than that,
            an odd number, ends the prefixes of length p.
        rows: The event of each.
        starts: Where the operations of each key begin, and the end.
        groups: The group of each key.
        group_rows: An event of each group.
        grouped: Whether there is GROUP BY.
    """

    length: int
    window: int | None
    ts: Times
    codes: Ints
    rows: Ints
    starts: Times
    groups: Ints
    group_rows: Ints
    grouped: bool

    @property
    def start_code(self) -> int:
        """The code of a START: an event at position 1."""
        return 2 * (self.length - 1)

    def __len__(self) -> int:
        return len(self.ts)


def operations_of(sequence: EventSequence, columns: EventColumns) -> Operations:
    """Return what the events do.

    Args:
        sequence: The query.
        columns: The stream, with the attributes that the sequence reads.
    """
    # Where there can be no match there are triggers still: of a sequence that never starts.
    possible = can_match(sequence)
    n = len(sequence.positive) if possible else max(2, len(sequence.positive))
    events = [(2 * (n - p), e) for p, e in enumerate(sequence.positive, 1)]
    events += [(2 * (n - p) - 1, e) for p, e in sequence.negated]
    if not possible:
        events = [(0, sequence.positive[-1])]
    events.sort(key=lambda pair: pair[0])
    found, _ = operations_in(sequence, columns, n, events, {0})
    return found


def can_match(sequence: EventSequence) -> bool:
    """Return whether any events could be a match, by the window and the constants."""
    fits = sequence.window is None or sequence.window >= 0
    return fits and all(bool(truth(part, _unread, 1)[0]) for part in sequence.constants)


def operations_in(
    sequence: EventSequence,
    columns: EventColumns,
    length: int,
    events: Sequence[tuple[int, Event]],
    triggers: Collection[int],
) -> tuple[Operations, Bits]:
    """Return what some events do, in their order.

    Args:
        sequence: Says filters and keys.
        columns: The stream, with the attributes that they read.
        length: Of the operations.
        events: (code, event): those of one time are applied in this order.
        triggers: The codes of which events stay that have no key.

    Returns:
        The operations, and for each key whether its events have none.
    """
    rows, slots = _in_order(columns, sequence, [event for _, event in events])
    codes = np.array([code for code, _ in events], dtype=np.int32)[slots]
    variables = [event.variable for _, event in events]
    keys, groups, group_rows = _keys(sequence, columns, rows, slots, variables)
    starts = np.array([0, len(rows)], dtype=np.int64)
    lost = np.zeros(len(groups), dtype=np.bool_)
    if keys is not None:
        without = keys < 0
        if without.any():
            lost[~keys[without]] = True
            kept = without & np.isin(codes, list(triggers))
            keys = np.where(kept, ~keys, np.where(without, np.int32(-1), keys))
        starts = np.zeros(len(groups) + 1, dtype=np.int64)
        order = np.empty(len(keys), dtype=np.int32)
        _counting_sort(keys, starts, order)
        order = order[: starts[-1]]
        rows, codes = rows[order], codes[order]
    ts = columns.ts[rows]
    grouped = bool(sequence.group_by)
    return (
        Operations(length, sequence.window, ts, codes, rows, starts, groups, group_rows, grouped),
        lost,
    )


def _unread(variable: str, attribute: str) -> Column:
    raise AssertionError(f"a constant reads {variable}.{attribute}")


def _in_order(
    columns: EventColumns, sequence: EventSequence, events: Sequence[Event]
) -> tuple[Ints, Ints]:
    """Return for all operations, in their order, the row and which of `events` it stands for."""
    filters = dict(sequence.filters)
    masks: list[Bits] = []
    mask_of = np.full(len(events), -1, dtype=np.int32)
    of_type: list[list[int]] = [[] for _ in columns.type_names]
    for slot, event in enumerate(events):
        wanted = [event.types is None or name in event.types for name in columns.type_names]
        for code in np.flatnonzero(wanted):
            of_type[code].append(slot)
        if event.variable in filters:
            mask_of[slot] = len(masks)
            masks.append(passing(columns, event, filters[event.variable]))
    begins = np.cumsum([0, *map(len, of_type)]).astype(np.int32)
    listed = np.array([slot for some in of_type for slot in some], dtype=np.int32)
    counts = np.bincount(columns.types, minlength=len(columns.type_names))
    most = int(counts @ np.diff(begins)) if len(counts) else 0
    rows, slots = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    number = _gather(
        columns.ts,
        columns.types.astype(np.int32, copy=False),
        begins,
        listed,
        mask_of,
        np.array(masks, dtype=np.bool_).reshape(len(masks), len(columns)),
        rows,
        slots,
    )
    return rows[:number], slots[:number]


def passing(columns: EventColumns, event: Event, conditions: Sequence[Expression]) -> Bits:
    """Return which events have a type of `event` and fulfil the conditions."""
    names = columns.type_names
    wanted = np.array([event.types is None or name in event.types for name in names], np.bool_)
    rows = np.flatnonzero(wanted[columns.types]) if len(names) else np.empty(0, np.int64)
    for condition in conditions:

        def read(_: str, name: str) -> Column:
            return columns.attributes[name].take(rows)  # noqa: B023 - read at once

        rows = rows[truth(condition, read, len(rows))]
    found = np.zeros(len(columns), dtype=np.bool_)
    found[rows] = True
    return found


@compiled
def _gather(
    ts: Times,
    types: Ints,
    begins: Ints,
    listed: Ints,
    mask_of: Ints,
    masks: Bits,
    rows: Ints,
    slots: Ints,
) -> int:
    """Write the operations of the events in order, and return how many there are."""
    number = 0
    n = ts.size
    i = 0
    while i < n:
        end = i + 1
        while end < n and ts[end] == ts[i]:
            end += 1
        if end == i + 1:
            for at in range(begins[types[i]], begins[types[i] + 1]):
                slot = listed[at]
                if mask_of[slot] < 0 or masks[mask_of[slot], i]:
                    rows[number] = i
                    slots[number] = slot
                    number += 1
        else:
            for slot in range(mask_of.size):
                for row in range(i, end):
                    for at in range(begins[types[row]], begins[types[row] + 1]):
                        if listed[at] == slot and (mask_of[slot] < 0 or masks[mask_of[slot], row]):
                            rows[number] = row
                            slots[number] = slot
                            number += 1
        i = end
    return number


def _keys(
    sequence: EventSequence,
    columns: EventColumns,
    rows: Ints,
    slots: Ints,
    variables: Sequence[str],
) -> tuple[Ints | None, Ints, Ints]:
    """Return the key of each operation, the group of each key, and a row of each group.

    An event without a key completes nothing; its key is the complement (~) of one that no other
    event has, so that a trigger can stay what it is. No keys at all: None, and one group.
    """
    one = np.zeros(1, dtype=np.int32)
    parts: list[tuple[Ints, int]] = []
    lost = np.zeros(len(rows), dtype=np.bool_)
    for key in sequence.keys:
        attributes = dict(key)
        distinct = list(dict.fromkeys(attributes.values()))
        coded, number = dense_keys([columns.attributes[name] for name in distinct])
        part = coded[0][rows]
        if len(distinct) > 1:
            for slot, variable in enumerate(variables):
                at = slots == slot
                part[at] = coded[distinct.index(attributes[variable])][rows[at]]
        missing = part < 0
        if missing.any():
            lost |= missing
            part[missing] = number
        parts.append((part, number + 1))
    if sequence.partition_by:
        found, number = partition_keys([columns.attributes[a] for a in sequence.partition_by])
        parts.append((found[rows], number))
    if not parts:
        return None, one, one
    keys, number = parts[0]
    for part, size in parts[1:]:
        joined, distinct_keys = pd.factorize(keys.astype(np.int64) * size + part)
        keys, number = joined.astype(np.int32), len(distinct_keys)
    groups = np.zeros(number, dtype=np.int32)
    group_rows = one
    if sequence.group_by:
        group_of, size = partition_keys([columns.attributes[a] for a in sequence.group_by])
        groups[keys] = group_of[rows]
        group_rows = np.zeros(size, dtype=np.int32)
        group_rows[group_of[::-1]] = np.arange(len(columns), dtype=np.int32)[::-1]
    return (np.where(lost, ~keys, keys) if lost.any() else keys), groups, group_rows


def in_stream_order(rows: npt.NDArray[np.integer]) -> Times:
    """Return the order that sorts rows, each of which is there once; in one pass."""
    at = np.full(int(rows.max(initial=-1)) + 1, -1, dtype=np.int64)
    at[rows] = np.arange(len(rows))
    return at[at >= 0]


@compiled
def _counting_sort(keys: Ints, starts: Times, order: Ints) -> None:
    """Sort operations by key, stably; negative keys are left out."""
    for i in range(keys.size):
        if keys[i] >= 0:
            starts[keys[i] + 1] += 1
    for k in range(1, starts.size):
        starts[k] += starts[k - 1]
    cursors = starts.copy()
    for i in range(keys.size):
        if keys[i] >= 0:
            order[cursors[keys[i]]] = i
            cursors[keys[i]] += 1
