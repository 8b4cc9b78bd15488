"""Contiguity in costs: neighbours are a condition between pairs, with its own selectivity."""

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit.costs import PARTIAL_MATCHES, WORK
from cepkit.costs.expectation import neighbour_places
from cepkit.pattern.normal_form import normal_form
from cepkit.planners.choose import choose_plan
from cepkit.statistics import Statistics

TEXT = "PATTERN {operator}(A a, B b, C c) WITHIN 10 s {more}"
RATES = {"a": 1.0, "b": 2.0, "c": 4.0}  # 7 events/s: 70 in a window


def cost(more, order, operator="SEQ", statistics=None):
    query = ck.parse(TEXT.format(operator=operator, more=more))
    known = statistics or Statistics.assumed(RATES)
    return choose_plan(query, known, plan_of(order)).cost


def plan_of(order):
    from cepkit.planners import GivenOrder

    return GivenOrder() if order == "abc" else order


@pytest.mark.parametrize(
    ("operator", "pairs"),
    [
        ("SEQ", {"ab": 1, "bc": 1}),
        ("AND", {"ab": 2, "bc": 2, "ac": 2}),
    ],
)
def test_potential_neighbours_are_the_pairs_that_nothing_must_lie_between(operator, pairs):
    (branch,) = normal_form(ck.parse(TEXT.format(operator=operator, more="")))
    expected = {frozenset(pair): places for pair, places in pairs.items()}
    assert dict(neighbour_places(branch)) == expected


def test_neighbours_of_a_sequence_have_the_share_of_one_event_in_the_window():
    """In order there are 70^2 / 2 pairs in a window, and 70 of neighbours: 2 in 70."""
    query = ck.parse(TEXT.format(operator="SEQ", more="STRATEGY strict-contiguity"))
    (branch,) = normal_form(query)
    alive = PARTIAL_MATCHES.on(branch, Statistics.assumed(RATES)).alive
    sizes = {names: np.exp(alive(alive_mask(branch, names))) for names in ("a", "ab", "ac", "abc")}
    share = 2 / 70
    # JOIN, section 6.2: W * min r * the selectivities; a and c are no neighbours.
    expected = {"a": 10, "ab": 10 * share, "ac": 10, "abc": 10 * share**2}
    assert sizes == pytest.approx(expected)


def alive_mask(branch, names):
    return sum(1 << branch.variables.index(v) for v in names)


def test_in_partitions_neighbours_are_counted_there():
    same_key = Statistics.assumed(RATES, same_key=0.1)
    costs = {}
    for strategy in ("strict-contiguity", "partition-contiguity"):
        query = ck.parse(TEXT.format(operator="SEQ", more=f"STRATEGY {strategy} PARTITION BY k"))
        (branch,) = normal_form(query)
        alive = PARTIAL_MATCHES.on(branch, same_key).alive
        costs[strategy] = np.exp(alive(alive_mask(branch, "ab")))
    assert costs["partition-contiguity"] == pytest.approx(10 * costs["strict-contiguity"])


@pytest.mark.parametrize("model", [PARTIAL_MATCHES, WORK], ids=["partial-matches", "work"])
def test_the_best_order_binds_neighbours_one_after_the_other(model):
    """JOIN, figure 19: under contiguity the order of the pattern is hard to beat."""
    even = Statistics.assumed(dict.fromkeys("abcd", 5.0))
    text = "PATTERN SEQ(A a, B b, C c, D d) WITHIN 10 s STRATEGY strict-contiguity"
    plan = choose_plan(ck.parse(text), even, "dp-order", model)
    places = ["abcd".index(v) for v in plan.branches[0].order]
    for i in range(1, 4):
        assert min(abs(places[i] - before) for before in places[:i]) == 1


def test_expected_matches_of_a_run_are_near_the_actual_ones():
    """Two neighbours of four even types: one pair in sixteen, not half a window of them."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"t": np.sort(rng.uniform(0, 2000, 8000)), "kind": rng.choice(list("ABCD"), 8000)}
    )
    stream = ck.events(frame, time="t", type="kind", unit="s")
    text = "PATTERN SEQ(A a, B b) WITHIN 60 s STRATEGY strict-contiguity"
    matches = ck.detect(stream, text, ck.choose_plan(text, ck.profile(stream, text)))
    explained = matches.explain()
    assert explained.steps[-1].survivors == matches.count()
    assert explained.steps[-1].expected_survivors == pytest.approx(matches.count(), rel=0.2)
