"""The judge agrees with itself: the matches of one query imply matches of another."""

from __future__ import annotations

import itertools
from dataclasses import replace

from hypothesis import assume, given, reject
from hypothesis import strategies as st

from cepkit.pattern import conditions as c
from cepkit.pattern import nodes
from cepkit.pattern.bounds import bound_of
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import CountWindow, Strategy, TimeWindow
from cepkit.pattern.query import Query
from tests import strategies as draw_from
from tests.judge import BudgetError, Event, judge
from tests.judge_values import known

ANY = (Strategy.SKIP_TILL_ANY_MATCH,)
NEXT = (Strategy.SKIP_TILL_NEXT_MATCH,)
CONTIGUOUS = (Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY)
NO_ABSENCE = ("SEQ", "AND", "OR", "KL")


def cases(**switches):
    """Small cases: these properties need no long streams."""
    return draw_from.cases(**{"max_events": 24, "budget": 5_000, **switches})


def matches_of(events, query):
    """Return the judge's matches, unless they take too long."""
    try:
        return judge(events, query, budget=50_000)
    except BudgetError:
        reject()


def events_in(match):
    return {n for _, bound in match for n in (bound if isinstance(bound, tuple) else (bound,))}


def rebuilt(structure, change):
    """Return `structure` with `change` applied to the items of every operator, from below."""
    match structure:
        case nodes.Seq(items) | nodes.And(items) | nodes.Or(items):
            below = tuple(rebuilt(item, change) for item in items)
            return type(structure)(change(type(structure), below))
        case _:
            return structure


@given(cases(strategies=(*ANY, *CONTIGUOUS)), st.randoms(use_true_random=False))
def test_the_order_of_items_under_and_and_or_does_not_matter(case, random):
    def shuffled(kind, items):
        return items if kind is nodes.Seq else tuple(random.sample(items, len(items)))

    query = replace(case.query, structure=rebuilt(case.query.structure, shuffled))
    assert matches_of(case.events, query) == case.matches


@given(cases(), st.integers(-(10**9), 10**9))
def test_only_differences_of_time_matter(case, shift):
    moved = [replace(event, ts=event.ts + shift) for event in case.events]
    assert matches_of(moved, case.query) == case.matches


@given(cases(operators=NO_ABSENCE, strategies=ANY, windows=("time", "count")))
def test_a_wider_window_only_adds(case):
    match case.query.window:
        case TimeWindow(width):
            windows = [TimeWindow(width - 1), TimeWindow(width, True), TimeWindow(width)]
            windows += [TimeWindow(width + draw_from.UNIT)]
        case CountWindow(width):
            windows = [CountWindow(width, True), CountWindow(width), CountWindow(width + 1)]
    found = [matches_of(case.events, replace(case.query, window=window)) for window in windows]
    for narrow, wide in itertools.pairwise(found):
        assert narrow <= wide


@given(cases(operators=NO_ABSENCE, strategies=(*ANY, *CONTIGUOUS)))
def test_a_condition_only_removes(case):
    parts = c.conjuncts(case.query.where)
    assume(parts)
    for part in parts:
        fewer = c.AllOf(tuple(other for other in parts if other is not part))
        assert case.matches <= matches_of(case.events, replace(case.query, where=fewer))


@given(cases(operators=("OR", "SEQ", "AND", "KL", "NOT"), strategies=(*ANY, *CONTIGUOUS)))
def test_or_is_the_union_of_its_branches(case):
    union = set()
    for branch in normal_form(case.query):
        chosen = set(branch.variables) | {event.variable for event in branch.negated}
        structure = only(case.query.structure, chosen)
        where = c.AllOf(tuple(part for part in branch.conditions if bound_of(part) is None))
        bounds = _bounds_of(case.query, chosen)
        chosen_query = replace(case.query, structure=structure, where=where, bounds=bounds)
        union |= matches_of(case.events, chosen_query)
    assert union == case.matches


def _bounds_of(query, variables):
    return tuple(bound for bound in query.bounds if {bound.first, bound.last} <= {*variables})


def only(structure, variables):
    """Return `structure` without the events of other variables; None if nothing is left."""
    match structure:
        case nodes.Event(variable):
            return structure if variable in variables else None
        case nodes.Not(item) | nodes.Kleene(item):
            return structure if only(item, variables) else None
        case nodes.Seq(items) | nodes.And(items) | nodes.Or(items):
            items_left = tuple(kept for item in items if (kept := only(item, variables)))
            return type(structure)(items_left) if items_left else None


