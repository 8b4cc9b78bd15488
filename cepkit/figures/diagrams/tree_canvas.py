"""The picture of a tree plan: cards for its nodes, edge widths by expected numbers.

The matches are at the top and the variables at the leaves, left and right as in the plan. Cards are
as wide as the room allows: if the tree is too wide, nodes first move straight above their heavier
side, then cards become narrower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, product

from cepkit.figures.diagrams import tree as trees
from cepkit.figures.diagrams.tree import Join, Leaf, TreeNode, joined_text
from cepkit.figures.kit.canvas import BOLD, LINE_HEIGHT, STACKED, Canvas, Card, Item, Line, Text
from cepkit.figures.kit.strokes import Strokes, carried
from cepkit.figures.kit.style import FINAL, PLAIN, QUIET, SIZE, SMALL
from cepkit.figures.kit.texts import fitted, width_of, wrapped
from cepkit.figures.kit.tidy import Node, Place, arranged, width_of_tree
from cepkit.printing import plain
from cepkit.tables import number

_PADDING = 8
_LEAST = 40
_TITLE_LINES = 2
_MOST_LINES = 8


@dataclass(frozen=True, slots=True)
class SizedNode:
    """A node with its texts broken into lines."""

    node: TreeNode
    title: tuple[str, ...]
    lines: tuple[str, ...]
    width: float
    height: float


def sized(node: TreeNode, most: float) -> SizedNode:
    """Return the card of a node, as small as its texts allow and at most `most` pixels wide."""
    room = most - 2 * _PADDING
    title = tuple(_title(node, room))
    lines = tuple(_lines(node, room))
    widths = (
        *(width_of(line, SIZE * BOLD) for line in title),
        *(width_of(line, SMALL) for line in lines),
    )
    height = LINE_HEIGHT * (SIZE * len(title) + SMALL * len(lines))
    width = max(_LEAST, max(widths, default=0.0) + 2 * _PADDING)
    return SizedNode(node, title, lines, width, height + _PADDING)


def drawn(card: SizedNode, x: float, y: float, *, root: bool) -> list[Item]:
    """Return the card with its texts; `x` is its middle, `y` its top."""
    node, hover = card.node, hover_text(card.node)
    fill = FINAL if root else PLAIN if isinstance(node, Leaf) else QUIET
    stacked = isinstance(node, Leaf) and node.repeated
    left = x - card.width / 2
    below = y + _PADDING / 2 + len(card.title) * SIZE * LINE_HEIGHT
    items: list[Item] = [
        Card(left, y, card.width, card.height, hover, fill, stacked=stacked),
        Text(x, y + _PADDING / 2, card.title, size=SIZE, bold=True, hover=hover),
    ]
    if card.lines:
        items.append(Text(x, below, card.lines, size=SMALL, hover=hover))
    return items


def behind(node: TreeNode) -> float:
    """Return how far a stacked card extends beyond its own width."""
    return STACKED if isinstance(node, Leaf) and node.repeated else 0.0


def hover_text(node: TreeNode) -> str:
    """Return all about a node, line by line."""
    match node:
        case Leaf():
            lines = [node.event, *node.conditions, *node.absences]
            if node.rate is not None:
                lines.append(f"{number(node.rate)} events/s")
        case Join():
            lines = [joined_text(node), *node.order, *node.conditions, *node.absences]
    if node.log_alive is not None:
        lines.append(f"expected to be alive in a window: {carried(node.log_alive)}")
    lines += node.counted
    return "\n".join(lines)


def _title(node: TreeNode, room: float) -> list[str]:
    if isinstance(node, Leaf):
        return wrapped(node.event, SIZE * BOLD, room, _TITLE_LINES)
    text = plain(joined_text(node))
    return [text if width_of(text, SIZE * BOLD) <= room else "⋈"]


def _lines(node: TreeNode, room: float) -> list[str]:
    """Return the lines below the title; the last one counts those that did not fit."""
    texts = [*node.conditions, *node.absences]
    if isinstance(node, Join):
        texts = [*node.order, *texts] or ([] if node.counted else ["all pairs"])
    elif node.rate is not None and node.log_alive is None:
        texts.append(f"{number(node.rate)} events/s")
    texts += node.counted
    broken = [wrapped(text, SMALL, room, 2) for text in texts]
    if sum(map(len, broken)) > _MOST_LINES:
        broken = [wrapped(text, SMALL, room, 1) for text in texts]
    if len(broken) > _MOST_LINES:
        left = len(broken) - _MOST_LINES + 1
        broken[_MOST_LINES - 1 :] = [[fitted(f"… {left} more", SMALL, room)]]
    return list(chain.from_iterable(broken))


ROOM = 900
"""The default width: that of a notebook's cell."""

