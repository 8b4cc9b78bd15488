"""Compiled loops over operations sorted by key, and what they found as rows of the output.

Prefix counters of lanes are those of a forest with one sequence in it. Whole numbers beyond 64 bits
are counted modulo primes and put together at the end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels import count as count_loops
from cepkit.aggregation.kernels import stacks as stack_loops
from cepkit.aggregation.kernels import two_step as two_step_loops
from cepkit.aggregation.methods.live import most_live
from cepkit.aggregation.rows.emission import finished, wants_expiries
from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.semirings.lanes import Lanes, Tracks, tracks_for
from cepkit.aggregation.semirings.remainders import joined, primes_for
from cepkit.aggregation.sequence.elements import Emit, Method
from cepkit.aggregation.sequence.operations import Operations
from cepkit.aggregation.sharing.run import run_alone

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def run(operations: Operations, lanes: Lanes, method: Method, emit: Emit) -> Moments:
    """Return the rows that a method gives.

    Args:
        operations: What the events do.
        lanes: What is carried; 64 bits hold all numbers in the result.
        method: How.
        emit: Which rows.
    """
    by_stacks = method == "window-product"
    if method == "prefix-counters" and not lanes.empty:
        return run_alone(operations, lanes, emit)
    if by_stacks and not lanes.empty:
        return _by_stacks(operations, lanes, emit)
    out = _Output(operations, lanes, emit)
    if method == "two-step":
        written = two_step_loops.run(*out.given, *out.carried, out.only_new, out.expiries, *out.to)
    else:
        counting = count_loops.by_stacks if by_stacks else count_loops.by_prefix_counters
        written = counting(
            operations.ts, operations.codes, operations.starts, operations.length,
            out.window, most_live(operations), out.only_new, out.expiries,
            out.new, out.tracks.count, out.op, out.left.count,
        )  # fmt: skip
    return out.moments(written)


def run_remainders(operations: Operations, lanes: Lanes, most: float, emit: Emit) -> Moments:
    """Return the rows with whole numbers of any size; floats and extremes come with the first run.

    Whether numbers changed at an expiry is not seen in remainders: all expiries are written, and
    those that change nothing are left out at the end.

    Args:
        operations: What the events do.
        lanes: What is carried.
        most: An upper bound on whole numbers in the result.
        emit: Which rows.
    """
    primes = primes_for(most)
    only_whole = replace(
        lanes, float_at=lanes.float_at[:0], floats=lanes.floats[:0],
        least_at=lanes.least_at[:0], leasts=lanes.leasts[:0],
    )  # fmt: skip
    runs = [
        _by_stacks(operations, only_whole if number else lanes, emit, prime)
        for number, prime in enumerate(primes)
    ]
    several = [run.values for run in runs if isinstance(run.values, Tracks)]
    values = Tracks(
        joined([each.count for each in several], primes),
        joined([each.ints for each in several], primes),
        several[0].floats,
        several[0].leasts,
    )
    new = joined([run.new for run in runs], primes)
    moments = replace(runs[0], new=new, values=values, lanes=lanes)
    return moments.take(_telling(moments, values.count, emit, grouped=operations.grouped))


def _by_stacks(operations: Operations, lanes: Lanes, emit: Emit, prime: int = 0) -> Moments:
    """Return the rows by two stacks; with a prime remainders, and what says nothing stays in."""
    if prime:
        lanes = replace(lanes, ints=lanes.ints % prime)
    out = _Output(operations, lanes, emit)
    written = stack_loops.run(
        *out.given, most_live(operations), *out.carried, prime, out.only_new,
        (2 if prime else 1) * out.expiries, *out.to,
    )  # fmt: skip
    return out.moments(written, whole=bool(prime))


class _Output:
    """What loops are given, and where they write.

    Attributes:
        only_new: Whether the output is about what triggers complete.
        expiries: Whether moments of expiry are written.
        window: Of the operations, -1 for none.
        new: How many matches each trigger completes.
        tracks: What lanes hold at each.
        op: The last START of each moment of expiry.
        left: What lanes hold then.
    """

    def __init__(self, operations: Operations, lanes: Lanes, emit: Emit) -> None:
        self._operations, self._lanes, self._emit = operations, lanes, emit
        self._triggers = np.flatnonzero(operations.codes == 0)
        self.only_new = emit in ("new", "total")
        self.expiries = wants_expiries(operations, emit)
        self.window = -1 if operations.window is None else operations.window
        starts = int((operations.codes == operations.start_code).sum()) if self.expiries else 0
        self.new = np.zeros(len(self._triggers), dtype=np.int64)
        self.tracks = tracks_for(lanes, len(self._triggers))
        self.op = np.empty(starts, dtype=np.int64)
        self.left = tracks_for(lanes, starts)

    @property
    def given(self) -> tuple[Wide, Ints, Ints, Wide, int, int]:
        """The operations, as loops take them."""
        of = self._operations
        return of.ts, of.codes, of.rows, of.starts, of.length, self.window

    @property
    def carried(self) -> tuple[Ints, Wide, Ints, Floats, Ints, Wide]:
        """The lanes, as loops take them."""
        of = self._lanes
        return of.int_at, of.ints, of.float_at, of.floats, of.least_at, of.leasts

    @property
    def to(self) -> tuple[Any, ...]:
        """What loops write into."""
        return self.new, *self.tracks.arrays, self.op, *self.left.arrays

    def moments(self, written: int, *, whole: bool = False) -> Moments:
        """Return the rows, after so many moments of expiry; `whole` as in `finished`."""
        return finished(
            self._operations, self._lanes, self._triggers, self.new, self.tracks,
            self.op[:written], self.left.take(np.arange(written)), self._emit, whole=whole,
        )  # fmt: skip


def _telling(moments: Moments, count: npt.NDArray[Any], emit: Emit, *, grouped: bool) -> Wide:
    """Return the rows that say something: no expiry of nothing, no total of nothing."""
    if emit == "total":
        return np.flatnonzero(count > 0) if grouped else np.arange(len(count))
    kept = []
    known: dict[int, int] = {}
    for row, (group, trigger) in enumerate(zip(moments.groups, moments.triggers, strict=True)):
        if trigger or known.get(int(group), 0) != count[row]:
            kept.append(row)
        known[int(group)] = count[row]
    return np.array(kept, dtype=np.int64)
