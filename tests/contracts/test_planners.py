"""The contract of planners; its tests run for every entry of the shelf."""

import math
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepkit.costs import COSTS, PARTIAL_MATCHES, Blend
from cepkit.errors import StatisticsError
from cepkit.pattern.policies import Strategy
from cepkit.plan.nodes import OrderPlan, Pair, TreePlan
from cepkit.planners import PLANNERS
from cepkit.statistics import Statistics
from tests.unit.costs.cases import absent, branch, compare, conjunction, repeated, seq

NAMES = "abcdefg"
PLANNER = pytest.mark.parametrize("planner", PLANNERS.values(), ids=list(PLANNERS))
EXACT = {"dp-order": OrderPlan, "dp-tree": TreePlan}
MODELS = [*COSTS.values(), Blend(0.5), Blend(100)]


@st.composite
def structures(draw, names):
    """SEQ and AND of the names, nested, some of them repeated."""
    if len(names) == 1:
        return draw(st.sampled_from([conjunction(names), repeated(names), repeated(names, 2, 3)]))
    cut = draw(st.integers(1, len(names) - 1))
    combine = draw(st.sampled_from([seq, conjunction]))
    return combine(draw(structures(names[:cut])), draw(structures(names[cut:])))


@st.composite
def problems(draw, most=5):
    """A branch with statistics, some of them zero, and a cost model."""
    names = NAMES[: draw(st.integers(1, most))]
    rates = {name: draw(st.just(0.0) | st.floats(1e-6, 1e4)) for name in names}
    pairs = [(x, y) for x in names for y in names if x < y]
    triples = [names[i : i + 3] for i in range(len(names) - 2)]
    chosen = draw(st.lists(st.sampled_from(pairs + triples), unique=True)) if pairs else []
    shares = {tuple(some): draw(st.floats(0, 1)) for some in chosen}
    same_key = draw(st.sampled_from([1.0, 0.1, 0.0]))
    one = branch(
        draw(structures(names)),
        *(compare(f"{some[0]}.k", "=", f"{some[1]}.k") for some in chosen[::2] if len(some) == 2),
        seconds=draw(st.sampled_from([0.01, 10, 1e5])),
        strategy=draw(st.sampled_from(list(Strategy))),
        partition_by=("k",) if same_key < 1 else (),
    )
    statistics = Statistics.assumed(rates, shares, same_key=same_key)
    return one, statistics, draw(st.sampled_from(MODELS))


def trees(names):
    """Every binary tree with these leaves, whichever way round its sides stand."""
    if len(names) == 1:
        yield names[0]
        return
    first, rest = names[0], names[1:]
    for chosen in range(2 ** len(rest) - 1):
        left = [first, *(v for i, v in enumerate(rest) if chosen >> i & 1)]
        right = [v for i, v in enumerate(rest) if not chosen >> i & 1]
        for one in trees(left):
            for other in trees(right):
                yield Pair(one, other)


def orders(names):
    return map(OrderPlan, permutations(names))


def all_plans(kind, names):
    return orders(names) if kind is OrderPlan else map(TreePlan, trees(list(names)))


@PLANNER
@given(problems())
@settings(deadline=None)
def test_plan_has_each_variable_once(planner, problem):
    one, statistics, cost = problem
    plan = planner.plan(one, statistics, cost)
    assert sorted(plan.variables) == sorted(one.variables)


@PLANNER
@given(problems())
@settings(deadline=None)
def test_equal_arguments_give_equal_plans(planner, problem):
    one, statistics, cost = problem
    again = Statistics.from_json(statistics.to_json())
    assert planner.plan(one, again, cost) == planner.plan(one, statistics, cost)


@PLANNER
@given(problems())
@settings(deadline=None, max_examples=30)
def test_cost_of_a_plan_lies_between_least_and_greatest(planner, problem):
    one, statistics, cost = problem
    ready = cost.on(one, statistics)
    plan = planner.plan(one, statistics, cost)
    costs = [ready.of(other) for other in all_plans(type(plan), one.variables)]
    assert min(costs) - 1e-9 <= ready.of(plan) <= max(costs) + 1e-9


@pytest.mark.parametrize("name", EXACT)
@given(problems())
@settings(deadline=None)
def test_exact_planners_are_never_beaten(name, problem):
    one, statistics, cost = problem
    ready = cost.on(one, statistics)
    plan = PLANNERS[name].plan(one, statistics, cost)
    assert isinstance(plan, EXACT[name])
    best = min(ready.of(other) for other in all_plans(EXACT[name], one.variables))
    assert ready.of(plan) == best or math.isclose(ready.of(plan), best, abs_tol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT)
