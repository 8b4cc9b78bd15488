"""Several sequences at once: shared prefix counters with their lanes, connected by snapshots.

Each piece of a sequence is a path in a tree of pieces; a node's counters and lanes, one place for
each live START of its piece, serve all sequences through it. Where a piece follows others, each of
its STARTs keeps a snapshot: for every live START of the whole sequence what all matches of what
comes before hold that begin there or later, so that what has expired is left out by where one
looks. Cost: O(live STARTs) for an event of a node, for each of its lanes, and for a snapshot; times
those of the piece before for a third piece and on.

The loop stops where it needs more room, before it has taken any event of a moment, and goes on from
there: all that it knows is in arrays (`shared_state`). It reads tables by name, as
`nodes[node].parent` (`shared_wiring`).

Source: ASEQ, section 4; snapshots summed from the newest START on, and those of lanes, are ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.compiling import called, compiled, lent

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.bool_]
Table = Any
"""A record array: `table[row].field`."""

NOBODY = np.iinfo(np.int64).max
SUM, LEAST, FLOAT = 0, 1, 2
"""As in `lanes` and `shared_wiring`; loops take constants from their own module."""
DONE, MORE_STARTS, MORE_SNAPSHOTS = 0, 1, 2
"""Why the loop stops."""


@compiled
def run(
    ts: Wide, slots: Ints, rows: Ints, starts: Wide, lost: Bits,
    kinds: Table, nodes: Table, ending: Wide, chains: Table, links: Table, legs: Table,
    sources: Table, values: Wide, reals: Floats, keep: int,
    queries: Table, trees: Table, room: int, x: Wide, f: Floats, born: Wide, kept: Table,
    snaps: Wide, wide: int, f_snaps: Floats, f_wide: int, cursor: Wide,
    only_new: bool, expiries: bool,
    new: Wide, count: Wide, out: Wide, f_out: Floats,
    e_op: Wide, e_count: Wide, e_out: Wide, e_f_out: Floats,
) -> int:  # fmt: skip
    """Aggregate all sequences.

    Args:
        ts: The time of each operation, by key and time.
        slots: Which event of the forest each is; those of one time the deepest node first.
        rows: Which event of the stream.
        starts: Where each key begins, and the end.
        lost: Whether a key has only triggers without a key.
        kinds: With the following eight the `Wiring`.
        nodes: See there.
        ending: See there.
        chains: See there.
        links: See there.
        legs: See there.
        sources: See there.
        values: See there.
        reals: See there.
        keep: The longest window, -1 for none.
        queries: With the following ten the `State`.
        trees: See there.
        room: See there.
        x: See there.
        f: See there.
        born: See there.
        kept: See there.
        snaps: See there.
        wide: See there.
        f_snaps: See there.
        f_wide: See there.
        cursor: See there.
        only_new: Whether what is written of triggers is about the matches that they complete
            instead of the live ones.
        expiries: Whether moments of expiry are written.
        new: With the following three the `Found` of triggers.
        count: See there.
        out: See there.
        f_out: See there.
        e_op: With the following three that of expiries.
        e_count: See there.
        e_out: See there.
        e_f_out: See there.

    Returns:
        Why it stopped.
    """
    one, size = uintp(1), uintp(room)
    number = queries.size - 1
    for key in range(cursor[0], starts.size - 1):
        begin, stop = starts[key], starts[key + 1]
        i = max(begin, cursor[1])
        if lost[key]:
            for op in range(begin, stop):
                slot = uintp(slots[op])
                node = uintp(kinds[slot].node)
                if not kinds[slot].absent:
                    for entry in range(nodes[node].ending, nodes[node + one].ending):
                        queries[uintp(ending[entry])].done += 1
            continue
        if i == begin:
            cursor[2] = 0
            for t in range(trees.size):
                trees[t].lo = 0
                trees[t].hi = 0
                trees[t].moved = 0
                trees[t].staged = 0
            for each in range(number):
                queries[each].oldest = 0
        while i < stop:
            now = ts[i]
            end = i + 1
            while end < stop and ts[end] == now:
                end += 1
            if expiries:
                for each in range(number):
                    _expire(
                        uintp(each), now, ts, chains, sources, queries, trees, size, x, f, born,
                        kept, snaps, wide, f_snaps, f_wide, values, reals, e_op, e_count, e_out,
                        e_f_out,
                    )  # fmt: skip
            for t in range(trees.size if keep >= 0 else 0):
                live_from, known, births = trees[t].lo, trees[t].hi, uintp(t) * size
                while live_from < known and now - ts[born[births + uintp(live_from)]] > keep:
                    live_from += 1
                trees[t].lo = live_from
                if known + end - i > room:
                    if live_from < room >> 1 or known - live_from + end - i > room:
                        cursor[0], cursor[1] = key, i
                        return MORE_STARTS
                    _move_up(t, size, trees, nodes, links, legs, x, f, born, kept)
            # No START sees what is of its own time: snapshots are taken before that is.
            starting = False
            for op in range(i, end if links.size > 1 else i):
                starting = starting or nodes[kinds[uintp(slots[op])].node].parent < 0
            if starting and not _save_all(
                i, end, slots, kinds, nodes, chains, links, sources, trees, size, x, f, kept, snaps,
                wide, f_snaps, f_wide, cursor,
            ):  # fmt: skip
                cursor[0], cursor[1] = key, i
                return MORE_SNAPSHOTS
            asked = 0
            for op in range(i, end):
                slot = uintp(slots[op])
                node = uintp(kinds[slot].node)
                tree, above = uintp(nodes[node].tree), nodes[node].parent
                lo, hi = uintp(trees[tree].lo), uintp(trees[tree].hi)
                row = node * size
                if kinds[slot].absent:
                    for at in range(row + lo, row + hi):
                        x[at] = 0
                    for c in range(nodes[node].legs, nodes[node + one].legs):
                        _clear(legs[c].kind, uintp(legs[c].row) * size, lo, hi, x, f)
                    continue
                for entry in range(nodes[node].ending, nodes[node + one].ending):
                    q = uintp(ending[uintp(entry)])
                    asked += 1
                    chain = uintp(queries[q].chain)
                    link, first = chains[chain].link, uintp(chains[chain].tree)
                    place = max(trees[first].lo, queries[q].oldest - trees[first].moved)
                    if keep >= 0:
                        births = first * size
                        while place < trees[first].hi:
                            if now - ts[born[births + uintp(place)]] <= queries[q].window:
                                break
                            place += 1
                        queries[q].oldest = place + trees[first].moved
                    found = 1
                    if above >= 0 and link < 0:
                        before = uintp(above) * size
                        found = _total(x, before + uintp(place), before + hi)
                    elif above >= 0:
                        found = _dot(
                            x, uintp(above) * size, lo, hi, snaps, wide, 0, kept,
                            uintp(link) * size, queries[q].oldest,
                        )  # fmt: skip
                    elif link >= 0:
                        found = _saved(
                            snaps, wide, 0, kept, uintp(link) * size + hi, queries[q].oldest, 0
                        )
                    to = queries[q].done
                    new[queries[q].triggers + to] = found
                    if only_new:
                        count[queries[q].triggers + to] = found
                        _write(
                            q, above, rows[op], found, to, chains, sources, queries, trees, size,
                            x, f, kept, snaps, wide, f_snaps, f_wide, values, reals, False, out,
                            f_out,
                        )  # fmt: skip
                    queries[q].done += 1
                    queries[q].waiting += 1
                if above >= 0:
                    come = uintp(above) * size
                    if nodes[node].legs < nodes[node + one].legs:
                        _extend(
                            node, come, rows[op], lo, hi, size, nodes, legs, values, reals, x, f
                        )
                    for at in range(lo, hi):
                        x[row + at] += x[come + at]
                    continue
                if keep >= 0 or hi == lo:  # without a window all STARTs share one place
                    born[tree * size + hi] = op
                    for v in range(nodes.size - 1):
                        if uintp(nodes[v].tree) == tree:
                            x[uintp(v) * size + hi] = 0
                    for c in range(legs.size):
                        if uintp(legs[c].tree) == tree:
                            _clear(legs[c].kind, uintp(legs[c].row) * size, hi, hi + one, x, f)
                    hi += one
                    trees[tree].hi += 1
                    trees[tree].staged -= trees[tree].staged > 0
                x[row + hi - one] += 1
                if nodes[node].legs < nodes[node + one].legs:
                    _start(node, hi - one, rows[op], size, nodes, legs, values, reals, x, f)
            # All events of this time are taken: what is live at its triggers.
            for op in range(i, end if asked > 0 else i):
                slot = uintp(slots[op])
                if kinds[slot].absent:
                    continue
                node = uintp(kinds[slot].node)
                for entry in range(nodes[node].ending, nodes[node + one].ending):
                    q = uintp(ending[uintp(entry)])
                    waiting = queries[q].waiting
                    queries[q].waiting = 0
                    if waiting == 0 or only_new:
                        continue
                    done = queries[q].done
                    found = _live(q, chains, queries, trees, size, x, kept, snaps, wide)
                    for to in range(done - waiting, done):
                        count[queries[q].triggers + to] = found
                    if queries[q].sources < queries[q + one].sources:
                        _write(
                            q, kinds[slot].node, -1, found, done - waiting, chains, sources,
                            queries, trees, size, x, f, kept, snaps, wide, f_snaps, f_wide,
                            values, reals, False, out, f_out,
                        )  # fmt: skip
                        for w in range(queries[q].sources, queries[q + one].sources):
                            first_at, end_at = (
                                sources[w].out + done - waiting,
                                sources[w].out + done,
                            )
                            if sources[w].kind == FLOAT:
                                f_out[first_at:end_at] = f_out[first_at]
                            else:
                                out[first_at:end_at] = out[first_at]
            i = end
        if expiries and keep >= 0 and stop > begin:
            for each in range(number):
                _expire(
                    uintp(each), ts[stop - 1] + 2 * (keep + 1), ts, chains, sources, queries, trees,
                    size, x, f, born, kept, snaps, wide, f_snaps, f_wide, values, reals, e_op,
                    e_count, e_out, e_f_out,
                )  # fmt: skip
    return DONE


@called
def _save_all(
    begin: int, end: int, slots: Ints, kinds: Table, nodes: Table, chains: Table, links: Table,
    sources: Table, trees: Table, size: np.uintp, x: Wide, f: Floats, kept: Table, snaps: Wide,
    wide: int, f_snaps: Floats, f_wide: int, cursor: Wide,
) -> bool:  # fmt: skip
    """Take the snapshots of all STARTs of a moment; return whether there was room for them."""
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
            if (cursor[2] + live) * wide > snaps.size:
                for other in range(trees.size):
                    trees[other].staged = 0
                cursor[3] = live
                return False
            _save(
                link, uintp(link) * size + place, cursor[2], live, chains, links, sources, trees,
                size, x, f, kept, snaps, wide, f_snaps, f_wide,
            )  # fmt: skip
            cursor[2] += live
    return True


@lent
def _extend(
    node: np.uintp, come: np.uintp, event: int, lo: np.uintp, hi: np.uintp, size: np.uintp,
    nodes: Table, legs: Table, values: Wide, reals: Floats, x: Wide, f: Floats,
) -> None:  # fmt: skip
    """Carry the lanes of a node on from the node before, whose counts begin at `come`."""
    for c in range(nodes[node].legs, nodes[node + uintp(1)].legs):
        kind, to, before = legs[c].kind, uintp(legs[c].row) * size, legs[c].before
        known = uintp(max(0, before)) * size
        if kind == SUM and before >= 0:
            _add(x, to, known, lo, hi)
        elif kind == SUM:
            _add_times(x, to, x, come, lo, hi, values[legs[c].values, event])
        elif kind == FLOAT and before >= 0:
            _add(f, to, known, lo, hi)
        elif kind == FLOAT:
            _add_times(f, to, x, come, lo, hi, reals[legs[c].values, event])
        elif before >= 0:
            for at in range(lo, hi):
                x[to + at] = min(x[to + at], x[known + at])
        else:
            least = values[legs[c].values, event]
            for at in range(lo, hi):
                if x[come + at] != 0:
                    x[to + at] = min(x[to + at], least)


@lent
def _start(
    node: np.uintp, place: np.uintp, event: int, size: np.uintp, nodes: Table, legs: Table,
    values: Wide, reals: Floats, x: Wide, f: Floats,
) -> None:  # fmt: skip
    """Write the lanes of a START: its node is the first, so that all are of its own values."""
    for c in range(nodes[node].legs, nodes[node + uintp(1)].legs):
        at = uintp(legs[c].row) * size + place
        if legs[c].kind == SUM:
            x[at] += values[legs[c].values, event]
        elif legs[c].kind == FLOAT:
            f[at] += reals[legs[c].values, event]
        else:
            x[at] = min(x[at], values[legs[c].values, event])


@called
def _move_up(
    tree: int, size: np.uintp, trees: Table, nodes: Table, links: Table, legs: Table, x: Wide,
    f: Floats, born: Wide, kept: Table,
) -> None:  # fmt: skip
    """Forget the STARTs of a tree that are live no more: the others move to the beginning."""
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
    for link in range(links.size - 1):
        if links[link].tree == tree:
            row = uintp(link) * size
            for at in range(row + by, row + hi):
                kept[at - by].at = kept[at].at
                kept[at - by].base = kept[at].base
                kept[at - by].size = kept[at].size
    trees[tree].moved += trees[tree].lo
    trees[tree].hi -= trees[tree].lo
    trees[tree].lo = 0


@called
def _move(rows: npt.NDArray[Any], row: np.uintp, by: np.uintp, hi: np.uintp) -> None:
    for at in range(row + by, row + hi):
        rows[at - by] = rows[at]


@called
def _clear(kind: int, row: np.uintp, lo: np.uintp, hi: np.uintp, x: Wide, f: Floats) -> None:
    """Write what there is of no match."""
    if kind == FLOAT:
        for at in range(row + lo, row + hi):
            f[at] = 0.0
    else:
        nothing = NOBODY if kind == LEAST else 0
        for at in range(row + lo, row + hi):
            x[at] = nothing


@lent
def _add(rows: npt.NDArray[Any], to: np.uintp, come: np.uintp, lo: np.uintp, hi: np.uintp) -> None:
    for at in range(lo, hi):
        rows[to + at] += rows[come + at]


@lent
def _add_times(
    rows: npt.NDArray[Any], to: np.uintp, x: Wide, come: np.uintp, lo: np.uintp, hi: np.uintp,
    value: Any,
) -> None:  # fmt: skip
    for at in range(lo, hi):
        # Infinity times no prefixes is nothing.
        rows[to + at] += value * x[come + at] if x[come + at] != 0 else rows.dtype.type(0)


@lent
def _total(rows: npt.NDArray[Any], begin: np.uintp, end: np.uintp) -> Any:
    whole = rows.dtype.type(0)
    for at in range(begin, end):
        whole += rows[at]
    return whole


@called
def _dot(
    rows: npt.NDArray[Any], row: np.uintp, lo: np.uintp, hi: np.uintp, snaps: npt.NDArray[Any],
    wide: int, slot: int, kept: Table, mine: np.uintp, oldest: int,
) -> Any:  # fmt: skip
    """Return what the STARTs of a piece hold, times what their snapshots have of live ones.

    Args:
        rows: Where their row is.
        row: Where it begins.
        lo: The first START.
        hi: The end of them.
        snaps: The snapshots.
        wide: How many slots there are room for.
        slot: The slot that is meant.
        kept: Which snapshot each START has.
        mine: Where the row of the link begins there.
        oldest: The first live START of the whole.
    """
    whole = rows.dtype.type(0) * snaps.dtype.type(0)
    for place in range(lo, hi):
        value = rows[row + place]
        if value == 0:
            continue
        mark = kept[mine + place]
        skip = max(0, oldest - mark.base)
        if skip < mark.size:
            whole += value * snaps[uintp(mark.at * wide + slot * mark.size + skip)]
    return whole


@called
def _dot_reals(
    f: Floats, row: np.uintp, lo: np.uintp, hi: np.uintp, snaps: Wide, wide: int, kept: Table,
    mine: np.uintp, oldest: int,
) -> float:  # fmt: skip
    """As `_dot`, of a float lane and the numbers of matches that snapshots have."""
    whole = 0.0
    for place in range(lo, hi):
        mark = kept[mine + place]
        skip = max(0, oldest - mark.base)
        if skip < mark.size:
            saved = snaps[uintp(mark.at * wide + skip)]
            if saved != 0:  # infinity times nothing is nothing
                whole += f[row + place] * saved
    return whole


@called
def _saved(
    snaps: npt.NDArray[Any], wide: int, slot: int, kept: Table, at: np.uintp, oldest: int,
    nothing: Any,
) -> Any:  # fmt: skip
    """Return what a START's snapshot has of live STARTs of the whole."""
    skip = max(0, oldest - kept[at].base)
    if skip < kept[at].size:
        return snaps[kept[at].at * wide + slot * kept[at].size + skip]
    return nothing


