"""The figure of a mechanism: its states or nodes, with the counts of a trace.

Chains and evaluation trees are drawn like plans; each node of a tree shows how much it stored. In a
tree NFA the visited states are highlighted. Mechanisms of several patterns are drawn like shared
plans: rows of cards, coloured if several patterns use them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

import plotly.graph_objects as go

from cepkit.figures.diagrams import plan_canvas
from cepkit.figures.diagrams.chain import Chain, State, Take
from cepkit.figures.diagrams.layered import MOST, ROOM, Vertex, folded
from cepkit.figures.diagrams.layered import layout as layered
from cepkit.figures.diagrams.tree import Join, JoinTree, Leaf, TreeNode
from cepkit.figures.kit.canvas import BOLD, LINE_HEIGHT, Anchor, Canvas, Circle, Item, Line, Text
from cepkit.figures.kit.plotly_canvas import laid_out
from cepkit.figures.kit.style import FULFILLED, REACHED, SIZE, SMALL
from cepkit.figures.kit.texts import fitted
from cepkit.tables import count_text
from cepkit.tracing import MechanismTrace
from cepkit.tracing.diagram import Diagram, Edge, Node
from cepkit.tracing.operations import Create, Discard

RADIUS = 20
_ACROSS, _DOWN = 160, 96
_MARGIN = 48
_FLAT = 0.05
_MOST_NAMED = 6
_KEY = (
    "On the left: how many variables are bound. On a card: how many patterns have the node (x2), "
    "what it binds, how many instances came, and the patterns whose matches it finds (= p). Blue "
    "lines begin at shared nodes."
)


@dataclass(frozen=True, slots=True)
class Traffic:
    """The instances that came to a node in a trace.

    Attributes:
        label: The node's name.
        created: How many instances came to it in the steps of the trace.
        peak: The most instances that were there at once between two operations.
    """

    label: str
    created: int
    peak: int


def traffic(trace: MechanismTrace) -> tuple[Traffic, ...]:
    """Return the traffic of each node, in the order of the diagram."""
    created: Counter[int] = Counter()
    alive: Counter[int] = Counter()
    peak: Counter[int] = Counter()
    home: dict[int, int] = {}
    for step in trace.operations:
        for operation in step:
            match operation:
                case Create(instance, _, node):
                    home[instance] = node
                    created[node] += 1
                    alive[node] += 1
                    peak[node] = max(peak[node], alive[node])
                case Discard(instance) if instance in home:
                    alive[home[instance]] -= 1
                case _:
                    pass
    return tuple(
        Traffic(p.node.label, created[p.node.id], peak[p.node.id]) for p in trace.diagram.nodes
    )


def draw_mechanism(trace: MechanismTrace) -> go.Figure:
    """Return the mechanism of a trace as a figure; it is returned, not shown."""
    return laid_out(lambda room: layout(trace, room), trace.name)


def layout(trace: MechanismTrace, room: float = ROOM) -> Canvas:
    """Return the picture of a mechanism: chains and trees like plans, others on a grid."""
    diagram = trace.diagram
    match diagram.kind:
        case "chain":
            return plan_canvas.layout(_chains(diagram), room)
        case "evaluation-tree":
            return plan_canvas.layout(_trees(diagram, traffic(trace)), room)
        case "tree-nfa":
            return _grid(diagram, traffic(trace))
        case "forest" | "multitree":
            return _shared(trace, room)
        case _:
            assert_never(diagram.kind)


def _shared(trace: MechanismTrace, room: float) -> Canvas:
    """Return the nodes of several patterns as cards with their users and their traffic."""
    nodes, counts = [placed.node for placed in trace.diagram.nodes], traffic(trace)
    sizes = [len(node.variables) for node in nodes]
    ranked = sorted(
        range(len(nodes)), key=lambda i: (-len(nodes[i].patterns), -counts[i].created, i)
    )
    groups = folded(ranked, sizes, MOST, room)
    group_of = {node: i for i, group in enumerate(groups) for node in group}
    ways = (edge for edge in trace.diagram.edges if edge.begin != edge.end)
    edges = dict.fromkeys((group_of[way.begin], group_of[way.end]) for way in ways)
    several = sum(len(node.patterns) > 1 for node in nodes)
    of = f"{trace.mechanism} of {count_text(len(trace.patterns), 'pattern')}"
    notes = (f"{of}: {several} of {count_text(len(nodes), 'node')} shared", _KEY)
    events = _events(trace.diagram)
    vertices = [
        _card([nodes[i] for i in group], [counts[i] for i in group], events) for group in groups
    ]
    return layered(vertices, [*edges], notes, [str(size) for size in sorted({*sizes})], room)


def _events(diagram: Diagram) -> dict[str, str]:
    """Return for each variable its event, as in the pattern's text."""
    nodes = [placed.node for placed in diagram.nodes]
    leaves = {node.variables[0]: node.label for node in nodes if len(node.variables) == 1}
    takes = (edge for edge in diagram.edges if edge.kind == "take")
    return {**leaves, **{nodes[edge.end].variables[-1]: edge.label for edge in takes}}


