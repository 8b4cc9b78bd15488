"""why_not agrees with the judge on matches, on other combinations, and on near misses."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import assume, given
from hypothesis import event as noted
from hypothesis import strategies as st

from cepkit.budget import Work
from cepkit.diagnosis import forgiven, funnel
from cepkit.diagnosis.counting import counts_by_engine
from cepkit.diagnosis.event_table import EventTable
from cepkit.diagnosis.findings import Inspector
from cepkit.diagnosis.forgiven import can_be_forgiven, nearest_by_engine
from cepkit.diagnosis.funnel import branch_funnel
from cepkit.diagnosis.measures import Measures
from cepkit.diagnosis.nearest import nearest_and_alone
from cepkit.diagnosis.search import Search
from cepkit.diagnosis.sets import demands_of
from cepkit.diagnosis.why_not import why_not
from cepkit.pattern import conditions as c
from cepkit.pattern import nodes
from cepkit.pattern.bounds import bound_of
from cepkit.pattern.normal_form import Branch, normal_form, runs_as_absences
from cepkit.pattern.policies import CountWindow, Strategy, TimeWindow
from cepkit.pattern.query import Query
from cepkit.pattern.requirements import (
    Absent,
    Before,
    Distinct,
    Holds,
    Requirement,
    SamePartition,
    SideBySide,
    Size,
    Unconsumed,
    Within,
)
from cepkit.plan.checks import as_plan
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.stream import events
from cepkit.threads import VARIABLE, limited_to
from tests import judge as judging
from tests.strategies import Case, ConditionKind, Operator, as_table, cases

NOT_OF_SETS: tuple[ConditionKind, ...] = tuple(k for k in get_args(ConditionKind) if k != "set")
TOGETHER: tuple[Operator, ...] = ("SEQ", "AND", "NOT", "TOGETHER")
ANY = cases(unsorted=True, max_events=24, ties=None) | cases(
    (*TOGETHER, "OR", "KL"), 4, unsorted=True, max_events=24
)
SINGLE = cases(
    ("SEQ", "AND", "NOT"), unsorted=True, max_events=24, condition_kinds=NOT_OF_SETS, ties=None
) | cases(TOGETHER, 4, unsorted=True, max_events=24, condition_kinds=NOT_OF_SETS)
WORDS: tuple[Operator, ...] = ("SEQ", "AND", "NOT", "KL", "FIRST", "NEXT", "RUN", "UNTIL", "GREEDY")
OF_SETS: dict[str, Any] = {
    "max_variables": 3,
    "unsorted": True,
    "max_events": 14,
    "budget": 5_000,
    "condition_kinds": ("neighbours", "neighbours", "filter", "set", "comparison", "bound"),
}
"""Runs, GREEDY, UNTIL and conditions between members."""
SETS = cases(
    WORDS,
    **OF_SETS,
    strategies=tuple(s for s in Strategy if s is not Strategy.SKIP_TILL_NEXT_MATCH),
)
NEXT_SETS = cases(WORDS, **OF_SETS, strategies=(Strategy.SKIP_TILL_NEXT_MATCH,))
ANY_SETS = cases((*WORDS, "OR", "OPT"), **OF_SETS)
GROUPS = cases(
    ("SEQ", "AND", "OR", "NOT", "FIRST", "OPT", "KL", "GROUP"),
    max_variables=3,
    unsorted=True,
    max_events=14,
    budget=5_000,
    condition_kinds=(*get_args(ConditionKind), "neighbours"),
)
NEAR = cases(
    ("SEQ", "AND", "NOT"),
    max_variables=4,
    strategies=tuple(s for s in Strategy if s is not Strategy.SKIP_TILL_NEXT_MATCH),
    unsorted=True,
    max_events=16,
    condition_kinds=NOT_OF_SETS,
    ties=None,
)
TIMED = cases(
    ("SEQ", "AND", "NOT", "FIRST", "KL", "TOGETHER"),
    max_variables=4,
    strategies=(Strategy.SKIP_TILL_ANY_MATCH,),
    windows=("time", "time-exclusive"),
    unsorted=True,
    max_events=16,
    budget=5_000,
    ties=None,
)


def asked(case: Case, named: dict[str, Any], **options: Any) -> Any:
    stream = events(as_table(case.events), time="ts", type="kind", ties=case.ties)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = as_plan(None, case.query)
        return why_not(stream, case.query, named, plan=plan, id="id", **options)


def refused(case: Case) -> bool:
    """Return whether a run is in a window of events that arrive out of time order."""
    times = [event.ts for event in sorted(case.events, key=lambda event: event.arrival)]
    in_events = isinstance(case.query.window, CountWindow) or "contig" in case.query.strategy
    runs = any(branch.runs for branch in normal_form(case.query))
    return runs and in_events and times != sorted(times)


def identity_of(events: Any) -> Any:
    """Return the events of an answer in the judge's form, all sets as tuples."""
    members: dict[str, list[Any]] = {}
    for event in events:
        members.setdefault(event.variable.partition("[")[0], []).append(event.id)
    return frozenset((v, tuple(sorted(ids))) for v, ids in members.items())