@called
def _least(
    x: Wide, row: np.uintp, counted: np.uintp, lo: np.uintp, hi: np.uintp, snaps: Wide, wide: int,
    slot: int, kept: Table, mine: np.uintp, oldest: int,
) -> int:  # fmt: skip
    """Return the least of all matches of a chain, of its last piece or (a slot) of those before.

    Args:
        x: The rows.
        row: Where the row of the least begins, for one of the last piece.
        counted: Where the row begins that counts how far the last piece has come.
        lo: The first START of that piece.
        hi: The end of them.
        snaps: As of `_dot`.
        wide: See there.
        slot: See there; 0: the least is of the last piece.
        kept: See there.
        mine: See there.
        oldest: See there.
    """
    least = NOBODY
    for place in range(lo, hi):
        at = mine + place
        skip = max(0, oldest - kept[at].base)
        if skip >= kept[at].size:
            continue
        come = kept[at].at * wide + skip
        if slot == 0 and snaps[come] != 0:
            least = min(least, x[row + place])
        elif slot > 0 and x[counted + place] != 0:
            least = min(least, snaps[come + slot * kept[at].size])
    return least


@called
def _live(
    q: np.uintp, chains: Table, queries: Table, trees: Table, size: np.uintp, x: Wide, kept: Table,
    snaps: Wide, wide: int,
) -> int:  # fmt: skip
    """Return how many live matches of a sequence there are."""
    chain = queries[q].chain
    link = chains[chain].link
    row = uintp(chains[chain].end) * size
    if link < 0:
        tree = chains[chain].tree
        begin = max(trees[tree].lo, queries[q].oldest - trees[tree].moved)
        return int(_total(x, row + uintp(begin), row + uintp(trees[tree].hi)))
    tree = chains[chain].last
    lo, hi = uintp(trees[tree].lo), uintp(trees[tree].hi)
    return int(_dot(x, row, lo, hi, snaps, wide, 0, kept, uintp(link) * size, queries[q].oldest))