_WIDEST = ((200, 320), (150, 240), (124, 190), (104, 150), (86, 120), (70, 96))
"""The largest widths of cards of leaves and of joins, in pixels, tried one after the other."""
_MARGIN = 12
_GAP = 14
_BETWEEN = 20
"""The height between levels, for the edges from a node to its children."""
_LABEL = 24
"""The height above a card for the number at its edge."""


def layout(tree: trees.JoinTree, room: float = ROOM, strokes: Strokes | None = None) -> Canvas:
    """Return the picture of a tree.

    Args:
        tree: From `pictures.pictures`.
        room: The width to fit into, in pixels; a tree that cannot is wider.
        strokes: The scale of its edges; None for its own.
    """
    strokes = strokes or Strokes.of(node.log_alive for node in trees.nodes_of(tree.root))
    for widest, straight in product(_WIDEST, (False, True)):
        root, cards = _measured(tree.root, widest, strokes)
        places = arranged(root, _GAP, straight=straight)
        width = width_of_tree(root, places) + 2 * _MARGIN
        if width <= room:
            break
    cards = _widened(cards, places, width - 2 * _MARGIN, strokes)
    middles = [place.x + _MARGIN for place in places]
    levels = [place.level for place in places]
    items: list[Item] = []
    y = 4.0
    if tree.name:
        items.append(Text(8, y, (tree.name,), "left", SIZE, bold=True))
        y += 22
    tops, bottom = _tops(cards, levels, y + _LABEL)
    heads = [tops[level] for level in levels]
    items += _edges(tree.root, cards, middles, heads, strokes)
    for i, (card, x, top) in enumerate(zip(cards, middles, heads, strict=True)):
        items += drawn(card, x, top, root=i == 0)
    y = bottom + 12
    if tree.common and isinstance(tree.root, trees.Join):
        note = f"at every join: {tree.common}"
        width = max(width, min(room, width_of(note, SMALL) + 16))
        text = Text(8, y, tuple(wrapped(note, SMALL, width - 16, 3)), "left", SMALL, hover=note)
        items.append(text)
        y += text.height + 6
    return Canvas(width, y, tuple(items), summary(tree))


def summary(tree: trees.JoinTree) -> str:
    """Return the tree in words, for screen readers: from the variables to the matches."""
    joins = []
    for node in trees.upwards(tree.root):
        alive = "" if node.log_alive is None else f", {carried(node.log_alive)} in a window"
        checked = [*node.conditions, *node.absences]
        if isinstance(node, trees.Leaf):
            if checked:
                joins.append(f"take {node.event} where {' and '.join(checked)}{alive}")
            continue
        checked = [*node.order, *checked]
        where = f" where {' and '.join(checked)}" if checked else ""
        sides = (", ".join(trees.variables_below(side)) for side in (node.left, node.right))
        joins.append(f"join {' with '.join(sides)}{where}{alive}")
    events = ", ".join(
        node.event for node in trees.nodes_of(tree.root) if isinstance(node, trees.Leaf)
    )
    common = f"; at every join {tree.common}" if tree.common else ""
    return f"{tree.name or 'tree'} of {events}: {', then '.join(joins) or 'take it'}{common}"


