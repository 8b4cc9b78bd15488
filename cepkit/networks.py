"""Values as networkx graphs: a module beside each value registers the conversion."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from cepkit.lazy import nx


@singledispatch
def graph_of(value: object) -> nx.DiGraph[Any]:
    """Return a value as a directed graph."""
    raise TypeError(f"{type(value).__name__} is not a graph")
