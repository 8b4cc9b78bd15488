"""GREEDY: how far sets and runs extend, and which parts support it."""

from __future__ import annotations

import pandas as pd
import pytest

import cepkit as ck
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.errors import UnsupportedError
from cepkit.pattern.builder import event, kl, next_of, seq


def events(kinds, times=None, **columns):
    frame = pd.DataFrame({"t": times or range(len(kinds)), "kind": list(kinds), **columns})
    return ck.events(frame.assign(row=range(len(kinds))), time="t", type="kind", unit="s")


def sets(stream, pattern):
    found = ck.detect(stream, f"PATTERN {pattern} WITHIN 1 hour").to_arrow()["b"].to_pylist()
    return sorted([event["row"] for event in members] for members in found)


def test_greedy_gives_one_match_for_each_choice_of_other_events():
    stream = events("A" + "B" * 5_000 + "CC")
    matches = ck.detect(stream, "PATTERN SEQ(A a, KL(B b) GREEDY, C c) WITHIN 2 hours")
    assert matches.count() == 2
    assert {len(match["b"]) for match in matches} == {5_000}


def test_greedy_equals_a_first_run_with_not_behind_it():
    stream = events("ABBXBCBBACBBC", price=[1, 5, 3, 9, 4, 2, 6, 8, 4, 1, 2, 6, 7])
    about = "WHERE b.price > a.price AND {}.price > a.price"
    for after in ("", ", C c", ", FIRST C c"):
        greedy = f"SEQ(A a, KL(B b) GREEDY{after}) WHERE b.price > a.price"
        spelt = f"SEQ(A a, FIRST KL(FIRST B b), NOT(B x){after}) {about.format('x')}"
        assert sets(stream, greedy) == sets(stream, spelt) != []


def test_greedy_set_includes_all_events_of_equal_times():
    stream = events("ABBBC", [0, 1, 1, 2, 3])
    assert sets(stream, "SEQ(A a, KL(B b) GREEDY, C c)") == [[1, 2, 3]]
    assert sets(stream, "SEQ(A a, KL(FIRST B b) GREEDY, C c)") == [[1, 2, 3], [2, 3], [3]]


def test_greedy_set_ends_at_its_bound_to_the_event_before():
    stream = events("ABBBBC")
    assert sets(stream, "SEQ(A a, KL(B b) GREEDY, C c)") == [[1, 2, 3, 4]]
    text = "PATTERN SEQ(A a, KL(B b) GREEDY, C c) WITHIN 2 s FROM a TO b"
    assert len(next(iter(ck.detect(stream, text)))["b"]) == 2
    text = "PATTERN SEQ(A a, KL(B b) GREEDY, C c) WITHIN 3 s FROM b TO c"  # chooses among matches
    assert ck.detect(stream, text).count() == 0


def test_the_longest_rises_are_found_side_by_side():
    stream = events("B" * 8, price=[1, 2, 3, 2, 1, 5, 6, 0])
    rising = "KL(NEXT B b){2,} GREEDY WHERE b[i].price > b[i-1].price"
    assert sets(stream, rising) == [[0, 1, 2], [1, 2], [4, 5, 6], [5, 6]]
    text = f"PATTERN {rising} AFTER MATCH SKIP PAST LAST EVENT"
    found = ck.detect(stream, text).to_arrow()["b"].to_pylist()
    assert [[event["row"] for event in each] for each in found] == [[0, 1, 2], [4, 5, 6]]


def test_condition_on_the_previous_member_decides_whether_a_run_continues():
    stream = events("ABB", price=[0, 1, 1])
    text = "SEQ(A a, NEXT KL(NEXT B b) GREEDY) WHERE prev(b.price) != 1"
    assert sets(stream, text) == [[1]]
    assert sets(stream, text.replace("!=", "=")) == [[1, 2]]


def test_functions_of_the_members_up_to_each_say_where_a_run_ends():
    stream = events("B" * 8, price=[1, 2, 3, 9, 1, 5, 0, 0])
    run = "KL(NEXT B b) GREEDY WHERE {}"
    assert sets(stream, run.format("sum(b[..i].price) <= 6")) == [
        [0, 1, 2], [1, 2], [2], [4, 5, 6, 7], [5, 6, 7], [6, 7], [7]
    ]  # fmt: skip
    assert sets(stream, run.format("b[i].price > avg(b[..i-1].price)")) == [
        [0, 1, 2, 3], [1, 2, 3], [2, 3], [3], [4, 5], [5], [6], [7]
    ]  # fmt: skip
    pairs = "KL(NEXT B b){2} GREEDY WHERE max(b[..i].price) < 9"
    assert sets(stream, pairs) == [[0, 1], [1, 2], [4, 5], [5, 6], [6, 7]]


