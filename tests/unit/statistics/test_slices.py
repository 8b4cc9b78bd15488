"""Statistics by slices of a stream: unbiased, bursts included, and plans as good as by all of it.

Tolerance: the mean over many seeds lies within four of its standard errors of the exact number.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from benchmarks.streams import zipf_events
from cepkit.planners import choose
from cepkit.statistics.measuring.estimate import estimate, estimate_by_slices
from cepkit.statistics.model import Statistics
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.stream import Stream

SEEDS = 40


def bursts(n: int = 12_000, seed: int = 0) -> Stream:
    """Return events of which half come in bursts; k is shared in bursts."""
    rng = np.random.default_rng(seed)
    quiet = rng.uniform(0, 6000, n // 2)
    times = rng.choice(rng.uniform(0, 6000, 90), n - n // 2) + rng.exponential(1.0, n - n // 2)
    times = np.sort(np.append(quiet, times))
    frame = pd.DataFrame(
        {"t": times, "kind": rng.choice(list("ABCD"), n, p=[0.5, 0.3, 0.15, 0.05])}
    )
    frame["x"] = np.sin(times / 20) + rng.normal(0, 0.5, n)
    frame["k"] = (times // 5).astype(int) % 40 + rng.integers(0, 3, n)
    frame.loc[rng.random(n) < 0.05, "k"] = np.nan
    return ck.events(frame, time="t", type="kind", unit="s")


BURSTS = bursts()
PATTERNS = {
    "sequence": "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 2 s",
    "in any order": "PATTERN AND(A a, B b, C c) WHERE a.x < b.x AND c.x > 0 WITHIN 1 s",
    "keys": "PATTERN SEQ(A a, B b, C c) WHERE a.k = b.k AND b.k = c.k AND a.x < c.x WITHIN 8 s",
    "partition": "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 6 s PARTITION BY k",
}


def by_slices(text: str, seed: int, stream: Stream = BURSTS, size: int = 1500) -> Statistics:
    query = ck.parse(text)
    return estimate_by_slices(stream.columns(attributes_read(query)), query, seed=seed, size=size)


@pytest.mark.slow
@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS)
def test_the_number_of_matches_is_unbiased(text):
    exact = ck.detect(BURSTS, text).count()
    expected = []
    for seed in range(SEEDS):
        statistics = by_slices(text, seed)
        assert statistics.measured_events is not None
        joined = statistics.joins[frozenset("abc")]
        counts = [statistics.rate(v) * statistics.span_seconds for v in "abc"]
        expected.append(np.prod(counts) * joined.share)
    error = np.std(expected, ddof=1) / np.sqrt(SEEDS)
    assert abs(np.mean(expected) - exact) < 4 * error
    assert error < 0.25 * exact


def test_rates_are_those_of_the_whole_stream():
    text = PATTERNS["sequence"]
    query = ck.parse(text)
    whole = estimate(BURSTS.columns(attributes_read(query)), query)
    some = by_slices(text, 3)
    assert some.rates == whole.rates
    assert some.events == whole.events
    assert some.measured_events < some.events / 2
    assert whole.measured_events is None
    assert by_slices(text, 3) == some
    assert by_slices(text, 4) != some


@pytest.mark.parametrize(
    "end", ["", "WITHIN 50 EVENTS", "WITHIN 2000 s"], ids=["none", "events", "long"]
)
def test_windows_that_slices_do_not_hold_have_the_whole_stream_measured(end):
    text = f"PATTERN SEQ(A a, B b) WHERE a.x < b.x {end}"
    query = ck.parse(text)
    columns = BURSTS.columns(attributes_read(query))
    assert by_slices(text, 0) == estimate(columns, query, details=False)


def test_a_short_stream_is_measured_as_a_whole():
    assert by_slices(PATTERNS["sequence"], 0, size=7000).measured_events is None


def test_slices_are_longer_where_a_type_is_rare():
    stream = ck.events(zipf_events(100_000, seed=2), time="ts", type="type")
    text = "PATTERN SEQ(T01 a, {} b) WHERE a.price < b.price WITHIN 0.1 s"
    often = by_slices(text.format("T02"), 0, stream, size=2000)
    rare = by_slices(text.format("T50"), 0, stream, size=2000)
    assert rare.measured_events > 3 * often.measured_events


def test_a_type_that_never_occurs_makes_slices_no_longer():
    text = "PATTERN SEQ(A a, {} b) WHERE a.x < b.x WITHIN 1 s"
    absent = by_slices(text.format("Z"), 0, size=300)
    assert absent.measured_events == by_slices(text.format("B"), 0, size=300).measured_events
    assert absent.never_occurring == ("Z",)


def test_statistics_of_slices_are_saved_as_such():
    some = by_slices(PATTERNS["keys"], 1)
    assert Statistics.from_json(some.to_json()) == some
    assert (
        "measured_events"
        not in estimate(BURSTS.columns(["x"]), ck.parse(PATTERNS["sequence"])).to_json()
    )


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(T01 a, T02 b, T50 c) WHERE a.price < b.price < c.price WITHIN 1 s",
        "PATTERN SEQ(T01 a, T02 b, T03 c) WHERE a.key = b.key AND b.key = c.key WITHIN 5 s",
        "PATTERN AND(T01 a, T02 b, T50 c) WHERE a.diff < b.diff WITHIN 1 s",
        "PATTERN SEQ(T01 a, NOT(T02 n), T50 c) WHERE n.price > a.price WITHIN 1 s",
        "PATTERN SEQ(T01 a, KL(T30 b), T50 c) WHERE b.price > a.price WITHIN 1 s",
        "PATTERN OR(SEQ(T01 a, T50 b), SEQ(T02 c, T40 d)) WITHIN 1 s",
    ],
)
def test_detection_plans_by_slices_and_says_so(text):
    stream = ck.events(zipf_events(100_000, seed=2), time="ts", type="type")
    query = ck.parse(text)
    matches = ck.detect(stream, text)
    columns = stream.columns(attributes_read(query))
    whole = choose.plan_to_run(query, estimate(columns, query, details=False))
    assert matches.plan.branches == whole.branches
    measured = matches.plan.statistics.measured_events
    assert f"{measured:,} of 100,000 events, in random slices" in str(matches.explain())
    assert "in random slices" in matches.explain()._repr_html_()
    assert matches.count() == ck.detect(stream, text, whole).count()
    assert "all 100,000 events" in str(ck.detect(stream, text, whole).explain())


def test_more_events_are_measured_where_much_work_is_expected():
    text = "PATTERN AND(T01 a, T02 b, T03 c) WITHIN 2 s"
    stream = ck.events(zipf_events(400_000, seed=2), time="ts", type="type")
    columns = stream.columns(())
    query = ck.parse(text)
    once = estimate_by_slices(columns, query)
    plan = choose.plan_in_memory(query, columns)
    assert once.measured_events is not None
    again = plan.statistics.measured_events
    assert again is None or again > 3 * once.measured_events


def test_several_patterns_are_measured_on_slices_as_one_is(monkeypatch):
    stream = ck.events(zipf_events(100_000, seed=1), time="ts", type="type")
    rules = [
        f"PATTERN SEQ(T01 a, T02 b, T0{last} c) WHERE a.diff + 2 < b.diff WITHIN {window} ms"
        for last, window in ((3, 50), (4, 50), (5, 80))
    ]
    several = ck.detect(stream, rules)
    whole = several.plan.statistics
    for known in (whole, *whole.others):
        assert known.measured_events is not None
        assert known.measured_events < 50_000
    assert several.counts().tolist() == [ck.detect(stream, rule).count() for rule in rules]
    # A search of some minutes is worth a look at all of it.
    monkeypatch.setattr("cepkit.api.several.size_worth", lambda seconds, queries: 1 << 20)
    again = ck.detect(stream, rules)
    assert again.plan.statistics.measured_events is None
    assert again.counts().tolist() == several.counts().tolist()


def test_more_queries_take_longer_to_measure():
    assert choose.size_worth(0.1) is None
    assert choose.size_worth(1.0) == choose.size_worth(2.0, 11)
    assert choose.size_worth(1e9) == choose.size_worth(1e9, 100)
