import math
import re
from dataclasses import dataclass

import pytest

import cepkit as ck
from cepkit.errors import LimitError, PlanError, StatisticsError
from cepkit.pattern.nodes import labels_of
from cepkit.plan import as_plan
from cepkit.planners import PLANNERS, DpTree, Greedy
from cepkit.planners.choose import choose_plan, cost_plan
from cepkit.planners.compare import compare_plans
from cepkit.statistics import Statistics
from tests.unit.costs.cases import choice, compare, conjunction, query, repeated, seq

QUERY = query(seq("a", "b", "c"), compare("a.x", "<", "b.x"), seconds=10)
STATISTICS = Statistics.assumed({"a": 5, "b": 5, "c": 0.5}, {("a", "b"): 0.1})
EITHER = query(seq("a", choice("b", "c")), seconds=10)


def test_a_plan_with_cost_statistics_and_expected_numbers():
    plan = choose_plan(QUERY, STATISTICS)
    assert plan.planner == "dp-order"
    assert plan.branches[0].order == ("c", "a", "b")
    assert plan.cost == pytest.approx(5 + 5 * 50 / 2 + 5 * 50 * 50 * 0.1 / 6)
    assert plan.statistics == STATISTICS
    assert [step.variable for step in plan.expected[0]] == ["c", "a", "b"]
    assert plan.cost == pytest.approx(sum(step.alive for step in plan.expected[0]))


def test_an_or_has_an_order_for_each_branch_and_the_sum_of_costs():
    plan = choose_plan(EITHER, STATISTICS)
    assert [p.order for p in plan.branches] == [("a", "b"), ("c", "a")]
    assert plan.cost == pytest.approx((50 + 50 * 50 * 0.1 / 2) + (5 + 5 * 50 / 2))


def test_choose_plan_accepts_a_planner_with_settings():
    assert choose_plan(QUERY, STATISTICS, Greedy(name="mine")).planner == "mine"


def test_cost_plan_gives_the_cost_of_a_given_order():
    plan = cost_plan(as_plan(["b", "a", "c"], QUERY), QUERY, STATISTICS)
    assert plan.planner == "by hand"
    assert plan.cost == pytest.approx(50 + 2500 * 0.1 / 2 + 5 * 2500 * 0.1 / 6)


def test_a_search_can_be_observed():
    told = []
    plan = choose_plan(QUERY, STATISTICS, "dp-tree", observe=told.append)
    assert told[-1].plan == plan.branches[0]
    assert told[-1].done == 1
    assert any(0 < each.done < 1 for each in told if each.done is not None)


def test_errors_are_those_of_the_parts():
    with pytest.raises(PlanError, match="no planner"):
        choose_plan(QUERY, STATISTICS, "best")
    with pytest.raises(StatisticsError, match="'c'"):
        choose_plan(QUERY, Statistics.assumed({"a": 1, "b": 1}))
    with pytest.raises(PlanError, match="no planner to compare"):
        compare_plans(QUERY, STATISTICS, [])


def test_all_planners_side_by_side():
    comparison = compare_plans(QUERY, STATISTICS)
    assert [row.plan.planner for row in comparison.rows] == list(PLANNERS)
    assert [row.plan for row in comparison.rows] == [
        choose_plan(QUERY, STATISTICS, name) for name in PLANNERS
    ]
    assert comparison.has_trees
    assert min(row.relative for row in comparison.rows) == 1
    cheapest = min(row.tree_cost for row in comparison.rows)
    for row in comparison.rows:
        assert row.tree_cost == pytest.approx(cheapest * row.relative)
        assert row.seconds >= 0
        assert row.observed[-1][-1].plan == row.plan.branches[-1]
    assert comparison.plan("dp-tree").planner == "dp-tree"
    with pytest.raises(PlanError, match=r"no plan of 'best'(.|\n)*given-order, by-frequency"):
        comparison.plan("best")


def test_comparison_of_orders_alone_uses_costs_of_orders():
    comparison = compare_plans(QUERY, STATISTICS, ["given-order", "by-frequency", "greedy"])
    assert not comparison.has_trees
    assert comparison.best.planner == "by-frequency"  # as cheap as greedy, and before it
    for row in comparison.rows:
        assert row.plan.cost == pytest.approx(comparison.best.cost * row.relative)


def test_an_order_as_a_tree_has_leaves_that_cost():
    comparison = compare_plans(QUERY, STATISTICS)
    greedy = next(row for row in comparison.rows if row.plan.planner == "greedy")
    assert greedy.tree_cost == pytest.approx(greedy.plan.cost + 50 + 50)
    assert greedy.latency == pytest.approx(50 + 50)


def test_some_planners():
    comparison = compare_plans(QUERY, STATISTICS, ["greedy", Greedy(name="mine")])
    assert [row.plan.planner for row in comparison.rows] == ["greedy", "mine"]


@dataclass(frozen=True)
class Backwards:
    """A planner as a user would write it, without an observer."""

    name: str = "backwards"

    def plan(self, branch, statistics, cost, observe=None):
        return ck.planners.OrderPlan(branch.variables[::-1])


