"""Connected components of small graphs, against networkx."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from cepkit.components import components

NODES = st.integers(0, 8)


@given(st.lists(st.tuples(NODES, NODES)))
def test_components_are_those_of_networkx_in_the_order_of_their_first_edges(
    edges: list[tuple[int, int]],
) -> None:
    graph = nx.Graph(edges)
    assert components(edges) == [*nx.connected_components(graph)]