def as_sets(match: Any) -> Any:
    """Return a match of the judge with all events in tuples."""
    return frozenset((v, e if isinstance(e, tuple) else (e,)) for v, e in match)


each_kind = pytest.mark.parametrize("drawn", [ANY, ANY_SETS, GROUPS], ids=["any", "sets", "groups"])


@each_kind
@given(data=st.data())
def test_a_match_of_the_judge_is_found_and_fulfils_everything(
    drawn: st.SearchStrategy[Case], data: st.DataObject
) -> None:
    case = data.draw(drawn.filter(lambda case: case.matches))
    match = data.draw(st.sampled_from(sorted(case.matches, key=repr)))
    why = asked(case, {v: list(e) if isinstance(e, tuple) else e for v, e in match})
    assert why.found
    assert all(f.holds for f in why.requirements)
    assert len(why.near_misses) == 0


@given(data=st.data())
def test_part_of_a_match_is_completed(data: st.DataObject) -> None:
    case = data.draw(SINGLE.filter(lambda case: case.matches))
    match = dict(data.draw(st.sampled_from(sorted(case.matches, key=repr))))
    kept = data.draw(st.sets(st.sampled_from(sorted(match)), min_size=1))
    why = asked(case, {v: match[v] for v in kept})
    assert why.found
    assert frozenset((s.variable, s.id) for s in why.events) in case.matches


@given(data=st.data())
def test_part_of_a_match_with_sets_is_completed(data: st.DataObject) -> None:
    case = data.draw(SETS.filter(lambda case: case.matches))
    assume(not refused(case))
    match = dict(data.draw(st.sampled_from(sorted(case.matches, key=repr))))
    kept = data.draw(st.sets(st.sampled_from(sorted(match)), min_size=1))
    why = asked(case, {v: list(e) if isinstance(e := match[v], tuple) else e for v in kept})
    assert why.found
    assert identity_of(why.events) in set(map(as_sets, case.matches))


@given(data=st.data())
def test_why_not_knows_whether_a_member_is_part_of_a_match(data: st.DataObject) -> None:
    case = data.draw(SETS | NEXT_SETS)
    assume(case.events and not refused(case))
    (branch,) = normal_form(case.query)
    event = data.draw(st.sampled_from(branch.positive))
    fitting = [e.arrival for e in case.events if not event.types or e.type in event.types]
    assume(fitting)
    named = data.draw(st.sampled_from(fitting))
    repeated = {name for name, _, _ in branch.repeated}
    why = asked(case, {event.variable: named})
    own = (named,) if event.variable in repeated else named
    assert why.found == any((event.variable, own) in match for match in case.matches)


