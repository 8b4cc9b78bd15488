"""Shares of equal keys, in the window and by frequency, against a count of every pair."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from benchmarks.streams import zipf_events
from cepkit.costs.contract import query_cost
from cepkit.costs.steps import expected_steps
from cepkit.costs.work import WORK
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.nodes import OrderPlan
from cepkit.statistics import Equality, Selectivity
from cepkit.statistics.measuring.estimate import combine, estimate, tally_slice
from cepkit.statistics.model import Statistics
from cepkit.statistics.stream_counts import attributes_read, count_stream
from cepkit.stream.columns import EventColumns
from cepkit.stream.stream import events

PAIR = frozenset("ab")


def bursty(n: int, seed: int) -> pd.DataFrame:
    """Return events whose keys come in bursts; some have none."""
    rng = np.random.default_rng(seed)
    key = (np.arange(n) // 25 + rng.integers(0, 3, n)).astype(float)
    return pd.DataFrame(
        {
            "t": np.floor(np.cumsum(rng.exponential(1.5, n))),
            "kind": rng.choice(["A", "B", "C"], n, p=[0.5, 0.3, 0.2]),
            "x": rng.random(n),
            "k": np.where(rng.random(n) < 0.1, np.nan, key),
            "m": (np.arange(n) // 30).astype(int),
            "s": rng.choice(["u", "v", None], n),
            "p": rng.integers(0, 2, n),
        }
    )


def columns(frame: pd.DataFrame, text: str) -> EventColumns:
    """Return the frame as columns for a pattern."""
    stream = events(frame, time="t", type="kind", unit="s")
    return stream.columns(attributes_read(parse(text)))


def pairs_of(frame: pd.DataFrame, kinds: str, *, ordered: bool, keyed: bool, window: float = 20):
    """Return the pairs of different events of two types in scope of each other."""
    one, other = (list(frame[frame.kind == kind].itertuples()) for kind in kinds)
    return [
        (a, b)
        for a, b in itertools.product(one, other)
        if a.Index != b.Index
        and (a.t < b.t if ordered else True)
        and abs(a.t - b.t) <= window
        and (not keyed or a.p == b.p)
    ]


CASES = {
    "in order": ("SEQ(A a, B b)", "a.k = b.k", "AB", lambda a, b: a.k == b.k),
    "kinds that differ": ("SEQ(A a, B b)", "a.k = b.m", "AB", lambda a, b: a.k == b.m),
    "texts": ("AND(A a, B b)", "b.s = a.s", "AB", lambda a, b: a.s == b.s is not None),
    "two": (
        "SEQ(A a, B b)",
        "a.k = b.k AND a.s = b.s",
        "AB",
        lambda a, b: a.k == b.k and a.s == b.s is not None,
    ),
    "one type": ("AND(A a, A b)", "a.k = b.k", "AA", lambda a, b: a.k == b.k),
    "one type, two attributes": ("AND(A a, A b)", "a.k = b.m", "AA", lambda a, b: a.k == b.m),
    "not unequal": ("SEQ(A a, B b)", "NOT a.k != b.k", "AB", lambda a, b: a.k == b.k),
    "under NOT": ("SEQ(A a, NOT(B b), C c)", "a.k = b.k", "AB", lambda a, b: a.k == b.k),
}


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_equal_keys_are_counted_exactly(name: str, keyed: bool) -> None:
    structure, condition, kinds, agree = CASES[name]
    frame = bursty(400, seed=2)
    text = f"PATTERN {structure} WHERE {condition} WITHIN 20 s"
    text += " PARTITION BY p" if keyed else ""
    found = estimate(columns(frame, text), parse(text))
    near = pairs_of(frame, kinds, ordered="SEQ" in structure, keyed=keyed)
    share = sum(agree(*pair) for pair in near) / len(near)
    assert 0 < share < 1
    equality = found.equalities[PAIR]
    assert equality.in_window.share == pytest.approx(share)
    assert equality.in_window.pairs is None
    assert found.selectivity("a", "b") == pytest.approx(share)
    everywhere = pairs_of(frame, kinds, ordered=False, keyed=False, window=np.inf)
    exact = sum(agree(*pair) for pair in everywhere) / len(everywhere)
    assert equality.by_frequency == pytest.approx(exact)


def test_the_rest_is_sampled_among_those_that_agree() -> None:
    frame = bursty(800, seed=3)
    text = "PATTERN SEQ(A a, B b) WHERE a.k = b.k AND a.x < b.x WITHIN 60 s"
    made, query = columns(frame, text), parse(text)
    near = pairs_of(frame, "AB", ordered=True, keyed=False, window=60)
    share = sum(a.k == b.k and a.x < b.x for a, b in near) / len(near)
    whole = count_stream(made, query)
    runs = [
        combine(query, whole, [tally_slice(made, query, seed=seed, sample=100)]).selectivities[PAIR]
        for seed in range(80)
    ]
    found = np.array([run.share for run in runs])
    spread = found.std(ddof=1)
    assert 0 < spread < 0.2 * share
    assert abs(found.mean() - share) < 4 * spread / np.sqrt(len(runs))
    assert np.mean([run.standard_error for run in runs]) == pytest.approx(spread, rel=0.35)
    exact = estimate(made, query)
    assert exact.selectivity("a", "b") == pytest.approx(share)
    assert exact.equalities[PAIR].in_window.share > share


def test_slices_add_up_to_the_whole() -> None:
    frame = bursty(600, seed=4)
    text = "PATTERN AND(A a, B b) WHERE a.k = b.k WITHIN 20 s"
    made, query = columns(frame, text), parse(text)
    whole = estimate(made, query)
    tallies = []
    for begin, end in itertools.pairwise([0, 170, 390, len(made)]):
        after = int(made.ts[end]) if end < len(made) else int(made.ts[-1]) + 1
        owned = (int(made.ts[begin]), after - 1)
        seen = np.searchsorted(made.ts, (owned[0] - 20_000_000, after + 20_000_000))
        tallies.append(tally_slice(made.slice(*map(int, seen)), query, seed=1, owned=owned))
    assert combine(query, count_stream(made, query), tallies).equalities == whole.equalities


def test_a_key_of_many_values_does_not_starve_the_sample() -> None:
    table = zipf_events(60_000, types=4, keys=100_000, seed=1)
    text = "PATTERN SEQ(T01 a, T02 b) WHERE a.key = b.key AND a.price < b.price WITHIN 100 s"
    found = ck.profile(events(table, time="ts", type="type"), text)
    # Of 20,000 drawn pairs 0.2 would have agreed.
    share = found.selectivities[PAIR]
    assert share.share == pytest.approx(0.5 / 100_000, rel=0.1)
    assert found.equalities[PAIR].in_window.share == pytest.approx(1 / 100_000, rel=0.1)


def test_slice_without_equal_keys_counts_in_the_share() -> None:
    frame = pd.DataFrame({"t": [0.0, 1.0, 50.0, 51.0], "kind": list("ABAB"), "k": [1, 1, 2, 3]})
    text = "PATTERN SEQ(A a, B b) WHERE a.k = b.k WITHIN 20 s"
    made, query = columns(frame, text), parse(text)
    halves = [(0, 20_000_000), (20_000_001, 60_000_000)]
    tallies = [tally_slice(made, query, seed=0, owned=half) for half in halves]
    assert combine(query, count_stream(made, query), tallies).selectivity("a", "b") == 0.5


def test_years_of_many_partitions_do_not_overflow() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    frame = pd.DataFrame(
        {
            "t": np.sort(rng.integers(0, 3 * 10**9, n)).astype(float),  # a century of seconds
            "kind": rng.choice(["A", "B"], n),
            "k": np.arange(n) // 2,
        }
    )
    text = "PATTERN AND(A a, B b) WHERE a.t < b.t PARTITION BY k"
    found = estimate(columns(frame, text), parse(text))
    both = frame[frame.groupby("k").kind.transform("nunique") == 2]
    times = both.pivot(index="k", columns="kind", values="t")
    assert found.selectivity("a", "b") == pytest.approx((times.A < times.B).mean())


def test_only_equalities_of_two_attributes_are_measured_as_keys() -> None:
    frame = bursty(200, seed=5)
    frame["nothing"] = None
    for condition, linked in (
        ("a.x = b.x + 1", False),
        ("a.k = b.k OR a.x < b.x", False),
        ("a.nothing = b.k", True),
    ):
        text = f"PATTERN SEQ(A a, B b) WHERE {condition} WITHIN 20 s"
        found = estimate(columns(frame, text), parse(text))
        assert (PAIR in found.equalities) == linked
    assert found.equalities[PAIR].by_frequency == 0


def test_candidates_are_those_with_equal_keys() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE a.k = b.k AND a.x < b.x WITHIN 10 s"
    branch = normal_form(parse(text))[0]
    joint = Statistics.assumed({"a": 1, "b": 1}, {("a", "b"): 0.05})
    measured = Statistics.from_json(joint.to_json())
    assert measured == joint
    found = estimate(columns(bursty(800, seed=6), text), parse(text), joins=False)
    near = found.equalities[PAIR].in_window.share
    candidates = expected_steps(branch, found, ("a", "b"))[1].candidates
    without = found.with_selectivity("a", "b", found.selectivity("a", "b"))
    assert not without.equalities
    fewer = expected_steps(branch, without, ("a", "b"))[1].candidates
    assert candidates / fewer == pytest.approx(near / found.selectivity("a", "b"))


def test_work_is_that_of_the_pairs_with_equal_keys() -> None:
    text = (
        "PATTERN SEQ(A a, NOT(B b), C c) "
        "WHERE a.k = b.k AND a.k = c.k AND a.x < c.x AND b.x < c.x WITHIN 10 s"
    )
    branch = normal_form(parse(text))[0]
    found = Statistics(
        {"a": 1, "b": 1, "c": 1},
        selectivities={frozenset("ac"): Selectivity(0.05), frozenset("ab"): Selectivity(0.1)},
        equalities={
            names: Equality(None, Selectivity(0.2)) for names in map(frozenset, ("ac", "ab"))
        },
        first=0,
        last=10**9,
    )
    joint = found.with_selectivity("a", "c", 0.05)
    order = [OrderPlan(("a", "c"))]
    costs = [math.exp(query_cost([WORK.on(branch, s)], order)) for s in (found, joint)]
    # In a window 10 events of each: 50 pairs in order, of which 20 % or 5 % are looked at.
    a, pairs = 10 * (1 + 3), 50
    assert costs == [pytest.approx(a + pairs * (0.2 + 3 * 0.05)), pytest.approx(a + pairs * 0.2)]
    assert ck.choose_plan(text, found).forecast is not None
