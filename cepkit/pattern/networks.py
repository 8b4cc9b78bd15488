"""A pattern as a graph of networkx: its structure as a tree, and its conditions."""

from __future__ import annotations

from cepkit.lazy import nx
from cepkit.pattern import nodes as n
from cepkit.pattern.conditions import conjuncts, variables_of
from cepkit.pattern.printer import bound_text, expression_text, structure_text
from cepkit.pattern.query import Query
from cepkit.pattern.trees import children


def query_graph(query: Query) -> nx.DiGraph[int]:
    """Return the structure of a query as a tree, and its conditions: `Query.to_networkx`."""
    graph: nx.DiGraph[int] = nx.DiGraph(window=str(query.window) if query.window else "")
    _add(graph, query.written)
    event_of: dict[str, list[int]] = {}
    for number in graph:
        if (variable := graph.nodes[number].get("variable")) is not None:
            event_of.setdefault(variable, []).append(number)
    conditions = [(expression_text(c), variables_of(c)) for c in conjuncts(query.where)]
    conditions += [(bound_text(b), frozenset((b.first, b.last))) for b in query.bounds]
    for text, variables in conditions:
        number = graph.number_of_nodes()
        graph.add_node(number, kind="condition", label=text)
        for variable in sorted(variables):
            for event in event_of[variable]:
                graph.add_edge(event, number, kind="condition")
    return graph


def _add(graph: nx.DiGraph[int], structure: n.Structure) -> int:
    number = graph.number_of_nodes()
    if isinstance(structure, n.Event):
        graph.add_node(
            number,
            kind="event",
            label=structure_text(structure),
            variable=structure.variable,
            types=None if structure.types is None else sorted(structure.types),
        )
        return number
    kind = "KL" if isinstance(structure, n.Kleene) else type(structure).__name__.upper()
    graph.add_node(number, kind=kind, label=kind)
    for item in children(structure):
        graph.add_edge(number, _add(graph, item), kind="item")
    return number
