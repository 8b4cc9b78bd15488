"""Chooses the shared counters of several sequences, by rates, lengths and windows.

The cost is in nanoseconds of work for each second of the stream: an event updates the counters of
each live START at its node, a START of a piece takes a snapshot of every live START of the whole,
and a trigger visits each START of its last piece. Candidates for cuts are the common substrings of
two sequences; starting with the prefix tree, the planner cuts out the one that saves most, as long
as one saves anything. O(candidates^2) forests. With many live STARTs separate sequences may be
best, because a window product does not depend on them. A trigger visits snapshots one by one, which
costs so much more than a counter that connected pieces pay off only for many queries and few
STARTs.

Source: ASEQ, section 4 (prefix sharing, chop-connect, their costs); the planner is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from cepkit.aggregation.sharing.plan import Cuts, Forest, Position, Spec, forest_of, path_of

Share: TypeAlias = Literal["auto", "none", "prefix", "chop-connect"]

GATHER = 9.0
"""Nanoseconds to turn an event into operations. This and the following are measured by
benchmarks/aggregation.py on one machine: only their ratios matter."""
ALONE, ALONE_COUNTER = 40.0, 0.19
"""For an event of a separate sequence by prefix counters, and for each live START."""
ALONE_LANE, ALONE_LANE_COUNTER = 30.0, 0.2
"""The same for each lane, that is for each aggregate except the number of matches."""
PRODUCT, PRODUCT_ABSENCE, PRODUCT_LANE = 36.0, 10.0, 33.0
"""By a window product, with absences, and for each lane."""
SHARED, SHARED_COUNTER = 46.0, 0.34
"""For an event at a shared node, and for each live START."""
SHARED_LANE, SHARED_LANE_COUNTER = 28.0, 0.28
"""The same for each lane."""
CONNECTED = 75.0
"""Extra for an event if any pieces are connected."""
SNAPSHOT, ENTRY, ROW = 20.0, 0.6, 2.6
"""For a snapshot, each of its entries, and each START that a trigger visits through them."""


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates that the cost depends on.

    Attributes:
        events: Events per second of each kind.
        window: The longest window in seconds, None for none.
        keys: The equivalent number of equally frequent keys: an event meets the STARTs of its own
            key.
    """

    events: Mapping[Spec, float]
    window: float | None
    keys: float = 1.0

    def live(self, spec: Spec) -> float:
        """Return how many STARTs of a kind an event meets."""
        return 1.0 if self.window is None else 1.0 + self.events[spec] * self.window / self.keys


def cost_alone(positions: Sequence[Position], rates: Rates, lanes: int = 0) -> float:
    """Return the cost of a separate sequence with some lanes, by the faster of the two methods."""
    live = rates.live(positions[0].event)
    counters = ALONE + ALONE_COUNTER * live + lanes * (ALONE_LANE + ALONE_LANE_COUNTER * live)
    product = PRODUCT + lanes * PRODUCT_LANE
    if any(position.absent for position in positions):
        product += PRODUCT_ABSENCE
    each = min(counters, product) + GATHER
    return sum(_rate(position, rates) for position in positions) * each


def cost_of(forest: Forest, rates: Rates, lanes: Sequence[int] | None = None) -> float:
    """Return the cost of a forest.

    Args:
        lanes: The number of lanes of each sequence; None for none. If several sequences use a node,
            the largest number counts, because equal lanes are carried once.
    """
    lanes = lanes or [0] * len(forest.of)
    most = [0] * len(forest.nodes)
    for chain, number in zip(forest.of, lanes, strict=True):
        for at, _ in path_of(forest, chain):
            most[at] = max(most[at], number)
    kinds = {spec for node in forest.nodes for spec in (node.position.event, *node.position.absent)}
    total = sum(rates.events[spec] for spec in kinds) * GATHER
    each = SHARED + CONNECTED * bool(forest.links)
    for node, number in zip(forest.nodes, most, strict=True):
        live = rates.live(forest.nodes[node.tree].position.event)
        carried = number * (SHARED_LANE + SHARED_LANE_COUNTER * live)
        total += _rate(node.position, rates) * (each + SHARED_COUNTER * live + carried)
    for before, tree in forest.links:
        rate = rates.events[forest.nodes[tree].position.event]
        entries = rates.live(forest.nodes[forest.chains[before].tree].position.event)
        if forest.chains[before].before is not None:
            last = forest.nodes[forest.chains[before].end].tree
            entries *= rates.live(forest.nodes[last].position.event)
        total += rate * (SNAPSHOT + ENTRY * entries)
    for chain, number in zip(forest.of, lanes, strict=True):
        if forest.chains[chain].before is not None:
            end = forest.nodes[forest.chains[chain].end]
            rows = rates.live(forest.nodes[end.tree].position.event)
            total += rates.events[end.position.event] * ROW * rows * (1 + number)
    return total


