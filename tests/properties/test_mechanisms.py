"""Every mechanism finds exactly the judge's matches for every plan, and its counts are right."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.adaptation import loop
from cepkit.adaptation.loop import Adaptation
from cepkit.automata.generations import simulate_adapted
from cepkit.automata.mechanisms import MECHANISMS, TreeNFA
from cepkit.automata.simulation import simulate
from cepkit.automata.subject import attributes_read
from cepkit.budget import Work
from cepkit.pattern.limits import count_branches
from cepkit.pattern.policies import Strategy, TimeWindow
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import Plan
from cepkit.statistics.measuring.estimate import estimate
from cepkit.statistics.stream_counts import attributes_read as measured_by
from cepkit.stream.stream import events
from cepkit.tracing import MechanismTrace
from cepkit.tracing.operations import Create, Discard, Evaluate, Forget, Match, Store
from tests.properties.test_engine import plans, tree_plans
from tests.strategies import OPERATORS, Case, Operator, as_table, cases

CASES = cases(
    max_variables=4,
    strategies=(Strategy.SKIP_TILL_ANY_MATCH,),
    max_events=24,
    unsorted=True,
    budget=3_000,
    ties=None,
)


OF_SETS: dict[str, Any] = {
    "max_variables": 3,
    "strategies": (Strategy.SKIP_TILL_ANY_MATCH,),
    "max_events": 14,
    "unsorted": True,
    "budget": 3_000,
    "condition_kinds": ("neighbours", "neighbours", "filter", "set", "comparison", "bound"),
}
EVERYTHING: tuple[Operator, ...] = (*OPERATORS, "RUN")
WORDS = (
    cases((*EVERYTHING, "UNTIL"), **OF_SETS)
    | cases((*EVERYTHING, "GREEDY"), **OF_SETS)
    | cases((*EVERYTHING, "GREEDY", "UNTIL", "TOGETHER"), **OF_SETS)
)
"""Runs, GREEDY, UNTIL, conditions between members, and events absent together."""
TOGETHER = cases(
    (*OPERATORS, "TOGETHER"),
    max_variables=3,
    strategies=(Strategy.SKIP_TILL_ANY_MATCH,),
    max_events=24,
    unsorted=True,
    budget=3_000,
    ties=None,
)


EVERY = st.sampled_from([1, 1, 2, 5])
"""Events from one check to the next."""

NEVER = 10**18
"""Later than any event."""


def traced(
    case: Case, name: str, plan: Plan, max_steps: int = 20_000, *, weighed: bool = False
) -> MechanismTrace:
    stream = events(as_table(case.events), time="ts", type="kind", ties=case.ties)
    columns = stream.columns(attributes_read(case.query))
    mechanism = MECHANISMS[name]
    if weighed:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of types that never occur
            mechanism = TreeNFA(estimate(stream.columns(measured_by(case.query)), case.query))
    return simulate(mechanism, columns, case.query, plan, max_steps, Work())


def matches_of(trace: MechanismTrace) -> list[Any]:
    """Return the matches in the judge's form."""
    ids = trace.events.id
    return [
        frozenset(
            (v, tuple(sorted(ids[i] for i in e)) if isinstance(e, tuple) else ids[e])
            for v, e in match.events.items()
        )
        for match in trace.matches
    ]


def followed(name: str, case: Case) -> st.SearchStrategy[Plan]:
    """Draw a plan that the mechanism follows."""
    match MECHANISMS[name].follows:
        case "nothing":
            return st.just(as_plan(None, case.query))
        case "an order":
            return plans(case)
        case "a tree":
            return plans(case) | tree_plans(case)


each_kind = pytest.mark.parametrize(
    "drawn", [CASES, WORDS, TOGETHER], ids=["sets", "words", "together"]
)


@each_kind
@pytest.mark.parametrize("name", MECHANISMS)
@given(data=st.data())
def test_mechanism_finds_each_match_of_the_judge_once(
    name: str, drawn: st.SearchStrategy[Case], data: st.DataObject
) -> None:
    case = data.draw(drawn)
    weighed = name == "tree-nfa" and data.draw(st.booleans())
    trace = traced(case, name, data.draw(followed(name, case)), weighed=weighed)
    assert sorted(matches_of(trace), key=repr) == sorted(case.matches, key=repr)
    assert MechanismTrace.from_json(trace.to_json()) == trace


