"""Deciding conditions and invariants: the claims of ADAPT, where they hold, and the errata."""

import random
from functools import partial

import pytest

from cepkit.adaptation.decisions import Invariants, Static, Threshold, Unconditional
from cepkit.costs import PARTIAL_MATCHES, WORK
from cepkit.errors import LimitError, PlanError
from cepkit.plan.nodes import TreePlan
from cepkit.planners import PLANNERS
from cepkit.planners.choose import choose_plan
from cepkit.planners.deciding import knows_why
from cepkit.statistics import Statistics
from tests.unit.adaptation.cases import drifted, random_case, sequence

SIGMAS = (0.1, 0.5, 1.0)
MANY = pytest.param(300, marks=pytest.mark.slow)
KNOWING = [name for name, planner in PLANNERS.items() if knows_why(planner)]


def changes(planner, cost, decision, drifts, seed=0):
    """How often D fires, fires though the answer is the same, and misses that it is another."""
    rng = random.Random(seed)
    fires = false = missed = 0
    for _ in range(drifts):
        query, before = random_case(rng)
        now = drifted(rng, before, rng.choice(SIGMAS))
        plan = choose_plan(query, before, planner, cost)
        changed = choose_plan(query, now, planner, cost).branches != plan.branches
        fired = decision.fires(plan, now) is not None
        fires += fired
        false += fired and not changed
        missed += changed and not fired
    return fires, false, missed


@pytest.mark.parametrize("drifts", [30, MANY])
@pytest.mark.parametrize("cost", [PARTIAL_MATCHES, WORK], ids=lambda cost: cost.name)
def test_invariants_of_greedy_fire_exactly_when_the_plan_changes(cost, drifts):
    fires, false, missed = changes("greedy", cost, Invariants(K=None), drifts)
    assert fires > 0
    assert (false, missed) == (0, 0)


@pytest.mark.parametrize("drifts", [30, MANY])
@pytest.mark.parametrize("planner", ["greedy", "zstream", "zstream-ord"])
@pytest.mark.parametrize("decision", [Invariants(), Invariants(K=None), Invariants(d=0.2)], ids=str)
def test_no_invariant_fires_where_the_answer_is_the_same(planner, decision, drifts):
    fires, false, _ = changes(planner, PARTIAL_MATCHES, decision, drifts)
    assert fires > 0
    assert false == 0


@pytest.mark.parametrize("planner", ["dp-order", "dp-tree"])
def test_invariants_of_exact_planners_never_fire_falsely(planner):
    fires, false, _ = changes(planner, WORK, Invariants(K=None), 40)
    assert fires > 0
    assert false == 0


@pytest.mark.parametrize("planner", KNOWING)
@pytest.mark.parametrize("cost", [PARTIAL_MATCHES, WORK], ids=lambda cost: cost.name)
def test_all_conditions_hold_when_the_plan_is_made(planner, cost):
    rng = random.Random(3)
    for _ in range(20):
        query, statistics = random_case(rng, most=6)
        assert choose_plan(query, statistics, planner, cost).validity().holds


def test_equal_costs_do_not_fire():
    query = sequence(4)
    equal = Statistics.assumed(dict.fromkeys("abcd", 2.0))
    for planner in KNOWING:
        plan = choose_plan(query, equal, planner)
        assert Invariants(K=None).fires(plan, equal) is None
        assert Invariants(K=None, d=0.1).fires(plan, equal) is None


def test_without_conditions_between_variables_one_of_each_block_suffices():
    rng = random.Random(1)
    for _ in range(100):
        query = sequence(5)
        before = Statistics.assumed({v: rng.uniform(1, 10) for v in "abcde"})
        now = drifted(rng, before, 0.2)
        plan = choose_plan(query, before, "greedy")
        changed = choose_plan(query, now, "greedy").branches != plan.branches
        assert (Invariants(K=1).fires(plan, now) is not None) == changed


# --- the camera example: rates 100, 15, 10 ------------------------------------------------------

CAMERAS = Statistics.assumed({"a": 100.0, "b": 15.0, "c": 10.0})


def cameras():
    return choose_plan(sequence(3), CAMERAS, "greedy")


def test_the_invariants_of_the_camera_example():
    plan = cameras()
    assert str(plan.branches[0]) == "c → b → a"
    watched = [
        plan.decided.row(branch, place, CAMERAS)
        for branch, place, _ in Invariants().watched(plan.decided)
    ]
    assert [row.condition for row in watched] == ["rate(c) < rate(b)", "rate(b) < rate(a)"]
    assert [row.slack for row in watched] == [pytest.approx(1.5), pytest.approx(100 / 15)]