@called
def _write(
    q: np.uintp, node: int, event: int, found: int, to: int, chains: Table, sources: Table,
    queries: Table, trees: Table, size: np.uintp, x: Wide, f: Floats, kept: Table, snaps: Wide,
    wide: int, f_snaps: Floats, f_wide: int, values: Wide, reals: Floats, expiry: bool,
    out: Wide, f_out: Floats,
) -> None:  # fmt: skip
    """Write what the lanes of a sequence hold of its matches, or of those that an event completes.

    Args, beside those of `run`:
        q: The sequence.
        node: How far the matches' last piece has come; -1: to its next START.
        event: The event that completes them; -1: they are complete.
        found: How many there are.
        to: Which moment of the sequence it is.
        expiry: Whether it is a moment of expiry.
    """
    one = uintp(1)
    chain, oldest = queries[q].chain, queries[q].oldest
    link, tree = chains[chain].link, chains[chain].last
    mine = uintp(max(0, link)) * size
    lo, hi = uintp(trees[tree].lo), uintp(trees[tree].hi)
    if link < 0:
        lo = max(lo, uintp(max(0, oldest - trees[tree].moved)))
    counted = uintp(max(0, node)) * size
    for w in range(queries[q].sources, queries[q + one].sources):
        kind, slot = sources[w].kind, sources[w].slot
        come = sources[w].row if event < 0 else sources[w].before
        row = uintp(max(0, come)) * size
        at = to + (sources[w].left if expiry else sources[w].out)
        if kind == FLOAT:
            whole = 0.0
            if slot >= 0 and node < 0:
                whole = _saved(f_snaps, f_wide, slot, kept, mine + hi, oldest, 0.0)
            elif slot >= 0:
                whole = _dot(x, counted, lo, hi, f_snaps, f_wide, slot, kept, mine, oldest)
            elif come < 0:
                whole = reals[sources[w].values, event] * found if found != 0 else 0.0
            elif link < 0:
                whole = _total(f, row + lo, row + hi)
            else:
                whole = _dot_reals(f, row, lo, hi, snaps, wide, kept, mine, oldest)
            f_out[at] = whole
        elif kind == SUM:
            total = 0
            if slot >= 0 and node < 0:
                total = _saved(snaps, wide, slot, kept, mine + hi, oldest, 0)
            elif slot >= 0:
                total = _dot(x, counted, lo, hi, snaps, wide, slot, kept, mine, oldest)
            elif come < 0:
                total = values[sources[w].values, event] * found
            elif link < 0:
                total = _total(x, row + lo, row + hi)
            else:
                total = _dot(x, row, lo, hi, snaps, wide, 0, kept, mine, oldest)
            out[at] = total
        else:
            least = NOBODY
            if slot >= 0 and node < 0:
                least = _saved(snaps, wide, slot, kept, mine + hi, oldest, NOBODY)
            elif slot < 0 and come < 0:
                least = values[sources[w].values, event] if found != 0 else NOBODY
            elif link < 0:
                for place in range(row + lo, row + hi):
                    least = min(least, x[place])
            else:
                least = _least(
                    x, row, counted, lo, hi, snaps, wide, max(0, slot), kept, mine, oldest
                )
            out[at] = least


