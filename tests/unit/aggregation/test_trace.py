"""Traces of prefix counters: the tables of ASEQ's figures, step by step."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.aggregation.sequence.definition import sequence_of
from cepkit.aggregation.tracing.recorder import trace
from cepkit.errors import LimitError, PatternError, TraceError, UnsupportedError
from cepkit.stream.stream import events
from cepkit.tracing import CounterTrace
from tests.properties.test_aggregation import WITHOUT_SETS, expected
from tests.strategies import as_table
from tests.unit.aggregation.cases import stream

S = 1_000_000


def table(found: CounterTrace) -> list[tuple[object, ...]]:
    """Return (event, its action, the counts of each counter, matches) of each step."""
    return [
        (step.event, step.action, [(c.start, c.counts) for c in step.counters], step.count)
        for step in found.steps
    ]


def test_figure_4_adds_the_count_of_the_shorter_prefix() -> None:
    # (A) = 3 and (A, B) = 2 before the second b, (A, B) = 5 after it.
    events = stream("a1@1 a2@2 b1@3 c1@4 a3@5 b2@6 d1@7")
    found = ck.simulate(events, "PATTERN SEQ(A a, B b, C c, D d)", "prefix-counters")
    assert table(found)[2:] == [
        ("b1", "extend", [("", (2, 2, 0, 0))], 0),
        ("c1", "extend", [("", (2, 2, 2, 0))], 0),
        ("a3", "start", [("", (3, 2, 2, 0))], 0),
        ("b2", "extend", [("", (3, 5, 2, 0))], 0),
        ("d1", "extend", [("", (3, 5, 2, 2))], 2),
    ]
    assert found.output == ((7 * S, 2),)


def test_figure_6_keeps_a_counter_for_each_start_until_it_expires() -> None:
    events = stream("a1@1 b1@2 c1@3 a2@4 c2@5 b2@6 d1@7 c3@8 a3@9 d2@10")
    found = ck.simulate(
        events, "PATTERN SEQ(A a, B b, C c, D d) WITHIN 7 s EXCLUSIVE AGG COUNT", "prefix-counters"
    )
    assert table(found)[:13] == [
        ("a1", "start", [("a1", (1, 0, 0, 0))], 0),
        ("b1", "extend", [("a1", (1, 1, 0, 0))], 0),
        ("c1", "extend", [("a1", (1, 1, 1, 0))], 0),
        ("a2", "start", [("a1", (1, 1, 1, 0)), ("a2", (1, 0, 0, 0))], 0),
        ("c2", "extend", [("a1", (1, 1, 2, 0)), ("a2", (1, 0, 0, 0))], 0),
        ("b2", "extend", [("a1", (1, 2, 2, 0)), ("a2", (1, 1, 0, 0))], 0),
        ("d1", "extend", [("a1", (1, 2, 2, 2)), ("a2", (1, 1, 0, 0))], 2),
        ("a1", "expire", [("a2", (1, 1, 0, 0))], 0),
        ("c3", "extend", [("a2", (1, 1, 1, 0))], 0),
        ("a3", "start", [("a2", (1, 1, 1, 0)), ("a3", (1, 0, 0, 0))], 0),
        ("d2", "extend", [("a2", (1, 1, 1, 1)), ("a3", (1, 0, 0, 0))], 1),
        ("a2", "expire", [("a3", (1, 0, 0, 0))], 0),
        ("a3", "expire", [], 0),
    ]
    assert found.steps[0].counters[0].expires == 8 * S
    assert found.steps[7].ts == 8 * S
    assert found.output == ((7 * S, 2), (10 * S, 1))


def test_figure_7_resets_counts_at_the_negated_event() -> None:
    events = stream("a1@1 b1@2 c1@3 a2@4 b2@5 d1@6")
    found = ck.simulate(
        events, "PATTERN SEQ(A a, B b, NOT(C c), D d) WITHIN 7 s EXCLUSIVE", "prefix-counters"
    )
    assert table(found)[:6] == [
        ("a1", "start", [("a1", (1, 0, 0))], 0),
        ("b1", "extend", [("a1", (1, 1, 0))], 0),
        ("c1", "end", [("a1", (1, 0, 0))], 0),
        ("a2", "start", [("a1", (1, 0, 0)), ("a2", (1, 0, 0))], 0),
        ("b2", "extend", [("a1", (1, 1, 0)), ("a2", (1, 1, 0))], 0),
        ("d1", "extend", [("a1", (1, 1, 1)), ("a2", (1, 1, 1))], 2),
    ]
    assert found.output == ((6 * S, 2),)


def test_figure_10_takes_snapshots_where_pieces_connect() -> None:
    events = stream("a1@1 b1@2 c1@3 a2@4 b2@5 d1@6 c2@7 a3@8 d2@9 e1@10")
    found = ck.simulate(
        events,
        "PATTERN SEQ(A a, B b, C c, D d, E e) WITHIN 9 s EXCLUSIVE",
        "prefix-counters",
        plan=[["a", "b", "c"], ["d", "e"]],
    )
    by_event = {step.event: step for step in found.steps if step.action != "expire"}

    def counters(event: str, piece: int) -> dict[str, tuple[int, ...]]:
        return {c.start: c.counts for c in by_event[event].counters if c.piece == piece}

    def snapshot(event: str, of: str) -> list[tuple[str, int, int]]:
        row = next(c for c in by_event[event].counters if c.start == of)
        return [(s.start, (s.expires or 0) // S, s.count) for s in row.snapshot]

    assert counters("d1", 0) == {"a1": (1, 2, 1), "a2": (1, 1, 0)}
    assert counters("d1", 1) == {"d1": (1, 0)}
    assert snapshot("d1", "d1") == [("a1", 10, 1), ("a2", 13, 0)]
    assert counters("d2", 0) == {"a1": (1, 2, 3), "a2": (1, 1, 1), "a3": (1, 0, 0)}
    assert snapshot("d2", "d2") == [("a1", 10, 3), ("a2", 13, 1), ("a3", 17, 0)]
    # When e1 comes, a1 has expired, and with it its rows.
    assert counters("e1", 1) == {"d1": (1, 1), "d2": (1, 1)}
    assert snapshot("e1", "d1") == [("a2", 13, 0)]
    assert snapshot("e1", "d2") == [("a2", 13, 1), ("a3", 17, 0)]
    assert found.output == ((10 * S, 1),)


def test_trace_prints_as_a_table() -> None:
    events = stream("a1@1 b1@2 c1@3 d1@4")
    found = ck.simulate(
        events,
        "PATTERN SEQ(A a, B b, C c, D d) WITHIN 9 s",
        "prefix-counters",
        plan=[["a", "b"], ["c", "d"]],
    )
    lines = [line.split() for line in str(found).splitlines()]
    assert lines[0][:6] == ["Prefix", "counters", "of", "a", "b", "|"]
    assert lines[2] == ["0", "s", "a1", "starts", "a1", "9", "s", "1", "0", "0"]
    assert "d1" in found._repr_html_()
    assert "c1" in str(found)
    assert "a1 1" in str(found)
    frame = found.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame["counts"].iloc[0] == (1, 0)


def test_json_has_the_changes_of_each_step(tmp_path) -> None:
    found = ck.simulate(
        stream("a1@1 b1@2 c1@3 x1@4 d1@5 d2@6"),
        "PATTERN SEQ(A a, B b, NOT(C c), D d) WITHIN 9 s EXCLUSIVE",
        "prefix-counters",
        plan=[["a", "b"], ["d"]],
    )
    told = json.loads(found.to_json(tmp_path / "run.json"))
    assert told["schema"] == "cepkit.counters/1"
    assert told["name"] == "chop-connect a b | d"
    assert told["absent"] == [[2, "c"]]
    assert told["window"] == 9 * S - 1
    # What the pattern does not ask for is an event of the trace, but no step.
    assert told["events"]["name"] == ["a1", "b1", "c1", "X1", "d1", "d2"]
    assert told["moments"]["event"] == [0, 1, 2, 4, 5, None, None, None]
    assert told["steps"] == [
        [["open", 0, 0, 0, 0, 10 * S], ["add", 0, 0, 0, 1]],
        [["add", 0, 1, 0, 1]],
        [["clear", 0, 1, 1]],
        [["open", 1, 0, 1, 4, 14 * S], ["save", 1, 0, 0], ["add", 1, 0, 0, 1]],
        [["open", 2, 0, 1, 5, 15 * S], ["save", 2, 0, 0], ["add", 2, 0, 0, 1]],
        [["close", 0], ["drop", 1, 0], ["drop", 2, 0]],
        [["close", 1]],
        [["close", 2]],
    ]
    # Counters and rows of snapshots written: a START writes one and its snapshot.
    assert told["counters"]["updates"] == [1, 2, 3, 5, 7, 7, 7, 7]
    assert CounterTrace.from_json(tmp_path / "run.json") == found


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{", "no JSON"),
        ("[]", "there is no file '[]'"),
        ('{"schema": "cepkit.trace/1"}', "schema 'cepkit.trace/1'"),
        ('{"schema": "cepkit.counters/1"}', "pattern is missing"),
        ('{"a": ' * 100_000, "nested too deeply"),
        ('{"a": ' + "1" * 5_000 + "}", "thousands of digits"),
        ("/dev/zero", "is a device"),
    ],
)
def test_from_json_refuses_texts_that_are_no_trace(source, said):
    with pytest.raises(TraceError, match=re.escape(said)):
        CounterTrace.from_json(source)


def test_json_that_is_no_object_is_refused(tmp_path):
    path = tmp_path / "list.json"
    path.write_text("[]")
    with pytest.raises(TraceError, match="JSON, but no object"):
        CounterTrace.from_json(path)


_CHANGED = {
    "a text for a number": (("looked_at",), "3", "looked_at is '3'"),
    "a text for a truth value": (("moments", "trigger", 0), "yes", "true or false"),
    "an unknown action": (("moments", "action", 0), "begin", "'begin'"),
    "a column that is shorter": (("moments", "key"), [], "moments.key"),
    "an event beyond": (("moments", "event", 0), 9, "moments.event[0] is 9"),
    "a key beyond": (("moments", "key", 0), 9, "moments.key[0] is 9"),
    "a position beyond": (("moments", "position", 0), 0, "moments.position[0] is 0"),
    "a piece of nothing": (("pieces",), [[]], "pieces is empty"),
    "an absence without a name": (("absent",), [[1]], "absent[0]"),
    "an unknown change": (("steps", 0), [["fly"]], "'fly' that is not known"),
    "a change of a row to come": (("steps", 0), [["add", 7, 0, 0, 1]], "row 7 that is not there"),
    "a close of a row to come": (("steps", 0), [["close", 7]], "row 7 that is not there"),
    "a count beyond": (("steps", 1), [["add", 0, 9, 0, 1]], "is 9"),
    "a count cut short": (("steps", 1), [["add", 0]], "add and 4 values"),
    "a piece beyond": (("steps", 0), [["open", 0, 0, 3, None, None]], "steps[0][0].piece is 3"),
    "a snapshot of nobody": (("steps", 1), [["save", 0, 5, 1]], "row 5 that is not there"),
}


@pytest.mark.parametrize("change", _CHANGED)
def test_a_trace_whose_parts_do_not_fit_is_refused_with_the_place(change):
    (*path, last), value, said = _CHANGED[change]
    found = ck.simulate(stream("a b"), "PATTERN SEQ(A a, B b) WITHIN 5 s", "prefix-counters")
    part = whole = json.loads(found.to_json())
    for name in path:
        part = part[name]
    part[last] = value
    with pytest.raises(TraceError, match=re.escape(said)):
        CounterTrace.from_json(json.dumps(whole))


def test_keys_name_the_attributes_that_must_be_equal() -> None:
    events = stream("a1 b1 a2 b2", customer=[7, 7, 8, 7], shop=["x", "x", "y", None])
    by_both = ck.simulate(
        events,
        "PATTERN SEQ(A a, B b) WHERE a.customer = b.customer PARTITION BY shop",
        "prefix-counters",
    )
    names = {by_both.keys[row.key] for step in by_both.steps for row in step.counters}
    assert names == {"customer 7, shop x", "customer 8, shop y"}
    assert "a1" not in str(by_both.steps[-1].counters[0].start)  # one row for all of a key
    assert "all of customer 8, shop y" in str(by_both)
    assert ck.simulate(events, "PATTERN SEQ(A a, B b)", "prefix-counters").keys == ("",)


def test_durations_are_texts_as_in_traces_of_mechanisms() -> None:
    events = stream("a1 b1", wait=pd.to_timedelta([5, 5], unit="s"))
    text = "PATTERN SEQ(A a, B b) WHERE a.wait = b.wait"
    counted, run = ck.simulate(events, text, "prefix-counters"), ck.simulate(events, text)
    assert counted.keys == ("wait 5 seconds",)
    assert counted.events.attributes == run.events.attributes == {"wait": ("5 seconds",) * 2}


def test_names_of_events_tell_them_apart() -> None:
    events = stream("a " * 12 + "b b")
    found = ck.simulate(events, "PATTERN SEQ(A a, B a1)", "prefix-counters")
    assert found.events.name[11:] == ("a12", "a1.1", "a1.2")


@pytest.mark.parametrize("query", ["SEQ(A a) WHERE 1 = 2", "SEQ(A a) WITHIN 0 s EXCLUSIVE"])
def test_pattern_that_cannot_match_has_triggers_of_count_zero(query) -> None:
    found = ck.simulate(stream("a b"), f"PATTERN {query}", "prefix-counters")
    assert found.output == ((S, 0),)
    assert "extends to a" in str(found)
    assert CounterTrace.from_json(found.to_json()) == found


def test_long_trace_leaves_out_events_that_do_nothing() -> None:
    found = ck.simulate(
        stream("a " + "x " * 2500 + "b"), "PATTERN SEQ(A a, B b)", "prefix-counters"
    )
    assert found.events.name == ("a1", "b1")
    assert found.looked_at == 2502
    assert found.steps[1].number == 1
    assert found.steps[1].row == 2501


def test_prefix_counters_refuse_wrong_pieces_operators_and_long_traces() -> None:
    events = stream("a b")
    with pytest.raises(PatternError, match="the pieces b"):
        ck.simulate(events, "PATTERN SEQ(A a, B b)", "prefix-counters", plan=[["b"], ["a"]])
    with pytest.raises(PatternError, match=r"plan=\['a', 'b'\]"):
        ck.simulate(events, "PATTERN SEQ(A a, B b)", "prefix-counters", plan=["a", "b"])
    with pytest.raises(UnsupportedError, match="KL cannot be traced"):
        ck.simulate(events, "PATTERN SEQ(A a, KL(B b)) WITHIN 1 s", "prefix-counters")
    with pytest.raises(LimitError, match="3,000 steps"):
        ck.simulate(stream("a " * 3000), "PATTERN SEQ(A a, B b) WITHIN 1 s", "prefix-counters")
    assert (
        len(ck.simulate(stream("a " * 3000), "PATTERN SEQ(A a, B b)", "prefix-counters", limit=5))
        == 5
    )


@given(case=WITHOUT_SETS, data=st.data())
def test_any_pieces_count_the_judges_matches(case, data):
    query = replace(case.query, having=())
    case = replace(case, query=query)
    names = [event.variable for event in sequence_of(query).positive]
    pieces: list[list[str]] = [[]]
    for name in names:
        if pieces[-1] and data.draw(st.booleans()):
            pieces.append([])
        pieces[-1].append(name)
    columns = events(as_table(case.events), time="ts", type="kind").columns(
        sorted(sequence_of(query).attributes)
    )
    found = trace(columns, query, pieces)
    assert CounterTrace.from_json(found.to_json()) == found
    if query.group_by:
        return
    wanted = sorted((row[0], row[2]) for row in expected(case, "trigger").elements())
    assert sorted(found.output) == wanted


def test_a_snapshot_that_stays_the_same_is_kept_once() -> None:
    text = "PATTERN SEQ(A a, B b, C c, D d)"
    found = ck.simulate(
        stream("a a b b c d d d"), text + " WITHIN 9 s", "prefix-counters", [["a", "b"], ["c", "d"]]
    )
    snapshots = [row.snapshot for s in found.steps for row in s.counters if row.snapshot]
    assert len(snapshots) > len({id(snapshot) for snapshot in snapshots})
    assert len({id(s) for s in snapshots}) == len(set(snapshots))
