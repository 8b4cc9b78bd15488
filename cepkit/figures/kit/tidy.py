"""Layout of trees without overlap, in which equal subtrees look equal.

Subtrees are laid out separately and pushed together until they nearly touch on some level, as in
*Tidier Drawings of Trees* (Reingold and Tilford, 1981). A node stands above the middle of its
children or straight above the heaviest one, which turns a tree that leans to one side into a narrow
column. Children keep their order. O(nodes * depth).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """A node with the room that it takes on its level.

    Attributes:
        left: Its extent to the left of the line where its edges end.
        right: How far to the right.
        children: From left to right.
    """

    left: float
    right: float
    children: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a node.

    Attributes:
        x: Of the line on which its edges end; nothing of the tree is left of 0.
        level: 0 for the root.
    """

    x: float
    level: int


_Spans = list[tuple[float, float]]
"""For each level from a node downwards the least and the greatest x, the node at 0."""


def arranged(root: Node, gap: float, *, straight: bool = False) -> tuple[Place, ...]:
    """Return where each node stands: the root, then each child followed by all below it.

    Args:
        gap: The room left free between two nodes of a level.
        straight: Whether a node stands straight above the child with the most leaves (with ties, in
            their middle) instead of the middle of all.
    """
    spans, places = _block(root, gap, straight)
    shift = -min(least for least, _ in spans)
    return tuple(Place(place.x + shift, place.level) for place in places)


def width_of_tree(root: Node, places: Sequence[Place]) -> float:
    """Return how wide an arranged tree is."""
    nodes = _in_order(root)
    return max(place.x + node.right for node, place in zip(nodes, places, strict=True))


def _block(node: Node, gap: float, straight: bool) -> tuple[_Spans, list[Place]]:
    if not node.children:
        return [(-node.left, node.right)], [Place(0.0, 0)]
    spans: _Spans = []
    blocks: list[tuple[float, list[Place]]] = []
    for child in node.children:
        own, places = _block(child, gap, straight)
        shift = max(
            (greatest - least + gap for (_, greatest), (least, _) in zip(spans, own, strict=False)),
            default=0.0,
        )
        shifted = [(least + shift, greatest + shift) for least, greatest in own]
        common = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(spans, shifted, strict=False)]
        rest = spans[len(common) :] or shifted[len(common) :]
        spans = common + rest
        blocks.append((shift, places))
    x = _over(node, [shift for shift, _ in blocks], straight)
    below = [
        Place(place.x + shift - x, place.level + 1) for shift, places in blocks for place in places
    ]
    spans = [(least - x, greatest - x) for least, greatest in spans]
    return [(-node.left, node.right), *spans], [Place(0.0, 0), *below]


def _over(node: Node, shifts: Sequence[float], straight: bool) -> float:
    """Return where a node stands over its children."""
    below = [_leaves(child) for child in node.children]
    most = max(below) if straight else 0
    over = [shift for shift, leaves in zip(shifts, below, strict=True) if leaves >= most]
    return (over[0] + over[-1]) / 2


def _leaves(node: Node) -> int:
    return sum(map(_leaves, node.children)) if node.children else 1


def _in_order(node: Node) -> list[Node]:
    return [node, *(below for child in node.children for below in _in_order(child))]
