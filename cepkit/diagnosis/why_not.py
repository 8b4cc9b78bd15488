"""The question "why not?", put to a local stream: about named events, or about any at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cepkit.diagnosis.consumption import taken
from cepkit.diagnosis.findings import Binding, Finding, Inspector
from cepkit.diagnosis.funnel import FunnelRow, pour
from cepkit.diagnosis.measures import Measures
from cepkit.diagnosis.naming import Naming, check_names, ids
from cepkit.diagnosis.nearest import Combination, nearest
from cepkit.diagnosis.requirements import (
    Absent,
    Holds,
    Requirement,
    Size,
    Unconsumed,
    reads_sets,
    requirements_of,
    text_of,
)
from cepkit.diagnosis.result import WhyNot
from cepkit.diagnosis.scene import Scene
from cepkit.diagnosis.search import Search
from cepkit.diagnosis.tables import Funnel, NearMiss, NearMisses, Requirements, Seen
from cepkit.diagnosis.verdict import Completion, Verdict, judged, said, unconsumed
from cepkit.diagnosis.words import counted, value_text
from cepkit.diagnosis.work import Coverage, Work
from cepkit.errors import PatternError
from cepkit.errors import nearest as did_you_mean
from cepkit.pattern.conditions import attributes_of
from cepkit.pattern.nodes import events_of
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.statistics.estimate import attributes_read
from cepkit.stream.stream import Stream

BUDGET = 40_000_000
"""Events in combinations that an answer looks at, for each of its parts: some seconds."""

_UNPRUNED = 8_000_000


def why_not(
    stream: Stream,
    query: Query,
    named: Mapping[str, Any],
    *,
    plan: Plan,
    id: str | None = None,  # noqa: A002 - the word for it
    violations: int = 1,
    limit: int = 10,
    budget: int = BUDGET,
) -> WhyNot:
    """Return why named events are no match, or why there is none.

    Args:
        stream: A local stream.
        query: The pattern.
        named: For variables the row number or the id of their event; for those under KL one or
            a list.
        plan: The order of the funnel's steps.
        id: The column that events are named by; None: by their row.
        violations: How many requirements a near miss may violate.
        limit: The most near misses.
        budget: The most events in combinations that each part of the answer may look at.

    Raises:
        PatternError: A name that is no variable's.
        StreamError: No such event, or several.
    """
    check_names(query, named)
    wanted = sorted(attributes_read(query) | ({id} if id is not None else set()))
    columns = stream.columns(wanted)
    scene = Scene(columns, query.partition_by)
    asked = _Question(query, scene, Naming(columns, id), plan, violations, limit, budget)
    return asked.about(named) if named else asked.about_any()


@dataclass(frozen=True)
class _Question:
    query: Query
    scene: Scene
    naming: Naming
    plan: Plan
    violations: int
    limit: int
    budget: int

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        """The branches of the pattern."""
        return normal_form(self.query)

    @cached_property
    def measures(self) -> tuple[Measures, ...]:
        """What measures each branch."""
        return tuple(Measures(self.scene, branch) for branch in self.branches)

    @cached_property
    def inspectors(self) -> tuple[Inspector, ...]:
        """What tells of each branch."""
        return tuple(Inspector(measured, self.naming.name) for measured in self.measures)

    # Named events

    def about(self, named: Mapping[str, Any]) -> WhyNot:
        """Return why named events are no match."""
        events = {
            variable: tuple(dict.fromkeys(self.naming.event(variable, one) for one in ids(wanted)))
            for variable, wanted in named.items()
        }
        verdicts = []
        for number, branch in enumerate(self.branches):
            absent = {
                e.variable: events[e.variable][0] for e in branch.negated if e.variable in events
            }
            given = {v: events[v] for v in branch.variables if v in events}
            if len(given) + len(absent) == len(events):
                verdicts.append((number, self._verdict(number, given, absent)))
        if not verdicts:
            raise PatternError(
                f"no choice at the ORs of the pattern has {said(list(named))} together",
                hint="ask about the events of one choice at a time",
            )
        number, best = min(verdicts, key=lambda pair: _merit(pair[1]))
        notes = [*self._absent_types(), *best.notes]
        if len(verdicts) > 1:
            notes.append(f"of {len(verdicts)} choices at the ORs this comes nearest")
        return self._answer(number, best, events, notes)

    def _verdict(self, number: int, given: Binding, absent: Mapping[str, int]) -> Verdict:
        found = judged(
            self.measures[number], self.inspectors[number], given, absent,
            most=self.limit, budget=self.budget,
        )  # fmt: skip
        if self.query.strategy is not Strategy.SKIP_TILL_NEXT_MATCH or not found.found:
            return found
        inspector, names = self.inspectors[number], set(self.branches[number].variables)
        completions = [c for c in found.completions if not c.violated]
        for match in self._taken or ():
            if match.keys() == names and all((match[v],) == e for v, e in given.items()):
                binding = {v: (e,) for v, e in match.items()}
                completions = [Completion(binding, tuple(inspector.findings(binding)))]
                break
        consumption = [unconsumed(self._taken, c.binding, inspector) for c in completions]
        completions = [
            replace(c, findings=(*c.findings, one))
            for c, one in zip(completions, consumption, strict=True)
        ]
        holds = [one.holds for one in consumption]
        decided = True if True in holds else None if None in holds else False
        return replace(found, found=decided, completions=tuple(completions))

    @cached_property
    def _taken(self) -> list[Mapping[str, int]] | None:
        orders = [self._cheapest(number) for number in range(len(self.branches))]
        return taken(self.measures, orders, Work(self.budget), len(self.scene.columns))

    def _cheapest(self, number: int) -> list[str]:
        """Return an order of a branch's variables, the rarest first."""
        search = Search(self.measures[number], self.branches[number].variables, Work(0))
        counts = {v: len(search.candidates(v)) for v in self.branches[number].variables}
        return sorted(counts, key=lambda v: counts[v])

    def _answer(
        self, number: int, verdict: Verdict, events: Mapping[str, tuple[int, ...]], notes: list[str]
    ) -> WhyNot:
        branch = self.branches[number]
        best = verdict.completions[0] if verdict.completions else None
        findings = best.findings if best is not None else verdict.findings
        binding = best.binding if best is not None else {
            v: e for v, e in events.items() if v in branch.variables
        }  # fmt: skip
        seen = [
            self._seen(branch, variable, event, given=variable in events)
            for variable in branch.variables
            for event in binding.get(variable, ())
        ]
        seen += [
            self._seen(branch, e.variable, events[e.variable][0], given=True)
            for e in branch.negated
            if e.variable in events
        ]
        misses = []
        if set(branch.variables) - set(events) and not verdict.found:
            misses = [
                self._near_miss(number, completion.binding, completion.violated)
                for completion in verdict.completions
                if completion.violated
            ]
        reason = _reason(branch, verdict, events, findings)
        return WhyNot(
            self.query, verdict.found, reason, tuple(seen), self._culprits(branch, findings),
            Requirements(tuple(findings)),
            near_misses=NearMisses(tuple(misses)), notes=tuple(notes),
        )  # fmt: skip

    def _culprits(self, branch: Branch, findings: Sequence[Finding]) -> tuple[Seen, ...]:
        return tuple(
            self._seen(branch, finding.requirement.event.variable, event)
            for finding in findings
            if isinstance(finding.requirement, Absent) and finding.holds is False
            for event in finding.events
        )

    # Any events

    def about_any(self) -> WhyNot:
        """Return why there is no match, and what comes nearest to one."""
        notes = self._absent_types()
        rows: list[FunnelRow] = []
        misses: list[NearMiss] = []
        found: list[bool | None] = []
        for number, measured in enumerate(self.measures):
            near, seen, alone = self._nearest(number)
            poured = pour(
                measured, number + 1, self.plan.branches[number].order, Work(self.budget), alone
            )
            rows += poured.rows
            misses += near
            found.append(self._any(number, poured.matches, poured.coverage))
            notes += self._bounds(number, poured.coverage, seen, near)
        misses.sort(key=lambda miss: (len(miss.violated), miss.relative))
        misses = [m for m in misses if not self._is_match(m)][: self.limit]
        decided = True if True in found else None if None in found else False
        return WhyNot(
            self.query, decided, _reason_of_any(decided, rows, misses), funnel=Funnel(tuple(rows)),
            near_misses=NearMisses(tuple(misses)), notes=tuple(dict.fromkeys(notes)),
        )  # fmt: skip

    def _any(self, number: int, matches: int, coverage: Coverage) -> bool | None:
        sets = any(_of_sets(r) for r in requirements_of(self.branches[number]))
        if matches:
            return None if sets else True
        return False if coverage.complete else None

    def _nearest(
        self, number: int
    ) -> tuple[list[NearMiss], Coverage, dict[Requirement, int] | None]:
        """Return the near misses of a branch; without pruning where that is cheap enough."""
        measured, ignored = self.measures[number], self._unsearched(number)
        order = self._cheapest(number)
        search = Search(measured, order, Work(min(_UNPRUNED, self.budget)), self.violations,
                        ignored=ignored)  # fmt: skip
        found, coverage, counts = nearest(search, self.limit, prune=False)
        alone: dict[Requirement, int] | None = None
        if coverage.complete:
            alone = {r: counts.get(k, 0) for r, k in search.keys.items() if r not in ignored}
        else:
            search = Search(measured, order, Work(self.budget), self.violations, ignored=ignored)
            found, coverage, _ = nearest(search, self.limit)
        return [self._found(number, one, ignored) for one in found], coverage, alone

    def _unsearched(self, number: int) -> frozenset[Requirement]:
        every = requirements_of(self.branches[number])
        return frozenset(r for r in every if _of_sets(r) or isinstance(r, Unconsumed))

    def _found(self, number: int, one: Combination, ignored: frozenset[Requirement]) -> NearMiss:
        binding = {v: (one.events[v],) for v in self.branches[number].variables}
        findings = self.inspectors[number].findings(binding)
        violated = [f for f in findings if f.holds is False and f.requirement not in ignored]
        return self._near_miss(number, binding, violated)

    def _near_miss(
        self, number: int, binding: Binding, violated: list[Finding] | tuple[Finding, ...]
    ) -> NearMiss:
        branch = self.branches[number]
        events = [self._seen(branch, v, e) for v in branch.variables for e in binding[v]]
        return NearMiss(
            number + 1, tuple(events), tuple(violated), sum(f.relative for f in violated)
        )

    def _is_match(self, miss: NearMiss) -> bool:
        """Whether another choice at the ORs, of the same variables, is fulfilled."""
        binding: dict[str, tuple[int, ...]] = {}
        for seen in miss.events:
            binding[seen.variable] = (*binding.get(seen.variable, ()), seen.event)
        others = [
            inspector.findings(binding)
            for number, (branch, inspector) in enumerate(
                zip(self.branches, self.inspectors, strict=True)
            )
            if number != miss.branch - 1 and set(branch.variables) == binding.keys()
        ]
        return any(all(f.holds for f in findings) for findings in others)

    def _absent_types(self) -> list[str]:
        known = self.scene.columns.type_names
        named = {t for event in events_of(self.query.structure) for t in event.types or ()}
        notes = []
        for name in sorted(named - set(known)):
            hint = did_you_mean(name, known)
            notes.append(f"no event has the type '{name}'" + (f": {hint}" if hint else ""))
        return notes

    def _bounds(
        self, number: int, coverage: Coverage, seen: Coverage, near: list[NearMiss]
    ) -> list[str]:
        branch = self.branches[number]
        notes = []
        if not coverage.complete:
            least = "" if coverage.done else "; the counts are lower bounds"
            notes.append(f"partial matches are counted for {_part(coverage)}{least}")
        if not seen.complete:
            notes.append(f"nearest misses are looked for with {_part(seen)}")
        if branch.repeated:
            names = said([v for v, _, _ in branch.repeated])
            notes.append(f"of {names} (KL) one event is looked at a time")
            whole = [r for r in requirements_of(branch) if isinstance(r, Holds) and _of_sets(r)]
            notes += [f"not looked at, as it is about whole sets: {text_of(r)}" for r in whole]
        if self.query.strategy is Strategy.SKIP_TILL_NEXT_MATCH and near:
            notes.append("matches that skip-till-next-match leaves out are no near misses here")
        return notes

    def _seen(self, branch: Branch, variable: str, event: int, *, given: bool = False) -> Seen:
        columns = self.scene.columns
        at = np.array([event])
        read = {name for c in branch.conditions for v, name in attributes_of(c) if v == variable}
        names = [n for n in columns.attributes if n in read or n in self.query.partition_by]
        return Seen(
            variable,
            event,
            self.naming.id(event),
            self.naming.name(event),
            columns.type_names[int(columns.types[event])],
            int(columns.ts[event]),
            {name: value_text(columns.attributes[name].take(at)) for name in names},
            given,
        )


