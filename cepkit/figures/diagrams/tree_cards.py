"""The nodes of a drawn tree as cards: the texts on each, and its size."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from cepkit.figures.diagrams.tree import Join, Leaf, TreeNode, joined_text
from cepkit.figures.kit.canvas import BOLD, LINE_HEIGHT, STACKED, Card, Item, Text
from cepkit.figures.kit.strokes import carried
from cepkit.figures.kit.style import FINAL, PLAIN, QUIET, SIZE, SMALL
from cepkit.figures.kit.texts import fitted, width_of, wrapped
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