@given(cases(operators=("SEQ", "AND", "NOT", "KL", "TOGETHER"), strategies=ANY))
def test_not_removes_matches_that_its_events_would_extend(case):
    (branch,) = normal_form(case.query)
    positive = set(branch.variables)

    def matches(absent):
        """Return the structure without absent events, or with those of one NOT made positive."""
        variables = positive | absent
        structure = only(positive_only(case.query.structure), variables)
        parts = [
            part
            for part in branch.conditions
            if c.variables_of(part) <= variables and bound_of(part) is None
        ]
        query = Query(structure, c.AllOf(tuple(parts)), case.query.window)
        query = replace(query, bounds=_bounds_of(case.query, variables))
        found = matches_of(case.events, replace(query, partition_by=case.query.partition_by))
        return {frozenset(pair for pair in match if pair[0] in positive) for match in found}

    expected = matches(set())
    for events in branch.absences:
        expected -= matches({event.variable for event in events})
    assert case.matches == expected


def positive_only(structure):
    match structure:
        case nodes.Not(item):
            return item
        case nodes.Seq(items) | nodes.And(items):
            return type(structure)(tuple(map(positive_only, items)))
        case _:
            return structure


@given(cases(operators=("SEQ", "AND", "KL"), strategies=ANY, condition_kinds=("comparison",)))
def test_parts_of_a_kleene_set_match_too(case):
    (branch,) = normal_form(case.query)
    least = {name: minimum for name, minimum, _ in branch.repeated}
    for match in case.matches:
        for variable, bound in match:
            if isinstance(bound, tuple) and len(bound) > least[variable]:
                smaller = (match - {(variable, bound)}) | {(variable, bound[1:])}
                assert smaller in case.matches


@given(cases(operators=("SEQ", "AND", "OR", "NOT")))
def test_kleene_of_one_is_the_event(case):
    def wrapped(structure):
        match structure:
            case nodes.Event():
                return nodes.Kleene(structure, 1, 1)
            case nodes.Seq(items) | nodes.And(items) | nodes.Or(items):
                return type(structure)(tuple(map(wrapped, items)))
            case _:
                return structure

    found = matches_of(case.events, replace(case.query, structure=wrapped(case.query.structure)))
    unwrapped = {frozenset((variable, one) for variable, (one,) in match) for match in found}
    assert unwrapped == case.matches


@given(cases(strategies=CONTIGUOUS))
def test_contiguity_chooses_from_all_matches(case):
    assert case.matches <= matches_of(case.events, replace(case.query, strategy=ANY[0]))


@given(cases(strategies=NEXT))
def test_next_match_uses_an_event_once_and_leaves_no_match_untouched(case):
    everything = matches_of(case.events, replace(case.query, strategy=ANY[0]))
    assert case.matches <= everything
    used = [n for match in case.matches for n in events_in(match)]
    assert len(used) == len(set(used))
    assert all(not events_in(match).isdisjoint(used) for match in everything)


@given(cases(unsorted=True))
def test_matches_of_a_partition_equal_those_of_its_events_alone(case):
    query = case.query
    assume(query.partition_by and query.strategy is not Strategy.STRICT_CONTIGUITY)
    parts = {}
    for event in sorted(case.events, key=lambda event: event.arrival):
        key = tuple(known(event.attributes[name]) for name in query.partition_by)
        parts.setdefault(key, []).append(event)
    strategy = query.strategy
    if strategy is Strategy.PARTITION_CONTIGUITY:
        strategy = Strategy.STRICT_CONTIGUITY
    alone = replace(query, partition_by=(), strategy=strategy)
    union = set()
    for events in parts.values():
        back = [event.arrival for event in events]
        renumbered = [replace(event, arrival=n) for n, event in enumerate(events)]
        for match in matches_of(renumbered, alone):
            union.add(
                frozenset(
                    (v, tuple(back[n] for n in at) if isinstance(at, tuple) else back[at])
                    for v, at in match
                )
            )
    assert union == case.matches


@given(cases(strategies=(*ANY, *NEXT), windows=("none", "time"), type_sets=False))
def test_events_that_no_variable_takes_do_not_matter(case):
    first = min((event.ts for event in case.events), default=0)
    stranger = Event(first, "stranger", {}, -1)
    assert matches_of([*case.events, stranger], case.query) == case.matches
