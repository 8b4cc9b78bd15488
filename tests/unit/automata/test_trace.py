"""Questions to a trace, its JSON, and how it is shown."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest

import cepkit as ck
from cepkit import memory
from cepkit.automata import simulation
from cepkit.automata.lanes import journal, lane
from cepkit.errors import LimitError, TraceError
from cepkit.stream.codec import decode
from cepkit.tracing import CounterTrace, MechanismTrace, Trace
from cepkit.tracing.operations import OPERATIONS, Discard, Match, Operation, OperationName, name_of
from tests.unit.automata.cases import EXAMPLE, LAZY, run, stream

SAVED = Path(__file__).parents[2] / "golden" / "traces"


@pytest.fixture
def eager():
    return run(LAZY, EXAMPLE, "eager-nfa")


def test_fate_has_lineage_refusals_and_reason_of_the_end(eager):
    fate = eager.fate(7)  # a2 b2
    assert fate.lineage == (0, 2)
    assert fate.binding == (("a", 1), ("b", 4))
    assert fate.created.step == 4
    (refused,) = fate.refused
    assert (refused.step, refused.text) == (5, "instance 7 looks at c 5 for c: 13 < 9 fails")
    assert fate.reason == "ended"
    assert fate.children == ()
    assert str(fate).splitlines()[-1] == (
        "step 6: instance 7 ends: the stream ended before it was complete"
    )


def test_fate_of_a_completed_instance_has_its_match(eager):
    fate = eager.fate(9)
    assert (fate.matches, fate.reason) == ((0,), "matched")
    assert eager.fate(4).children == (9,)


def test_fate_of_an_unknown_instance_is_refused(eager):
    with pytest.raises(TraceError, match="no instance 99"):
        eager.fate(99)


def test_expired_and_why():
    trace = run("a1 x x x b2", "PATTERN SEQ(a, b) WITHIN 2 seconds", "eager-nfa")
    fate = trace.fate(1)
    assert (fate.reason, fate.ended.step) == ("expired", 3)
    assert trace.totals.counts.expired == 1


def test_next_match(eager):
    assert eager.next_match().step == 5
    assert eager.next_match(after=4).instance == 9
    assert eager.next_match(after=5) is None


def test_find_filters_operations_by_kind_and_arguments(eager):
    assert len(eager.find("evaluate", held=False)) == 4
    assert {f.step for f in eager.find("evaluate", event=3)} == {3}
    assert len(eager.find("evaluate", clause=4)) == 5
    assert len(eager.find("create", variable="b")) == 5
    assert eager.find("create", variable="b", after=4) == ()
    assert {f.operation.instance for f in eager.find("discard", reason="matched")} == {9, 10}
    with pytest.raises(TraceError, match="did you mean 'evaluate'"):
        eager.find("evaluat")


def test_slices_of_a_trace_print_as_sentences(eager):
    told = str(eager[3:5])
    assert told.startswith("step 3: b 3 arrives\n")
    assert "instance 3 looks at b 3 for b: 8 < 7 fails" in told
    assert len(eager[3:5]) == 2
    assert "the stream ends" in str(eager[-1])
    assert "&lt;" in eager[3]._repr_html_()


def test_compare_puts_totals_side_by_side(eager):
    chain = run(LAZY, EXAMPLE, "chain-nfa", ["c", "b", "a"])
    compared = eager.compare(chain)
    totals = {row.counter: (row.left, row.right, row.parts) for row in compared.rows}
    assert totals["evaluations"] == (14, 6, 0)
    assert totals["matches"] == (2, 2, None)
    assert compared.same_matches
    assert compared.first_difference is None
    assert "Both found the same matches." in str(compared)
    assert "<table>" in compared._repr_html_()


def test_compare_says_where_matches_part(eager):
    chain = run(LAZY, EXAMPLE, "chain-nfa", ["c", "b", "a"])
    compared = eager.compare(replace(chain, matches=chain.matches[1:]))
    assert not compared.same_matches
    assert compared.first_difference.events == {"a": 0, "b": 3, "c": 5}
    assert [m.instance for m in compared.only_left] == [9]
    assert "1 matches are in the first alone" in str(compared)


def test_compare_refuses_other_streams_and_patterns(eager):
    with pytest.raises(TraceError, match="two streams"):
        eager.compare(run("a1", EXAMPLE, "eager-nfa"))
    with pytest.raises(TraceError, match="two patterns"):
        eager.compare(run(LAZY, "PATTERN SEQ(a, b)", "eager-nfa"))


def test_matches_and_counters_as_frames(eager):
    frame = eager.matches_frame()
    assert list(frame.columns) == ["a", "b", "c", "match_start", "match_end", "step"]
    assert frame["a"][0] == {
        "id": 0,
        "time": pd.Timestamp(0, unit="s", tz="UTC"),
        "type": "a",
        "p": 3.0,
    }
    assert frame["match_end"][1] == pd.Timestamp(5, unit="s", tz="UTC")
    assert eager.counters_frame()["evaluations"].tolist() == [1, 2, 3, 6, 9, 14, 14]
    assert len(run("x", EXAMPLE, "eager-nfa").matches_frame()) == 0


def test_sets_are_lists_in_frames():
    trace = run("a b b", "PATTERN SEQ(a, KL(b))", "chain-nfa", ["b", "a"])
    assert sorted(len(members) for members in trace.matches_frame()["b"]) == [1, 1, 2]


def test_json_goes_to_a_file_and_back(eager, tmp_path):
    path = tmp_path / "trace.json"
    eager.to_json(path)
    assert MechanismTrace.from_json(path) == eager
    assert MechanismTrace.from_json(str(path)) == eager


@pytest.mark.parametrize("name", ["mechanism-1", "counters-1"])
def test_traces_of_earlier_versions_round_trip_unchanged(name):
    path = SAVED / f"{name}.json"
    trace = Trace.from_json(path)
    assert type(trace).from_json(path) == trace
    assert json.loads(trace.to_json()) == json.loads(path.read_text())
    kinds = {MechanismTrace, CounterTrace}
    assert type(trace) in kinds
    for other in kinds - {type(trace)}:
        with pytest.raises(TraceError, match="an object of schema"):
            other.from_json(path)


def test_json_holds_no_infinities():
    frame = pd.DataFrame({"ts": [1.0, 2.0], "type": ["a", "b"], "p": [math.inf, math.nan]})
    events = ck.events(frame, time="ts", type="type", unit="s")
    trace = ck.simulate(events, "PATTERN SEQ(a, b) WHERE a.p > b.p", "eager-nfa")
    assert json.loads(trace.to_json())["events"]["attributes"]["p"] == ["Infinity", None]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{", "no JSON"),
        ('{"schema": "other"}', "schema 'other'"),
        ('{"schema": "cepkit.trace/1"}', "pattern is missing"),
        ('{"a": ' * 100_000, "nested too deeply"),
        ('{"a": ' + "1" * 5_000 + "}", "thousands of digits"),
        ('{"a": NaN}', "NaN"),
        ("/nowhere/trace.json", "there is no file '/nowhere/trace.json'"),
        ("", "an empty path"),
        ("a\0b", "NUL"),
        ("\ud800", "characters that a file's name can have"),
        ("x" * 300, "File name too long"),
        ("~nosuchuser/trace.json", "name of a user"),
        ("/", "is a folder"),
        ("/dev/zero", "is a device"),
        (b"{}", "a trace from a bytes"),
        (None, "a trace from a NoneType"),
    ],
)
def test_from_json_refuses_texts_that_are_no_trace(source, said):
    with pytest.raises(TraceError, match=said) as caught:
        MechanismTrace.from_json(source)
    assert len(str(caught.value)) < 500


_CHANGES = {
    "a text for a number": (("counters", "created", 1), "3", "'3'"),
    "a truth value for a number": (("events", "id", 0), True, "true"),
    "a fraction for a number": (("totals", "events"), 2.5, "2.5"),
    "a negative number": (("matches", 0, "step"), -1, "-1"),
    "a number for a text": (("pattern",), 3, "pattern is 3"),
    "half a character": (("mechanism",), "\ud800", "whole characters"),
    "a text for a list": (("variables",), "ab", "variables is 'ab'"),
    "a list for an object": (("diagram",), [], "diagram is a list of 0 values"),
    "a time out of range": (("events", "time", 0), 2**62, "time[0]"),
    "a column that is shorter": (("events", "type"), ["a"], "events.type"),
    "a counter that is shorter": (("counters", "matches"), [], "counters.matches"),
    "a counter that is missing": (("counters",), {}, "counters.evaluations"),
    "a total that is missing": (("totals",), {}, "totals.evaluations is missing"),
    "more steps than events": (("steps",), [[]] * 9, "steps is a list of 9 values"),
    "a clause beyond the text": (("clauses", 0, "end"), 999, "outside of the pattern"),
    "a kind of node that is none": (("diagram", "nodes", 0, "kind"), "begin", "'start'"),
    "a node of another number": (("diagram", "nodes", 0, "id"), 1, "diagram.nodes[0].id"),
    "an edge to nowhere": (("diagram", "edges", 0, "to"), 99, "diagram.edges[0].to is 99"),
    "a match of no event": (("matches", 0, "events", "a"), [], "matches[0].events"),
    "a match of an event beyond": (("matches", 0, "events", "a"), 99, "matches[0].events is 99"),
    "no operation": (("steps", 0), [[]], "steps[0][0]"),
    "an unknown operation": (("steps", 0), [["fly", 1]], "'fly' that is not known"),
    "a list for its name": (("steps", 0), [[["fly"]]], "not known"),
    "an operation cut short": (("steps", 0), [["create", 0]], "create and 5 values"),
    "an operation without its end": (("steps", 0), [["create", 0, [], 0, None]], "5 values"),
    "an unknown reason": (("steps", 0), [["discard", 0, "bored"]], "'bored'"),
    "an instance of nobody": (("steps", 0), [["match", 7, 0]], "instance 7"),
    "a parent to come": (("steps", 0), [["create", 7, [8], 0, "a", 0]], "instance 8"),
    "a clause of nowhere": (("steps", 1), [["refuse", 0, "a", [[9, "", 0]]]], "checked is 9"),
}


@pytest.mark.parametrize("change", _CHANGES)
def test_a_trace_whose_parts_do_not_fit_is_refused_with_the_place(change):
    (*path, last), value, said = _CHANGES[change]
    whole = json.loads(run("a b", "PATTERN SEQ(a, b)", "eager-nfa").to_json())
    part = whole
    for name in path:
        part = part[name]
    part[last] = value
    with pytest.raises(TraceError, match=re.escape(said)):
        MechanismTrace.from_json(json.dumps(whole))


def test_a_diagram_of_an_evaluation_tree_is_a_tree():
    saved = run("a b", "PATTERN SEQ(a, b)", "evaluation-tree").to_json()
    first, second = (e["id"] for e in json.loads(saved)["diagram"]["edges"] if e["kind"] == "join")
    for edge, change in ((first, {"to": 0}), (second, {"kind": "take"}), (first, {"from": 1})):
        whole = json.loads(saved)
        whole["diagram"]["edges"][edge].update(change)
        with pytest.raises(TraceError, match=r"no part of a tree|a second way up"):
            MechanismTrace.from_json(json.dumps(whole))


def test_fate_of_an_instance_with_repeated_parents_is_found_fast():
    whole = json.loads(run("a b", "PATTERN SEQ(a, b)", "eager-nfa").to_json())
    joins = [["create", i, [i - 1, i - 1], 0, None, None] for i in range(1, 200)]
    whole["steps"] = [[["create", 0, [], 0, None, None], *joins], [], []]
    assert len(MechanismTrace.from_json(json.dumps(whole)).fate(199).lineage) == 199


def test_cut_trace_says_how_many_steps_are_kept():
    trace = run("a b " * 50, "PATTERN SEQ(a, b) WITHIN 3 seconds", "eager-nfa", max_steps=10)
    assert (len(trace), trace.truncated.shown, trace.truncated.of) == (10, 10, 101)
    assert not trace.final
    assert trace.totals.counts.matches > len(trace.matches)
    assert "the first 10 of 101 steps are kept" in str(trace)
    assert "the first 10 of 101 steps are kept" in trace._repr_html_()


def test_trace_is_cut_before_a_step_of_too_many_operations(monkeypatch):
    # The c completes 100 matches at once, in 202 operations.
    asked = ("a " * 10 + "b " * 10 + "c", "PATTERN SEQ(a, b, c)", "chain-nfa", ["c", "b", "a"])
    whole = run(*asked)
    assert (len(whole), len(whole.matches)) == (22, 100)
    monkeypatch.setattr(journal, "MOST_IN_STEP", 200)
    cut = run(*asked)
    assert (len(cut), cut.truncated.shown, cut.matches) == (20, 20, ())
    assert cut.totals == whole.totals
    assert cut.steps == whole.steps[:20]


def test_events_beyond_memory_are_refused_before_one_is_made(monkeypatch):
    asked = ("a b " * 10, "PATTERN SEQ(a, b) WHERE a.p = b.p", "eager-nfa")
    monkeypatch.setattr(memory, "free_memory", lambda: 6_300)
    assert run(*asked, limit=10).totals.events == 10
    monkeypatch.setattr(simulation, "events_of", None)
    with pytest.raises(LimitError) as error:
        run(*asked)
    assert error.value.found == (
        "there are 20 events, which need about 0.0 MB of memory as objects"
    )
    assert "simulate(..., limit=1000)" in error.value.hint


def test_instances_beyond_memory_are_refused(monkeypatch):
    monkeypatch.setattr(journal, "_EVERY", 10)
    assert run("a " * 12 + "b", "PATTERN SEQ(a, b)", "eager-nfa").totals.peak_instances == 14
    monkeypatch.setattr(memory, "free_memory", lambda: 9_000)
    with pytest.raises(LimitError, match=r"more than 10 partial matches, which need"):
        run("a " * 12 + "b", "PATTERN SEQ(a, b)", "eager-nfa")


def test_memory_check_counts_matches_kept_against_duplicates(monkeypatch):
    monkeypatch.setattr(lane, "_EVERY", 10)
    monkeypatch.setattr(lane, "_IDENTITY", 2_000)
    monkeypatch.setattr(memory, "free_memory", lambda: 10_000)
    text = "PATTERN AND(a, OR(NOT(b), NOT(c))) WITHIN 1 minute"
    assert run("a " * 9, text, "eager-nfa").totals.counts.matches == 9
    with pytest.raises(LimitError, match="partial matches"):
        run("a " * 10, text, "eager-nfa")


def test_clauses_stand_where_the_text_says():
    pattern = (
        "PATTERN SEQ(A a, NOT(N n), KL(B b){2,3}) WHERE a.x < b.x AND n.x = 1 "
        "WITHIN 5 seconds PARTITION BY k"
    )
    frame = pd.DataFrame({"ts": [1.0], "type": ["A"], "x": [1], "k": [1]})
    events = ck.events(frame, time="ts", type="type", unit="s")
    trace = ck.simulate(events, pattern, "eager-nfa")
    assert [(c.kind, c.text) for c in trace.clauses] == [
        ("event", "A a"),
        ("absence", "NOT(N n)"),
        ("event", "KL(B b){2,3}"),
        ("condition", "a.x < b.x"),
        ("condition", "n.x = 1"),
        ("window", "WITHIN 5 seconds"),
        ("partition", "PARTITION BY k"),
    ]
    assert all(trace.pattern[c.begin : c.end] == c.text for c in trace.clauses)


def test_event_that_fails_its_filter_is_shown_as_refused():
    trace = run("a1 a5 b", "PATTERN SEQ(a, b) WHERE a.p > 3", "eager-nfa")
    (refused,) = trace.find("refuse")
    assert refused.text == "a 0 cannot be a: 1 > 3 fails"
    assert len(trace.matches) == 1


def test_names_are_escaped_in_html():
    frame = pd.DataFrame({"ts": [1.0, 2.0], "type": ["<b>", "<b>"]})
    events = ck.events(frame, time="ts", type="type", unit="s")
    trace = ck.simulate(events, 'PATTERN SEQ("<b>" a, "<b>" c)', "eager-nfa")
    assert "<b>" not in trace._repr_html_()
    assert "<b>" not in trace[0:2]._repr_html_()
    assert "<b>" not in trace.fate(1)._repr_html_()


def test_set_functions_are_shown_with_their_values():
    pattern = "PATTERN KL(b) WHERE avg(b.p) >= 2"
    trace = run("b1 b3", pattern, "chain-nfa", ["b"])
    texts = [f.text for f in trace.find("close")]
    assert "the set of instance 1 may not end: 1 >= 2 fails" in texts
    assert "the set of instance 3 may end: 2 >= 2 holds" in texts
    assert len(trace.matches) == 2


def test_stream_and_events_are_numbered_in_the_order_of_time():
    events = stream("b a", [2, 1])
    trace = ck.simulate(events, "PATTERN SEQ(a, b)", "eager-nfa")
    assert trace.events.id == (1, 0)
    assert dict(trace.matches[0].events) == {"a": 0, "b": 1}


def test_operations_are_named_as_questions_and_json_name_them():
    assert tuple(OPERATIONS) == get_args(OperationName)
    assert name_of(Match(0, 0)) == "match"
    assert decode(Operation, ["discard", 3, "ended"]) == Discard(3, "ended")
