"""Why there is no match: the funnel, and the near misses of each kind."""

import pytest

import cepkit as ck
from cepkit.diagnosis.why_not import why_not
from cepkit.plan.checks import as_plan
from tests.unit.diagnosis.cases import missed, stream_of

TEXT = "PATTERN SEQ(A a, NOT(N n), B b) WHERE a.price < b.price AND a.price > 0 WITHIN 10 seconds"
ROWS = [
    (0, "A", 5.0), (1, "B", 4.0),  # the price
    (20, "A", 1.0), (21, "N", 0.0), (22, "B", 2.0),  # the NOT
    (40, "A", 1.0), (52, "B", 2.0),  # the window
    (70, "B", 2.0), (71, "A", 1.0),  # the order
    (90, "A", -1.0), (91, "B", 3.0),  # the filter
]  # fmt: skip


def test_the_funnel_counts_each_requirement():
    why = ck.why_not(stream_of(ROWS), TEXT)
    assert why.found is False
    assert [(r.variable, r.text, r.before, r.after) for r in why.funnel] == [
        ("a", "A a", 11, 5),
        ("a", "a.price > 0", 5, 4),
        ("b", "B b", 11, 5),
        ("b", "b after a, within 10 seconds", 20, 2),
        ("b", "a.price < b.price", 2, 1),
        ("", "NOT(N n)", 1, 0),
    ]
    alone = {row.text: row.alone for row in why.funnel}
    assert alone["a.price < b.price"] == alone["NOT(N n)"] == alone["a.price > 0"] == 1
    frame = why.funnel.to_pandas()
    assert (frame["removed"] == frame["before"] - frame["after"]).all()


def test_the_nearest_misses_are_ranked():
    why = ck.why_not(stream_of(ROWS), TEXT)
    assert missed(why) == [
        "a before b: b is 1 s before a, b must be after",
        "a.price > 0: -1 > 0 fails by 1",
        "WITHIN 10 seconds: 12 s, 2 s too long",
        "a.price < b.price: 5 < 4 fails by 1",
        "NOT(N n): there is row 3 (N, 1 s after a)",
        "WITHIN 10 seconds: 20 s, 10 s too long",
    ]
    table = why.near_misses.to_pandas()
    assert table["a"].tolist() == [8, 9, 5, 0, 2, 8]
    assert table["relative"].is_monotonic_increasing
    assert why.reason == "There is no match; what comes nearest fails in 1 requirement."


def test_two_violations_may_be_allowed():
    rows = [(0, "A", 3.0), (12, "B", 2.0)]
    assert len(ck.why_not(stream_of(rows), TEXT).near_misses) == 0
    (miss,) = ck.why_not(stream_of(rows), TEXT, violations=2).near_misses
    assert [f.detail for f in miss.violated] == ["12 s, 2 s too long", "3 < 2 fails by 1"]


def test_violation_is_one_near_miss_for_all_completions():
    rows = [(0, "A", 5.0), (1, "B", 4.0), *((2 + i / 10, "C", 0.0) for i in range(50))]
    text = "PATTERN SEQ(A a, B b, C c) WHERE a.price < b.price WITHIN 10 seconds"
    assert len(ck.why_not(stream_of(rows), text).near_misses) == 1


def test_the_plan_orders_the_steps():
    why = ck.why_not(stream_of(ROWS), TEXT, plan=["b", "a"])
    assert [row.variable for row in why.funnel] == ["b", "a", "a", "a", "a", ""]
    assert why.funnel.rows[3].text == "a before b, within 10 seconds"


def test_each_choice_at_an_or_has_a_funnel():
    text = "PATTERN SEQ(A a, OR(B b, X x)) WHERE b.price > 100 WITHIN 10 seconds"
    why = ck.why_not(stream_of(ROWS), text)
    assert [row.branch for row in why.funnel] == [1, 1, 1, 1, 2, 2, 2]
    assert "no event has the type 'X'" in why.notes
    assert "1: b" in str(why.funnel)


def test_match_by_one_choice_of_absence_leaves_no_near_miss():
    text = "PATTERN AND(A a, OR(NOT(N n), NOT(X x))) WITHIN 5 seconds"
    why = ck.why_not(stream_of(ROWS), text)
    assert why.found
    assert len(why.near_misses) == 0


def test_the_funnel_counts_a_set_once():
    rows = [(0, "A", 1.0), (1, "B", 2.0), (2, "B", 3.0), (20, "A", 1.0), (21, "B", 2.0)]
    text = "PATTERN SEQ(A a, KL(B b){2,}) WHERE b.price > a.price WITHIN 10 seconds"
    why = ck.why_not(stream_of(rows), text)
    assert [(r.text, r.before, r.after) for r in why.funnel][2:] == [
        ("b after a, within 10 seconds", 2, 2),
        ("b.price > a.price", 2, 2),
        ("b{2,}", 2, 1),
    ]
    assert why.found is True
    assert any("sets of b are" in note for note in why.notes)


