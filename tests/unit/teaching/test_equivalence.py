"""The search for a stream over which two patterns differ."""

from __future__ import annotations

import pytest

import cepkit as ck
from cepkit.errors import PatternError, UnsupportedError
from tests.judge import Event, judge

DIFFERENT = [
    ("SEQ(A a, B b)", "AND(A a, B b)"),
    ("SEQ(A a, B b)", "SEQ(A a, C b)"),
    ("SEQ(A a, B b)", "SEQ(A a, FIRST B b)"),
    ("SEQ(A a, B b)", "SEQ(A a, NEXT B b)"),
    ("SEQ(A a, OPT(B b), C c)", "SEQ(A a, B b, C c)"),
    ("SEQ(A a, NOT(B b), C c)", "SEQ(A a, C c)"),
    ("SEQ(A a, NOT(B b), C c) WHERE b.x > 2", "SEQ(A a, NOT(B b), C c)"),
    ("SEQ(A a, NOT(SEQ(B b, C c)), D d)", "SEQ(A a, NOT(AND(B b, C c)), D d)"),
    ("SEQ(A a, KL(B b), C c)", "SEQ(A a, KL(B b){1,2}, C c)"),
    ("SEQ(A a, KL(B b), C c)", "SEQ(A a, KL(B b) GREEDY, C c)"),
    ("SEQ(A a, KL(FIRST B b), C c)", "SEQ(A a, KL(B b), C c)"),
    ("SEQ(A a, KL(B b) UNTIL D d, C c)", "SEQ(A a, KL(B b), C c)"),
    ("KL(SEQ(A a, B b)){1,2}", "KL(SEQ(A a, B b)){2}"),
    ("SEQ(A a, B b) WHERE a.x < b.x", "SEQ(A a, B b) WHERE a.x <= b.x"),
    ("SEQ(A a, B b) WHERE a.x > 17", "SEQ(A a, B b) WHERE a.x >= 17"),
    ("SEQ(A a, B b) WHERE a.x != b.x", "SEQ(A a, B b) WHERE NOT a.x = b.x OR a.x IS NULL"),
    ("SEQ(A a, B b) WHERE a.s = b.s", "SEQ(A a, B b) PARTITION BY s"),
    ("SEQ(A a, B b) WHERE a.s = 'in'", "SEQ(A a, B b) WHERE a.s LIKE 'in%'"),
    ("SEQ(A a, B b) WITHIN 5 minutes", "SEQ(A a, B b) WITHIN 5 minutes EXCLUSIVE"),
    ("SEQ(A a, B b, C c) WITHIN 1 hour", "SEQ(A a, B b, C c) WITHIN 1 hour FROM a TO b"),
    ("SEQ(A a, A b) WITHIN 3 EVENTS", "SEQ(A a, A b) WITHIN 4 EVENTS"),
    ("SEQ(A a, B b) WHERE b.ts - a.ts > 5 s", "SEQ(A a, B b) WHERE b.ts - a.ts >= 5 s"),
    ("SEQ(A a, B b)", "SEQ(A a, B b) STRATEGY skip-till-next-match"),
    ("SEQ(A a, B b) STRATEGY strict-contiguity", "SEQ(A a, B b)"),
    ("SEQ(A a, B b) AFTER MATCH SKIP PAST LAST EVENT", "SEQ(A a, B b)"),
    ("SEQ(A a, KL(B b)) WHERE count(b) >= 2", "SEQ(A a, KL(B b)) WHERE count(b) > 2"),
    ("SEQ(A a, KL(B b)) WHERE avg(b.x) > 3", "SEQ(A a, KL(B b)) WHERE max(b.x) > 3"),
    ("SEQ(A a, B b) WHERE a.open", "SEQ(A a, B b) WHERE a.open OR b.open"),
]