def _card(nodes: Sequence[Node], counts: Sequence[Traffic], events: Mapping[str, str]) -> Vertex:
    """Return the card of a node, or of several that are drawn as one."""
    one = nodes[0]
    users = dict.fromkeys(name for node in nodes for name in node.patterns)
    ends = dict.fromkeys(name for node in nodes for name in node.ends)
    came = f"{sum(count.created for count in counts):,} came"
    lines = (
        *(" ".join((node.label, *node.variables)) for node in nodes[:10]),
        f"{came}, at most {max(count.peak for count in counts):,} at once",
        f"used by {', '.join(users)}",
        f"finds the matches of {', '.join(ends)}" if ends else "",
        f"keeps for {one.window}" if one.window else "",
    )
    hover = "\n".join(filter(None, lines))
    level, sharers = len(one.variables), max(len(node.patterns) for node in nodes)
    if len(nodes) > 1:
        foot = (came, f"= {count_text(len(ends), 'pattern')}") if ends else (came,)
        head = f"≤ x{sharers}" if sharers > 1 else "x1"
        return Vertex(level, head, f"{len(nodes)} more", foot, hover, 1, group=True)
    foot = (came, f"= {', '.join(ends)}") if ends else (came,)
    text = ", ".join(events.get(variable, variable) for variable in one.variables) or "start"
    return Vertex(level, f"x{sharers}", text, foot, hover, sharers)


def _trees(diagram: Diagram, counts: Sequence[Traffic]) -> tuple[JoinTree, ...]:
    """Return the trees of a diagram, one for each branch, with the counts of each node."""
    parts: defaultdict[int, list[Edge]] = defaultdict(list)
    below = set()
    growing = {edge.begin for edge in diagram.edges if edge.begin == edge.end}
    for edge in diagram.edges:
        if edge.kind == "join":
            parts[edge.end].append(edge)
            below.add(edge.begin)

    def tree(number: int) -> TreeNode:
        node, count = diagram.nodes[number].node, counts[number]
        counted = (f"{count.created:,} stored", f"at most {count.peak:,} at once")
        edges = parts[number]
        if not edges:
            return Leaf(node.variables[0], node.label, node.id in growing, counted=counted)
        left, right = (tree(edge.begin) for edge in edges)
        order = tuple(filter(None, dict.fromkeys(edge.scope for edge in edges)))
        checks = dict.fromkeys(c for edge in edges for c in edge.conditions)
        return Join(left, right, order, tuple(checks), counted=counted)

    roots = [p.node for p in diagram.nodes if p.node.id not in below]
    names = [f"branch {r.branch + 1} of {len(roots)}" if len(roots) > 1 else "" for r in roots]
    return tuple(JoinTree(name, tree(root.id)) for name, root in zip(names, roots, strict=True))


def _chains(diagram: Diagram) -> tuple[Chain, ...]:
    """Return the chains of a diagram, one for each branch."""
    branches = sorted({placed.node.branch for placed in diagram.nodes})
    chains = []
    for branch in branches:
        nodes = [placed.node for placed in diagram.nodes if placed.node.branch == branch]
        nodes.sort(key=lambda node: len(node.variables))
        loops = {
            (node.id, kind): tuple(
                e.label for e in diagram.edges if e.begin == e.end == node.id and e.kind == kind
            )
            for node in nodes
            for kind in ("store", "ignore", "take")
        }
        states = tuple(
            State("F" if node.kind == "final" else node.label, loops[node.id, "store"],
                  loops[node.id, "ignore"])
            for node in nodes
        )  # fmt: skip
        own = {node.id for node in nodes}
        ways = [e for e in diagram.edges if e.kind == "take" and e.begin in own]
        takes = tuple(_take(way) for way in ways if way.begin != way.end)
        name = f"branch {branch + 1} of {len(branches)}" if len(branches) > 1 else ""
        chains.append(Chain(name, states, takes))
    return tuple(chains)


