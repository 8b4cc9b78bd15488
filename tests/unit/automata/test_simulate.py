"""The verb `simulate`: its defaults and its refusals."""

import re

import pandas as pd
import pytest

import cepkit as ck
from cepkit.automata.lanes import journal
from cepkit.automata.machine import Machine
from cepkit.automata.mechanisms import TreeNFA
from cepkit.errors import LimitError, PatternError, PlanError, StreamError, UnsupportedError
from cepkit.statistics import Statistics
from cepkit.tracing import Trace
from tests.unit.automata.cases import EXAMPLE, LAZY, named, run, stream

FOUND = {(("a", 0), ("b", 3), ("c", 5)), (("a", 1), ("b", 3), ("c", 5))}


def test_without_a_plan_rare_events_come_first():
    trace = run(LAZY, EXAMPLE, "chain-nfa")
    assert trace.plan == "c → b → a"
    assert named(trace) == FOUND
    assert run(LAZY, EXAMPLE, "evaluation-tree").plan == "c → b → a"


def test_mechanisms_that_follow_no_plan_have_none():
    assert run(LAZY, EXAMPLE, "eager-nfa").plan == ""
    assert run(LAZY, EXAMPLE, "tree-nfa").name == "tree-nfa"


def test_tree_nfa_orders_events_by_given_selectivities():
    # After c two a wait and three b: by numbers a is next, which nothing links to c.
    pattern = "PATTERN AND(a, b, c) WHERE a.p < b.p AND b.p > c.p WITHIN 1 minute"
    known = Statistics.assumed({"a": 2.0, "b": 3.0, "c": 1.0}, {("b", "c"): 0.3})
    orders = []
    for mechanism in ("tree-nfa", TreeNFA(known)):
        trace = run("a5 a6 b1 b2 b9 c8", pattern, mechanism)
        assert named(trace) == {(("a", a), ("b", 4), ("c", 5)) for a in (0, 1)}
        created = (one.operation for one in trace.find("create"))
        orders.append("".join(one.variable for one in created if one.variable))
    assert orders == ["cabab", "cbaa"]


@pytest.mark.parametrize(
    ("mechanism", "plan", "said"),
    [
        ("chain", None, "did you mean 'chain-nfa'"),
        ("eager-nfa", ["a", "b", "c"], "'eager-nfa' does not follow a plan"),
        ("tree-nfa", ["a", "b", "c"], "'tree-nfa' does not follow a plan"),
        ("chain-nfa", (("a", "b"), "c"), "'chain-nfa' follows an order"),
        ("chain-nfa", ["a", "b"], "leaves out 'c'"),
    ],
)
def test_unknown_mechanisms_and_unfit_plans_are_refused(mechanism, plan, said):
    with pytest.raises(PlanError, match=said):
        run(LAZY, EXAMPLE, mechanism, plan)


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("STRATEGY skip-till-next-match", "skip-till-next-match"),
        ("STRATEGY strict-contiguity", "strict-contiguity"),
        ("WITHIN 5 seconds AGG COUNT", "AGG"),
    ],
)
def test_unsupported_strategies_and_aggregates_are_refused_by_name(rest, said):
    with pytest.raises(UnsupportedError, match=said):
        run(LAZY, f"PATTERN SEQ(a, b) {rest}", "eager-nfa")


@pytest.mark.parametrize("steps", [0, 20_001])
def test_a_trace_has_bounds(steps):
    with pytest.raises(LimitError, match="1 to 20,000"):
        run(LAZY, EXAMPLE, "eager-nfa", max_steps=steps)


def test_limit_takes_the_first_events():
    trace = run(LAZY, EXAMPLE, "eager-nfa", limit=4)
    assert len(trace.events) == 4
    assert trace.totals.events == 4


def test_comparison_and_sum_of_texts_with_numbers_are_refused():
    frame = pd.DataFrame({"ts": [1.0], "type": ["a"], "s": ["x"], "p": [1.0]})
    events = ck.events(frame, time="ts", type="type", unit="s")
    with pytest.raises(PatternError, match="a text is compared with a number"):
        ck.simulate(events, "PATTERN SEQ(a, b) WHERE a.s < b.p", "eager-nfa")
    with pytest.raises(PatternError, match="sum"):
        ck.simulate(events, "PATTERN KL(a) WHERE sum(a.s) > 1", "eager-nfa")


