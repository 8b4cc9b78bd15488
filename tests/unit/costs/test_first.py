"""Partial matches under FIRST and NEXT, and the orders that profit."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cepkit.costs.expectation import Expectation
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.parsing.parser import parse
from cepkit.planners.choose import plan_to_run
from cepkit.statistics.model import Statistics

PATTERN = "PATTERN SEQ(A a, FIRST B b, C c) WHERE b.x > a.x WITHIN 100 seconds"
ASSUMED = Statistics.assumed({"a": 1.0, "b": 2.0, "c": 3.0}, {("a", "b"): 0.1})


def test_each_event_before_has_one_first_where_it_has_any() -> None:
    (branch,) = normal_form(parse(PATTERN))
    expected = Expectation.of(branch, ASSUMED)
    # In order 100 * 1 * 100 * 2 / 2 pairs in a window, of which a tenth holds: ten for each a.
    pairs = math.exp(expected.log_alive(frozenset("ab")))
    assert pairs == pytest.approx(100 * -math.expm1(-10), rel=1e-9)
    assert expected.log_alive(frozenset("b")) == pytest.approx(math.log(200))


def test_plan_binds_a_first_variable_after_the_one_before() -> None:
    query = parse(PATTERN)
    (plan,) = plan_to_run(query, ASSUMED).branches
    assert plan.order.index("a") < plan.order.index("b")


def test_one_event_of_a_window_comes_next() -> None:
    (branch,) = normal_form(parse("PATTERN SEQ(A a, NEXT B b) WITHIN 100 seconds"))
    statistics = replace(Statistics.assumed({"a": 1.0, "b": 2.0}), events=4000, first=0, last=10**9)
    expected = Expectation.of(branch, statistics)
    # Half of all events are b, and so is what comes after one of the hundred a in a window.
    assert math.exp(expected.log_alive(frozenset("ab"))) == pytest.approx(50, rel=1e-6)


def test_planner_orders_freely_without_first() -> None:
    query = parse(PATTERN.replace("FIRST ", ""))
    rare = Statistics.assumed({"a": 100.0, "b": 1.0, "c": 0.001}, {("a", "b"): 0.1})
    (plan,) = plan_to_run(query, rare).branches
    assert plan.order[0] == "c"
