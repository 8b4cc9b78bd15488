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
from numpy import uintp

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
    trees: int,
    at_node: Wide,
    queries_at: Wide,
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
        slots: Which event of the forest each is; those of one time the deepest node first.
        starts: Where each key begins, and the end.
        lost: Whether a key has only triggers without a key.
        node_of: The node of each slot.
        absent: Whether it is one that must be absent after its node.
        parent: The node before each node in its piece, -1 where the piece begins.
        root: Which piece's tree each node is in.
        trees: How many there are.
        at_node: Where the sequences that end at each node begin in `queries_at`, and the end.
        queries_at: These sequences.
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
    nodes, links, queries = parent.size, link_root.size, windows.size
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
    fresh = np.zeros(trees, dtype=np.int64)  # STARTs of this moment, known when all else is done
    taken = np.zeros(trees, dtype=np.int64)
    oldest = np.zeros(queries, dtype=np.int64)  # the first live START, all counted
    waiting = np.zeros(queries, dtype=np.int64)  # triggers of this moment
    done = begins.copy()
    for key in range(starts.size - 1):
        begin, stop = starts[key], starts[key + 1]
        if lost[key]:
            for i in range(begin, stop):
                node = node_of[slots[i]]
                if not absent[slots[i]]:
                    for entry in range(at_node[node], at_node[node + 1]):
                        done[queries_at[entry]] += 1
            continue
        lo[:] = 0
        hi[:] = 0
        moved[:] = 0
        oldest[:] = 0
        top = 0
        i = begin
        while i < stop:
            now = ts[i]
            end = i + 1
            while end < stop and ts[end] == now:
                end += 1
            if expiries:
                for q in range(queries):
                    tree = chain_root[query_chain[q]]
                    place = oldest[q] - moved[tree]
                    if place < hi[tree] and now - ts[born[tree, place]] > windows[q]:
                        written[q] = _expire(
                            q, now, ts, windows, oldest, query_chain[q], chain_end, chain_link,
                            chain_root, link_root, c, born, lo, hi, moved, at, base, size, snaps,
                            e_begins[q] + written[q], e_op, e_count,
                        ) - e_begins[q]  # fmt: skip
            # What begins now is written behind what is known.
            for op in range(i, end):
                node = node_of[slots[op]]
                if parent[node] >= 0 or absent[slots[op]]:
                    continue
                tree = root[node]
                place = hi[tree] + fresh[tree]
                if keep < 0 and place > 0:
                    fresh[tree] += 1
                    continue  # without a window all STARTs share one row
                if place == capacity:
                    if lo[tree] > capacity // 2:
                        gone = lo[tree]
                        place -= gone
                        born[tree, :place] = born[tree, gone:capacity].copy()
                        for v in range(nodes):
                            if root[v] == tree:
                                c[v, :place] = c[v, gone:capacity].copy()
                        for link in range(links):
                            if link_root[link] == tree:
                                at[link, :place] = at[link, gone:capacity].copy()
                                base[link, :place] = base[link, gone:capacity].copy()
                                size[link, :place] = size[link, gone:capacity].copy()
                        moved[tree] += gone
                        lo[tree] = 0
                        hi[tree] -= gone
                    else:
                        capacity *= 2
                        c, born = _wider(c, capacity), _wider(born, capacity)
                        at, base = _wider(at, capacity), _wider(base, capacity)
                        size = _wider(size, capacity)
                fresh[tree] += 1
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
                    while lo[first] < hi[first] and now - ts[born[first, lo[first]]] > keep:
                        lo[first] += 1
                    live = hi[first] - lo[first]
                    if top + live > snaps.size:
                        snaps, top = _packed(snaps, live, at, size, lo, hi, fresh, link_root)
                    at[link, place] = top
                    base[link, place] = lo[first] + moved[first]
                    size[link, place] = live
                    node_before = chain_end[source]
                    if chain_link[source] < 0:
                        total = 0
                        counters = c[node_before]
                        shift = top - lo[first]
                        for s in range(hi[first] - 1, lo[first] - 1, -1):
                            total += counters[s]
                            snaps[shift + s] = total
                    else:
                        _snapshot(
                            c[node_before], chain_link[source], link_root, lo, hi,
                            lo[first] + moved[first], at, base, size, snaps, top, live,
                        )  # fmt: skip
                    top += live
            for op in range(i, end):
                slot = slots[op]
                node = node_of[slot]
                tree = root[node]
                if keep >= 0:
                    while lo[tree] < hi[tree] and now - ts[born[tree, lo[tree]]] > keep:
                        lo[tree] += 1
                a, b = uintp(lo[tree]), uintp(hi[tree])
                if absent[slot]:
                    counters = c[node]
                    for s in range(a, b):
                        counters[s] = 0
                    continue
                above = parent[node]
                for entry in range(at_node[node], at_node[node + 1]):
                    q = queries_at[entry]
                    chain = query_chain[q]
                    first = chain_root[chain]
                    if keep >= 0:
                        place = max(lo[first], oldest[q] - moved[first])
                        while place < hi[first] and now - ts[born[first, place]] > windows[q]:
                            place += 1
                        oldest[q] = place + moved[first]
                    link = chain_link[chain]
                    found = 1
                    if above >= 0 and link < 0:
                        found = _sum(c[above], oldest[q] - moved[tree], lo[tree], hi[tree])
                    elif above >= 0:
                        found = _dot(
                            c[above], lo[tree], hi[tree], at[link], base[link], size[link], snaps,
                            oldest[q],
                        )  # fmt: skip
                    elif link >= 0:
                        place = hi[tree] + taken[tree]
                        skip = max(0, oldest[q] - base[link, place])
                        found = 0
                        if skip < size[link, place]:
                            found = snaps[at[link, place] + skip]
                    new[done[q]] = found
                    done[q] += 1
                    waiting[q] += 1
                if above < 0:
                    taken[tree] += 1
                else:
                    longer, shorter = c[node], c[above]
                    for s in range(a, b):
                        longer[s] += shorter[s]
            for op in range(i, end):
                node = node_of[slots[op]]
                tree = root[node]
                if parent[node] < 0 and fresh[tree] > 0:
                    if keep >= 0:
                        for place in range(hi[tree], hi[tree] + fresh[tree]):
                            c[node, place] = 1
                        hi[tree] += fresh[tree]
                    else:
                        c[node, 0] += fresh[tree]
                        hi[tree] = 1
                    fresh[tree] = 0
                    taken[tree] = 0
            for op in range(i, end):
                if absent[slots[op]]:
                    continue
                node = node_of[slots[op]]
                tree = root[node]
                for entry in range(at_node[node], at_node[node + 1]):
                    q = queries_at[entry]
                    if waiting[q] == 0:
                        continue
                    link = chain_link[query_chain[q]]
                    if link < 0:
                        found = _sum(c[node], oldest[q] - moved[tree], lo[tree], hi[tree])
                    else:
                        found = _dot(
                            c[node], lo[tree], hi[tree], at[link], base[link], size[link], snaps,
                            oldest[q],
                        )  # fmt: skip
                    for place in range(done[q] - waiting[q], done[q]):
                        count[place] = found
                    waiting[q] = 0
            i = end
        if expiries and keep >= 0 and stop > begin:
            for q in range(queries):
                written[q] = _expire(
                    q, ts[stop - 1] + 2 * (keep + 1), ts, windows, oldest, query_chain[q],
                    chain_end, chain_link, chain_root, link_root, c, born, lo, hi, moved, at, base,
                    size, snaps, e_begins[q] + written[q], e_op, e_count,
                ) - e_begins[q]  # fmt: skip


