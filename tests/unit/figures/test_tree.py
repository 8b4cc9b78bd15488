"""Figures of tree plans: conditions, order, absences and sizes where they belong."""

import math

import pytest

from cepkit.errors import CepkitError, PlanError
from cepkit.figures import draw
from cepkit.figures.diagrams import plan_canvas, tree_canvas
from cepkit.figures.diagrams.chain import Chain
from cepkit.figures.diagrams.pictures import notes_in_words, pictures, steps_in_words
from cepkit.figures.diagrams.tree import Leaf, nodes_of
from cepkit.figures.kit.canvas import Card, Line, Text
from cepkit.figures.kit.strokes import Strokes
from cepkit.figures.kit.svg import to_svg
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import OrderPlan, Pair, Plan, TreePlan
from cepkit.planners.choose import choose_plan, cost_plan
from cepkit.statistics.model import Statistics
from tests.unit.figures.cases import NASTY, THREE, quoted, sequence

FOUR = parse(
    "PATTERN SEQ(A a, B b, NOT(N n), C c, KL(D d){2,3}) "
    "WHERE a.x > 1 AND a.x < b.x AND c.x = a.x AND n.y = a.y WITHIN 1 hour PARTITION BY k"
)
TREE = (("a", "c"), ("b", "d"))


def drawn(tree=TREE, query=FOUR, statistics=None):
    plan = as_plan(tree, query)
    if statistics is not None:
        plan = cost_plan(plan, query, statistics)
    [picture] = pictures(plan, query)
    return picture


def test_a_condition_stands_at_the_lowest_node_that_has_all_its_variables():
    root = drawn().root
    assert root.conditions == ("a.x < b.x",)
    assert root.left.conditions == ("c.x = a.x",)
    assert root.left.left.conditions == ("a.x > 1",)
    assert root.right.conditions == root.left.right.conditions == ()


def test_leaves_name_events_as_in_the_pattern():
    leaves = [node for node in nodes_of(drawn().root) if isinstance(node, Leaf)]
    assert [leaf.event for leaf in leaves] == ["A a", "C c", "B b", "KL(D d){2,3}"]
    assert [leaf.repeated for leaf in leaves] == [False, False, False, True]


def test_an_absence_stands_where_all_it_depends_on_is_bound():
    root = drawn().root
    text = "no N n after b, before c, where n.y = a.y"
    assert root.absences == (text,)
    assert drawn(("d", (("b", "c"), "a"))).root.right.absences == (text,)
    free = parse("PATTERN SEQ(A a, B b, NOT(N n), C c) WITHIN 1 hour")
    assert drawn(("a", ("b", "c")), free).root.right.absences == ("no N n after b, before c",)


def test_joins_show_only_the_order_between_their_sides():
    root = drawn().root
    assert root.order == ("a before b before c before d",)
    assert root.left.order == ("a before c",)
    query = parse("PATTERN SEQ(AND(A a, B b), AND(C c, D d))")
    assert drawn((("a", "b"), ("c", "d")), query).root.order == ("a and b before c and d",)
    assert drawn((("a", "b"), ("c", "d")), query).root.left.order == ()
    assert drawn((("a", "c"), ("b", "d")), query).root.order == ("a before d", "b before c")


def test_window_key_and_strategy_are_shown_once():
    assert drawn().common == "within 1 hour, same k"
    query = parse("PATTERN SEQ(A a, B b) STRATEGY strict-contiguity")
    assert drawn(TreePlan(Pair("a", "b")), query).common == "strict-contiguity"


def test_sizes_are_the_addends_of_the_cost():
    query = parse("PATTERN SEQ(A a, B b, C c) WHERE a.x < c.x WITHIN 100 seconds")
    statistics = Statistics.assumed({"a": 1, "b": 2, "c": 0.1}, {("a", "c"): 0.5})
    plan = cost_plan(as_plan((("a", "c"), "b"), query), query, statistics)
    [tree] = pictures(plan, query)
    sizes = [math.exp(node.log_alive) for node in nodes_of(tree.root)]
    # W^n r.. sel / n! of the root, a with c, a, c and b.
    assert sizes == pytest.approx([100 * 200 * 10 * 0.5 / 6, 100 * 10 * 0.5 / 2, 100, 10, 200])
    assert sum(sizes) == pytest.approx(plan.cost)


