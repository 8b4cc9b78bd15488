import pytest

from cepkit.costs import PARTIAL_MATCHES, OutputProfile
from cepkit.errors import PlanError, StatisticsError
from cepkit.planners.choose import choose_plan, cost_plan
from cepkit.planners.compare import compare_plans
from cepkit.planners.tradeoff import weigh
from cepkit.planners.what_if import what_if
from cepkit.statistics import Statistics
from tests.unit.costs.cases import conjunction, query, seq

QUERY = query(seq("a", "b", "c"), seconds=10)
RARE_LAST = Statistics.assumed({"a": 5, "b": 5, "c": 0.5})


def test_greater_alpha_gives_plans_of_less_latency():
    found = weigh(QUERY, RARE_LAST, ["dp-order"], [0, 0.5, 1000])
    assert [str(row.plan.branches[0])[0] for row in found.rows] == ["c", "c", "a"]
    latencies = [row.log_latency for row in found.rows]
    costs = [row.log_partial_matches for row in found.rows]
    assert latencies == sorted(latencies, reverse=True)
    assert costs == sorted(costs)
    assert all(row.best for row in found.rows)
    assert found.to_pandas().alpha.tolist() == [0, 0.5, 1000]
    assert "partial matches" in str(found)
    assert found._repr_html_().count("<tr>") == 4


def test_a_plan_that_is_beaten_in_both_is_marked():
    misled = Statistics.assumed({"a": 10, "b": 10, "c": 9}, {("a", "b"): 0.001})
    both = query(conjunction("a", "b", "c"), seconds=1)
    found = weigh(both, misled, ["greedy", "dp-order"], [0])
    assert [row.best for row in found.rows] == [False, True]
    _, beaten, best, labels, _ = str(found).splitlines()
    assert ("★" in beaten, "★" in best) == (False, True)
    assert labels == "a: A, b: B, c: C"


def test_output_profile_changes_the_best_plan():
    both = query(conjunction("a", "b"), seconds=10)
    statistics = Statistics.assumed({"a": 5, "b": 4})
    for last in "ab":
        found = weigh(both, statistics, ["dp-order"], [100], OutputProfile({last: 1}))
        assert found.rows[0].plan.branches[0].order[-1] == last


def test_weigh_refuses_no_planners_or_no_alphas():
    with pytest.raises(PlanError, match="no planner or no alpha to compare"):
        weigh(QUERY, RARE_LAST, [], [0])


def test_plans_cross_over_where_another_becomes_the_rarest():
    plans = [choose_plan(QUERY, RARE_LAST.with_rate("c", rate)) for rate in (0.5, 50)]
    found = what_if(QUERY, RARE_LAST, plans, "c", [0.5, 2, 4, 20, 50])
    assert found.now == 0.5
    assert [(low, high, str(p.branches[0])) for low, high, p in found.cheapest()] == [
        (0.5, 4, "c → a → b"),
        (20, 50, "a → b → c"),
    ]
    for curve in found.curves:
        for rate, log_cost in zip(found.rates, curve.log_costs, strict=True):
            at = cost_plan(curve.plan, QUERY, RARE_LAST.with_rate("c", rate), PARTIAL_MATCHES)
            assert at.log_cost == pytest.approx(log_cost)
    assert found._repr_html_().count("<tr>") == 3
    assert len(found.to_pandas()) == 10


def test_a_table_says_beyond_which_rate_another_plan_is_the_cheapest():
    plans = [choose_plan(QUERY, RARE_LAST.with_rate("c", rate)) for rate in (0.5, 50)]
    found = what_if(QUERY, RARE_LAST, plans, "c", [0.5, 2, 4, 20, 50])
    # The one costs 10 c + 250 c, the other 50 + 1250; both hold the matches.
    (crossing,) = found.cross_overs()
    assert crossing.rate == pytest.approx(5)
    title, _, now, beyond, labels, *remarks = str(found).splitlines()
    assert title == "cheapest plan by the rate of c: C, 0.5 to 50/s, now 0.5/s"
    assert now.split("  ")[0] == "up to 5 ★"
    assert "c → a → b" in now
    assert beyond.startswith("beyond 5 ")
    assert "a → b → c" in beyond
    assert labels == "a: A, b: B, c: C"
    assert "beyond 5/s (10 times the current rate) another plan is the cheapest" in remarks
    assert all(text in found._repr_html_() for text in ("beyond 5/s", "up to 5 ★", "c: C"))


def test_rates_without_a_cross_over():
    plan = choose_plan(QUERY, RARE_LAST)
    found = what_if(QUERY, RARE_LAST, [plan], "c", [2, 4])
    assert "no other plan is the cheapest at any of these rates" in str(found)
    assert "★" not in str(found)  # the current rate is none of them
    assert "the rate of c: C, 3/s" in str(what_if(QUERY, RARE_LAST, [plan], "c", [3]))
    assert "below" not in str(what_if(QUERY, RARE_LAST.with_rate("c", 0), [plan], "c", [0, 1]))


def test_rates_around_the_present_one():
    comparison = compare_plans(QUERY, RARE_LAST)
    plans = [row.plan for row in comparison.rows]
    found = what_if(QUERY, RARE_LAST, plans, "a")
    assert found.rates[0] == pytest.approx(0.05)
    assert found.rates[-1] == pytest.approx(500)
    assert len(found.curves) == len({plan.branches for plan in plans})


def test_missing_plans_unknown_variables_and_missing_rates_are_refused():
    plan = choose_plan(QUERY, RARE_LAST)
    with pytest.raises(PlanError, match="no plan"):
        what_if(QUERY, RARE_LAST, [], "a")
    with pytest.raises(StatisticsError, match="'q'"):
        what_if(QUERY, RARE_LAST, [plan], "q")
    with pytest.raises(StatisticsError, match="no rate"):
        what_if(QUERY, RARE_LAST, [plan], "a", [])
