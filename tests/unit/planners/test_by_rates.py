"""Plans for many rates are those of the exact planners, with the costs of the cost model."""

import random

import pytest

from cepkit.costs import WORK
from cepkit.pattern.normal_form import normal_form
from cepkit.plan.nodes import OrderPlan, as_tree
from cepkit.planners import PLANNERS
from cepkit.planners.by_rates import RatePlanner, Rates
from cepkit.planners.choose import plan_to_run
from tests.unit.adaptation.cases import drifted, random_case


@pytest.mark.parametrize("seed", range(12))
def test_the_best_plan_under_other_rates(seed):
    rng = random.Random(seed)
    query, before = random_case(rng, most=6)
    (branch,) = normal_form(query)
    now = before.with_rates(drifted(rng, before, 1.0).rates)
    costs = RatePlanner(branch, before).under(Rates(now.rates, now.events, now.span_seconds))
    model = WORK.on(branch, now)
    order = PLANNERS["dp-order"].plan(branch, now, WORK)
    for plan in (order, as_tree(order), PLANNERS["dp-tree"].plan(branch, now, WORK)):
        assert costs.of(plan) == pytest.approx(model.of(plan))
    best = costs.best(OrderPlan(branch.variables))
    assert costs.weight(best) <= costs.weight(order) + 1e-9
    assert costs.of(best) == pytest.approx(costs.of(plan_to_run(query, now).branches[0]))