@pytest.mark.parametrize("strategy", ["skip-till-any-match", "skip-till-next-match"])
@pytest.mark.parametrize("plan", [["b", "c", "a"], ("b", ("c", "a"))])
def test_sizes_follow_the_plan_and_the_strategy_wherever_the_engine_has_sets(plan, strategy):
    query = parse(f"PATTERN SEQ(A a, KL(B b), C c) WITHIN 10 seconds STRATEGY {strategy}")
    plan = cost_plan(as_plan(plan, query), query, Statistics.assumed({"a": 1, "b": 2, "c": 0.3}))
    [part] = pictures(plan, query)
    nodes = part.takes if isinstance(part, Chain) else nodes_of(part.root)
    assert sum(math.exp(node.log_alive) for node in nodes) == pytest.approx(plan.cost)


def test_tree_without_a_query_uses_the_numbers_of_the_plan():
    query = parse("PATTERN SEQ(A a, B b, C c) WHERE a.x < c.x AND b.x > 1 WITHIN 100 seconds")
    statistics = Statistics.assumed(
        {"a": 1, "b": 2, "c": 0.1}, {("a", "c"): 0.5}, filters={"b": 0.5}
    )
    plan = cost_plan(as_plan((("a", "c"), "b"), query), query, statistics)
    [known], [alone] = pictures(plan, query), pictures(plan)
    assert alone.root.left.conditions == ("conditions between a, c",)
    assert alone.root.right.conditions == ("conditions on b",)
    assert alone.root.conditions == ()
    assert alone.root.right.rate == 1
    assert alone.root.log_alive == pytest.approx(known.root.log_alive)
    assert alone.root.left.log_alive == pytest.approx(known.root.left.log_alive)
    # No step of the engine says how many of the right side there are.
    assert alone.root.right.log_alive is None


def test_the_picture_has_a_card_for_each_node_and_a_wider_edge_for_more():
    statistics = Statistics.assumed({"a": 0.001, "b": 2, "c": 0.1, "d": 1e-4})
    canvas = tree_canvas.layout(drawn(statistics=statistics))
    cards = [item for item in canvas.items if isinstance(item, Card)]
    assert len(cards) == 7
    assert [card.stacked for card in cards] == [False] * 6 + [True]
    edges = [item for item in canvas.items if isinstance(item, Line)]
    labels = [item for item in canvas.items if isinstance(item, Text) and "~" in item.lines[0]]
    assert len(edges) == len(labels) == 7
    sizes = [node.log_alive for node in nodes_of(drawn(statistics=statistics).root)]
    assert [e.width for e in sorted(edges, key=lambda e: e.width)] == [
        Strokes.of(sizes).width(size) for size in sorted(sizes)
    ]  # fmt: skip
    assert len({edge.width for edge in edges}) > 3


def test_the_text_alternative_goes_from_the_variables_to_the_matches():
    said = tree_canvas.layout(drawn()).summary
    assert said == (
        "tree of A a, C c, B b, KL(D d){2,3}: take A a where a.x > 1, "
        "then join a with c where a before c and c.x = a.x, then join b with d where b before d, "
        "then join a, c with b, d where a before b before c before d and a.x < b.x and "
        "no N n after b, before c, where n.y = a.y; at every join within 1 hour, same k"
    )