def _rate(position: Position, rates: Rates) -> float:
    return rates.events[position.event] + sum(rates.events[spec] for spec in position.absent)


@dataclass(frozen=True, slots=True)
class Choice:
    """The cuts of some sequences, and their cost.

    Attributes:
        cuts: The lengths of the pieces of each; None: separate sequences.
        cost: In nanoseconds of work for a second of the stream.
        alone: The cost of each separate sequence.
    """

    cuts: tuple[Cuts, ...] | None
    cost: float
    alone: float


def choose(
    positions: Sequence[Sequence[Position]],
    rates: Rates,
    share: Share,
    lanes: Sequence[int] | None = None,
) -> Choice:
    """Choose the cuts of sequences.

    Args:
        positions: The positions of each sequence, all of one cluster (`routes.sharing`).
        share: The allowed way of sharing. "chop-connect" makes a cut if any sharing is possible.
        lanes: How many lanes each sequence has; None: none.
    """
    lanes = lanes or [0] * len(positions)
    alone = sum(cost_alone(p, rates, n) for p, n in zip(positions, lanes, strict=True))
    if share == "none":
        return Choice(None, alone, alone)
    uncut = tuple((len(each),) for each in positions)

    def cost(cuts: Sequence[Cuts]) -> float:
        return cost_of(forest_of(positions, cuts), rates, lanes)

    prefix = Choice(uncut, cost(uncut), alone)
    if share == "prefix" or rates.window is None:
        # Without a window nothing expires, and snapshots would grow forever.
        if share == "auto" and prefix.cost >= alone:
            return Choice(None, alone, alone)
        return prefix
    chopped = _chopped(positions, uncut, cost, forced=share == "chop-connect")
    best = Choice(chopped, cost(chopped), alone)
    if share == "auto" and best.cost >= alone:
        return Choice(None, alone, alone)
    return best


def _chopped(
    positions: Sequence[Sequence[Position]],
    cuts: tuple[Cuts, ...],
    cost: Callable[[Sequence[Cuts]], float],
    *,
    forced: bool,
) -> tuple[Cuts, ...]:
    """Return the cuts by greedy search."""
    candidates = common_substrings(positions)
    least = cost(cuts)
    if forced:
        least = math.inf
    while True:
        best = cuts
        for substring in candidates:
            variant = tuple(
                _cut(each, lengths, substring)
                for each, lengths in zip(positions, cuts, strict=True)
            )
            if variant != cuts and (variant_cost := cost(variant)) < least:
                best, least = variant, variant_cost
        if best == cuts:
            return cuts
        cuts = best


def common_substrings(positions: Sequence[Sequence[Position]]) -> tuple[tuple[Position, ...], ...]:
    """Return the substrings of two or more positions that occur at least twice."""
    counts: dict[tuple[Position, ...], int] = {}
    for each in positions:
        for begin in range(len(each)):
            for end in range(begin + 2, len(each) + 1):
                substring = tuple(each[begin:end])
                counts[substring] = counts.get(substring, 0) + 1
    return tuple(substring for substring, times in counts.items() if times > 1)


def _cut(positions: Sequence[Position], cuts: Cuts, substring: tuple[Position, ...]) -> Cuts:
    """Add a cut before each occurrence of a substring inside a piece.

    Not after it: pieces share their beginnings.
    """
    ends = [0]
    for length in cuts:
        ends.append(ends[-1] + length)
    bounds = set(ends)
    begin = 0
    while begin + len(substring) <= len(positions):
        end = begin + len(substring)
        if tuple(positions[begin:end]) == substring and not any(begin < e < end for e in bounds):
            bounds.add(begin)
            begin = end
        else:
            begin += 1
    return tuple(b - a for a, b in pairwise(sorted(bounds)))
