"""Answers "why not?" for a local stream, about named events or about any."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np

from cepkit.budget import Work
from cepkit.diagnosis.event_table import EventTable
from cepkit.diagnosis.findings import Binding, Finding
from cepkit.diagnosis.forgiven import can_be_forgiven, nearest_by_engine
from cepkit.diagnosis.funnel import BranchFunnel, FunnelRow, branch_funnel
from cepkit.diagnosis.nearest import nearest_and_alone
from cepkit.diagnosis.placements import Named, placements
from cepkit.diagnosis.question import Naming, Question, check_names, ids
from cepkit.diagnosis.result import AnswerEvent, Funnel, NearMiss, NearMisses, Requirements, WhyNot
from cepkit.diagnosis.search import Search
from cepkit.diagnosis.sets import SetSearch, demands_of
from cepkit.diagnosis.verdict import Completion, Verdict, consumption, verdict_on, with_sets
from cepkit.diagnosis.words import variables_text
from cepkit.errors import PatternError, UnsupportedError
from cepkit.pattern import requirements as req
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.nodes import bound_events_of, together_in
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.columns import Column, EventColumns
from cepkit.stream.reading.ingest import attribute
from cepkit.stream.schema import Schema
from cepkit.stream.stream import Stream
from cepkit.tables import count_text

BUDGET = 40_000_000
"""The most events in combinations that each part of an answer looks at: some seconds."""

_MOST_SETS = 300
"""The most combinations with sets that are measured for each requirement that they may fail in."""


def why_not(
    stream: Stream,
    query: Query,
    events: Mapping[str, Any],
    *,
    plan: Plan,
    id: str | None = None,  # noqa: A002 - as users write it
    violations: int = 1,
    limit: int = 10,
    budget: int = BUDGET,
) -> WhyNot:
    """Return why named events are no match, or why there is none.

    Args:
        stream: A local stream.
        events: For variables the row number or the id of their event; for those under KL one or
            a list.
        plan: The order of the funnel's steps.
        id: The column that events are named by; None: by their row.
        violations: How many requirements a near miss may violate.
        limit: The most near misses.
        budget: The most events in combinations that each part of the answer may look at.

    Raises:
        PatternError: A name is no variable, or a variable has more events than it may.
        StreamError: There is no such event, or more than one.
        UnsupportedError: The pattern has AFTER MATCH SKIP, or a named event is one of several that
            a NOT forbids together.
    """
    if query.after_match is not None:
        raise UnsupportedError(
            "why_not of a pattern with AFTER MATCH SKIP: whether a match is taken depends on all"
            " other matches",
            hint="leave it out, to ask whether the events are a match at all",
        )
    check_names(query, events)
    _refuse_absent_together(query, events)
    attributes = sorted(attributes_read(query) | ({id} if id is not None else set()))
    columns = stream.columns(attributes)
    check_kinds(query, columns.kinds)
    table = EventTable.of(columns, query)
    naming = Naming(columns, id, _id_column(columns, id, stream.schema))
    question = Question(query, table, naming, plan, violations, limit, budget)
    return _about_named(question, events) if events else _about_any(question)


def _refuse_absent_together(query: Query, names: Collection[str]) -> None:
    """Refuse the question whether one event is forbidden, if a NOT forbids it only with others."""
    for together in together_in(query.structure):
        for name in sorted(together.intersection(names)):
            raise UnsupportedError(
                f"whether one event breaks a NOT of several: '{name}'",
                hint="ask about the events of a match: the answer names what breaks the NOT",
            )


def _id_column(columns: EventColumns, id: str | None, schema: Schema) -> Column | None:  # noqa: A002
    """Return the column of ids; the time column as it is in the source, be it a number."""
    if id != schema.time or id is None:
        return None if id is None else columns.attributes[id]
    rows = columns.source_rows(np.arange(len(columns)))
    return attribute(columns.source.column(id), id, schema).take(rows)


def _about_named(question: Question, references: Mapping[str, Any]) -> WhyNot:
    """Return why named events are no match: the verdict of the branch where they come nearest."""
    events: Named = {
        variable: tuple(
            dict.fromkeys(question.naming.event(variable, one) for one in ids(reference))
        )
        for variable, reference in references.items()
    }
    verdicts = []
    groups = question.query.groups
    bound = {event.variable for event in bound_events_of(question.query.structure)}
    for number, branch in enumerate(question.branches):
        placed, complete = placements(groups, branch, events)
        for named in placed:
            forbidden = [e.variable for e in branch.negated if e.variable in named]
            absent = {variable: named[variable][0] for variable in forbidden}
            binding = {v: named[v] for v in branch.variables if v in named}
            # A named event is not one that a greedy OPT leaves out.
            if len(binding) + len(absent) == len(named) and bound.isdisjoint(absent):
                verdict = _verdict(question, number, binding, absent)
                if verdict.is_match is False and not complete:
                    more = "not every assignment of the events to repetitions was tried"
                    verdict = replace(verdict, is_match=None, notes=(*verdict.notes, more))
                verdicts.append((number, named, verdict))
    if not verdicts:
        raise PatternError(
            f"no branch of the pattern has {variables_text(list(references))} together",
            hint="ask about the events of one choice at a time",
        )
    number, events, best = min(verdicts, key=lambda one: _rank(one[-1]))
    notes = [*question.absent_types(), *best.notes]
    if len(verdicts) > 1:
        choices = "choices of repetitions" if groups else "branches of the pattern"
        notes.append(f"of {len(verdicts)} {choices} this comes nearest")
    return _answer(question, number, best, events, notes)


def _verdict(question: Question, number: int, bound: Binding, absent: Mapping[str, int]) -> Verdict:
    verdict = verdict_on(
        question.inspectors[number], bound, absent, most=question.limit, budget=question.budget
    )
    if question.query.strategy is not Strategy.SKIP_TILL_NEXT_MATCH or not verdict.is_match:
        return verdict
    inspector, names = question.inspectors[number], set(question.branches[number].variables)
    completions = [c for c in verdict.completions if not c.violated]
    for match in question.next_matches or ():
        if match.keys() == names and all(match[v] == tuple(sorted(bound[v])) for v in bound):
            completions = [Completion(match, tuple(inspector.findings(match)))]
            break
    consumed = [consumption(question.next_matches, c.binding, inspector) for c in completions]
    completions = [
        replace(c, findings=(*c.findings, one))
        for c, one in zip(completions, consumed, strict=True)
    ]
    is_match = _any_of([one.holds for one in consumed])
    return replace(verdict, is_match=is_match, completions=tuple(completions))


def _answer(
    question: Question,
    number: int,
    verdict: Verdict,
    events: Mapping[str, tuple[int, ...]],
    notes: list[str],
) -> WhyNot:
    branch = question.branches[number]
    best = verdict.completions[0] if verdict.completions else None
    findings = best.findings if best is not None else verdict.findings
    binding = best.binding if best is not None else {
        v: e for v, e in events.items() if v in branch.variables
    }  # fmt: skip
    listed = [
        question.event(branch, variable, event, given=variable in events)
        for variable in branch.variables
        for event in binding.get(variable, ())
    ]
    listed += [
        question.event(branch, e.variable, events[e.variable][0], given=True)
        for e in branch.negated
        if e.variable in events
    ]
    misses = []
    if set(branch.variables) - set(events) and not verdict.is_match:
        misses = [
            question.near_miss(number, completion.binding, completion.violated)
            for completion in verdict.completions
            if completion.violated
        ]
    return WhyNot(
        question.query,
        verdict.is_match,
        _reason_named(branch, verdict, events, findings),
        tuple(listed),
        _culprits(question, branch, findings),
        Requirements(tuple(findings)),
        near_misses=NearMisses(tuple(misses)),
        notes=tuple(notes),
    )


def _culprits(
    question: Question, branch: Branch, findings: Sequence[Finding]
) -> tuple[AnswerEvent, ...]:
    return tuple(
        question.event(branch, absent.variable, event)
        for finding in findings
        if isinstance(finding.requirement, req.Absent) and finding.holds is False
        # The events of a NOT of several repeat its variables in order, for each choice of them.
        for absent, event in zip(cycle(finding.requirement.events), finding.events, strict=False)
    )


def _rank(verdict: Verdict) -> tuple[int, int, float]:
    """Return the rank of a branch's verdict: the best is the least."""
    rank = verdict.completions[0].rank if verdict.completions else (99, 0.0)
    return ({True: 0, None: 1, False: 2}[verdict.is_match], *rank)


