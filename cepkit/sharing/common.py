"""All maximal sub-patterns that two branches have in common: cliques of the agreement graph.

Its vertices are pairs of variables, one of each branch, with equal events; its edges join pairs
whose conditions on each other agree. Conditions on three variables or more are checked on the
cliques, which drop a variable if they disagree. The enumeration is exponential at worst, but
patterns are small. Source: MULTI, which reduces sets of types instead, and so finds only one of
several.
"""

from __future__ import annotations

from itertools import combinations
from typing import TypeAlias

from cepkit.lazy import nx
from cepkit.sharing.workload import Form, Places, Sharer

_Mapping: TypeAlias = frozenset[tuple[int, int]]
"""Pairs of a variable of the first branch and one of the second."""


def maximal_common(one: Sharer, other: Sharer) -> dict[Form, tuple[Places, Places]]:
    """Return the maximal common sub-patterns, with the variables that each branch has for them."""
    if one.family != other.family:
        return {}
    found = _maximal(_cliques(one, other), one, other)
    common: dict[Form, tuple[Places, Places]] = {}
    for mapping in sorted(found, key=lambda m: (-len(m), sorted(m))):
        form, places = one.form(sum(1 << x for x, _ in mapping))
        to = dict(mapping)
        common.setdefault(form, (places, tuple(to[place] for place in places)))
    return common


def _cliques(one: Sharer, other: Sharer) -> list[_Mapping]:
    vertices = [
        (x, y)
        for x, event in enumerate(one.events)
        for y, same in enumerate(other.events)
        if event == same
    ]
    edges = [
        ((x, y), (v, w))
        for (x, y), (v, w) in combinations(vertices, 2)
        if x != v and y != w and one.pairs[x][v] == other.pairs[y][w]
    ]
    if not edges:
        return [frozenset((vertex,)) for vertex in vertices]
    graph: nx.Graph[tuple[int, int]] = nx.Graph()
    graph.add_nodes_from(vertices)
    graph.add_edges_from(edges)
    return [frozenset(clique) for clique in nx.find_cliques(graph)]


def _maximal(mappings: list[_Mapping], one: Sharer, other: Sharer) -> set[_Mapping]:
    """Return the largest parts of mappings that also agree on conditions of several variables."""
    agreed: set[_Mapping] = set()
    tried: set[_Mapping] = set()
    while mappings:
        mapping = mappings.pop()
        if mapping in tried or not mapping:
            continue
        tried.add(mapping)
        if _agree(mapping, one, other):
            agreed.add(mapping)
        else:
            mappings += [mapping - {pair} for pair in mapping]
    return {mapping for mapping in agreed if not any(mapping < larger for larger in agreed)}


def _agree(mapping: _Mapping, one: Sharer, other: Sharer) -> bool:
    left, right = zip(*sorted(mapping), strict=True)
    said = one.wider_texts(sum(1 << x for x in left), left)
    return said == other.wider_texts(sum(1 << y for y in right), right)
