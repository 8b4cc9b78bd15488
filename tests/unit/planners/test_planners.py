import numpy as np
import pytest

from cepkit.costs import LATENCY, PARTIAL_MATCHES, WORK
from cepkit.errors import LimitError, PlanError
from cepkit.planners import (
    PLANNERS,
    ByFrequency,
    DpOrder,
    DpTree,
    GivenOrder,
    Greedy,
    IterativeImprovement,
)
from cepkit.planners.exact import Tables, least_trees
from cepkit.statistics import Statistics
from tests.unit.costs.cases import branch, conjunction, repeated, seq


def order(planner, one, statistics):
    return "".join(planner.plan(one, statistics, PARTIAL_MATCHES).order)


SEQUENCE = branch(seq("a", "b", "c", "d"), seconds=10)
RARE_LAST = Statistics.assumed({"a": 5, "b": 5, "c": 5, "d": 0.5})


def test_given_order_is_that_of_the_pattern():
    assert order(GivenOrder(), SEQUENCE, RARE_LAST) == "abcd"


def test_by_frequency_puts_the_rarest_first_and_keeps_the_pattern_order_of_equals():
    assert order(ByFrequency(), SEQUENCE, RARE_LAST) == "dabc"


def test_by_frequency_orders_by_rates_after_filters():
    statistics = Statistics.assumed({"a": 5, "b": 9, "c": 5, "d": 5}, filters={"b": 0.5})
    assert order(ByFrequency(), SEQUENCE, statistics) == "bacd"


def test_greedy_starts_with_the_rare_one():
    assert order(Greedy(), SEQUENCE, RARE_LAST) == "dabc"


def test_greedy_follows_the_selective_condition():
    statistics = RARE_LAST.with_selectivity("d", "c", 0.01)
    assert order(Greedy(), SEQUENCE, statistics) == "dcab"


def test_greedy_can_be_misled():
    """The rarest first leads to a dear second step; a and b first are cheaper."""
    one = branch(conjunction("a", "b", "c"), seconds=1)
    statistics = Statistics.assumed({"a": 10, "b": 10, "c": 9}, {("a", "b"): 0.001})
    assert order(Greedy(), one, statistics)[0] == "c"


@pytest.mark.parametrize("name", ["by-frequency", "greedy", "ii-random", "ii-greedy", "dp-order"])
def test_a_repeated_variable_is_last(name):
    """AND(A, KL(B), C), 5 events/s each, W = 10 s: B is last in every sensible plan."""
    one = branch(conjunction("a", repeated("b"), "c"), seconds=10)
    assert order(PLANNERS[name], one, Statistics.assumed(dict.fromkeys("abc", 5.0)))[-1] == "b"


def test_greedy_breaks_ties_in_pattern_order_for_any_rate():
    names = [f"v{i:02}" for i in range(12)]
    shares = {(x, y): 0.1 for i, x in enumerate(names) for y in names[:i]}
    for rate in np.random.default_rng(3).uniform(0.1, 3, 20):
        statistics = Statistics.assumed(dict.fromkeys(names, float(rate)), shares)
        for structure in (conjunction(*names), seq(*names)):
            one = branch(structure)
            assert Greedy().plan(one, statistics, PARTIAL_MATCHES).order == tuple(names)


def tree(planner, one, statistics, cost=PARTIAL_MATCHES):
    return str(planner.plan(one, statistics, cost))


def test_trees_over_the_given_leaves_cannot_bring_the_ends_together():
    """A very selective condition between A and C: the best tree is ((A, C), B)."""
    one = branch(seq("a", "b", "c"), seconds=10)
    statistics = Statistics.assumed(dict.fromkeys("abc", 5.0), {("a", "c"): 0.001})
    assert tree(PLANNERS["dp-tree"], one, statistics) == "(a ⋈ c) ⋈ b"
    assert tree(PLANNERS["zstream"], one, statistics) in ("(a ⋈ b) ⋈ c", "a ⋈ (b ⋈ c)")
    assert tree(PLANNERS["zstream-ord"], one, statistics) == "(a ⋈ c) ⋈ b"


def test_two_selective_pairs_are_joined_before_they_meet():
    one = branch(conjunction("a", "b", "c", "d"), seconds=10)
    pairs = {("a", "c"): 0.001, ("b", "d"): 0.001}
    statistics = Statistics.assumed(dict.fromkeys("abcd", 5.0), pairs)
    for model in (PARTIAL_MATCHES, WORK):
        assert tree(PLANNERS["dp-tree"], one, statistics, model) == "(a ⋈ c) ⋈ (b ⋈ d)"


def test_local_search_leaves_the_greedy_order_when_a_move_helps():
    one = branch(conjunction("a", "b", "c"), seconds=1)
    statistics = Statistics.assumed({"a": 10, "b": 10, "c": 9}, {("a", "b"): 0.001})
    assert order(PLANNERS["ii-greedy"], one, statistics) == "abc"
    assert order(PLANNERS["dp-order"], one, statistics) == "abc"


