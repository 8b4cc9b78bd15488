"""Tables of the nodes and lanes of a forest, in the form of the loop.

Each node has a lane once for all sequences that use it. A *leg* is a lane at one of the nodes that
carry it, from the node whose events have its values to the end of the piece: a row of numbers, one
for each live START of its tree. If a piece follows others, a *slot* in the snapshots of its STARTs
holds a lane of the earlier pieces. The *source* of a sequence's aggregate is a leg if its variable
is in the last piece, otherwise a slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels.shared.records import FLOAT, LEAST, SUM, Table, Wiring
from cepkit.aggregation.semirings.functions import Count
from cepkit.aggregation.semirings.lanes import Lanes
from cepkit.aggregation.sharing.plan import Forest, path_of

Values = dict["ForestLane", npt.NDArray[Any]]

_KINDS = {"int": SUM, "float": FLOAT, "least": LEAST}


@dataclass(frozen=True, slots=True)
class ForestLane:
    """A lane of a forest.

    Attributes:
        kind: SUM, LEAST or FLOAT.
        node: The node whose events have its values.
        what: Their kind: "values" (how many), or an accumulator.
    """

    kind: int
    node: int
    what: str
    attribute: str | None


@dataclass(frozen=True, slots=True)
class PieceLane:
    """A lane in one of the pieces of a chain: the same tree may be two pieces of one sequence.

    Attributes:
        chain: The chain that ends with the piece.
    """

    lane: ForestLane
    chain: int


@dataclass(frozen=True, eq=False, slots=True)
class CarriedLanes:
    """The lanes of a forest.

    Attributes:
        needed: The lanes of each sequence: sums, floats, least values, in the order of its lanes.
        slots: The lanes in the snapshots of each link.
        legs: (node, lane): by node.
        values: The value of each lane at each event.
    """

    needed: tuple[tuple[PieceLane, ...], ...]
    slots: tuple[tuple[PieceLane, ...], ...]
    legs: tuple[tuple[int, ForestLane], ...]
    values: Values

    def stacked(self, floats: bool) -> npt.NDArray[Any]:
        """Return the values of the float lanes, or of all other lanes, as rows."""
        rows = [row for lane, row in self.values.items() if (lane.kind == FLOAT) == floats]
        if len(rows) == 1:  # as it is, without a copy
            return rows[0][None]
        size = len(rows[0]) if rows else 0
        dtype = np.float64 if floats else np.int64
        return np.array(rows, dtype=dtype).reshape(len(rows), size)


def carried(forest: Forest, lanes: Sequence[Lanes]) -> CarriedLanes:
    """Return the lanes of each node and link.

    Args:
        lanes: Of each sequence its lanes, by its own positions.
    """
    values: Values = {}
    lanes_of_queries = []
    # A lane of a chain is needed in every chain that it continues.
    lanes_of_chains: list[dict[PieceLane, None]] = [{} for _ in forest.chains]
    for chain, each in zip(forest.of, lanes, strict=True):
        own: list[PieceLane] = []
        for kind, rows in ((SUM, each.ints), (FLOAT, each.floats), (LEAST, each.leasts)):
            lanes_needed = _lanes_needed(forest, chain, each, kind)
            values |= {piece.lane: row for piece, row in zip(lanes_needed, rows, strict=True)}
            own += lanes_needed
        lanes_of_queries.append(tuple(own))
        lanes_of_chains[chain] |= dict.fromkeys(own)
    slots: list[dict[PieceLane, None]] = [{} for _ in forest.links]
    for number in reversed(range(len(forest.chains))):
        before, link = forest.chains[number].before, forest.link_of(number)
        if before is not None and link is not None:
            passed = {piece: None for piece in lanes_of_chains[number] if piece.chain != number}
            slots[link] |= passed
            lanes_of_chains[before] |= passed
    legs: dict[tuple[int, ForestLane], None] = {}
    for number, some in enumerate(lanes_of_chains):
        for piece in some:
            node: int | None = forest.chains[number].end
            while piece.chain == number and node is not None:
                legs[node, piece.lane] = None
                node = None if node == piece.lane.node else forest.nodes[node].parent
    return CarriedLanes(
        tuple(lanes_of_queries),
        tuple(map(tuple, slots)),
        tuple(sorted(legs, key=lambda leg: leg[0])),
        values,
    )


def _lanes_needed(forest: Forest, chain: int, lanes: Lanes, kind: int) -> list[PieceLane]:
    """Return the lanes of a sequence as lanes of the forest, in order."""
    path = path_of(forest, chain)
    places = {SUM: lanes.int_at, FLOAT: lanes.float_at, LEAST: lanes.least_at}[kind]
    lanes_needed: dict[int, PieceLane] = {}

    def add(lane: int, what: str, attribute: str | None) -> None:
        node, ending = path[places[lane] - 1]
        lanes_needed[lane] = PieceLane(ForestLane(kind, node, what, attribute), ending)

    for outcome in lanes.outcomes:
        if isinstance(outcome.function, Count):
            continue
        attribute = outcome.function.attribute
        if kind == SUM and outcome.present is not None:
            add(outcome.present, "values", attribute)
        state = outcome.function.definition.state
        for accumulator, (of, lane) in zip(state, outcome.lanes, strict=True):
            if _KINDS[of] == kind:
                add(lane, accumulator, attribute)
    return [lanes_needed[lane] for lane in range(len(places))]


def wiring_of(
    forest: Forest,
    lanes: Sequence[Lanes],
    windows: Sequence[int | None],
    events: Sequence[tuple[int, bool]],
    triggers: Sequence[int],
    expiries: Sequence[int],
) -> Wiring:
    """Return the tables of a forest.

    Args:
        lanes: The lanes of each sequence, by its own positions.
        events: For each event of the forest its node, and whether it must be absent after it.
        expiries: The number of expiry moments to make room for.
    """
    tables = _Tables(forest, carried(forest, lanes))
    sources = tables.sources(triggers, expiries)
    begins = _begins(sources)
    queries = len(forest.of)
    return Wiring(
        _table(("node", "absent"), events),
        tables.nodes(),
        np.array([q for some in tables.ending for q in some], np.int64),
        tables.chains(),
        tables.links(begins[queries:]),
        tables.legs(),
        _table(
            ("kind", "row", "before", "values", "slot", "out", "left"),
            (source for some in sources for source in some),
        ),
        tables.queries(windows, begins[: queries + 1], triggers, expiries),
        tables.lanes.stacked(floats=False),
        tables.lanes.stacked(floats=True),
        max(-1 if window is None else window for window in windows),
        tables.rows,
        tables.slots,
    )


class _Tables:
    """Builds the tables: numbers rows, values and slots, those of floats separately."""

    def __init__(self, forest: Forest, lanes: CarriedLanes) -> None:
        self.forest, self.lanes = forest, lanes
        self.ending = [
            [q for q, chain in enumerate(forest.of) if forest.chains[chain].end == node]
            for node in range(len(forest.nodes))
        ]
        self._trees = list(dict.fromkeys(node.tree for node in forest.nodes))
        row, value = _Numbers(len(forest.nodes)), _Numbers()
        self._row = {(node, lane): row.take(lane.kind) for node, lane in lanes.legs}
        self._values = {lane: value.take(lane.kind) for lane in lanes.values}
        self.rows = row.whole, row.floats
        self._slot: list[dict[PieceLane, int]] = []
        self.slots = (1, 0)
        for some in lanes.slots:
            slot = _Numbers(1)  # the first is the number of matches
            self._slot.append({piece: slot.take(piece.lane.kind) for piece in some})
            self.slots = max(self.slots[0], slot.whole), max(self.slots[1], slot.floats)

    def nodes(self) -> Table:
        """Return the table of nodes."""
        legs = [[c for c in self.lanes.legs if c[0] == v] for v in range(len(self.ending))]
        columns = (
            [*parents_of(self.forest), -1],
            [*(self._tree(node) for node in range(len(self.ending))), -1],
            _begins(self.ending),
            _begins(legs),
        )
        return _table(("parent", "tree", "ending", "legs"), zip(*columns, strict=True))

    def chains(self) -> Table:
        """Return the table of chains."""
        rows = []
        for number, chain in enumerate(self.forest.chains):
            link = self.forest.link_of(number)
            first = self._trees.index(chain.tree)
            rows.append((chain.end, -1 if link is None else link, first, self._tree(chain.end)))
        return _table(("end", "link", "tree", "last"), rows)

    def links(self, begins: Sequence[int]) -> Table:
        """Return the table of links, given where their slots begin among the sources."""
        links = [(before, self._trees.index(tree)) for before, tree in self.forest.links]
        rows = zip([*links, (-1, -1)], begins, strict=True)
        return _table(("chain", "tree", "sources"), ((*link, begin) for link, begin in rows))

    def legs(self) -> Table:
        """Return the table of legs."""
        return _table(
            ("kind", "tree", "row", "before", "values"),
            (
                (lane.kind, self._tree(node), self._row[node, lane], *self._known(node, lane))
                for node, lane in self.lanes.legs
            ),
        )

    def queries(
        self,
        windows: Sequence[int | None],
        begins: Sequence[int],
        triggers: Sequence[int],
        expiries: Sequence[int],
    ) -> Table:
        """Return the table of sequences, given where their sources begin."""
        columns = (
            [*self.forest.of, -1],
            [*(-1 if window is None else window for window in windows), -1],
            begins,
            accumulate(triggers, initial=0),
            accumulate(expiries, initial=0),
        )
        names = ("chain", "window", "sources", "triggers", "expiries")
        progress = ("oldest", "waiting", "done", "expired")
        rows = zip(*columns, strict=True)
        return _table((*names, *progress), ((*row, 0, 0, 0, 0) for row in rows))

    def sources(
        self, triggers: Sequence[int], expiries: Sequence[int]
    ) -> list[Sequence[tuple[int, ...]]]:
        """Return the sources of each sequence, then those of the slots of each link."""
        out, left = _Numbers(), _Numbers()
        rows_of_sources: list[Sequence[tuple[int, ...]]] = []
        for q, needed in enumerate(self.lanes.needed):
            rows = []
            for piece in needed:
                kind = piece.lane.kind
                written = out.take(kind, triggers[q]), left.take(kind, expiries[q])
                rows.append((*self._source(piece, self.forest.of[q]), *written))
            rows_of_sources.append(rows)
        for (before, _), slots in zip(self.forest.links, self._slot, strict=True):
            rows_of_sources.append(
                [(*self._source(piece, before), slots[piece], 0) for piece in slots]
            )
        return rows_of_sources

    def _source(self, piece: PieceLane, chain: int) -> tuple[int, int, int, int, int]:
        """Return the source of a lane of a chain: kind, row, before, values and slot."""
        lane = piece.lane
        if piece.chain == chain:
            end = self.forest.chains[chain].end
            return (lane.kind, self._row[end, lane], *self._known(end, lane), -1)
        link = self.forest.link_of(chain)
        assert link is not None
        return (lane.kind, -1, -1, self._values[lane], self._slot[link][piece])

    def _known(self, node: int, lane: ForestLane) -> tuple[int, int]:
        """Return the row of a lane at the node before, or -1 and its values at its first node."""
        parent = self.forest.nodes[node].parent
        if node == lane.node or parent is None:
            return -1, self._values[lane]
        return self._row[parent, lane], self._values[lane]

    def _tree(self, node: int) -> int:
        return self._trees.index(self.forest.nodes[node].tree)


class _Numbers:
    """Counters for numbering, separate for float lanes."""

    def __init__(self, whole: int = 0) -> None:
        self.whole, self.floats = whole, 0

    def take(self, kind: int, size: int = 1) -> int:
        """Reserve `size` numbers of a kind; return the first."""
        if kind == FLOAT:
            self.floats += size
            return self.floats - size
        self.whole += size
        return self.whole - size


def parents_of(forest: Forest) -> list[int]:
    """Return the node before each node, -1 for none."""
    return [-1 if node.parent is None else node.parent for node in forest.nodes]


def _table(names: Sequence[str], rows: Iterable[Sequence[int]]) -> Table:
    """Return a record array of 64-bit integers."""
    dtype = np.dtype([(name, np.int64) for name in names])
    return np.array([tuple(map(int, row)) for row in rows], dtype=dtype).view(np.recarray)


def _begins(parts: Iterable[Sequence[Any]]) -> list[int]:
    """Return the beginnings of concatenated parts, and the end."""
    return list(accumulate(map(len, parts), initial=0))