@each_kind
@given(data=st.data())
def test_combination_that_is_no_match_fails_a_requirement(
    drawn: st.SearchStrategy[Case], data: st.DataObject
) -> None:
    case = data.draw(drawn)
    assume(case.events)
    branch = data.draw(st.sampled_from(normal_form(case.query)))
    repeated = {name for name, _, _ in branch.repeated}
    groups = [group.within(branch.variables) for group in case.query.groups]
    most = {names[0]: (v, len(names)) for one in groups for v, names in one.items()}
    further = {name for one in groups for names in one.values() for name in names[1:]}
    named: dict[str, Any] = {}
    for event in branch.positive:
        fitting = [e.arrival for e in case.events if not event.types or e.type in event.types]
        some = st.sampled_from(fitting or [e.arrival for e in case.events])
        variable, size = most.get(event.variable, (event.variable, 0))
        if event.variable in further:
            continue
        if size:
            some = st.lists(some, min_size=1, max_size=size, unique=True)
        elif event.variable in repeated:
            some = st.lists(some, min_size=1, max_size=3, unique=True)
        named[variable] = data.draw(some)
    identity = frozenset(
        (v, tuple(sorted(e)) if isinstance(e, list) else e) for v, e in named.items()
    )
    why = asked(case, named)
    # With OPT they may be part of a match that has more, and so with groups.
    assert why.found == any(
        identity <= match or _is_part(identity, dict(match), most) for match in case.matches
    )
    failing = any(f.holds is False for f in why.requirements)
    # Of groups some repetitions may have no events to complete them.
    assert failing != why.found or (groups and not why.found)


def _is_part(identity: Any, match: dict[str, Any], groups: Mapping[str, Any]) -> bool:
    """Return whether named events are part of a match that may repeat groups more often."""
    of_groups = {variable for variable, _ in groups.values()}
    return all(
        set(events) <= set(match.get(v, ())) if v in of_groups else match.get(v) == events
        for v, events in identity
    )


@given(data=st.data())
def test_why_not_without_names_knows_whether_there_are_matches(data: st.DataObject) -> None:
    case = data.draw(SINGLE)
    why = asked(case, {}, limit=3)
    assert why.found == bool(case.matches)
    left = [row for row in why.funnel if row.branch == 1][-1].after
    if case.query.strategy is not Strategy.SKIP_TILL_NEXT_MATCH:
        assert left == len(case.matches)


@given(data=st.data())
def test_the_funnel_counts_choices_of_single_events_that_have_sets(data: st.DataObject) -> None:
    case = data.draw(SETS)
    assume(not refused(case))
    why = asked(case, {}, limit=3)
    assert why.found == bool(case.matches)
    (branch,) = normal_form(case.query)
    repeated = [name for name, _, _ in branch.repeated]
    times = {event.arrival: (event.ts, event.arrival) for event in case.events}
    matches = [dict(match) for match in case.matches]
    chosen: set[Any] = {
        tuple(sorted((v, e) for v, e in match.items() if v not in repeated)) for match in matches
    }
    if len(repeated) == len(branch.variables) == 1:
        chosen = {min(match[repeated[0]], key=lambda e: times[e]) for match in matches}
    rows = list(why.funnel)
    if len(repeated) < len(branch.variables) or len(repeated) == 1:
        assert rows[-1].after == len(chosen)
    # The engine begins with what the search of single events has left.
    at = next((i for i, r in enumerate(rows) if r.kind in ("run", "greedy", "until", "size")), 0)
    assert not at or rows[at].before == rows[at - 1].after


def without(requirement: Requirement, case: Case, patch: pytest.MonkeyPatch) -> set[Any]:
    """Return the judge's matches without one requirement about sets."""
    judged = judging._Branch
    match requirement:
        case Size(variable):
            structure = _unbounded(case.query.structure, variable)
            return judging.judge(case.events, replace(case.query, structure=structure))
        case Absent(kind):
            if kind.beside is None:
                patch.setattr(judged, "_broken", lambda self, leaf, binding: False)
                patch.setattr(judged, "_is_first", lambda self, leaf, binding: True)
            elif kind.beside.place == "until":
                patch.setattr(judged, "_ends_before", lambda self, leaf, binding: False)
            else:
                patch.setattr(judged, "_could_go_on", lambda self, leaf, binding: False)
            if kind.beside is not None and kind.beside.place == "between":
                patch.setattr(judged, "_is_run", lambda self, leaf, binding: True)
            return judging.judge(case.events, case.query)
        case _:
            raise AssertionError(requirement)


def _unbounded(node: Any, variable: str) -> Any:
    """Return a structure with sets of a variable of any size."""
    match node:
        case nodes.Kleene(item) if nodes.events_of(item)[0].variable == variable:
            return replace(node, minimum=1, maximum=None)
        case nodes.Seq(items) | nodes.And(items):
            return replace(node, items=tuple(_unbounded(item, variable) for item in items))
        case nodes.First(item) | nodes.Next(item):
            return replace(node, item=_unbounded(item, variable))
        case _:
            return node


