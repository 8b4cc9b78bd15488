"""Pictures of plans: nothing overlaps, for any tree, names and conditions."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.figures.diagrams import plan_canvas
from cepkit.figures.diagrams.pictures import pictures
from cepkit.figures.kit.canvas import Card
from cepkit.figures.kit.tidy import Node, arranged, width_of_tree
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.nodes import OrderPlan, Pair, Plan, TreePlan
from cepkit.planners.choose import cost_plan
from cepkit.statistics.model import Statistics
from tests.unit.figures.cases import NASTY, TWELVE, quoted, sequence
from tests.unit.figures.overlaps import assert_nothing_overlaps


def leaning_left(names):
    tree = names[0]
    for name in names[1:]:
        tree = Pair(tree, name)
    return tree


def leaning_right(names):
    return names[0] if len(names) == 1 else Pair(names[0], leaning_right(names[1:]))


def balanced(names):
    half = (len(names) + 1) // 2
    return names[0] if len(names) == 1 else Pair(balanced(names[:half]), balanced(names[half:]))


@st.composite
def trees(draw, names):
    if len(names) == 1:
        return names[0]
    at = draw(st.integers(1, len(names) - 1))
    return Pair(draw(trees(names[:at])), draw(trees(names[at:])))


NAMES = st.text("abWM日本é .'$<\u0301", min_size=1, max_size=40).map(str.strip).filter(bool)


@st.composite
def planned(draw, most=12):
    """A query with a plan whose numbers are known: a tree or an order for each branch."""
    names = draw(st.lists(NAMES, min_size=1, max_size=most, unique_by=str.casefold))
    kinds = draw(st.lists(NAMES, min_size=len(names), max_size=len(names)))
    events = [f"{quoted(k)} {quoted(v)}" for k, v in zip(kinds, names, strict=True)]
    repeated = draw(st.sets(st.integers(0, len(names) - 1), max_size=2))
    events = [f"KL({event})" if i in repeated else event for i, event in enumerate(events)]
    if len(names) > 1 and draw(st.booleans()):
        events.insert(1, "NOT(N none)")
    one = st.sampled_from(names)
    pairs = draw(st.lists(st.tuples(one, one), max_size=15))
    conditions = [f"{quoted(x)}.some_price + {quoted(y)}.x < 30" for x, y in pairs]
    structure = f"{draw(st.sampled_from(['SEQ', 'AND']))}({', '.join(events)})"
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    query = parse(f"PATTERN {structure} {where} WITHIN 90 minutes PARTITION BY kind")
    made = []
    for branch in normal_form(query):
        order = draw(st.permutations(branch.variables))
        tree = st.builds(TreePlan, trees(tuple(order)))
        made.append(draw(st.one_of(tree, st.just(OrderPlan(tuple(order))))))
    rates = draw(st.lists(st.floats(0, 100), min_size=len(names), max_size=len(names)))
    plan = Plan(tuple(made), draw(NAMES))
    if draw(st.booleans()):
        plan = cost_plan(plan, query, Statistics.assumed(dict(zip(names, rates, strict=True))))
    return query, plan


@given(planned(), st.integers(200, 1000), st.booleans())
def test_nothing_overlaps_in_a_plan(case, room, knows_query):
    query, plan = case
    canvas = plan_canvas.layout(pictures(plan, query if knows_query else None), room)
    assert_nothing_overlaps(canvas)
    trees_drawn = sum(isinstance(item, Card) for item in canvas.items)
    nodes = sum(
        2 * len(b.variables) - 1
        for p, b in zip(plan.branches, normal_form(query), strict=True)
        if isinstance(p, TreePlan)
    )
    assert trees_drawn == nodes


@given(st.lists(planned(most=6), min_size=1, max_size=3))
def test_nothing_overlaps_where_plans_stand_beside_each_other(cases):
    shown = [(plan.planner, pictures(plan, query)) for query, plan in cases]
    assert_nothing_overlaps(plan_canvas.side_by_side(shown))


@pytest.mark.parametrize("shape", [leaning_left, leaning_right, balanced])
@pytest.mark.parametrize("size", [2, 4, 8, 12])
def test_twelve_long_names_keep_to_the_room(shape, size):
    names = (*NASTY, *"defghijkl")[:size]
    query = sequence(names, rest="WHERE " + " AND ".join(f"{quoted(v)}.y < 3" for v in names))
    plan = Plan((TreePlan(shape(names)),), "by hand")
    canvas = plan_canvas.layout(pictures(plan, query))
    assert_nothing_overlaps(canvas)
    assert canvas.width <= 900


@pytest.mark.parametrize("per_row", [1, 3, 4])
def test_twelve_steps_of_an_order_do_not_overlap(per_row):
    rest = "WHERE " + " AND ".join(f"d.x + {v}.y < 3 AND {v}.z > 7" for v in "efghijkl")
    query = sequence(TWELVE, rest=rest + " WITHIN 1 hour")
    statistics = Statistics.assumed(dict.fromkeys(TWELVE, 0.7))
    plan = cost_plan(Plan((OrderPlan(TWELVE[::-1]),), "by hand"), query, statistics)
    assert_nothing_overlaps(plan_canvas.layout(pictures(plan, query), per_row=per_row))


WIDTHS = st.floats(1, 50)
NODES = st.recursive(
    st.builds(Node, WIDTHS, WIDTHS),
    lambda below: st.builds(
        Node, WIDTHS, WIDTHS, st.lists(below, min_size=1, max_size=4).map(tuple)
    ),
    max_leaves=12,
)


def listed(node):
    return [node, *(below for child in node.children for below in listed(child))]


@given(NODES, st.booleans())
def test_nodes_of_a_level_keep_their_distance_and_order(root, straight):
    places = arranged(root, 5, straight=straight)
    levels = {}
    for node, place in zip(listed(root), places, strict=True):
        levels.setdefault(place.level, []).append((place.x - node.left, place.x + node.right))
    for spans in levels.values():
        for (_, right), (left, _) in pairwise(spans):
            assert left - right >= 5 - 1e-6
    assert min(left for spans in levels.values() for left, _ in spans) == pytest.approx(0)
    widest = max(right for spans in levels.values() for _, right in spans)
    assert width_of_tree(root, places) == pytest.approx(widest)


def test_a_parent_stands_over_the_middle_of_its_children_or_over_the_heaviest():
    leaf = Node(10, 10)
    root = Node(10, 10, (leaf, Node(10, 10, (leaf, leaf))))
    at = [place.x for place in arranged(root, 5)]
    assert at[0] == (at[1] + at[2]) / 2
    assert [place.level for place in arranged(root, 5)] == [0, 1, 1, 2, 2]
    straight = [place.x for place in arranged(root, 5, straight=True)]
    assert straight[0] == straight[2]