def _measured(
    node: trees.TreeNode, widest: tuple[float, float], strokes: Strokes
) -> tuple[Node, list[SizedNode]]:
    """Return the room that each node takes, and the cards in pre-order."""
    leaf, join = widest
    if isinstance(node, trees.Leaf):
        card = sized(node, leaf)
        return Node(*_reach(card, strokes)), [card]
    card = sized(node, join)
    below = [_measured(side, widest, strokes) for side in (node.left, node.right)]
    cards = [one for _, those in below for one in those]
    return Node(*_reach(card, strokes), tuple(child for child, _ in below)), [card, *cards]


def _reach(card: SizedNode, strokes: Strokes) -> tuple[float, float]:
    """Return the extent of a card to the left and, with the number at its edge, to the right."""
    alive = card.node.log_alive
    number = 0.0 if alive is None else _beside(alive, strokes) + width_of(carried(alive), SMALL)
    return card.width / 2, max(card.width / 2 + behind(card.node), number)


def _widened(
    cards: Sequence[SizedNode], places: Sequence[Place], width: float, strokes: Strokes
) -> list[SizedNode]:
    """Return the cards widened into free room beside them, as far as their texts need it."""
    widened = list(cards)
    for i, place in enumerate(places):
        least, most = 0.0, width
        for card, other in zip(widened, places, strict=True):
            if other.level == place.level and other.x != place.x:
                left, right = _reach(card, strokes)
                if other.x < place.x:
                    least = max(least, other.x + right + _GAP)
                else:
                    most = min(most, other.x - left - _GAP)
        node = widened[i].node
        free = 2 * min(place.x - least, most - place.x - behind(node))
        wide = min(free, _WIDEST[0][isinstance(node, trees.Join)])
        if wide > widened[i].width + 1:
            widened[i] = sized(node, wide)
    return widened


def _tops(
    cards: Sequence[SizedNode], levels: Sequence[int], top: float
) -> tuple[list[float], float]:
    """Return where each level begins, and where the last one ends."""
    tops = []
    for level in range(max(levels) + 1):
        tops.append(top)
        top += max(c.height for c, own in zip(cards, levels, strict=True) if own == level)
        top += _BETWEEN + _LABEL
    return tops, top - _BETWEEN - _LABEL


def _edges(
    root: trees.TreeNode,
    cards: Sequence[SizedNode],
    middles: Sequence[float],
    tops: Sequence[float],
    strokes: Strokes,
) -> list[Item]:
    """Return the edges above all nodes with their numbers; the root's leads out of the tree."""
    items: list[Item] = []
    parents = _parents(root)
    for i, (card, x, top) in enumerate(zip(cards, middles, tops, strict=True)):
        points = [(x, top - _LABEL), (x, top)]
        if i:
            above = middles[parents[i]]
            # Between the levels, below the highest card of the upper one.
            points[:0] = [
                (above, tops[parents[i]] + cards[parents[i]].height),
                (above, top - _LABEL - _BETWEEN),
            ]
        alive = card.node.log_alive
        items.append(Line(tuple(points), width=strokes.width(alive)))
        if alive is not None:
            left = x + _beside(alive, strokes)
            items.append(Text(left, top - _LABEL + 5, (carried(alive),), "left", SMALL))
    return items


def _parents(root: trees.TreeNode) -> list[int]:
    """Return for each node the number of its parent; 0 for the root."""
    parents = [0]
    if not isinstance(root, trees.Leaf):
        for side in (root.left, root.right):
            begin = len(parents)
            parents += [0, *(begin + number for number in _parents(side)[1:])]
    return parents


def _beside(alive: float, strokes: Strokes) -> float:
    """Return the distance from the middle of an edge to its number."""
    return strokes.width(alive) / 2 + 4
