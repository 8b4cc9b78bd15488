"""Runs the compiled loops over operations sorted by key, and makes rows of their results.

Prefix counters with lanes use a forest with a single sequence. Integers beyond 64 bits are counted
modulo primes and combined at the end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels import count, stacks
from cepkit.aggregation.kernels.records import KeySteps, Output, Tracks
from cepkit.aggregation.rows.emission import finished, wants_expiries
from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.semirings.lanes import Lanes, tracks_for
from cepkit.aggregation.semirings.remainders import joined, primes_for
from cepkit.aggregation.sequence.elements import Emit, Method
from cepkit.aggregation.sequence.operations import Operations
from cepkit.aggregation.sharing.run import run_alone
from cepkit.compiling import compiled_beyond

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def run(operations: Operations, lanes: Lanes, method: Method, emit: Emit) -> Moments:
    """Return the rows of a method.

    Args:
        lanes: The lanes; 64 bits must hold all numbers in the result.
    """
    by_stacks = method == "window-product"
    if not lanes.empty:
        return (_by_stacks if by_stacks else run_alone)(operations, lanes, emit)
    out = LoopOutput(operations, lanes, emit)
    tracks, left = out.room()
    counting = count.by_stacks if by_stacks else count.by_prefix_counters
    most = most_live(operations)
    written = counting(out.steps, most, out.to, tracks.counts, left.counts)
    return out.moments(written, tracks, left)


def run_remainders(operations: Operations, lanes: Lanes, most: float, emit: Emit) -> Moments:
    """Return the rows with integers of any size; floats and extremes come from the first run.

    Remainders do not show whether numbers changed at an expiry: all expiries are written, and those
    without a change are dropped at the end.

    Args:
        most: An upper bound on integers in the result.
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
        joined([each.counts for each in several], primes),
        joined([each.ints for each in several], primes),
        several[0].floats,
        several[0].leasts,
    )
    new = joined([run.new for run in runs], primes)
    moments = replace(runs[0], new=new, values=values, lanes=lanes)
    return moments.take(_telling(moments, values.counts, emit, grouped=operations.grouped))


def _by_stacks(operations: Operations, lanes: Lanes, emit: Emit, prime: int = 0) -> Moments:
    """Return the rows by two stacks; with a prime, remainders with rows that change nothing."""
    out = LoopOutput(operations, lanes, emit, every=bool(prime))
    most, triggers = most_live(operations), len(out.to.new)
    sizes = operations.length, most, triggers + len(out.to.op)
    integers = lanes.ints % prime if prime else lanes.ints
    ints = stacks.summed(lanes.int_at, integers, *sizes)
    # Loops compile nothing of a kind without lanes.
    floats = stacks.summed(lanes.float_at, lanes.floats, *sizes) if len(lanes.float_at) else ()
    leasts = stacks.least(lanes.least_at, lanes.leasts, *sizes) if len(lanes.least_at) else ()
    modulus = (prime,) if prime else ()
    older = np.empty(most, dtype=np.int64)
    written = stacks.run(out.steps, ints, floats, leasts, modulus, older, out.to)

    def tracks(begin: int, end: int) -> Tracks:
        without = tracks_for(lanes, end - begin)
        numbers = np.ascontiguousarray(ints.out[:, begin:end])
        return Tracks(
            numbers[0],
            numbers[1:],
            np.ascontiguousarray(floats.out[1:, begin:end]) if floats else without.floats,
            np.ascontiguousarray(leasts.out[:, begin:end]) if leasts else without.leasts,
        )

    at_triggers, left = tracks(0, triggers), tracks(triggers, triggers + written)
    return out.moments(written, at_triggers, left, whole=bool(prime))


class LoopOutput:
    """The input of a loop, and where it writes its rows.

    Attributes:
        steps: The operations.
        to: Where they write; with `every` also each moment at which a START expires.
    """

    def __init__(
        self, operations: Operations, lanes: Lanes, emit: Emit, *, every: bool = False
    ) -> None:
        self._operations, self._lanes, self._emit = operations, lanes, emit
        self._triggers = np.flatnonzero(operations.codes == 0)
        of = operations
        window = -1 if of.window is None else of.window
        self.steps = KeySteps(of.ts, of.codes, of.rows, of.starts, of.length, window, of.loops)
        expiries = wants_expiries(operations, emit)
        starts = int((operations.codes == operations.start_code).sum()) if expiries else 0
        self.to = Output(
            emit in ("new", "total"), (2 if every else 1) * expiries,
            np.zeros(len(self._triggers), dtype=np.int64), np.empty(starts, dtype=np.int64),
        )  # fmt: skip

    def room(self) -> tuple[Tracks, Tracks]:
        """Return the lanes at each trigger and after each expiry, to be written."""
        return tracks_for(self._lanes, len(self.to.new)), tracks_for(self._lanes, len(self.to.op))

    def moments(
        self, written: int, tracks: Tracks, left: Tracks, *, whole: bool = False
    ) -> Moments:
        """Return the rows, given the number of expiry moments; `whole` as in `finished`."""
        return finished(
            self._operations, self._lanes, self._triggers, self.to.new, tracks,
            self.to.op[:written], left.take(np.arange(written)), self._emit, whole=whole,
        )  # fmt: skip


def _telling(moments: Moments, counts: npt.NDArray[Any], emit: Emit, *, grouped: bool) -> Wide:
    """Drop rows without information: expiries that change nothing, totals of no match."""
    if emit == "total":
        return np.flatnonzero(counts > 0) if grouped else np.arange(len(counts))
    telling = []
    known: dict[int, int] = {}
    for row, (group, trigger) in enumerate(zip(moments.groups, moments.triggers, strict=True)):
        if trigger or known.get(int(group), 0) != counts[row]:
            telling.append(row)
        known[int(group)] = counts[row]
    return np.array(telling, dtype=np.int64)


def most_live(operations: Operations) -> int:
    """Return the most STARTs of a key that are live at once; 1 without a window."""
    if operations.window is None:
        return 1
    at = operations.start_code
    return _most(operations.ts, operations.codes, operations.starts, at, operations.window)


@compiled_beyond(20_000)
def _most(ts: Wide, codes: Ints, starts: Wide, start_code: int, window: int) -> int:
    most = 1
    for key in range(starts.size - 1):
        tail = starts[key]
        live = 0
        for i in range(starts[key], starts[key + 1]):
            if codes[i] == start_code:
                live += 1
                while ts[i] - ts[tail] > window:
                    live -= codes[tail] == start_code
                    tail += 1
                most = max(most, live)
    return most
