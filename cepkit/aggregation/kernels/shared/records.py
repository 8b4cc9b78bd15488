"""Arguments of the loop over several sequences, and its state for one key."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels.records import Bits, Floats, Ints, Wide

Table: TypeAlias = Any
"""A record array: `table[row].field`."""

SUM, LEAST, FLOAT = 0, 1, 2
"""The kinds of lanes."""
DONE, MORE_STARTS, MORE_SNAPSHOTS = 0, 1, 2
"""The reasons why the loop stops."""


class ForestSteps(NamedTuple):
    """Operations by key and time; at equal times the deepest node comes first.

    Attributes:
        ts: int64[operations], the time of each.
        slots: int32[operations], the forest's event of each.
        rows: int32[operations], the stream's event of each.
        starts: int64[keys + 1], where each key begins, and the end.
        lost: bool[keys], whether this is the pseudo-key of triggers without a key.
    """

    ts: Wide
    slots: Ints
    rows: Ints
    starts: Wide
    lost: Bits


class Wiring(NamedTuple):
    """A forest in the form of the loop; tables hold 64-bit integers.

    If rows of a table point to the beginning of a range in another, a last row points to its end.

    Attributes:
        kinds: For each event of the forest its `node`, and whether it must be `absent` after it.
        nodes: The `parent` (-1: the piece begins) and the `tree` of each node, where the sequences
            that end there begin in `ending`, and its legs in `legs`.
        ending: The sequences that end at nodes.
        chains: The last node (`end`) of each chain of pieces, the `link` of its last piece to
            those before (-1: none), the `tree` of its first piece and that of its `last`.
        links: The `chain` before each link, the `tree` of the piece after, and where the slots of
            its snapshots begin in `sources`.
        legs: The `kind` and the `tree` of each leg, its `row`, the row of the same lane at the
            node `before` (-1: the events of this node have its `values`), and which of the values
            these are.
        sources: What sequences and slots hold: `kind`, `row` of the leg at the end of the chain
            (-1: a slot), the row at the node `before`, `values`, `slot`, and where it is written:
            `out` for triggers, `left` for expiries; of a slot `out` is its number.
        queries: The `chain` and the `window` of each sequence (-1: none), where its `sources`,
            its `triggers` and its `expiries` begin; and how far it is: its `oldest` live START,
            the triggers of this moment that are `waiting`, how many are `done`, and how many
            moments have `expired`.
        values: int64[lanes, events], the values of integer and least lanes at each event.
        reals: float64[lanes, events], those of float lanes.
        keep: The longest window; -1: none.
        rows: How many rows of integers there are, and of floats.
        slots: How many slots snapshots need, of integers (the first is the number of matches) and
            of floats.
    """

    kinds: Table
    nodes: Table
    ending: Wide
    chains: Table
    links: Table
    legs: Table
    sources: Table
    queries: Table
    values: Wide
    reals: Floats
    keep: int
    rows: tuple[int, int]
    slots: tuple[int, int]


class State(NamedTuple):
    """The counters, lanes and snapshots of the current key.

    Rows of `room` places, one for each live START of a tree, are concatenated in flat arrays.

    Attributes:
        trees: For each tree the begin (`lo`) and end (`hi`) of its live STARTs, how many were
            `moved` out of the rows, and how many of this moment have a snapshot (`staged`).
        room: The length of a row.
        x: int64[rows * room]: for each node the number of its prefix's matches that each START
            begins; then the legs of integer and least lanes.
        f: float64[rows * room], the legs of float lanes.
        born: int64[trees * room], the operation that was each START.
        cursor: int64[4], the key and the operation to continue with, the beginning of the next
            snapshot, and the room it needs.
    """

    trees: Table
    room: int
    x: Wide
    f: Floats
    born: Wide
    cursor: Wide


class Snapshots(NamedTuple):
    """The snapshots of the current key: the counts of each, then its slots.

    Loops take `()` where no piece follows another. Numba knows the length of a tuple, and compiles
    nothing of what stands under `if len(saved)`.

    Attributes:
        kept: A row for each link: of each START of the piece after where its snapshot begins
            (`at`), the START of the whole that it begins with (`oldest`), and how many it holds
            (`live`).
        x: int64[size * wide], the snapshots, with `wide` slots each.
        wide: How many slots.
        f: float64[size * f_wide], the same of float lanes.
        f_wide: The number of float slots.
    """

    kept: Table
    x: Wide
    wide: int
    f: Floats
    f_wide: int


Saved: TypeAlias = Any
"""Snapshots, or the empty tuple."""
LIVE, EXPIRED = np.int32(-1), np.int32(-2)
"""In place of the event that completes matches: they are complete; they are left by an expiry.

Of the type of events: for a plain number functions would be compiled once more.
"""


class MomentRows(NamedTuple):
    """The output rows of all sequences, concatenated.

    Attributes:
        at: int64[moments]: for a trigger the number of matches it completes; for an expiry its
            START.
        counts: int64[moments], the number of matches.
        x: int64[n]: for a sequence with m moments, m numbers for each integer lane, then for each
            least lane.
        f: float64[n], the same for each float lane.
    """

    at: Wide
    counts: Wide
    x: Wide
    f: Floats


class Before(NamedTuple):
    """A lane of the earlier pieces, in snapshots.

    Attributes:
        snaps: The snapshots.
        wide: The number of slots of each.
        slot: The slot of the lane; 0: the number of matches.
        kept: Which snapshot each START has.
        mine: The beginning of the link's row there.
        oldest: The first live START of the whole.
    """

    snaps: npt.NDArray[Any]
    wide: int
    slot: int
    kept: Table
    mine: Any
    oldest: int
