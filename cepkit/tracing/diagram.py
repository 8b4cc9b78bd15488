"""The diagram of a mechanism: nodes with places in a unit grid, and edges between them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from cepkit.lazy import nx
from cepkit.pattern.limits import MAX_EVENTS
from cepkit.stream.codec import INLINE, SPARSE, keyed
from cepkit.stream.shapes import ShapeError

DiagramKind: TypeAlias = Literal["chain", "forest", "tree-nfa", "evaluation-tree", "multitree"]
NodeKind: TypeAlias = Literal["start", "state", "final", "leaf", "join"]
EdgeKind: TypeAlias = Literal["take", "store", "ignore", "join"]


@dataclass(frozen=True, slots=True)
class Node:
    """A state of an automaton, or a node of an evaluation tree.

    Attributes:
        id: Its number.
        branch: The branch of the pattern that it belongs to, from 0.
        label: Its name.
        variables: The variables that its instances bind; for a tree NFA in the order of binding.
        patterns: With several patterns, those that use it.
        ends: With several patterns, those whose matches are there.
        window: With several patterns, the largest window of those that use it.
    """

    id: int
    branch: int
    label: str
    kind: NodeKind
    variables: tuple[str, ...]
    patterns: tuple[str, ...] = field(default=(), metadata=SPARSE)
    ends: tuple[str, ...] = field(default=(), metadata=SPARSE)
    window: str = field(default="", metadata=SPARSE)


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between two nodes.

    Attributes:
        id: Its number.
        begin: The node that it leaves.
        end: The node that it leads to.
        kind: The action on an event that takes it.
        label: The event, or the events.
        conditions: The conditions it checks, as in the pattern's text.
        scope: The place of the event in time, as "after a"; empty for anywhere.
    """

    id: int
    begin: int = field(metadata=keyed("from"))
    end: int = field(metadata=keyed("to"))
    kind: EdgeKind
    label: str
    conditions: tuple[str, ...] = ()
    scope: str = ""


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A node and the centre of its place in a unit grid: `x` to the right, `y` downwards."""

    node: Node = field(metadata=INLINE)
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Diagram:
    """The picture of a mechanism.

    Attributes:
        kind: How it is drawn.
        nodes: Its nodes; that of number n is the n-th.
        edges: Its edges; that of number n is the n-th.
    """

    kind: DiagramKind
    nodes: tuple[PlacedNode, ...]
    edges: tuple[Edge, ...]

    def to_networkx(self) -> nx.MultiDiGraph[int]:
        """Return the automaton or tree as a graph of networkx; its nodes are their numbers.

        Attributes of a node: `kind`, `label`, `variables`, `branch`, `patterns`, `ends`, `window`
        and `pos`, its place; of an edge: `kind`, `label`, `conditions`, `scope`.
        """
        graph: nx.MultiDiGraph[int] = nx.MultiDiGraph(kind=self.kind)
        for placed in self.nodes:
            node = placed.node
            graph.add_node(
                node.id,
                kind=node.kind,
                label=node.label,
                variables=node.variables,
                branch=node.branch,
                patterns=node.patterns,
                ends=node.ends,
                window=node.window,
                pos=(placed.x, -placed.y),
            )
        for edge in self.edges:
            graph.add_edge(
                edge.begin,
                edge.end,
                edge.id,
                kind=edge.kind,
                label=edge.label,
                conditions=edge.conditions,
                scope=edge.scope,
            )
        return graph


def check_trees(diagram: Diagram) -> None:
    """Check that nodes and edges form binary trees.

    In a multitree a node may belong to several trees.

    Raises:
        ShapeError: They do not.
    """
    several = diagram.kind == "multitree"
    parents: dict[int, int] = {}
    parts: Counter[int] = Counter()
    for edge in diagram.edges:
        if edge.kind == "join":
            if several and edge.begin >= edge.end:
                place = f"diagram.edges[{edge.id}]"
                raise ShapeError("a way down", "from a node to a later one", place)
            if edge.begin in parents and not several:
                place = f"diagram.edges[{edge.id}]"
                raise ShapeError("a second way up", "one from each node", place)
            parents[edge.begin] = edge.end
            parts[edge.end] += 1
    for number, placed in enumerate(diagram.nodes):
        fits = parts[number] == 2 or (not parts[number] and placed.node.variables)
        above: int | None = number
        for _ in range(MAX_EVENTS + 1):
            above = None if above is None else parents.get(above)
        if not fits or above is not None:
            raise ShapeError("no part of a tree", "a leaf, or a join", f"diagram.nodes[{number}]")
