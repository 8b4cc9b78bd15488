"""Mechanisms that change their plan: which generation owns which match, and the costs."""

import json

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit.adaptation import Adaptation
from cepkit.automata.generations import simulate_adapted
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.automata.subject import attributes_read
from cepkit.errors import LimitError, PlanError, TraceError, UnsupportedError
from cepkit.figures import Player
from cepkit.plan.nodes import OrderPlan
from cepkit.tracing import AdaptedTrace, Trace


class Always:
    """A planner that goes round some orders, each of which is deployed."""

    name = "always"

    def __init__(self, *orders):
        self._orders = [OrderPlan(tuple(order)) for order in orders]

    def plan(self, *_):
        self._orders.append(self._orders.pop(0))
        return self._orders[-1]


@pytest.fixture
def _deployed(monkeypatch):
    monkeypatch.setattr("cepkit.adaptation.loop.cheaper", lambda *_: True)


def adapted(kinds, text, *orders, every=1):
    """Run a chain that takes the next order at each check; one event a second."""
    frame = pd.DataFrame({"ts": range(len(kinds)), "kind": list(kinds)})
    stream = ck.events(frame, time="ts", type="kind", unit="s")
    query = ck.parse(f"PATTERN {text}")
    known = ck.profile(stream, query)
    return simulate_adapted(
        MECHANISMS["chain-nfa"],
        stream.columns(attributes_read(query)),
        query,
        known,
        Adaptation("unconditional", Always(*orders)),
        every=every,
    )


def bound(trace):
    return sorted(tuple(match.events.values()) for match in trace.matches)


@pytest.mark.usefixtures("_deployed")
def test_generation_owns_matches_that_begin_in_its_stretch():
    trace = adapted("AABB", "SEQ(A a, B b) WITHIN 10 s", "ab", "ba", every=2)
    assert trace.switches == 1
    assert [g.begin for g in trace.generations] == [None, 2_000_000]
    assert [g.end for g in trace.generations] == [2_000_000, None]
    assert bound(trace) == [(0, 2), (0, 3), (1, 2), (1, 3)]
    assert [len(g.own) for g in trace.generations] == [4, 0]


@pytest.mark.usefixtures("_deployed")
def test_several_switches_within_a_window():
    trace = adapted("ABABABAB", "SEQ(A a, B b) WITHIN 10 s", "ab", "ba")
    assert trace.switches == 7
    assert len(bound(trace)) == len(set(bound(trace))) == 4 + 3 + 2 + 1
    once = adapted("ABABABAB", "SEQ(A a, B b) WITHIN 10 s", "ab", "ba", every=100)
    assert bound(trace) == bound(once)
    assert trace.evaluations > once.evaluations


@pytest.mark.usefixtures("_deployed")
def test_leading_not_sees_events_before_the_stretch():
    text = "SEQ(NOT(N n), A a, B b) WITHIN 5 s"
    assert bound(adapted("NAB", text, "ab", "ba")) == []
    assert bound(adapted("NXXXXXAB", text, "ab", "ba")) == [(6, 7)]


@pytest.mark.usefixtures("_deployed")
def test_generation_waits_for_the_window_of_a_trailing_not():
    text = "SEQ(A a, B b, NOT(N n)) WITHIN 5 s"
    assert bound(adapted("ABXXXN", text, "ab", "ba")) == []
    assert bound(adapted("ABXXXXN", text, "ab", "ba")) == [(0, 1)]


@pytest.mark.usefixtures("_deployed")
def test_a_generation_is_finished_a_window_after_its_stretch():
    trace = adapted("AB" + "X" * 20, "SEQ(A a, B b) WITHIN 3 s", "ab", "ba", every=2)
    first = trace.generations[0].trace
    assert [step.operations != () for step in first.steps][8:] == [False] * 15


@pytest.mark.usefixtures("_deployed")
def test_events_of_one_time_are_not_parted():
    frame = pd.DataFrame({"ts": [0, 1, 1, 1, 2], "kind": list("AABBB")})
    stream = ck.events(frame, time="ts", type="kind", unit="s")
    query = ck.parse("PATTERN SEQ(A a, B b) WITHIN 5 s")
    trace = simulate_adapted(
        MECHANISMS["chain-nfa"],
        stream.columns([]),
        query,
        ck.profile(stream, query),
        Adaptation("unconditional", Always("ab", "ba")),
        every=1,
    )
    assert [g.begin for g in trace.generations] == [None, 1_000_000, 2_000_000]


