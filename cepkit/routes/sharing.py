"""Sharing among several aggregates: which queries count together, and by which counters.

Sequences with something in common form clusters: the same partitions, groups and keys, all with a
window or all without. A planner chooses what each cluster shares; other queries are aggregated
separately. Sharing does not change the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from cepkit.aggregation.semirings.functions import Function, OfValues
from cepkit.aggregation.sequence.definition import EventSequence
from cepkit.aggregation.sequence.operations import can_match
from cepkit.aggregation.sharing import together as shared
from cepkit.aggregation.sharing.plan import (
    Chain,
    Cuts,
    Forest,
    Node,
    Position,
    forest_of,
    positions_of,
    sorted_keys,
)
from cepkit.aggregation.sharing.planner import Rates, Share, choose, cost_of
from cepkit.errors import PlanError, telling
from cepkit.lazy import nx
from cepkit.pattern.several import called
from cepkit.routes.ways import Way
from cepkit.tables import count_text, number

if TYPE_CHECKING:
    from cepkit.sharing.printer import PrintedSharing

SHARES: tuple[Share, ...] = ("auto", "none", "prefix", "chop-connect")

RatesOf: TypeAlias = Callable[[Sequence[EventSequence]], Rates]
"""Returns the rates of the events of some sequences."""

Pieces: TypeAlias = Sequence[Sequence[int] | None]
"""The lengths of each query's pieces; None for a query that shares nothing."""

Shared: TypeAlias = "Share | Pieces | SharingPlan"
"""The way of sharing: a name or a plan."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Queries that share counters.

    Attributes:
        queries: Their numbers, from 0.
        cuts: The lengths of their pieces.
        forest: The shared counters.
        cost: Expected nanoseconds of work for each second of the stream; NaN if the rates are
            unknown.
        alone: The same without sharing.
    """

    queries: tuple[int, ...]
    positions: tuple[tuple[Position, ...], ...]
    cuts: tuple[Cuts, ...]
    forest: Forest
    cost: float
    alone: float

    @property
    def costs(self) -> tuple[str, str]:
        """The two costs as texts; empty if unknown."""
        texts = ["" if math.isnan(cost) else number(cost) for cost in (self.cost, self.alone)]
        return texts[0], texts[1]

    @property
    def shared(self) -> list[tuple[int, str]]:
        """The number of queries that share each stretch of counters, and its prefix as text."""
        nodes, chains = self.forest.nodes, self.forest.chains
        users: dict[int, set[int]] = {}
        for query, number_ in enumerate(self.forest.of):
            chain: Chain | None = chains[number_]
            while chain is not None:
                at: int | None = chain.end
                while at is not None:
                    users.setdefault(at, set()).add(query)
                    at = nodes[at].parent
                chain = None if chain.before is None else chains[chain.before]
        parents = ((at, nodes[at].parent) for at in users)
        longer = {up for at, up in parents if up is not None and users[at] == users[up]}
        return [
            (len(users[at]), node_text(self.forest, at))
            for at in users
            if len(users[at]) > 1 and at not in longer
        ]

    @property
    def reason(self) -> str:
        """The reason for the method of its queries."""
        others = len(self.queries) - 1
        if not others:
            return "cut into pieces as asked"
        return f"with {others} other quer{'y' if others == 1 else 'ies'}"


