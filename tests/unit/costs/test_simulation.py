"""Expected numbers against brute force on random Poisson streams.

Tolerance: the mean over the streams lies within four standard errors of the expectation, and the
standard error is below 5 % of it, so that a factor that is wrong is seen.
"""

import math
from functools import lru_cache

import numpy as np
import pytest

from cepkit.costs import Expectation, expected_steps
from cepkit.pattern.conditions import variables_of
from cepkit.plan.logarithms import from_log
from cepkit.statistics import Statistics
from tests.unit.costs.cases import branch, compare, conjunction, count, seq, simulate

W = 3.0
RATES = {"a": 0.9, "b": 0.6, "c": 1.1, "d": 0.5}
LESS = (compare("a.x", "<", "b.x"), compare("b.y", "<", "c.y"))
EQUAL = (compare("a.k", "=", "b.k"), compare("b.y", "<", "c.y"))
SHARES = {("a", "b"): 0.5, ("b", "c"): 0.5}
EQUAL_SHARES = {("a", "b"): 0.25, ("b", "c"): 0.5}

CASES = {
    "one": (branch(conjunction("a"), seconds=W), {}),
    "and of two": (branch(conjunction("a", "b"), seconds=W), {}),
    "seq of two": (branch(seq("a", "b"), seconds=W), {}),
    "and of three": (branch(conjunction("a", "b", "c"), seconds=W), {}),
    "seq of three": (branch(seq("a", "b", "c"), seconds=W), {}),
    "nested": (branch(seq("a", conjunction("b", "c"), "d"), seconds=W), {}),
    "conditions": (branch(seq("a", "b", "c"), *LESS, seconds=W), SHARES),
    "equality": (branch(conjunction("a", "b", "c"), *EQUAL, seconds=W), EQUAL_SHARES),
    "partition": (branch(conjunction("a", "b", "c"), seconds=W, partition_by=("p",)), {}),
}


def assert_expected(counts, expected):
    error = np.std(counts, ddof=1) / math.sqrt(len(counts))
    assert error < 0.05 * expected
    assert abs(np.mean(counts) - expected) < 4 * error


def statistics(shares, duration):
    return Statistics.assumed(RATES, shares, same_key=0.2, span_seconds=duration)


@lru_cache(maxsize=1)
def streams(duration, number):
    random = np.random.default_rng(20180)
    return [simulate(random, RATES, duration) for _ in range(number)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "duration", "number"),
    # Four variables match too seldom in a short stream for the tolerance.
    [(n, 20.0, 500) for n in CASES] + [(n, 2.0, 10_000) for n in CASES if n != "nested"],
)
def test_matches_over_a_stream(name, duration, number):
    """Also where the stream is shorter than the window."""
    one, shares = CASES[name]
    counts = [count(s, one, one.variables, one.conditions, W) for s in streams(duration, number)]
    assert_expected(
        counts, expected_steps(one, statistics(shares, duration), one.variables)[-1].partial_matches
    )


@pytest.mark.parametrize("name", ["and of two", "seq of three", "conditions", "partition"])
def test_partial_matches_alive_in_a_window(name):
    """PM(S) of every prefix of the pattern, in windows of length W."""
    one, shares = CASES[name]
    expectation = Expectation.of(one, statistics(shares, 100.0))
    windows = streams(W, 10_000)
    for k in range(1, len(one.variables) + 1):
        bound = frozenset(one.variables[:k])
        conditions = [c for c in one.conditions if variables_of(c) <= bound]
        counts = [count(s, one, one.variables[:k], conditions, W) for s in windows]
        assert_expected(counts, from_log(expectation.log_alive(bound)))


@pytest.mark.parametrize("name", ["seq of three", "conditions", "equality", "partition"])
@pytest.mark.parametrize(
    "order", ["abc", *(pytest.param(o, marks=pytest.mark.slow) for o in ("cab", "bca"))]
)
def test_candidates_of_each_step(name, order):
    """Conditions of the step are not applied, but for equalities, which an index answers."""
    one, shares = CASES[name]
    duration = 20.0
    steps = expected_steps(one, statistics(shares, duration), order)
    expected = [step.candidates for step in steps]
    runs = streams(duration, 400)
    for k in range(1, 4):
        bound = frozenset(order[: k - 1])
        taken = frozenset(order[:k])
        conditions = [
            c
            for c in one.conditions
            if variables_of(c) <= bound or (c.operator == "=" and variables_of(c) <= taken)
        ]
        counts = [count(s, one, order[:k], conditions, W) for s in runs]
        assert_expected(counts, expected[k - 1])
