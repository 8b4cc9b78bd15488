"""The patterns and counts of JOIN's study; its measurements themselves are no test."""

import math

import numpy as np
import pandas as pd
import pytest

from benchmarks.join_large import rows as large_rows
from benchmarks.join_patterns import KINDS, MARKETS, Draw
from benchmarks.join_strategies import mechanism_rows
from benchmarks.join_tables import (
    best_orders_found,
    bushy_against_order,
    correlations,
    gains,
    not_run,
    ratios,
)
from benchmarks.planning import RATES, SELECTIVITIES, drawn, problems, sequence
from cepkit import parse
from cepkit.pattern.nodes import And, Kleene, Not, Or, Seq, events_of
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import Strategy
from cepkit.planners import PLANNERS

GENERATED = MARKETS[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [3, 6])
def test_patterns_of_a_set_have_its_structure_and_size(kind, size):
    query = parse(Draw(GENERATED, seed=1).pattern(kind, size))
    branches = normal_form(query)
    assert len(branches) == (3 if kind == "disjunction" else 1)
    assert all(len(branch.variables) == size for branch in branches)
    assert isinstance(query.structure, {"conjunction": And, "disjunction": Or}.get(kind, Seq))
    parts = query.structure.items
    assert sum(isinstance(part, Not) for part in parts) == (kind == "negation")
    assert sum(isinstance(part, Kleene) for part in parts) == (kind == "kleene")


def test_equal_seeds_draw_equal_patterns_and_others_others():
    def three(seed):
        draw = Draw(GENERATED, seed)
        return [draw.pattern("sequence", 4) for _ in range(3)]

    assert three(5) == three(5)
    assert len({*three(5), *three(6)}) == 6


def test_a_pattern_has_each_ticker_once_and_half_as_many_conditions_as_events():
    query = parse(Draw(GENERATED, seed=2).pattern("conjunction", 6))
    types = [event.types for event in events_of(query.structure)]
    assert len(set(types)) == 6
    (branch,) = normal_form(query)
    assert len(branch.conditions) == 3


def test_statistics_are_drawn_from_the_ranges_of_the_source():
    branch = sequence(8)
    statistics = drawn(branch, 0.5, np.random.default_rng(0))
    assert len(statistics.selectivities) == 14
    assert all(RATES[0] <= rate <= RATES[1] for rate in statistics.rates.values())
    shares = [s.share for s in statistics.selectivities.values()]
    assert all(SELECTIVITIES[0] <= share <= SELECTIVITIES[1] for share in shares)


def test_problems_to_plan_have_no_some_and_all_pairs():
    numbers = [len(problem.statistics.selectivities) for problem in problems(10)]
    assert numbers == [0, round(0.3 * 45), 45]


def test_best_tree_never_costs_more_than_plans_of_other_planners():
    frame = pd.DataFrame(large_rows((5,), patterns=2))
    best = frame[frame["planner"] == "dp-tree"].set_index(["window", "pattern"])["log cost"]
    others = frame.set_index(["window", "pattern"])["log cost"]
    assert (others - best >= -1e-9).all()
    assert (frame[frame["planner"] == "by-frequency"]["normalised"] == 1).all()


@pytest.mark.slow
def test_mechanisms_follow_each_strategy_by_the_plan_of_each_planner():
    frame = pd.DataFrame(mechanism_rows((3,), patterns=2))
    assert set(frame["strategy"]) == set(Strategy)
    assert set(frame["planner"]) == {*PLANNERS}
    run = frame[frame["not run"] == ""]
    # `mechanism_rows` asserts that these are the numbers of the engine.
    assert (run.groupby("strategy")["matches"].max() > 0).all()


def runs(values):
    """Return rows of two patterns: {planner: (value of the first, of the second)}."""
    return pd.DataFrame(
        [
            {
                "stream": "s",
                "set": "sequence",
                "size": 3,
                "pattern": number,
                "planner": planner,
                "ms": value,
                "log cost": math.log10(value) * 2 + 7 * number if value else 0.0,
                "first": True,
                "not run": "" if value else "too dear",
            }
            for planner, of_patterns in values.items()
            for number, value in enumerate(of_patterns)
        ]
    )


def test_gains_are_medians_of_ratios_inside_a_pattern():
    frame = runs({"base": (4.0, 9.0), "good": (1.0, 1.0)})
    (row,) = gains(frame, "ms", "base", ["set"]).to_dict("records")
    assert row["patterns"] == 2
    assert row["base"] == 1
    assert row["good"] == pytest.approx(6.5)


def test_a_plan_too_dear_to_be_run_counts_as_the_dearest():
    frame = runs({"base": (4.0, None, None), "good": (1.0, 1.0, 2.0), "bad": (None, None, 1.0)})
    (row,) = gains(frame, "ms", "base", ["set"]).to_dict("records")
    assert row["patterns"] == 3
    assert row["good"] == math.inf
    assert not_run(frame).set_index("planner")["s"].to_dict() == {"base": 2, "good": 0, "bad": 2}


def test_ratios_tell_the_median_of_all_and_the_mean_of_those_run():
    frame = runs({"base": (4.0, 9.0, None), "good": (1.0, 1.0, 1.0)})
    (row,) = ratios(frame, "ms", [("base", "good")], ["size"]).to_dict("records")
    assert (row["patterns"], row["median"]) == (3, 9.0)
    assert (row["both run"], row["mean"], row["greatest"]) == (2, pytest.approx(6.0), 9.0)


def test_ratios_leave_out_patterns_whose_plans_were_not_run():
    frame = runs({"base": (4.0, None), "good": (1.0, None)})
    (row,) = ratios(frame, "ms", [("base", "good")], ["size"]).to_dict("records")
    assert (row["patterns"], row["median"]) == (1, 4.0)


def test_correlation_inside_patterns_does_not_see_that_patterns_differ():
    frame = runs({"x": (1.0, 100.0), "y": (2.0, 50.0), "z": (4.0, 25.0)})
    (row,) = correlations(frame, ["cost"], ["ms"], ["set"]).to_dict("records")
    assert row["plans"] == 6
    assert row["inside"] == pytest.approx(1.0)
    assert row["pairs right"] == 1.0
    assert row["log-log"] < 1.0


def test_order_as_cheap_as_the_best_counts_as_best():
    frame = runs({"dp-order": (1.0, 1.0), "greedy": (1.0, 3.0), "dp-tree": (1.0, 1.0)})
    frame["log own"], frame["tree"] = frame["log cost"], frame["planner"] == "dp-tree"
    shares = best_orders_found(frame).set_index("planner")["share"].to_dict()
    assert shares == {"dp-order": 1.0, "greedy": 0.5}


def test_bushy_trees_are_counted_apart_from_leaning_ones():
    frame = runs({"dp-order": (4.0, 2.0), "dp-tree": (1.0, 1.0)})
    trees = ["(a ⋈ b) ⋈ (c ⋈ d)", "((a ⋈ b) ⋈ c) ⋈ d"]
    frame["plan"] = ["a → b → c → d"] * 2 + trees
    medians = bushy_against_order(frame, "ms").set_index("best tree")["median"].to_dict()
    assert medians == {"bushy": 4.0, "leaning": 2.0}
