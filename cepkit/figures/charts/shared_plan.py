"""The figure of shared plans: for each node its sub-pattern, its users and its partial matches.

Rows are numbers of variables bound, single events at the bottom. Several plans are stacked on one
scale, for example separate plans above the shared one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from cepkit.figures.diagrams.layered import MOST, ROOM, Vertex, folded, layout
from cepkit.figures.kit.canvas import Canvas, stacked
from cepkit.figures.kit.plotly_canvas import laid_out
from cepkit.figures.kit.strokes import Strokes
from cepkit.sharing.shared_plan import SharedNode, SharedPlan
from cepkit.tables import count_text, number

_LEAST = 0.01
"""The least number of partial matches that a card shows."""
_KEY = (
    "On the left: how many variables are bound. On a card: how many patterns have the node (x3), "
    "what it finds, the partial matches that are expected in a window (~20: the more, the wider "
    "the lines), and the patterns whose matches it finds (= p). Blue lines begin at shared nodes."
)


def draw_shared_plans(
    plans: Sequence[SharedPlan], *, nodes: int = MOST, width: float | None = None
) -> go.Figure:
    """Return the figure of shared plans, one below the other; it is returned, not shown.

    Args:
        nodes: How many nodes of a plan to draw individually; the others of a row, those with the
            fewest patterns, share a card.
        width: The width in pixels; None to fill the available width.
    """
    return laid_out(
        lambda room: picture(plans, nodes, room),
        "what the plans of several patterns share",
        width,
    )


def picture(plans: Sequence[SharedPlan], nodes: int = MOST, width: float = ROOM) -> Canvas:
    """Return the picture of plans, their lines on one scale."""
    strokes = Strokes.of(_log(node.alive) for plan in plans for node in plan.nodes)
    pictures = [_picture(plan, nodes, width, strokes, i == 0) for i, plan in enumerate(plans)]
    return stacked(pictures, 16)


def _picture(plan: SharedPlan, most: int, width: float, strokes: Strokes, first: bool) -> Canvas:
    shown = plan.nodes
    ranked = sorted(range(len(shown)), key=lambda i: (-len(shown[i].names), -shown[i].alive, i))
    groups = folded(ranked, [node.size for node in shown], most, width)
    group_of = {node: i for i, group in enumerate(groups) for node in group}
    edges = dict.fromkeys(
        (group_of[source], group_of[target])
        for target, node in enumerate(plan.nodes)
        for source in node.sources
    )
    shared = f"{len(plan.shared)} of {count_text(len(shown), 'node')} shared"
    costs = f"cost {number(plan.cost)}, {number(plan.alone)} without sharing"
    notes = [f"{count_text(len(plan.names), 'pattern')} by {plan.search}: {shared}; {costs}"]
    if first:
        notes.append(_KEY)
    together = sum(len(group) for group in groups if len(group) > 1)
    if together:
        notes.append(
            f"{together} nodes with the fewest patterns are drawn as one card in each row; "
            f"nodes={len(plan.nodes)} draws all."
        )
    rows = [str(size) for size in sorted({node.size for node in plan.nodes})]
    vertices = [_vertex([plan.nodes[i] for i in group], strokes) for group in groups]
    return layout(vertices, [*edges], notes, rows, width)


def _vertex(nodes: Sequence[SharedNode], strokes: Strokes) -> Vertex:
    """Return the card of a node, or of several that share it."""
    alive = math.fsum(node.alive for node in nodes)
    users = dict.fromkeys(name for node in nodes for name in node.names)
    ends = dict.fromkeys(name for node in nodes for name in node.ends)
    sharers = max(len(node.names) for node in nodes)
    one = nodes[0]
    texts = "\n".join(node.pattern for node in nodes[:10])
    hover = (
        f"{texts}\n{number(alive)} partial matches alive in a window\n"
        f"cost {number(math.fsum(node.cost for node in nodes))}\n"
        f"{count_text(len(users), 'pattern')}: {', '.join(users)}"
    )
    if ends:
        hover += f"\nfinds the matches of {', '.join(ends)}"
    width = strokes.width(_log(alive))
    foot = ["<0.01" if alive < _LEAST else f"~{number(float(f'{alive:.2g}'))}"]
    if len(nodes) == 1:
        foot += [f"= {', '.join(ends)}"] if ends else []
        text = one.pattern.replace("(", " (", 1)  # allows a line break there
        return Vertex(one.size, f"x{sharers}", text, tuple(foot), hover, sharers, width)
    foot += [f"= {count_text(len(ends), 'pattern')}"] if ends else []
    head = f"≤ x{sharers}" if sharers > 1 else "x1"
    return Vertex(one.size, head, f"{len(nodes)} more", tuple(foot), hover, 1, width, group=True)


def _log(alive: float) -> float:
    return math.log(alive) if alive > 0 else -math.inf
