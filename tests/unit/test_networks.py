"""Graphs of cepkit are graphs of networkx too, and networkx alone can draw them."""

import networkx as nx

import cepkit as ck
from cepkit.automata.mechanisms import MECHANISMS
from tests.unit.figures.test_player import stream_of

PATTERN = ck.parse("PATTERN SEQ(A a, NOT(X n), B b, KL(C c)) WHERE a.price < b.price WITHIN 9 s")
SIMPLE = ck.parse("PATTERN SEQ(A a, B b, C c) WHERE a.price < b.price WITHIN 9 s")
EITHER = ck.parse("PATTERN OR(SEQ(A a, B b), SEQ(C c, A d)) WITHIN 9 s")


def statistics(pattern):
    return ck.profile(stream_of("AABXCBAC"), pattern)


def graphs():
    yield "pattern", PATTERN.to_networkx()
    yield "plan", ck.choose_plan(SIMPLE, statistics(SIMPLE)).to_networkx()
    yield "tree", ck.choose_plan(SIMPLE, statistics(SIMPLE), planner="dp-tree").to_networkx()
    yield "branches", ck.choose_plan(EITHER, statistics(EITHER)).to_networkx()
    for name in MECHANISMS:
        yield name, ck.simulate(stream_of("AABXCBAC"), SIMPLE, name).diagram.to_networkx()
    several = {
        "p": "PATTERN SEQ(A a, B b) WITHIN 9 s",
        "q": "PATTERN SEQ(A a, B b, C c) WITHIN 9 s",
    }
    yield "common", ck.sharing.pattern_graph(several).to_networkx()
    known = ck.profile(stream_of("AABXCBAC"), several)
    yield "shared", ck.choose_plan(several, known).to_networkx()


def test_networkx_draws_each_alone():
    for name, graph in graphs():
        labels = nx.get_node_attributes(graph, "label")
        assert len(labels) == graph.number_of_nodes() > 1, name
        text = "\n".join(nx.generate_network_text(graph, with_labels=True))
        assert all(str(label) in text for label in labels.values()), name
        places = nx.get_node_attributes(graph, "pos") or nx.spring_layout(graph, seed=1)
        assert len({tuple(place) for place in places.values()}) == graph.number_of_nodes(), name


def test_a_pattern_is_a_tree_with_conditions_below():
    graph = PATTERN.to_networkx()
    assert [graph.nodes[i]["kind"] for i in range(8)] == [
        "SEQ", "event", "NOT", "event", "event", "KL", "event", "condition",
    ]  # fmt: skip
    assert graph.nodes[1] == {
        "kind": "event", "label": "A a", "variable": "a", "types": ["A"],
    }  # fmt: skip
    assert graph.nodes[7]["label"] == "a.price < b.price"
    assert sorted(graph.predecessors(7)) == [1, 4]
    items = [(u, v) for u, v, kind in graph.edges(data="kind") if kind == "item"]
    assert items == [(0, 1), (0, 2), (0, 4), (0, 5), (2, 3), (5, 6)]
    assert nx.is_directed_acyclic_graph(graph)


def test_an_order_is_a_chain_and_has_the_expected_numbers():
    plan = ck.choose_plan(SIMPLE, statistics(SIMPLE))
    graph = plan.to_networkx()
    assert nx.is_path(graph, [(0, i) for i in range(4)])
    assert graph.nodes[0, 3]["kind"] == "final"
    first = plan.expected[0][0]
    assert graph.nodes[0, 1]["partial_matches"] == first.partial_matches
    assert graph.edges[(0, 0), (0, 1)]["label"].startswith(f"{first.variable}: ")


def test_a_tree_leads_from_its_leaves_to_its_root():
    graph = ck.choose_plan(SIMPLE, statistics(SIMPLE), planner="dp-tree").to_networkx()
    assert nx.is_arborescence(graph.reverse())
    leaves = [node for node, degree in graph.in_degree if degree == 0]
    assert sorted(graph.nodes[leaf]["label"] for leaf in leaves) == ["a: A", "b: B", "c: C"]