def _take(edge: Edge) -> Take:
    return Take(edge.label, edge.label, edge.scope, edge.conditions)


def _grid(diagram: Diagram, counts: Sequence[Traffic]) -> Canvas:
    """Return the nodes at their places, with their counts, and the edges between them."""
    left = min((placed.x for placed in diagram.nodes), default=0.0)
    top = min((placed.y for placed in diagram.nodes), default=0.0)
    places = {
        placed.node.id: (
            _MARGIN + (placed.x - left) * _ACROSS,
            RADIUS + 12 + (placed.y - top) * _DOWN,
        )
        for placed in diagram.nodes
    }
    into = Counter(edge.end for edge in diagram.edges)
    items: list[Item] = []
    for edge in diagram.edges:
        if edge.begin != edge.end:
            # The last of many edges take what the state before lacks.
            named = into[edge.end] <= _MOST_NAMED
            items += _edge(edge, places[edge.begin], places[edge.end], named=named)
    for placed, count in zip(diagram.nodes, counts, strict=True):
        at = places[placed.node.id]
        falls = any(
            places[edge.end][1] - at[1] > places[edge.end][0] - at[0]
            for edge in diagram.edges
            if edge.begin == placed.node.id
        )
        items += _node(placed.node, count, at, to_the_left=falls)
    boxes = [item.box() for item in items if not isinstance(item, Line)]
    width = max((box[2] for box in boxes), default=0.0) + 16
    height = max((box[3] for box in boxes), default=0.0) + 12
    return Canvas(width, height, tuple(items), _summary(diagram, counts))


def _edge(
    edge: Edge, begin: tuple[float, float], end: tuple[float, float], *, named: bool
) -> list[Item]:
    (x0, y0), (x1, y1) = begin, end
    length = max(1.0, math.hypot(x1 - x0, y1 - y0))
    dx, dy = (x1 - x0) / length, (y1 - y0) / length
    start = (x0 + RADIUS * dx, y0 + RADIUS * dy)
    stop = (x1 - (RADIUS + 1) * dx, y1 - (RADIUS + 1) * dy)
    items: list[Item] = [Line((start, stop), arrow=True)]
    if named:
        hover = "\n".join(filter(None, (f"{edge.kind} {edge.label}", edge.scope, *edge.conditions)))
        # Above the edge, where it has separated from its neighbours.
        x, y = (x0 + x1) / 2, (y0 + y1) / 2 - SMALL * LINE_HEIGHT - 2
        label = (fitted(edge.label, SMALL, 0.6 * _ACROSS),)
        if abs(dy) < _FLAT:
            items.append(Text(x, y, label, size=SMALL, hover=hover))
        else:
            anchor: Anchor = "left" if dy > 0 else "right"
            items.append(Text(x + math.copysign(3, dy), y, label, anchor, SMALL, hover=hover))
    return items


def _node(node: Node, count: Traffic, at: tuple[float, float], *, to_the_left: bool) -> list[Item]:
    """Return a node with its count below it, or to its left if an edge falls steeply."""
    x, y = at
    final = node.kind == "final"
    visited = count.created > 0 or node.kind == "start"
    hover = f"{node.label}\n{count.created:,} instances created\nat most {count.peak:,} at once"
    fill = (FULFILLED if final else REACHED) if visited else None
    circle = Circle(x, y, RADIUS, hover, fill, "solid" if visited else "dot", double=final)
    label = (fitted(node.label, SIZE * BOLD, 2 * RADIUS - 4),)
    title = Text(x, y - SIZE * LINE_HEIGHT / 2, label, size=SIZE, bold=True, hover=hover)
    lines = (f"{count.created:,} came" if visited else "not visited",)
    if final:
        # Edges come from above and below, so there is room beside the node.
        top = y - SMALL * LINE_HEIGHT / 2
        below = Text(x + RADIUS + 6, top, lines, "left", SMALL, hover=hover)
    elif to_the_left:
        below = Text(x, y + RADIUS + 5, lines, "right", SMALL, hover=hover)
    else:
        below = Text(x, y + RADIUS + 5, lines, size=SMALL, hover=hover)
    return [circle, title, below]


def _summary(diagram: Diagram, counts: Sequence[Traffic]) -> str:
    parts = (
        f"{placed.node.label}: {count.created:,} instances"
        for placed, count in zip(diagram.nodes, counts, strict=True)
    )
    return f"{diagram.kind}: {', '.join(parts)}"