@called
def _expire(
    q: np.uintp, now: int, ts: Wide, chains: Table, sources: Table, queries: Table,
    trees: Table, size: np.uintp, x: Wide, f: Floats, born: Wide, kept: Table, snaps: Wide,
    wide: int, f_snaps: Floats, f_wide: int, values: Wide, reals: Floats, e_op: Wide,
    e_count: Wide, e_out: Wide, e_f_out: Floats,
) -> None:  # fmt: skip
    """Let the STARTs of a sequence expire that do up to a time; write where matches go."""
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
            before = _live(q, chains, queries, trees, size, x, kept, snaps, wide)
        while place < end and ts[born[births + uintp(place)]] == moment:
            start = born[births + uintp(place)]
            place += 1
        queries[q].oldest = place + trees[tree].moved
        left = _live(q, chains, queries, trees, size, x, kept, snaps, wide)
        if left != before:
            to = queries[q].expired
            queries[q].expired += 1
            e_op[queries[q].expiries + to] = start
            e_count[queries[q].expiries + to] = left
            if queries[q].sources < queries[q + one].sources:
                _write(
                    q, chains[chain].end, -1, left, to, chains, sources, queries, trees, size, x,
                    f, kept, snaps, wide, f_snaps, f_wide, values, reals, True, e_out, e_f_out,
                )  # fmt: skip
        before = left