@given(problems(most=7))
@settings(deadline=None, max_examples=8)
def test_exact_planners_are_never_beaten_by_any_of_seven_variables(name, problem):
    one, statistics, cost = problem
    ready = cost.on(one, statistics)
    plan = PLANNERS[name].plan(one, statistics, cost)
    best = min(ready.of(other) for other in all_plans(EXACT[name], one.variables))
    assert ready.of(plan) == best or math.isclose(ready.of(plan), best, abs_tol=1e-9)


@given(problems(most=6))
@settings(deadline=None)
def test_planner_with_a_wider_search_never_costs_more(problem):
    """A planner that tries all that another one tries cannot do worse."""
    one, statistics, cost = problem
    ready = cost.on(one, statistics)
    found = {name: ready.of(p.plan(one, statistics, cost)) for name, p in PLANNERS.items()}
    wider = {
        "dp-tree": ("zstream", "zstream-ord"),
        "dp-order": ("given-order", "by-frequency", "greedy", "ii-random", "ii-greedy", "kbz"),
        "ii-greedy": ("greedy",),
    }
    for name, narrower in wider.items():
        for other in narrower:
            assert found[name] <= found[other] + 1e-9


@PLANNER
def test_equal_variables_stay_in_pattern_order(planner):
    for combine in (seq, conjunction):
        one = branch(combine(*NAMES))
        plan = planner.plan(one, Statistics.assumed(dict.fromkeys(NAMES, 2.0)), PARTIAL_MATCHES)
        assert plan.variables == tuple(NAMES)


@PLANNER
def test_negated_variables_are_not_planned(planner):
    one = branch(seq("a", absent("n"), "b"))
    plan = planner.plan(one, Statistics.assumed({"a": 1, "b": 2}), PARTIAL_MATCHES)
    assert plan.variables == ("a", "b")


@PLANNER
def test_a_single_variable_is_a_plan(planner):
    plan = planner.plan(branch(seq("a")), Statistics.assumed({"a": 1}), PARTIAL_MATCHES)
    assert plan.variables == ("a",)


@PLANNER
def test_large_patterns_are_planned(planner):
    names = [f"v{i}" for i in range(15)]
    shares = {(x, y): 0.5 for i, x in enumerate(names) for y in names[:i]}
    statistics = Statistics.assumed({v: 1.0 + i for i, v in enumerate(names)}, shares)
    for combine in (seq, conjunction):
        plan = planner.plan(branch(combine(*names)), statistics, PARTIAL_MATCHES)
        assert sorted(plan.variables) == sorted(names)


@PLANNER
def test_costs_beyond_floats_are_planned(planner):
    one = branch(conjunction("a", repeated("b"), "c", repeated("d")), seconds=1000)
    statistics = Statistics.assumed({"a": 5, "b": 5, "c": 1, "d": 9})
    plan = planner.plan(one, statistics, PARTIAL_MATCHES)
    assert math.isfinite(PARTIAL_MATCHES.on(one, statistics).of(plan))


@PLANNER
@given(problems())
@settings(deadline=None, max_examples=20)
def test_observer_sees_ever_cheaper_plans_up_to_the_result(planner, problem):
    one, statistics, cost = problem
    seen = []
    plan = planner.plan(one, statistics, cost, seen.append)
    assert plan == planner.plan(one, statistics, cost)
    assert seen[-1].plan == plan
    assert seen[-1].done == 1
    assert seen[-1].examined >= 1
    ready = cost.on(one, statistics)
    assert seen[-1].log_cost == pytest.approx(ready.of(plan))
    costs = [observed.log_cost for observed in seen if observed.plan is not None]
    assert costs == sorted(costs, reverse=True)
    times = [observed.seconds for observed in seen]
    assert times == sorted(times)


@PLANNER
def test_planner_is_in_the_table_with_a_line_of_help(planner):
    assert PLANNERS[planner.name] is planner
    assert PLANNERS.help[planner.name]


@PLANNER
def test_refuses_statistics_that_lack_a_variable_or_reads_none(planner):
    def plan(**rates):
        return planner.plan(branch(seq("a", "b")), Statistics.assumed(rates), PARTIAL_MATCHES)

    try:
        blind = plan(a=1)
    except StatisticsError as error:
        assert "'b'" in str(error)
    else:
        assert blind == plan(a=1, b=9) == plan(a=9, b=1)
