"""Selectivities that drift: slices that differ are planned by their own, and only those."""

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit.adaptation.drift import Drift
from cepkit.statistics.measuring.estimate import estimate

SEGMENT = 20_000
TEXT = "PATTERN SEQ(A a, B b, C c, D d) WHERE a.x < b.x AND c.x < d.x {more}WITHIN 600 ms"


def stream(*, drifts, segments=4, seed=1):
    """Events of four types, each as often as the others; of which x is large changes by turns."""
    rng = np.random.default_rng(seed)
    n = segments * SEGMENT
    kind = rng.choice(list("ABCD"), n)
    x = rng.normal(size=n)
    odd = np.arange(n) // SEGMENT % 2 == 1
    for name, large in (("A", odd), ("C", ~odd)):
        x += np.where((kind == name) & drifts, np.where(large, 3.0, -3.0), 0.0)
    ts = np.cumsum(rng.exponential(5_000, n)).astype(np.int64)
    frame = pd.DataFrame({"ts": ts, "type": kind, "x": x, "k": rng.integers(0, 2, n)})
    return ck.events(frame, time="ts", type="type", unit="us")


def test_slices_with_drift_are_planned_by_selectivities_of_the_slice():
    events, text = stream(drifts=True), TEXT.format(more="")
    # The sample of slices, by which one plan is made, has both of each.
    plan = ck.choose_plan(text, ck.profile(events, text), "dp-order")
    one = ck.detect(events, text, plan)
    adapted = ck.detect(events, text, plan, adapt="slices")
    assert adapted.count() == one.count() > 0
    assert adapted.plans.switches >= 3
    for stretch in adapted.plans.stretches:
        assert "sel(a, b) is " in stretch.why
        assert " in the whole stream" in stretch.why
    work = [sum(step.candidates for step in m.explain().steps) for m in (adapted, one)]
    assert work[0] < work[1] / 4


@pytest.mark.parametrize("more", ["", "AND a.k = c.k ", "AND b.x > -1 "])
def test_slices_without_drift_use_the_statistics_of_the_stream(more):
    events = stream(drifts=False)
    query = ck.parse(TEXT.format(more=more))
    columns = events.columns(["x", "k"])
    drift = Drift(query, estimate(columns, query, joins=False))
    for first in range(0, len(columns), 4_000):
        assert drift.of(columns, first, first + 4_000) is None


def test_filters_drift_too():
    events = stream(drifts=True)
    query = ck.parse("PATTERN SEQ(A a, B b) WHERE a.x > 0 AND b.x > 0 WITHIN 600 ms")
    columns = events.columns(["x"])
    drift = Drift(query, estimate(columns, query, joins=False))
    own = drift.of(columns, 0, SEGMENT)
    assert own.statistics.filters["a"] < 0.01
    assert own.statistics.filters["b"] == drift._statistics.filters["b"]
    assert own.why.startswith("filter(a) is 0.00")


@pytest.mark.parametrize(
    ("work", "asked"), [(2e6, [0, 8, 9, 10]), (2e7, [0, 3, 6, 9, 10]), (1e9, [])]
)
def test_more_work_checks_more_slices_and_drift_checks_all(monkeypatch, work, asked):
    columns = stream(drifts=False, segments=1).columns(["x"])
    query = ck.parse(TEXT.format(more=""))
    drift = Drift(query, estimate(columns, query, joins=False))
    seen = []

    def own(_self, _columns, first, _end):
        seen.append(first)
        return first in (8, 9) or None

    monkeypatch.setattr(Drift, "of", own)
    for first in range(12):
        drift.now_and_then(columns, first, first + 1, work)
    assert seen == (asked or list(range(12)))


def test_windows_in_events_are_never_asked():
    columns = stream(drifts=True, segments=2).columns(["x"])
    query = ck.parse("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 50 EVENTS")
    drift = Drift(query, estimate(columns, query, joins=False))
    assert drift.of(columns, 0, SEGMENT) is None
