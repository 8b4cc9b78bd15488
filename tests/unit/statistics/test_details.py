"""Events over time, keys, missing values, late events, and forecasts."""

from __future__ import annotations

import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.errors import StatisticsError
from cepkit.statistics import Forecast, KeyCounts, Lateness, OverTime, Statistics
from cepkit.statistics.keys import MISSING
from cepkit.statistics.lateness import LateCounts
from cepkit.statistics.over_time import MOST_BUCKETS, Buckets

TEXT = "PATTERN SEQ(A a, B b) WHERE a.k = b.k AND a.x < 2 WITHIN 10 s"


def profiled(frame: pd.DataFrame, text: str = TEXT, **options: str) -> Statistics:
    """Return the statistics of a frame without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ck.profile(ck.events(frame, time="t", type="kind", unit="s", **options), text)


@given(st.integers(-(10**15), 10**15), st.integers(0, 10**13), st.integers(1, 10**6))
def test_buckets_cover_the_stream(first: int, span: int, events: int) -> None:
    buckets = Buckets.of(first, first + span, events)
    assert 1 <= buckets.number <= MOST_BUCKETS
    assert buckets.number <= max(1, events // 10)
    assert buckets.begin == first
    assert buckets.length * (buckets.number - 1) <= span < buckets.length * buckets.number


def test_counts_over_time() -> None:
    frame = pd.DataFrame({"t": np.arange(1200) / 10, "kind": ["A", "B", "B"] * 400})
    found = profiled(frame, "PATTERN SEQ(A a, B b, ANY c) WITHIN 1 s").over_time
    assert found is not None
    assert found.buckets == MOST_BUCKETS
    assert {v: sum(counts) for v, counts in found.counts.items()} == {"a": 400, "b": 800, "c": 1200}
    assert found.mean_rate("b") == pytest.approx(2 * found.mean_rate("a"))
    assert found.mean_rate("c") == pytest.approx(10, rel=0.01)
    assert found.smallest_rate("c") <= found.mean_rate("c") <= found.largest_rate("c")
    assert found.burst("c") < 0.1  # as regular as can be
    assert found.drift("c") == pytest.approx(0, abs=0.01)


def test_drift_and_bursts() -> None:
    counts = {"up": (1, 1, 2, 2, 3, 3, 4, 4), "gone": (5,) * 6 + (0, 0), "none": (0,) * 8}
    counts["bursts"] = (0, 40, 0, 0, 0, 0, 40, 0)
    found = OverTime(0, 2.0, counts)
    assert found.drift("up") == pytest.approx((8 - 2) / 8)
    assert found.drift("gone") == -1
    assert (found.drift("none"), found.burst("none")) == (0, 1)
    assert found.burst("bursts") == pytest.approx(np.var(counts["bursts"], ddof=1) / 10)
    assert found.rates("up")[0] == 0.5
    # Events at random times have a variance like their mean.
    many = np.random.default_rng(0).poisson(50, 60)
    assert OverTime(0, 1.0, {"a": tuple(many)}).burst("a") == pytest.approx(1, abs=0.5)
    assert OverTime(0, 1.0, {"a": (7,)}).drift("a") == 0
    with pytest.raises(StatisticsError, match="'x'"):
        found.drift("x")
    with pytest.raises(StatisticsError, match="different numbers"):
        OverTime(0, 1.0, {"a": (1,), "b": (1, 2)})
    with pytest.raises(StatisticsError, match="more than 0"):
        OverTime(0, 0.0, {})


def test_profile_has_keys_and_shares_of_missing_values() -> None:
    frame = pd.DataFrame(
        {
            "t": np.arange(12.0),
            "kind": list("AAAABBBBCCCC"),
            "k": [1, 1, None, 2, 1, 3, 3, None, 7, 7, 7, 7],
            "x": [1.0, np.nan, 1.0, 1.0, *([np.nan] * 8)],
            "p": ["u", None, "v", "u", "u", "u", None, "v", "u", "u", "u", "u"],
        }
    )
    found = profiled(frame)
    assert dict(found.missing) == {"k": 0.25, "x": 0.25}  # x is read of A alone
    (key,) = found.keys
    assert key == KeyCounts(("k",), 6, 3, (("1", 3), ("3", 2), ("2", 1)))
    assert (key.largest_share, key.skew) == (0.5, 1.5)
    (by_partition, _) = profiled(frame, TEXT + " PARTITION BY p").keys
    assert by_partition.attributes == ("p",)
    assert by_partition.most_frequent == (("u", 4), (MISSING, 2), ("v", 2))


def test_most_frequent_keys_break_ties_by_value() -> None:
    frame = pd.DataFrame({"t": np.arange(60.0), "kind": "A", "k": np.arange(60)[::-1]})
    (key,) = profiled(frame, "PATTERN SEQ(A a, A b) WHERE a.k = b.k WITHIN 1 s").keys
    assert key.most_frequent == tuple((str(i), 1) for i in range(10))
    assert (key.distinct, key.skew) == (60, 1)


def test_lateness() -> None:
    frame = pd.DataFrame({"t": [0.0, 5.0, 3.0, 5.0, 1.5, 9.0], "kind": list("ABABAB"), "k": 1})
    frame["x"] = 1.0
    found = profiled(frame).lateness
    assert found == Lateness(2, 6, 3.5, 3.5)
    assert found.share == pytest.approx(1 / 3)
    frame["came"] = [0, 4, 3, 2, 1, 5]
    assert profiled(frame, arrival="came").lateness == Lateness(1, 6, 2.0, 2.0)
    assert profiled(frame.sort_values("t")).lateness == Lateness(0, 6)


@given(st.lists(st.integers(0, 10**7), max_size=60), st.lists(st.integers(0, 60), max_size=3))
def test_lateness_by_definition_and_in_parts(times: list[int], cuts: list[int]) -> None:
    late = [max(times[:i]) - t for i, t in enumerate(times) if i and max(times[:i]) > t]
    ts = np.array(times, dtype=np.int64)
    total, latest = LateCounts(), None
    for part in np.split(ts, sorted(cuts)):
        counts = LateCounts()
        latest = counts.count(part, latest)
        total.add(counts)
    found = total.result()
    assert (found.late, found.events) == (len(late), len(times))
    assert found.longest_seconds == max(late, default=0) / 1e6
    if late:
        exact = sorted(late)[math.ceil(0.99 * len(late)) - 1] / 1e6
        assert exact <= found.percentile_99_seconds * (1 + 1e-12)
        assert found.percentile_99_seconds <= exact * 1.0111


def test_a_forecast_is_that_of_the_plan() -> None:
    stream = ck.events(ck.sample_stocks(), time="ts", type="ticker")
    text = "PATTERN AND(MSFT a, GOOG b, INTC c) WHERE a.price < b.price AND b.volume < c.volume"
    found = ck.profile(stream, text + " WITHIN 6 hours")
    plan = ck.choose_plan(text + " WITHIN 6 hours", found)
    assert found.forecast == plan.forecast
    assert plan.forecast is not None
    assert plan.forecast.matches == plan.expected[0][-1].partial_matches
    assert plan.forecast.low < plan.forecast.matches < plan.forecast.high
    assert plan.forecast.warning is not None
    assert "WITHIN" in plan.forecast.warning
    for told in (str(found), str(plan), found._repr_html_(), plan._repr_html_()):
        assert "warning:" in told
        assert "expected matches" in told
    calm = ck.choose_plan(text + " WITHIN 2 s", ck.profile(stream, text + " WITHIN 2 s"))
    assert calm.forecast is not None
    assert calm.forecast.warning is None
    assert "warning" not in str(calm)
    assert found.with_rate("a", 1).forecast is None


def test_a_forecast_that_no_float_holds() -> None:
    statistics = Statistics.assumed({"a": 5, "b": 5})
    plan = ck.choose_plan("PATTERN AND(A a, KL(B b)) WITHIN 1 hour", statistics)
    assert plan.forecast is not None
    assert plan.forecast.matches == math.inf
    assert "more than 1e+308" in str(plan)
    assert "bound KL" in str(plan)
    kept = Statistics({"a": 1.0}, forecast=plan.forecast)
    assert Statistics.from_json(kept.to_json()) == kept


def test_plan_without_statistics_has_no_forecast() -> None:
    from cepkit.pattern.parsing.parser import parse
    from cepkit.plan.checks import as_plan

    assert as_plan(None, parse(TEXT)).forecast is None


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"t": [], "kind": [], "k": [], "x": []}, dtype=float),
        pd.DataFrame({"t": [1.0], "kind": ["A"], "k": [1], "x": [1.0]}),
        pd.DataFrame({"t": [1.0] * 40, "kind": list("AB") * 20, "k": 1, "x": 1.0}),
        pd.DataFrame({"t": np.arange(40.0), "kind": list("AB") * 20, "k": None, "x": None}),
        pd.DataFrame({"t": [np.nan] * 3, "kind": [None] * 3, "k": [1] * 3, "x": [1.0] * 3}),
        pd.DataFrame({"t": np.arange(40.0), "kind": "C", "k": 1, "x": 1.0}),
    ],
    ids=["empty", "one", "one moment", "nothing known", "no events", "other types"],
)
def test_odd_streams_have_a_profile(frame: pd.DataFrame) -> None:
    for text in (TEXT, TEXT + " PARTITION BY k"):
        found = profiled(frame, text)
        assert Statistics.from_json(found.to_json()) == found
        assert pickle.loads(pickle.dumps(found)) == found
        assert hash(found) == hash(pickle.loads(pickle.dumps(found)))
        assert "expected matches" in str(found)
        assert "nan" not in str(found).lower()
        assert "<p>" in found._repr_html_()


def test_statistics_for_plans_leave_out_details_for_display() -> None:
    frame = pd.DataFrame({"t": np.arange(40.0), "kind": list("AB") * 20, "k": 1, "x": 1.0})
    plan = ck.detect(ck.events(frame, time="t", type="kind", unit="s"), TEXT).plan
    assert plan.statistics is not None
    assert plan.statistics.over_time is None
    assert plan.statistics.equalities[frozenset("ab")].by_frequency is None


def test_values_that_cannot_be() -> None:
    with pytest.raises(StatisticsError, match="late"):
        Lateness(3, 2)
    with pytest.raises(StatisticsError, match="lateness"):
        Lateness(1, 2, math.nan)
    with pytest.raises(StatisticsError, match="keys"):
        KeyCounts(("k",), -1, 0, ())
    with pytest.raises(StatisticsError, match="pairs"):
        Statistics({"a": 1}, equalities={frozenset("a"): profiled_equality()})
    with pytest.raises(StatisticsError, match="missing share of 'x'"):
        Statistics({"a": 1}, missing={"x": 2.0})
    assert Forecast(0, 0, 0, 0, 0, 0).warning is None


def profiled_equality():
    """Return some equality."""
    from cepkit.statistics import Equality, Selectivity

    return Equality(0.5, Selectivity(0.5))
