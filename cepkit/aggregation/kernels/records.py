"""Arguments of the aggregation loops: named tuples of arrays, which cost Numba nothing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cepkit.compiling import lent

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.bool_]
Loops = npt.NDArray[np.int8]

NOBODY = int(np.iinfo(np.int64).max)
"""In a least lane: no match."""
NOTHING = NOBODY - 1
"""In a least lane: matches without any value."""


class KeySteps(NamedTuple):
    """The operations of a stream as arrays, in some order.

    Attributes:
        ts: int64[operations], the time of each.
        codes: int32[operations], the code of each.
        rows: int32[operations], the event of each.
        starts: int64[keys + 1], where each key begins, and the end.
        length: How many positions the sequence has.
        window: The greatest difference of times; -1: none.
        loops: int8[length + 1], 1 if an event at a position also extends prefixes that have
            reached it: it takes sets; 2 if also those of the position two before.
    """

    ts: Wide
    codes: Ints
    rows: Ints
    starts: Wide
    length: int
    window: int
    loops: Loops


class LaneArrays(NamedTuple):
    """The lanes besides the number of matches, as arrays: integers, floats, and least values.

    Attributes:
        int_at: int32[ki], the position of each integer lane.
        ints: int64[ki, events], its value at each event, 0 if missing.
        float_at: int32[kf], the position of each float lane.
        floats: float64[kf, events], as `ints`.
        least_at: int32[km], the position of each least lane.
        leasts: int64[km, events], as `ints`, `NOTHING` if missing.
    """

    int_at: Ints
    ints: Wide
    float_at: Ints
    floats: Floats
    least_at: Ints
    leasts: Wide


class Tracks(NamedTuple):
    """The numbers of all lanes at some moments.

    Attributes:
        counts: int64[moments], the number of matches; Python integers if they are long.
        ints: int64[ki, moments], of each integer lane, likewise.
        floats: float64[kf, moments], of each float lane.
        leasts: int64[km, moments], of each least lane.
    """

    counts: npt.NDArray[Any]
    ints: npt.NDArray[Any]
    floats: Floats
    leasts: Wide

    def take(self, at: npt.NDArray[Any]) -> Tracks:
        """Return the tracks at some of the moments."""
        # NumPy takes columns in the other order, for which each loop would be compiled once more.
        lanes = (np.ascontiguousarray(each[:, at]) for each in self[1:])
        return Tracks(self.counts[at], *lanes)


class Output(NamedTuple):
    """The settings of the output of loops, and its columns beside lanes.

    Attributes:
        only_new: Whether to aggregate the matches that a trigger completes instead of the live
            ones.
        expiries: Whether to write also the moments at which matches expire; 2 writes every moment
            at which a START expires, even without a match.
        new: int64[triggers], how many matches each trigger completes, in the order of operations.
        op: int64[STARTs], the last START of each moment of expiry.
    """

    only_new: bool
    expiries: int
    new: Wide
    op: Wide


@lent
def put(to: Tracks, i: int, source: Tracks, j: int) -> None:
    """Copy `source[j]` to place `i`."""
    to.counts[i] = source.counts[j]
    for lane in range(to.ints.shape[0]):
        to.ints[lane, i] = source.ints[lane, j]
    for lane in range(to.floats.shape[0]):
        to.floats[lane, i] = source.floats[lane, j]
    for lane in range(to.leasts.shape[0]):
        to.leasts[lane, i] = source.leasts[lane, j]


@lent
def add(to: Tracks, i: int, source: Tracks, j: int) -> None:
    """Add `source[j]` to place `i`."""
    to.counts[i] += source.counts[j]
    for lane in range(to.ints.shape[0]):
        to.ints[lane, i] += source.ints[lane, j]
    for lane in range(to.floats.shape[0]):
        to.floats[lane, i] += source.floats[lane, j]
    for lane in range(to.leasts.shape[0]):
        to.leasts[lane, i] = min(to.leasts[lane, i], source.leasts[lane, j])
