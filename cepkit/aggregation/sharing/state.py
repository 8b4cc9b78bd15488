"""The state of the loop over several sequences: how it begins, and where it grows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels.shared.records import MORE_STARTS, State, Table, Wiring
from cepkit.aggregation.kernels.shared.snapshots import pack

_ROOM = 64
_SNAPSHOTS = 2**16


def grown(state: State, links: Table, reason: int) -> State:
    """Return the state with room for what the loop stopped for."""
    if reason == MORE_STARTS:
        rows = (state.x, state.f, state.born, state.kept)
        x, f, born, kept = (_wider(each, state.room) for each in rows)
        return state._replace(x=x, f=f, born=born, kept=kept, room=2 * state.room)
    need = pack(links, state, state.snaps[:0], state.f_snaps[:0]) + int(state.cursor[3])
    size = 2 * need + _SNAPSHOTS
    snaps = np.zeros(size * state.wide, dtype=np.int64)
    f_snaps = np.zeros(size * state.f_wide, dtype=np.float64)
    state.cursor[2] = pack(links, state, snaps, f_snaps)
    return state._replace(snaps=snaps, f_snaps=f_snaps)


def _wider(rows: npt.NDArray[Any], room: int) -> Any:
    """Return rows with twice the room."""
    number = len(rows) // room
    wider = np.zeros((number, 2 * room), dtype=rows.dtype)
    wider[:, :room] = rows.reshape(number, room)
    return wider.reshape(-1).view(type(rows))


def state_of(wiring: Wiring) -> State:
    """Return a state in which nothing is known."""
    links, trees = len(wiring.links) - 1, int(wiring.nodes.tree.max()) + 1
    wide, f_wide = wiring.slots
    size = _SNAPSHOTS if links else 0
    return State(
        _zeros(("lo", "hi", "moved", "staged"), trees),
        _ROOM,
        np.zeros(wiring.rows[0] * _ROOM, dtype=np.int64),
        np.zeros(wiring.rows[1] * _ROOM, dtype=np.float64),
        np.zeros(trees * _ROOM, dtype=np.int64),
        _zeros(("at", "base", "size"), links * _ROOM),
        np.zeros(size * wide, dtype=np.int64),
        wide,
        np.zeros(size * f_wide, dtype=np.float64),
        f_wide,
        np.zeros(4, dtype=np.int64),
    )


def _zeros(names: tuple[str, ...], size: int) -> Table:
    return np.zeros(size, dtype=[(name, np.int64) for name in names]).view(np.recarray)
