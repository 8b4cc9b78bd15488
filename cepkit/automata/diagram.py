"""A mechanism drawn: nodes and edges with places in a unit grid, branches one below the other.

Automata run from left to right, a column for each number of bound variables; evaluation trees
have their leaves below. O(nodes + edges).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from cepkit.automata.chart import Chart, Edge, Node
from cepkit.automata.contract import DiagramKind


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A node and the centre of its place in a unit grid: `x` to the right, `y` downwards."""

    node: Node
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


def diagram(kind: DiagramKind, chart: Chart) -> Diagram:
    """Return a chart with a place for each node."""
    branches: defaultdict[int, list[Node]] = defaultdict(list)
    for node in chart.nodes:
        branches[node.branch].append(node)
    placed: dict[int, PlacedNode] = {}
    top = 0.0
    for number in sorted(branches):
        nodes = branches[number]
        found = _tree(nodes, chart.edges) if kind == "evaluation-tree" else _layers(nodes)
        least = min(y for _, y in found.values())
        for node in nodes:
            x, y = found[node.id]
            placed[node.id] = PlacedNode(node, x, y - least + top)
        top += max(y for _, y in found.values()) - least + 1.5
    return Diagram(kind, tuple(placed[node.id] for node in chart.nodes), tuple(chart.edges))


def _layers(nodes: Sequence[Node]) -> dict[int, tuple[float, float]]:
    """Return places by layers: a node stands where the paths to it have come to."""
    layers: defaultdict[int, list[Node]] = defaultdict(list)
    for node in nodes:
        layers[len(node.variables)].append(node)
    places = {}
    for depth, layer in layers.items():
        ordered = sorted(layer, key=lambda node: node.id)
        for i, node in enumerate(ordered):
            places[node.id] = (float(depth), i - (len(ordered) - 1) / 2)
    return places


def _tree(nodes: Sequence[Node], edges: Sequence[Edge]) -> dict[int, tuple[float, float]]:
    """Return places by the tree: leaves side by side at the bottom, others between their parts."""
    own = {node.id for node in nodes}
    parts: defaultdict[int, list[int]] = defaultdict(list)
    for edge in edges:
        if edge.kind == "join" and edge.begin in own:
            parts[edge.end].append(edge.begin)
    below = {edge.begin for edge in edges if edge.kind == "join"}
    (root,) = (node.id for node in nodes if node.id not in below)
    places: dict[int, tuple[float, float]] = {}
    leaves = 0

    def place(node: int) -> int:
        """Place a subtree and return its height."""
        nonlocal leaves
        heights = [place(part) for part in parts[node]]
        if not heights:
            places[node] = (float(leaves), 0.0)
            leaves += 1
            return 0
        height = max(heights) + 1
        x = sum(places[part][0] for part in parts[node]) / len(parts[node])
        places[node] = (x, float(-height))
        return height

    place(root)
    return places
