"""The loop of skip-till-next-match with sets, compiled; `sets_plain.py` is its judge."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepkit.columnar.skip_till_next.sets import BEGIN, END, FIRST, IS_SET, LAST, LEAST, MOST
from cepkit.compiling import compiled

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_STOP = 1 << 62
"""Ends the numbers of a set, greater than any: a set comes before its own subsets."""


@compiled
def _given_are_free(slots: Ints, begin: int, end: int, consumed: Flags) -> bool:
    """Whether all events are free that an offer has whatever else is chosen."""
    for s in range(begin, end):
        if slots[s, FIRST] >= 0 and consumed[slots[s, FIRST]]:
            return False
        if slots[s, LAST] >= 0 and consumed[slots[s, LAST]]:
            return False
    return True


@compiled
def _fill(slot: Ints, pool: Ints, consumed: Flags, rows: Ints, at: int) -> int:
    """Write the events of a slot from `at` on; return where they end, -1: too few are free."""
    if slot[FIRST] >= 0:
        rows[at] = slot[FIRST]
        at += 1
    chosen = 0
    for i in range(slot[BEGIN], slot[END]):
        if chosen == slot[MOST]:
            break
        if not consumed[pool[i]]:
            rows[at + chosen] = pool[i]
            chosen += 1
    if chosen < slot[LEAST]:
        return -1
    at += chosen
    if slot[LAST] >= 0:
        rows[at] = slot[LAST]
        at += 1
    return at


@compiled
def _key(
    slots: Ints,
    begin: int,
    end: int,
    pool: Ints,
    arrival: Times,
    consumed: Flags,
    rows: Ints,
    key: Times,
    best: Times,
    least: int,
) -> int:
    """Write what an offer is compared by.

    Returns:
        Its length; -1 where the offer is impossible, or not before the best one, the first `least`
        numbers of `best`; that is none where `least` is -1.
    """
    size = 0
    smaller = least < 0
    for s in range(begin, end):
        filled = _fill(slots[s], pool, consumed, rows, 0)
        if filled < 0:
            return -1
        before = size
        for i in range(filled):
            key[size] = rows[i] if arrival.size == 0 else arrival[rows[i]]
            size += 1
        if arrival.size > 0:
            key[before:size].sort()
        if slots[s, IS_SET]:
            key[size] = _STOP
            size += 1
        for i in range(before, size):
            if smaller:
                break
            if i >= least or key[i] > best[i]:
                return -1
            smaller = key[i] < best[i]
    return size if smaller or size < least else -1


@compiled
def take_offers(
    begins: Times,
    slots: Ints,
    pool: Ints,
    lasts: Times,
    order: Times,
    arrival: Times,
    consumed: Flags,
    taken: Times,
    starts: Times,
    events: Ints,
) -> int:
    """Take at each event the first of its offers, one event after the other.

    Args:
        begins: For each offer where its slots begin, and the end.
        slots: The fields of each slot: see sets.py.
        pool: The lists that sets choose from, in the order in which members are preferred.
        lasts: For each offer the row of its last event.
        order: The numbers of the offers by last event; those of one event by branch.
        arrival: The arrival number of each row; empty where that is the row.
        consumed: For each row whether a match has it; what is taken is added.
        taken: The numbers of the offers that are taken; room for one at each last event.
        starts: For each variable of these where its events begin in `events`, and the end.
        events: The rows of the matches, those of one variable in stream order.

    Returns:
        How many are taken.
    """
    width = 0
    for offer in range(begins.size - 1):
        room = 0
        for s in range(begins[offer], begins[offer + 1]):
            room += 3 + slots[s, END] - slots[s, BEGIN]  # both ends, the members, a stop
        width = max(width, room)
    key = np.empty(width, dtype=np.int64)
    best = np.empty(width, dtype=np.int64)
    rows = np.empty(width, dtype=np.int32)
    m = 0
    slot = 0
    starts[0] = 0
    i = 0
    while i < order.size:
        last = lasts[order[i]]
        winner = -1
        least = -1
        while i < order.size and lasts[order[i]] == last:
            offer = order[i]
            i += 1
            begin, end = begins[offer], begins[offer + 1]
            if consumed[last] or not _given_are_free(slots, begin, end, consumed):
                continue
            size = _key(slots, begin, end, pool, arrival, consumed, rows, key, best, least)
            if size >= 0:
                key, best = best, key
                least = size
                winner = offer
        if winner < 0:
            continue
        for s in range(begins[winner], begins[winner + 1]):
            begun = starts[slot]
            filled = _fill(slots[s], pool, consumed, events, begun)
            if arrival.size > 0:
                events[begun:filled].sort()
            slot += 1
            starts[slot] = filled
        for k in range(starts[slot - (begins[winner + 1] - begins[winner])], starts[slot]):
            consumed[events[k]] = True
        taken[m] = winner
        m += 1
    return m
