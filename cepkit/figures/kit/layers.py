"""Layout of graphs in rows, with few crossings and no edge under a vertex.

An edge that skips rows passes them in a lane of its own; all edges of a vertex share its lanes.
Rows are sorted by the mean place of their neighbours, upwards and downwards in turn; the order with
the fewest crossings wins. O(sweeps * edges^2). Source: *Methods for Visual Understanding of
Hierarchical System Structures* (Sugiyama, Tagawa and Toda, 1981).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

LANE = 11.0
"""The width of a lane, in pixels: an edge at its widest, and room around it."""

_SWEEPS = 12

Spot = tuple[int, int]
"""A vertex and a row: its own, or one above it that its edges pass."""


@dataclass(frozen=True, slots=True)
class Layers:
    """A graph in rows.

    Attributes:
        own: For each vertex the row in which it stands itself.
        rows: From the lowest, the spots of each from left to right.
        edges: From a spot to one of the row above it.
    """

    own: tuple[int, ...]
    rows: tuple[tuple[Spot, ...], ...]
    edges: tuple[tuple[Spot, Spot], ...]

    def is_lane(self, spot: Spot) -> bool:
        """Return whether the spot has only edges of the vertex."""
        vertex, row = spot
        return self.own[vertex] != row


def layered(levels: Sequence[int], edges: Sequence[tuple[int, int]]) -> Layers:
    """Return a graph in rows.

    Args:
        levels: For each vertex how high it stands; those of a level share a row.
    """
    row_of = {level: row for row, level in enumerate(sorted({*levels}))}
    own = [row_of[level] for level in levels]
    links: dict[tuple[Spot, Spot], None] = {}
    for source, target in edges:
        lanes = [(source, row) for row in range(own[source], own[target])]
        links.update(dict.fromkeys(pairwise([*lanes, (target, own[target])])))
    spots = dict.fromkeys([*enumerate(own), *(spot for link in links for spot in link)])
    rows = tuple(tuple(s for s in spots if s[1] == row) for row in range(len(row_of)))
    return Layers(tuple(own), _ordered(rows, tuple(links)), tuple(links))


def crossings(layers: Layers) -> int:
    """Return how many pairs of edges cross."""
    return _crossings(layers.rows, layers.edges)


def middles(layers: Layers, widths: Mapping[Spot, float], room: float) -> dict[Spot, float]:
    """Return the middle of each spot: near those of its neighbours, and off the next one.

    Args:
        widths: Of each spot, room between two of them included; no row is wider than `room`.
        room: The width of all.
    """
    near = _neighbours(layers.edges)
    places: dict[Spot, float] = {}
    for row in layers.rows:
        free = (room - sum(widths[spot] for spot in row)) / len(row)
        left = 0.0
        for spot in row:
            places[spot] = left + (free + widths[spot]) / 2
            left += free + widths[spot]
    for sweep in range(_SWEEPS):
        for row in layers.rows if sweep % 2 else layers.rows[::-1]:
            wished = [_mean([places[n] for n in near.get(s, ())], places[s]) for s in row]
            places.update(zip(row, _apart(wished, [widths[s] for s in row], room), strict=True))
    return places


def _ordered(
    rows: tuple[tuple[Spot, ...], ...], edges: Sequence[tuple[Spot, Spot]]
) -> tuple[tuple[Spot, ...], ...]:
    near = _neighbours(edges)
    fewest, best = _crossings(rows, edges), rows
    places = {s: (i + 0.5) / len(row) for row in rows for i, s in enumerate(row)}
    current = list(rows)
    for sweep in range(_SWEEPS):
        step = 1 if sweep % 2 else -1
        for number in range(len(rows))[::step]:
            wished = {
                s: _mean([places[n] for n in near.get(s, ()) if n[1] == number - step], places[s])
                for s in current[number]
            }
            row = current[number] = tuple(sorted(current[number], key=wished.__getitem__))
            places.update((s, (i + 0.5) / len(row)) for i, s in enumerate(row))
        count = _crossings(current, edges)
        if count < fewest:
            fewest, best = count, tuple(current)
    return best


def _crossings(rows: Sequence[Sequence[Spot]], edges: Sequence[tuple[Spot, Spot]]) -> int:
    place = {spot: i for row in rows for i, spot in enumerate(row)}
    by_row: dict[int, list[tuple[int, int]]] = {}
    for low, high in edges:
        by_row.setdefault(low[1], []).append((place[low], place[high]))
    return sum(
        (a - c) * (b - d) < 0
        for between in by_row.values()
        for (a, b), (c, d) in combinations(between, 2)
    )


def _neighbours(edges: Sequence[tuple[Spot, Spot]]) -> dict[Spot, list[Spot]]:
    near: dict[Spot, list[Spot]] = {}
    for low, high in edges:
        near.setdefault(low, []).append(high)
        near.setdefault(high, []).append(low)
    return near


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _apart(wished: Sequence[float], widths: Sequence[float], room: float) -> list[float]:
    """Return middles near the desired ones, in the same order, as far apart as the widths need."""
    pushed = _pushed(wished, widths, room)
    mirrored = _pushed([room - wish for wish in wished[::-1]], widths[::-1], room)
    return [(x + room - y) / 2 for x, y in zip(pushed, mirrored[::-1], strict=True)]


def _pushed(wished: Sequence[float], widths: Sequence[float], room: float) -> list[float]:
    """Return middles pushed right by their predecessors, and back left by the end of the row."""
    result: list[float] = []
    left = 0.0
    for wish, width in zip(wished, widths, strict=True):
        result.append(max(wish, left + width / 2))
        left = result[-1] + width / 2
    right = room
    for i in reversed(range(len(result))):
        result[i] = min(result[i], right - widths[i] / 2)
        right = result[i] - widths[i] / 2
    return result
