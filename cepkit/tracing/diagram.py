"""A mechanism as a picture: nodes with places in a unit grid, and edges between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from cepkit.tracing.codec import INLINE, keyed

DiagramKind: TypeAlias = Literal["chain", "tree-nfa", "evaluation-tree"]
NodeKind: TypeAlias = Literal["start", "state", "final", "leaf", "join"]
EdgeKind: TypeAlias = Literal["take", "store", "ignore", "join"]


@dataclass(frozen=True, slots=True)
class Node:
    """A state of an automaton, or a node of an evaluation tree.

    Attributes:
        id: Its number.
        branch: The branch of the pattern that it belongs to, from 0.
        label: Its name.
        kind: What it is.
        variables: What its instances bind; for a tree NFA in the order in which it was taken.
    """

    id: int
    branch: int
    label: str
    kind: NodeKind
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """A way from node to node.

    Attributes:
        id: Its number.
        begin: The node that it leaves.
        end: The node that it leads to.
        kind: What is done with an event that takes it.
        label: The event, or the events.
        conditions: What is checked, as in the pattern's text.
        scope: Where in time the event lies, as "after a"; empty for anywhere.
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
