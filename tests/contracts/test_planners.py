"""What every planner on the shelf must do; a new one is taken in by its line in the table."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepkit.costs import PARTIAL_MATCHES, order_cost
from cepkit.errors import StatisticsError
from cepkit.planners import PLANNERS
from cepkit.statistics import Statistics
from tests.unit.costs.cases import absent, branch, conjunction, repeated, seq

NAMES = "abcde"
PLANNER = pytest.mark.parametrize("planner", PLANNERS.values(), ids=list(PLANNERS))


@st.composite
def structures(draw, names):
    """SEQ and AND of the names, nested, some of them repeated."""
    if len(names) == 1:
        return draw(st.sampled_from([conjunction(names), repeated(names), repeated(names, 2, 3)]))
    cut = draw(st.integers(1, len(names) - 1))
    combine = draw(st.sampled_from([seq, conjunction]))
    return combine(draw(structures(names[:cut])), draw(structures(names[cut:])))


@st.composite
def problems(draw):
    """A branch of up to five variables with statistics, some of them zero."""
    names = NAMES[: draw(st.integers(1, len(NAMES)))]
    rates = {name: draw(st.just(0.0) | st.floats(1e-6, 1e4)) for name in names}
    pairs = [(x, y) for x in names for y in names if x < y]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    shares = {pair: draw(st.floats(0, 1)) for pair in chosen}
    one = branch(draw(structures(names)), seconds=draw(st.sampled_from([0.01, 10, 1e5])))
    return one, Statistics.assumed(rates, shares)


@PLANNER
@given(problems())
@settings(deadline=None)
def test_gives_each_variable_once(planner, problem):
    one, statistics = problem
    order = planner.plan(one, statistics, PARTIAL_MATCHES).order
    assert sorted(order) == sorted(one.variables)


@PLANNER
@given(problems())
@settings(deadline=None)
def test_equal_arguments_give_equal_plans(planner, problem):
    one, statistics = problem
    again = Statistics.from_json(statistics.to_json())
    first = planner.plan(one, statistics, PARTIAL_MATCHES)
    assert planner.plan(one, again, PARTIAL_MATCHES) == first


@PLANNER
@given(problems())
@settings(deadline=None, max_examples=30)
def test_its_cost_lies_between_the_best_and_the_worst_of_all_orders(planner, problem):
    one, statistics = problem
    ready = PARTIAL_MATCHES.on(one, statistics)
    costs = [order_cost(ready, order) for order in permutations(one.variables)]
    cost = order_cost(ready, planner.plan(one, statistics, PARTIAL_MATCHES).order)
    assert min(costs) <= cost <= max(costs)


@PLANNER
def test_equal_variables_stay_in_pattern_order(planner):
    for combine in (seq, conjunction):
        one = branch(combine(*NAMES))
        plan = planner.plan(one, Statistics.assumed(dict.fromkeys(NAMES, 2.0)), PARTIAL_MATCHES)
        assert plan.order == tuple(NAMES)


@PLANNER
def test_negated_variables_are_not_planned(planner):
    one = branch(seq("a", absent("n"), "b"))
    plan = planner.plan(one, Statistics.assumed({"a": 1, "b": 2}), PARTIAL_MATCHES)
    assert plan.order == ("a", "b")


@PLANNER
def test_large_patterns_are_planned(planner):
    names = [f"v{i}" for i in range(22)]
    shares = {(x, y): 0.5 for i, x in enumerate(names) for y in names[:i]}
    statistics = Statistics.assumed({v: 1.0 + i for i, v in enumerate(names)}, shares)
    for combine in (seq, conjunction):
        one = branch(combine(*names))
        assert sorted(planner.plan(one, statistics, PARTIAL_MATCHES).order) == sorted(names)


@PLANNER
def test_has_its_name_in_the_table_and_says_what_it_does(planner):
    assert PLANNERS[planner.name] is planner
    assert type(planner).__doc__


@pytest.mark.parametrize("name", ["by-frequency", "greedy"])
def test_those_that_read_statistics_refuse_such_as_lack_a_variable(name):
    with pytest.raises(StatisticsError, match="'b'"):
        PLANNERS[name].plan(branch(seq("a", "b")), Statistics.assumed({"a": 1}), PARTIAL_MATCHES)
