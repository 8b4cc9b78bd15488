import numpy as np
import pytest

from cepkit.costs import PARTIAL_MATCHES
from cepkit.errors import PlanError
from cepkit.planners import PLANNERS, ByFrequency, GivenOrder, Greedy
from cepkit.planners.choose import get_planner
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


def test_by_frequency_looks_at_what_passes_the_filter():
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


@pytest.mark.parametrize("planner", [ByFrequency(), Greedy()])
def test_a_repeated_variable_is_last(planner):
    """AND(A, KL(B), C), 5 events/s each, W = 10 s: B is last in every sensible plan."""
    one = branch(conjunction("a", repeated("b"), "c"), seconds=10)
    assert order(planner, one, Statistics.assumed(dict.fromkeys("abc", 5.0))) == "acb"


def test_greedy_breaks_ties_by_the_pattern_whatever_the_numbers():
    names = [f"v{i:02}" for i in range(12)]
    shares = {(x, y): 0.1 for i, x in enumerate(names) for y in names[:i]}
    for rate in np.random.default_rng(3).uniform(0.1, 3, 20):
        statistics = Statistics.assumed(dict.fromkeys(names, float(rate)), shares)
        for structure in (conjunction(*names), seq(*names)):
            one = branch(structure)
            assert Greedy().plan(one, statistics, PARTIAL_MATCHES).order == tuple(names)


def test_planners_by_name():
    assert tuple(PLANNERS) == ("given-order", "by-frequency", "greedy")
    assert get_planner("greedy") == Greedy()
    assert get_planner(Greedy()) == Greedy()
    with pytest.raises(PlanError, match=r"'gredy'(.|\n)*did you mean 'greedy'"):
        get_planner("gredy")