@given(data=st.data())
def test_near_miss_with_sets_matches_without_the_violated_requirement(data: st.DataObject) -> None:
    case = data.draw(SETS)
    assume(not refused(case))
    for miss in asked(case, {}, limit=10).near_misses:
        identity = identity_of(miss.events)
        assert identity not in set(map(as_sets, case.matches))
        if len(miss.violated) != 1 or not isinstance(
            requirement := miss.violated[0].requirement, Size | Absent
        ):
            continue
        # A greedy set that is full may have more events behind it, and none where it has no end.
        greedy = any(e.beside and e.beside.maximum for e in normal_form(case.query)[0].negated)
        if isinstance(requirement, Size) and greedy:
            continue
        with pytest.MonkeyPatch.context() as patch:
            found = without(requirement, case, patch)
        assert identity in set(map(as_sets, found))


def relaxed(case: Case, requirement: Requirement, span: int, patch: pytest.MonkeyPatch) -> set[Any]:
    """Return the judge's matches without one requirement."""
    query = case.query
    names = ("structure", "where", "window", "strategy", "partition_by", "bounds")
    parts = {name: getattr(query, name) for name in names}
    absent = judging._Branch._broken
    match requirement:
        case Holds(condition) if (bound := bound_of(condition)) is not None:
            ends = {bound.first, bound.last}
            parts["bounds"] = tuple(
                b for b in query.bounds if (b.window, {b.first, b.last}) != (bound.window, ends)
            )
        case Holds(condition):
            left = tuple(p for p in c.conjuncts(query.where) if p != condition)
            parts["where"] = c.AllOf(left) if len(left) > 1 else left[0] if left else None
        case Within(TimeWindow()):
            parts["window"] = TimeWindow(span)
        case SamePartition():
            patch.setattr(judging, "_partition", lambda event, query: ())
        case Before(first, second):
            precedes = judging._precedes
            patch.setattr(
                judging,
                "_precedes",
                lambda x, y: (x.variable, y.variable) != (first, second) and precedes(x, y),
            )
        case Absent(event):
            patch.setattr(
                judging._Branch,
                "_broken",
                lambda self, leaves, binding: (
                    event.variable not in {leaf.variable for leaf in leaves}
                    and absent(self, leaves, binding)
                ),
            )
        case SideBySide():
            parts["strategy"] = Strategy.SKIP_TILL_ANY_MATCH
        case _:
            raise AssertionError(requirement)
    return judging.judge(case.events, Query(**parts), ties=case.ties)


@given(data=st.data())
def test_near_miss_matches_without_the_violated_requirement(data: st.DataObject) -> None:
    case = data.draw(NEAR)
    why = asked(case, {}, limit=4)
    ts = {event.arrival: event.ts for event in case.events}
    for miss in why.near_misses:
        (finding,) = miss.violated
        identity = frozenset((s.variable, s.id) for s in miss.events)
        assert identity not in case.matches
        requirement = finding.requirement
        if isinstance(requirement, Distinct) or (
            isinstance(requirement, Within) and not isinstance(requirement.window, TimeWindow)
        ):
            continue
        # What counts, or must be absent, inside of a partition means something else without it.
        if isinstance(requirement, SamePartition) and not (
            case.query.strategy is Strategy.SKIP_TILL_ANY_MATCH
            and isinstance(case.query.window, TimeWindow | None)
            and not any(branch.negated for branch in normal_form(case.query))
        ):
            continue
        times = [ts[s.id] for s in miss.events]
        with pytest.MonkeyPatch.context() as patch:
            found = relaxed(case, requirement, max(times) - min(times), patch)
        assert identity in found


