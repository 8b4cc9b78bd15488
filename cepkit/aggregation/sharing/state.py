"""What the loop over several sequences keeps of a key, and where it grows.

Rows of `room` places, one for each live START of a tree, lie one behind the other in flat arrays.
Snapshots lie one behind the other too: where the counts of one begin, its slots follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels import shared as shared_loops
from cepkit.aggregation.sharing.wiring import Table, Wiring

Wide = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_ROOM = 64
_SNAPSHOTS = 2**16


@dataclass(eq=False, slots=True)
class State:
    """What is kept of a key; it grows where the loop says so.

    Attributes:
        trees: Where the live STARTs of each tree begin (`lo`) and end (`hi`), how many were
            `moved` out of the rows, and how many of this moment have a snapshot (`staged`).
        room: The length of a row.
        x: Rows of integers: how many matches of its prefix each START begins, of each node; then
            the legs of integer and least lanes.
        f: Rows of floats: the legs of float lanes.
        born: A row for each tree: the operation that was its START.
        kept: A row for each link: of each START of the piece after where its snapshot begins
            (`at`), the START of the whole that it begins with (`base`), and how many it holds
            (`size`).
        snaps: The snapshots, of so many slots each.
        wide: How many slots.
        f_snaps: The same of float lanes.
        f_wide: How many slots.
        cursor: The key and the operation to go on with, where the next snapshot begins, and how
            much room it needs.
    """

    trees: Table
    room: int
    x: Wide
    f: Floats
    born: Wide
    kept: Table
    snaps: Wide
    wide: int
    f_snaps: Floats
    f_wide: int
    cursor: Wide

    def grow(self, links: Table, reason: int) -> None:
        """Make room for what the loop stopped for.

        Args:
            links: The links of the forest.
            reason: What `shared_loops.run` returned.
        """
        if reason == shared_loops.MORE_STARTS:
            self.x, self.f, self.born, self.kept = map(
                self._wider, (self.x, self.f, self.born, self.kept)
            )
            self.room *= 2
            return
        pack = shared_loops.pack
        given = (links, self.trees, self.room, self.kept)
        old = (self.snaps, self.wide, self.f_snaps, self.f_wide)
        need = pack(*given, *old, self.snaps[:0], self.f_snaps[:0]) + int(self.cursor[3])
        size = 2 * need + _SNAPSHOTS
        snaps = np.zeros(size * self.wide, dtype=np.int64)
        f_snaps = np.zeros(size * self.f_wide, dtype=np.float64)
        self.cursor[2] = pack(*given, *old, snaps, f_snaps)
        self.snaps, self.f_snaps = snaps, f_snaps

    def _wider(self, rows: npt.NDArray[Any]) -> Any:
        """Return rows with twice the room."""
        number = len(rows) // self.room
        wider = np.zeros((number, 2 * self.room), dtype=rows.dtype)
        wider[:, : self.room] = rows.reshape(number, self.room)
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