@each_kind
@pytest.mark.parametrize("name", MECHANISMS)
@given(data=st.data())
def test_the_operations_account_for_the_counters(
    name: str, drawn: st.SearchStrategy[Case], data: st.DataObject
) -> None:
    """Check that the operations, played from the beginning, give the counters of each step."""
    case = data.draw(drawn)
    trace = traced(case, name, data.draw(followed(name, case)))
    alive: dict[int, int] = {}
    stored: Counter[tuple[int, str]] = Counter()
    seen: set[Any] = set()
    evaluations = matches = 0
    for step, counts in zip(trace.steps, trace.counters, strict=True):
        for operation in step.operations:
            match operation:
                case Create(instance, parents, _, _, event):
                    assert instance not in alive
                    events_bound = [alive[parent] for parent in parents]
                    events_bound += [] if event is None else [trace.events.time[event]]
                    alive[instance] = min(events_bound, default=NEVER)
                case Discard(instance):
                    del alive[instance]
                case Evaluate(instance, edge, event, checked, held, other):
                    assert instance in alive
                    assert held == all(one.held for one in checked)
                    offer = (instance, edge, event, other)
                    assert offer not in seen, "offered twice"
                    seen.add(offer)
                    evaluations += 1
                case Store(event, variable):
                    stored[event, variable] += 1
                case Forget(event, variable):
                    stored[event, variable] -= 1
                case Match(instance, number):
                    assert instance in alive
                    assert number == matches
                    matches += 1
        # Each branch has a buffer of its own.
        assert set(stored.values()) <= set(range(count_branches(case.query.structure) + 1))
        assert counts.instances == len(alive)
        assert counts.stored == sum(stored.values())
        assert (counts.evaluations, counts.matches) == (evaluations, matches)
        if isinstance(case.query.window, TimeWindow) and step.event is not None:
            begin = trace.events.time[step.event] - case.query.window.microseconds
            assert min(alive.values(), default=NEVER) >= begin, "an instance outlived its window"
            kept = (trace.events.time[event] for (event, _), there in stored.items() if there)
            assert min(kept, default=NEVER) >= begin, "an event outlived the window"
    if trace.truncated is None:
        assert not alive
        assert not any(stored.values())


@pytest.mark.parametrize("name", MECHANISMS)
@given(data=st.data())
def test_totals_do_not_depend_on_the_number_of_steps_kept(name: str, data: st.DataObject) -> None:
    case = data.draw(CASES)
    plan = data.draw(followed(name, case))
    whole = traced(case, name, plan)
    part = traced(case, name, plan, max_steps=3)
    assert part.totals == whole.totals
    assert part.steps == whole.steps[: len(part)]
    assert part.counters == whole.counters[: len(part)]
    assert len(part) == min(3, len(whole)) or len(whole) == 4


class Whenever:
    """A decision function with drawn decisions."""

    name = "whenever"

    def __init__(self, fires: list[bool]) -> None:
        self._fires = fires

    def fires(self, _plan: Plan, _statistics: Any) -> str | None:
        return "drawn" if self._fires and self._fires.pop() else None


class InTurn:
    """A planner that returns drawn plans in turn."""

    name = "in-turn"

    def __init__(self, chosen: list[Plan], branches: int) -> None:
        self._answers = [plan.branches[i] for plan in chosen for i in range(branches)]

    def plan(self, *_: Any) -> Any:
        answer = self._answers.pop(0)
        self._answers.append(answer)
        return answer


@each_kind
@pytest.mark.parametrize("name", ["chain-nfa", "evaluation-tree"])
@given(data=st.data())
def test_switches_at_any_moment_lose_nothing_and_find_nothing_twice(
    name: str, drawn: st.SearchStrategy[Case], data: st.DataObject
) -> None:
    case = data.draw(drawn)
    chosen = data.draw(st.lists(followed(name, case), min_size=1, max_size=4))
    fires = data.draw(st.lists(st.booleans(), max_size=12))
    stream = events(as_table(case.events), time="ts", type="kind", ties=case.ties)
    columns = stream.columns(attributes_read(case.query))
    adaptation = Adaptation(Whenever([*fires]), InTurn(chosen, len(chosen[0].branches)))
    known = estimate(stream.columns(measured_by(case.query)), case.query)
    with mock.patch.object(loop, "cheaper", return_value=True):
        trace = simulate_adapted(
            MECHANISMS[name], columns, case.query, known, adaptation, every=data.draw(EVERY)
        )
    found = [
        frozenset(
            (v, tuple(sorted(ids[i] for i in e)) if isinstance(e, tuple) else ids[e])
            for v, e in match.events.items()
        )
        for ids in [trace.traces[0].events.id]
        for match in trace.matches
    ]
    assert sorted(found, key=repr) == sorted(case.matches, key=repr)
    assert len({len(one) for one in trace.traces}) == 1
    assert str(trace)
    for one in trace.traces:
        assert MechanismTrace.from_json(one.to_json()) == one