def test_a_planner_from_outside():
    comparison = compare_plans(QUERY, STATISTICS, [Backwards(), "dp-tree"])
    assert str(comparison.plan("backwards").branches[0]) == "c → b → a"
    assert comparison.rows[0].observed == ((),)
    assert ck.draw(comparison, of="search").data
    assert choose_plan(QUERY, STATISTICS, Backwards(), ck.costs.Blend(0.5)).cost > 0


def test_comparison_lists_planners_that_refuse_below_the_others():
    quick = DpTree(seconds=1e-12)
    comparison = compare_plans(QUERY, STATISTICS, ["greedy", quick])
    assert [row.plan.planner for row in comparison.rows] == ["greedy"]
    assert comparison.refused[0][0] == "dp-tree"
    assert "dp-tree: an exact search over 3 variables may take" in str(comparison)
    assert "dp-tree: an exact search" in comparison._repr_html_()
    with pytest.raises(LimitError, match="an exact search"):
        compare_plans(QUERY, STATISTICS, [quick])


class Interrupted:
    """A planner whose user loses patience."""

    name = "endless"

    def plan(self, *_):
        raise KeyboardInterrupt


def test_interrupted_comparison_keeps_the_plans_found_so_far():
    comparison = compare_plans(QUERY, STATISTICS, ["greedy", Interrupted(), "dp-tree"])
    assert [row.plan.planner for row in comparison.rows] == ["greedy"]
    assert comparison.refused == (("endless", "interrupted, as are those after it"),)
    with pytest.raises(KeyboardInterrupt):
        compare_plans(QUERY, STATISTICS, [Interrupted(), "greedy"])


def test_a_bar_says_which_planner_searches(capsys):
    compare_plans(QUERY, STATISTICS, ["greedy", "dp-order"], progress=True)
    shown = capsys.readouterr().err
    assert "greedy" in shown
    assert "dp-order" in shown
    compare_plans(QUERY, STATISTICS, ["greedy"], progress="auto")
    assert not capsys.readouterr().err


def test_comparison_prints_as_a_table():
    comparison = compare_plans(EITHER, STATISTICS)
    lines = str(comparison).splitlines()
    assert lines[0] == "cost: partial-matches"
    assert re.split(r"  +", lines[1].strip()) == [
        *("planner", "plan", "cost as a tree", "x best", "latency", "planning ms")
    ]
    assert "a → b | c → a" in lines[4]
    starts = [lines[1].index("plan  "), *(re.search("[→⋈]", i).start() - 2 for i in lines[2:-4])]
    assert len(set(starts)) == 1
    assert lines[-4:-2] == [", ".join(labels_of(EITHER.structure).values()), "★ the cheapest"]
    assert lines[-2].startswith("as a tree: an order leans left")
    assert lines[-1].startswith("latency: ")
    frame = comparison.to_pandas()
    assert list(frame.columns) == [
        *("planner", "plan", "cost", "tree_cost", "relative", "latency", "seconds")
    ]
    assert frame.planner.tolist() == list(PLANNERS)
    assert frame.cost.dtype == float
    assert comparison._repr_html_().count("<tr>") == len(PLANNERS) + 1


def test_the_cheapest_plans_are_marked():
    comparison = compare_plans(QUERY, STATISTICS.with_rate("c", 0.001))
    marked = {line.split()[0] for line in str(comparison).splitlines() if " ★ " in line}
    assert marked == {row.plan.planner for row in comparison.rows if comparison.is_best(row)}
    assert 0 < len(marked) < len(PLANNERS)
    assert comparison._repr_html_().count("★") == len(marked) + 1


def test_wide_comparison_prints_plans_below_the_numbers():
    names = [f"variable_{i}" for i in range(6)]
    long = query(seq(*names), seconds=10)
    comparison = compare_plans(long, Statistics.assumed(dict.fromkeys(names, 1.0)))
    numbers, plans = str(comparison).split("\n\n")
    assert max(map(len, numbers.splitlines())) <= 100
    assert "variable_0" not in numbers
    assert plans.splitlines()[0].split() == ["planner", "plan"]
    assert plans.splitlines()[1].split(maxsplit=1) == ["given-order", " → ".join(names)]


def test_html_is_escaped():
    comparison = compare_plans(QUERY, STATISTICS, [Greedy(name="<script>")])
    assert "<script>" not in comparison._repr_html_()


def test_a_cost_of_zero_and_costs_that_overflow_can_be_compared():
    never = compare_plans(
        QUERY, STATISTICS.with_rate("c", 0), ["given-order", "by-frequency", "greedy"]
    )
    assert [row.relative for row in never.rows] == [math.inf, 1, 1]
    huge = query(conjunction(repeated("a"), "b", "c"), seconds=1000)
    comparison = compare_plans(huge, STATISTICS)
    assert comparison.best.cost == math.inf
    assert comparison.best.log_cost < 1e4
    assert all(row.relative >= 1 for row in comparison.rows)
    assert "e+1" in str(comparison)
