"""The figure of aggregates that share counters: the trees of their pieces.

A node is a counter; queries stand below the node at which their matches are complete. A dashed
arrow into a tree stands for the snapshots that each of its STARTs takes of the piece before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from cepkit.aggregation.sharing.plan import Forest
from cepkit.figures.kit.canvas import LINE_HEIGHT, Canvas, Circle, Item, Line, Text
from cepkit.figures.kit.plotly_canvas import laid_out
from cepkit.figures.kit.style import FINAL, PLAIN, SIZE, SMALL
from cepkit.figures.kit.texts import fitted
from cepkit.routes.result import SeveralAggregates
from cepkit.routes.sharing import Cluster, SharingPlan, node_text

RADIUS = 11
SPACING = 118
LEFT = 190
"""The room for the snapshots before a piece."""
_GAP = 14
_LEAST = 64.0
"""The least distance of two nodes."""
_SENTENCES = 560.0
"""The width for the reasons why queries share nothing."""


def draw_several(result: SeveralAggregates[Any]) -> go.Figure:
    """Return the figure of the counters that queries shared; it is returned, not shown."""
    return draw_sharing(result.plan)


def draw_sharing(plan: SharingPlan) -> go.Figure:
    """Return the figure of a sharing plan; it is returned, not shown."""
    return laid_out(lambda room: layout(plan, room), "what the queries share")


def layout(plan: SharingPlan, room: float = math.inf) -> Canvas:
    """Return the picture: cluster below cluster, then the queries that share nothing.

    Args:
        room: The available width; nodes move closer together if it is small.
    """
    depth = max((n.depth for c in plan.clusters for n in c.forest.nodes), default=3)
    linked = any(cluster.forest.links for cluster in plan.clusters)
    left = LEFT if linked else _GAP
    spacing = max(_LEAST, min(SPACING, (room - left - _GAP) / depth))
    columns = _Columns(left, spacing)
    width = left + spacing * depth + _GAP
    if not linked:  # reasons are sentences
        width = max(width, min(room, _SENTENCES))
    items: list[Item] = []
    y = 6.0
    for i, cluster in enumerate(plan.clusters, 1):
        shared, alone = cluster.costs
        costs = f": {shared} ns/s shared, {alone} alone" if shared else ""
        line = fitted(f"cluster {i}{costs}", SIZE * 1.1, width - 16)
        items.append(Text(8, y, (line,), "left", SIZE, bold=True))
        y += SIZE * LINE_HEIGHT + _GAP
        for tree in dict.fromkeys(node.tree for node in cluster.forest.nodes):
            pictured, y = _tree(cluster, plan.names, tree, y, columns)
            items += pictured
    for q, reason in sorted(plan.reasons.items()):
        text = f"{plan.names[q]} by itself: {reason}"
        items.append(Text(8, y, (fitted(text, SMALL, width - 16),), "left", SMALL, hover=text))
        y += SMALL * LINE_HEIGHT + 4
    return Canvas(width, y + 6, tuple(items), _summary(plan))


def chain_text(forest: Forest, number_: int) -> str:
    """Return the pieces of a chain, as `(A, B) + (C, D)`."""
    chain = forest.chains[number_]
    piece = node_text(forest, chain.end)
    return piece if chain.before is None else f"{chain_text(forest, chain.before)} + {piece}"


@dataclass(frozen=True, slots=True)
class _Columns:
    """The horizontal layout of nodes: the first x, and the distance."""

    left: float
    spacing: float


def _tree(
    cluster: Cluster, names: Sequence[str], tree: int, top: float, columns: _Columns
) -> tuple[list[Item], float]:
    """Return the items of one tree, and where the next one begins."""
    forest = cluster.forest
    before = [chain_text(forest, source) for source, to in forest.links if to == tree]
    complete = _complete(cluster, names)
    items: list[Item] = []
    rows: dict[int, float] = {}
    left, spacing = columns.left, columns.spacing

    def put(number_: int, y: float) -> float:
        """Draw a node and its successors; return where the next branch begins."""
        node = forest.nodes[number_]
        x = left + (node.depth - 1) * spacing + spacing / 2
        middle = y + SMALL * LINE_HEIGHT + 4 + RADIUS
        rows[number_] = middle
        queries = complete.get(number_, [])
        room = spacing - _GAP
        name = str(node.position)
        items.append(Text(x, y, (fitted(name, SMALL, room),), size=SMALL, hover=name))
        hover_text = "\n".join([f"counts up to {name}", *queries])
        fill = FINAL if queries else PLAIN
        items.append(Circle(x, middle, RADIUS, hover_text, fill, double=bool(queries)))
        if queries:
            lines = tuple(fitted(query, SMALL, room) for query in queries)
            items.append(Text(x, middle + RADIUS + 4, lines, size=SMALL, hover="\n".join(queries)))
        bottom = middle + RADIUS + 8 + len(queries) * SMALL * LINE_HEIGHT
        branches = [i for i, child in enumerate(forest.nodes) if child.parent == number_]
        after = y
        for child in branches:
            after = put(child, after)
            items.append(_edge(x, middle, x + spacing, rows[child]))
        return max(after, bottom)

    end = put(tree, top)
    if before:
        x, y = left + spacing / 2 - RADIUS, rows[tree]
        items.append(Line(((left - 4, y), (x, y)), dash="dash", arrow=True))
        lines = tuple(fitted(f"after {text}", SMALL, left - 20) for text in before)
        height = len(lines) * SMALL * LINE_HEIGHT
        hover = "\n".join(f"a snapshot of {text} at each START" for text in before)
        items.append(Text(8, y - SMALL * LINE_HEIGHT / 2, lines, "left", SMALL, hover=hover))
        end = max(end, y + height)
    return items, end + _GAP


def _edge(x0: float, y0: float, x1: float, y1: float) -> Line:
    """Return the line between two nodes: straight, or down first, clear of all labels."""
    if y0 == y1:
        return Line(((x0 + RADIUS, y0), (x1 - RADIUS, y1)), arrow=True)
    bend = (x0 + x1) / 2
    return Line(((x0 + RADIUS, y0), (bend, y0), (bend, y1), (x1 - RADIUS, y1)), arrow=True)


def _complete(cluster: Cluster, names: Sequence[str]) -> dict[int, list[str]]:
    """Return for each node the queries that are complete there."""
    forest = cluster.forest
    texts: dict[int, list[str]] = {}
    for q, number in sorted(zip(cluster.queries, forest.of, strict=True)):
        chain = forest.chains[number]
        after = "" if chain.before is None else f" after {chain_text(forest, chain.before)}"
        texts.setdefault(chain.end, []).append(f"{names[q]}{after}")
    return texts


def _summary(plan: SharingPlan) -> str:
    parts = []
    for cluster in plan.clusters:
        nodes = len(cluster.forest.nodes)
        positions = sum(map(len, cluster.positions))
        parts.append(
            f"{len(cluster.queries)} queries of {positions} positions share {nodes} counters and "
            f"{len(cluster.forest.links)} snapshots"
        )
    return "; ".join(parts) or "nothing is shared"