def many(size, seed=0):
    """A conjunction with random rates and many conditions."""
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(size)]
    shares = {
        (x, y): float(rng.uniform(0.002, 0.88))
        for i, x in enumerate(names)
        for y in names[:i]
        if rng.random() < 0.3
    }
    rates = {v: float(rng.uniform(1, 45)) for v in names}
    return branch(conjunction(*names), seconds=1), Statistics.assumed(rates, shares)


def test_at_the_time_limit_local_search_has_a_plan():
    one, statistics = many(18)
    # So many starts that without the limit it would not end.
    endless = IterativeImprovement("ii-random", greedy=False, starts=10**9, seconds=0.05)
    plan = endless.plan(one, statistics, PARTIAL_MATCHES)
    assert sorted(plan.order) == sorted(one.variables)


def test_random_search_depends_only_on_its_seed():
    one, statistics = many(16)

    def seen(seed):
        orders = []
        searching = IterativeImprovement("ii-random", greedy=False, starts=1, seed=seed)
        searching.plan(one, statistics, PARTIAL_MATCHES, lambda told: orders.append(told.plan))
        return tuple(orders)

    assert seen(1) == seen(1)
    assert len({seen(seed) for seed in range(4)}) > 1


@pytest.mark.parametrize("planner", [DpTree(seconds=0.001), DpOrder(seconds=0.0001)])
def test_exact_planners_refuse_long_searches_and_estimate_their_time(planner):
    one, statistics = many(16)
    with pytest.raises(LimitError, match=r"16 variables may take \d+ s(.|\n)*Hint: .*greedy"):
        planner.plan(one, statistics, PARTIAL_MATCHES)


@pytest.mark.parametrize("planner", [DpTree(seconds=1e30), DpOrder(seconds=1e30)])
def test_exact_planners_refuse_searches_beyond_memory(planner):
    one, statistics = many(28)
    with pytest.raises(LimitError, match="28 variables needs 12 GB"):
        planner.plan(one, statistics, PARTIAL_MATCHES)


def test_a_search_from_no_order_is_refused():
    with pytest.raises(PlanError, match="from 0 orders"):
        IterativeImprovement("ii-random", greedy=False, starts=0)


def test_planners_by_name():
    assert tuple(PLANNERS) == (
        *("given-order", "by-frequency", "greedy", "ii-random", "ii-greedy", "kbz", "dp-order"),
        *("zstream", "zstream-ord", "dp-tree"),
    )
    assert PLANNERS.pick("greedy") == Greedy()
    assert PLANNERS.pick(Greedy()) == Greedy()
    with pytest.raises(PlanError, match=r"'gredy'(.|\n)*did you mean 'greedy'"):
        PLANNERS.pick("gredy")


@pytest.mark.parametrize("variables", [2, 3, 5, 8])
@pytest.mark.parametrize("looked", [False, True])
@pytest.mark.parametrize("waited", [False, True])
def test_the_least_costs_of_trees_are_those_of_all_splits(variables, looked, waited):
    rng = np.random.default_rng(variables)
    size = 1 << variables
    alive = rng.uniform(0, 0.4, size) + (rng.uniform(size=size) < 0.1)  # some are too dear
    alive[0] = alive[-1] = 0.0
    nothing = np.zeros(0)
    between, side = rng.normal(-4, 1, (2, size)) if looked else (nothing, nothing)
    last, held = rng.uniform(0, 0.1, (2, size)) if waited else (nothing, nothing)
    tables = Tables(alive, between, side, last, held)
    known = {}
    expected = [_least(chosen, tables, known) for chosen in range(1, size)]
    for low_bits in range(variables):
        best, rows, floors = np.zeros(size), np.empty(size), np.empty(size >> low_bits)
        for part in range(1 << low_bits):
            least_trees(part, part + 1, low_bits, variables, tables, best, rows, floors)
        assert best[1:] == pytest.approx(expected)


@pytest.mark.parametrize("variables", [2, 3, 4, 5])
@pytest.mark.parametrize("model", [PARTIAL_MATCHES, WORK, LATENCY])
def test_few_variables_are_planned_alike_with_and_without_compiled_loops(
    monkeypatch, variables, model
):
    one, statistics = many(variables)
    planned = {}
    for few in (0, 9):
        for planner in ("dp_order", "dp_tree"):
            monkeypatch.setattr(f"cepkit.planners.{planner}._FEW", few)
        planned[few] = [p.plan(one, statistics, model) for p in (DpOrder(), DpTree())]
    assert planned[0] == planned[9]


def _least(chosen, tables, cache):
    """The least cost of a tree of a set, from the definition; infinite where it is above 1."""
    if chosen & (chosen - 1) == 0:
        return 0.0
    if chosen not in cache:
        found = np.inf
        for left in range(1, chosen):
            if left & chosen == left:
                right = chosen ^ left
                cost = _least(left, tables, cache) + _least(right, tables, cache)
                if tables.between.size:
                    cost += np.exp(tables.between[chosen] + tables.side[left] + tables.side[right])
                if tables.last.size:
                    cost += tables.last[left] * tables.held[right]
                    cost += tables.last[right] * tables.held[left]
                found = min(found, cost)
        found += tables.alive[chosen]
        cache[chosen] = found if found <= 1 else np.inf
    return cache[chosen]