@called
def _save(
    link: int, mine: np.uintp, top: int, live: int, chains: Table, links: Table, sources: Table,
    trees: Table, size: np.uintp, x: Wide, f: Floats, kept: Table, snaps: Wide, wide: int,
    f_snaps: Floats, f_wide: int,
) -> None:  # fmt: skip
    """Write what the chain before a link has for each live START and those after it.

    Args, beside those of `run`:
        link: The link.
        mine: Where it is noted.
        top: Where the snapshot begins.
        live: How many live STARTs of the whole there are.
    """
    chain = links[link].chain
    first, before, last = chains[chain].tree, chains[chain].link, chains[chain].last
    lo = uintp(trees[first].lo)
    row = uintp(chains[chain].end) * size
    oldest = trees[first].lo + trees[first].moved
    kept[mine].at = top
    kept[mine].base = oldest
    kept[mine].size = live
    older = uintp(max(0, before)) * size
    begin, end = uintp(trees[last].lo), uintp(trees[last].hi)
    to = top * wide
    if before < 0:
        _suffix_sums(x, row + lo, snaps, to, live)
    else:
        _connect(x, row, begin, end, snaps, wide, 0, kept, older, oldest, snaps, to, live)
    for w in range(links[link].sources, links[link + 1].sources):
        kind, slot = sources[w].kind, sources[w].slot
        leg = uintp(max(0, sources[w].row)) * size
        if kind == FLOAT:
            to = top * f_wide + sources[w].out * live
            if before < 0:
                _suffix_sums(f, leg + lo, f_snaps, to, live)
            elif slot < 0:
                _connect(f, leg, begin, end, snaps, wide, 0, kept, older, oldest, f_snaps, to, live)
            else:
                _connect(
                    x, row, begin, end, f_snaps, f_wide, slot, kept, older, oldest, f_snaps, to,
                    live,
                )  # fmt: skip
            continue
        to = top * wide + sources[w].out * live
        if kind == SUM and before < 0:
            _suffix_sums(x, leg + lo, snaps, to, live)
        elif kind == SUM and slot < 0:
            _connect(x, leg, begin, end, snaps, wide, 0, kept, older, oldest, snaps, to, live)
        elif kind == SUM:
            _connect(x, row, begin, end, snaps, wide, slot, kept, older, oldest, snaps, to, live)
        elif before < 0:
            least = NOBODY
            for nth in range(live - 1, -1, -1):
                least = min(least, x[leg + lo + uintp(nth)])
                snaps[to + nth] = least
        else:
            _connect_leasts(
                x, leg, row, begin, end, snaps, wide, max(0, slot), kept, older, oldest, to, live
            )


