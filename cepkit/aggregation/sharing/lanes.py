"""The lanes of the nodes of a forest, each once for all sequences that use it.

A *leg* is a lane at one of the nodes that carry it: from the node whose events have its values to
the end of the piece. If a piece follows others, a *slot* in the snapshots of its STARTs holds a
lane of the earlier pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels.shared.records import FLOAT, LEAST, SUM
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
        attribute: Of which attribute.
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
