"""The picture of a plan with its branches stacked, and of plans side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import assert_never

from cepkit.figures.diagrams import automaton, tree_canvas
from cepkit.figures.diagrams.chain import Chain
from cepkit.figures.diagrams.pictures import Picture
from cepkit.figures.diagrams.tree import JoinTree, nodes_of
from cepkit.figures.diagrams.tree_canvas import ROOM
from cepkit.figures.kit.canvas import BOLD, Canvas, Item, Text, moved, stacked
from cepkit.figures.kit.strokes import Strokes
from cepkit.figures.kit.style import SIZE, SMALL
from cepkit.figures.kit.texts import wrapped

_BELOW = 10
_BESIDE = 24
_HEAD_LINES = 2
_LEGEND = "at edges: partial matches expected to be alive in a window; the more, the wider"


def layout(parts: Sequence[Picture], room: float = ROOM, per_row: int | None = None) -> Canvas:
    """Return the picture of a plan with its branches stacked.

    Args:
        parts: From `pictures.pictures`.
        room: The width to fit into, in pixels; a branch that cannot is wider.
        per_row: How many steps of an order stand side by side; None for as many as have room.
    """
    return _with_legend(_branches(parts, room, scale_of(parts), per_row), parts)


def side_by_side(plans: Sequence[tuple[str, Sequence[Picture]]], room: float = ROOM) -> Canvas:
    """Return the picture of several plans on one scale.

    All rows have the same number of plans: as many as fit in every row.

    Args:
        plans: The heading and the pictures of each plan.
        room: The width to keep to, in pixels.
    """
    parts = [part for _, parts in plans for part in parts]
    strokes = scale_of(parts)
    for in_row in range(len(plans), 0, -1):
        begins = range(0, len(plans), in_row)
        rows = [_row(plans[begin : begin + in_row], room, strokes) for begin in begins]
        if all(row.width <= room for row in rows):
            break
    return _with_legend(stacked(rows, 2 * _BELOW), parts)


def scale_of(parts: Iterable[Picture]) -> Strokes:
    """Return one scale for the edges of several pictures."""
    return Strokes.of(_carried(parts))


def _carried(parts: Iterable[Picture]) -> list[float | None]:
    logarithms: list[float | None] = []
    for part in parts:
        match part:
            case Chain(takes=takes):
                logarithms += [take.log_alive for take in takes]
            case JoinTree(root=root):
                logarithms += [node.log_alive for node in nodes_of(root)]
            case _:
                assert_never(part)
    return logarithms


def _branches(
    parts: Sequence[Picture], room: float, strokes: Strokes, per_row: int | None = None
) -> Canvas:
    canvases = []
    for part in parts:
        match part:
            case Chain():
                canvases.append(automaton.layout(part, room, strokes, per_row))
            case JoinTree():
                canvases.append(tree_canvas.layout(part, room, strokes))
            case _:
                assert_never(part)
    return stacked(canvases, _BELOW)


def _row(plans: Sequence[tuple[str, Sequence[Picture]]], room: float, strokes: Strokes) -> Canvas:
    """Return plans side by side; width that some do not need goes to the tallest ones."""

    def column(number: int, width: float) -> Canvas:
        head, parts = plans[number]
        return _headed(head, _branches(parts, width, strokes))

    free = room - _BESIDE * (len(plans) - 1)
    columns = [column(number, free / len(plans)) for number in range(len(plans))]
    free -= sum(one.width for one in columns)
    for number in sorted(range(len(plans)), key=lambda i: -columns[i].height):
        wider = column(number, columns[number].width + free)
        if wider.height < columns[number].height:
            free -= wider.width - columns[number].width
            columns[number] = wider
    items: list[Item] = []
    x = 0.0
    for one in columns:
        items += moved(one.items, x, 0)
        x += one.width + _BESIDE
    height = max(one.height for one in columns)
    return Canvas(x - _BESIDE, height, tuple(items), stacked(columns, 0).summary)


def _headed(head: str, canvas: Canvas) -> Canvas:
    lines = tuple(wrapped(head, SIZE * BOLD, canvas.width - 16, _HEAD_LINES))
    text = Text(8, 4, lines, "left", SIZE, bold=True, hover=head)
    top = 4 + text.height + 6
    items = (text, *moved(canvas.items, 0, top))
    return Canvas(canvas.width, canvas.height + top, items, f"{head}: {canvas.summary}")


def _with_legend(canvas: Canvas, parts: Iterable[Picture]) -> Canvas:
    """Return the picture with a legend of its numbers; unchanged without numbers."""
    if all(logarithm is None for logarithm in _carried(parts)):
        return canvas
    lines = tuple(wrapped(_LEGEND, SMALL, canvas.width - 16, 3))
    text = Text(8, canvas.height + 2, lines, "left", SMALL, hover=_LEGEND)
    return replace(canvas, height=canvas.height + text.height + 10, items=(*canvas.items, text))
