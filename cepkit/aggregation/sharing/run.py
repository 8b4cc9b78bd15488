"""Runs the loop over a forest of sequences, and makes rows of its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels.records import NOBODY, Tracks
from cepkit.aggregation.kernels.shared import run as loop
from cepkit.aggregation.kernels.shared.records import (
    DONE,
    MORE_STARTS,
    ForestSteps,
    MomentRows,
    Saved,
    Snapshots,
    State,
    Table,
    Wiring,
)  # fmt: skip
from cepkit.aggregation.kernels.shared.snapshots import pack
from cepkit.aggregation.rows.emission import finished, wants_expiries
from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.semirings.lanes import Lanes
from cepkit.aggregation.sequence.elements import Emit
from cepkit.aggregation.sequence.operations import Operations
from cepkit.aggregation.sharing.plan import Forest, Position, Spec, forest_of
from cepkit.aggregation.sharing.wiring import wiring_of

Wide = npt.NDArray[np.int64]
Bits = npt.NDArray[np.bool_]
_ROOM = 64
_SNAPSHOTS = 2**16


def run(
    forest: Forest,
    windows: Sequence[int | None],
    lanes: Sequence[Lanes],
    operations: Operations,
    lost: Bits,
    events: Sequence[tuple[int, bool]],
    emit: Emit,
) -> list[Moments]:
    """Return the rows of each sequence.

    Args:
        operations: The operations of the events; their codes say which of `events` they are.
        lost: For each key whether it is the pseudo-key of events without a key.
        events: The node of each event of the forest, and whether it must be absent after it.
    """
    nodes = np.array([-1 if absent else node for node, absent in events], dtype=np.int64)
    at_node = nodes[operations.codes]
    chains = [forest.chains[chain] for chain in forest.of]
    triggers = [np.flatnonzero(at_node == chain.end) for chain in chains]
    of_query = [replace(operations, window=window) for window in windows]
    expiries = any(wants_expiries(each, emit) for each in of_query)
    starts = [int((at_node == chain.tree).sum()) if expiries else 0 for chain in chains]
    w = wiring_of(forest, lanes, windows, events, list(map(len, triggers)), starts)
    s, saved = _state_of(w), _snapshots_of(w)
    completed, expired = (
        _RowsAtMoments(list(map(len, triggers)), lanes),
        _RowsAtMoments(starts, lanes),
    )
    steps = ForestSteps(operations.ts, operations.codes, operations.rows, operations.starts, lost)
    arguments = emit in ("new", "total"), expiries, completed.rows, expired.rows
    while (reason := loop.run(steps, w, s, saved, *arguments)) != DONE:
        s, saved = _grown(s, saved, w.links, reason)
    results = []
    for q, each in enumerate(of_query):
        new, tracks = completed.of_query(q)
        op, left = expired.of_query(q)
        row_numbers = np.arange(w.queries[q].expired)
        results.append(
            finished(
                each,
                lanes[q],
                triggers[q],
                new,
                tracks,
                op[row_numbers],
                left.take(row_numbers),
                emit,
            )
        )
    return results


def run_alone(operations: Operations, lanes: Lanes, emit: Emit) -> Moments:
    """Return the rows of a single sequence."""
    n = operations.length
    # The forest is a path. Places identify its nodes: the operations already know the events.
    path = forest_of([[Position(Spec(frozenset({f"{p}"}))) for p in range(n)]], [(n,)])
    events = [(n - 1 - code // 2 - code % 2, code % 2 == 1) for code in range(2 * n - 1)]
    lost = np.zeros(len(operations.groups), dtype=np.bool_)
    (moments,) = run(path, [operations.window], [lanes], operations, lost, events, emit)
    return moments


class _RowsAtMoments:
    """The rows of each sequence's moments, in the form of the loop.

    Args:
        moments: The most moments of each.

    Attributes:
        rows: The arrays that the loop fills.
    """

    def __init__(self, moments: Sequence[int], lanes: Sequence[Lanes]) -> None:
        self._lanes = lanes
        self._begins = list(accumulate(moments, initial=0))
        numbers = [len(each.int_at) + len(each.least_at) for each in lanes]
        self._x = list(accumulate(map(mul, numbers, moments), initial=0))
        numbers = [len(each.float_at) for each in lanes]
        self._f = list(accumulate(map(mul, numbers, moments), initial=0))
        size = self._begins[-1]
        self.rows = MomentRows(
            np.zeros(size, dtype=np.int64),
            np.zeros(size, dtype=np.int64),
            np.zeros(self._x[-1], dtype=np.int64),
            np.zeros(self._f[-1], dtype=np.float64),
        )
        for q in range(len(lanes)):
            self.of_query(q)[1].leasts[:] = NOBODY

    def of_query(self, q: int) -> tuple[Wide, Tracks]:
        """Return the rows of a sequence: parts of the arrays."""
        at = slice(self._begins[q], self._begins[q + 1])
        size = at.stop - at.start
        sums, floats = len(self._lanes[q].int_at), len(self._lanes[q].float_at)
        numbers = sums + len(self._lanes[q].least_at)
        x = self.rows.x[self._x[q] : self._x[q + 1]].reshape(numbers, size)
        f = self.rows.f[self._f[q] : self._f[q + 1]].reshape(floats, size)
        return self.rows.at[at], Tracks(self.rows.counts[at], x[:sums], f, x[sums:])


def _grown(state: State, saved: Saved, links: Table, reason: int) -> tuple[State, Saved]:
    """Return the state and its snapshots with more room, depending on why the loop stopped."""
    if reason == MORE_STARTS:
        x, f, born = (_wider(each, state.room) for each in (state.x, state.f, state.born))
        if saved:
            saved = saved._replace(kept=_wider(saved.kept, state.room))
        return state._replace(x=x, f=f, born=born, room=2 * state.room), saved
    need = pack(links, state, saved, saved.x[:0], saved.f[:0]) + int(state.cursor[3])
    size = 2 * need + _SNAPSHOTS
    x = np.zeros(size * saved.wide, dtype=np.int64)
    f = np.zeros(size * saved.f_wide, dtype=np.float64)
    state.cursor[2] = pack(links, state, saved, x, f)
    return state, saved._replace(x=x, f=f)


def _wider(rows: npt.NDArray[Any], room: int) -> Any:
    """Return rows with twice the room."""
    number = len(rows) // room
    wider = np.zeros((number, 2 * room), dtype=rows.dtype)
    wider[:, :room] = rows.reshape(number, room)
    return wider.reshape(-1).view(type(rows))


def _state_of(wiring: Wiring) -> State:
    """Return an empty state."""
    trees = int(wiring.nodes.tree.max()) + 1
    return State(
        _zeros(("lo", "hi", "moved", "staged"), trees),
        _ROOM,
        np.zeros(wiring.rows[0] * _ROOM, dtype=np.int64),
        np.zeros(wiring.rows[1] * _ROOM, dtype=np.float64),
        np.zeros(trees * _ROOM, dtype=np.int64),
        np.zeros(4, dtype=np.int64),
    )


def _snapshots_of(wiring: Wiring) -> Saved:
    """Return room for the first snapshots; the empty tuple if no piece follows another."""
    links = len(wiring.links) - 1
    if not links:
        return ()
    wide, f_wide = wiring.slots
    return Snapshots(
        _zeros(("at", "oldest", "live"), links * _ROOM),
        np.zeros(_SNAPSHOTS * wide, dtype=np.int64),
        wide,
        np.zeros(_SNAPSHOTS * f_wide, dtype=np.float64),
        f_wide,
    )


def _zeros(names: tuple[str, ...], size: int) -> Table:
    return np.zeros(size, dtype=[(name, np.int64) for name in names]).view(np.recarray)