@given(data=st.data())
def test_no_combination_is_nearer_than_the_nearest(data: st.DataObject) -> None:
    case = data.draw(NEAR)
    branch: Branch = normal_form(case.query)[0]
    assume(branch.variables)
    assume(not any(isinstance(e.types, frozenset) and not e.types for e in branch.positive))
    why = asked(case, {}, limit=1)
    chosen = {}
    for event in branch.positive:
        fitting = [e.arrival for e in case.events if not event.types or e.type in event.types]
        assume(fitting)
        chosen[event.variable] = data.draw(st.sampled_from(fitting))
    verdict = asked(case, chosen)
    failing = [f for f in verdict.requirements if f.holds is False]
    if len(failing) == 1 and isinstance(failing[0].requirement, SamePartition):
        # Where places inside of a partition count, it is not given up.
        assume("partition" not in case.query.strategy)
        assume(isinstance(case.query.window, TimeWindow | None))
    if any(isinstance(f.requirement, Distinct) for f in failing):
        return
    # Twice no time at all is none.
    assume(case.query.window not in (TimeWindow(0), TimeWindow(0, exclusive=True)))
    if len(failing) != 1 or (
        isinstance(failing[0].requirement, Within | SideBySide)
        and (failing[0].by > 1 if failing[0].unit == "events" else failing[0].relative > 0.9)
    ):
        return
    assert len(why.near_misses) == 1
    assert why.near_misses.rows[0].relative <= failing[0].relative + 1e-9


@given(data=st.data())
def test_the_engine_finds_the_near_misses_of_the_search_with_any_number_of_threads(
    data: st.DataObject,
) -> None:
    case = data.draw(TIMED)
    (branch,) = normal_form(case.query)
    assume(can_be_forgiven(branch))
    columns = events(as_table(case.events), time="ts", type="kind", ties=case.ties).columns(
        attributes_read(case.query)
    )
    measures = Measures(EventTable.of(columns, case.query), branch)
    ignored = frozenset((*demands_of(branch), Unconsumed()))
    most = data.draw(st.sampled_from([1, 3, 50]))
    budget = data.draw(st.sampled_from([10, 300, 1 << 40]))

    def by_engine(threads: int) -> Any:
        with limited_to(threads):
            return nearest_by_engine(measures, branch.variables, most, budget, ignored)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "4")
        patch.setattr(forgiven, "_FIRST_ROWS", data.draw(st.sampled_from([1, 3, 64])))
        patch.setattr(forgiven, "_SLICES", data.draw(st.sampled_from([2, 5])))
        found, alone, cut = by_engine(1)
        assert by_engine(data.draw(st.sampled_from([2, 4]))) == (found, alone, cut)
    if cut:
        return
    assert by_engine(1) == (found, alone, cut)
    search = Search(measures, branch.variables, Work(), 1, ignored=ignored)
    expected, _, counts = nearest_and_alone(search, most)
    assert counts is not None
    assert alone == {r: counts[r] for r in alone}
    assert {r for r in counts if isinstance(r, Holds | Absent)} == alone.keys()
    inspector = Inspector(measures, str)

    def sizes(combinations: Any) -> list[float]:
        single = [{v: (e,) for v, e in one.items()} for one in combinations]
        each = [[f for f in inspector.findings(one) if f.holds is False] for one in single]
        return sorted(sum(f.relative for f in findings) for findings in each)

    assert sizes(found) == pytest.approx(sizes(expected))


@given(data=st.data())
def test_the_engine_counts_the_funnel_of_the_search_with_any_number_of_threads(
    data: st.DataObject,
) -> None:
    case = data.draw(TIMED | SETS)
    columns = events(as_table(case.events), time="ts", type="kind", ties=case.ties).columns(
        attributes_read(case.query)
    )
    branch = runs_as_absences(data.draw(st.sampled_from(normal_form(case.query))))
    measures = Measures(EventTable.of(columns, case.query), branch)
    order = data.draw(st.permutations(branch.variables))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(funnel, "counts_by_engine", lambda *_: None)
        expected = branch_funnel(measures, 1, order, Work())
    by_engine = []
    with pytest.MonkeyPatch.context() as patch:

        def counts(*arguments: Any) -> Any:
            by_engine.append(counts_by_engine(*arguments))
            return by_engine[-1]

        patch.setattr(funnel, "counts_by_engine", counts)
        patch.setenv(VARIABLE, "4")
        patch.setattr(forgiven, "_FIRST_ROWS", data.draw(st.sampled_from([1, 3, 64])))
        patch.setattr(forgiven, "_SLICE", data.draw(st.sampled_from([1, 1 << 20])))
        with limited_to(data.draw(st.sampled_from([1, 2, 4]))):
            assert branch_funnel(measures, 1, order, Work()) == expected
    noted(f"by engine: {by_engine[0] is not None}, sets: {bool(branch.repeated)}")