@compiled
def _sum(counters: Wide, begin: int, lo: int, hi: int) -> int:
    """Return the sum of the counters of live STARTs."""
    total = 0
    for s in range(uintp(max(lo, begin)), uintp(hi)):
        total += counters[s]
    return total


@compiled
def _dot(
    counters: Wide, lo: int, hi: int, at: Wide, base: Wide, size: Wide, snaps: Wide, oldest: int
) -> int:
    """Return the counters of a piece times what its STARTs saw of live STARTs of the whole."""
    total = 0
    for s in range(uintp(lo), uintp(hi)):
        skip = max(0, oldest - base[s])
        if counters[s] != 0 and skip < size[s]:
            total += counters[s] * snaps[uintp(at[s] + skip)]
    return total


@compiled
def _snapshot(
    counters: Wide, link: int, link_root: Wide, lo: Wide, hi: Wide, oldest: int, at: Wide,
    base: Wide, size: Wide, snaps: Wide, top: int, live: int,
) -> None:  # fmt: skip
    """Write what a chain of several pieces has for each live START and those after it."""
    snaps[top : top + live] = 0
    tree = link_root[link]
    for row in range(lo[tree], hi[tree]):
        times = counters[row]
        if times == 0:
            continue
        begin = oldest - base[link, row]  # an earlier snapshot may begin with expired STARTs
        for place in range(max(0, -begin), min(live, size[link, row] - begin)):
            snaps[top + place] += times * snaps[at[link, row] + begin + place]


@compiled
def _expire(
    q: int, now: int, ts: Wide, windows: Wide, oldest: Wide, chain: int, chain_end: Wide,
    chain_link: Wide, chain_root: Wide, link_root: Wide, c: Wide, born: Wide, lo: Wide, hi: Wide,
    moved: Wide, at: Wide, base: Wide, size: Wide, snaps: Wide, to: int, e_op: Wide, e_count: Wide,
) -> int:  # fmt: skip
    """Let the STARTs of a sequence expire that do up to a time; return where to write next."""
    tree = chain_root[chain]
    node, link = chain_end[chain], chain_link[chain]
    last = tree if link < 0 else link_root[link]
    before = -1
    while oldest[q] - moved[tree] < hi[tree]:
        start = born[tree, oldest[q] - moved[tree]]
        if now - ts[start] <= windows[q]:
            break
        if before < 0:
            if link < 0:
                before = _sum(c[node], oldest[q] - moved[tree], lo[tree], hi[tree])
            else:
                before = _dot(
                    c[node], lo[last], hi[last], at[link], base[link], size[link], snaps, oldest[q]
                )
        moment = ts[start]
        while oldest[q] - moved[tree] < hi[tree]:
            if ts[born[tree, oldest[q] - moved[tree]]] != moment:
                break
            start = born[tree, oldest[q] - moved[tree]]
            oldest[q] += 1
        if link < 0:
            left = _sum(c[node], oldest[q] - moved[tree], lo[tree], hi[tree])
        else:
            left = _dot(
                c[node], lo[last], hi[last], at[link], base[link], size[link], snaps, oldest[q]
            )
        if left != before:
            e_op[to] = start
            e_count[to] = left
            to += 1
        before = left
    return to


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
