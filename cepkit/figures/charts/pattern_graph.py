"""The figure of a multi-pattern graph: patterns at the bottom, their common parts above."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from cepkit.figures.diagrams.layered import MOST, ROOM, Vertex, folded, layout
from cepkit.figures.kit.canvas import Canvas
from cepkit.figures.kit.plotly_canvas import laid_out
from cepkit.sharing.graph import CommonPattern, PatternGraph
from cepkit.tables import count_text

_KEY = (
    "Patterns at the bottom; above them the maximal sub-patterns that they have in common, with "
    "the number of patterns (x3). On the left: the variables of a sub-pattern."
)


def draw_pattern_graph(
    graph: PatternGraph, *, vertices: int = MOST, width: float | None = None
) -> go.Figure:
    """Return the figure of the common parts of patterns; it is returned, not shown.

    Args:
        vertices: How many to draw individually; if there are more, those of a row with the fewest
            lines share a card.
        width: The width in pixels; None to fill the available width.
    """
    return laid_out(
        lambda room: picture(graph, vertices, room), "what patterns have in common", width
    )


def picture(graph: PatternGraph, vertices: int = MOST, width: float = ROOM) -> Canvas:
    """Return the picture of a graph."""
    names, holders = graph.names, graph.holders
    commons = [*holders]
    count = len(names)
    levels = [0] * count + [common.size for common in commons]
    held = {name: sum(name in having for having in holders.values()) for name in names}
    patterns = sorted(range(count), key=lambda i: (-held[names[i]], i))
    subs = sorted(range(len(commons)), key=lambda i: -len(holders[commons[i]]))
    few = len(levels) <= vertices
    groups = folded(patterns, levels, count if few else vertices // 3, width)
    left = len(subs) if few else max(0, vertices - len(groups))
    groups += folded([count + i for i in subs], levels, left, width)
    group_of = {i: number for number, group in enumerate(groups) for i in group}
    number_of = {name: i for i, name in enumerate(names)}
    edges = dict.fromkeys(
        (group_of[number_of[name]], group_of[count + i])
        for i, common in enumerate(commons)
        for name in holders[common]
        if len(groups[group_of[number_of[name]]]) == len(groups[group_of[count + i]]) == 1
    )
    notes = [
        f"{count_text(count, 'pattern')}, {count_text(len(commons), 'maximal common sub-pattern')}",
        _KEY,
    ]
    together = sum(len(group) for group in groups if len(group) > 1)
    if together:
        notes.append(
            f"{together} with the fewest lines are drawn as one card in each row, without lines; "
            f"vertices={len(levels)} draws all."
        )
    cards = [
        _patterns(graph, [names[i] for i in group])
        if group[0] < count
        else _commons([commons[i - count] for i in group], holders)
        for group in groups
    ]
    rows = ["" if level == 0 else str(level) for level in sorted({*levels})]
    return layout(cards, [*edges], notes, rows, width)


def _patterns(graph: PatternGraph, names: Sequence[str]) -> Vertex:
    """Return the card of a pattern, or of several that share it."""
    texts = [
        f"{name}: {query}"
        for name, query in zip(graph.names, graph.queries, strict=True)
        if name in names
    ]
    group = len(names) > 1
    text = f"{len(names)} more" if group else names[0]
    return Vertex(0, "", text, (), "\n".join(texts[:10]), 1, group=group)


def _commons(
    commons: Sequence[CommonPattern], holders: dict[CommonPattern, tuple[str, ...]]
) -> Vertex:
    """Return the card of a sub-pattern, or of several that share it."""
    one, most = commons[0], max(len(holders[common]) for common in commons)
    texts = [f"{common}\n{', '.join(holders[common])}" for common in commons[:10]]
    group = len(commons) > 1
    head = f"≤ x{most}" if group and most > 2 else f"x{most}"
    text = f"{len(commons)} more" if group else one.text.replace("(", " (", 1)
    return Vertex(one.size, head, text, (), "\n".join(texts), 1 if group else most, group=group)