def day(n=400):
    rng = np.random.default_rng(0)
    early = rng.choice(list("ABC"), n // 2, p=[0.02, 0.49, 0.49])
    late = rng.choice(list("ABC"), n // 2, p=[0.49, 0.49, 0.02])
    frame = pd.DataFrame({"ts": np.arange(n), "kind": np.concatenate((early, late))})
    return ck.events(frame.assign(x=rng.random(n)), time="ts", type="kind", unit="s")


TEXT = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 15 s"


@pytest.mark.parametrize("mechanism", ["chain-nfa", "evaluation-tree"])
@pytest.mark.parametrize("decision", ["static", "unconditional", "threshold", "invariants"])
def test_simulate_with_adapt_finds_the_matches_of_one_plan(mechanism, decision):
    stream = day()
    plain = ck.simulate(stream, TEXT, mechanism)
    trace = ck.simulate(stream, TEXT, mechanism, adapt=decision)
    assert sorted(m.members for m in trace.matches) == sorted(m.members for m in plain.matches)
    assert (trace.switches > 0) == (decision != "static")
    assert isinstance(ck.draw(trace), Player)
    assert len(trace.to_pandas()) == len(trace.generations)
    assert trace._repr_html_().count("<tr>") == len(trace.generations) + 1


def test_a_switch_says_why():
    trace = ck.simulate(day(), TEXT, adapt="invariants")
    assert all("no longer holds: " in g.why for g in trace.generations[1:])
    assert trace.fires >= trace.switches
    assert trace.checks >= trace.fires


def test_adapted_trace_survives_json(tmp_path):
    trace = ck.simulate(day(), TEXT, adapt="invariants")
    assert len(trace.generations) > 1
    path = tmp_path / "adapted.json"
    assert AdaptedTrace.from_json(trace.to_json(path)) == AdaptedTrace.from_json(path) == trace
    # Each generation has a trace as simulate gives it.
    one = json.loads(trace.to_json())["generations"][1]["trace"]
    assert Trace.from_json(json.dumps(one)) == trace.traces[1]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("generations",), []),
        (("generations", 1, "begin"), 5),
        (("generations", 0, "own"), [10_000]),
        (("generations", 0, "trace", "events", "time"), [0]),
        (("generations", 1, "trace", "pattern"), "PATTERN A a"),
        (("checks",), -1),
        (("schema",), "cepkit.trace/1"),
    ],
    ids=str,
)
def test_from_json_refuses_generations_that_do_not_fit(place, value):
    data = json.loads(ck.simulate(day(), TEXT, adapt="invariants").to_json())
    inner = data
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(TraceError, match="this is not a trace"):
        AdaptedTrace.from_json(json.dumps(data))


def test_adapt_refuses_wrong_mechanisms_plans_and_patterns():
    with pytest.raises(PlanError, match="does not follow a plan"):
        ck.simulate(day(), TEXT, "eager-nfa", adapt="invariants")
    with pytest.raises(PlanError, match="plan= together with adapt="):
        ck.simulate(day(), TEXT, "chain-nfa", ["a", "b", "c"], adapt="invariants")
    with pytest.raises(PlanError, match="there is no decision function"):
        ck.simulate(day(), TEXT, adapt="invariant")
    with pytest.raises(UnsupportedError):
        ck.simulate(day(), f"{TEXT} STRATEGY skip-till-next-match", adapt="invariants")
    with pytest.raises(LimitError, match="20,000"):
        ck.simulate(day(20_000), TEXT, adapt="invariants")


def test_selectivities_are_measured_on_combinations_that_were_tried():
    # The rates stay. First no a is before a b of its value, later no b before a c of its value.
    frame = pd.DataFrame({"ts": range(1_200), "kind": list("ABC") * 400})
    early = frame.ts < 600
    frame["x"] = np.where(early & (frame.kind == "A"), 1, 0) + np.where(
        ~early & (frame.kind == "C"), 1, 0
    )
    stream = ck.events(frame, time="ts", type="kind", unit="s")
    query = ck.parse("PATTERN SEQ(A a, B b, C c) WHERE a.x = b.x AND b.x = c.x WITHIN 9 s")
    adaptation = Adaptation("unconditional", "greedy", history=1)
    trace = ck.simulate(stream, query, "chain-nfa", adapt=adaptation)
    plans = [generation.plan for generation in trace.generations]
    assert {plans[0], plans[-1]} == {plans[0], "c → b → a"}
    assert plans[0] != plans[-1]
    static = ck.simulate(stream, query, "chain-nfa", plan=plans[0].split(" → "))
    assert trace.evaluations < static.totals.counts.evaluations
    assert bound(trace) == sorted(tuple(match.events.values()) for match in static.matches)
