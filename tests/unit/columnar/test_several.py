"""Several queries in one pass: shared steps, refusals, and their names in the results."""

from __future__ import annotations

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import CepkitError, PatternError, PlanError, StreamError, UnsupportedError

PREFIX = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 seconds"
LONGER = "PATTERN SEQ(A u, B v, C w) WHERE v.x > u.x WITHIN 20 seconds"
OTHER = "PATTERN SEQ(C c, D d) WITHIN 10 seconds"
ROWS = [(0, "A", 1), (3, "B", 2), (8, "C", 0), (12, "B", 3), (15, "C", 0), (16, "D", 0)]


@pytest.fixture
def stream():
    frame = pd.DataFrame(ROWS, columns=["ts", "type", "x"])
    frame["ts"] = pd.to_datetime(frame["ts"], unit="s")
    return ck.events(frame, time="ts", type="type")


def in_order(stream, patterns, **options):
    orders = [[e.variable for e in ck.parse(p).structure.items] for p in patterns.values()]
    return ck.detect(stream, patterns, orders, **options)


def test_a_common_prefix_has_the_greatest_window_and_loses_no_match(stream):
    # B at 12 is 12 s after A: beyond the window of the one, within that of the other.
    several = in_order(stream, {"short": PREFIX, "long": LONGER})
    assert several.counts().to_dict() == {"short": 1, "long": 3}
    assert several.counts().tolist() == [ck.detect(stream, p).count() for p in (PREFIX, LONGER)]
    shared = [step for step in several.explain().steps if len(step.queries) == 2]
    assert [(step.step, step.survivors) for step in shared] == [("a", 1), ("b", 2)]
    assert "2 queries, 3 steps, 2 of them shared" in str(several.explain())
    assert "short, long" in several.explain()._repr_html_()


def test_share_none_runs_every_query_alone(stream):
    several = in_order(stream, {"short": PREFIX, "long": LONGER}, share="none")
    assert several.counts().to_dict() == {"short": 1, "long": 3}
    assert all(len(step.queries) == 1 for step in several.explain().steps)


def test_a_window_that_is_far_longer_is_not_shared(stream):
    days = LONGER.replace("20 seconds", "20 days")
    several = in_order(stream, {"short": PREFIX, "long": days})
    assert all(len(step.queries) == 1 for step in several.explain().steps)
    assert several.counts().to_dict() == {"short": 1, "long": 3}


def test_count_of_several_patterns_is_refused_with_counts_as_hint(stream):
    several = ck.detect(stream, ["PATTERN SEQ(A a, B b)", "PATTERN SEQ(B b, A a)"])
    with pytest.raises(UnsupportedError, match=r"count\(\) of 2 patterns\nHint: counts\(\) gives"):
        several.count()
    assert several.together.count() == several.counts().sum()


def test_pattern_given_twice_runs_once_and_has_two_results(stream):
    several = ck.detect(stream, [LONGER, LONGER])
    assert several.names == ("pattern 1", "pattern 2")
    assert several.counts().tolist() == [3, 3]
    assert all(len(step.queries) == 2 for step in several.explain().steps)
    frame = several.together.to_pandas()
    assert frame["pattern"].value_counts().to_dict() == {"pattern 1": 3, "pattern 2": 3}


def test_each_query_has_its_matches_and_together_has_all(stream, tmp_path):
    several = ck.detect(stream, {"p": PREFIX, "q": LONGER, "r": OTHER})
    assert [len(matches.to_pandas()) for matches in several] == [1, 3, 2]
    assert several["q"].count() == several[1].count() == 3
    assert [m.count() for m in several[1:]] == [3, 2]
    table = several.together.to_arrow()
    assert table.column_names == ["pattern", *"abuvwcd", "match_start", "match_end"]
    assert several.together.count() == len(table) == 6
    assert len(several.together.head(4)) == 4
    assert several.together.write_parquet(tmp_path / "all.parquet") == 6
    assert pd.read_parquet(tmp_path / "all.parquet")["pattern"].nunique() == 3
    assert "3 queries" in repr(several)
    assert "3 queries" in several._repr_html_()


def test_a_variable_that_is_a_set_in_one_query_is_a_list_in_all(stream):
    several = ck.detect(stream, {"one": PREFIX, "set": "PATTERN SEQ(A a, KL(B b)) WITHIN 15 s"})
    rows = several.together.to_pandas()
    assert sorted(len(each) for each in rows["b.ts"]) == [1, 1, 1, 2]


def test_limit_applies_to_each_query(stream):
    several = ck.detect(stream, {"p": PREFIX, "q": LONGER}, limit=2)
    assert several.counts().to_dict() == {"p": 1, "q": 2}
    assert len(several.together.to_pandas()) == 3


