"""Figures of pattern graphs and shared plans: nothing overlaps."""

from functools import cache
from itertools import pairwise

import pytest

import cepkit as ck
from cepkit.figures.charts import pattern_graph, shared_plan
from cepkit.figures.diagrams.layered import SHADES
from cepkit.figures.kit.canvas import Card, Line, Text
from cepkit.figures.kit.layers import crossings, layered, middles
from cepkit.figures.kit.style import BLUE, ink
from cepkit.printing import plain
from tests.unit.figures.cases import NASTY, quoted
from tests.unit.figures.overlaps import assert_nothing_overlaps
from tests.unit.sharing.cases import drawn, measured


@cache
def patterns(count):
    texts, statistics = drawn(count)
    return [ck.parse(text) for text in texts], statistics


def plan_of(count, share):
    return ck.choose_plan(*patterns(count), share=share)


def lines_of(canvas):
    return [line for item in canvas.items if isinstance(item, Text) for line in item.lines]


def cards_of(canvas):
    return [item for item in canvas.items if isinstance(item, Card)]


def test_crossings_are_undone_and_an_edge_that_skips_a_row_has_a_lane():
    graph = layered([1, 1, 2, 2, 3], [(0, 3), (1, 2), (0, 4), (2, 4)])
    assert crossings(graph) == 0
    assert [len(row) for row in graph.rows] == [2, 3, 1]
    assert [spot for row in graph.rows for spot in row if graph.is_lane(spot)] == [(0, 1)]
    places = middles(graph, {spot: 20.0 for row in graph.rows for spot in row}, 70)
    for row in graph.rows:
        xs = [places[spot] for spot in row]
        assert all(b - a >= 20 - 1e-9 for a, b in pairwise(xs))
        assert min(xs) >= 10 - 1e-9
        assert max(xs) <= 60 + 1e-9


@pytest.mark.parametrize("share", ["prefix", "tree", "none"])
def test_a_shared_plan_has_a_card_for_each_node_and_a_line_for_each_source(share):
    plan = plan_of(4, share)
    canvas = shared_plan.picture([plan], nodes=200)
    assert_nothing_overlaps(canvas)
    assert len(cards_of(canvas)) == len(plan.nodes)
    heads = [line for line in lines_of(canvas) if line[:1] == "x" and line[1:].isdigit()]
    assert sorted(heads) == sorted(f"x{len(node.names)}" for node in plan.nodes)
    blue = any(i.colour == BLUE for i in canvas.items if isinstance(i, Line))
    assert blue == any(len(plan.nodes[s].names) > 1 for n in plan.nodes for s in n.sources)
    assert not any("drawn as one" in line for line in lines_of(canvas))


def test_lines_are_wider_for_more_partial_matches():
    texts = [f"PATTERN SEQ({x} x, B b, C c) WITHIN 100 s" for x in "AD"]
    queries = [ck.parse(text) for text in texts]
    statistics = measured(queries, {"A": 0.01, "B": 100.0, "C": 100.0, "D": 0.01})
    plan = ck.choose_plan(queries, statistics)
    canvas = shared_plan.picture([plan])
    widths = {line.width for line in canvas.items if isinstance(line, Line)}
    sources = {plan.nodes[s].alive for node in plan.nodes for s in node.sources}
    assert len(widths) == len({max(alive, 1) for alive in sources}) > 1


@pytest.mark.slow
@pytest.mark.parametrize("width", [500, 780, 1400])
def test_many_patterns_are_grouped_with_a_notice(width):
    plan = plan_of(60, "tree")
    graph = ck.sharing.pattern_graph(patterns(60)[0])
    for canvas in (
        shared_plan.picture([plan], width=width),
        pattern_graph.picture(graph, width=width),
        shared_plan.picture([plan_of(60, "none"), plan], width=width),
    ):
        assert_nothing_overlaps(canvas)
        assert any("drawn as one card in each row" in line for line in lines_of(canvas))
        assert any(card.stacked for card in cards_of(canvas))


def test_the_lines_of_a_pattern_graph_are_its_edges():
    graph = ck.sharing.pattern_graph(patterns(3)[0])
    canvas = pattern_graph.picture(graph)
    assert_nothing_overlaps(canvas)
    assert len(cards_of(canvas)) == graph.to_networkx().number_of_nodes()
    assert {"x2", "pattern 1", "pattern 2", "pattern 3"} <= {*lines_of(canvas)}
    assert {card.hover.splitlines()[0] for card in cards_of(canvas)} >= {
        plain(common) for common in graph.holders
    }


def test_patterns_with_nothing_in_common_and_odd_names():
    odd = ", ".join(f"{quoted(name)} v{i}" for i, name in enumerate(NASTY))
    queries = {name: ck.parse(f"PATTERN SEQ({odd}) WITHIN 5 s") for name in NASTY[:2]}
    canvas = pattern_graph.picture(ck.sharing.pattern_graph(queries))
    assert_nothing_overlaps(canvas)
    alone = pattern_graph.picture(ck.sharing.pattern_graph(["PATTERN SEQ(A a, B b) WITHIN 5 s"]))
    assert_nothing_overlaps(alone)
    assert "1 pattern, 0 maximal common sub-patterns" in lines_of(alone)
    assert not any(isinstance(item, Line) for item in alone.items)


def test_texts_on_cards_have_enough_contrast():
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    dark = luminance(ink(SHADES[0][1]))
    assert all((luminance(shade) + 0.05) / (dark + 0.05) > 4.5 for _, shade in SHADES)
