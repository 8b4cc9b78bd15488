"""Loops that select matches by their start and by how soon they complete."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepkit.compiling import compiled

Integers = npt.NDArray[np.int64]


@compiled
def soonest_of(
    starts: Integers,
    ends: Integers,
    known: Integers,
    first: int,
    anew: bool,
    soonest: Integers,
    kept: Integers,
) -> int:
    """Find the matches that complete first among those with the same start; return their number.

    Args:
        starts: int64[matches], the first event of each.
        ends: int64[matches], the last event of each.
        known: int64[events], for each first event the least last one known before; -1 where no
            match may start. It may be `soonest`.
        first: The first event of `soonest`.
        anew: Whether `soonest` is to be forgotten.
        soonest: int64[...], for each first event the least last one known; it is kept.
        kept: int64[matches], the output: numbers of matches.
    """
    if anew:
        for i in range(starts.size):
            soonest[starts[i] - first] = ends[i]
    for i in range(starts.size):
        place = starts[i] - first
        soonest[place] = min(soonest[place], ends[i])
    count = 0
    for i in range(starts.size):
        kept[count] = i
        count += ends[i] == soonest[starts[i] - first] and ends[i] <= known[starts[i]]
    return count


@compiled
def completing_first(
    starts: Integers,
    begins: Integers,
    keys: Integers,
    arrival: Integers,
    best: Integers,
    kept: Integers,
) -> int:
    """Choose for each first event one of the matches that complete soonest; return their number.

    It is the one whose events came first, in pattern order.

    Args:
        starts: int64[matches], the place of the first event of each in `best`; the matches of one
            complete together.
        begins: int64[matches + 1], where the events of each begin in `keys`, and the end.
        keys: int64[...], the events of each in pattern order; -1 behind those of a set.
        arrival: int64[events], the arrival number of each event.
        best: int64[...], all -1, before and after the call.
        kept: int64[matches], the output: numbers of matches, ascending.
    """
    for i in range(starts.size):
        start = starts[i]
        j = best[start]
        if j >= 0:
            own, other = begins[i], begins[j]
            while own < begins[i + 1] and other < begins[j + 1] and keys[own] == keys[other]:
                own += 1
                other += 1
            if other == begins[j + 1]:
                continue
            if own < begins[i + 1]:
                if keys[own] < 0:
                    continue
                if keys[other] >= 0 and arrival[keys[own]] > arrival[keys[other]]:
                    continue
        best[start] = i
    count = 0
    for i in range(starts.size):
        kept[count] = i
        count += best[starts[i]] == i
    for i in range(starts.size):
        best[starts[i]] = -1
    return count


@compiled
def taken(
    starts: Integers,
    to: Integers,
    partitions: npt.NDArray[np.int32],
    begin: Integers,
    chosen: npt.NDArray[np.bool_],
) -> None:
    """Select matches one after the other, unless an earlier one excludes them.

    Args:
        starts: int64[matches], the first event of each, ascending.
        to: int64[matches], the first event at which another may start.
        partitions: int32[matches], the partition of each.
        begin: int64[partitions], where the next may start; it is kept up to date.
        chosen: bool[matches], the output.
    """
    for i in range(starts.size):
        partition = partitions[i]
        if starts[i] >= begin[partition]:
            chosen[i] = True
            begin[partition] = to[i]
