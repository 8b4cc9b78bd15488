"""Compiled loops over operations sorted by key, and what they found as rows of the output.

Prefix counters of lanes are those of a forest with one sequence in it. Whole numbers beyond 64 bits
are counted modulo primes and put together at the end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.aggregation import count_loops, stack_loops, two_step_loops
from cepkit.aggregation.elements import Emit, Method
from cepkit.aggregation.emission import finished, wants_expiries
from cepkit.aggregation.lanes import Lanes, Tracks, tracks_for
from cepkit.aggregation.live import most_live
from cepkit.aggregation.moments import Moments
from cepkit.aggregation.operations import Operations
from cepkit.aggregation.remainders import joined, primes_for
from cepkit.aggregation.shared_run import run_alone

Wide = npt.NDArray[np.int64]


def run(operations: Operations, lanes: Lanes, method: Method, emit: Emit) -> Moments:
    """Return the rows that a method gives.

    Args:
        operations: What the events do.
        lanes: What is carried; 64 bits hold all numbers in the result.
        method: How.
        emit: Which rows.
    """
    only_new = emit in ("new", "total")
    triggers = np.flatnonzero(operations.codes == 0)
    expiries = wants_expiries(operations, emit)
    new = np.zeros(len(triggers), dtype=np.int64)
    tracks = tracks_for(lanes, len(triggers))
    starts = int((operations.codes == operations.start_code).sum()) if expiries else 0
    op = np.empty(starts, dtype=np.int64)
    left = tracks_for(lanes, starts)
    window = -1 if operations.window is None else operations.window
    given = (
        operations.ts, operations.codes, operations.rows, operations.starts, operations.length,
        window,
    )  # fmt: skip
    by_stacks = method == "window-product"
    if method == "prefix-counters" and not lanes.empty:
        return run_alone(operations, lanes, emit)
    if lanes.empty and method != "two-step":
        counting = count_loops.by_stacks if by_stacks else count_loops.by_prefix_counters
        written = counting(
            operations.ts, operations.codes, operations.starts, operations.length, window,
            most_live(operations), only_new, expiries, new, tracks.count, op, left.count,
        )  # fmt: skip
    else:
        carried = (
            lanes.int_at, lanes.ints, lanes.float_at, lanes.floats, lanes.least_at, lanes.leasts,
        )  # fmt: skip
        out: tuple[Any, ...] = (new, *tracks.arrays, op, *left.arrays)
        if by_stacks:
            most = most_live(operations)
            written = stack_loops.run(*given, most, *carried, 0, only_new, int(expiries), *out)
        else:
            written, _ = two_step_loops.run(*given, *carried, only_new, expiries, *out)
    left = left.take(np.arange(written))
    return finished(operations, lanes, triggers, new, tracks, op[:written], left, emit)


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
    triggers = np.flatnonzero(operations.codes == 0)
    expiries = wants_expiries(operations, emit)
    starts = int((operations.codes == operations.start_code).sum()) if expiries else 0
    primes = primes_for(most)
    runs = []
    carried = lanes
    for prime in primes:
        new, op = np.zeros(len(triggers), np.int64), np.empty(starts, np.int64)
        tracks, left = tracks_for(carried, len(triggers)), tracks_for(carried, starts)
        written = stack_loops.run(
            operations.ts, operations.codes, operations.rows, operations.starts,
            operations.length, -1 if operations.window is None else operations.window,
            most_live(operations), carried.int_at, carried.ints % prime, carried.float_at,
            carried.floats, carried.least_at, carried.leasts, prime, emit in ("new", "total"),
            2 * expiries, new, *tracks.arrays, op, *left.arrays,
        )  # fmt: skip
        left = left.take(np.arange(written))
        runs.append(
            finished(
                operations, carried, triggers, new, tracks, op[:written], left, emit, whole=True
            )
        )
        carried = replace(
            lanes, float_at=lanes.float_at[:0], floats=lanes.floats[:0],
            least_at=lanes.least_at[:0], leasts=lanes.leasts[:0],
        )  # fmt: skip
    rest = runs[0]
    several = [run.values for run in runs if isinstance(run.values, Tracks)]
    values = Tracks(
        joined([each.count for each in several], primes),
        joined([each.ints for each in several], primes),
        several[0].floats,
        several[0].leasts,
    )
    moments = replace(rest, new=joined([run.new for run in runs], primes), values=values)
    return moments.take(_telling(moments, values.count, emit, grouped=operations.grouped))


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
