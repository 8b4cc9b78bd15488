"""Counts over a sliding window against exact ones: within the published error and space."""

import math
import random
from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.errors import StatisticsError
from cepkit.statistics.measuring.online import OnlineStatistics, SlidingCount

SECOND = 1_000_000


@given(
    gaps=st.lists(st.sampled_from([0, 0, 1, 2, 30]), min_size=1, max_size=300),
    window=st.integers(1, 60),
    error=st.sampled_from([0.01, 0.05, 0.2, 0.5, 0.9]),
    later=st.integers(0, 40),
)
def test_a_count_is_off_by_less_than_the_error(gaps, window, error, later):
    counted, times = SlidingCount(window, error), []
    for gap in gaps:
        times.append((times[-1] if times else 0) + gap)
        counted.add(times[-1])
        exact = len(times) - bisect_right(times, times[-1] - window)
        assert abs(counted.count(times[-1]) - exact) <= error * exact
    now = times[-1] + later
    exact = len(times) - bisect_right(times, now - window)
    assert abs(counted.count(now) - exact) <= error * exact


@pytest.mark.parametrize("error", [0.02, 0.1, 0.5])
def test_few_buckets_are_held(error):
    counted = SlidingCount(10**9, error)
    n = 20_000
    for ts in range(n):
        counted.add(ts)
    k = math.ceil(1 / error)
    assert counted.buckets <= (k / 2 + 2) * (math.log2(2 * n / k + 1) + 1)
    assert abs(counted.count(n) - n) <= error * n


def test_sliding_count_forgets_events_that_left_the_window():
    counted = SlidingCount(10)
    for ts in (0, 1, 2, 9):
        counted.add(ts)
    assert counted.count(9) == 4
    assert counted.count(10) == 3  # the window is open at its beginning
    assert counted.count(18) == 1
    assert counted.count(19) == 0
    assert counted.buckets == 0


def test_statistics_follow_the_stream():
    text = "PATTERN SEQ(A a, OR(B b, C c), A d) WHERE a.x < d.x WITHIN 5 seconds"
    known = ck.Statistics.assumed({"a": 1, "b": 1, "c": 1, "d": 1}, {("a", "d"): 0.5})
    online = OnlineStatistics(ck.parse(text), known, 10 * SECOND, 0.01)
    rng = random.Random(1)
    for i in range(4_000):
        early = i < 2_000
        online.add(i * SECOND // 100, rng.choice("AB" if early else "AAAAC"))
        online.tried(i * SECOND // 100, ("a", "d"), held=rng.random() < (0.1 if early else 0.7))
        if i == 1_999:
            then = online.now(i * SECOND // 100)
    now = online.now(40 * SECOND)
    assert then.rate("a") == pytest.approx(50, rel=0.1)
    assert then.rate("c") == 0.05
    assert then.selectivity("a", "d") == pytest.approx(0.1, rel=0.3)
    assert now.rate("a") == now.rate("d") == pytest.approx(80, rel=0.1)
    assert now.rate("c") == pytest.approx(20, rel=0.2)
    assert now.rate("b") == 0.05
    assert now.selectivity("a", "d") == pytest.approx(0.7, rel=0.1)
    assert now.span_seconds == 10


def test_selectivity_without_trials_stays_as_assumed():
    text = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 seconds"
    known = ck.Statistics.assumed({"a": 1, "b": 1}, {("a", "b"): 0.25})
    online = OnlineStatistics(ck.parse(text), known, SECOND)
    online.add(0, "A")
    assert online.now(SECOND // 2).selectivity("a", "b") == 0.25
    assert online.now(SECOND // 2).rate("a") == 2


@pytest.mark.parametrize(("window", "error"), [(0, 0.1), (1, 0.0), (1, 1.0), (1, math.nan)])
def test_a_window_or_an_error_that_means_nothing_is_refused(window, error):
    with pytest.raises(StatisticsError):
        SlidingCount(window, error)