@dataclass(frozen=True, slots=True)
class SharingPlan:
    """How the aggregates of several queries share counters.

    Attributes:
        clusters: The queries that share something.
        reasons: For each other query, by number, why it shares nothing.
    """

    names: tuple[str, ...]
    clusters: tuple[Cluster, ...]
    reasons: Mapping[int, str]

    @property
    def pieces(self) -> tuple[Cuts | None, ...]:
        """The lengths of each query's pieces; None for a query that shares nothing."""
        cuts = {
            q: c for each in self.clusters for q, c in zip(each.queries, each.cuts, strict=True)
        }
        return tuple(cuts.get(q) for q in range(len(self.names)))

    def __str__(self) -> str:
        return self._printed().text()

    def _repr_html_(self) -> str:
        return self._printed().html()

    def _printed(self) -> PrintedSharing:
        # Imported here: it is slow, and a single query does not need it.
        from cepkit.sharing.printer import PrintedSharing, costs_text

        counters = sum(len(cluster.forest.nodes) for cluster in self.clusters)
        positions = sum(len(each) for cluster in self.clusters for each in cluster.positions)
        shared = "nothing shared"
        if self.clusters:
            shared = f"{count_text(counters, 'counter')} in place of {positions:,}"
        cost, alone = (
            math.fsum(getattr(cluster, name) for cluster in self.clusters)
            for name in ("cost", "alone")
        )
        known = self.clusters and not math.isnan(cost + alone)
        return PrintedSharing(
            f"shared plan of {count_text(len(self.names), 'query', 'queries')}: {shared}",
            costs_text("ns for each second of the stream", cost, alone) if known else "",
            ("shared by", "counters"),
            [(f"{users}", text) for cluster in self.clusters for users, text in cluster.shared],
            ("query", "counted", "plan"),
            self._rows(),
            figures=0,
        )

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[int, tuple[str, ...]]] = []
        for i, cluster in enumerate(self.clusters, 1):
            for q, positions, cuts in zip(
                cluster.queries, cluster.positions, cluster.cuts, strict=True
            ):
                text = pieces_text(positions, cuts)
                rows.append((q, (self.names[q], f"cluster {i}", text)))
        rows += [(q, (self.names[q], "by itself", why)) for q, why in self.reasons.items()]
        return [row for _, row in sorted(rows)]


def node_text(forest: Forest, number_: int) -> str:
    """Return the part of a piece up to a node, as `(A, B)`."""
    names = []
    node: Node | None = forest.nodes[number_]
    while node is not None:
        names.append(str(node.position))
        node = None if node.parent is None else forest.nodes[node.parent]
    return f"({', '.join(reversed(names))})"


def pieces_text(positions: Sequence[Position], cuts: Cuts) -> str:
    """Return the pieces of a sequence, as `(A, B) + (C, D)`."""
    texts = []
    begin = 0
    for length in cuts:
        texts.append(f"({', '.join(map(str, positions[begin : begin + length]))})")
        begin += length
    return " + ".join(texts)


def shareable(
    ways: Sequence[Way], functions: Sequence[Mapping[str, Function]], method: str
) -> tuple[dict[int, EventSequence], dict[int, str]]:
    """Return the sequences that may share, by number, and why the other queries cannot.

    Args:
        method: One of `METHODS`.
    """
    sequences: dict[int, EventSequence] = {}
    reasons: dict[int, str] = {}
    for q, (way, each) in enumerate(zip(ways, functions, strict=True)):
        if method not in ("auto", "a-seq"):
            reasons[q] = f"method '{method}' shares nothing"
        elif way.sequence is None:
            reasons[q] = way.reason
        elif way.sequence.repeated:
            reasons[q] = "counters of KL are not shared"
        elif not can_match(way.sequence):
            reasons[q] = "it cannot match"
        elif not shared.can_share(each.values()):
            reasons[q] = "its functions are not the language's own"
        else:
            sequences[q] = way.sequence
    return sequences, reasons


def _cluster_key(sequence: EventSequence) -> tuple[object, ...]:
    """Return the key that sequences must have in common to be counted together."""
    keys = tuple(tuple(sorted({name for _, name in key})) for key in sorted_keys(sequence))
    return keys, sequence.partition_by, sequence.group_by, sequence.window is None


def _related(positions: Mapping[int, Sequence[Position]]) -> list[list[int]]:
    """Return for each query those that it could share with.

    They share their first position, or two consecutive positions anywhere.
    """
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_nodes_from(positions)
    for q, each in positions.items():
        graph.add_edges_from((q, common) for common in (each[0], *pairwise(each)))
    parts = [sorted(part & positions.keys()) for part in nx.connected_components(graph)]
    return [part for part in parts if part]


