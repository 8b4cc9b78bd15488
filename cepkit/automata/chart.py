"""The diagram of a mechanism: nodes and edges, numbered and placed in a unit grid.

Branches stand one below the other. Automata run from left to right, a column for each number of
bound variables; evaluation trees have their leaves below. Patterns that share nodes make one branch
of the picture. O(nodes + edges).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never

from cepkit.tracing.diagram import Diagram, DiagramKind, Edge, EdgeKind, Node, NodeKind, PlacedNode

Places: TypeAlias = dict[int, tuple[float, float]]
"""The x and y of each node."""


@dataclass(slots=True)
class Chart:
    """Nodes and edges, each made once.

    Attributes:
        parts: For each branch its part of the picture; a branch without one is a part by itself.
        names: The pattern of each branch, of several patterns.
    """

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    parts: Mapping[int, int] = field(default_factory=dict)
    names: Mapping[int, str] = field(default_factory=dict)
    _known_nodes: dict[Hashable, int] = field(default_factory=dict)
    _known_edges: dict[Hashable, int] = field(default_factory=dict)

    def node(
        self, branch: int, key: Hashable, label: str, kind: NodeKind, variables: tuple[str, ...]
    ) -> int:
        """Return the number of the node of a branch with this key; make it if it is new."""
        number = self._known_nodes.get((branch, key))
        if number is None:
            number = self._known_nodes[branch, key] = len(self.nodes)
            part = self.parts.get(branch, branch)
            patterns = (self.names[branch],) if branch in self.names else ()
            self.nodes.append(Node(number, part, label, kind, variables, patterns))
        return number

    def label_users(
        self, number: int, patterns: tuple[str, ...], ends: tuple[str, ...], window: str
    ) -> None:
        """Label a node with the patterns that use it, the patterns that end there, and its window.

        A node where a pattern ends has the name of the pattern.
        """
        node = self.nodes[number]
        label = ", ".join(ends) or node.label
        kind: NodeKind = "final" if ends else node.kind
        self.nodes[number] = replace(
            node, label=label, kind=kind, patterns=patterns, ends=ends, window=window
        )

    def number_states(self) -> None:
        """Name the states of each part q0, q1 and so on, in the order of their creation."""
        counts: Counter[int] = Counter()
        for number, node in enumerate(self.nodes):
            if node.kind in ("start", "state"):
                self.nodes[number] = replace(node, label=f"q{counts[node.branch]}")
                counts[node.branch] += 1

    def known(self, branch: int, key: Hashable) -> int | None:
        """Return the number of a node, None before it is made."""
        return self._known_nodes.get((branch, key))

    def edge(
        self,
        begin: int,
        end: int,
        kind: EdgeKind,
        label: str,
        conditions: tuple[str, ...] = (),
        scope: str = "",
    ) -> int:
        """Return the number of the edge of this kind and label; make it if it is new."""
        key = (begin, end, kind, label)
        number = self._known_edges.get(key)
        if number is None:
            number = self._known_edges[key] = len(self.edges)
            self.edges.append(Edge(number, begin, end, kind, label, conditions, scope))
        return number


def diagram(kind: DiagramKind, chart: Chart) -> Diagram:
    """Return a chart with a place for each node."""
    branches: defaultdict[int, list[Node]] = defaultdict(list)
    for node in chart.nodes:
        branches[node.branch].append(node)
    placed: dict[int, PlacedNode] = {}
    top = 0.0
    for number in sorted(branches):
        nodes = branches[number]
        places = _places(kind, nodes, chart.edges)
        least = min(y for _, y in places.values())
        for node in nodes:
            x, y = places[node.id]
            placed[node.id] = PlacedNode(node, x, y - least + top)
        top += max(y for _, y in places.values()) - least + 1.5
    return Diagram(kind, tuple(placed[node.id] for node in chart.nodes), tuple(chart.edges))


def _places(kind: DiagramKind, nodes: Sequence[Node], edges: Sequence[Edge]) -> Places:
    match kind:
        case "chain":
            return _layers(nodes)
        case "forest":
            return _forest(nodes, edges)
        case "tree-nfa":
            return _orders(nodes, edges)
        case "evaluation-tree":
            return _tree(nodes, edges)
        case "multitree":
            return _multitree(nodes, edges)
        case _:
            assert_never(kind)


def _parts(nodes: Sequence[Node], edges: Iterable[Edge]) -> defaultdict[int, list[int]]:
    """Return the children of each node: the ends of its take edges, or the nodes that it joins."""
    own = {node.id for node in nodes}
    parts: defaultdict[int, list[int]] = defaultdict(list)
    for edge in edges:
        if edge.begin in own and edge.begin != edge.end:
            if edge.kind == "take":
                parts[edge.begin].append(edge.end)
            elif edge.kind == "join":
                parts[edge.end].append(edge.begin)
    return parts


def _layers(nodes: Sequence[Node]) -> Places:
    """Return places by layers, each in the middle of the height."""
    layers: defaultdict[int, list[Node]] = defaultdict(list)
    for node in nodes:
        layers[len(node.variables)].append(node)
    places = {}
    for depth, layer in layers.items():
        ordered = sorted(layer, key=lambda node: node.id)
        for i, node in enumerate(ordered):
            places[node.id] = (float(depth), i - (len(ordered) - 1) / 2)
    return places


def _forest(nodes: Sequence[Node], edges: Sequence[Edge]) -> Places:
    """Return places in a tree that branches to the right and down, first parts straight on."""
    parts = _parts(nodes, edges)
    (root,) = (node.id for node in nodes if node.kind == "start")
    places: Places = {}

    def place(node: int, depth: int, row: int) -> int:
        """Place a subtree from a row on, and return the first row below it."""
        places[node] = (float(depth), float(row))
        for part in parts[node]:
            row = place(part, depth + 1, row)
        return row if parts[node] else row + 1

    place(root, 0, 0)
    return places


def _multitree(nodes: Sequence[Node], edges: Sequence[Edge]) -> Places:
    """Return places in rows by height; nodes above their parts, each row pushed apart."""
    parts = _parts(nodes, edges)
    heights: dict[int, int] = {}
    leaves: dict[int, float] = {}

    def climb(node: int) -> None:
        """Set the heights of a subtree, and place its leaves in the order of the walk."""
        if node not in heights:
            for part in parts[node]:
                climb(part)
            if not parts[node]:
                leaves[node] = float(len(leaves))
            heights[node] = max((heights[part] + 1 for part in parts[node]), default=0)

    inner = {part for below in parts.values() for part in below}
    for node in sorted({node.id for node in nodes} - inner):
        climb(node)
    places: Places = {}
    for height in range(max(heights.values(), default=0) + 1):
        row = [node for node in heights if heights[node] == height]
        middle = {
            node: leaves[node]
            if node in leaves
            else sum(places[part][0] for part in parts[node]) / len(parts[node])
            for node in row
        }
        row.sort(key=middle.__getitem__)
        x = -1.0
        for node in row:
            x = max(x + 1, middle[node])
            places[node] = (x, float(-height))
    return _beside_lines(places, [(part, node) for node in parts for part in parts[node]])


_CLEAR = 0.6
"""The least distance of a node from a line that passes its row."""


def _beside_lines(places: Places, lines: Sequence[tuple[int, int]]) -> Places:
    """Return places with some nodes moved right, so that no line passes behind a node."""
    moved = dict(places)
    for _ in range(len(places) * len(lines)):
        for begin, end in lines:
            (x, y), (to_x, to_y) = moved[begin], moved[end]
            hidden = (
                (node, passed + _CLEAR)
                for node, (at, row) in moved.items()
                if to_y < row < y
                and abs(at - (passed := x + (to_x - x) * (y - row) / (y - to_y))) < _CLEAR - 1e-9
            )
            node, at = next(hidden, (None, 0.0))
            if node is not None:
                break
        else:
            return moved
        by, row = at - moved[node][0], moved[node][1]
        right = [n for n, (x, y) in moved.items() if y == row and x >= moved[node][0]]
        moved |= {n: (moved[n][0] + by, row) for n in right}
    return moved


def _orders(nodes: Sequence[Node], edges: Sequence[Edge]) -> Places:
    """Return places in a tree that branches to the right and ends in one final state."""
    ends = {node.id for node in nodes if node.kind == "final"}
    parts = _parts(nodes, [edge for edge in edges if edge.end not in ends])
    (root,) = (node.id for node in nodes if node.kind == "start")
    orders = {node: (0.0 - y, x) for node, (x, y) in _below(root, parts, from_top=True).items()}
    middle = orders[root][1]
    deepest = max((len(node.variables) for node in nodes), default=0)
    return {**orders, **{end: (float(deepest), middle) for end in ends}}


def _tree(nodes: Sequence[Node], edges: Sequence[Edge]) -> Places:
    """Return places by the tree: leaves side by side at the bottom, others between their parts."""
    parts = _parts(nodes, edges)
    inner = {part for below in parts.values() for part in below}
    (root,) = (node.id for node in nodes if node.id not in inner)
    return _below(root, parts, from_top=False)


def _below(root: int, parts: Mapping[int, Sequence[int]], *, from_top: bool) -> Places:
    """Return places of a tree: leaves at 0, 1, 2 ..., others in the middle of their parts.

    Args:
        from_top: Whether the height of a node counts from the root, or from its lowest leaf.
    """
    places: Places = {}
    leaves = 0

    def place(node: int, depth: int) -> int:
        """Place a subtree and return its height."""
        nonlocal leaves
        heights = [place(part, depth + 1) for part in parts.get(node, ())]
        height = max(heights, default=-1) + 1
        y = float(-depth if from_top else -height)
        if heights:
            x = sum(places[part][0] for part in parts[node]) / len(parts[node])
        else:
            x = float(leaves)
            leaves += 1
        places[node] = (x, y)
        return height

    place(root, 0)
    return places
