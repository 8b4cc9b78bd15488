"""Samples of matches, and aggregates with an error bound: results, coverage, what is refused."""

import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit.columnar.results import sampled
from cepkit.errors import LimitError, PatternError, StreamError, UnsupportedError
from cepkit.plan.nodes import Plan
from cepkit.stream.warnings import StreamWarning


def log(rows=3_000, seed=3):
    """Return events that come in bursts, with a hot key and some missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "ts": np.sort(rng.choice(40, rows) * 1_000 + rng.exponential(200, rows)).astype(int),
            "type": rng.choice(list("ABCD"), rows, p=[0.4, 0.3, 0.2, 0.1]),
            "key": rng.choice(5, rows, p=[0.6, 0.1, 0.1, 0.1, 0.1]),
            "x": rng.normal(3, 1, rows),
        }
    )
    frame.loc[rng.random(rows) < 0.1, "x"] = None
    return frame


STREAM = ck.events(log(), time="ts", type="type", unit="ms")
THREE = "PATTERN SEQ(A a, B b, C c) WHERE a.x < c.x WITHIN 500 ms"


@pytest.mark.parametrize(
    ("pattern", "aggregates"),
    [
        (THREE, "COUNT, COUNT(b.x), SUM(b.x), AVG(c.x)"),
        ("PATTERN AND(A a, B b, C c) WHERE a.key = b.key WITHIN 100 ms", "COUNT"),
        ("PATTERN SEQ(A a, NOT(D d), B b) WHERE d.key = a.key WITHIN 500 ms", "COUNT, SUM(a.x)"),
        ("PATTERN SEQ(A a, OR(B b, C c)) WITHIN 500 ms", "COUNT, COUNT(b), AVG(c.x)"),
        ("PATTERN SEQ(A a, FIRST B b, C c) WITHIN 500 ms", "COUNT"),
        ("PATTERN A a", "COUNT, AVG(a.x)"),
    ],
)
def test_estimates_are_near_the_exact_values(pattern, aggregates):
    text = f"{pattern} AGG {aggregates}"
    exact = ck.aggregate(STREAM, text, emit="total", method="detect").to_pandas().iloc[0]
    result = ck.aggregate(STREAM, text, error=0.02)
    row = result.to_pandas().iloc[0]
    assert (result.emit, result.method) == ("total", "sampling")
    for name, value in exact.items():
        half = (row[f"{name} high"] - row[f"{name} low"]) / 2
        assert half <= 0.02 * abs(row[name])
        assert abs(row[name] - value) <= 2.5 * max(half, 1e-9 * abs(value))


def test_groups_have_estimates_of_their_own():
    text = f"{THREE} GROUP BY key AGG COUNT"
    exact = ck.aggregate(STREAM, text, emit="total").to_pandas().set_index("key")["count"]
    rows = ck.aggregate(STREAM, text, error=0.05).to_pandas().set_index("key")
    assert [*rows.index] == [*exact.index]
    assert (abs(rows["count"] - exact) <= 0.12 * exact).all()


@pytest.mark.slow
def test_intervals_have_the_exact_value_as_often_as_asked():
    text = f"{THREE} AGG COUNT, SUM(b.x), AVG(b.x)"
    exact = ck.aggregate(STREAM, text, emit="total").to_pandas().iloc[0]
    covered = Counter()
    for seed in range(200):
        row = ck.aggregate(STREAM, text, error=0.05, confidence=0.9, seed=seed).to_pandas().iloc[0]
        for name, value in exact.items():
            covered[name] += int(row[f"{name} low"] <= value <= row[f"{name} high"])
    assert all(167 <= number <= 193 for number in covered.values()), covered  # 3 sigma of 180


def test_same_seed_gives_the_same_estimate_and_sample():
    for seed in (1, 2):
        rows = [ck.aggregate(STREAM, f"{THREE} AGG COUNT", error=0.1, seed=seed) for _ in "12"]
        assert rows[0].to_pandas().equals(rows[1].to_pandas())
        some = [ck.detect(STREAM, THREE, sample=20, seed=seed).to_pandas() for _ in "12"]
        assert some[0].equals(some[1])


def test_no_match_is_estimated_as_zero():
    row = ck.aggregate(STREAM, "PATTERN SEQ(A a, E e) AGG COUNT, AVG(a.x)", error=0.1).to_pandas()
    assert row["count"].tolist() == row["count high"].tolist() == [0]
    assert row["avg(a.x)"].isna().all()


def test_too_few_matches_for_an_interval_are_refused(monkeypatch):
    monkeypatch.setattr("cepkit.routes.estimated._MOST", 1 << 14)
    with pytest.raises(LimitError, match="random walks met a match"):
        ck.aggregate(STREAM, THREE.replace("a.x < c.x", "a.x * c.x > 28") + " AGG COUNT", error=0.1)


def test_interval_wider_than_asked_is_warned_of(monkeypatch):
    monkeypatch.setattr("cepkit.routes.estimated._MOST", 1 << 14)
    with pytest.warns(StreamWarning, match="some intervals are wider than error=0.0001"):
        ck.aggregate(STREAM, f"{THREE} AGG COUNT", error=0.0001)


@pytest.mark.slow
@pytest.mark.parametrize("by_walks", [True, False])
@pytest.mark.parametrize(
    "pattern",
    [
        "PATTERN SEQ(A a, B b, C c) WHERE a.key = c.key WITHIN 600 ms",
        "PATTERN SEQ(A a, OR(B b, C c), D d) WITHIN 600 ms",
    ],
)
def test_each_match_is_as_likely_in_a_sample(pattern, by_walks, monkeypatch):
    stream = ck.events(log(250, 5), time="ts", type="type", unit="ms")
    if by_walks:
        monkeypatch.setattr(sampled, "_FEW", 0)
        monkeypatch.setattr(Plan, "seconds", None)
    number = ck.detect(stream, pattern).count()
    assert number > 8
    drawn = Counter()
    runs = 120
    for seed in range(runs):
        rows = ck.detect(stream, pattern, sample=3, seed=seed).to_arrow().to_pylist()
        drawn.update(str(row) for row in rows)
    assert drawn.total() == 3 * runs
    expected = 3 * runs / number
    chi_square = sum((drawn[row] - expected) ** 2 / expected for row in drawn)
    chi_square += (number - len(drawn)) * expected
    assert chi_square < number + 4 * (2 * number) ** 0.5


def test_sample_has_the_forms_of_matches(tmp_path, monkeypatch):
    some = ck.detect(STREAM, THREE, sample=50)
    assert len(some) == some.count() == len(some.to_pandas()) == 50
    assert some.write_parquet(tmp_path / "some.parquet") == 50
    assert "a random sample of 50" in repr(some)
    assert len(some.timeline(2)) == 6
    assert ck.detect(STREAM, THREE, sample=50, limit=7).count() == 7
    monkeypatch.setattr(Plan, "seconds", None)
    with pytest.raises(UnsupportedError, match="the work of a sample"):
        ck.detect(STREAM, THREE, sample=50).explain()


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("PATTERN SEQ(A a, KL(B b))", "a set of events"),
        ("PATTERN SEQ(A a, NEXT B b)", "the order of arrival"),
        ("PATTERN SEQ(A a, OPT(B b) GREEDY, C c)", "the order of arrival"),
        ("PATTERN SEQ(A a, NOT(SEQ(B b, C d)), C c)", "absent together"),
        ("PATTERN SEQ(A a, B b) STRATEGY strict-contiguity", "STRATEGY strict-contiguity"),
        ("PATTERN SEQ(A a, B b) AFTER MATCH SKIP PAST LAST EVENT", "AFTER MATCH SKIP"),
        ("PATTERN SEQ(A a, B b) WITHIN 3 EVENTS", "a window in events"),
        ("PATTERN AND(A a, OR(NOT(B b), NOT(C c)))", "the same events"),
    ],
)
def test_what_walks_cannot_meet_is_refused(pattern, message):
    with pytest.raises(UnsupportedError, match=f"sample= .*{message}"):
        ck.detect(STREAM, pattern, sample=5)
    with pytest.raises(UnsupportedError, match=message):
        ck.aggregate(STREAM, f"{pattern} AGG COUNT", error=0.1)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (f"{THREE} AGG MIN(a.x)", {}, "AGG MIN"),
        (f"{THREE} AGG COUNT HAVING COUNT > 3", {}, "HAVING"),
        (f"{THREE} AGG COUNT", {"emit": "new"}, "emit='new'"),
        (f"{THREE} AGG COUNT", {"method": "detect"}, "method='detect'"),
        ([f"{THREE} AGG COUNT"], {}, "several patterns"),
    ],
)
def test_what_has_no_error_bound_is_refused(text, options, message):
    with pytest.raises(UnsupportedError, match=f"error= with {message}"):
        ck.aggregate(STREAM, text, error=0.1, **options)


def test_wrong_values_are_refused():
    for options in ({"error": 0.0}, {"error": 1.5}, {"error": 0.1, "confidence": 1.0}):
        with pytest.raises(StreamError, match=r"error=|confidence="):
            ck.aggregate(STREAM, f"{THREE} AGG COUNT", **options)
    with pytest.raises(StreamError, match="sample=0"):
        ck.detect(STREAM, THREE, sample=0)
    with pytest.raises(UnsupportedError, match="clock_error="):
        ck.detect(STREAM, THREE, sample=5, clock_error="1 ms")
    with pytest.raises(PatternError):
        ck.aggregate(STREAM, f"{THREE} AGG SUM(a.type)", error=0.1)
    with pytest.raises(LimitError, match="groups with error="):
        ck.aggregate(STREAM, "PATTERN A a GROUP BY x AGG COUNT", error=0.1)
    ties = ck.events(log(20), time="ts", type="type", unit="ms", ties="arrival")
    with pytest.raises(UnsupportedError, match="order of arrival"):
        ck.detect(ties, THREE, sample=5)


@pytest.mark.parametrize("several", [False, True])
def test_count_of_more_than_a_minute_names_the_estimate(several, monkeypatch):
    monkeypatch.setattr("cepkit.columnar.results.reports._LONG", 0.0)
    asked = {"one": THREE, "other": "PATTERN SEQ(A a, C b) WITHIN 1 s"} if several else THREE
    with pytest.warns(StreamWarning, match=r"ck\.aggregate\(\.\.\., error=0\.02\)"):
        ck.detect(STREAM, asked).counts()
    monkeypatch.undo()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ck.detect(STREAM, asked).counts()


@pytest.mark.parametrize("structure", ["SEQ(A a, KL(B b))", "SEQ(A a, NEXT B b)"])
def test_count_names_no_estimate_that_would_be_refused(structure, monkeypatch, recwarn):
    monkeypatch.setattr("cepkit.columnar.results.reports._LONG", 0.0)
    ck.detect(STREAM, f"PATTERN {structure} WITHIN 3 ms").count()
    assert not [one for one in recwarn if "error=0.02" in str(one.message)]


def test_exclusive_window_of_nothing_has_no_single_event_in_a_sample():
    text = "PATTERN A a WITHIN 0 seconds EXCLUSIVE AGG COUNT"
    row = ck.aggregate(STREAM, text, emit="total", error=0.1).to_pandas().iloc[0]
    assert row["count"] == 0
