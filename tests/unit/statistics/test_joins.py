"""Partial matches counted by sampling joins: unbiased for all bursts and conditions.

Tolerance: the mean over many seeds lies within four of its standard errors of the exact number.
"""

from __future__ import annotations

from itertools import combinations
from math import log, prod

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit.columnar.results.matches import Matches
from cepkit.pattern.canonical import canonical_event
from cepkit.pattern.normal_form import normal_form
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.statistics.measuring.estimate import estimate
from cepkit.statistics.measuring.joins import JoinSampling, joined_variables
from cepkit.statistics.measuring.lookups import Scope
from cepkit.statistics.slice_events import Events
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.stream import Stream

SEEDS = 60


def stream(n: int = 1500, seed: int = 0) -> Stream:
    """Return events of which half come in bursts; x follows the time, k is shared in bursts."""
    rng = np.random.default_rng(seed)
    quiet = rng.uniform(0, 600, n // 2)
    bursts = rng.choice(rng.uniform(0, 600, 12), n - n // 2) + rng.exponential(1.0, n - n // 2)
    times = np.sort(np.append(quiet, bursts))
    frame = pd.DataFrame(
        {"t": times, "kind": rng.choice(list("ABCD"), n, p=[0.5, 0.3, 0.15, 0.05])}
    )
    frame["x"] = np.sin(times / 20) + rng.normal(0, 0.5, n)
    frame["k"] = (times // 5).astype(int) % 40 + rng.integers(0, 3, n)
    frame.loc[rng.random(n) < 0.05, "k"] = np.nan
    return ck.events(frame, time="t", type="kind", unit="s")


EVENTS = stream()
PATTERNS = {
    "sequence": "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 8 s",
    "in any order": "PATTERN AND(A a, B b, C c) WHERE a.x < b.x WITHIN 4 s",
    "one type": "PATTERN AND(A a, A b, C c) WHERE a.x < b.x AND a.x + b.x < c.x WITHIN 3 s",
    "keys": "PATTERN SEQ(A a, B b, C c, D d) WHERE a.k = b.k AND b.k = c.k AND c.k = d.k"
    " AND a.x < c.x WITHIN 20 s",
    "two keys": "PATTERN SEQ(A a, B b, C c) WHERE a.k = b.k AND a.x = b.x AND b.k = c.k WITHIN 9 s",
    "partition": "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 20 s PARTITION BY k",
    "no window": "PATTERN SEQ(B a, C b, D c) WHERE a.x > 0.3 AND b.x < c.x",
    "with NOT": "PATTERN SEQ(A a, NOT(D d), B b, C c) WHERE a.x < b.x AND d.x > a.x WITHIN 4 s",
}


def sampling(text: str, seed: int, sample: int) -> JoinSampling:
    """Return the sampling of a pattern, done."""
    query = ck.parse(text)
    (branch,) = normal_form(query)
    columns = EVENTS.columns(attributes_read(query))
    events = Events(columns, query.partition_by)
    members = {v: events.rows(canonical_event(branch, v)) for v in joined_variables(branch)}
    statistics = estimate(columns, query, joins=False)
    return JoinSampling(columns, branch, members, statistics, seed, sample)


def exact(text: str) -> dict[frozenset[str], int]:
    """Return the number of partial matches of each set of two or more, from the engine."""
    query = ck.parse(text.replace("NOT(D d), ", "").replace(" AND d.x > a.x", ""))
    (branch,) = normal_form(query)
    numbers = {}
    for size in range(2, len(branch.variables) + 1):
        for names in combinations(branch.variables, size):
            order = (*names, *(v for v in branch.variables if v not in names))
            steps = Matches(EVENTS, query, Plan((OrderPlan(order),), "given")).explain().steps
            numbers[frozenset(names)] = steps[size - 1].survivors
    return numbers


@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS)
def test_sample_of_all_events_is_exact(text: str) -> None:
    """A sample of everything is a count, of bursts and keys as well."""
    done = sampling(text, 0, 10**9)
    done._sample = 10**9
    joined = done.joined()
    events = {v: len(rows) for v, rows in done._members.items()}
    numbers = {
        names: joined[names].share * prod(events[v] for v in names) if names in joined else 0
        for names in exact(text)
    }
    assert numbers == pytest.approx(exact(text))
    assert all(each.exact for each in joined.values())


@pytest.mark.slow
@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS)
def test_samples_are_unbiased(text: str) -> None:
    runs = [sampling(text, seed, 100) for seed in range(SEEDS)]
    known = [run.joined() for run in runs]
    events = {v: len(rows) for v, rows in runs[0]._members.items()}
    for names, number in exact(text).items():
        found = np.array([each[names].share if names in each else 0.0 for each in known]) * prod(
            events[v] for v in names
        )
        error = found.std(ddof=1) / SEEDS**0.5
        assert abs(found.mean() - number) <= 4 * error + 1e-6 * number, names


def test_the_seed_decides() -> None:
    first, again, other = (sampling(PATTERNS["sequence"], s, 40).joined() for s in (1, 1, 2))
    assert first == again
    assert first != other


def test_spread_of_shares_is_near_the_stated_error() -> None:
    """Of 1 / sqrt(hits), within a factor."""
    names = frozenset("abc")
    runs = [sampling(PATTERNS["sequence"], seed, 200).joined()[names] for seed in range(SEEDS)]
    spread = np.std([log(run.share) for run in runs])
    told = np.mean([run.hits**-0.5 for run in runs])
    assert 0.4 < spread / told < 2.5


def test_unsupported_patterns_and_several_patterns_have_no_sampled_joins() -> None:
    for text in (
        "PATTERN SEQ(A a, KL(B b)) WITHIN 5 s",
        "PATTERN SEQ(A a, B b) WITHIN 5 EVENTS",
        "PATTERN SEQ(A a, B b) WITHIN 5 s STRATEGY skip-till-next-match",
        f"PATTERN SEQ({', '.join(f'A v{i}' for i in range(7))}) WITHIN 5 s",
    ):
        found = ck.profile(EVENTS, text)
        assert not found.joins
        assert found.forecast is None or "come evenly" in str(found)
    together = ck.profile(EVENTS, [PATTERNS["sequence"], PATTERNS["in any order"]])
    assert not together.joins
    assert ck.profile(EVENTS, PATTERNS["sequence"]).joins


def test_other_names_and_other_windows() -> None:
    known = ck.profile(EVENTS, PATTERNS["sequence"])
    renamed = known.of("PATTERN SEQ(A z, B y, C x) WHERE x.x > y.x AND z.x < y.x WITHIN 8 s")
    assert renamed.joins[frozenset("zy")] == known.joins[frozenset("ab")]
    assert renamed.joins[frozenset("xyz")] == known.joins[frozenset("abc")]
    assert not known.of(PATTERNS["sequence"].replace("8 s", "9 s")).joins


def test_edited_statistics_keep_the_joins_that_still_hold() -> None:
    known = ck.profile(EVENTS, PATTERNS["sequence"])
    assert known.with_rate("a", 3).joins == known.joins
    edited = known.with_selectivity("a", "b", 0.5)
    assert edited.joins.keys() == {frozenset("ac"), frozenset("bc")}


@pytest.mark.parametrize("window", [1e13, 1e300])
def test_window_longer_than_any_stream_is_refused(window: float) -> None:
    table = pd.DataFrame({"ts": [1, 2, 3], "type": ["A", "B", "C"]})
    stream = ck.events(table, time="ts", type="type", unit="s")
    known = ck.profile(stream, "PATTERN SEQ(A a, B b, C c) WITHIN 5 seconds")
    with pytest.raises(ck.errors.StatisticsError, match=r"(?s)a window of .* at most 1e\+12"):
        known.moved(window=window)


def test_moved_numbers_take_their_joins_along() -> None:
    known = ck.profile(EVENTS, PATTERNS["sequence"])
    share = known.selectivity("a", "b")
    moved = known.moved(selectivities={("b", "a"): share / 2}, window=16.0)
    assert moved.selectivity("a", "b") == share / 2
    assert str(moved.query).endswith("WITHIN 16 seconds")
    for names, joined in known.joins.items():
        longer = 2.0 ** (len(names) - 1)
        halved = 0.5 if {"a", "b"} <= names else 1.0
        assert moved.joins[names].in_scope == pytest.approx(joined.in_scope * longer)
        assert moved.joins[names].share == pytest.approx(joined.share * longer * halved)
    assert known.moved(rates={"a": 3.0}) == known.with_rate("a", 3.0)
    assert known.moved() == known
    for wrong in ({"window": -1.0}, {"rates": {"z": 1.0}}, {"selectivities": {("a", "z"): 0.1}}):
        with pytest.raises(ck.CepkitError):
            known.moved(**wrong)


def test_moved_selectivities_keep_the_share_of_equal_keys_where_possible() -> None:
    known = ck.profile(EVENTS, "PATTERN SEQ(A a, B b) WHERE a.k = b.k AND a.x < b.x WITHIN 8 s")
    equal = known.equalities[frozenset("ab")].in_window.share
    assert known.moved(selectivities={("a", "b"): equal / 3}).equalities == known.equalities
    assert not known.moved(selectivities={("a", "b"): min(1.0, equal * 2)}).equalities


def test_pairs_are_drawn_without_being_listed() -> None:
    many = 10**12
    rows = np.broadcast_to(np.int64(7), many)
    scope = Scope("b", {"a": np.array([3])}, rows, np.array([0]), np.array([many]))
    drawn = scope.draw(np.random.default_rng(1), 5)
    assert {v: drawn[v].tolist() for v in drawn} == {"a": [3] * 5, "b": [7] * 5}


def test_a_stream_may_span_all_times_that_there_are():
    last = (1 << 62) - 1
    times = [-last, *range(0, 40_000, 100), last]
    kinds = ["ABC"[i % 3] for i in range(len(times))]
    spread = ck.events(pd.DataFrame({"t": times, "k": kinds}), time="t", type="k", unit="us")
    query = ck.parse("PATTERN SEQ(A a, B b, C c) WITHIN 1 millisecond")
    assert ck.detect(spread, query).count() == ck.detect(spread, query, ["c", "b", "a"]).count() > 0
    known = ck.profile(spread, query)
    assert known.over_time.counts["a"] == (1, *[0] * 19, 133, *[0] * 19)
    assert ck.Statistics.from_json(known.to_json()) == known
    assert "148108" in ck.draw(known, of="time").to_json()