def _of_sets(requirement: Requirement) -> bool:
    match requirement:
        case Size():
            return True
        case Holds(condition):
            return reads_sets(condition)
        case _:
            return False


def _merit(verdict: Verdict) -> tuple[int, int, float]:
    """Return what verdicts of branches are ranked by: the best first."""
    rank = verdict.completions[0].rank if verdict.completions else (99, 0.0)
    return ({True: 0, None: 1, False: 2}[verdict.found], *rank)


def _part(coverage: Coverage) -> str:
    """Return in words how much was seen."""
    if not coverage.done:
        return f"part of the first of {coverage.total:,} events of {coverage.variable}"
    return f"the first {coverage.done:,} of {coverage.total:,} events of {coverage.variable}"


def _reason(
    branch: Branch,
    verdict: Verdict,
    events: Mapping[str, tuple[int, ...]],
    findings: tuple[Finding, ...],
) -> str:
    """Return the verdict on named events in a sentence."""
    absent = [v for v in events if v not in branch.variables]
    names = said([v for v in events if v not in absent])
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


def _reason_of_any(found: bool | None, rows: list[FunnelRow], misses: list[NearMiss]) -> str:
    """Return the answer about a whole stream in a sentence."""
    if found:
        return "There are matches; this is how they come about, and what just fails to be one."
    word = "There is no match" if found is False else "No match was found"
    if misses:
        least = len(misses[0].violated)
        return f"{word}; what comes nearest fails in {counted(least, 'requirement')}."
    emptied = next((row for row in rows if row.before and not row.after), None)
    if emptied is None:
        return f"{word}."
    return f"{word}: nothing passes '{emptied.text}'."