def test_branches_of_an_or_are_trees_and_chains_below_each_other():
    query = parse("PATTERN OR(SEQ(A a, B b, C c), SEQ(X x, Y y)) WITHIN 1 hour")
    plan = Plan((TreePlan(Pair(Pair("a", "c"), "b")), OrderPlan(("y", "x"))), "by hand")
    tree, chain = pictures(plan, query)
    assert (tree.name, chain.name) == ("branch 1 of 2", "branch 2 of 2")
    assert notes_in_words(tree) == ("At every join: within 1 hour.",)
    assert notes_in_words(chain) == ()
    texts = {i.lines[0]: i.y for i in plan_canvas.layout((tree, chain)).items if type(i) is Text}
    assert texts["branch 1 of 2"] < texts["A a"] < texts["branch 2 of 2"] < texts["Y y"]
    said = " ".join(note.text for note in draw(plan, pattern=query).layout.annotations)
    for text in ("a, c ⋈ b", "a before b before c", "q0", "at every join: within 1 hour"):
        assert text in said


def test_the_steps_of_a_tree_in_words():
    assert steps_in_words(drawn())[-1] == (
        "a, c ⋈ b, d",
        "a before b before c before d",
        "a.x < b.x AND no N n after b, before c, where n.y = a.y",
    )
    takes = [takes for takes, _, _ in steps_in_words(drawn())]
    assert takes[:3] == ["A a", "C c", "a ⋈ c"]


def test_plans_of_a_kind_say_how_much_dearer_they_are():
    statistics = Statistics.assumed({"a": 1, "b": 2, "c": 0.1}, {("a", "b"): 0.5})
    plans = [choose_plan(THREE, statistics, name) for name in ("given-order", "greedy")]
    made = draw(plans, pattern=THREE)
    heads = [note.text for note in made.layout.annotations if "cost" in note.text]
    times = plans[0].cost / plans[1].cost
    assert f"{times:.4g} times the least" in heads[0]
    assert "times" not in heads[1]


def test_plans_stand_side_by_side_on_one_scale():
    statistics = Statistics.assumed({"a": 1, "b": 2, "c": 0.1}, {("a", "b"): 0.5})
    chain = choose_plan(THREE, statistics, "greedy")
    tree = cost_plan(as_plan((("a", "b"), "c"), THREE), THREE, statistics)
    made = draw([tree, chain], pattern=THREE)
    heads = {note.text: note for note in made.layout.annotations if "cost" in note.text}
    assert len(heads) == 2
    left, right = heads.values()
    assert left.y == right.y
    assert left.x < right.x
    assert "greedy" in right.text
    # The cost of a tree counts its leaves, so it is no multiple of an order's.
    assert "times" not in left.text + right.text
    # Both end with the matches, of which there are as many whatever the plan.
    parts = [*pictures(tree, THREE), *pictures(chain, THREE)]
    final = plan_canvas.scale_of(parts).width(parts[0].root.log_alive)
    assert [shape.line.width for shape in made.layout.shapes].count(final) == 2
    assert made.layout.width <= 900
    narrow = draw([tree, chain], pattern=THREE, width=500)
    left, right = (note for note in narrow.layout.annotations if "cost" in note.text)
    assert left.x == right.x
    assert left.y < right.y


def test_only_plans_of_the_pattern_are_drawn():
    with pytest.raises(PlanError):
        draw(as_plan(TREE, FOUR), pattern=THREE)
    with pytest.raises(CepkitError, match=r"no figure of an? .*list"):
        draw([])
    with pytest.raises(CepkitError, match=r"no figure of an? .*list"):
        draw([as_plan(None, THREE), THREE])


def test_names_of_a_tree_are_shown_as_they_are_not_as_html():
    query = sequence(NASTY, rest=f"WHERE {quoted(NASTY[0])}.x > 1")
    plan = Plan((TreePlan(Pair(Pair(NASTY[0], NASTY[1]), NASTY[2])),), "<b>me</b>")
    texts = [note.text for note in draw(plan, pattern=query).layout.annotations]
    assert not any("<b>x" in text or "$" in text for text in texts)
    svg = to_svg(plan_canvas.layout(pictures(plan, query)))
    assert "<b>" not in svg
    assert NASTY[2] in svg
    assert "&lt;b&gt;x&lt;/b&gt;" in svg
