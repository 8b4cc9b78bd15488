"""Runs a method over operations: compiled where that is exact, over elements otherwise.

What comes back are *moments*, one for each row of the output: when, of which group, for what
reason, and what the aggregates are. Groups of several keys are joined by a tree over their keys, in
O(log keys) for a moment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cepkit.aggregation import (
    count_loops,
    elements,
    prefix_counters,
    prefix_loops,
    remainder_loops,
    stack_loops,
    subtraction_loops,
    two_step,
    two_step_loops,
    window_product,
)
from cepkit.aggregation.elements import Emit, Together
from cepkit.aggregation.functions import Element, Function
from cepkit.aggregation.joining import join_elements, join_tracks
from cepkit.aggregation.lanes import SAFE, Lanes, Tracks, bounds, lanes_of, tracks_for
from cepkit.aggregation.loops import HAS_NUMBA
from cepkit.aggregation.matched import add_to
from cepkit.aggregation.moments import Moments, integers
from cepkit.aggregation.operations import Operations, in_stream_order
from cepkit.aggregation.remainders import joined, primes_for
from cepkit.stream.columns import EventColumns

Method: TypeAlias = Literal["prefix-counters", "window-product", "two-step"]
"""How A-Seq's queries can be aggregated; two-step is the baseline."""

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]

STATES: dict[Method, elements.NewState] = {
    "prefix-counters": prefix_counters.PrefixCounters,
    "window-product": window_product.WindowProduct,
    "two-step": two_step.TwoStep,
}


def aggregate(
    operations: Operations,
    variables: Sequence[str],
    functions: Sequence[Function],
    columns: EventColumns,
    method: Method,
    emit: Emit,
    *,
    interpreted: bool = False,
) -> Moments:
    """Return the rows that a method gives.

    Args:
        operations: What the events do.
        variables: The variable of each position.
        functions: What is asked.
        columns: The stream, with the attributes that the functions read.
        method: How.
        emit: Which rows; see `routes.aggregate`.
        interpreted: Whether to go without compiled loops, as where there are none.

    Raises:
        PatternError: A column holds what its function cannot take.
    """
    # Where there can be no match a position is put before the only one.
    variables = [variables[0]] * (operations.length - len(variables)) + list(variables)
    positions = {variable: p for p, variable in enumerate(variables, 1)}
    lanes = lanes_of(functions, positions, columns)
    if lanes is not None and not interpreted and HAS_NUMBA:
        most = _greatest(operations, lanes, emit)
        if most < SAFE:
            return _by_loops(operations, lanes, method, emit)
        if most < math.inf and method != "two-step":
            return _by_remainders(operations, lanes, most, emit)
    together = Together(functions)
    read = elements.reader(together, variables, columns)
    records = elements.run(operations, read, together, STATES[method])
    return _of_elements(operations, together, records, emit)


def _greatest(operations: Operations, lanes: Lanes, emit: Emit) -> float:
    """Return an upper bound on whole numbers in the result."""
    live, total = bounds(operations)
    return max(live, total if emit == "total" else 0.0) * lanes.greatest