def _reason_named(
    branch: Branch,
    verdict: Verdict,
    events: Mapping[str, tuple[int, ...]],
    findings: tuple[Finding, ...],
) -> str:
    """Return the verdict on named events in a sentence."""
    absent = [v for v in events if v not in branch.variables]
    names = variables_text([v for v in branch.variables if v in events])
    todo = [v for v in branch.variables if v not in events]
    others = variables_text(todo)
    if verdict.is_match:
        return f"A match after all: {names} with {others}." if todo else "A match after all."
    if verdict.is_match is None:
        return "It could not be decided whether this is a match."
    failing = [f for f in findings if f.holds is False]
    for finding in failing:
        requirement = finding.requirement
        if isinstance(requirement, req.Absent) and requirement.event.variable in absent:
            return f"No match: {finding.detail}, which {req.text_of(requirement)} forbids."
    wrong = [f for f in failing if f.given]
    if not todo:
        return f"No match: {count_text(len(failing), 'requirement')} not fulfilled."
    one = len(events) - len(absent) == 1
    are = "is" if one else "are"
    if wrong and any(f.holds is False for f in verdict.findings):
        return f"No match: {names} cannot be part of one, with any {others}."
    fine = f"{names} {are} fine{'' if one else ' together'}"
    return f"No match: {fine}, but no {others} {'fits' if len(todo) == 1 else 'fit'} them."


