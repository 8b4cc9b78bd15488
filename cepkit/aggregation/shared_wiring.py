"""How a forest is laid out for its loop: tables of its nodes, lanes and snapshots.

A *cell* is a row of numbers, one for each live START of a tree: a lane (`lanes`) at one of the
nodes that carry it, from the one whose events have its values to the end of the piece. Where a
piece follows others, a *slot* of the snapshots of its STARTs holds a lane of what came before. What
a sequence asks for has its *source* in a cell where its variable is in the last piece, in a slot
elsewhere. Lanes that sequences share are carried once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.functions import Greatest, Least
from cepkit.aggregation.lanes import Lanes
from cepkit.aggregation.shared_loops import FLOAT, LEAST, SUM
from cepkit.aggregation.shared_plan import Forest, path_of

Wide = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.bool_]
Table: TypeAlias = Any
"""A record array, of 64-bit integers: `table[row].field`. Where rows point to where something
begins in another table, a last row says where that ends."""


@dataclass(frozen=True, eq=False, slots=True)
class Wiring:
    """A forest as its loop takes it.

    Attributes:
        kinds: For each event of the forest its `node`, and whether it must be `absent` after it.
        nodes: The `parent` (-1: the piece begins) and the `tree` of each node, where the sequences
            that end there begin in `ending`, and its cells in `cells`.
        ending: The sequences that end at nodes.
        chains: The last node (`end`) of each chain of pieces, the `link` of its last piece to
            those before (-1: none), the `tree` of its first piece and that of its `last`.
        links: The `chain` before each link, the `tree` of the piece after, and where the slots of
            its snapshots begin in `sources`.
        cells: The `kind` and the `tree` of each cell, its `row`, the row of the same lane at the
            node `before` (-1: the events of this node have its `values`), and which of the values
            these are.
        sources: What sequences and slots hold: `kind`, `row` of the cell at the end of the chain
            (-1: a slot), the row at the node `before`, `values`, `slot`, and where it is written:
            `out` for triggers, `left` for expiries; of a slot `out` is its number.
        queries: The `chain` and the `window` of each sequence (-1: none), where its `sources`,
            its `triggers` and its `expiries` begin; and how far it is: its `oldest` live START,
            the triggers of this moment that are `waiting`, how many are `done`, and how many
            moments have `expired`.
        values: The values of integer and least lanes at each event.
        reals: Those of float lanes.
        rows: How many rows of integers there are, and of floats.
        slots: How many slots snapshots need, of integers (the first is the number of matches) and
            of floats.
    """

    kinds: Table
    nodes: Table
    ending: Wide
    chains: Table
    links: Table
    cells: Table
    sources: Table
    queries: Table
    values: Wide
    reals: Floats
    rows: tuple[int, int]
    slots: tuple[int, int]


_QUERY = (
    "chain", "window", "sources", "triggers", "expiries", "oldest", "waiting", "done", "expired",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Lane:
    """A lane of the forest: whatever the sequences call the variable, it is the same lane.

    Attributes:
        kind: The kind.
        node: The node whose events have its values.
        what: What they are: "values" (how many), "sum", "least" or "greatest".
        attribute: Of which attribute.
    """

    kind: int
    node: int
    what: str
    attribute: str | None


@dataclass(frozen=True, slots=True)
class _Value:
    """A lane of one of the pieces of a chain: the chain that ends with that piece says which."""

    lane: _Lane
    chain: int


def wiring_of(
    forest: Forest,
    lanes: Sequence[Lanes],
    windows: Sequence[int | None],
    events: Sequence[tuple[int, bool]],
    triggers: Sequence[int],
    expiries: Sequence[int],
) -> Wiring:
    """Return how a forest is laid out.

    Args:
        forest: What is shared.
        lanes: Of each sequence what it carries, by its own positions.
        windows: Of each sequence the window.
        events: Of each event of the forest its node, and whether it must be absent after it.
        triggers: How many triggers each sequence has.
        expiries: For how many moments of expiry it needs room.
    """
    return _Builder(forest, lanes).wiring(windows, events, triggers, expiries)


class _Builder:
    """Finds the lanes of a forest, and numbers them."""

    def __init__(self, forest: Forest, lanes: Sequence[Lanes]) -> None:
        self._forest = forest
        self._trees = list(dict.fromkeys(node.tree for node in forest.nodes))
        self._links = [_link(forest, number) for number in range(len(forest.chains))]
        self._wanted: list[list[_Value]] = []
        self._values: dict[_Lane, npt.NDArray[Any]] = {}
        for chain, each in zip(forest.of, lanes, strict=True):
            wanted: list[_Value] = []
            for kind, rows in ((SUM, each.ints), (FLOAT, each.floats), (LEAST, each.leasts)):
                found = _wanted(forest, chain, each, kind)
                self._values |= {v.lane: row for v, row in zip(found, rows, strict=True)}
                wanted += found
            self._wanted.append(wanted)
        # What is asked of a chain is asked of every chain that it goes on from.
        asked: list[dict[_Value, None]] = [{} for _ in forest.chains]
        for chain, wanted in zip(forest.of, self._wanted, strict=True):
            asked[chain] |= dict.fromkeys(wanted)
        self._slots: list[dict[_Value, None]] = [{} for _ in forest.links]
        for number in reversed(range(len(forest.chains))):
            before = forest.chains[number].before
            if before is not None:
                passed = {value: None for value in asked[number] if value.chain != number}
                self._slots[self._links[number]] |= passed
                asked[before] |= passed
        self._cells: dict[tuple[int, _Lane], None] = {}
        for number, some in enumerate(asked):
            for value in some:
                node: int | None = forest.chains[number].end
                while value.chain == number and node is not None:
                    self._cells[node, value.lane] = None
                    node = None if node == value.lane.node else forest.nodes[node].parent
        at = _counter([len(forest.nodes), 0])
        self._row = {cell: at(cell[1].kind) for cell in sorted(self._cells, key=lambda c: c[0])}
        at = _counter([0, 0])
        self._of_values = {lane: at(lane.kind) for lane in self._values}

    def wiring(
        self,
        windows: Sequence[int | None],
        events: Sequence[tuple[int, bool]],
        triggers: Sequence[int],
        expiries: Sequence[int],
    ) -> Wiring:
        """Return the tables; arguments as of `wiring_of`."""
        forest = self._forest
        nodes, chains, links = forest.nodes, forest.chains, forest.links
        cells = [[cell for cell in self._row if cell[0] == node] for node in range(len(nodes))]
        ending = [
            [q for q, chain in enumerate(forest.of) if chains[chain].end == node]
            for node in range(len(nodes))
        ]
        sources = [
            *(self._of_query(q, triggers, expiries) for q in range(len(forest.of))),
            *(self._of_link(link) for link in range(len(links))),
        ]
        begins = _begins(sources)
        return Wiring(
            _table(("node", "absent"), events),
            _table(
                ("parent", "tree", "ending", "cells"),
                zip(
                    [*parents_of(forest), -1],
                    [*(self._trees.index(node.tree) for node in nodes), -1],
                    _begins(ending),
                    _begins(cells),
                    strict=True,
                ),
            ),
            np.array([q for some in ending for q in some], dtype=np.int64),
            _table(
                ("end", "link", "tree", "last"),
                (
                    (
                        chain.end,
                        link,
                        self._trees.index(chain.tree),
                        self._trees.index(nodes[chain.end].tree),
                    )
                    for chain, link in zip(chains, self._links, strict=True)
                ),
            ),
            _table(
                ("chain", "tree", "sources"),
                zip(
                    [*(before for before, _ in links), -1],
                    [*(self._trees.index(tree) for _, tree in links), -1],
                    begins[len(forest.of) :],
                    strict=True,
                ),
            ),
            _table(
                ("kind", "tree", "row", "before", "values"),
                (
                    (
                        lane.kind,
                        self._trees.index(nodes[node].tree),
                        self._row[node, lane],
                        *self._known(node, lane),
                    )
                    for some in cells
                    for node, lane in some
                ),
            ),
            _table(
                ("kind", "row", "before", "values", "slot", "out", "left"),
                (source for some in sources for source in some),
            ),
            _table(
                _QUERY,
                (
                    (*row, 0, 0, 0, 0)
                    for row in zip(
                        [*forest.of, -1],
                        [*(-1 if window is None else window for window in windows), -1],
                        begins[: len(forest.of) + 1],
                        accumulate(triggers, initial=0),
                        accumulate(expiries, initial=0),
                        strict=True,
                    )
                ),
            ),
            self._stacked((SUM, LEAST), np.int64),
            self._stacked((FLOAT,), np.float64),
            (
                len(nodes) + sum(lane.kind != FLOAT for _, lane in self._row),
                sum(lane.kind == FLOAT for _, lane in self._row),
            ),
            (
                1 + max((sum(v.lane.kind != FLOAT for v in s) for s in self._slots), default=0),
                max((sum(v.lane.kind == FLOAT for v in s) for s in self._slots), default=0),
            ),
        )

    def _of_query(
        self, q: int, triggers: Sequence[int], expiries: Sequence[int]
    ) -> list[tuple[int, ...]]:
        """Return the sources of a sequence."""
        out, left = self._begins_of(q, triggers), self._begins_of(q, expiries)
        return [
            (*self._source(value, self._forest.of[q]), begin, end)
            for value, begin, end in zip(self._wanted[q], out, left, strict=True)
        ]

    def _begins_of(self, q: int, moments: Sequence[int]) -> list[int]:
        """Return where what each source of a sequence says of its moments is written."""
        at = _counter([0, 0])
        begins: list[int] = []
        for other, wanted in enumerate(self._wanted[: q + 1]):
            begins = [at(value.lane.kind, moments[other]) for value in wanted]
        return begins

    def _of_link(self, link: int) -> list[tuple[int, ...]]:
        """Return the sources of the slots of a link."""
        before, _ = self._forest.links[link]
        at = _counter([1, 0])
        return [
            (*self._source(value, before), at(value.lane.kind), 0) for value in self._slots[link]
        ]

    def _source(self, value: _Value, chain: int) -> tuple[int, int, int, int, int]:
        """Return where a value of a chain comes from: kind, row, before, values and slot."""
        lane = value.lane
        if value.chain == chain:
            end = self._forest.chains[chain].end
            return (lane.kind, self._row[end, lane], *self._known(end, lane), -1)
        at = _counter([1, 0])
        slots = {other: at(other.lane.kind) for other in self._slots[self._links[chain]]}
        return (lane.kind, -1, -1, self._of_values[lane], slots[value])

    def _known(self, node: int, lane: _Lane) -> tuple[int, int]:
        """Return the row of a lane at the node before, -1 where its values begin, and these."""
        parent = self._forest.nodes[node].parent
        if node == lane.node or parent is None:
            return -1, self._of_values[lane]
        return self._row[parent, lane], self._of_values[lane]

    def _stacked(self, kinds: Sequence[int], dtype: type) -> npt.NDArray[Any]:
        rows = [row for lane, row in self._values.items() if lane.kind in kinds]
        if len(rows) == 1:  # as it is, without a copy
            return rows[0][None]
        size = len(rows[0]) if rows else 0
        return np.array(rows, dtype=dtype).reshape(len(rows), size)


def parents_of(forest: Forest) -> list[int]:
    """Return the node before each node, -1 for none."""
    return [-1 if node.parent is None else node.parent for node in forest.nodes]


def _counter(begin: list[int]) -> Any:
    """Return what counts on, floats by themselves: each call says where it was before."""
    at = list(begin)

    def count(kind: int, by: int = 1) -> int:
        which = int(kind == FLOAT)
        at[which] += by
        return at[which] - by

    return count


def _table(names: Sequence[str], rows: Iterable[Sequence[int]]) -> Table:
    """Return a record array of 64-bit integers."""
    dtype = np.dtype([(name, np.int64) for name in names])
    return np.array([tuple(map(int, row)) for row in rows], dtype=dtype).view(np.recarray)


def _begins(parts: Iterable[Sequence[Any]]) -> list[int]:
    """Return where each part begins where they lie one behind the other, and the end."""
    return list(accumulate(map(len, parts), initial=0))


_KINDS = {"count": -1, "int": SUM, "float": FLOAT, "least": LEAST}


def _wanted(forest: Forest, chain: int, lanes: Lanes, kind: int) -> list[_Value]:
    """Return what the lanes of a sequence are in the forest, in their order."""
    path = path_of(forest, chain)
    places = {SUM: lanes.int_at, FLOAT: lanes.float_at, LEAST: lanes.least_at}[kind]
    found: dict[int, _Value] = {}

    def add(lane: int, what: str, attribute: str | None) -> None:
        node, ending = path[places[lane] - 1]
        found[lane] = _Value(_Lane(kind, node, what, attribute), ending)

    for outcome in lanes.outcomes:
        if outcome.lane[0] == "count" and outcome.present is None:
            continue
        (read,) = outcome.function.reads
        if kind == SUM and outcome.present is not None:
            add(outcome.present, "values", read[1])
        if _KINDS[outcome.lane[0]] == kind and outcome.lane != ("int", outcome.present):
            what = "sum"
            if isinstance(outcome.function, Least):
                what = "greatest" if isinstance(outcome.function, Greatest) else "least"
            add(outcome.lane[1], what, read[1])
    return [found[lane] for lane in range(len(places))]


def _link(forest: Forest, number: int) -> int:
    """Return which link a chain's last piece is connected by, -1 for none."""
    chain = forest.chains[number]
    if chain.before is None:
        return -1
    return forest.links.index((chain.before, forest.nodes[chain.end].tree))