def test_until_ends_a_greedy_set():
    stream = events("ABBCBABBBCB")
    assert sets(stream, "SEQ(A a, KL(B b) GREEDY UNTIL C c)") == [[1, 2], [6, 7, 8]]
    assert sets(stream, "SEQ(A a, KL(B b){1,2} GREEDY UNTIL C c)") == [[1, 2], [6, 7]]
    assert sets(stream, "KL(B b) GREEDY UNTIL C c") == [[1, 2], [4, 6, 7, 8], [10]]
    assert sets(stream, "KL(NEXT B b){2,} GREEDY UNTIL C c") == [[1, 2], [6, 7, 8], [7, 8]]
    # Neither is what ends the set a member, nor what is behind it.
    stream = events("ABBBB", price=[0, 1, 2, 9, 3])
    ended = "SEQ(A a, KL({}B b) GREEDY UNTIL B c) WHERE c.price > 5"
    assert sets(stream, ended.format("")) == [[1, 2]]
    assert sets(stream, ended.format("FIRST ")) == [[1, 2], [2]]
    assert sets(stream, ended.format("NEXT ")) == [[1, 2], [2]]


def test_until_and_a_run_in_a_window_of_events_need_rows_in_order():
    stream = events("ABBC", [0, 2, 1, 3])
    with pytest.raises(UnsupportedError, match="'b' in a window of events"):
        ck.detect(stream, "PATTERN SEQ(A a, KL(NEXT B b) GREEDY UNTIL C c) WITHIN 4 EVENTS").count()


def test_greedy_in_a_window_of_events_refuses_unordered_rows():
    stream = events("ABBC", [0, 2, 1, 3])
    with pytest.raises(UnsupportedError, match="'b' in a window of events"):
        ck.detect(stream, "PATTERN SEQ(A a, KL(B b) GREEDY, C c) WITHIN 4 EVENTS").count()


def test_builder_makes_greedy_and_until():
    pattern = seq(event("a", "A"), next_of(kl(event("b", "B"), 1, 3, greedy=True)))
    assert pattern.query == ck.parse("PATTERN SEQ(A a, NEXT KL(B b){1,3} GREEDY)")
    assert ck.parse(str(pattern)) == pattern.query
    until = kl(next_of(event("b", "B")), greedy=True, until=event("c", "C"))
    assert until.query == ck.parse("PATTERN KL(NEXT B b) GREEDY UNTIL C c")
    assert ck.parse(str(until)) == until.query


def test_mechanisms_support_greedy():
    stream = events("ABBXBCB")
    for one in ("KL(B b) GREEDY", "FIRST KL(FIRST B b) GREEDY", "NEXT KL(NEXT B b){1,2} GREEDY"):
        text = f"PATTERN SEQ(A a, {one}, C c) WITHIN 1 hour"
        for mechanism in MECHANISMS:
            trace = ck.simulate(stream, text, mechanism=mechanism)
            assert len(trace.matches) == ck.detect(stream, text).count()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_mechanisms_support_greedy_with_until(mechanism):
    stream = events("ABBCBABBBCBD")
    for pattern in (
        "SEQ(A a, KL(B b) GREEDY UNTIL C c)",
        "SEQ(A a, KL(B b){1,2} GREEDY UNTIL C c, D d)",
        "KL(B b) GREEDY UNTIL C c",
        "KL(NEXT B b){2,} GREEDY UNTIL C c",
        "SEQ(A a, FIRST KL(FIRST B b) GREEDY UNTIL B c) WHERE c.row > a.row + 2",
    ):
        trace = ck.simulate(stream, f"PATTERN {pattern} WITHIN 1 hour", mechanism)
        assert sorted([*match.events["b"]] for match in trace.matches) == sets(stream, pattern)


def test_traces_say_why_a_set_is_discarded():
    stream = events("ABBCBD")
    trace = ck.simulate(stream, "PATTERN SEQ(A a, KL(B b) GREEDY UNTIL C c, D d)", "eager-nfa")
    ended = [f.text.split("ends: ")[1] for f in trace.find("discard", event=3)]
    assert set(ended) == {"its set goes beyond an event that ends it (C 3)"}
    lacking = [f.text.split("ends: ")[1] for f in trace.find("discard", reason="lacking")]
    assert "its set leaves out an event that belongs to it (B 2)" in lacking


def test_pictures_say_which_events_a_set_takes():
    pattern = "PATTERN SEQ(A a, KL(B b) GREEDY UNTIL C c) WHERE b.x > a.x"
    texts = ck.draw(ck.parse(pattern)).to_json().replace("\\u003cbr\\u003e", " ")
    assert "no C c up to the last of b" in texts
    assert "no other B b behind the last of b, unless C c comes between, where b.x " in texts
    side_by_side = ck.parse("PATTERN SEQ(A a, NEXT KL(NEXT B b) GREEDY)")
    assert "no other B b right behind the last of b" in ck.draw(side_by_side).to_json()
