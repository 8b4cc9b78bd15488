"""An interrupted search that goes from plan to plan returns its best plan so far."""

import pytest

import cepkit as ck
from cepkit.costs import PARTIAL_MATCHES
from cepkit.pattern.normal_form import normal_form
from cepkit.planners import PLANNERS
from cepkit.planners.choose import choose_plan
from cepkit.planners.compare import compare_plans
from cepkit.planners.contract import SearchInterrupted
from cepkit.planners.iterative_improvement import IterativeImprovement
from cepkit.sharing.searches import SEARCHES
from cepkit.sharing.searches.annealing import Annealing
from cepkit.sharing.searches.tabu import Tabu
from cepkit.statistics import Statistics
from tests.unit.costs.cases import query, seq

SEVEN = query(seq(*"abcdefg"), seconds=10)
RATES = Statistics.assumed(dict(zip("abcdefg", (5, 4, 6, 3, 7, 2, 1), strict=True)))
FEW = Statistics.assumed(
    {"a": 5, "b": 4, "c": 3, "d": 1}, {("a", "b"): 0.1, ("b", "c"): 0.1, ("c", "d"): 0.1}
)
TEXTS = [
    "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 10 s",
    "PATTERN SEQ(A a, B b, C c, D d) WHERE a.x < b.x AND b.x < c.x AND c.x < d.x WITHIN 10 s",
    "PATTERN SEQ(B b, C c, D d) WHERE b.x < c.x AND c.x < d.x WITHIN 10 s",
]


class Impatient:
    """An observer that interrupts at some report."""

    def __init__(self, after):
        self.left, self.seen = after, []

    def __call__(self, state):
        self.seen.append(state)
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("after", [2, 3, 5])
def test_the_best_order_so_far(after):
    impatient = Impatient(after)
    search = IterativeImprovement("mine", greedy=False, starts=1_000)
    plan = choose_plan(SEVEN, RATES, search, PARTIAL_MATCHES, impatient)
    assert plan.planner == "mine, interrupted"
    assert plan.branches[0] == impatient.seen[-1].plan
    assert plan.log_cost == pytest.approx(impatient.seen[-1].log_cost)


def test_before_there_is_a_plan_an_interrupt_is_one():
    class Never(IterativeImprovement):
        def plan(self, *_):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        choose_plan(SEVEN, RATES, Never("never", greedy=False, starts=1))


def test_interrupted_planner_raises_with_its_best_plan():
    search = IterativeImprovement("mine", greedy=True, starts=9)
    (branch,) = normal_form(SEVEN)
    with pytest.raises(SearchInterrupted) as caught:
        search.plan(branch, RATES, PARTIAL_MATCHES, Impatient(2))
    assert set(caught.value.best.order) == set("abcdefg")


class Stopped(IterativeImprovement):
    """A search whose user loses patience."""

    def plan(self, branch, statistics, cost, observe=None):
        impatient = Impatient(3)

        def both(state):
            observe(state)
            impatient(state)

        return IterativeImprovement.plan(self, branch, statistics, cost, both)


def test_a_comparison_has_the_best_plan_so_far_and_ends():
    stopped = Stopped("slow", greedy=False, starts=1_000)
    found = compare_plans(SEVEN, RATES, ["greedy", stopped, "dp-order"])
    assert [row.plan.planner for row in found.rows] == ["greedy", "slow, interrupted"]
    assert found.refused == (("slow", "interrupted: its best plan so far"),)
    assert "slow, interrupted" in str(found)


def test_interrupted_search_uses_greedy_for_further_branches():
    either = ck.parse("PATTERN OR(SEQ(A a, B b, C c), SEQ(D d, E e, F f)) WITHIN 10 s")
    known = Statistics.assumed(dict(zip("abcdef", (3, 1, 2, 5, 6, 4), strict=True)))
    stopped = Stopped("slow", greedy=False, starts=1_000)
    plan = choose_plan(either, known, stopped, PARTIAL_MATCHES, lambda _: None)
    greedy = choose_plan(either, known, "greedy")
    assert plan.branches[1] == greedy.branches[1]


def test_iterative_improvement_says_how_far_it_is():
    shares = []
    choose_plan(SEVEN, RATES, PLANNERS["ii-random"], PARTIAL_MATCHES,
                lambda state: shares.append(state.done))  # fmt: skip
    told = [share for share in shares if share is not None]
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len({*told}) > 3


@pytest.mark.parametrize(
    "search", [Annealing(idle=20_000), Tabu(idle=300), SEARCHES["exact"]], ids=lambda s: s.name
)
def test_the_best_shared_plans_so_far(search):
    known = FEW
    whole = ck.choose_plan(TEXTS, known, search, share="prefix", progress=False)
    impatient = Impatient(2)
    found = ck.choose_plan(TEXTS, known, search, share="prefix", observe=impatient, progress=False)
    assert found.search == f"{search.name}, interrupted"
    assert found.cost == pytest.approx(impatient.seen[-1].cost)
    assert found.cost >= whole.cost * (1 - 1e-9)
    assert len(found.plans) == len(TEXTS)


@pytest.mark.parametrize("search", [Annealing(), Tabu()], ids=lambda s: s.name)
def test_local_searches_for_shared_plans_say_how_far_they_are(search):
    seen = []
    ck.choose_plan(TEXTS, FEW, search, share="prefix", observe=seen.append, progress=False)
    shares = [state.done for state in seen if state.done is not None]
    assert shares == sorted(shares)
    assert 0 < shares[-1] <= 1