def test_queries_of_any_kind_share_the_scan(stream):
    patterns = {
        "next": "PATTERN SEQ(A a, B b) WITHIN 20 s STRATEGY skip-till-next-match",
        "side by side": "PATTERN SEQ(A a, B b) WITHIN 20 s STRATEGY strict-contiguity",
        "events": "PATTERN SEQ(A a, B b) WITHIN 5 EVENTS",
        "no window": "PATTERN SEQ(A a, B b)",
        "none between": "PATTERN SEQ(A a, NOT(C n), B b) WITHIN 20 s",
        "either": "PATTERN OR(SEQ(A a, B b), SEQ(C c, D d)) WITHIN 20 s",
    }
    several = ck.detect(stream, patterns)
    alone = {name: ck.detect(stream, text).count() for name, text in patterns.items()}
    assert several.counts().to_dict() == alone
    assert "only the scan: skip-till-next-match" in str(several)
    assert "only the scan: strict-contiguity" in several._repr_html_()
    assert alone == {
        "next": 1, "side by side": 1, "events": 2, "no window": 2, "none between": 1, "either": 4,
    }  # fmt: skip


def test_queries_come_and_go_and_the_plans_of_the_others_stay(stream):
    several = ck.detect(stream, {"p": PREFIX, "q": LONGER})
    more = several.add(OTHER, "r")
    assert more.counts().to_dict() == {"p": 1, "q": 3, "r": 2}
    assert more.plans[:2] == several.plans
    assert more.remove("p").counts().to_dict() == {"q": 3, "r": 2}
    assert several.names == ("p", "q")
    with pytest.raises(PatternError, match="'p'"):
        several.add(OTHER, "p")
    with pytest.raises(PatternError, match="only"):
        several.remove("p").remove("q")
    with pytest.raises(UnsupportedError, match="AGG"):
        several.add(f"{OTHER} AGG COUNT")
    with pytest.raises(PatternError, match="column"):
        several.add("PATTERN SEQ(A a, B b) WHERE a.nothing < 1 WITHIN 1 s")


def test_a_shared_plan_is_of_the_patterns_that_are_detected(stream):
    plan = ck.choose_plan([PREFIX, LONGER], ck.profile(stream, [PREFIX, LONGER]))
    assert ck.detect(stream, [PREFIX, LONGER], plan).counts().tolist() == [1, 3]
    with pytest.raises(PlanError, match="other patterns"):
        ck.detect(stream, [PREFIX, OTHER], plan)
    with pytest.raises(PlanError, match="2 queries"):
        ck.detect(stream, [PREFIX, OTHER], [["a", "b"]])


@pytest.mark.parametrize(
    ("patterns", "kind", "text"),
    [
        ([], PatternError, "no pattern"),
        ({}, PatternError, "no pattern"),
        ([PREFIX, "PATTERN SEQ(A a,"], PatternError, "pattern 2"),
        ([PREFIX, f"{PREFIX} AGG COUNT"], UnsupportedError, "pattern 2"),
        ({"p": PREFIX, 3: PREFIX}, PatternError, "called 3"),
        ([PREFIX, 3], CepkitError, "pattern 2"),
    ],
)
def test_wrong_lists_of_patterns_are_refused_with_the_wrong_one(stream, patterns, kind, text):
    with pytest.raises(kind, match=text):
        ck.detect(stream, patterns)


def test_the_stream_comes_first(stream):
    with pytest.raises(StreamError, match="DataFrame instead of a stream"):
        ck.detect(pd.DataFrame(ROWS), [PREFIX])
    with pytest.raises(StreamError, match="swapped"):
        ck.detect([PREFIX], stream)


def test_a_query_that_is_not_there_is_named(stream):
    several = ck.detect(stream, {"first": PREFIX})
    with pytest.raises(PatternError, match="first"):
        several["frist"]
    with pytest.raises(IndexError):
        several[1]


def test_an_empty_stream_has_no_matches_of_any():
    empty = pd.DataFrame({"ts": pd.to_datetime([]), "type": [], "x": []})
    with pytest.warns():
        several = ck.detect(ck.events(empty, time="ts", type="type"), [PREFIX, LONGER])
    assert several.counts().tolist() == [0, 0]
    assert len(several.together.to_pandas()) == 0


def test_a_column_that_is_not_there_is_refused_with_the_query(stream):
    with pytest.raises((PatternError, StreamError), match="pattern 2"):
        ck.detect(stream, [PREFIX, "PATTERN SEQ(A a, B b) WHERE a.y < 1 WITHIN 1 s"])


def test_branches_that_look_alike_are_counted_each(stream):
    # Slices of one event: what a slice owns is decided at the end of each branch.
    text = "PATTERN OR(AND(A a, B b), AND(A c, B d)) WITHIN 20 s"
    matches = ck.detect(stream, text)
    assert matches.count() == 4
    assert [s.survivors for s in matches.explain().steps if s.variable in "bd"] == [2, 2]


def test_plans_are_searched_for_where_there_is_work_to_save(stream):
    assert ck.detect(stream, [PREFIX, LONGER]).plan.search == "own-plans"
    frame = pd.DataFrame({"ts": range(3_000), "type": list("ABC") * 1_000, "x": range(3_000)})
    busy = ck.events(frame, time="ts", type="type", unit="ms")
    several = ck.detect(busy, [PREFIX, LONGER])
    assert several.plan.search == "greedy-merge"
    assert several.counts().tolist() == [ck.detect(busy, p).count() for p in (PREFIX, LONGER)]
    assert ck.detect(stream, [PREFIX, LONGER], share="prefix").plan.search == "greedy-merge"