def test_from_spark_only_so_many_events_are_fetched():
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe"})()
    frame.columns, frame.dtypes = ["ts", "type"], [("ts", "timestamp"), ("type", "string")]
    events = ck.events(frame, time="ts", type="type")
    with pytest.raises(UnsupportedError, match="limit=1000 takes the first thousand"):
        ck.simulate(events, "PATTERN SEQ(a, b)", "eager-nfa")


def test_arrays_are_no_keys_of_partitions():
    frame = pd.DataFrame({"ts": [1.0], "type": ["a"], "h": [[1.0, 2.0]]})
    events = ck.events(frame, time="ts", type="type", unit="s")
    with pytest.raises(PatternError, match="PARTITION BY 'h', which holds arrays"):
        ck.simulate(events, "PATTERN SEQ(a, b) PARTITION BY h", "eager-nfa")


def test_simulate_refuses_a_data_frame_instead_of_a_stream():
    with pytest.raises(StreamError, match="a DataFrame instead of a stream"):
        ck.simulate(pd.DataFrame(), EXAMPLE)


def test_an_empty_stream_has_one_step():
    frame = pd.DataFrame({"ts": pd.Series([], dtype=float), "type": pd.Series([], dtype=str)})
    events = ck.events(frame, time="ts", type="type", unit="s")
    trace = ck.simulate(events, "PATTERN SEQ(a, b)", "tree-nfa")
    assert (len(trace), trace.final, len(trace.matches)) == (1, True, 0)


def test_constant_false_condition_has_no_matches():
    assert not run("a b", "PATTERN SEQ(a, b) WHERE 1 > 2", "eager-nfa").matches


def test_a_user_function_is_called_event_by_event():
    ck.register_function("twice", lambda x: 2 * x)
    trace = run("a1 b2 b3", "PATTERN SEQ(a, b) WHERE twice(a.p) = b.p", "eager-nfa")
    assert named(trace) == {(("a", 0), ("b", 1))}


def test_times_compare_with_texts():
    frame = pd.DataFrame(
        {"ts": pd.to_datetime(["2024-01-01", "2024-01-02"]), "type": ["a", "a"]}
    ).assign(due=lambda f: f.ts)
    events = ck.events(frame, time="ts", type="type")
    trace = ck.simulate(events, "PATTERN SEQ(a) WHERE a.due > '2024-01-01 12:00'", "eager-nfa")
    assert named(trace) == {(("a", 1),)}
    assert trace.events.attributes["due"][0] == "2024-01-01T00:00:00+00:00"


def test_branches_that_find_the_same_match_find_it_once():
    trace = run("a", "PATTERN AND(a, OR(NOT(b), NOT(c)))", "eager-nfa")
    assert len(trace.matches) == 1
    assert len(trace.find("discard", reason="duplicate")) == 1
    assert {p.node.branch for p in trace.diagram.nodes} == {0, 1}


def test_a_table_of_arrival_numbers_counts_windows_in_events():
    trace = ck.simulate(
        stream("a b b"), "PATTERN SEQ(a, b) WITHIN 2 EVENTS", "chain-nfa", ["b", "a"]
    )
    assert named(trace) == {(("a", 0), ("b", 1))}


@pytest.mark.parametrize("mechanism", ["chain-nfa", "tree-nfa"])
def test_sets_that_would_never_end_are_refused(mechanism):
    plan = ["c", "b"] if mechanism == "chain-nfa" else None
    with pytest.raises(LimitError, match="'b' has more than 30 candidates"):
        run("b " * 1_000 + "c", "PATTERN SEQ(KL(b), c)", mechanism, plan)
    assert run("b " * 100 + "c", "PATTERN SEQ(KL(b){1,2}, c)", mechanism, plan, max_steps=1)


def test_more_partial_matches_than_memory_holds_are_refused(monkeypatch):
    monkeypatch.setattr(journal, "MOST_INSTANCES", 1_000)
    for mechanism in ("eager-nfa", "evaluation-tree"):
        with pytest.raises(LimitError, match="more than 1,000 partial matches"):
            run("b " * 30, "PATTERN KL(b)", mechanism, max_steps=1)


