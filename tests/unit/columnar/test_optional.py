"""OPT, and variables that choices at an OR share: one column each, null where there is no event."""

from __future__ import annotations

import warnings

import pandas as pd
import pytest

import cepkit as ck

ROWS = pd.DataFrame(
    {
        "t": pd.to_datetime([1, 2, 3, 4, 5, 6], unit="s"),
        "kind": list("AABBCB"),
        "price": [1, 2, 5, 6, 7, 8],
    }
)
STREAM = ck.events(ROWS, time="t", type="kind")


def prices(text: str, *variables: str) -> set[tuple[object, ...]]:
    table = ck.detect(STREAM, f"PATTERN {text}").to_arrow()
    assert table.column_names == [*variables, "match_start", "match_end"]
    rows = zip(*(table.column(v).to_pylist() for v in variables), strict=True)
    return {tuple(map(_price, row)) for row in rows}


def _price(event: object) -> object:
    match event:
        case dict():
            return event["price"]
        case list():
            return tuple(map(_price, event))
    return None


@pytest.mark.parametrize(
    ("text", "variables", "matches"),
    [
        (
            "SEQ(A a, OPT(B b), C c) WHERE a.price = 1",
            "abc",
            {(1, 5, 7), (1, 6, 7), (1, None, 7)},
        ),
        # A condition binds only where all that it is about is there.
        (
            "SEQ(A a, OPT(B b), C c) WHERE b.price > 5 AND a.price > 1",
            "abc",
            {(2, 6, 7), (2, None, 7)},
        ),
        ("SEQ(A a, OPT(FIRST B b)) WHERE a.price = 2", "ab", {(2, 5), (2, None)}),
        (
            "SEQ(A a, OPT(KL(B b)), C c) WHERE a.price = 2",
            "abc",
            {(2, (5,), 7), (2, (6,), 7), (2, (5, 6), 7), (2, None, 7)},
        ),
        (
            "SEQ(A a, OPT(SEQ(B b, C c))) WHERE a.price = 2 AND b.price = 5",
            "abc",
            {(2, 5, 7), (2, None, None)},
        ),
        (
            "OR(SEQ(A a, FIRST B b), SEQ(A a, C c)) WHERE a.price > 1",
            "abc",
            {(2, 5, None), (2, None, 7)},
        ),
        ("OR(SEQ(B b, C c), SEQ(A a, FIRST C c)) WHERE c.price - b.price < 2", "bca",
         {(6, 7, None), (None, 7, 1), (None, 7, 2)}),
        # A choice of nothing, twice, is one match.
        ("AND(C c, OR(OPT(A a), OPT(B b))) WHERE a.price = 0 AND b.price = 0", "cab",
         {(7, None, None)}),
    ],
)  # fmt: skip
def test_optional_event_gives_matches_with_and_without_it(
    text: str, variables: str, matches: set[tuple[object, ...]]
) -> None:
    assert prices(text, *variables) == matches
    assert ck.detect(STREAM, f"PATTERN {text}").count() == len(matches)


@pytest.mark.parametrize("mechanism", ["eager-nfa", "chain-nfa", "evaluation-tree"])
def test_mechanisms_find_the_matches_of_detect(mechanism: str) -> None:
    for text in ("SEQ(A a, OPT(B b), C c)", "OR(SEQ(A a, FIRST B b), SEQ(A a, C c))"):
        pattern = f"PATTERN {text} WITHIN 1 minute"
        trace = ck.simulate(STREAM, pattern, mechanism)
        assert len(trace.matches) == ck.detect(STREAM, pattern).count()


def test_aggregates_skip_an_optional_event_that_is_left_out() -> None:
    pattern = "PATTERN SEQ(A a, OPT(B b), C c) AGG COUNT, COUNT(b), SUM(b.price)"
    (row,) = ck.aggregate(STREAM, pattern, emit="total").to_arrow().to_pylist()
    assert [row[name] for name in ("count", "count(b)", "sum(b.price)")] == [6, 4, 22]


def test_why_not_takes_the_choice_that_comes_nearest() -> None:
    answer = str(ck.why_not(STREAM, "PATTERN SEQ(A a, OPT(B b), C c)", a=0, b=5))
    assert "b before c" in answer


def test_functions_of_a_set_leave_missing_values_out() -> None:
    rows = pd.DataFrame(
        {
            "t": pd.to_datetime([1, 2, 3, 4], unit="s"),
            "kind": list("ABBC"),
            "x": [1.0, None, 3.0, None],
        }
    )
    stream = ck.events(rows, time="t", type="kind")
    for condition, matches in {
        "count(b) = 2 AND count(b.x) = 1": 1,
        "count(b) = 2 AND sum(b.x) = 3 AND avg(b.x) = 3 AND min(b.x) = 3": 1,
        "count(b) = 1 AND sum(b.x) IS NULL AND max(b.x) IS NULL AND count(b.x) = 0": 1,
    }.items():
        pattern = f"PATTERN SEQ(A a, KL(B b), C c) WHERE {condition}"
        assert ck.detect(stream, pattern).count() == matches, condition


def test_stream_without_events_gives_one_warning() -> None:
    stream = ck.events(ROWS[:0], time="t", type="kind")
    for look in (ck.profile, lambda *given: ck.detect(*given).count()):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            look(stream, "PATTERN SEQ(A a, B b, C c)")
        texts = [str(one.message) for one in told]
        assert len([text for text in texts if "no events" in text]) == 1
        assert not [text for text in texts if "has the type" in text]


def test_a_condition_that_no_choice_needs_does_not_disturb_a_plan() -> None:
    # Without a B there is a match whatever c is, so that nothing is read of it.
    pattern = ck.parse("PATTERN SEQ(OR(OPT(B b), NOT(C c)), A a) WHERE c.x >= a.x")
    rows = pd.DataFrame({"t": [0, 1, 2], "kind": list("BCA"), "x": [1, 2, 3]})
    stream = ck.events(rows, time="t", type="kind", unit="s")
    plan = ck.choose_plan(pattern, ck.profile(stream, pattern))
    assert ck.detect(stream, pattern, plan).count() == ck.detect(stream, pattern).count() == 2