def _by_remainders(operations: Operations, lanes: Lanes, most: float, emit: Emit) -> Moments:
    """Return the rows with whole numbers of any size; floats and extremes come from one more run.

    Whether numbers changed at an expiry is not seen in remainders: all expiries are written, and
    those that change nothing are left out at the end.
    """
    only_new = emit in ("new", "total")
    triggers = np.flatnonzero(operations.codes == 0)
    expiries = wants_expiries(operations, emit)
    starts = int((operations.codes == operations.start_code).sum()) if expiries else 0
    window = -1 if operations.window is None else operations.window
    given = (
        operations.ts, operations.codes, operations.rows, operations.starts, operations.length,
        window,
    )  # fmt: skip
    primes = primes_for(most)
    runs = []
    for prime in primes:
        new, op = np.zeros(len(triggers), np.int64), np.empty(starts, np.int64)
        tracks, left = tracks_for(lanes, len(triggers)), tracks_for(lanes, starts)
        written = remainder_loops.run(
            *given, lanes.int_at, lanes.ints % prime, prime, only_new, expiries,
            new, tracks.count, tracks.ints, op, left.count, left.ints,
        )  # fmt: skip
        left = left.take(np.arange(written))
        runs.append(
            finished(operations, lanes, triggers, new, tracks, op[:written], left, emit, whole=True)
        )
    rest = runs[0]
    if not lanes.only_integers:
        new, op = np.zeros(len(triggers), np.int64), np.empty(starts, np.int64)
        tracks, left = tracks_for(lanes, len(triggers)), tracks_for(lanes, starts)
        written = stack_loops.run(
            *given, lanes.int_at, lanes.ints, lanes.float_at, lanes.floats, lanes.least_at,
            lanes.leasts, only_new, 2 * expiries, new,
            tracks.count, tracks.ints, tracks.floats, tracks.leasts,
            op, left.count, left.ints, left.floats, left.leasts,
        )  # fmt: skip
        left = left.take(np.arange(written))
        rest = finished(
            operations, lanes, triggers, new, tracks, op[:written], left, emit, whole=True
        )
    several = [run.values for run in runs if isinstance(run.values, Tracks)]
    assert isinstance(rest.values, Tracks)
    values = Tracks(
        joined([each.count for each in several], primes),
        joined([each.ints for each in several], primes),
        rest.values.floats,
        rest.values.leasts,
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


def _by_loops(operations: Operations, lanes: Lanes, method: Method, emit: Emit) -> Moments:
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
    if lanes.empty and method != "two-step":
        counting = count_loops.by_prefix_counters
        if method == "window-product":
            absences = bool((operations.codes & 1).any())
            counting = count_loops.by_stacks if absences else count_loops.by_subtraction
        written = counting(
            operations.ts, operations.codes, operations.starts, operations.length, window,
            only_new, expiries, new, tracks.count, op, left.count,
        )  # fmt: skip
    elif method == "window-product" and lanes.only_integers and not (operations.codes & 1).any():
        written = subtraction_loops.run(
            *given, lanes.int_at, lanes.ints, only_new, expiries,
            new, tracks.count, tracks.ints, op, left.count, left.ints,
        )  # fmt: skip
    else:
        carried = (
            lanes.int_at, lanes.ints, lanes.float_at, lanes.floats, lanes.least_at, lanes.leasts,
        )  # fmt: skip
        out: tuple[Any, ...] = (
            tracks.count, tracks.ints, tracks.floats, tracks.leasts,
            op, left.count, left.ints, left.floats, left.leasts,
        )  # fmt: skip
        if method == "window-product":
            written = stack_loops.run(*given, *carried, only_new, int(expiries), new, *out)
        elif method == "prefix-counters":
            written = prefix_loops.run(*given, *carried, only_new, expiries, new, *out)
        else:
            written, _ = two_step_loops.run(*given, *carried, only_new, expiries, new, *out)
    left = left.take(np.arange(written))
    return finished(operations, lanes, triggers, new, tracks, op[:written], left, emit)


def _several_keys(operations: Operations) -> bool:
    """Return whether a group has several keys."""
    groups = operations.groups[np.diff(operations.starts) > 0]
    return len(groups) > len(np.unique(groups))


def wants_expiries(operations: Operations, emit: Emit) -> bool:
    """Return whether it must be known when matches expire, beside what is live at triggers."""
    joined = emit == "trigger" and _several_keys(operations)
    return operations.window is not None and (emit == "changes" or joined)


def finished(
    operations: Operations,
    lanes: Lanes,
    triggers: Wide,
    new: Wide,
    tracks: Tracks,
    expired: Wide,
    left: Tracks,
    emit: Emit,
    *,
    whole: bool = False,
) -> Moments:
    """Return the rows of the output from what was found for each key.

    Args:
        operations: What the events do.
        lanes: What is carried.
        triggers: The operations that are triggers.
        new: How many matches each completes.
        tracks: What its key holds then; for "new" and "total", what it completes.
        expired: The START operations of moments of expiry.
        left: What their keys hold then.
        emit: Which rows.
        whole: Whether totals of nothing stay in.
    """
    groups = _groups(operations, triggers)
    several = _several_keys(operations)
    if emit == "total":
        return _totals(operations, lanes, groups, tracks, whole=whole)
    if emit == "new" or (emit == "trigger" and not several):
        always = np.ones(len(triggers), dtype=np.bool_)
        if len(operations.groups) == 1:
            return Moments(operations.ts[triggers], groups, always, new, tracks, lanes)
        order = in_stream_order(operations.rows[triggers])
        at = triggers[order]
        return Moments(
            operations.ts[at], groups[order], always, new[order], tracks.take(order), lanes
        )
    return join_tracks(
        operations, lanes, triggers, new, tracks, expired, left, changes=emit == "changes"
    )


def _groups(operations: Operations, at: Wide) -> Ints:
    """Return the groups of some operations, which are in order."""
    numbers = np.diff(np.searchsorted(at, operations.starts))
    return np.repeat(operations.groups, numbers)


def _totals(
    operations: Operations, lanes: Lanes, groups: Ints, new: Tracks, *, whole: bool
) -> Moments:
    """Return what all triggers complete together, a row for each group that has a match."""
    size = len(operations.group_rows)
    sums = tracks_for(lanes, size)
    add_to(sums, groups, new)
    found = (sums.count > 0) | whole
    at = np.flatnonzero(found).astype(np.int32) if operations.grouped else np.zeros(1, np.int32)
    nothing = np.zeros(len(at), np.int64)
    return Moments(nothing, at, nothing.astype(np.bool_), nothing, sums.take(at), lanes)


def _of_elements(
    operations: Operations, together: Together, records: elements.Records, emit: Emit
) -> Moments:
    triggers = np.flatnonzero(operations.codes == 0)
    groups = _groups(operations, triggers)
    if emit == "total":
        sums: dict[int, Element] = {} if operations.grouped else {0: together.zero}
        for group, element in zip(groups, records.new, strict=True):
            sums[int(group)] = together.plus(sums.get(int(group), together.zero), element)
        if operations.grouped:
            sums = {group: element for group, element in sorted(sums.items()) if element[0]}
        nothing = np.zeros(len(sums), dtype=np.int64)
        return Moments(
            nothing, np.array(list(sums), dtype=np.int32), nothing.astype(np.bool_), nothing,
            list(sums.values()), None,
        )  # fmt: skip
    if emit == "new":
        order = in_stream_order(operations.rows[triggers])
        at = triggers[order]
        found = [records.new[i] for i in order]
        return Moments(
            operations.ts[at], groups[order], np.ones(len(at), np.bool_),
            integers([element[0] for element in found]), found, None,
        )  # fmt: skip
    return join_elements(operations, together, triggers, records, changes=emit == "changes")
