"""The connected components of small graphs: networkx takes longer to import than this to run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def components(edges: Iterable[tuple[T, T]]) -> list[set[T]]:
    """Return the nodes of each component, in the order of their first edges."""
    merged: list[set[T]] = []
    for edge in edges:
        touched = [each for each in merged if not each.isdisjoint(edge)] or [set()]
        first = touched[0].union(edge, *touched[1:])
        if touched[0]:
            merged[merged.index(touched[0])] = first
            merged = [each for each in merged if each not in touched[1:]]
        else:
            merged.append(first)
    return merged
