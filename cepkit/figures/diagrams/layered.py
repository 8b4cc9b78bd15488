"""The picture of a graph in rows: cards with texts, and lines between them that avoid cards.

All text stands on cards of opaque pale colours, so that it can be read on any page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cepkit.figures.kit.canvas import BOLD, LINE_HEIGHT, THIN, Canvas, Card, Item, Line, Text
from cepkit.figures.kit.layers import LANE, Layers, Spot, layered, middles
from cepkit.figures.kit.style import BLUE, SIZE, SMALL, TEXT, ink
from cepkit.figures.kit.texts import fitted, width_of, wrapped

ROOM = 780
"""The default width: that of a narrow notebook."""

MOST = 40
"""How many vertices the eye can distinguish."""

SHADES = ((1, "#E6E6E6"), (2, "#CDE7F7"), (3, "#9AD2F2"), (5, "#56B4E9"), (10, "#E69F00"))
"""Card colours by the least number of sharers; the ink on each has a contrast of 6:1 or more."""

_LEFT, _MARGIN, _GAP, _PAD = 30, 8, 8, 4
_LEAST = 66
"""The least width of a card with the room beside it, in pixels."""
_WIDEST = 190
_MOST_LINES = 4
_BETWEEN = 46
"""The height between two rows, for the lines."""


@dataclass(frozen=True, slots=True)
class Vertex:
    """A vertex of a graph in rows.

    Attributes:
        level: How high it stands.
        head: The title, in bold.
        text: The text below, in up to four lines.
        foot: The last texts, each in up to three lines.
        hover: All of it, uncut.
        sharers: How many share it, which decides its colour.
        width: Of the lines from it, in pixels.
        group: Whether it stands for several.
    """

    level: int
    head: str
    text: str
    foot: tuple[str, ...]
    hover: str
    sharers: int
    width: float = THIN
    group: bool = False


def layout(
    vertices: Sequence[Vertex],
    edges: Sequence[tuple[int, int]],
    notes: Sequence[str],
    rows: Sequence[str],
    room: float = ROOM,
) -> Canvas:
    """Return the picture.

    Args:
        edges: From a vertex to one that stands higher, by their numbers.
        notes: Notes above the figure, each a line or more.
        rows: The text left of each row, from the lowest.
        room: The width of the picture, in pixels; wider where cards could not be read.
    """
    layers = layered([v.level for v in vertices], edges)
    needed = max(sum(LANE if layers.is_lane(s) else _LEAST for s in row) for row in layers.rows)
    room = max(room, _LEFT + _MARGIN + needed)
    inner = room - _LEFT - _MARGIN
    widths: dict[Spot, float] = {}
    for row in layers.rows:
        widths |= _widths(row, layers, vertices, inner)
    places = {spot: x + _LEFT for spot, x in middles(layers, widths, inner).items()}
    items: list[Item] = []
    y = 4.0
    for note in notes:
        text = Text(_MARGIN, y, tuple(wrapped(note, SMALL, room - 2 * _MARGIN, 4)), "left", SMALL)
        items.append(text)
        y += text.height
    y += 12
    cards: list[Item] = []
    spans: list[tuple[float, float]] = [(0, 0)] * len(layers.rows)
    for number in reversed(range(len(layers.rows))):
        own = [spot for spot in layers.rows[number] if not layers.is_lane(spot)]
        texts = [_texts(vertices[spot[0]], widths[spot] - _GAP - 2 * _PAD) for spot in own]
        high = max(sum(text.height for text in each) for each in texts) + 2 * _PAD
        spans[number] = (y, y + high)
        at = y + (high - SIZE * LINE_HEIGHT) / 2
        cards.append(Text(_MARGIN, at, (rows[number],), "left", SIZE, bold=True))
        for spot, each in zip(own, texts, strict=True):
            vertex, x, width = vertices[spot[0]], places[spot], widths[spot] - _GAP
            fill = next(colour for least, colour in reversed(SHADES) if vertex.sharers >= least)
            left = x - width / 2
            cards.append(Card(left, y, width, high, vertex.hover, fill, stacked=vertex.group))
            below = y + _PAD
            for text in each:
                cards.append(replace(text, x=x, y=below))
                below += text.height
        y += high + _BETWEEN
    items += _lines(layers, vertices, places, widths, spans)
    return Canvas(room, y - _BETWEEN + 8, (*items, *cards), " ".join(notes))


def folded(
    ranked: Sequence[int], levels: Sequence[int], most: int, room: float
) -> list[tuple[int, ...]]:
    """Return which vertices share a card: none, or in each row those that rank last.

    Args:
        ranked: The numbers of vertices, those to show by themselves first.
        levels: For each vertex how high it stands.
        most: How many to show by themselves; where there are more, no row gets too full.
        room: The width of the picture, in pixels.
    """
    if len(ranked) <= most:
        return [(i,) for i in ranked]
    in_row = max(1, int((room - _LEFT - _MARGIN) * 0.85 / _LEAST) - 1)
    alone: list[tuple[int, ...]] = []
    rest: dict[int, list[int]] = {}
    shown: Counter[int] = Counter()
    for i in ranked:
        if len(alone) < most and shown[levels[i]] < in_row:
            shown[levels[i]] += 1
            alone.append((i,))
        else:
            rest.setdefault(levels[i], []).append(i)
    return alone + [tuple(sorted(group)) for group in rest.values()]


def _widths(
    row: Sequence[Spot], layers: Layers, vertices: Sequence[Vertex], room: float
) -> dict[Spot, float]:
    """Return how much of a row each spot takes: cards as much as they need, or like shares."""
    widths = {spot: LANE for spot in row if layers.is_lane(spot)}
    needed = {spot: _needed(vertices[spot[0]]) for spot in row if spot not in widths}
    left = room - sum(widths.values())
    for number, spot in enumerate(sorted(needed, key=needed.__getitem__)):
        widths[spot] = min(needed[spot], left / (len(needed) - number))
        left -= widths[spot]
    return widths


def _needed(vertex: Vertex) -> float:
    bold = width_of(vertex.head, SMALL * BOLD)
    text = max(width_of(line, SMALL) for line in wrapped(vertex.text, SMALL, _WIDEST, _MOST_LINES))
    foot = max((width_of(line, SMALL) for line in vertex.foot), default=0)
    return max(_LEAST, min(_WIDEST, max(bold, text, foot) + 1) + _GAP + 2 * _PAD)


def _texts(vertex: Vertex, width: float) -> list[Text]:
    """Return the texts of a card, not yet at their places."""
    dark = ink(SHADES[0][1])
    head = fitted(vertex.head, SMALL * BOLD, width)
    lines = tuple(wrapped(vertex.text, SMALL, width, _MOST_LINES))
    lines += tuple(cut for line in vertex.foot for cut in wrapped(line, SMALL, width, 3))
    texts = [Text(0, 0, lines, size=SMALL, colour=dark, hover=vertex.hover)]
    if head:
        texts.insert(0, Text(0, 0, (head,), size=SMALL, bold=True, colour=dark))
    return texts


def _lines(
    layers: Layers,
    vertices: Sequence[Vertex],
    places: Mapping[Spot, float],
    widths: Mapping[Spot, float],
    spans: Sequence[tuple[float, float]],
) -> Iterator[Line]:
    """Yield the lines: between rows, and straight up where they pass one."""
    into: dict[Spot, list[Spot]] = {}
    for low, high in sorted(layers.edges, key=lambda edge: places[edge[0]]):
        into.setdefault(high, []).append(low)
    for high, sources in into.items():
        top, bottom = spans[high[1]]
        lane = layers.is_lane(high)
        width = 0 if lane else widths[high] - _GAP - 2 * _PAD
        for number, low in enumerate(sources, 1):
            vertex = vertices[low[0]]
            end = places[high] + width * (number / (len(sources) + 1) - 0.5)
            points = [(places[low], spans[low[1]][0]), (end, bottom)]
            if lane:
                points.append((end, top))
            colour = BLUE if vertex.sharers > 1 else TEXT
            yield Line(tuple(points), colour=colour, width=vertex.width)