@called
def _suffix_sums(
    rows: npt.NDArray[Any], begin: np.uintp, snaps: npt.NDArray[Any], to: int, live: int
) -> None:
    """Write what a row holds from each live START on."""
    whole = rows.dtype.type(0)
    for nth in range(live - 1, -1, -1):
        whole += rows[begin + uintp(nth)]
        snaps[to + nth] = whole


@called
def _connect(
    rows: npt.NDArray[Any], row: np.uintp, begin: np.uintp, end: np.uintp,
    older: npt.NDArray[Any], wide: int, slot: int, kept: Table, mine: np.uintp, oldest: int,
    snaps: npt.NDArray[Any], to: int, live: int,
) -> None:  # fmt: skip
    """Write what a piece holds times what its own snapshots have, from each live START on."""
    for nth in range(live):
        snaps[to + nth] = 0
    for place in range(begin, end):
        value = rows[row + place]
        if value == 0:
            continue
        some, at = kept[mine + place].size, kept[mine + place].at
        skip = oldest - kept[mine + place].base  # it may begin with STARTs that have expired
        for nth in range(max(0, -skip), min(live, some - skip)):
            known = older[at * wide + slot * some + skip + nth]
            if known != 0:
                snaps[to + nth] += value * known


@called
def _connect_leasts(
    x: Wide, leg: np.uintp, row: np.uintp, begin: np.uintp, end: np.uintp, snaps: Wide,
    wide: int, slot: int, kept: Table, mine: np.uintp, oldest: int, to: int, live: int,
) -> None:  # fmt: skip
    """Write the least of a piece (slot 0) or of those before it, from each live START on."""
    for nth in range(live):
        snaps[to + nth] = NOBODY
    for place in range(begin, end):
        if slot > 0 and x[row + place] == 0:
            continue
        some, at = kept[mine + place].size, kept[mine + place].at
        skip = oldest - kept[mine + place].base
        for nth in range(max(0, -skip), min(live, some - skip)):
            come = at * wide + skip + nth
            if slot > 0:
                snaps[to + nth] = min(snaps[to + nth], snaps[come + slot * some])
            elif snaps[come] != 0:
                snaps[to + nth] = min(snaps[to + nth], x[leg + place])


@compiled
def pack(
    links: Table, trees: Table, room: int, kept: Table, old: Wide, wide: int, f_old: Floats,
    f_wide: int, snaps: Wide, f_snaps: Floats,
) -> int:  # fmt: skip
    """Copy the snapshots of live STARTs, one behind the other; return where they end.

    Without arrays to copy to (of size 0) nothing is changed: it says how much room they need.
    """
    top = 0
    for link in range(links.size - 1):
        tree = links[link].tree
        for place in range(trees[tree].lo, trees[tree].hi):
            at = link * room + place
            some, come = kept[at].size, kept[at].at
            if snaps.size > 0:
                for nth in range(some * wide):
                    snaps[top * wide + nth] = old[come * wide + nth]
                for nth in range(some * f_wide):
                    f_snaps[top * f_wide + nth] = f_old[come * f_wide + nth]
                kept[at].at = top
            top += some
    return top