def _about_any(question: Question) -> WhyNot:
    """Return why there is no match: the funnel of each branch, and the nearest misses."""
    notes = question.absent_types()
    rows: list[FunnelRow] = []
    misses: list[NearMiss] = []
    has_matches: list[bool | None] = []
    passed = 0
    for number, inspector in enumerate(question.inspectors):
        near, cut, alone = _near_misses(question, number)
        order = question.plan.branches[number].variables
        funnel = branch_funnel(inspector.measures, number + 1, order, Work(question.budget), alone)
        rows += funnel.rows
        passed += funnel.single if funnel.matches is None else funnel.matches
        if funnel.coverage.complete and funnel.single:
            of_sets, unseen = _near_sets(question, number, funnel.uncounted[:1])
            near += of_sets
            notes += unseen
        misses += near
        has_matches.append(_has_matches(funnel))
        notes += _bounds(question, number, funnel, cut, near)
    misses.sort(key=lambda miss: (len(miss.violated), miss.relative))
    misses = [m for m in misses if not _is_match(question, m)]
    # Near misses that violate more are shown only where there is nothing nearer.
    least = [m for m in misses if len(m.violated) <= question.violations]
    misses = (least or misses)[: question.limit]
    matched = _any_of(has_matches)
    return WhyNot(
        question.query,
        matched,
        _reason_any(matched, passed, rows, misses),
        funnel=Funnel(tuple(rows)),
        near_misses=NearMisses(tuple(misses)),
        notes=tuple(dict.fromkeys(notes)),
    )


def _any_of(answers: Collection[bool | None]) -> bool | None:
    """Return whether any is True; None where that depends on one that is not known."""
    return True if True in answers else None if None in answers else False


def _has_matches(funnel: BranchFunnel) -> bool | None:
    """Return whether a branch has matches; None if its funnel does not decide it."""
    if funnel.matches is None or (not funnel.matches and not funnel.coverage.complete):
        return None
    return bool(funnel.matches)


def _near_misses(
    question: Question, number: int
) -> tuple[list[NearMiss], list[str], dict[req.Requirement, int] | None]:
    """Return the near misses of a branch.

    Returns:
        The near misses; notes on what was not seen; for each requirement the combinations that
        violate it alone, None where they were not counted.
    """
    inspector, branch = question.inspectors[number], question.branches[number]
    ignored = frozenset((*demands_of(branch), req.Unconsumed()))
    order = question.cheapest(number)
    alone: dict[req.Requirement, int] | None
    if question.violations == 1 and can_be_forgiven(branch):
        total = len(question.table.columns)
        found, alone, ends = nearest_by_engine(
            inspector.measures, order, question.limit, question.budget, ignored
        )
        cut = [
            f"near misses that fail in {req.text_of(requirement)} were looked for among the first "
            f"{end:,} of {total:,} events"
            for requirement, end in ends.items()
        ]
    else:
        search = Search(
            inspector.measures, order, Work(question.budget), question.violations, ignored=ignored
        )
        found, coverage, alone = nearest_and_alone(search, question.limit)
        cut = []
        if not coverage.complete:
            cut = [f"the search for near misses stopped early, {coverage.end}"]
    misses = []
    for events in found:
        binding: Binding = {v: (events[v],) for v in branch.variables}
        binding = with_sets(inspector, binding, [v for v, _, _ in branch.repeated])
        misses.append(question.near_miss(number, binding, _violated(question, number, binding)))
    return misses, cut, alone