ALIKE = [
    ("SEQ(A a, B b)", "SEQ(A x, B y)"),
    ("AND(A a, B b)", "AND(B b, A a)"),
    ("SEQ(A a, B b) WHERE NOT a.x > 3", "SEQ(A a, B b) WHERE a.x <= 3"),
    ("SEQ(A a, B b) WHERE 1 < a.x < 3", "SEQ(A a, B b) WHERE a.x > 1 AND a.x < 3"),
    ("SEQ(A a, B b) WITHIN 5 minutes", "SEQ(A a, B b) WHERE b.ts - a.ts <= 5 minutes"),
    ("SEQ(A a, KL(B b){2})", "SEQ(A a, KL(B b)) WHERE count(b) = 2"),
    ("SEQ(A a, OPT(B b), C c)", "OR(SEQ(A a, B b, C c), SEQ(A a, C c))"),
]


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_example_shows_a_difference_that_the_judge_confirms(first, second):
    answer = ck.equivalent(f"PATTERN {first}", f"PATTERN {second}")
    assert answer.differ
    assert answer.only_first or answer.only_second
    rows = answer.example.source.to_pylist()
    schema = answer.example.schema
    events = []
    for number, row in enumerate(rows):
        ts = int(row[schema.time].timestamp() * 1e6)
        events.append(Event(ts, row[schema.type], row, number))
    sets = [
        sorted(sorted(rows_of(match)) for match in judge(events, query))
        for query in (answer.first, answer.second)
    ]
    assert sets[0] != sets[1]


def rows_of(match):
    bound = (rows if isinstance(rows, tuple) else (rows,) for _, rows in match)
    return [row for rows in bound for row in rows]


@pytest.mark.parametrize(("first", "second"), ALIKE)
def test_equal_patterns_have_no_difference(first, second):
    answer = ck.equivalent(f"PATTERN {first}", f"PATTERN {second}", streams=2_000)
    assert not answer.differ
    assert str(answer) == "no difference in 2,000 streams of up to 7 events"


def test_example_has_no_needless_event():
    answer = ck.equivalent("PATTERN SEQ(A a, NOT(B b), C c)", "PATTERN SEQ(A a, C c)")
    assert answer.to_pandas()["type"].tolist() == ["A", "B", "C"]
    assert str(answer).splitlines()[2:] == [
        "ts   type  only second",
        "0 s  A     a",
        "1 s  B",
        "2 s  C     c",
    ]


def test_search_with_equal_seeds_gives_equal_examples():
    one, two = (ck.equivalent("PATTERN SEQ(A a, B b)", "PATTERN A a", seed=3) for _ in range(2))
    assert str(one) == str(two)


def test_aggregates_are_refused():
    with pytest.raises(UnsupportedError, match="AGG"):
        ck.equivalent("PATTERN SEQ(A a, B b) AGG COUNT", "PATTERN SEQ(A a, B b)")


def test_patterns_of_columns_of_different_kinds_are_refused():
    with pytest.raises(PatternError, match="text"):
        ck.equivalent("PATTERN A a WHERE a.x > 3", "PATTERN A a WHERE a.x = 'on'")


def test_markup_of_a_pattern_is_shown_as_text():
    answer = ck.equivalent("""PATTERN "<b>" a""", "PATTERN B b")
    assert "<b>B" not in answer._repr_html_()
    assert "&lt;b&gt;" in answer._repr_html_()


def test_a_difference_is_drawn_as_a_stream_and_a_lane_for_each_pattern():
    answer = ck.equivalent("PATTERN SEQ(A a, B b)", "PATTERN AND(A a, B b)")
    texts = [note.text for note in ck.draw(answer).layout.annotations]
    assert any("the stream" in text for text in texts)
    assert any("no match of its own" in text for text in texts)
    circles = [shape for shape in ck.draw(answer).layout.shapes if shape.type == "circle"]
    assert len(circles) == 2
    same = ck.draw(ck.equivalent("PATTERN A a", "PATTERN A b", streams=50))
    assert "no difference in 50 streams" in str(same.layout)
