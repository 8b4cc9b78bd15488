"""Corrections by sampled joins: forecasts with bursts and dependent conditions."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from math import exp, log

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit.columnar.results.matches import Matches
from cepkit.costs import expected_steps
from cepkit.costs.expectation import corrections
from cepkit.pattern.normal_form import normal_form
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.statistics import Joined
from cepkit.stream.stream import Stream

AB, BC, ABC = frozenset("ab"), frozenset("bc"), frozenset("abc")


def correlated() -> Stream:
    """Return events evenly in time with strongly dependent values of x."""
    rng = np.random.default_rng(1)
    n = 6000
    times = np.sort(rng.uniform(0, 3000, n))
    frame = pd.DataFrame({"t": times, "kind": rng.choice(list("ABC"), n)})
    frame["x"] = np.floor(times / 40) % 2 * 10 + rng.normal(0, 1, n)
    return ck.events(frame, time="t", type="kind", unit="s")


def bursty() -> Stream:
    """Return events of which most come in a few bursts, all types together."""
    rng = np.random.default_rng(2)
    n = 4000
    quiet = rng.uniform(0, 3000, n // 4)
    bursts = rng.choice(rng.uniform(0, 3000, 15), n - n // 4) + rng.uniform(0, 4, n - n // 4)
    frame = pd.DataFrame({"t": np.sort(np.append(quiet, bursts))})
    frame["kind"] = rng.choice(list("ABC"), n, p=[0.7, 0.25, 0.05])
    frame["x"] = rng.uniform(0, 1, n)
    return ck.events(frame, time="t", type="kind", unit="s")


CASES = {
    "correlated": (
        correlated(), "PATTERN SEQ(A a, B b, C c) WHERE a.x > b.x + 5 AND a.x > c.x + 5 WITHIN 20 s"
    ),
    "contrary": (
        correlated(), "PATTERN SEQ(A a, B b, C c) WHERE a.x > b.x + 5 AND b.x < c.x - 5 WITHIN 60 s"
    ),
    "bursty": (bursty(), "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 3 s"),
}  # fmt: skip


@pytest.mark.parametrize(("stream", "text"), CASES.values(), ids=CASES)
def test_forecast_of_each_step_is_near_its_counted_candidates(stream: Stream, text: str) -> None:
    statistics = ck.profile(stream, text)
    query = ck.parse(text)
    (branch,) = normal_form(query)
    wrong_before = 1.0
    for order in permutations(branch.variables):
        plan = Plan((OrderPlan(order),), "given")
        steps = Matches(stream, query, plan).explain().steps
        for step, expected in zip(steps, expected_steps(branch, statistics, order), strict=True):
            # Conditions that say how far apart events are leave more or less in scope: it is known
            # from one subset alone.
            assert 0.4 < expected.candidates / step.candidates < 2.5
            assert expected.partial_matches == pytest.approx(step.survivors, rel=0.35)
        even = expected_steps(branch, replace(statistics, joins={}), order)[-1].partial_matches
        matches = steps[-1].survivors
        wrong_before = max(wrong_before, even / matches, matches / even)
    assert wrong_before > 1.4
    assert statistics.forecast is not None
    assert statistics.forecast.sampled
    assert "by a sample of joins" in str(statistics)


def test_corrections_add_up_to_the_sampled_shares() -> None:
    rng = np.random.default_rng(3)
    found = {
        names: (Joined(exp(rng.normal()) * 1e-3, 1e4, exp(rng.normal()) * 1e-9, True), -8.0, -12.0)
        for names in (ABC, AB, BC)
    }
    made = corrections(found)
    for names, (joined, in_scope, held) in found.items():
        scope = sum(value for of, value in made.scopes.items() if of <= names)
        dependence = sum(value for of, value in made.dependences.items() if of <= names)
        assert scope == pytest.approx(log(joined.in_scope) - in_scope)
        assert scope + dependence == pytest.approx(log(joined.share) - held)


def test_few_hits_say_little() -> None:
    """Without a sample the expectation stays; with more hits the sample counts more."""

    def dependence(hits: float, expected: float) -> float:
        joined = Joined(1e-3, hits, 1e-6)
        return corrections({AB: (joined, log(1e-3), log(expected * 1e-6))}).dependences[AB]

    assert dependence(0, 1e-3) == pytest.approx(0, abs=0.01)
    assert dependence(0, 100) < log(0.02)
    assert 0 < dependence(1, 1e-3) < log(1000)
    assert dependence(10_000, 1) == pytest.approx(log(10_000), rel=0.01)


def test_forecast_stays_zero_for_selectivity_zero_despite_samples() -> None:
    statistics = ck.Statistics.assumed({"a": 1, "b": 1}, {("a", "b"): 0.0})
    joined = replace(statistics, joins={AB: Joined(0.01, 5, 1e-6)})
    text = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 s"
    forecast = ck.choose_plan(text, joined).forecast
    assert forecast is not None
    assert forecast.matches == 0
