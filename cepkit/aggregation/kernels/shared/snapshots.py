"""Snapshots: the counts of the earlier pieces, taken at each START of a piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.aggregation.kernels.records import NOBODY, Floats, Wide
from cepkit.aggregation.kernels.shared.records import (
    FLOAT,
    SUM,
    Before,
    ForestSteps,
    Snapshots,
    State,
    Table,
    Wiring,
)
from cepkit.compiling import called, compiled_beyond


@called
def save_all(
    steps: ForestSteps, w: Wiring, s: State, saved: Snapshots, begin: int, end: int
) -> bool:
    """Take the snapshots of all STARTs of a moment; return whether there was room for them."""
    slots, kinds, nodes, chains, links = steps.slots, w.kinds, w.nodes, w.chains, w.links
    trees, cursor, size = s.trees, s.cursor, uintp(s.room)
    for op in range(begin, end):
        slot = uintp(slots[op])
        node = uintp(kinds[slot].node)
        if nodes[node].parent >= 0 or kinds[slot].absent:
            continue
        tree = uintp(nodes[node].tree)
        place = uintp(trees[tree].hi + trees[tree].staged)
        trees[tree].staged += 1
        for link in range(links.size - 1):
            if uintp(links[link].tree) != tree:
                continue
            first = chains[links[link].chain].tree
            live = trees[first].hi - trees[first].lo
            if (cursor[2] + live) * saved.wide > saved.x.size:
                for other in range(trees.size):
                    trees[other].staged = 0
                cursor[3] = live
                return False
            _save(w, s, saved, link, uintp(link) * size + place, cursor[2], live)
            cursor[2] += live
    return True


@called
def _save(
    w: Wiring, s: State, saved: Snapshots, link: int, mine: np.uintp, top: int, live: int
) -> None:
    """Write the aggregate of the chain before a link from each live START on.

    Args:
        w: The forest.
        s: The state of the key.
        saved: Its snapshots.
        mine: Where it is noted.
        top: Where the snapshot begins.
        live: The number of live STARTs of the whole.
    """
    chains, links, sources, trees = w.chains, w.links, w.sources, s.trees
    x, f, size = s.x, s.f, uintp(s.room)
    kept, snaps, wide, f_snaps, f_wide = saved
    chain = links[link].chain
    first, before, last = chains[chain].tree, chains[chain].link, chains[chain].last
    lo = uintp(trees[first].lo)
    row = uintp(chains[chain].end) * size
    oldest = trees[first].lo + trees[first].moved
    kept[mine].at = top
    kept[mine].oldest = oldest
    kept[mine].live = live
    older = uintp(max(0, before)) * size
    begin, end = uintp(trees[last].lo), uintp(trees[last].hi)
    to = top * wide
    counts = Before(snaps, wide, 0, kept, older, oldest)
    if before < 0:
        _suffix_sums(x, row + lo, snaps, to, live)
    else:
        _connect(x, row, begin, end, counts, snaps, to, live)
    for source in range(links[link].sources, links[link + 1].sources):
        kind, slot = sources[source].kind, sources[source].slot
        leg = uintp(max(0, sources[source].row)) * size
        if kind == FLOAT:
            to = top * f_wide + sources[source].out * live
            if before < 0:
                _suffix_sums(f, leg + lo, f_snaps, to, live)
            elif slot < 0:
                _connect(f, leg, begin, end, counts, f_snaps, to, live)
            else:
                reals = Before(f_snaps, f_wide, slot, kept, older, oldest)
                _connect(x, row, begin, end, reals, f_snaps, to, live)
            continue
        to = top * wide + sources[source].out * live
        if kind == SUM and before < 0:
            _suffix_sums(x, leg + lo, snaps, to, live)
        elif kind == SUM and slot < 0:
            _connect(x, leg, begin, end, counts, snaps, to, live)
        elif kind == SUM:
            slots = Before(snaps, wide, slot, kept, older, oldest)
            _connect(x, row, begin, end, slots, snaps, to, live)
        elif before < 0:
            least = NOBODY
            for nth in range(live - 1, -1, -1):
                least = min(least, x[leg + lo + uintp(nth)])
                snaps[to + nth] = least
        else:
            leasts = Before(snaps, wide, max(0, slot), kept, older, oldest)
            _connect_leasts(x, leg, row, begin, end, leasts, to, live)


@called
def _suffix_sums(
    rows: npt.NDArray[Any], begin: np.uintp, snaps: npt.NDArray[Any], to: int, live: int
) -> None:
    """Write the suffix sums of a row over the live STARTs."""
    whole = rows.dtype.type(0)
    for nth in range(live - 1, -1, -1):
        whole += rows[begin + uintp(nth)]
        snaps[to + nth] = whole


@called
def _connect(
    rows: npt.NDArray[Any], row: np.uintp, begin: np.uintp, end: np.uintp, before: Before,
    snaps: npt.NDArray[Any], to: int, live: int,
) -> None:  # fmt: skip
    """Write the dot products of a piece and its own snapshots, from each live START on."""
    older, wide, slot, kept, mine, oldest = before
    for nth in range(live):
        snaps[to + nth] = 0
    for place in range(begin, end):
        value = rows[row + place]
        if value == 0:
            continue
        some, at = kept[mine + place].live, kept[mine + place].at
        skip = oldest - kept[mine + place].oldest  # its first STARTs may have expired
        for nth in range(max(0, -skip), min(live, some - skip)):
            known = older[at * wide + slot * some + skip + nth]
            if known != 0:
                snaps[to + nth] += value * known


@called
def _connect_leasts(
    x: Wide, leg: np.uintp, row: np.uintp, begin: np.uintp, end: np.uintp, before: Before,
    to: int, live: int,
) -> None:  # fmt: skip
    """Write the least values of a piece (slot 0) or of earlier ones, from each live START on."""
    snaps, wide, slot, kept, mine, oldest = before
    for nth in range(live):
        snaps[to + nth] = NOBODY
    for place in range(begin, end):
        if slot > 0 and x[row + place] == 0:
            continue
        some, at = kept[mine + place].live, kept[mine + place].at
        skip = oldest - kept[mine + place].oldest
        for nth in range(max(0, -skip), min(live, some - skip)):
            come = at * wide + skip + nth
            if slot > 0:
                snaps[to + nth] = min(snaps[to + nth], snaps[come + slot * some])
            elif snaps[come] != 0:
                snaps[to + nth] = min(snaps[to + nth], x[leg + place])


@compiled_beyond(4_000)
def pack(links: Table, s: State, saved: Snapshots, snaps: Wide, f_snaps: Floats) -> int:
    """Copy the snapshots of live STARTs one after another; return where they end.

    With empty target arrays it changes nothing and only returns the room they need.
    """
    trees, room = s.trees, s.room
    kept, old, wide, f_old, f_wide = saved
    top = 0
    for link in range(links.size - 1):
        tree = links[link].tree
        for place in range(trees[tree].lo, trees[tree].hi):
            at = link * room + place
            some, come = kept[at].live, kept[at].at
            if snaps.size > 0:
                for nth in range(some * wide):
                    snaps[top * wide + nth] = old[come * wide + nth]
                for nth in range(some * f_wide):
                    f_snaps[top * f_wide + nth] = f_old[come * f_wide + nth]
                kept[at].at = top
            top += some
    return top
