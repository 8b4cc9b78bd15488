"""Expiry of STARTs that the window has left behind."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.aggregation.kernels.shared.records import FLOAT, ForestSteps, MomentRows, State, Wiring
from cepkit.aggregation.kernels.shared.results import live_matches, write_lanes
from cepkit.compiling import called, lent


@called
def move_up(w: Wiring, s: State, tree: int) -> None:
    """Drop the expired STARTs of a tree: the others move to the beginning."""
    nodes, links, legs, trees = w.nodes, w.links, w.legs, s.trees
    x, f, born, kept, size = s.x, s.f, s.born, s.kept, uintp(s.room)
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
def expire(steps: ForestSteps, w: Wiring, s: State, to: MomentRows, q: np.uintp, now: int) -> None:
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
            before = live_matches(w, s, q)
        while place < end and ts[born[births + uintp(place)]] == moment:
            start = born[births + uintp(place)]
            place += 1
        queries[q].oldest = place + trees[tree].moved
        left = live_matches(w, s, q)
        if left != before:
            nth = queries[q].expired
            queries[q].expired += 1
            to.at[queries[q].expiries + nth] = start
            to.counts[queries[q].expiries + nth] = left
            if queries[q].sources < queries[q + one].sources:
                write_lanes(w, s, to, q, chains[chain].end, -1, left, nth, True)
        before = left
