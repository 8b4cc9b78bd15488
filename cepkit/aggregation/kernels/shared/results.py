"""The aggregates of a sequence's live matches, or of those that an event completes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.aggregation.kernels.records import NOBODY, Floats, Wide
from cepkit.aggregation.kernels.shared.records import (
    EXPIRED,
    FLOAT,
    SUM,
    Before,
    MomentRows,
    Saved,
    State,
    Wiring,
)
from cepkit.compiling import called, lent


@lent
def total(rows: npt.NDArray[Any], begin: np.uintp, end: np.uintp) -> Any:
    """Return the sum of a part of a row."""
    result = rows.dtype.type(0)
    for at in range(begin, end):
        result += rows[at]
    return result


@called
def dot(rows: npt.NDArray[Any], row: np.uintp, lo: np.uintp, hi: np.uintp, before: Before) -> Any:
    """Return the dot product of a piece's STARTs and their snapshots of live STARTs.

    Args:
        rows: Where their row is.
        row: Where it begins.
        lo: The first START.
        hi: The end of them.
        before: The snapshots.
    """
    snaps, wide, slot, kept, mine, oldest = before
    result = rows.dtype.type(0) * snaps.dtype.type(0)
    for place in range(lo, hi):
        value = rows[row + place]
        if value == 0:
            continue
        mark = kept[mine + place]
        skip = max(0, oldest - mark.oldest)
        if skip < mark.live:
            result += value * snaps[uintp(mark.at * wide + slot * mark.live + skip)]
    return result


@called
def dot_reals(f: Floats, row: np.uintp, lo: np.uintp, hi: np.uintp, before: Before) -> float:
    """Return the dot product of a float lane and the numbers of matches in snapshots."""
    snaps, wide, _, kept, mine, oldest = before
    result = 0.0
    for place in range(lo, hi):
        mark = kept[mine + place]
        skip = max(0, oldest - mark.oldest)
        if skip < mark.live:
            saved = snaps[uintp(mark.at * wide + skip)]
            if saved != 0:  # infinity times 0 must be 0
                result += f[row + place] * saved
    return result


@called
def saved_at(before: Before, place: np.uintp, nothing: Any) -> Any:
    """Return the live part of the snapshot of the START at a place."""
    mark = before.kept[before.mine + place]
    skip = max(0, before.oldest - mark.oldest)
    if skip < mark.live:
        return before.snaps[mark.at * before.wide + before.slot * mark.live + skip]
    return nothing


@called
def least_of(
    x: Wide, row: np.uintp, counted: np.uintp, lo: np.uintp, hi: np.uintp, before: Before
) -> int:
    """Return the least value of a chain's matches, in its last piece or (a slot) in earlier ones.

    Args:
        x: The rows.
        row: The beginning of the least lane's row, if it belongs to the last piece.
        counted: The beginning of the row that counts the last piece's prefixes.
        lo: The first START of that piece.
        hi: The end of them.
        before: The snapshots; slot 0: the lane belongs to the last piece.
    """
    snaps, wide, slot, kept, mine, oldest = before
    least = NOBODY
    for place in range(lo, hi):
        at = mine + place
        skip = max(0, oldest - kept[at].oldest)
        if skip >= kept[at].live:
            continue
        base = kept[at].at * wide + skip
        if slot == 0 and snaps[base] != 0:
            least = min(least, x[row + place])
        elif slot > 0 and x[counted + place] != 0:
            least = min(least, snaps[base + slot * kept[at].live])
    return least


@lent
def in_snapshots(saved: Saved, slot: int, mine: np.uintp, oldest: int) -> Before:
    """Return a lane of integers in snapshots."""
    return Before(saved.x, saved.wide, slot, saved.kept, mine, oldest)


@lent
def live_matches(w: Wiring, s: State, saved: Saved, q: np.uintp) -> int:
    """Return the number of live matches of a sequence."""
    queries, trees, size = w.queries, s.trees, uintp(s.room)
    chain = queries[q].chain
    link = w.chains[chain].link
    row = uintp(w.chains[chain].end) * size
    if len(saved) and link >= 0:
        tree = w.chains[chain].last
        lo, hi = uintp(trees[tree].lo), uintp(trees[tree].hi)
        before = in_snapshots(saved, 0, uintp(link) * size, queries[q].oldest)
        return int(dot(s.x, row, lo, hi, before))
    tree = w.chains[chain].tree
    begin = max(trees[tree].lo, queries[q].oldest - trees[tree].moved)
    return int(total(s.x, row + uintp(begin), row + uintp(trees[tree].hi)))


@called
def write_lanes(
    w: Wiring, s: State, saved: Saved, to: MomentRows, q: np.uintp, node: int, event: np.int32,
    matches: int, moment: int,
) -> None:  # fmt: skip
    """Write the lanes of a sequence's live matches, or of those that an event completes.

    Args:
        w: The forest.
        s: The state of the key.
        saved: Its snapshots.
        q: The sequence.
        node: The node that the matches' last piece has reached; -1: before its START.
        event: The event that completes them, or `LIVE` or `EXPIRED`.
        moment: The number of the sequence's moment.
    """
    chains, sources, queries, values, reals = w.chains, w.sources, w.queries, w.values, w.reals
    trees, x, f, size = s.trees, s.x, s.f, uintp(s.room)
    chain, oldest = queries[q].chain, queries[q].oldest
    link, tree = chains[chain].link, chains[chain].last
    mine = uintp(max(0, link)) * size
    lo, hi = uintp(trees[tree].lo), uintp(trees[tree].hi)
    if link < 0:
        lo = max(lo, uintp(max(0, oldest - trees[tree].moved)))
    counted = uintp(max(0, node)) * size
    for source in range(queries[q].sources, queries[q + uintp(1)].sources):
        kind, slot = sources[source].kind, sources[source].slot
        base = sources[source].row if event < 0 else sources[source].before
        row = uintp(max(0, base)) * size
        at = moment + (sources[source].left if event == EXPIRED else sources[source].out)
        own = slot < 0 and base < 0
        if kind == FLOAT:
            whole = 0.0
            if own:
                whole = reals[sources[source].values, event] * matches if matches != 0 else 0.0
            elif link < 0:
                whole = total(f, row + lo, row + hi)
            elif len(saved):
                reals_before = Before(saved.f, saved.f_wide, slot, saved.kept, mine, oldest)
                if slot < 0:
                    counts = in_snapshots(saved, 0, mine, oldest)
                    whole = dot_reals(f, row, lo, hi, counts)
                elif node < 0:
                    whole = saved_at(reals_before, hi, 0.0)
                else:
                    whole = dot(x, counted, lo, hi, reals_before)
            to.f[at] = whole
        elif kind == SUM:
            whole_number = 0
            if own:
                whole_number = values[sources[source].values, event] * matches
            elif link < 0:
                whole_number = total(x, row + lo, row + hi)
            elif len(saved):
                before = in_snapshots(saved, max(0, slot), mine, oldest)
                if slot < 0:
                    whole_number = dot(x, row, lo, hi, before)
                elif node < 0:
                    whole_number = saved_at(before, hi, 0)
                else:
                    whole_number = dot(x, counted, lo, hi, before)
            to.x[at] = whole_number
        else:
            least = NOBODY
            if own:
                least = values[sources[source].values, event] if matches != 0 else NOBODY
            elif link < 0:
                for place in range(row + lo, row + hi):
                    least = min(least, x[place])
            elif len(saved):
                before = in_snapshots(saved, max(0, slot), mine, oldest)
                if slot >= 0 and node < 0:
                    least = saved_at(before, hi, NOBODY)
                else:
                    least = least_of(x, row, counted, lo, hi, before)
            to.x[at] = least