MECHANISMS = ("eager-nfa", "chain-nfa", "tree-nfa", "evaluation-tree")


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    ("letters", "pattern"),
    [
        ("a " + "b " * 29 + "c", "PATTERN SEQ(a, KL(b), c)"),
        ("a b c " * 400, "PATTERN SEQ(a, b, c)"),
        ("a b c " * 400, "PATTERN SEQ(a, b, NOT(a x), c) WHERE x.p > a.p + c.p"),
        ("a b c d e f g h " * 20, "PATTERN AND(a, b, c, d, e, f, g, h)"),
    ],
)
def test_a_run_without_an_end_is_refused_with_the_events_that_fit(mechanism, letters, pattern):
    with pytest.raises(LimitError, match="max_work=None runs to the end") as refused:
        run(letters, pattern, mechanism, max_work=100_000)
    at, of = re.search(r"at event (\d+) of ([\d,]+):", str(refused.value)).groups()
    assert int(of.replace(",", "")) == len(letters.split())
    trace = run(letters, pattern, mechanism, limit=int(at) - 1, max_work=100_000)
    assert trace.totals.events == int(at) - 1


def test_a_long_stream_is_no_reason_to_refuse():
    letters = "a b c " * 1_000
    trace = run(letters, "PATTERN SEQ(a, b, c) WITHIN 3 seconds", "chain-nfa", max_work=1)
    assert trace.totals.events == 3_000


def test_without_a_bound_a_run_goes_to_its_end():
    letters = "a " + "b " * 12 + "c"
    with pytest.raises(LimitError):
        run(letters, "PATTERN SEQ(a, KL(b), c)", "eager-nfa", max_work=1_000)
    trace = run(letters, "PATTERN SEQ(a, KL(b), c)", "eager-nfa", max_work=None)
    assert trace.totals.counts.matches == 2**12 - 1


def test_a_run_that_may_do_nothing_is_refused():
    with pytest.raises(LimitError, match="1 or more, or None"):
        run(LAZY, EXAMPLE, "eager-nfa", max_work=0)


def test_several_patterns_and_plans_that_follow_the_stream_have_the_same_bound():
    letters, pattern = "a b c " * 400, "PATTERN SEQ(a, b, c)"
    with pytest.raises(LimitError, match="at event"):
        run(letters, [pattern, "PATTERN SEQ(a, b)"], "chain-nfa", max_work=100_000)
    with pytest.raises(LimitError, match="at event"):
        run(letters, pattern, "chain-nfa", adapt="threshold", max_work=100_000)


class TestInterrupted:
    """The user interrupts within the work for some event."""

    @pytest.fixture
    def at_event(self, monkeypatch):
        feed, create = Machine.feed, journal.Journal.create

        def interrupt_at(number):
            def feed_until(machine, event):
                operations = feed(machine, event)
                if event.number == number - 1:
                    monkeypatch.setattr(journal.Journal, "create", interrupt)
                return operations

            def interrupt(*arguments):
                create(*arguments)
                raise KeyboardInterrupt

            monkeypatch.setattr(Machine, "feed", feed_until)

        return interrupt_at

    @pytest.mark.parametrize("mechanism", ["eager-nfa", "evaluation-tree"])
    def test_the_trace_until_then_is_returned(self, at_event, mechanism):
        whole = run(LAZY, "PATTERN SEQ(a, b)", mechanism)
        at_event(3)
        trace = run(LAZY, "PATTERN SEQ(a, b)", mechanism)
        assert (trace.truncated.shown, trace.truncated.of, trace.truncated.ran) == (3, 7, 3)
        assert trace.operations == whole.operations[:3]
        assert trace.totals.counts == trace.counters[-1] == whole.counters[2]
        assert "interrupted after 3 of 7 steps; the totals are of these" in str(trace)
        assert "are kept" not in str(trace)
        assert Trace.from_json(trace.to_json()) == trace

    def test_trace_reports_steps_that_were_not_kept(self, at_event):
        at_event(3)
        trace = run(LAZY, "PATTERN SEQ(a, b)", "eager-nfa", max_steps=2)
        assert "the first 2 of 3 steps are kept; the totals are those of them" in str(trace)
        assert ck.draw(trace) is not None

    def test_several_patterns_have_a_trace_as_well(self, at_event):
        at_event(3)
        trace = run(LAZY, ["PATTERN SEQ(a, b)", "PATTERN SEQ(a, c)"], "chain-nfa")
        assert trace.truncated.ran == 3