def test_the_third_camera_overtakes_the_second():
    now = Statistics.assumed({"a": 100.0, "b": 12.9, "c": 14.2})
    plan = cameras()
    said = Invariants().fires(plan, now)
    assert said == "rate(c) < rate(b) no longer holds: 14.2 > 12.9/s"
    assert Threshold(6.0, relative=False).fires(plan, now) is None
    assert Unconditional().fires(plan, now)
    assert Static().fires(plan, now) is None


def test_noise_of_the_busiest_camera_does_not_matter():
    noisy = Statistics.assumed({"a": 105.9, "b": 15.0, "c": 10.0})
    plan = cameras()
    assert Invariants().fires(plan, noisy) is None
    said = Threshold(5.0, relative=False).fires(plan, noisy)
    assert said == "rate(a) is 105.9, and was 100 when it was planned"


# --- errata -------------------------------------------------------------------------------------


def test_erratum_8_a_distance_makes_invariants_laxer():
    plan = choose_plan(sequence(2), Statistics.assumed({"a": 10.0, "b": 11.0}), "greedy")
    near = Statistics.assumed({"a": 10.0, "b": 9.5})
    far = Statistics.assumed({"a": 10.0, "b": 8.0})
    assert Invariants(d=0.2).fires(plan, plan.statistics) is None  # as printed it fires at once
    assert Invariants(d=0.2).fires(plan, near) is None
    assert Invariants(d=0.0).fires(plan, near)
    assert Invariants(d=0.2).fires(plan, far)


def test_erratum_9_costs_of_subtrees_are_those_of_now():
    before = Statistics.assumed({"a": 1.0, "b": 2.0, "c": 3.0})
    plan = choose_plan(sequence(3), before, "zstream")
    assert str(plan.branches[0]) == "(a ⋈ b) ⋈ c"
    now = before.with_rate("a", 1000.0)
    answer = choose_plan(sequence(3), now, "zstream")
    assert str(answer.branches[0]) == "a ⋈ (b ⋈ c)"
    said = Invariants().fires(plan, now)
    assert said.startswith("cost((a ⋈ b) ⋈ c) < cost(a ⋈ (b ⋈ c)) no longer holds: ")


@pytest.mark.slow
def test_erratum_10_trees_may_change_unnoticed_and_greedy_answers_may_cost_more():
    _, _, missed = changes("zstream", PARTIAL_MATCHES, Invariants(K=None), 600, seed=4)
    assert missed > 0
    rng = random.Random(0)
    dearer = 0
    for _ in range(200):
        query, before = random_case(rng)
        now = drifted(rng, before, 0.5)
        plan, answer = (choose_plan(query, s, "greedy") for s in (before, now))
        if answer.branches != plan.branches:
            cost = PARTIAL_MATCHES.on(answer.decided.branches[0], now)
            dearer += cost.of(answer.branches[0]) > cost.of(plan.branches[0])
    assert dearer > 0


def test_a_node_of_k_leaves_is_compared_k_minus_2_times():
    rates = {v: float(i) for i, v in enumerate("abcde", 1)}
    plan = choose_plan(sequence(5), Statistics.assumed(rates), "zstream")
    sizes = {}
    for condition in plan.decided.conditions[0]:
        assert isinstance(condition.chosen, TreePlan)
        size = len(condition.chosen.variables)
        sizes.setdefault((condition.step, size), []).append(condition)
    assert sizes
    assert all(len(conditions) == size - 2 for (_, size), conditions in sizes.items())


# --- distances ----------------------------------------------------------------------------------


def test_the_mean_distance_never_fires_with_skewed_rates_and_the_median_does():
    rates = {"a": 1.0, "b": 100.0, "c": 110.0, "d": 120.0}
    plan = choose_plan(sequence(4), Statistics.assumed(rates), "greedy")
    swapped = Statistics.assumed({**rates, "a": 120.0, "d": 1.0})
    assert Invariants(d="mean").distance(plan.decided) > 40
    assert Invariants(d="median").distance(plan.decided) == 1.0
    tripled = Statistics.assumed({**rates, "a": 36.0, "b": 6.0})
    assert Invariants(d="mean").fires(plan, tripled) is None
    assert Invariants(d="median").fires(plan, tripled)
    assert Invariants(d="median").fires(plan, swapped)


ASCENDING = Statistics.assumed({"a": 2.0, "b": 1.0, "c": 4.0, "d": 3.0}, {("a", "b"): 0.01})

