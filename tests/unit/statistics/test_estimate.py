"""Measured statistics against counts of all combinations."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from benchmarks.streams import zipf_events
from cepkit.pattern.parsing.parser import parse
from cepkit.statistics import slice_events
from cepkit.statistics.measuring.estimate import combine, estimate, tally_slice
from cepkit.statistics.stream_counts import attributes_read, count_stream
from cepkit.stream.columns import EventColumns
from cepkit.stream.stream import events

TEXT = """PATTERN SEQ(A a, B b, C c)
          WHERE a.x < b.x AND b.x < c.x + 0.3 AND a.x > 0.2 AND a.x + b.x < c.x + 0.4
          WITHIN 20 seconds"""


def bursty(n: int, seed: int) -> pd.DataFrame:
    """Return events whose rate and values drift, so that a sample must not be lopsided."""
    rng = np.random.default_rng(seed)
    gaps = rng.exponential(np.where(np.arange(n) // 40 % 2, 0.2, 4.0))
    t = np.floor(np.cumsum(gaps))
    return pd.DataFrame(
        {
            "t": t,
            "kind": rng.choice(["A", "B", "C"], n, p=[0.5, 0.3, 0.2]),
            "x": rng.random(n) * (0.5 + np.arange(n) / n),
            "k": rng.integers(0, 3, n),
        }
    )


def columns(frame: pd.DataFrame, text: str) -> EventColumns:
    """Return the frame as columns for a pattern."""
    stream = events(frame, time="t", type="kind", unit="s")
    return stream.columns(attributes_read(parse(text)))


def counted(frame: pd.DataFrame, names: str, holds: object, *, keyed: bool = False) -> float:
    """Return the share of the combinations in order, window and partition for which `holds`."""
    rows = {n: frame[frame.kind == n.upper()].itertuples() for n in names}
    groups = [[r for r in part if n != "a" or r.x > 0.2] for n, part in rows.items()]
    inside = [
        c
        for c in itertools.product(*groups)
        if all(x.t < y.t for x, y in itertools.pairwise(c))
        and c[-1].t - c[0].t <= 20
        and (not keyed or len({r.k for r in c}) == 1)
    ]
    return sum(holds(*c) for c in inside) / len(inside)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """The stream of these tests."""
    return bursty(600, seed=3)


def test_a_small_stream_is_counted_exactly(frame: pd.DataFrame) -> None:
    measured = estimate(columns(frame, TEXT), parse(TEXT))
    span = frame.t.max() - frame.t.min()
    assert measured.rates["a"] == pytest.approx((frame.kind == "A").sum() / span)
    assert measured.filters["a"] == pytest.approx((frame[frame.kind == "A"].x > 0.2).mean())
    exact = counted(frame, "ab", lambda a, b: a.x < b.x)
    assert measured.selectivity("a", "b") == pytest.approx(exact)
    assert measured.selectivities[frozenset("ab")].standard_error == 0


@pytest.mark.slow
def test_samples_are_unbiased_and_know_their_error(frame: pd.DataFrame) -> None:
    made, query = columns(frame, TEXT), parse(TEXT)
    whole = count_stream(made, query)
    exact = {
        frozenset("ab"): counted(frame, "ab", lambda a, b: a.x < b.x),
        frozenset("bc"): counted(frame, "bc", lambda b, c: b.x < c.x + 0.3),
        frozenset("abc"): counted(frame, "abc", lambda a, b, c: a.x + b.x < c.x + 0.4),
    }
    runs = [
        combine(query, whole, [tally_slice(made, query, seed=seed, sample=200)])
        for seed in range(60)
    ]
    for names, share in exact.items():
        found = np.array([run.selectivities[names].share for run in runs])
        errors = [run.selectivities[names].standard_error for run in runs]
        spread = found.std(ddof=1)
        assert abs(found.mean() - share) < 4 * spread / np.sqrt(len(runs)), names
        assert np.mean(errors) == pytest.approx(spread, rel=0.35), names


def test_slices_add_up_to_the_whole(frame: pd.DataFrame) -> None:
    made, query = columns(frame, TEXT), parse(TEXT)
    whole = estimate(made, query)
    cuts = [0, 150, 390, len(made)]
    tallies = []
    for begin, end in itertools.pairwise(cuts):
        after = int(made.ts[end]) if end < len(made) else int(made.ts[-1]) + 1
        owned = (int(made.ts[begin]), after - 1)
        seen = np.searchsorted(made.ts, (owned[0] - 20_000_000, after + 20_000_000))
        tallies.append(tally_slice(made.slice(*map(int, seen)), query, seed=1, owned=owned))
    summed = combine(query, count_stream(made, query), tallies)
    for names, found in whole.selectivities.items():
        assert summed.selectivities[names].share == pytest.approx(found.share, rel=0.05)
    assert summed.filters == pytest.approx(whole.filters)


def test_partitions_are_apart(frame: pd.DataFrame) -> None:
    text = "PATTERN SEQ(A a, B b) WHERE a.x > 0.2 AND a.x < b.x WITHIN 20 s PARTITION BY k"
    measured = estimate(columns(frame, text), parse(text))
    exact = counted(frame, "ab", lambda a, b: a.x < b.x, keyed=True)
    assert measured.selectivity("a", "b") == pytest.approx(exact)
    shares = frame.k.value_counts(normalize=True)
    assert measured.same_key == pytest.approx((shares**2).sum())


def test_missing_keys_form_one_partition() -> None:
    data = pd.DataFrame({"t": range(4), "kind": list("ABAB"), "k": [None, None, 1.0, 2.0]})
    text = "PATTERN SEQ(A a, B b) WITHIN 20 s PARTITION BY k"
    assert estimate(columns(data, text), parse(text)).same_key == pytest.approx(6 / 16)


def test_selectivity_without_hits_is_small_but_not_zero(frame: pd.DataFrame) -> None:
    text = "PATTERN SEQ(A a, B b) WHERE a.x > b.x + 99 WITHIN 20 s"
    made, query = columns(frame, text), parse(text)
    tallies = [tally_slice(made, query, seed=0, sample=50)]
    share = combine(query, count_stream(made, query), tallies).selectivity("a", "b")
    assert 0 < share < 0.02


def test_the_seed_decides(frame: pd.DataFrame) -> None:
    stream = events(bursty(3000, 1), time="t", type="kind", unit="s")
    first, again, other = (ck.profile(stream, TEXT, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_an_empty_stream_and_one_moment() -> None:
    empty = pd.DataFrame({"t": pd.Series([], dtype=float), "kind": pd.Series([], dtype=str)})
    empty["x"] = empty.t
    with pytest.warns(UserWarning, match="the stream has no events"):
        measured = ck.profile(events(empty, time="t", type="kind", unit="s"), TEXT)
    assert (measured.events, measured.rates["a"]) == (0, 0.0)
    assert measured.never_occurring == ("A", "B", "C")
    moment = pd.DataFrame({"t": [5.0, 5.0, 5.0], "kind": list("ABC"), "x": [1.0, 2.0, 3.0]})
    assert ck.profile(events(moment, time="t", type="kind", unit="s"), TEXT).rates["a"] == 1.0


@pytest.mark.parametrize(
    "condition",
    ["min(b.x) > 0.5", "count(b) > 1", "avg(b.x) > a.x", "b.x < max(b.x)", "first(b.x) < c.x"],
)
def test_conditions_on_whole_sets_are_left_to_the_engine(condition: str) -> None:
    frame = bursty(300, seed=5)
    sets = f"PATTERN SEQ(A a, KL(B b), C c) WHERE a.x < b.x AND {condition} WITHIN 20 seconds"
    events_alone = sets.replace(f" AND {condition}", "")
    one, other = (estimate(columns(frame, text), parse(text)) for text in (sets, events_alone))
    assert one.of(parse(events_alone)) == other


MANY = """PATTERN OR(SEQ(A a, B b, C c), SEQ(A d, B e), AND(B f, C g))
          WHERE a.x < b.x AND a.k = c.k AND a.x < c.x AND b.x > 0.2 AND d.x < e.x AND e.x > 0.2
            AND f.k = g.k AND f.x < g.x
          WITHIN 20 seconds"""


@pytest.mark.parametrize("partition", ["", " PARTITION BY k"])
def test_estimate_is_equal_with_and_without_kept_slices(
    frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, partition: str
) -> None:
    made, query = columns(frame, MANY + partition), parse(MANY + partition)
    kept = estimate(made, query)
    monkeypatch.setattr(slice_events, "MOST_KEPT", 0)
    assert estimate(made, query) == kept


def test_arrays_are_kept_up_to_a_number_and_the_last_ones_stay() -> None:
    kept, made = slice_events.ArrayCache(5), []

    def ask(key: str, size: int) -> None:
        def make() -> tuple[slice_events.Rows, ...]:
            made.append(key)
            return (np.full(size, ord(key)),)

        assert kept.of(key, make)[0].tolist() == [ord(key)] * size

    for key in "aabab":
        ask(key, 2)
    assert made == ["a", "b"]
    ask("c", 2)  # six in all: a was used before b
    ask("b", 2)
    assert made == ["a", "b", "c"]
    ask("a", 2)
    ask("d", 9)  # alone too large, and kept all the same
    ask("d", 9)
    assert made == ["a", "b", "c", "a", "d"]


def test_profile_of_a_long_stream_does_not_depend_on_threads():
    stream = ck.events(zipf_events(70_000, types=5, keys=50, seed=4), time="ts", type="type")
    text = "PATTERN SEQ(T01 a, T02 b) WHERE a.key = b.key AND a.price < b.price WITHIN 1 s"
    alone, several = (ck.profile(stream, text, threads=threads) for threads in (1, 4))
    assert several == alone
    assert alone.keys
    assert alone.lateness is not None
