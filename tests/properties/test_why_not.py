"""What why_not says of matches, of what is none, and of near misses is what the judge says."""

from __future__ import annotations

import warnings
from typing import Any, get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cepkit.diagnosis.requirements import (
    Absent,
    Before,
    Distinct,
    Holds,
    Requirement,
    SamePartition,
    SideBySide,
    Within,
)
from cepkit.diagnosis.why_not import why_not
from cepkit.pattern import conditions as c
from cepkit.pattern.bounds import bound_of
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.policies import Strategy, TimeWindow
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.stream.stream import events
from tests import judge as judging
from tests.strategies import Case, ConditionKind, as_table, cases

NOT_OF_SETS: tuple[ConditionKind, ...] = tuple(k for k in get_args(ConditionKind) if k != "set")
ANY = cases(unsorted=True, max_events=24, ties=None)
SINGLE = cases(
    ("SEQ", "AND", "NOT"), unsorted=True, max_events=24, condition_kinds=NOT_OF_SETS, ties=None
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


def asked(case: Case, named: dict[str, Any], **options: Any) -> Any:
    stream = events(as_table(case.events), time="ts", type="kind", ties=case.ties)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = as_plan(None, case.query)
        return why_not(stream, case.query, named, plan=plan, id="id", **options)


def undecidable(query: Query) -> bool:
    """Whether sets are taken one after the other: that is not followed."""
    repeated = any(branch.repeated for branch in normal_form(query))
    return query.strategy is Strategy.SKIP_TILL_NEXT_MATCH and repeated


@given(data=st.data())
def test_a_match_of_the_judge_is_found_and_fulfils_everything(data: st.DataObject) -> None:
    case = data.draw(ANY.filter(lambda case: case.matches))
    match = data.draw(st.sampled_from(sorted(case.matches, key=repr)))
    why = asked(case, {v: list(e) if isinstance(e, tuple) else e for v, e in match})
    assert why.found or (why.found is None and undecidable(case.query))
    assert all(f.holds or f.holds is None for f in why.requirements)
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
def test_what_is_no_match_fails_in_something(data: st.DataObject) -> None:
    case = data.draw(ANY)
    assume(case.events)
    branch = data.draw(st.sampled_from(normal_form(case.query)))
    repeated = {name for name, _, _ in branch.repeated}
    named: dict[str, Any] = {}
    for event in branch.positive:
        fitting = [e.arrival for e in case.events if not event.types or e.type in event.types]
        some = st.sampled_from(fitting or [e.arrival for e in case.events])
        if event.variable in repeated:
            some = st.lists(some, min_size=1, max_size=3, unique=True)
        named[event.variable] = data.draw(some)
    identity = frozenset(
        (v, tuple(sorted(e)) if isinstance(e, list) else e) for v, e in named.items()
    )
    why = asked(case, named)
    if undecidable(case.query) and why.found is None:
        return
    assert why.found == (identity in case.matches)
    assert any(f.holds is False for f in why.requirements) != why.found


@given(data=st.data())
def test_without_names_it_knows_whether_there_are_matches(data: st.DataObject) -> None:
    case = data.draw(SINGLE)
    why = asked(case, {}, limit=3)
    assert why.found == bool(case.matches)
    left = [row for row in why.funnel if row.branch == 1][-1].after
    if case.query.strategy is not Strategy.SKIP_TILL_NEXT_MATCH:
        assert left == len(case.matches)


def relaxed(case: Case, requirement: Requirement, span: int, patch: pytest.MonkeyPatch) -> set[Any]:
    """Return what the judge finds without one requirement."""
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
                lambda self, leaf, binding: (
                    leaf.variable != event.variable and absent(self, leaf, binding)
                ),
            )
        case SideBySide():
            parts["strategy"] = Strategy.SKIP_TILL_ANY_MATCH
        case _:
            raise AssertionError(requirement)
    return judging.judge(case.events, Query(**parts), ties=case.ties)


@given(data=st.data())
def test_a_near_miss_is_a_match_without_what_it_violates(data: st.DataObject) -> None:
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
