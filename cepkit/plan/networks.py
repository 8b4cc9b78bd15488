"""A plan as a graph of networkx: an order as a path of states, a tree as a tree."""

from __future__ import annotations

from typing import Any, assert_never

from cepkit.lazy import nx
from cepkit.networks import graph_of
from cepkit.pattern.nodes import labels_of
from cepkit.plan.nodes import OrderPlan, Pair, Plan, Tree, TreePlan, first_member, leaves, tree_text


@graph_of.register(Plan)
def plan_graph(plan: Plan) -> nx.DiGraph[tuple[int, int]]:
    """Return a plan as the chain of an automaton for each order, and a tree for each tree.

    Nodes are (branch, number). Attributes of a node: `kind` (start, state, final, leaf, join),
    `label`, `variables` and, where they are known, `candidates`, `partial_matches` and `alive` of
    the step that leads there. Edges lead from a state to the next, and from joined subtrees to the
    join; an edge of a chain has its event as `label`.
    """
    graph: nx.DiGraph[tuple[int, int]] = nx.DiGraph(planner=plan.planner, cost=plan.cost)
    query = None if plan.statistics is None else plan.statistics.query
    labels = {} if query is None else labels_of(query.structure)
    for number, branch in enumerate(plan.branches):
        steps = plan.expected[number] if plan.expected else ()
        expected: dict[str, dict[str, Any]] = {
            step.variable: {
                "candidates": step.candidates,
                "partial_matches": step.partial_matches,
                "alive": step.alive,
            }
            for step in steps
        }
        match branch:
            case OrderPlan(order):
                graph.add_node((number, 0), kind="start", label="q0", variables=())
                for place, variable in enumerate(order, start=1):
                    final = place == len(order)
                    graph.add_node(
                        (number, place),
                        kind="final" if final else "state",
                        label="F" if final else f"q{place}",
                        variables=order[:place],
                        **expected.get(first_member(variable), expected.get(variable, {})),
                    )
                    event = labels.get(variable, variable)
                    graph.add_edge((number, place - 1), (number, place), label=event)
            case TreePlan(root):
                _add(graph, root, number, labels)
            case _:
                assert_never(branch)
    return graph


def _add(
    graph: nx.DiGraph[tuple[int, int]], tree: Tree, branch: int, labels: dict[str, str]
) -> tuple[int, int]:
    match tree:
        case str():
            sources = []
        case Pair(left, right):
            sources = [_add(graph, side, branch, labels) for side in (left, right)]
        case _:
            assert_never(tree)
    node = branch, sum(one[0] == branch for one in graph)
    graph.add_node(
        node,
        kind="join" if sources else "leaf",
        label=tree_text(tree) if sources else labels.get(tree_text(tree), tree_text(tree)),
        variables=leaves(tree),
    )
    graph.add_edges_from((source, node) for source in sources)
    return node
