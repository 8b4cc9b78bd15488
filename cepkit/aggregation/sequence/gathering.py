"""Operations of a sequence gathered from a stream in one pass.

An event may be several operations. Events of equal time become operations in the requested order,
regardless of the order of the events. Cost: O(events).

Source: ASEQ, sections 3.3 and 3.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.sequence.definition import EventSequence
from cepkit.compiling import compiled_beyond, inlined
from cepkit.indexing import bin_counts, value_codes
from cepkit.pattern.conditions import Expression
from cepkit.pattern.evaluation.columns import truth
from cepkit.pattern.keys import dense_keys, partition_keys
from cepkit.pattern.nodes import Event
from cepkit.stream.columns import Column, EventColumns

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Bits = npt.NDArray[np.bool_]


def in_order(
    columns: EventColumns,
    sequence: EventSequence,
    events: Sequence[tuple[int, Event]],
    *,
    slots: bool,
) -> tuple[Times, Ints, Ints, Ints]:
    """Return all operations in their order: the time, the code and the row of each.

    Args:
        events: (code, event): those of one time are applied in this order.
        slots: Whether to return also which of `events` each operation stands for, as the last
            array.
    """
    filters = dict(sequence.filters)
    masks: list[Bits] = []
    mask_of = np.full(len(events), -1, dtype=np.int32)
    of_type: list[list[int]] = [[] for _ in columns.type_names]
    for slot, (_, event) in enumerate(events):
        fits_type = [event.may_have(name) for name in columns.type_names]
        for code in np.flatnonzero(fits_type):
            of_type[code].append(slot)
        if event.variable in filters:
            mask_of[slot] = len(masks)
            masks.append(passing(columns, event, filters[event.variable]))
    begins = np.cumsum([0, *map(len, of_type)]).astype(np.int32)
    listed = np.array([slot for some in of_type for slot in some], dtype=np.int32)
    counts = bin_counts(columns.types, minlength=len(columns.type_names))
    most = int(counts @ np.diff(begins)) if len(counts) else 0
    times = np.empty(most, dtype=np.int64)
    codes, rows = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    of = np.empty(most if slots else 0, dtype=np.int32)
    number = _gather(
        columns.ts,
        columns.types.astype(np.int32, copy=False),
        begins,
        listed,
        np.array([code for code, _ in events], dtype=np.int32),
        mask_of,
        np.array(masks, dtype=np.bool_).reshape(len(masks), len(columns)),
        times,
        codes,
        rows,
        of,
    )
    return times[:number], codes[:number], rows[:number], of[:number]


def passing(columns: EventColumns, event: Event, conditions: Sequence[Expression]) -> Bits:
    """Return which events have a type of `event` and satisfy the conditions."""
    names = columns.type_names
    fits_type = np.array(list(map(event.may_have, names)), np.bool_)
    rows = np.flatnonzero(fits_type[columns.types]) if len(names) else np.empty(0, np.int64)
    for condition in conditions:
        rows = rows[truth(condition, partial(_read, columns, rows), len(rows))]
    passes = np.zeros(len(columns), dtype=np.bool_)
    passes[rows] = True
    return passes


def _read(columns: EventColumns, rows: npt.NDArray[np.int64], _: str, name: str) -> Column:
    """Return an attribute of some events, for any variable."""
    return columns.attributes[name].take(rows)


@compiled_beyond(20_000)
def _gather(
    ts: Times,
    types: Ints,
    begins: Ints,
    listed: Ints,
    code_of: Ints,
    mask_of: Ints,
    masks: Bits,
    times: Times,
    codes: Ints,
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
                    _write(number, i, slot, ts, code_of, times, codes, rows, slots)
                    number += 1
        else:
            for slot in range(mask_of.size):
                for row in range(i, end):
                    for at in range(begins[types[row]], begins[types[row] + 1]):
                        if listed[at] == slot and (mask_of[slot] < 0 or masks[mask_of[slot], row]):
                            _write(number, row, slot, ts, code_of, times, codes, rows, slots)
                            number += 1
        i = end
    return number


@inlined
def _write(
    number: int,
    row: int,
    slot: int,
    ts: Times,
    code_of: Ints,
    times: Times,
    codes: Ints,
    rows: Ints,
    slots: Ints,
) -> None:
    times[number] = ts[row]
    codes[number] = code_of[slot]
    rows[number] = row
    if slots.size:
        slots[number] = slot


def needs_slots(sequence: EventSequence) -> bool:
    """Return whether `keys_of` needs the event of the sequence that an operation is of."""
    return any(len({attribute for _, attribute in key}) > 1 for key in sequence.keys)


def keys_of(
    sequence: EventSequence,
    columns: EventColumns,
    rows: Ints,
    slots: Ints,
    variables: Sequence[str],
) -> tuple[Ints, Ints, Ints]:
    """Return the key of each operation, the group of each key, and a row of each group.

    An event without a key completes nothing; it gets the complement (~) of a unique key, so that a
    trigger stays a trigger. Without any keys: None, and one group.
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
        numbers, of_partition = partition_keys(
            [columns.attributes[a] for a in sequence.partition_by]
        )
        parts.append((numbers[rows], of_partition))
    if not parts:
        return np.empty(0, dtype=np.int32), one, one
    keys, number = parts[0]
    for part, size in parts[1:]:
        keys, number = value_codes(keys.astype(np.int64) * size + part)
    groups = np.zeros(number, dtype=np.int32)
    group_rows = one
    if sequence.group_by:
        if sequence.group_by == sequence.partition_by:
            group_of, size = numbers, of_partition
        else:
            group_of, size = partition_keys([columns.attributes[a] for a in sequence.group_by])
        if group_of is numbers and len(parts) == 1:
            groups = np.arange(number, dtype=np.int32)
        else:
            groups[keys] = group_of[rows]
        group_rows = np.zeros(size, dtype=np.int32)
        _first_rows(group_of, group_rows)
    return (np.where(lost, ~keys, keys) if lost.any() else keys), groups, group_rows


@compiled_beyond(20_000)
def _first_rows(group_of: Ints, group_rows: Ints) -> None:
    """Write the first row of each group."""
    for row in range(group_of.size - 1, -1, -1):
        group_rows[group_of[row]] = row