ASCENDING = Statistics.assumed({"a": 2.0, "b": 1.0, "c": 4.0, "d": 3.0}, {("a", "b"): 0.01})

ASCENDING = Statistics.assumed({"a": 2.0, "b": 1.0, "c": 4.0, "d": 3.0}, {("a", "b"): 0.01})

# --- by frequency -------------------------------------------------------------------------------


def test_by_frequency_has_one_condition_for_each_two_neighbours_in_its_order():
    plan = choose_plan(sequence(4, [("a", "b")]), ASCENDING, "by-frequency")
    rows = plan.validity().rows
    assert {row.condition for row in rows} == {
        "rate(b) < rate(a)",
        "rate(a) < rate(d)",
        "rate(d) < rate(c)",
    }
    assert all(row.holds for row in rows)


@pytest.mark.parametrize("cost", [PARTIAL_MATCHES, WORK], ids=["partial-matches", "work"])
def test_by_frequency_fires_if_and_only_if_the_order_changes(cost):
    rng = random.Random(7)
    fires = 0
    for _ in range(200):
        query, before = random_case(rng)
        now = drifted(rng, before, 0.3)
        plan, answer = (choose_plan(query, s, "by-frequency", cost) for s in (before, now))
        query_variables = before.rates
        fired = Invariants().fires(plan, now) is not None
        assert fired == (answer.branches != plan.branches)
        assert len(plan.decided.conditions[0]) == len(query_variables) - 1
        fires += fired
    assert 0 < fires < 200


def test_each_condition_may_have_its_own_distance():
    """It held by a half between a and b, and by a hundredth between b and c."""
    rates = {"a": 1.0, "b": 1.5, "c": 1.515}
    plan = choose_plan(sequence(3), Statistics.assumed(rates), "by-frequency")
    own = Invariants(d="own")
    crossed = {"a and b": {"a": 2.0}, "b and c": {"c": 1.49}}
    a_and_b, b_and_c = (Statistics.assumed({**rates, **new}) for new in crossed.values())
    assert Invariants().fires(plan, a_and_b)
    assert own.fires(plan, a_and_b) is None
    assert own.fires(plan, b_and_c) is None
    assert own.fires(plan, Statistics.assumed({**rates, "a": 2.3}))
    assert own.fires(plan, Statistics.assumed({**rates, "c": 1.48}))


def test_the_conditions_of_a_block_may_have_distances_by_their_rank():
    rates = {"a": 1.0, "b": 1.1, "c": 3.0}
    plan = choose_plan(sequence(3), Statistics.assumed(rates), "greedy")
    tight = Statistics.assumed({**rates, "b": 0.9})
    wide = Statistics.assumed({**rates, "c": 0.95})
    watching = [Invariants(K=None, d=d) for d in ((0.2, 0.0), (0.0, 0.2), (0.2,))]
    assert [bool(each.fires(plan, tight)) for each in watching] == [False, True, False]
    assert [bool(each.fires(plan, wide)) for each in watching] == [True, True, False]


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("planner", ["ii-random", "ii-greedy", "kbz"])
def test_planners_without_blocks_are_refused_with_the_reason(planner):
    plan = choose_plan(sequence(3), CAMERAS, planner)
    for ask in (plan.validity, partial(Invariants().fires, plan, CAMERAS)):
        with pytest.raises(PlanError, match="does not compare one step") as refused:
            ask()
        assert "'greedy'" in refused.value.hint


def test_a_plan_by_hand_is_refused_with_the_reason():
    from cepkit.plan import as_plan

    with pytest.raises(PlanError, match="nothing decided it"):
        as_plan(["a", "b", "c"], sequence(3)).validity()


def test_validity_of_an_exact_plan_is_refused_for_eight_variables():
    names = "abcdefgh"
    from cepkit import parse

    query = parse(f"PATTERN SEQ({', '.join(f'{v.upper()} {v}' for v in names)}) WITHIN 1 s")
    plan = choose_plan(query, Statistics.assumed(dict.fromkeys(names, 1.0)), "dp-tree")
    with pytest.raises(LimitError, match="8 variables"):
        plan.validity()


@pytest.mark.parametrize(
    "settings", [{"K": 0}, {"d": -1.0}, {"d": "average"}, {"d": ()}, {"d": (0.1, -1.0)}], ids=str
)
def test_settings_that_mean_nothing_are_refused(settings):
    with pytest.raises(PlanError):
        Invariants(**settings)
    with pytest.raises(PlanError):
        Threshold(-0.1)
