"""Shared plans that follow a recorded stream: the same matches, other plans where rates change."""

import numpy as np
import pyarrow as pa
import pytest

import cepkit as ck
from cepkit.adaptation.several import FollowingTogether, SharedPerSlice, slice_statistics
from cepkit.errors import PlanError, UnsupportedError

PATTERNS = {
    "one": "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 40 seconds",
    "two": "PATTERN SEQ(A a, B b, D d) WHERE a.x < b.x AND b.x < d.x WITHIN 40 seconds",
    "either": "PATTERN SEQ(A a, OR(B b, D d)) WHERE a.x < 10 WITHIN 20 seconds",
    "next": "PATTERN SEQ(A a, B b) WITHIN 40 seconds STRATEGY skip-till-next-match",
}


@pytest.fixture(scope="module")
def stream():
    """A stream whose frequent and rare types change places in the middle."""
    rng = np.random.default_rng(1)
    n = 48_000
    weights = np.array([20, 6, 1, 1])
    first = rng.choice(4, n // 2, p=weights / 28)
    codes = np.concatenate([first, 3 - rng.choice(4, n // 2, p=weights / 28)])
    table = pa.table(
        {
            "ts": pa.array(np.cumsum(rng.integers(1, 4_000_000, n)), pa.timestamp("us")),
            "type": np.array([*"ABCD"])[codes],
            "x": rng.uniform(0, 100, n),
        }
    )
    return ck.events(table, time="ts", type="type")


@pytest.mark.parametrize(
    ("adapt", "share"),
    [*(("slices", share) for share in ("auto", "none", "prefix", "tree")), ("auto", "auto")],
)
def test_matches_of_several_patterns_do_not_depend_on_following_plans(stream, adapt, share):
    static = ck.detect(stream, PATTERNS, share=share)
    followed = ck.detect(stream, PATTERNS, share=share, adapt=adapt)
    assert followed.counts().to_dict() == static.counts().to_dict()
    names = ["pattern", "match_start", "match_end"]
    rows = [
        each.together.to_pandas()[names].astype(str).sort_values(names).to_numpy().tolist()
        for each in (static, followed)
    ]
    assert rows[0] == rows[1]
    for name in PATTERNS:
        assert followed[name].count() == static.counts()[name]


def test_shared_plan_changes_with_the_rates_and_still_shares(stream):
    texts = {name: PATTERNS[name] for name in ("one", "two")}
    static = ck.detect(stream, texts, share="prefix")
    followed = ck.detect(stream, texts, share="prefix", adapt="slices")
    before, after = static.explain().to_pandas(), followed.explain().to_pandas()
    assert after["candidates"].sum() < before["candidates"].sum()
    assert len(after) > len(before)  # the steps of each plan that ran
    assert (after["queries"].map(len) > 1).any()
    alone = [ck.detect(stream, text, adapt="slices").explain() for text in texts.values()]
    assert after["candidates"].sum() < sum(e.to_pandas()["candidates"].sum() for e in alone)


def test_slice_is_planned_by_its_own_rates(stream):
    texts = {name: PATTERNS[name] for name in ("one", "two")}
    queries = {name: ck.parse(text) for name, text in texts.items()}
    shared = ck.choose_plan(queries, ck.profile(stream, [*queries.values()]))
    columns = stream.columns(["x"])
    half = len(columns) // 2
    plans = SharedPerSlice(shared, [*texts])
    first, second = plans(columns, 0, half), plans(columns, half, len(columns))
    assert first.branches != second.branches
    assert plans(columns, 0, half) is first
    for begin, end in ((0, half), (half, len(columns))):
        now = slice_statistics(shared, columns, begin, end)
        for query in queries.values():
            known = now.of(query)
            span = (columns.ts[end - 1] - columns.ts[begin]) / 1e6
            names = np.array(columns.type_names)[columns.types[begin:end]]
            assert known.rates["a"] == pytest.approx((names == "A").sum() / span)


def test_queries_can_be_added_and_removed_while_plans_follow(stream):
    some = ck.detect(stream, {name: PATTERNS[name] for name in ("one", "either")}, adapt="slices")
    more = some.add(PATTERNS["two"], "two")
    assert more.counts().to_dict() == {
        name: ck.detect(stream, PATTERNS[name]).count() for name in ("one", "either", "two")
    }
    assert more.remove("one").counts()["two"] == more.counts()["two"]


def test_ways_that_cannot_follow_together_are_refused_by_name(stream):
    with pytest.raises(UnsupportedError, match=r"decision function for several(.|\n)*'slices'"):
        ck.detect(stream, PATTERNS, adapt="invariants")
    with pytest.raises(PlanError, match="there is no adapt='slice'"):
        ck.detect(stream, PATTERNS, adapt="slice")
    with pytest.raises(UnsupportedError, match=r"plan of its own(.|\n)*choose_plan"):
        ck.detect(stream, [PATTERNS["one"]], plan=[None], adapt="slices")
    with pytest.raises(UnsupportedError, match=r"Spark DataFrame(.|\n)*one by one"):
        FollowingTogether.of("slices", "spark")
