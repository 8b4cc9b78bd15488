"""Aggregates of constructed matches: of those live at each moment, or of all.

If matches must be detected after all, each comes with the times at which it is complete and at
which it ends. The live matches of a moment are complete by then and end later: a Fenwick tree over
ends gives their aggregate in O(log matches) without subtraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels.records import Tracks, add
from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.semirings.functions import Element, Semiring
from cepkit.aggregation.semirings.lanes import SAFE, Lanes, tracks_for
from cepkit.aggregation.semirings.lanes import joined as lanes_joined
from cepkit.compiling import compiled
from cepkit.indexing import reduced

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NEVER = int(np.iinfo(np.int64).max)
"""The expiry of matches that never expire."""
_ELEMENT = 200
"""Bytes of an element with its parts."""


@dataclass(frozen=True, eq=False, slots=True)
class MatchRows:
    """Matches; those with the same last event and the same end may share a row.

    Attributes:
        ends: The first moment at which each is no longer live; `NEVER` if there is none.
        last: The row of the last event of each.
        values: The lanes of each row alone, or its element (of `Together`).
    """

    ends: Wide
    last: Wide
    groups: Ints
    values: Tracks | Sequence[Element]

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def numbers(self) -> npt.NDArray[Any]:
        """The number of matches of each row."""
        if isinstance(self.values, Tracks):
            return self.values.counts
        return np.array([element[0] for element in self.values], dtype=np.int64)

    @property
    def size(self) -> int:
        """About how many bytes the matches take."""
        values = self.values
        if isinstance(values, Tracks):
            value_bytes = sum(array.nbytes for array in values)
        else:
            value_bytes = len(values) * _ELEMENT
        return self.ends.nbytes + self.last.nbytes + self.groups.nbytes + value_bytes


@dataclass(frozen=True, eq=False, slots=True)
class Triggers:
    """The events that could complete a match.

    Attributes:
        rows: The events, in stream order.
        ts: Their times.
    """

    rows: Wide
    ts: Wide
    groups: Ints


def fits(matches: int, lanes: Lanes) -> bool:
    """Return whether 64 bits hold every sum over these matches."""
    return matches * lanes.greatest < SAFE


def aggregate(
    matched: MatchRows,
    triggers: Triggers,
    ts: Wide,
    function: Semiring,
    lanes: Lanes | None,
    *,
    changes: bool,
) -> Moments:
    """Return a row for each trigger, about the live matches.

    Args:
        function: The functions (`Together`), if values are elements.
        lanes: Where values are tracks.
        changes: Whether there are rows for expiries too.
    """
    order = np.argsort(matched.last, kind="stable")  # rows are in the order of time
    ends, groups, last = matched.ends[order], matched.groups[order], matched.last[order]
    q_ts, q_groups = triggers.ts, triggers.groups
    is_trigger = np.ones(len(q_ts), dtype=np.bool_)
    if changes:
        # Matches that end before they are complete, or never, need no expiry row.
        leaves = (ts[last] < ends) & (ends < NEVER)
        expiries = np.unique(np.stack((groups[leaves].astype(np.int64), ends[leaves])), axis=1)
        known = set(zip(q_groups.tolist(), q_ts.tolist(), strict=True))
        fresh = np.array([pair not in known for pair in zip(*expiries.tolist(), strict=True)], bool)
        expiries = expiries[:, fresh] if len(fresh) else expiries
        q_ts = np.concatenate((q_ts, expiries[1]))
        q_groups = np.concatenate((q_groups, expiries[0].astype(np.int32)))
        is_trigger = np.arange(len(q_ts)) < len(triggers.ts)
    by_time = np.argsort(q_ts, kind="stable")
    # The distinct ends, the latest of each group first, and the place of each match among them.
    by_end = np.lexsort((-ends, groups))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = np.diff(groups[by_end]) != 0
    first[1:] |= np.diff(ends[by_end]) != 0
    places = np.empty(len(order), dtype=np.int64)
    places[by_end] = np.cumsum(first) - 1
    distinct = ends[by_end][first]
    size = int(max(groups.max(initial=-1), q_groups.max(initial=-1))) + 1
    bases = np.searchsorted(groups[by_end][first], np.arange(size + 1))
    sweep = _Sweep(ts[last], bases, places, groups, q_ts[by_time], q_groups[by_time], distinct)
    counts = np.zeros(len(triggers.rows), dtype=np.int64)
    np.add.at(counts, np.searchsorted(triggers.rows, last), matched.numbers[order])
    new = np.concatenate((counts, np.zeros(len(q_ts) - len(counts), np.int64)))[by_time]
    values: Tracks | list[Element]
    if isinstance(matched.values, Tracks):
        assert lanes is not None
        ordered_values = matched.values.take(order)
        out, tree = tracks_for(lanes, len(by_time)), tracks_for(lanes, len(distinct))
        _sweep(sweep, ordered_values, tree, out)
        values = out
    else:
        given_elements = [matched.values[i] for i in order]
        values = _sweep_elements(sweep, given_elements, function)
    return Moments(q_ts[by_time], q_groups[by_time], is_trigger[by_time], new, values, lanes)


def parts(
    matched: MatchRows, slots: Wide, ts: Wide, groups: Ints, function: Semiring, lanes: Lanes | None
) -> Moments:
    """Return a row for each part of the matches."""
    size = len(ts)
    counts = np.zeros(size, dtype=np.int64)
    np.add.at(counts, slots, matched.numbers)
    values: Tracks | list[Element]
    if isinstance(matched.values, Tracks):
        assert lanes is not None
        values = tracks_for(lanes, size)
        add_to(values, slots, matched.values)
    else:
        values = [function.zero] * size
        for slot, element in zip(slots.tolist(), matched.values, strict=True):
            values[slot] = function.plus(values[slot], element)
    return Moments(ts, groups, np.ones(size, np.bool_), counts, values, lanes)


def joined(several: Sequence[MatchRows]) -> MatchRows:
    """Return the matches of several batches, all of tracks or all of elements."""
    values: Tracks | list[Element]
    tracks = [part.values for part in several if isinstance(part.values, Tracks)]
    if tracks:
        values = lanes_joined(tracks)
    else:
        values = [
            element
            for part in several
            if not isinstance(part.values, Tracks)
            for element in part.values
        ]
    return MatchRows(
        np.concatenate([part.ends for part in several]),
        np.concatenate([part.last for part in several]),
        np.concatenate([part.groups for part in several]),
        values,
    )


def merged(several: Sequence[MatchRows], function: Semiring) -> MatchRows:
    """Merge the matches of several batches: one row for the same last event and end.

    The output cannot tell them apart.
    """
    result = joined(several)
    order = np.lexsort((result.ends, result.last))
    ends, last = result.ends[order], result.last[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (np.diff(last) != 0) | (np.diff(ends) != 0)
    starts = np.flatnonzero(first)
    values: Tracks | list[Element]
    if isinstance(result.values, Tracks):
        count, ints, floats, leasts = result.values.take(order)
        values = Tracks(
            reduced(np.add, count, starts),
            reduced(np.add, ints, starts, axis=1),
            reduced(np.add, floats, starts, axis=1),
            reduced(np.minimum, leasts, starts, axis=1),
        )
    else:
        values = []
        for at, begins in zip(order.tolist(), first.tolist(), strict=True):
            element = result.values[at]
            if begins:
                values.append(element)
            else:
                values[-1] = function.plus(values[-1], element)
    return MatchRows(ends[starts], last[starts], result.groups[order][starts], values)


def add_to(sums: Tracks, slots: npt.NDArray[np.integer], values: Tracks) -> None:
    """Add tracks to the slots of other tracks."""
    np.add.at(sums.counts, slots, values.counts)
    for lane in range(len(sums.ints)):
        np.add.at(sums.ints[lane], slots, values.ints[lane])
    with np.errstate(invalid="ignore"):  # infinities of both signs add up to NaN
        for lane in range(len(sums.floats)):
            np.add.at(sums.floats[lane], slots, values.floats[lane])
    for lane in range(len(sums.leasts)):
        np.minimum.at(sums.leasts[lane], slots, values.leasts[lane])


class _Sweep(NamedTuple):
    """Matches and queries for live aggregates in time order.

    Attributes:
        completed: int64[matches], when each is complete.
        bases: int64[groups + 1], the beginning of each group's ends.
        places: int64[matches], the place of each match's end among all.
        groups: int32[matches], the group of each.
        ts: int64[questions], the time of each query.
        of: int32[questions], its group.
        ends: int64[ends], the distinct ends of each group, the latest first.
    """

    completed: Wide
    bases: Wide
    places: Wide
    groups: Ints
    ts: Wide
    of: Ints
    ends: Wide


@compiled
def _sweep(sweep: _Sweep, values: Tracks, tree: Tracks, out: Tracks) -> None:
    """Write the live aggregate at each query: matches enter the tree when they are complete."""
    completed, bases, places, groups, ts, of, ends = sweep
    at = 0
    for q in range(ts.size):
        while at < completed.size and completed[at] <= ts[q]:
            base = bases[groups[at]]
            size = bases[groups[at] + 1] - base
            i = places[at] - base + 1
            while i <= size:
                add(tree, base + i - 1, values, at)
                i += i & -i
            at += 1
        base = bases[of[q]]
        low, high = base, bases[of[q] + 1]
        while low < high:  # ends descend: bisect for the number of live ones
            middle = (low + high) // 2
            if ends[middle] > ts[q]:
                low = middle + 1
            else:
                high = middle
        i = low - base
        while i > 0:
            add(out, q, tree, base + i - 1)
            i -= i & -i


def _sweep_elements(sweep: _Sweep, values: Sequence[Element], function: Semiring) -> list[Element]:
    """Return the same for elements."""
    completed, bases, places, groups, q_ts, q_groups, ends = (a.tolist() for a in sweep)
    tree = [function.zero] * len(ends)
    out = []
    at = 0
    for q, moment in enumerate(q_ts):
        while at < len(completed) and completed[at] <= moment:
            base, end = bases[groups[at]], bases[groups[at] + 1]
            i = places[at] - base + 1
            while i <= end - base:
                tree[base + i - 1] = function.plus(tree[base + i - 1], values[at])
                i += i & -i
            at += 1
        base, end = bases[q_groups[q]], bases[q_groups[q] + 1]
        # Ends descend: bisect for the number of live ones.
        i = sum(late > moment for late in ends[base:end])
        total = function.zero
        while i > 0:
            total = function.plus(total, tree[base + i - 1])
            i -= i & -i
        out.append(total)
    return out
