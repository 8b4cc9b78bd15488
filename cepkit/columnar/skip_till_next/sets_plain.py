"""The loop of `sets_compiled.py` in Python: its judge, and what runs without Numba."""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np
import numpy.typing as npt

from cepkit.columnar.skip_till_next.sets import BEGIN, END, FIRST, IS_SET, LAST, LEAST, MOST

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


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
    """Take at each event the first of its offers."""
    m = slot = 0
    for last, group in groupby(order.tolist(), key=lambda offer: int(lasts[offer])):
        if consumed[last]:
            continue
        best: tuple[list[float], int, list[list[int]]] | None = None
        for offer in group:
            own = slots[begins[offer] : begins[offer + 1]]
            chosen = _chosen(own, pool, consumed)
            if chosen is not None:
                key = _key(own, chosen, arrival)
                if best is None or key < best[0]:
                    best = key, offer, chosen
        if best is None:
            continue
        _, taken[m], chosen = best
        for rows in chosen:
            begin, end = int(starts[slot]), int(starts[slot]) + len(rows)
            events[begin:end] = sorted(rows)
            consumed[rows] = True
            starts[slot + 1] = end
            slot += 1
        m += 1
    return m


def _chosen(slots: Ints, pool: Ints, consumed: Flags) -> list[list[int]] | None:
    """Return the events of each variable of an offer, None where it has become impossible."""
    chosen = []
    for slot in slots.tolist():
        given = [row for row in (slot[FIRST], slot[LAST]) if row >= 0]
        free = [row for row in pool[slot[BEGIN] : slot[END]].tolist() if not consumed[row]]
        if consumed[given].any() or len(free) < slot[LEAST]:
            return None
        chosen.append(given + free[: slot[MOST]])
    return chosen


def _key(slots: Ints, chosen: list[list[int]], arrival: Times) -> list[float]:
    """Return what offers of one event are compared by: a set comes before its own subsets."""
    key: list[float] = []
    for is_set, rows in zip(slots[:, IS_SET].tolist(), chosen, strict=True):
        key += sorted(arrival[rows].tolist() if len(arrival) else rows)
        key += [math.inf] if is_set else []
    return key
