"""E-Cube, a baseline of ASEQ's study: queries share the matches of their common substring.

Made from what ASEQ (section 6.3) says of it: the matches of the common substring are constructed
once, by stacks with pointers and depth-first search, and kept. Each query constructs its own
matches of them and of its own event, before or behind the substring. It counts these by itself:
each is added to the sum of its START, and a trigger adds up the live STARTs. All kept matches stay
in memory. Compiled like the baseline that shares nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from cepkit.stream.columns import EventColumns

Wide: TypeAlias = npt.NDArray[np.int64]
Place: TypeAlias = Literal["before", "behind"]


class Common(NamedTuple):
    """The matches of the common substring, by the time of their last event.

    Attributes:
        starts: The place of the first event of each among the events of its type.
        begins: The time of the first event of each.
        ends: The time of the last event of each.
        firsts: The times of all events of the first type.
        lasts: The times of all events of the last type.
    """

    starts: Wide
    begins: Wide
    ends: Wide
    firsts: Wide
    lasts: Wide


def counts(
    columns: EventColumns, common: Sequence[str], owns: Sequence[str], place: Place, window: int
) -> list[Wide]:
    """Return for each query the number of live matches at each of its triggers.

    Args:
        columns: The stream.
        common: The types of the substring, at least two.
        owns: The type of the own event of each query.
        place: Where the own events are.
        window: The window of all queries, in microseconds.
    """
    shared = _common([_times(columns, name) for name in common], window)
    behind = place == "behind"
    return [_counts(shared, _times(columns, own), behind, window) for own in owns]


def _times(columns: EventColumns, name: str) -> Wide:
    """Return the times of the events of a type."""
    codes = [code for code, known in enumerate(columns.type_names) if known == name]
    return columns.ts[np.isin(columns.types, codes)].astype(np.int64)


def _common(times: Sequence[Wide], window: int) -> Common:
    # The pointer of an event: the events of the type before that are earlier than it.
    pointers = [np.searchsorted(one, two) for one, two in pairwise(times)]
    offsets = np.cumsum([0, *map(len, times)]).astype(np.int64)
    made = _construct(
        np.concatenate(times),
        np.concatenate([np.zeros(len(times[0]), np.int64), *pointers]).astype(np.int64),
        offsets,
        window,
    )
    return Common(*made, times[0], times[-1])


@numba.njit  # type: ignore[untyped-decorator]
def _construct(ts: Wide, pointers: Wide, offsets: Wide, window: int) -> tuple[Wide, Wide, Wide]:
    """Construct all matches of a sequence; the events of each type stand together."""
    n = offsets.size - 1
    size = 0
    starts, begins, ends = (
        np.empty(1024, np.int64),
        np.empty(1024, np.int64),
        np.empty(1024, np.int64),
    )
    at = np.zeros(n, np.int64)
    for last in range(offsets[n - 1], offsets[n]):
        oldest = ts[last] - window
        at[n - 1] = last
        level = n - 2
        at[level] = offsets[level] + pointers[last]
        while level < n - 1:
            at[level] -= 1
            if at[level] < offsets[level] or ts[at[level]] < oldest:
                level += 1
            elif level > 0:
                level -= 1
                at[level] = offsets[level] + pointers[at[level + 1]]
            else:
                if size == starts.size:
                    starts = np.concatenate((starts, np.empty(size, np.int64)))
                    begins = np.concatenate((begins, np.empty(size, np.int64)))
                    ends = np.concatenate((ends, np.empty(size, np.int64)))
                starts[size], begins[size], ends[size] = at[0], ts[at[0]], ts[last]
                size += 1
    return starts[:size], begins[:size], ends[:size]


@numba.njit  # type: ignore[untyped-decorator]
def _counts(common: Common, own: Wide, behind: bool, window: int) -> Wide:
    """Construct the matches of a query, and return the live ones at each trigger."""
    starts, begins, ends, firsts, lasts = common
    triggers, live_from = (own, firsts) if behind else (lasts, own)
    sums = np.zeros(live_from.size, np.int64)
    counts = np.zeros(triggers.size, np.int64)
    k = first = oldest = 0
    for i in range(triggers.size):
        now = triggers[i]
        if behind:
            while k < ends.size and ends[k] < now:
                k += 1
            for j in range(k - 1, -1, -1):
                if ends[j] < now - window:
                    break
                if begins[j] >= now - window:
                    sums[starts[j]] += 1
        if i + 1 < triggers.size and triggers[i + 1] == now:
            continue
        if not behind:
            while k < ends.size and ends[k] <= now:
                for j in range(np.searchsorted(own, begins[k]) - 1, -1, -1):
                    if own[j] < now - window:
                        break
                    sums[j] += 1
                k += 1
        while oldest < live_from.size and live_from[oldest] < now - window:
            oldest += 1
        total = 0
        for j in range(oldest, live_from.size):
            if live_from[j] > now:
                break
            total += sums[j]
        counts[first : i + 1] = total
        first = i + 1
    return counts
