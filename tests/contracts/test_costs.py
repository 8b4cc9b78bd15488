"""The contract of cost models; its tests run for every entry of the shelf."""

from __future__ import annotations

import math
from itertools import permutations

import pytest

from cepkit.costs import COSTS, query_cost
from cepkit.errors import StatisticsError
from cepkit.plan.logarithms import log_sum
from cepkit.plan.nodes import OrderPlan, TreePlan, as_tree
from cepkit.statistics import Statistics
from tests.unit.costs.cases import branch, compare, conjunction, repeated, seq

MODEL = pytest.mark.parametrize("model", COSTS.values(), ids=list(COSTS))
NAMES = "abcd"
STATISTICS = Statistics.assumed({"a": 5, "b": 0.5, "c": 2, "d": 1}, {("a", "b"): 0.1})
BRANCHES = [
    branch(combine("a", "b", "c", "d"), compare("a.k", "=", "b.k"), seconds=10)
    for combine in (seq, conjunction)
]


@MODEL
@pytest.mark.parametrize("one", BRANCHES, ids=["SEQ", "AND"])
def test_cost_of_an_order_is_the_sum_of_its_steps(model, one):
    ready = model.on(one, STATISTICS)
    for names in permutations(NAMES):
        bound, steps = 0, []
        for variable in names:
            new = ready.mask((variable,))
            steps.append(ready.step(bound, new))
            bound |= new
        assert ready.of(OrderPlan(names)) == pytest.approx(log_sum(steps))


@MODEL
@pytest.mark.parametrize("one", BRANCHES, ids=["SEQ", "AND"])
def test_cost_of_a_tree_is_the_sum_of_its_nodes(model, one):
    ready = model.on(one, STATISTICS)
    tree = as_tree(OrderPlan(tuple(NAMES)))
    nodes = [ready.leaf(ready.mask((variable,))) for variable in NAMES]
    nodes += [ready.join(ready.mask(NAMES[:size]), ready.mask(NAMES[size])) for size in range(1, 4)]
    assert isinstance(tree, TreePlan)
    assert ready.of(tree) == pytest.approx(log_sum(nodes))


@MODEL
def test_some_order_is_better_than_another(model):
    ready = model.on(BRANCHES[1], STATISTICS)
    costs = [ready.of(OrderPlan(names)) for names in permutations(NAMES)]
    assert min(costs) < max(costs)


@MODEL
def test_numbers_beyond_floats_have_a_cost(model):
    one = branch(conjunction("a", repeated("b"), "c", repeated("d")), seconds=1000)
    statistics = Statistics.assumed({"a": 5, "b": 5, "c": 1, "d": 9})
    plan = OrderPlan(tuple(NAMES))
    assert math.isfinite(query_cost([model.on(one, statistics)], [plan]))


@MODEL
def test_statistics_that_lack_a_variable_are_refused(model):
    with pytest.raises(StatisticsError, match="'b'"):
        model.on(branch(seq("a", "b")), Statistics.assumed({"a": 1}))


@MODEL
def test_cost_model_is_in_the_table_with_a_line_of_help(model):
    assert COSTS[model.name] is model
    assert COSTS.help[model.name]
