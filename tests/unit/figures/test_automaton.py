from itertools import combinations

import pytest

from cepkit.errors import PlanError
from cepkit.figures.charts.plan import draw_plan, draw_query
from cepkit.figures.diagrams import plan_canvas
from cepkit.figures.diagrams.pictures import pictures
from cepkit.figures.kit.canvas import Circle
from cepkit.figures.kit.svg import to_svg
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.checks import as_plan
from cepkit.plan.logarithms import log
from cepkit.planners.choose import choose_plan
from cepkit.statistics.model import Statistics
from tests.unit.figures.cases import NASTY, THREE, TWELVE, sequence
from tests.unit.figures.overlaps import assert_nothing_overlaps


def test_a_condition_goes_to_the_first_step_at_which_all_its_variables_are_bound():
    [chain] = pictures(as_plan(["c", "a", "b"], THREE), THREE)
    assert [take.event for take in chain.takes] == ["C c", "A a", "B b"]
    assert [take.conditions for take in chain.takes] == [
        ("c.price > 3",),
        ("a.price + c.price > 5",),
        ("a.price < b.price",),
    ]
    assert [take.scope for take in chain.takes] == ["", "before c", "after a, before c"]


def test_states_store_types_taken_later_and_ignore_those_taken():
    [chain] = pictures(as_plan(["c", "a", "b"], THREE), THREE)
    assert [(s.name, s.stored, s.ignored) for s in chain.states] == [
        ("q0", ("a", "b"), ()),
        ("q1", ("b",), ("c",)),
        ("q2", (), ("c", "a")),
        ("F", (), ()),
    ]


def test_a_branch_has_a_chain_with_its_absences_and_repetitions():
    query = parse(
        "PATTERN OR(SEQ(A a, NOT(N n), KL(B b){2,3}), SEQ(C c, D d)) "
        "WHERE n.x > a.x AND c.x = d.x WITHIN 1 hour PARTITION BY k"
    )
    first, second = pictures(as_plan(None, query), query)
    assert first.name == "branch 1 of 2"
    assert [t.event for t in first.takes] == ["A a", "KL(B b){2,3}"]
    assert first.absences == ("no N n after a, before b, where n.x > a.x",)
    assert [t.conditions for t in second.takes] == [(), ("same k", "c.x = d.x")]


def test_chain_has_the_numbers_of_the_first_member_where_a_set_begins():
    query = parse("PATTERN SEQ(A a, KL(B b), C c) WITHIN 10 s")
    plan = choose_plan(query, Statistics.assumed({"a": 3, "b": 0.01, "c": 2}))
    [chain] = pictures(plan)
    begins = plan.expected[0][0]
    assert begins.variable == "first(b)"
    assert chain.takes[0].variable == "b"
    assert chain.takes[0].expected == begins
    assert chain.takes[0].log_alive == log(begins.alive)


def test_chain_without_a_query_shows_conditions_by_statistics():
    statistics = Statistics.assumed({"a": 1, "b": 2, "c": 3}, {("a", "b"): 0.5}, filters={"c": 0.1})
    plan = choose_plan(THREE, statistics, "given-order")
    [chain] = pictures(plan)
    assert [t.conditions for t in chain.takes] == [
        (), ("conditions between a, b",), ("conditions on c",),
    ]  # fmt: skip
    assert chain.takes[0].expected == plan.expected[0][0]


def test_a_plan_of_another_query_is_refused():
    with pytest.raises(PlanError):
        draw_plan(as_plan(None, parse("PATTERN SEQ(X x, Y y)")), THREE)


@pytest.mark.parametrize("per_row", [1, 3, 4, 12])
@pytest.mark.parametrize(
    "query",
    [
        THREE,
        sequence(TWELVE, rest="WHERE " + " AND ".join(f"d.x + {v}.y < 3" for v in "efghijkl")),
        parse(
            'PATTERN OR(SEQ(A a, B b, NOT(N n), C c), SEQ("<b>" x, Y y), AND(P p, KL(Q q), R r)) '
            "WHERE a.z < n.z WITHIN 5 minutes"
        ),
    ],
    ids=["three", "twelve", "or"],
)
def test_parts_of_the_picture_do_not_overlap(query, per_row):
    canvas = plan_canvas.layout(pictures(as_plan(None, query), query), per_row=per_row)
    assert_nothing_overlaps(canvas)
    circles = [item for item in canvas.items if isinstance(item, Circle)]
    for first, second in combinations(circles, 2):
        assert abs(first.x - second.x) >= 200 or abs(first.y - second.y) >= 80


def test_the_figure_has_a_state_for_each_step_and_the_final_one():
    made = draw_plan(as_plan(["c", "a", "b"], THREE), THREE)
    [states] = made.data
    assert len(states.x) == 4
    assert states.hovertext[1] == "state q1<br>store a, b".replace("a, b", "b") + "<br>ignore c"
    said = " ".join(a.text for a in made.layout.annotations)
    for text in ("q0", "F", "<b>C c</b>", "after a, before c", "a.price &lt; b.price", "store"):
        assert text in said
    assert made.layout.paper_bgcolor == "rgba(0,0,0,0)"


def test_names_are_shown_as_they_are_not_as_html():
    query = sequence()
    made = draw_query(query)
    texts = [a.text for a in made.layout.annotations]
    assert any("&lt;b&gt;x&lt;/b&gt;" in text for text in texts)
    assert not any("<b>x" in text or "$" in text for text in texts)
    svg = to_svg(plan_canvas.layout(pictures(as_plan(None, query), query)))
    assert "<b>" not in svg
    # The whole of a name that was cut is told where the pointer is.
    assert NASTY[2] in svg