@pytest.mark.parametrize("key", ["a.k = b.k AND b.k = c.k", "c.k = b.k AND b.k = a.k", None])
def test_a_key_is_counted_like_any_other_requirement(key):
    kinds = [(i, kind, i % 3) for i, kind in enumerate("AABBCCAABBCC")]
    where, partition = (f"WHERE {key}", "") if key else ("", "PARTITION BY k")
    text = f"PATTERN SEQ(A a, B b, C c) {where} WITHIN 10 seconds {partition}"
    why = ck.why_not(stream_of(kinds, ("at", "kind", "k")), text)
    scopes = [row for row in why.funnel if row.kind == "scope"]
    keyed = [row for row in why.funnel if row.kind in ("condition", "partition")]
    pairs = [(x, y) for x, k, i in kinds for y, m, j in kinds if (k, m) == ("A", "B") and y > x]
    same = [(x, y) for x, y in pairs if x % 3 == y % 3]
    assert scopes[0].after == keyed[0].before == len(pairs)
    assert keyed[0].after == len(same)
    assert scopes[1].after == keyed[1].before
    three = [(x, z) for x, y in same for z, k, i in kinds if k == "C" and z > y and z - x <= 10]
    assert scopes[1].after == len(three)
    assert keyed[1].after == sum(x % 3 == z % 3 for x, z in three)


def test_a_condition_that_stands_there_twice_is_one():
    why = ck.why_not(
        stream_of([(0, "A", 5.0), (1, "B", 4.0)]),
        "PATTERN SEQ(A a, B b) WHERE a.price < b.price AND a.price < b.price",
    )
    assert [(row.before, row.after) for row in why.funnel][2:] == [(1, 1), (1, 0)]
    assert len(why.near_misses) == 1


def test_a_missing_key_is_equal_to_none():
    rows = [(0, "A", None), (1, "B", None), (2, "A", 1.0), (3, "B", 1.0)]
    text = "PATTERN SEQ(A a, B b) WHERE a.price = b.price"
    why = ck.why_not(stream_of(rows), text)
    assert [(row.before, row.after) for row in why.funnel][2:] == [(4, 3), (3, 1)]


def test_keys_that_differ_are_no_quantities():
    why = ck.why_not(stream_of([(0, "A", 1), (1, "B", 900)]),
                     "PATTERN SEQ(A a, B b) WHERE a.price = b.price")  # fmt: skip
    (miss,) = why.near_misses
    assert miss.detail == "a.price = b.price: 1 = 900 fails"
    assert miss.relative == 1.0


def test_work_is_bounded_and_says_where_it_ended():
    rows = [(i / 10, kind, 1.0) for i in range(200) for kind in "AB"]
    query = ck.parse("PATTERN SEQ(A a, B b) WHERE a.price < b.price WITHIN 200 EVENTS")
    why = why_not(stream_of(rows), query, {}, plan=as_plan(None, query), budget=2000)
    (stretch,) = [row for row in why.funnel if row.kind == "stretch"]
    assert 0 < stretch.after < 200
    assert f"after {stretch.after:,} of 200 events of a" in why.notes[0]
    assert why.found is None
    scope = why.funnel.rows[3]
    assert scope.before == stretch.after * 200
    why = why_not(stream_of(rows), query, {}, plan=as_plan(None, query), budget=50)
    assert "lower bounds" in why.notes[0]


def test_funnel_within_a_time_counts_all_pairs_for_less_work():
    rows = [(i / 10, kind, 1.0) for i in range(200) for kind in "AB"]
    query = ck.parse("PATTERN SEQ(A a, B b) WHERE a.price < b.price WITHIN 10 seconds")
    why = why_not(stream_of(rows), query, {}, plan=as_plan(None, query), budget=2000)
    assert [(row.kind, row.before, row.after) for row in why.funnel][2:] == [
        ("scope", 200 * 200, 100 * 100 + 100 * 99 // 2),
        ("condition", 100 * 100 + 100 * 99 // 2, 0),
    ]
    assert why.found is False


def test_an_empty_stream_has_an_answer():
    why = ck.why_not(stream_of([(0, "X", 1.0)]), TEXT)
    assert why.found is False
    assert why.reason == "There is no match: nothing passes 'A a'."


@pytest.mark.parametrize("shown", [str, lambda why: why._repr_html_()])
def test_answer_shows_reason_funnel_and_near_misses(shown):
    why = ck.why_not(stream_of(ROWS), TEXT)
    text = shown(why)
    assert why.reason in text
    for part in ("NOT(N n)", "12 s, 2 s too long", "by this alone"):
        assert part in text
    assert "<script" not in shown(ck.why_not(stream_of([(0, "<script>", 1.0)]), TEXT))


def test_html_escapes_event_types():
    why = ck.why_not(stream_of([(0, "<b>x", 1.0)]), 'PATTERN SEQ("<b>x" a, B b)', a=0)
    assert "<b>x" not in why._repr_html_().replace("<p><b>", "")


def test_beside_a_set_events_are_absent_together_or_not_at_all():
    stream = stream_of([(0, "A", 1.0), (1, "B", 2.0), (2, "D", 3.0), (3, "C", 4.0)])
    text = "PATTERN SEQ(A a, NOT(SEQ(B b, C c)), KL(D d)) WHERE avg(d.price) > {} WITHIN 9 seconds"
    assert ck.detect(stream, text.format(1)).count() == 1
    assert ck.why_not(stream, text.format(1)).found is True
    assert ck.why_not(stream, text.format(5)).found is False
