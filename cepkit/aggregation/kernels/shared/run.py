"""The loop over all operations.

If it needs more room it stops before the first event of a moment and can continue from there: its
whole state is in `State`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.aggregation.kernels.records import NOBODY, Floats, Wide
from cepkit.aggregation.kernels.shared.records import (
    DONE,
    EXPIRED,
    FLOAT,
    LEAST,
    LIVE,
    MORE_SNAPSHOTS,
    MORE_STARTS,
    SUM,
    ForestSteps,
    MomentRows,
    Saved,
    State,
    Wiring,
)
from cepkit.aggregation.kernels.shared.results import (
    dot,
    in_snapshots,
    live_matches,
    saved_at,
    total,
    write_lanes,
)
from cepkit.aggregation.kernels.shared.snapshots import save_all
from cepkit.compiling import called, compiled_beyond, lent


@lent
def extend(
    w: Wiring, s: State, node: np.uintp, source: np.uintp, event: int, lo: np.uintp, hi: np.uintp
) -> None:
    """Extend the lanes of a node from the node before, whose counts begin at `source`."""
    nodes, legs, values, reals, x, f, size = (
        w.nodes, w.legs, w.values, w.reals, s.x, s.f, uintp(s.room)
    )  # fmt: skip
    for c in range(nodes[node].legs, nodes[node + uintp(1)].legs):
        kind, to, before = legs[c].kind, uintp(legs[c].row) * size, legs[c].before
        known = uintp(max(0, before)) * size
        if kind == SUM and before >= 0:
            _add(x, to, known, lo, hi)
        elif kind == SUM:
            _add_times(x, to, x, source, lo, hi, values[legs[c].values, event])
        elif kind == FLOAT and before >= 0:
            _add(f, to, known, lo, hi)
        elif kind == FLOAT:
            _add_times(f, to, x, source, lo, hi, reals[legs[c].values, event])
        elif before >= 0:
            for at in range(lo, hi):
                x[to + at] = min(x[to + at], x[known + at])
        else:
            least = values[legs[c].values, event]
            for at in range(lo, hi):
                if x[source + at] != 0:
                    x[to + at] = min(x[to + at], least)


@lent
def start(w: Wiring, s: State, node: np.uintp, place: np.uintp, event: int) -> None:
    """Write the lanes of a START: its node is the first, so all lanes hold its own values."""
    nodes, legs, values, reals, x, f, size = (
        w.nodes, w.legs, w.values, w.reals, s.x, s.f, uintp(s.room)
    )  # fmt: skip
    for c in range(nodes[node].legs, nodes[node + uintp(1)].legs):
        at = uintp(legs[c].row) * size + place
        if legs[c].kind == SUM:
            x[at] += values[legs[c].values, event]
        elif legs[c].kind == FLOAT:
            f[at] += reals[legs[c].values, event]
        else:
            x[at] = min(x[at], values[legs[c].values, event])


@called
def clear(kind: int, row: np.uintp, lo: np.uintp, hi: np.uintp, x: Wide, f: Floats) -> None:
    """Reset lanes to their values for no match."""
    if kind == FLOAT:
        for at in range(row + lo, row + hi):
            f[at] = 0.0
    else:
        nothing = NOBODY if kind == LEAST else 0
        for at in range(row + lo, row + hi):
            x[at] = nothing


@lent
def _add(
    rows: npt.NDArray[Any], to: np.uintp, source: np.uintp, lo: np.uintp, hi: np.uintp
) -> None:
    for at in range(lo, hi):
        rows[to + at] += rows[source + at]


@lent
def _add_times(
    rows: npt.NDArray[Any], to: np.uintp, x: Wide, source: np.uintp, lo: np.uintp, hi: np.uintp,
    value: Any,
) -> None:  # fmt: skip
    for at in range(lo, hi):
        # Infinity times 0 prefixes must be 0.
        rows[to + at] += value * x[source + at] if x[source + at] != 0 else rows.dtype.type(0)


@called
def move_up(w: Wiring, s: State, saved: Saved, tree: int) -> None:
    """Drop the expired STARTs of a tree: the others move to the beginning."""
    nodes, links, legs, trees = w.nodes, w.links, w.legs, s.trees
    x, f, born, size = s.x, s.f, s.born, uintp(s.room)
    by, hi = uintp(trees[tree].lo), uintp(trees[tree].hi)
    _move(born, uintp(tree) * size, by, hi)
    for v in range(nodes.size - 1):
        if nodes[v].tree == tree:
            _move(x, uintp(v) * size, by, hi)
            for c in range(nodes[v].legs, nodes[v + 1].legs):
                if legs[c].kind == FLOAT:
                    _move(f, uintp(legs[c].row) * size, by, hi)
                else:
                    _move(x, uintp(legs[c].row) * size, by, hi)
    if len(saved):
        kept = saved.kept
        for link in range(links.size - 1):
            if links[link].tree == tree:
                row = uintp(link) * size
                for at in range(row + by, row + hi):
                    kept[at - by].at = kept[at].at
                    kept[at - by].oldest = kept[at].oldest
                    kept[at - by].live = kept[at].live
    trees[tree].moved += trees[tree].lo
    trees[tree].hi -= trees[tree].lo
    trees[tree].lo = 0


@called
def _move(rows: npt.NDArray[Any], row: np.uintp, by: np.uintp, hi: np.uintp) -> None:
    for at in range(row + by, row + hi):
        rows[at - by] = rows[at]


@lent
def due(steps: ForestSteps, w: Wiring, s: State, q: np.uintp, now: int) -> bool:
    """Return whether a START of a sequence has expired by a time."""
    tree = w.chains[uintp(w.queries[q].chain)].tree
    place = max(s.trees[tree].lo, w.queries[q].oldest - s.trees[tree].moved)
    if place >= s.trees[tree].hi:
        return False
    start = s.born[uintp(tree) * uintp(s.room) + uintp(place)]
    return bool(now - steps.ts[start] > w.queries[q].window)


@called
def expire(
    steps: ForestSteps, w: Wiring, s: State, saved: Saved, to: MomentRows, q: np.uintp, now: int
) -> None:  # fmt: skip
    """Expire the STARTs of a sequence up to a time; write the moments at which matches expire."""
    ts, chains, queries, trees, born = steps.ts, w.chains, w.queries, s.trees, s.born
    size = uintp(s.room)
    one = uintp(1)
    chain = uintp(queries[q].chain)
    tree = chains[chain].tree
    births, end = uintp(tree) * size, trees[tree].hi
    before = -1
    place = max(trees[tree].lo, queries[q].oldest - trees[tree].moved)
    while place < end:
        start = born[births + uintp(place)]
        moment = ts[start]
        if now - moment <= queries[q].window:
            break
        if before < 0:
            before = live_matches(w, s, saved, q)
        while place < end and ts[born[births + uintp(place)]] == moment:
            start = born[births + uintp(place)]
            place += 1
        queries[q].oldest = place + trees[tree].moved
        left = live_matches(w, s, saved, q)
        if left != before:
            nth = queries[q].expired
            queries[q].expired += 1
            to.at[queries[q].expiries + nth] = start
            to.counts[queries[q].expiries + nth] = left
            if queries[q].sources < queries[q + one].sources:
                write_lanes(w, s, saved, to, q, chains[chain].end, EXPIRED, left, nth)
        before = left


@compiled_beyond(4_000)
def run(
    steps: ForestSteps, w: Wiring, s: State, saved: Saved, only_new: bool, expiries: bool,
    completed: MomentRows, expired: MomentRows,
) -> int:  # fmt: skip
    """Aggregate all sequences.

    Args:
        steps: The operations of the events.
        w: The forest.
        s: The state of a key.
        saved: Its snapshots; the empty tuple if no piece follows another.
        only_new: Whether rows of triggers are about the matches that they complete instead of the
            live ones.
        expiries: Whether moments of expiry are written.
        completed: The rows of triggers, which are written.
        expired: The rows of expiries, which are written.

    Returns:
        Why it stopped.
    """
    ts, slots, starts, lost = steps.ts, steps.slots, steps.starts, steps.lost
    kinds, keep, cursor = w.kinds, w.keep, s.cursor
    number = w.queries.size - 1
    for key in range(cursor[0], starts.size - 1):
        begin, stop = starts[key], starts[key + 1]
        i = max(begin, cursor[1])
        if lost[key]:
            _skip(steps, w, begin, stop)
            continue
        if i == begin:
            _begin(w, s)
        while i < stop:
            now = ts[i]
            end = i + 1
            while end < stop and ts[end] == now:
                end += 1
            if expiries:
                for each in range(number):
                    if due(steps, w, s, uintp(each), now):
                        expire(steps, w, s, saved, expired, uintp(each), now)
            if keep >= 0 and not _make_room(steps, w, s, saved, now, end - i):
                cursor[0], cursor[1] = key, i
                return MORE_STARTS
            # A START must not see events of its own time: take snapshots before them.
            if (
                len(saved)
                and _any_start(steps, w, i, end)
                and not save_all(steps, w, s, saved, i, end)
            ):
                cursor[0], cursor[1] = key, i
                return MORE_SNAPSHOTS
            triggers = 0
            for op in range(i, end):
                slot = uintp(slots[op])
                node = uintp(kinds[slot].node)
                if kinds[slot].absent:
                    _end(w, s, node)
                    continue
                triggers += _complete(steps, w, s, saved, node, op, now, only_new, completed)
                _count(steps, w, s, node, op)
            # All events of this time are done: write the live matches at its triggers.
            if triggers > 0:
                _write_live(steps, w, s, saved, i, end, only_new, completed)
            i = end
        if expiries and keep >= 0 and stop > begin:
            for each in range(number):
                expire(steps, w, s, saved, expired, uintp(each), ts[stop - 1] + 2 * (keep + 1))
    return DONE


@lent
def _skip(steps: ForestSteps, w: Wiring, begin: int, stop: int) -> None:
    """Skip triggers without a key: they complete nothing."""
    for op in range(begin, stop):
        slot = uintp(steps.slots[op])
        node = uintp(w.kinds[slot].node)
        if not w.kinds[slot].absent:
            for entry in range(w.nodes[node].ending, w.nodes[node + uintp(1)].ending):
                w.queries[uintp(w.ending[entry])].done += 1


@lent
def _begin(w: Wiring, s: State) -> None:
    """Reset the state for the next key."""
    s.cursor[2] = 0
    for t in range(s.trees.size):
        s.trees[t].lo = 0
        s.trees[t].hi = 0
        s.trees[t].moved = 0
        s.trees[t].staged = 0
    for each in range(w.queries.size - 1):
        w.queries[each].oldest = 0


@lent
def _make_room(
    steps: ForestSteps, w: Wiring, s: State, saved: Saved, now: int, events: int
) -> bool:
    """Drop expired STARTs; return whether there is room for `events` new ones."""
    trees, room = s.trees, s.room
    for t in range(trees.size):
        live_from, known, births = trees[t].lo, trees[t].hi, uintp(t) * uintp(room)
        while live_from < known:
            if now - steps.ts[s.born[births + uintp(live_from)]] <= w.keep:
                break
            live_from += 1
        trees[t].lo = live_from
        if known + events > room:
            if live_from < room >> 1 or known - live_from + events > room:
                return False
            move_up(w, s, saved, t)
    return True


@lent
def _any_start(steps: ForestSteps, w: Wiring, i: int, end: int) -> bool:
    """Return whether any of some operations begins a piece."""
    starting = False
    for op in range(i, end):
        starting = starting or w.nodes[w.kinds[uintp(steps.slots[op])].node].parent < 0
    return starting


@lent
def _end(w: Wiring, s: State, node: np.uintp) -> None:
    """Apply an event that must be absent after a node."""
    tree, size = uintp(w.nodes[node].tree), uintp(s.room)
    lo, hi = uintp(s.trees[tree].lo), uintp(s.trees[tree].hi)
    for at in range(node * size + lo, node * size + hi):
        s.x[at] = 0
    for c in range(w.nodes[node].legs, w.nodes[node + uintp(1)].legs):
        clear(w.legs[c].kind, uintp(w.legs[c].row) * size, lo, hi, s.x, s.f)


@lent
def _complete(
    steps: ForestSteps, w: Wiring, s: State, saved: Saved, node: np.uintp, op: int, now: int,
    only_new: bool, to: MomentRows,
) -> int:  # fmt: skip
    """Write the number of matches that an event completes, for each sequence that ends at its node.

    Returns:
        The number of these sequences.
    """
    nodes, queries, chains, trees = w.nodes, w.queries, w.chains, s.trees
    size, above = uintp(s.room), nodes[node].parent
    tree = uintp(nodes[node].tree)
    lo, hi = uintp(trees[tree].lo), uintp(trees[tree].hi)
    for entry in range(nodes[node].ending, nodes[node + uintp(1)].ending):
        q = uintp(w.ending[uintp(entry)])
        chain = uintp(queries[q].chain)
        link, first = chains[chain].link, uintp(chains[chain].tree)
        place = max(trees[first].lo, queries[q].oldest - trees[first].moved)
        if w.keep >= 0:
            births = first * size
            while place < trees[first].hi:
                if now - steps.ts[s.born[births + uintp(place)]] <= queries[q].window:
                    break
                place += 1
            queries[q].oldest = place + trees[first].moved
        matches = 1
        if above >= 0 and link < 0:
            base = uintp(above) * size
            matches = total(s.x, base + uintp(place), base + hi)
        elif len(saved):
            before = in_snapshots(saved, 0, uintp(max(0, link)) * size, queries[q].oldest)
            if above >= 0:
                matches = dot(s.x, uintp(above) * size, lo, hi, before)
            elif link >= 0:
                matches = saved_at(before, hi, 0)
        nth = queries[q].done
        to.at[queries[q].triggers + nth] = matches
        if only_new:
            to.counts[queries[q].triggers + nth] = matches
            write_lanes(w, s, saved, to, q, above, steps.rows[op], matches, nth)
        queries[q].done += 1
        queries[q].waiting += 1
    return int(nodes[node + uintp(1)].ending - nodes[node].ending)


@lent
def _count(steps: ForestSteps, w: Wiring, s: State, node: np.uintp, op: int) -> None:
    """Let an event extend the prefixes before its node, or begin one."""
    one, size = uintp(1), uintp(s.room)
    nodes, trees = w.nodes, s.trees
    tree, above = uintp(nodes[node].tree), nodes[node].parent
    lo, hi = uintp(trees[tree].lo), uintp(trees[tree].hi)
    row = node * size
    carries = nodes[node].legs < nodes[node + one].legs
    if above >= 0:
        base = uintp(above) * size
        if carries:
            extend(w, s, node, base, steps.rows[op], lo, hi)
        for at in range(lo, hi):
            s.x[row + at] += s.x[base + at]
        return
    if w.keep >= 0 or hi == lo:  # without a window all STARTs share one place
        s.born[tree * size + hi] = op
        for v in range(nodes.size - 1):
            if uintp(nodes[v].tree) == tree:
                s.x[uintp(v) * size + hi] = 0
        for c in range(w.legs.size):
            if uintp(w.legs[c].tree) == tree:
                clear(w.legs[c].kind, uintp(w.legs[c].row) * size, hi, hi + one, s.x, s.f)
        hi += one
        trees[tree].hi += 1
        trees[tree].staged -= trees[tree].staged > 0
    s.x[row + hi - one] += 1
    if carries:
        start(w, s, node, hi - one, steps.rows[op])


@lent
def _write_live(
    steps: ForestSteps, w: Wiring, s: State, saved: Saved, i: int, end: int, only_new: bool,
    to: MomentRows,
) -> None:  # fmt: skip
    """Write the live matches at the triggers of a moment."""
    queries, one = w.queries, uintp(1)
    for op in range(i, end):
        slot = uintp(steps.slots[op])
        if w.kinds[slot].absent:
            continue
        node = uintp(w.kinds[slot].node)
        for entry in range(w.nodes[node].ending, w.nodes[node + one].ending):
            q = uintp(w.ending[uintp(entry)])
            waiting = queries[q].waiting
            queries[q].waiting = 0
            if waiting == 0 or only_new:
                continue
            moment = queries[q].done
            matches = live_matches(w, s, saved, q)
            for nth in range(moment - waiting, moment):
                to.counts[queries[q].triggers + nth] = matches
            if queries[q].sources < queries[q + one].sources:
                write_lanes(w, s, saved, to, q, w.kinds[slot].node, LIVE, matches, moment - waiting)
                for source in range(queries[q].sources, queries[q + one].sources):
                    first = w.sources[source].out + moment - waiting
                    for at in range(first + 1, w.sources[source].out + moment):
                        if w.sources[source].kind == FLOAT:
                            to.f[at] = to.f[first]
                        else:
                            to.x[at] = to.x[first]
