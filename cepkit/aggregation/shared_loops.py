"""Counts of several sequences at once: shared prefix counters, connected by snapshots.

Each piece of a sequence is a path in a tree of pieces; a node's counters, one for each live START
of its piece, serve all sequences through it. Where a piece follows others, each of its STARTs keeps
a snapshot: for every live START of the whole sequence how many matches of what comes before begin
there or later, so that what has expired is left out by where one looks. Cost: O(live STARTs) for
an event of a node and for a snapshot, times those of the piece before for a third piece and on.

Source: ASEQ, section 4; that snapshots are summed from the newest START on is ours.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.loops import compiled

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]
Bits = npt.NDArray[np.bool_]


@compiled
def run(
    ts: Wide,
    slots: Ints,
    starts: Wide,
    lost: Bits,
    node_of: Wide,
    absent: Bits,
    parent: Wide,
    root: Wide,
    root_nodes: Wide,
    chain_end: Wide,
    chain_link: Wide,
    chain_root: Wide,
    link_source: Wide,
    link_root: Wide,
    query_chain: Wide,
    windows: Wide,
    expiries: bool,
    begins: Wide,
    new: Wide,
    count: Wide,
    e_begins: Wide,
    e_op: Wide,
    e_count: Wide,
    written: Wide,
) -> None:
    """Count the matches of all sequences.

    Args:
        ts: The time of each operation, by key and time.
        slots: Which event of the plan each is; those of one time the deepest node first.
        starts: Where each key begins, and the end.
        lost: Whether a key has only triggers without a key.
        node_of: The node of each slot.
        absent: Whether it is one that must be absent after its node.
        parent: The node before each node in its piece, -1 where the piece begins.
        root: Which piece's tree each node is in.
        root_nodes: The first node of each tree.
        chain_end: Of each chain, of one piece or several, the last node.
        chain_link: How its last piece is linked to those before; -1: there are none.
        chain_root: The tree of its first piece.
        link_source: Of each link the chain before.
        link_root: The tree of the piece after.
        query_chain: The chain of each sequence.
        windows: Its window, -1 for none (of all sequences, then).
        expiries: Whether moments of expiry are written.
        begins: Where the triggers of each sequence begin in what follows.
        new: How many matches each trigger completes.
        count: How many are live then.
        e_begins: Where the expiries of each sequence begin in what follows.
        e_op: The START of each.
        e_count: What is left then.
        written: How many expiries of each sequence there are.
    """
    nodes, trees, links, queries = parent.size, root_nodes.size, link_root.size, windows.size
    keep = windows.max()
    capacity = 64
    c = np.zeros((nodes, capacity), dtype=np.int64)
    born = np.zeros((trees, capacity), dtype=np.int64)
    at = np.zeros((links, capacity), dtype=np.int64)  # where a snapshot begins
    base = np.zeros((links, capacity), dtype=np.int64)  # the START that it begins with
    size = np.zeros((links, capacity), dtype=np.int64)
    snaps = np.zeros(1024, dtype=np.int64)
    lo, hi = np.zeros(trees, dtype=np.int64), np.zeros(trees, dtype=np.int64)
    moved = np.zeros(trees, dtype=np.int64)  # STARTs that are not kept any more
    fresh = np.zeros(trees, dtype=np.int64)  # STARTs of this moment
    taken = np.zeros(trees, dtype=np.int64)
    oldest = np.zeros(queries, dtype=np.int64)  # the first live START, all counted
    done = begins.copy()
    for key in range(starts.size - 1):
        lo[:] = 0
        hi[:] = 0
        moved[:] = 0
        oldest[:] = 0
        top = 0
        i = starts[key]
        while i < starts[key + 1]:
            now = ts[i]
            end = i + 1
            while end < starts[key + 1] and ts[end] == now:
                end += 1
            if lost[key]:
                for op in range(i, end):
                    if not absent[slots[op]]:
                        for q in range(queries):
                            if chain_end[query_chain[q]] == node_of[slots[op]]:
                                done[q] += 1
                i = end
                continue
            if keep >= 0:
                for q in range(queries):
                    _expire(
                        q, now, ts, windows, expiries, oldest, query_chain, chain_end, chain_link,
                        chain_root, link_root, c, born, lo, hi, moved, at, base, size, snaps,
                        e_begins, e_op, e_count, written,
                    )  # fmt: skip
                for tree in range(trees):
                    while lo[tree] < hi[tree] and now - ts[born[tree, lo[tree]]] > keep:
                        lo[tree] += 1
            # What begins now is written behind what is known, and known when all else is done.
            for op in range(i, end):
                node = node_of[slots[op]]
                if absent[slots[op]] or parent[node] >= 0:
                    continue
                tree = root[node]
                place = hi[tree] + fresh[tree]
                fresh[tree] += 1
                if keep < 0 and place > 0:
                    continue  # without a window all STARTs share one row
                if place == capacity:
                    if lo[tree] > capacity // 2:
                        gone = lo[tree]
                        known = place - gone
                        born[tree, :known] = born[tree, gone:place].copy()
                        for v in range(nodes):
                            if root[v] == tree:
                                c[v, :known] = c[v, gone:place].copy()
                        for link in range(links):
                            if link_root[link] == tree:
                                at[link, :known] = at[link, gone:place].copy()
                                base[link, :known] = base[link, gone:place].copy()
                                size[link, :known] = size[link, gone:place].copy()
                        moved[tree] += gone
                        lo[tree] = 0
                        hi[tree] -= gone
                        place = known
                    else:
                        capacity *= 2
                        c, born = _wider(c, capacity), _wider(born, capacity)
                        at, base = _wider(at, capacity), _wider(base, capacity)
                        size = _wider(size, capacity)
                born[tree, place] = op
                for v in range(nodes):
                    if root[v] == tree:
                        c[v, place] = 0
                for link in range(links):
                    if link_root[link] == tree:
                        size[link, place] = 0  # nothing yet: snapshots may have to move meanwhile
                for link in range(links):
                    if link_root[link] != tree:
                        continue
                    source = link_source[link]
                    first = chain_root[source]
                    live = hi[first] - lo[first]
                    if top + live > snaps.size:
                        snaps, top = _packed(snaps, live, at, size, lo, hi, fresh, link_root)
                    at[link, place] = top
                    base[link, place] = lo[first] + moved[first]
                    size[link, place] = live
                    _snapshot(
                        source, chain_end, chain_link, link_root, c, lo, hi, moved, first,
                        at, base, size, snaps, top, live,
                    )  # fmt: skip
                    top += live
            taken[:] = 0
            for op in range(i, end):
                node = node_of[slots[op]]
                tree = root[node]
                if absent[slots[op]]:
                    for place in range(lo[tree], hi[tree]):
                        c[node, place] = 0
                    continue
                begun = parent[node] < 0
                for q in range(queries):
                    chain = query_chain[q]
                    if chain_end[chain] != node:
                        continue
                    if not begun:
                        found = _live(
                            chain, parent[node], oldest[q], chain_link, chain_root, link_root,
                            c, lo, hi, moved, at, base, size, snaps,
                        )  # fmt: skip
                    elif chain_link[chain] < 0:
                        found = 1
                    else:
                        found = _seen(
                            chain_link[chain], hi[tree] + taken[tree], oldest[q], at, base, size,
                            snaps,
                        )  # fmt: skip
                    new[done[q]] = found
                    done[q] += 1
                if begun:
                    taken[tree] += 1
                else:
                    longer, shorter = c[node], c[parent[node]]
                    for place in range(np.uintp(lo[tree]), np.uintp(hi[tree])):
                        longer[place] += shorter[place]
            for tree in range(trees):
                if fresh[tree] == 0:
                    continue
                if keep >= 0:
                    for place in range(hi[tree], hi[tree] + fresh[tree]):
                        c[root_nodes[tree], place] = 1
                    hi[tree] += fresh[tree]
                else:
                    c[root_nodes[tree], 0] += fresh[tree]
                    hi[tree] = 1
                fresh[tree] = 0
            _write_live(
                i, end, slots, node_of, absent, queries, query_chain, chain_end, chain_link,
                chain_root, link_root, oldest, c, lo, hi, moved, at, base, size, snaps, done, count,
            )  # fmt: skip
            i = end
        if expiries and keep >= 0 and starts[key + 1] > starts[key]:
            for q in range(queries):
                _expire(
                    q, ts[starts[key + 1] - 1] + 2 * (keep + 1), ts, windows, expiries, oldest,
                    query_chain, chain_end, chain_link, chain_root, link_root, c, born, lo, hi,
                    moved, at, base, size, snaps, e_begins, e_op, e_count, written,
                )  # fmt: skip


@compiled
def _seen(link: int, place: int, oldest: int, at: Wide, base: Wide, size: Wide, snaps: Wide) -> int:
    """Return what a snapshot has of the STARTs from `oldest` on."""
    begin = max(0, oldest - base[link, place])
    return int(snaps[at[link, place] + begin]) if begin < size[link, place] else 0


@compiled
def _live(
    chain: int, node: int, oldest: int, chain_link: Wide, chain_root: Wide, link_root: Wide,
    c: Wide, lo: Wide, hi: Wide, moved: Wide, at: Wide, base: Wide, size: Wide, snaps: Wide,
) -> int:  # fmt: skip
    """Return how many live matches there are of a chain that ends with a node of its last piece."""
    total = 0
    link = chain_link[chain]
    if link < 0:
        tree = chain_root[chain]
        counters = c[node]
        for place in range(np.uintp(max(lo[tree], oldest - moved[tree])), np.uintp(hi[tree])):
            total += counters[place]
        return total
    tree = link_root[link]
    for place in range(lo[tree], hi[tree]):
        if c[node, place] != 0:
            total += c[node, place] * _seen(link, place, oldest, at, base, size, snaps)
    return total


@compiled
def _snapshot(
    source: int, chain_end: Wide, chain_link: Wide, link_root: Wide, c: Wide, lo: Wide, hi: Wide,
    moved: Wide, first: int, at: Wide, base: Wide, size: Wide, snaps: Wide, top: int, live: int,
) -> None:  # fmt: skip
    """Write what a chain has for each live START, summed from the newest on."""
    node = chain_end[source]
    link = chain_link[source]
    if link < 0:
        total = 0
        for place in range(live - 1, -1, -1):
            total += c[node, lo[first] + place]
            snaps[top + place] = total
        return
    snaps[top : top + live] = 0
    tree = link_root[link]
    oldest = lo[first] + moved[first]
    for row in range(lo[tree], hi[tree]):
        times = c[node, row]
        if times == 0:
            continue
        begin = oldest - base[link, row]  # an earlier snapshot may begin with expired STARTs
        for place in range(min(live, size[link, row] - begin)):
            snaps[top + place] += times * snaps[at[link, row] + begin + place]


@compiled
def _expire(
    q: int, now: int, ts: Wide, windows: Wide, expiries: bool, oldest: Wide, query_chain: Wide,
    chain_end: Wide, chain_link: Wide, chain_root: Wide, link_root: Wide, c: Wide, born: Wide,
    lo: Wide, hi: Wide, moved: Wide, at: Wide, base: Wide, size: Wide, snaps: Wide,
    e_begins: Wide, e_op: Wide, e_count: Wide, written: Wide,
) -> None:  # fmt: skip
    """Let the STARTs of a sequence expire that do up to a time."""
    chain = query_chain[q]
    tree = chain_root[chain]
    while oldest[q] - moved[tree] < hi[tree]:
        start = born[tree, oldest[q] - moved[tree]]
        if now - ts[start] <= windows[q]:
            break
        before = 0
        if expiries:
            before = _live(
                chain, chain_end[chain], oldest[q], chain_link, chain_root, link_root, c, lo, hi,
                moved, at, base, size, snaps,
            )  # fmt: skip
        moment = ts[start]
        while oldest[q] - moved[tree] < hi[tree]:
            if ts[born[tree, oldest[q] - moved[tree]]] != moment:
                break
            start = born[tree, oldest[q] - moved[tree]]
            oldest[q] += 1
        if expiries:
            left = _live(
                chain, chain_end[chain], oldest[q], chain_link, chain_root, link_root, c, lo, hi,
                moved, at, base, size, snaps,
            )  # fmt: skip
            if left != before:
                e_op[e_begins[q] + written[q]] = start
                e_count[e_begins[q] + written[q]] = left
                written[q] += 1


@compiled
def _write_live(
    begin: int, end: int, slots: Ints, node_of: Wide, absent: Bits, queries: int,
    query_chain: Wide, chain_end: Wide, chain_link: Wide, chain_root: Wide, link_root: Wide,
    oldest: Wide, c: Wide, lo: Wide, hi: Wide, moved: Wide, at: Wide, base: Wide, size: Wide,
    snaps: Wide, done: Wide, count: Wide,
) -> None:  # fmt: skip
    """Write what is live at the triggers of one time, when all its events have been taken."""
    for q in range(queries):
        chain = query_chain[q]
        triggers = 0
        for op in range(begin, end):
            if not absent[slots[op]] and node_of[slots[op]] == chain_end[chain]:
                triggers += 1
        if triggers:
            found = _live(
                chain, chain_end[chain], oldest[q], chain_link, chain_root, link_root, c, lo, hi,
                moved, at, base, size, snaps,
            )  # fmt: skip
            count[done[q] - triggers : done[q]] = found


@compiled
def _packed(
    snaps: Wide, more: int, at: Wide, size: Wide, lo: Wide, hi: Wide, fresh: Wide, link_root: Wide
) -> tuple[Wide, int]:
    """Return the snapshots that are still needed, with room for more, and where they end."""
    need = more
    for link in range(link_root.size):
        tree = link_root[link]
        for place in range(lo[tree], hi[tree] + fresh[tree]):
            need += size[link, place]
    packed = np.zeros(2 * need + 1024, dtype=np.int64)
    top = 0
    for link in range(link_root.size):
        tree = link_root[link]
        for place in range(lo[tree], hi[tree] + fresh[tree]):
            some = size[link, place]
            packed[top : top + some] = snaps[at[link, place] : at[link, place] + some]
            at[link, place] = top
            top += some
    return packed, top


@compiled
def _wider(old: Wide, capacity: int) -> Wide:
    """Return an array with more columns."""
    new = np.zeros((old.shape[0], capacity), dtype=np.int64)
    new[:, : old.shape[1]] = old
    return new
