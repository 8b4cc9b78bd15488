"""Why named events are no match: the verdict of the branch in which they come nearest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cepkit.diagnosis.consumption import unconsumed
from cepkit.diagnosis.findings import Binding, Finding
from cepkit.diagnosis.naming import ids
from cepkit.diagnosis.question import Question
from cepkit.diagnosis.requirements import Absent, text_of
from cepkit.diagnosis.result import WhyNot
from cepkit.diagnosis.tables import NearMisses, Requirements, Seen
from cepkit.diagnosis.verdict import Completion, Verdict, judged, said
from cepkit.diagnosis.words import counted
from cepkit.errors import PatternError
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import Strategy


def about(question: Question, named: Mapping[str, Any]) -> WhyNot:
    """Return why named events are no match."""
    events = {
        variable: tuple(dict.fromkeys(question.naming.event(variable, one) for one in ids(wanted)))
        for variable, wanted in named.items()
    }
    verdicts = []
    for number, branch in enumerate(question.branches):
        absent = {e.variable: events[e.variable][0] for e in branch.negated if e.variable in events}
        given = {v: events[v] for v in branch.variables if v in events}
        if len(given) + len(absent) == len(events):
            verdicts.append((number, _verdict(question, number, given, absent)))
    if not verdicts:
        raise PatternError(
            f"no choice at the ORs of the pattern has {said(list(named))} together",
            hint="ask about the events of one choice at a time",
        )
    number, best = min(verdicts, key=lambda pair: _merit(pair[1]))
    notes = [*question.absent_types(), *best.notes]
    if len(verdicts) > 1:
        notes.append(f"of {len(verdicts)} choices at the ORs this comes nearest")
    return _answer(question, number, best, events, notes)


def _verdict(question: Question, number: int, given: Binding, absent: Mapping[str, int]) -> Verdict:
    found = judged(
        question.measures[number], question.inspectors[number], given, absent,
        most=question.limit, budget=question.budget,
    )  # fmt: skip
    if question.query.strategy is not Strategy.SKIP_TILL_NEXT_MATCH or not found.found:
        return found
    inspector, names = question.inspectors[number], set(question.branches[number].variables)
    completions = [c for c in found.completions if not c.violated]
    for match in question.taken or ():
        if match.keys() == names and all((match[v],) == e for v, e in given.items()):
            binding = {v: (e,) for v, e in match.items()}
            completions = [Completion(binding, tuple(inspector.findings(binding)))]
            break
    consumption = [unconsumed(question.taken, c.binding, inspector) for c in completions]
    completions = [
        replace(c, findings=(*c.findings, one))
        for c, one in zip(completions, consumption, strict=True)
    ]
    holds = [one.holds for one in consumption]
    decided = True if True in holds else None if None in holds else False
    return replace(found, found=decided, completions=tuple(completions))


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
    seen = [
        question.seen(branch, variable, event, given=variable in events)
        for variable in branch.variables
        for event in binding.get(variable, ())
    ]
    seen += [
        question.seen(branch, e.variable, events[e.variable][0], given=True)
        for e in branch.negated
        if e.variable in events
    ]
    misses = []
    if set(branch.variables) - set(events) and not verdict.found:
        misses = [
            question.near_miss(number, completion.binding, completion.violated)
            for completion in verdict.completions
            if completion.violated
        ]
    reason = _reason(branch, verdict, events, findings)
    return WhyNot(
        question.query, verdict.found, reason, tuple(seen), _culprits(question, branch, findings),
        Requirements(tuple(findings)),
        near_misses=NearMisses(tuple(misses)), notes=tuple(notes),
    )  # fmt: skip


def _culprits(question: Question, branch: Branch, findings: Sequence[Finding]) -> tuple[Seen, ...]:
    return tuple(
        question.seen(branch, finding.requirement.event.variable, event)
        for finding in findings
        if isinstance(finding.requirement, Absent) and finding.holds is False
        for event in finding.events
    )


def _merit(verdict: Verdict) -> tuple[int, int, float]:
    """Return what verdicts of branches are ranked by: the best first."""
    rank = verdict.completions[0].rank if verdict.completions else (99, 0.0)
    return ({True: 0, None: 1, False: 2}[verdict.found], *rank)


def _reason(
    branch: Branch,
    verdict: Verdict,
    events: Mapping[str, tuple[int, ...]],
    findings: tuple[Finding, ...],
) -> str:
    """Return the verdict on named events in a sentence."""
    absent = [v for v in events if v not in branch.variables]
    names = said([v for v in branch.variables if v in events])
    todo = [v for v in branch.variables if v not in events]
    if verdict.found:
        return f"A match after all: {names} with {said(todo)}." if todo else "A match after all."
    if verdict.found is None:
        return "It could not be decided whether this is a match."
    failing = [f for f in findings if f.holds is False]
    for finding in failing:
        requirement = finding.requirement
        if isinstance(requirement, Absent) and requirement.event.variable in absent:
            return f"No match: {finding.told}, which {text_of(requirement)} forbids."
    wrong = [f for f in failing if f.given]
    if not todo:
        return f"No match: {counted(len(failing), 'requirement')} not fulfilled."
    one = len(events) - len(absent) == 1
    are = "is" if one else "are"
    if wrong and any(f.holds is False for f in verdict.findings):
        return f"No match: {names} {are} no part of one, whatever {said(todo)} may be."
    fine = f"{names} {are} fine{'' if one else ' together'}"
    return f"No match: {fine}, but no {said(todo)} {'goes' if len(todo) == 1 else 'go'} with them."
