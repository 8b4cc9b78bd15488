"""Runs the compiled loops over operations sorted by key, and makes rows of their results.

Prefix counters with lanes use a forest with a single sequence. Integers beyond 64 bits are counted
modulo primes and combined at the end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels import count as count_loops
from cepkit.aggregation.kernels import stacks as stack_loops
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
        return (
            _by_stacks(operations, lanes, emit) if by_stacks else run_alone(operations, lanes, emit)
        )
    out = LoopOutput(operations, lanes, emit)
    counting = count_loops.by_stacks if by_stacks else count_loops.by_prefix_counters
    return out.moments(counting(out.steps, most_live(operations), out.to))


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
    if prime:
        lanes = replace(lanes, ints=lanes.ints % prime)
    out = LoopOutput(operations, lanes, emit, every=bool(prime))
    written = stack_loops.run(out.steps, most_live(operations), lanes.arrays, prime, out.to)
    return out.moments(written, whole=bool(prime))


class LoopOutput:
    """The input of a loop, and the arrays that it writes its rows to.

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
        size = len(self._triggers)
        starts = int((operations.codes == operations.start_code).sum()) if expiries else 0
        self.to = Output(
            emit in ("new", "total"), (2 if every else 1) * expiries,
            np.zeros(size, dtype=np.int64), tracks_for(lanes, size),
            np.empty(starts, dtype=np.int64), tracks_for(lanes, starts),
        )  # fmt: skip

    def moments(self, written: int, *, whole: bool = False) -> Moments:
        """Return the rows, given the number of expiry moments; `whole` as in `finished`."""
        to = self.to
        return finished(
            self._operations, self._lanes, self._triggers, to.new, to.tracks,
            to.op[:written], to.left.take(np.arange(written)), self._emit, whole=whole,
        )  # fmt: skip


def _telling(moments: Moments, count: npt.NDArray[Any], emit: Emit, *, grouped: bool) -> Wide:
    """Drop rows without information: expiries that change nothing, totals of no match."""
    if emit == "total":
        return np.flatnonzero(count > 0) if grouped else np.arange(len(count))
    telling = []
    known: dict[int, int] = {}
    for row, (group, trigger) in enumerate(zip(moments.groups, moments.triggers, strict=True)):
        if trigger or known.get(int(group), 0) != count[row]:
            telling.append(row)
        known[int(group)] = count[row]
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