def plan_sharing(
    names: Sequence[str],
    sequences: Mapping[int, EventSequence],
    functions: Sequence[Mapping[str, Function]],
    reasons: dict[int, str],
    rates_of: RatesOf,
    share: Shared,
) -> SharingPlan:
    """Return the sharing plan of the queries.

    Args:
        functions: Of all queries the columns of aggregates, by name.
        reasons: Why the others cannot share; reasons of further queries are added.
        share: One of `SHARES`, or a plan.

    Raises:
        PlanError: The plan is not one of these queries.
    """
    pieces = share.pieces if isinstance(share, SharingPlan) else share
    explicit = None if isinstance(pieces, str) else _checked(names, pieces, reasons, sequences)
    by_key: dict[tuple[object, ...], list[int]] = {}
    for q, sequence in sequences.items():
        if explicit is not None and explicit[q] is None:
            reasons[q] = "as asked"
        else:
            by_key.setdefault(_cluster_key(sequence), []).append(q)
    clusters = []
    for members in by_key.values():
        if len(members) == 1 and explicit is None:
            reasons[members[0]] = "no other query has its keys, groups and kind of window"
            continue
        of = {q: positions_of(sequences[q]) for q in members}
        for related in [members] if explicit is not None else _related(of):
            if len(related) == 1 and explicit is None:
                reasons[related[0]] = "it shares nothing with the others"
                continue
            if share == "none":
                reasons.update(dict.fromkeys(related, "as asked"))
                continue
            positions = tuple(of[q] for q in related)
            rates = rates_of([sequences[q] for q in related])
            lanes = [sum(_lanes(f) for f in functions[q].values()) for q in related]
            if explicit is None:
                assert isinstance(share, str)
                choice = choose(positions, rates, share, lanes)
                cuts, cost = choice.cuts, choice.cost
            else:
                cuts = tuple(c for q in related if (c := explicit[q]) is not None)
                if rates.window is None and any(len(c) > 1 for c in cuts):
                    raise PlanError(
                        "a sequence without a window is cut into pieces",
                        expected="one piece: without a window snapshots would grow without end",
                    )
                choice = choose(positions, rates, "none", lanes)
                cost = cost_of(forest_of(positions, cuts), rates, lanes)
            if cuts is None:
                reasons.update(dict.fromkeys(related, "that is cheaper than sharing"))
                continue
            forest = forest_of(positions, cuts)
            clusters.append(Cluster(tuple(related), positions, cuts, forest, cost, choice.alone))
    return SharingPlan(tuple(names), tuple(clusters), reasons)


def _lanes(function: Function) -> int:
    """Return the approximate number of lanes of a function."""
    return max(1, len(function.definition.state)) if isinstance(function, OfValues) else 0


def _checked(
    names: Sequence[str],
    plan: Pieces,
    reasons: Mapping[int, str],
    sequences: Mapping[int, EventSequence],
) -> list[Cuts | None]:
    """Return a user's plan as tuples.

    Raises:
        PlanError: It does not fit the queries.
    """
    if len(plan) != len(names):
        raise PlanError(
            f"a plan of {len(plan)} patterns for {len(names)}",
            expected="the lengths of pieces, or None, for each",
        )
    checked: list[Cuts | None] = []
    for q, lengths in enumerate(plan):
        if lengths is None:
            checked.append(None)
            continue
        if q in reasons:
            with telling(called(names[q])):
                raise PlanError(f"it cannot share: {reasons[q]}", expected="None in its place")
        cuts = tuple(lengths)
        size = len(sequences[q].positive)
        if sum(cuts) != size or min(cuts) < 1:
            with telling(called(names[q])):
                raise PlanError(
                    f"pieces of the lengths {list(cuts)}",
                    expected=f"one or more lengths with the sum {size}",
                )
        checked.append(cuts)
    return checked
