"""Aggregates of groups that consist of several keys, at every moment.

Each key reports its aggregates after each trigger and each expiry. A binary tree over the keys of a
group adds them up without any subtraction, so it works for every aggregate, in O(log keys) for each
of these moments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels.records import Tracks, put
from cepkit.aggregation.rows.moments import Moments, integers
from cepkit.aggregation.semirings.functions import Element
from cepkit.aggregation.semirings.lanes import Lanes, tracks_for
from cepkit.aggregation.sequence.elements import Records, Together
from cepkit.aggregation.sequence.operations import Operations, in_stream_order
from cepkit.compiling import compiled, lent
from cepkit.indexing import bin_counts, repeated

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.bool_]


class _Changes(NamedTuple):
    """The rows of all keys in time order.

    Attributes:
        ts: int64[changes], when.
        keys: int64[changes], which key.
        triggers: bool[changes], whether it is a trigger; else an expiry.
        sources: int64[changes], which of the triggers, or of the expiries.
    """

    ts: Wide
    keys: Wide
    triggers: Bits
    sources: Wide


def _changes(operations: Operations, triggers: Wide, expired: Wide) -> _Changes:
    after = 0 if operations.window is None else operations.window + 1
    by_trigger = in_stream_order(operations.rows[triggers])
    by_start = in_stream_order(operations.rows[expired])
    ops = np.concatenate((expired[by_start], triggers[by_trigger]))
    ts = operations.ts[ops]
    ts[: len(expired)] += after
    order = merge(ts, len(expired))
    key_of = np.concatenate(
        (_keys(operations, expired)[by_start], _keys(operations, triggers)[by_trigger])
    )
    sources = np.concatenate((by_start, by_trigger))
    return _Changes(ts[order], key_of[order], order >= len(expired), sources[order])


def _keys(operations: Operations, at: Wide) -> Wide:
    """Return the keys of some operations, which are in order."""
    numbers = np.diff(np.searchsorted(at, operations.starts))
    return repeated(np.arange(len(operations.groups)), numbers)


def merge(ts: Wide, cut: int) -> Wide:
    """Return the order that merges two sorted parts of times, the second from `cut` on.

    At equal times the first part comes first.
    """
    order = np.empty(len(ts), dtype=np.int64)
    _merge(ts, cut, order)
    return order


@compiled
def _merge(ts: Wide, cut: int, order: Wide) -> None:
    i, j = 0, cut
    for to in range(ts.size):
        if i < cut and (j == ts.size or ts[i] <= ts[j]):
            order[to] = i
            i += 1
        else:
            order[to] = j
            j += 1


class _Trees(NamedTuple):
    """A tree over the keys of each group: for k keys, k nodes in a heap (root at 1) and k leaves.

    Attributes:
        groups: int32[keys], the group of each key.
        leaves: int64[keys], its leaf.
        roots: int64[groups], where the nodes of each group begin.
    """

    groups: Ints
    leaves: Wide
    roots: Wide


def _trees(groups: Ints, size: int) -> _Trees:
    """Return one tree for each of `size` groups, over the keys in it."""
    number = bin_counts(groups, minlength=size)
    roots = np.cumsum([0, *(2 * number)])[:-1]
    order = np.argsort(groups, kind="stable")
    place = np.empty(len(groups), dtype=np.int64)
    place[order] = np.arange(len(groups)) - repeated(np.cumsum(number) - number, number)
    return _Trees(groups, roots[groups] + number[groups] + place, roots)


def join_tracks(
    operations: Operations,
    lanes: Lanes,
    triggers: Wide,
    new: Wide,
    live: Tracks,
    expired: Wide,
    left: Tracks,
    *,
    changes: bool,
) -> Moments:
    """Return the rows of all groups.

    Args:
        new: How many matches each completes.
        live: The aggregates of its key then.
        expired: The START operations of the expiries.
        left: The aggregates of their keys then.
        changes: Whether expiries make rows.
    """
    updates = _changes(operations, triggers, expired)
    trees = _trees(operations.groups, len(operations.group_rows))
    nodes = tracks_for(lanes, 2 * len(operations.groups))
    out = tracks_for(lanes, len(updates.ts) if changes else len(triggers))
    at = np.empty(len(out.counts), dtype=np.int64)
    written = _join(updates, trees, changes, live, left, nodes, out, at)
    at = at[:written]
    completed = np.zeros(written, dtype=np.int64)
    is_trigger = updates.triggers[at]
    completed[is_trigger] = new[updates.sources[at[is_trigger]]]
    return Moments(
        updates.ts[at], operations.groups[updates.keys[at]], is_trigger, completed,
        out.take(np.arange(written)), lanes,
    )  # fmt: skip


@lent
def _both(nodes: Tracks, to: int, x: int, y: int) -> None:
    """Write the sum of two nodes."""
    nodes.counts[to] = nodes.counts[x] + nodes.counts[y]
    for lane in range(nodes.ints.shape[0]):
        nodes.ints[lane, to] = nodes.ints[lane, x] + nodes.ints[lane, y]
    for lane in range(nodes.floats.shape[0]):
        nodes.floats[lane, to] = nodes.floats[lane, x] + nodes.floats[lane, y]
    for lane in range(nodes.leasts.shape[0]):
        nodes.leasts[lane, to] = min(nodes.leasts[lane, x], nodes.leasts[lane, y])


@compiled
def _join(
    updates: _Changes,
    trees: _Trees,
    changes: bool,
    live: Tracks,
    left: Tracks,
    nodes: Tracks,
    out: Tracks,
    at: Wide,
) -> int:
    """Write the aggregates of groups at each row, and the change of each row; return their number.

    Args:
        live: The key's aggregates at each trigger.
        left: The key's aggregates after each expiry.
        nodes: A place for each node.
        out: A place for each row.
        at: int64[rows], the change of each row.
    """
    ts, keys, triggers, sources = updates
    groups, leaves, roots = trees
    last_seen = np.full(roots.size, -1, dtype=np.int64)
    written = 0
    i = 0
    while i < ts.size:
        end = i
        while end < ts.size and ts[end] == ts[i]:
            key = keys[end]
            base = roots[groups[key]]
            place = leaves[key] - base
            if triggers[end]:
                put(nodes, base + place, live, sources[end])
            else:
                put(nodes, base + place, left, sources[end])
            place //= 2
            while place >= 1:
                _both(nodes, base + place, base + 2 * place, base + 2 * place + 1)
                place //= 2
            end += 1
        # First the rows of triggers, then those of groups with expiries only.
        for turn in range(2 if changes else 1):
            for r in range(i, end):
                group = groups[keys[r]]
                if triggers[r] != (turn == 0) or (turn == 1 and last_seen[group] == i):
                    continue
                last_seen[group] = i
                put(out, written, nodes, roots[group] + 1)
                at[written] = r
                written += 1
        i = end
    return written


def join_elements(
    operations: Operations, together: Together, triggers: Wide, records: Records, *, changes: bool
) -> Moments:
    """Return the same for elements of any function."""
    expired = np.array([op for op, _ in records.expired], dtype=np.int64)
    updates = _changes(operations, triggers, expired)
    _, leaves, roots = _trees(operations.groups, len(operations.group_rows))
    nodes = [together.zero] * (2 * len(operations.groups))
    rows: list[int] = []
    values: list[Element] = []
    begin = 0
    while begin < len(updates.ts):
        end = begin
        while end < len(updates.ts) and updates.ts[end] == updates.ts[begin]:
            source = int(updates.sources[end])
            element = records.live[source] if updates.triggers[end] else records.expired[source][1]
            base = int(roots[operations.groups[updates.keys[end]]])
            place = int(leaves[updates.keys[end]]) - base
            nodes[base + place] = element
            while place > 1:
                place //= 2
                nodes[base + place] = together.plus(
                    nodes[base + 2 * place], nodes[base + 2 * place + 1]
                )
            end += 1
        run = range(begin, end)
        chosen = [r for r in run if updates.triggers[r]]
        if changes:
            groups_seen = {int(operations.groups[updates.keys[r]]) for r in chosen}
            for r in run:
                group = int(operations.groups[updates.keys[r]])
                if group not in groups_seen:
                    groups_seen.add(group)
                    chosen.append(r)
        rows += chosen
        values += [nodes[int(roots[operations.groups[updates.keys[r]]]) + 1] for r in chosen]
        begin = end
    at = np.array(rows, dtype=np.int64)
    is_trigger = updates.triggers[at]
    completed = [
        records.new[int(updates.sources[r])][0] if updates.triggers[r] else 0 for r in rows
    ]
    return Moments(
        updates.ts[at], operations.groups[updates.keys[at]], is_trigger, integers(completed),
        values, None,
    )  # fmt: skip