def _violated(question: Question, number: int, binding: Binding) -> list[Finding]:
    findings = question.inspectors[number].findings(binding)
    return [f for f in findings if f.holds is False]


def _near_sets(
    question: Question, number: int, alone: Sequence[req.Requirement] = ()
) -> tuple[list[NearMiss], list[str]]:
    """Return the near misses of a branch whose sets fulfil all demands but one.

    Args:
        alone: The demands that may fail, each in turn; empty: all of them.

    Returns:
        The near misses; the parts that were not searched.
    """
    branch, notes = question.branches[number], list[str]()
    single = set(branch.variables) - {v for v, _, _ in branch.repeated}
    nearest_of: dict[tuple[object, ...], NearMiss] = {}
    search = SetSearch(question.table, branch)
    for demand, bindings in search.nearly(_MOST_SETS, alone):
        if bindings is None:
            notes.append(f"too many sets fail in {req.text_of(demand)} alone to try them all")
            continue
        if len(bindings) == _MOST_SETS:
            notes.append(
                f"of the sets that may fail in {req.text_of(demand)} alone the first "
                f"{_MOST_SETS:,} were looked at"
            )
        for binding in bindings:
            violated = _violated(question, number, binding)
            if not violated:
                continue
            # Keep one near miss for each choice of the other events.
            key = (demand, *(binding[v][0] for v in branch.variables if v in single or not single))
            miss = question.near_miss(number, binding, violated)
            if key not in nearest_of or miss.relative < nearest_of[key].relative:
                nearest_of[key] = miss
    return list(nearest_of.values()), notes


def _is_match(question: Question, miss: NearMiss) -> bool:
    """Return whether a near miss is a match of another branch with the same variables."""
    binding: dict[str, tuple[int, ...]] = {}
    for event in miss.events:
        binding[event.variable] = (*binding.get(event.variable, ()), event.event)
    others = [
        inspector.findings(binding)
        for number, (branch, inspector) in enumerate(
            zip(question.branches, question.inspectors, strict=True)
        )
        if number != miss.branch - 1 and set(branch.variables) == binding.keys()
    ]
    return any(all(f.holds for f in findings) for findings in others)


def _bounds(
    question: Question, number: int, funnel: BranchFunnel, cut: list[str], near: list[NearMiss]
) -> list[str]:
    """Return notes on the limits of the answer about a branch."""
    branch, coverage = question.branches[number], funnel.coverage
    notes = []
    if not coverage.complete:
        least = "" if coverage.done else "; the counts are lower bounds"
        notes.append(f"the count of partial matches stopped early, {coverage.end}{least}")
    notes += cut
    if branch.repeated and near:
        names = variables_text([v for v, _, _ in branch.repeated])
        notes.append(f"for near misses only some sets of {names} are tried")
    notes += [
        f"not counted, because there are too many sets: {req.text_of(each)}"
        for each in funnel.uncounted
        if funnel.single
    ]
    if question.query.strategy is Strategy.SKIP_TILL_NEXT_MATCH and near:
        notes.append(
            "matches that skip-till-next-match leaves out do not count as near misses here"
        )
    return notes


def _reason_any(
    matched: bool | None, passed: int, rows: list[FunnelRow], misses: list[NearMiss]
) -> str:
    """Return the answer about a whole stream in a sentence."""
    if matched is None and passed:
        return "Single events pass; of their sets there are too many to be counted."
    if matched:
        return "There are matches; this shows how they arise, and what almost matches."
    word = "There is no match" if matched is False else "No match was found"
    if misses:
        least = len(misses[0].violated)
        return f"{word}; what comes nearest fails in {count_text(least, 'requirement')}."
    emptied = next((row for row in rows if row.before and not row.after), None)
    if emptied is None:
        return f"{word}."
    return f"{word}: nothing passes '{emptied.text}'."
