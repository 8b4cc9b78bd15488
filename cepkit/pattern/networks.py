"""A pattern as a graph of networkx: its structure as a tree, and its conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from cepkit.networks import graph_of
from cepkit.pattern import nodes as n
from cepkit.pattern.conditions import conjuncts, variables_of
from cepkit.pattern.printer import bound_text, expression_text, structure_text
from cepkit.pattern.query import Query

if TYPE_CHECKING:
    import networkx as nx


@graph_of.register(Query)
def query_graph(query: Query) -> nx.DiGraph[int]:
    """Return the structure of a query as a tree, node 0 its root, and its conditions.

    A node has a `kind` (the operator, event or condition) and a `label`; an event also has its
    `variable` and `types` (None: any). Edges of `kind` "item" lead from a node to its items, in
    order; edges of `kind` "condition" lead from an event to the conditions that read it.
    """
    import networkx as nx

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
    items: tuple[n.Structure, ...]
    match structure:
        case n.Event(variable, types):
            graph.add_node(
                number,
                kind="event",
                label=structure_text(structure),
                variable=variable,
                types=None if types is None else sorted(types),
            )
            return number
        case n.Seq(items):
            kind = "SEQ"
        case n.And(items):
            kind = "AND"
        case n.Or(items):
            kind = "OR"
        case n.Not(item):
            kind, items = "NOT", (item,)
        case n.Kleene(item, until=until):
            kind, items = "KL", (item,) if until is None else (item, until)
        case n.First(item):
            kind, items = "FIRST", (item,)
        case n.Next(item):
            kind, items = "NEXT", (item,)
        case n.Opt(item):
            kind, items = "OPT", (item,)
        case _:
            assert_never(structure)
    graph.add_node(number, kind=kind, label=kind)
    for item in items:
        graph.add_edge(number, _add(graph, item), kind="item")
    return number
