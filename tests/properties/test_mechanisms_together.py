"""Several patterns in one mechanism: each has the judge's matches, for all shared nodes."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.automata.mechanisms import MECHANISMS
from cepkit.automata.mechanisms.contract import Joint
from cepkit.automata.simulation import simulate, simulate_several
from cepkit.automata.subject import attributes_read
from cepkit.budget import Work
from cepkit.errors import PatternError
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.plan.nodes import OrderPlan, Plan, TreePlan
from cepkit.stream.stream import events
from cepkit.tracing import MechanismTrace
from cepkit.tracing.operations import Create, Discard, Evaluate, Forget, Store
from tests.judge import BudgetError, judge
from tests.properties.test_mechanisms import EVERYTHING, OF_SETS
from tests.properties.test_several import extended, related, right_deep
from tests.strategies import FEW, Case, as_table, cases, orders

JOINT = [name for name, one in MECHANISMS.items() if isinstance(one, Joint)]
ANY = (Strategy.SKIP_TILL_ANY_MATCH,)
CASES = cases(max_variables=4, strategies=ANY, max_events=24, unsorted=True, budget=3_000)
WORDS = cases((*EVERYTHING, "TOGETHER"), **OF_SETS) | cases(
    (*EVERYTHING, "GREEDY", "UNTIL"), **OF_SETS
)
SEQUENCES = cases(
    ("SEQ", "NOT", "KL"),
    max_variables=3,
    strategies=ANY,
    windows=("time",),
    partitions=False,
    max_conditions=2,
    type_sets=False,
    max_events=24,
    varying=("k",),
    budget=3_000,
).filter(lambda case: type(case.query.structure).__name__ == "Seq" and bool(case.matches))

Known = dict[str, tuple[Query, Any]]


def drawn(draw: st.DrawFn, case: Case, change: Any) -> Known:
    """Draw queries with parts in common with that of a case, and the judge's matches."""
    known: Known = {"first": (case.query, case.matches)}
    for number in range(draw(st.integers(1, 3))):
        try:
            query = change(draw, case.query)
        except PatternError:  # words that another strategy refuses
            continue
        if query.strategy in ANY:
            try:
                known[f"{number}"] = query, judge(case.events, query, budget=6_000)
            except BudgetError:
                continue
    return known


def plan_of(draw: st.DrawFn, query: Query, follows: str) -> Plan:
    """Draw a plan that a mechanism follows; mostly one that others have as well."""
    chosen: list[OrderPlan | TreePlan] = []
    for branch in normal_form(query):
        order = branch.variables if draw(st.integers(0, 2)) else draw(orders(branch))
        if follows == "a tree" and draw(st.booleans()):
            chosen.append(TreePlan(right_deep(order)))
        else:
            chosen.append(OrderPlan(order))
    return Plan(tuple(chosen), "by hand")


def run(name: str, case: Case, known: Known, plans: list[Plan], pools: Any) -> MechanismTrace:
    """Return the trace of several queries."""
    stream = events(as_table(case.events), time="ts", type="kind")
    read = {a for query, _ in known.values() for a in attributes_read(query)}
    mechanism = MECHANISMS[name]
    assert isinstance(mechanism, Joint)
    queries = {each: query for each, (query, _) in known.items()}
    columns = stream.columns(sorted(read))
    return simulate_several(mechanism, columns, queries, plans, pools, 20_000, Work())


def matches_of(trace: MechanismTrace) -> dict[str, list[Any]]:
    """Return the matches of each pattern in the judge's form."""
    ids = trace.events.id
    matches: defaultdict[str, list[Any]] = defaultdict(list)
    for match in trace.matches:
        matches[match.pattern].append(
            frozenset(
                (v, tuple(sorted(ids[i] for i in e)) if isinstance(e, tuple) else ids[e])
                for v, e in match.events.items()
            )
        )
    return matches


def check_books(trace: MechanismTrace) -> None:
    """Check that the operations give the counters, and that no event is offered twice."""
    alive: set[int] = set()
    stored: Counter[Any] = Counter()
    seen: set[Any] = set()
    for step, counts in zip(trace.steps, trace.counters, strict=True):
        for operation in step.operations:
            match operation:
                case Create(instance, parents):
                    assert {*parents} <= alive
                    alive.add(instance)
                case Discard(instance):
                    alive.remove(instance)
                case Evaluate(instance, edge, event, _, _, other):
                    assert instance in alive
                    assert (instance, edge, event, other) not in seen, "offered twice"
                    seen.add((instance, edge, event, other))
                case Store(event, variable):
                    stored[event, variable] += 1
                case Forget(event, variable):
                    stored[event, variable] -= 1
        assert (counts.instances, counts.stored) == (len(alive), sum(stored.values()))
    assert not alive
    assert not any(stored.values())


@pytest.mark.parametrize(
    ("drawn_from", "change"),
    [(CASES, related), (SEQUENCES, extended), (WORDS, related)],
    ids=["related", "extended", "words"],
)
@pytest.mark.parametrize("name", JOINT)
@given(data=st.data())
def test_each_pattern_has_the_matches_of_the_judge(
    drawn_from: st.SearchStrategy[Case], change: Any, name: str, data: st.DataObject
) -> None:
    case = data.draw(drawn_from)
    known = drawn(data.draw, case, change)
    follows = MECHANISMS[name].follows
    plans = [plan_of(data.draw, query, follows) for query, _ in known.values()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        trace = run(name, case, known, plans, None)
    found = matches_of(trace)
    for pattern, (_, matches) in known.items():
        assert sorted(found[pattern], key=repr) == sorted(matches, key=repr), pattern
        assert trace.totals.by_pattern[pattern] == len(found[pattern])
    check_books(trace)
    assert MechanismTrace.from_json(trace.to_json()) == trace


@pytest.mark.parametrize("name", JOINT)
@FEW
@given(data=st.data())
def test_counts_without_sharing_are_sums_of_single_patterns(name: str, data: st.DataObject) -> None:
    case = data.draw(CASES)
    known = drawn(data.draw, case, related)
    mechanism = MECHANISMS[name]
    plans = [plan_of(data.draw, query, mechanism.follows) for query, _ in known.values()]
    alone = [[-1 - i] * len(plan.branches) for i, plan in enumerate(plans)]
    apart = run(name, case, known, plans, alone).totals.counts
    shared = run(name, case, known, plans, None).totals.counts
    stream = events(as_table(case.events), time="ts", type="kind")
    single = []
    for (query, _), plan in zip(known.values(), plans, strict=True):
        columns = stream.columns(attributes_read(query))
        trace = simulate(mechanism, columns, query, plan, 20_000, Work())
        single.append(trace.totals.counts)
    for counter in ("evaluations", "created", "forgotten", "matches"):
        assert getattr(apart, counter) == sum(getattr(each, counter) for each in single), counter
        assert getattr(shared, counter) <= getattr(apart, counter) or counter == "forgotten"
