import math

import pytest

from cepkit.errors import PlanError, StatisticsError, UnsupportedError
from cepkit.pattern.policies import Strategy
from cepkit.plan import as_plan
from cepkit.planners import PLANNERS, Greedy
from cepkit.planners.choose import choose_plan, cost_plan
from cepkit.planners.compare import compare_plans
from cepkit.statistics import Statistics
from tests.unit.costs.cases import choice, compare, conjunction, query, repeated, seq

QUERY = query(seq("a", "b", "c"), compare("a.x", "<", "b.x"), seconds=10)
STATISTICS = Statistics.assumed({"a": 5, "b": 5, "c": 0.5}, {("a", "b"): 0.1})
EITHER = query(seq("a", choice("b", "c")), seconds=10)


def test_a_plan_with_cost_statistics_and_expected_numbers():
    plan = choose_plan(QUERY, STATISTICS)
    assert plan.planner == "greedy"
    assert plan.branches[0].order == ("c", "a", "b")
    assert plan.cost == pytest.approx(5 + 5 * 50 / 2 + 5 * 50 * 50 * 0.1 / 6)
    assert plan.statistics == STATISTICS
    assert [step.variable for step in plan.expected[0]] == ["c", "a", "b"]
    assert plan.cost == pytest.approx(sum(step.alive for step in plan.expected[0]))


def test_an_or_has_an_order_for_each_branch_and_the_sum_of_costs():
    plan = choose_plan(EITHER, STATISTICS)
    assert [p.order for p in plan.branches] == [("a", "b"), ("c", "a")]
    assert plan.cost == pytest.approx((50 + 50 * 50 * 0.1 / 2) + (5 + 5 * 50 / 2))


def test_a_planner_with_settings_of_its_own():
    assert choose_plan(QUERY, STATISTICS, Greedy(name="mine")).planner == "mine"


def test_a_users_own_order_gets_its_cost():
    plan = cost_plan(as_plan(["b", "a", "c"], QUERY), QUERY, STATISTICS)
    assert plan.planner == "by hand"
    assert plan.cost == pytest.approx(50 + 2500 * 0.1 / 2 + 5 * 2500 * 0.1 / 6)


def test_errors_are_those_of_the_parts():
    with pytest.raises(PlanError, match="no planner"):
        choose_plan(QUERY, STATISTICS, "best")
    with pytest.raises(StatisticsError, match="'c'"):
        choose_plan(QUERY, Statistics.assumed({"a": 1, "b": 1}))
    other = query(seq("a", "b"), strategy=Strategy.STRICT_CONTIGUITY)
    with pytest.raises(UnsupportedError, match="strict-contiguity"):
        choose_plan(other, STATISTICS)
    with pytest.raises(PlanError, match="no planner to compare"):
        compare_plans(QUERY, STATISTICS, [])


def test_all_planners_side_by_side():
    comparison = compare_plans(QUERY, STATISTICS)
    assert [row.plan.planner for row in comparison.rows] == list(PLANNERS)
    assert [row.plan for row in comparison.rows] == [
        choose_plan(QUERY, STATISTICS, name) for name in PLANNERS
    ]
    assert comparison.best.planner == "by-frequency"  # as cheap as greedy, and before it
    assert min(row.relative for row in comparison.rows) == 1
    for row in comparison.rows:
        assert row.plan.cost == pytest.approx(comparison.best.cost * row.relative)
        assert row.seconds >= 0


def test_some_planners():
    comparison = compare_plans(QUERY, STATISTICS, ["greedy", Greedy(name="mine")])
    assert [row.plan.planner for row in comparison.rows] == ["greedy", "mine"]


def test_as_a_table():
    comparison = compare_plans(EITHER, STATISTICS)
    lines = str(comparison).splitlines()
    assert lines[0] == "cost: partial-matches"
    assert lines[1].split() == ["planner", "plan", "cost", "relative", "seconds"]
    assert "a → b | c → a" in lines[4]
    starts = [lines[1].index("plan  "), *(line.index("→") - 2 for line in lines[2:])]
    assert len(set(starts)) == 1
    frame = comparison.to_pandas()
    assert list(frame.columns) == ["planner", "plan", "cost", "relative", "seconds"]
    assert frame.planner.tolist() == list(PLANNERS)
    assert frame.cost.dtype == float
    assert comparison._repr_html_().count("<tr>") == 4


def test_html_is_escaped():
    comparison = compare_plans(QUERY, STATISTICS, [Greedy(name="<script>")])
    assert "<script>" not in comparison._repr_html_()


def test_a_cost_of_zero_and_costs_that_overflow_can_be_compared():
    never = compare_plans(QUERY, STATISTICS.with_rate("c", 0))
    assert [row.relative for row in never.rows] == [math.inf, 1, 1]
    huge = query(conjunction(repeated("a"), "b", "c"), seconds=1000)
    comparison = compare_plans(huge, STATISTICS)
    assert comparison.best.cost == math.inf
    assert comparison.best.log_cost < 1e4
    assert all(row.relative >= 1 for row in comparison.rows)
    assert "e+1" in str(comparison)
