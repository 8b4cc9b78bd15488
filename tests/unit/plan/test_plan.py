import math
import pickle
from dataclasses import replace

import pytest

import cepkit as ck
from cepkit.errors import PlanError
from cepkit.plan import ExpectedStep, OrderPlan, Pair, Plan, TreePlan, as_plan, check_plan
from cepkit.plan.logarithms import from_log, log, log_sum, log_text
from cepkit.plan.nodes import leaves, work_of
from cepkit.plan.printer import one_line
from cepkit.statistics import Statistics
from tests.unit.costs.cases import absent, choice, query, seq

ABC = query(seq("a", absent("n"), "b", "c"))
EITHER = query(seq("a", choice("b", "c")))


def plan(*orders):
    return Plan(tuple(OrderPlan(tuple(order)) for order in orders), "by hand")


def test_a_plan_of_the_query_is_returned():
    for order in ("abc", "cba"):
        assert check_plan(plan(order), ABC) == plan(order)
    assert check_plan(plan("ab", "ca"), EITHER) == plan("ab", "ca")


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("ab", "leaves out 'c'"),
        ("", "leaves out 'a'"),
        ("abcc", "names 'c' twice"),
        ("abd", "'d', which is not a variable"),
        ("abC", "did you mean 'c'"),
        ("anbc", "'n', which stands under NOT"),
    ],
)
def test_other_plans_are_refused(order, message):
    with pytest.raises(PlanError, match=message):
        check_plan(plan(order), ABC)


def test_branches_are_counted():
    with pytest.raises(PlanError, match="1 branch, the pattern 2 branches"):
        check_plan(plan("ab"), EITHER)
    with pytest.raises(PlanError, match="leaves out 'c'"):
        check_plan(plan("ab", "a"), EITHER)


def test_as_plan_accepts_lists_orders_plans_and_none():
    assert as_plan(["c", "b", "a"], ABC) == plan("cba")
    assert as_plan(OrderPlan(("c", "b", "a")), ABC) == plan("cba")
    assert as_plan(plan("cba"), ABC) == plan("cba")
    assert as_plan(None, ABC).branches == plan("abc").branches
    assert as_plan(None, EITHER).branches == plan("ab", "ac").branches


@pytest.mark.parametrize("value", [["a", "b"], ("a", "b", "x"), OrderPlan(()), plan("ab"), "abc"])
def test_as_plan_refuses_other_variables_and_other_values(value):
    with pytest.raises(PlanError):
        as_plan(value, ABC)


def test_one_order_is_not_enough_for_an_or():
    with pytest.raises(PlanError, match="2 branches"):
        as_plan(["a", "b"], EITHER)


def test_plan_prints_on_one_line():
    assert one_line(plan("acb")) == "a → c → b"
    assert one_line(plan("ab", "ca")) == "a → b | c → a"


STEPS = (ExpectedStep("b", 1000, 900, 9), ExpectedStep("a", 1e9, 2e8, math.inf))
FULL = Plan((OrderPlan(("b", "a")),), "greedy", math.log(1234), Statistics({}), (STEPS,))


def test_plan_prints_its_expected_numbers():
    assert str(FULL).splitlines() == [
        "planner: greedy, cost 1,234",
        "b → a",
        "  step  candidates  partial matches  alive in a window",
        "  + b        1,000              900                  9",
        "  + a        1e+09            2e+08                inf",
        (
            "expected matches: 2e+08, for events that come evenly and conditions that hold "
            "independently, before NOT"
        ),
        (
            "warning: more than 1e+308 partial matches alive in one window are expected; shorten "
            "WITHIN, add conditions, PARTITION BY a key, bound KL, as in {1,3}"
        ),
    ]
    assert str(plan("ab", "ca")) == "planner: by hand\na → b\nc → a"


