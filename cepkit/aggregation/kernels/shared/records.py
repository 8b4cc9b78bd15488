"""Arguments of the loop over several sequences, and its state for one key."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy.typing as npt

from cepkit.aggregation.kernels.records import Bits, Floats, Ints, Wide

Table: TypeAlias = Any
"""A record array: `table[row].field`."""

SUM, LEAST, FLOAT = 0, 1, 2
"""Kinds of lanes."""
DONE, MORE_STARTS, MORE_SNAPSHOTS = 0, 1, 2
"""Why the loop stops."""


class ForestSteps(NamedTuple):
    """Operations by key and time; at equal times the deepest node comes first.

    Attributes:
        ts: int64[operations], the time of each.
        slots: int32[operations], which event of the forest each is.
        rows: int32[operations], which event of the stream.
        starts: int64[keys + 1], where each key begins, and the end.
        lost: bool[keys], whether a key has only triggers without a key.
    """

    ts: Wide
    slots: Ints
    rows: Ints
    starts: Wide
    lost: Bits


class Wiring(NamedTuple):
    """A forest as its loop takes it; tables are of 64-bit integers.

    Where rows of a table point to where something begins in another, a last row says where it ends.

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
    """The counters, lanes and snapshots of the key under way.

    Rows of `room` places, one for each live START of a tree, lie one behind the other in flat
    arrays. Snapshots lie one behind the other too: where the counts of one begin, its slots follow.

    Attributes:
        trees: Where the live STARTs of each tree begin (`lo`) and end (`hi`), how many were
            `moved` out of the rows, and how many of this moment have a snapshot (`staged`).
        room: The length of a row.
        x: int64[rows * room]: how many matches of its prefix each START begins, of each node; then
            the legs of integer and least lanes.
        f: float64[rows * room], the legs of float lanes.
        born: int64[trees * room], the operation that was each START.
        kept: A row for each link: of each START of the piece after where its snapshot begins
            (`at`), the START of the whole that it begins with (`base`), and how many it holds
            (`size`).
        snaps: int64[size * wide], the snapshots, of so many slots each.
        wide: How many slots.
        f_snaps: float64[size * f_wide], the same of float lanes.
        f_wide: How many slots.
        cursor: int64[4], the key and the operation to go on with, where the next snapshot begins,
            and how much room it needs.
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


class Rows(NamedTuple):
    """The rows of the output of each sequence, one sequence behind the other.

    Attributes:
        at: int64[moments], of a trigger how many matches it completes; of an expiry its START.
        counts: int64[moments], how many matches there are.
        x: int64[n], of a sequence of m moments m numbers for each integer lane, then each least
            lane.
        f: float64[n], the same for each float lane.
    """

    at: Wide
    counts: Wide
    x: Wide
    f: Floats


class Before(NamedTuple):
    """A lane of the pieces before, as snapshots have it.

    Attributes:
        snaps: The snapshots.
        wide: How many slots each has.
        slot: The slot of the lane; 0: the number of matches.
        kept: Which snapshot each START has.
        mine: Where the row of the link begins there.
        oldest: The first live START of the whole.
    """

    snaps: npt.NDArray[Any]
    wide: int
    slot: int
    kept: Table
    mine: Any
    oldest: int