def test_a_tree_prints_as_a_tree_and_variables_have_their_types():
    query = ck.parse("PATTERN SEQ(X a, Y b, Z c) WITHIN 9 s")
    known = replace(Statistics(dict.fromkeys("abc", 1.0)), query=query)
    steps = (ExpectedStep("a", 1, 1, 1),)
    tree = Plan((TreePlan(Pair("a", Pair("b", "c"))),), "by hand", None, known, (steps,))
    assert str(tree).splitlines()[1:8] == [
        "a ⋈ (b ⋈ c)",
        "  ⋈",
        "  ├─ a: X",
        "  └─ ⋈",
        "     ├─ b: Y",
        "     └─ c: Z",
        "  step    candidates  partial matches  alive in a window",
    ]
    assert "  + a: X " in str(tree)
    assert "├─ a: X" in tree._repr_html_()


def test_html_is_escaped():
    named = Plan((OrderPlan(("<b>",)),), "<i>", 0.0, None, ((ExpectedStep("<b>", 1, 1, 1),),))
    for shown in (named, Plan(named.branches, "<i>")):
        assert "<b>" not in shown._repr_html_()
        assert "<i>" not in shown._repr_html_()


def test_plan_is_a_hashable_value_and_pickles():
    assert FULL.cost == pytest.approx(1234)
    assert plan("ab").cost is None
    assert pickle.loads(pickle.dumps(FULL)) == FULL
    assert len({FULL, FULL, plan("ab")}) == 2


def test_logarithms_of_zero_and_beyond_floats():
    assert log(0) == -math.inf
    assert from_log(-math.inf) == 0
    assert from_log(1e6) == math.inf
    assert log_sum([]) == -math.inf
    assert log_sum([-math.inf, -math.inf]) == -math.inf
    assert log_sum([math.log(2), math.log(3), -math.inf]) == pytest.approx(math.log(5))
    assert log_sum([1e6, 1e6]) == pytest.approx(1e6 + math.log(2))
    assert log_text(math.log(2) * 50_000) == "3.161e+15051"
    assert log_text(-math.inf) == "0"


FOUR = query(seq("a", "b", "c", "d"))


def test_nested_pairs_are_a_tree():
    made = as_plan((("a", "b"), ["c", "d"]), FOUR)
    assert made.branches == (TreePlan(Pair(Pair("a", "b"), Pair("c", "d"))),)
    assert one_line(made) == "(a ⋈ b) ⋈ (c ⋈ d)"
    assert leaves(made.branches[0].root) == ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ((("a", "b"), "c"), "leaves out 'd'"),
        ((("a", "b"), ("c", "c")), "names 'c' twice"),
        ((("a", "b", "c"), "d"), "cannot have .* as a node"),
        ((("a", "b"), ("c", 4)), "cannot have 4 as a node"),
    ],
)
def test_other_trees_are_refused(tree, message):
    with pytest.raises(PlanError, match=message):
        as_plan(tree, FOUR)


def test_work_of_a_tree_lists_its_left_side_and_joined_subtrees():
    work = work_of(TreePlan(Pair(Pair("a", Pair("b", "c")), Pair("d", "e"))))
    assert [unit.name for unit in work] == ["b", "c", "a", "(d ⋈ e)"]
    assert [unit.name for unit in work[-1].inner] == ["d", "e"]
    assert [unit.name for unit in work_of(OrderPlan(("b", "a")))] == ["b", "a"]


def test_work_of_a_tree_leaves_out_the_given_variables():
    tree = TreePlan(Pair(Pair("a", "b"), Pair("c", "d")))
    assert [unit.name for unit in work_of(tree, {"c", "d"})] == ["a", "b"]
    assert [unit.name for unit in work_of(tree, {"a", "c"})] == ["b", "d"]
    assert work_of(tree, {"a", "b", "c", "d"}) == ()


def test_a_plan_of_another_pattern_says_of_which():
    stream = ck.events(ck.sample_stocks(500), time="ts", type="ticker")
    other = "PATTERN SEQ(MSFT x, GOOG y) WITHIN 5 minutes"
    known = ck.choose_plan(other, ck.profile(stream, other))
    with pytest.raises(PlanError, match="not a variable") as caught:
        ck.detect(stream, "PATTERN SEQ(MSFT a, GOOG b) WITHIN 5 minutes", known)
    assert caught.value.hint.startswith("the plan was made for another pattern: PATTERN SEQ(MSFT x")
