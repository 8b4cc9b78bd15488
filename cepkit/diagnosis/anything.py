"""Why there is no match at all: the funnel of each branch, and the nearest misses."""

from __future__ import annotations

from cepkit.diagnosis.funnel import FunnelRow, pour
from cepkit.diagnosis.nearest import Combination, nearest
from cepkit.diagnosis.question import Question
from cepkit.diagnosis.requirements import (
    Holds,
    Requirement,
    Size,
    Unconsumed,
    reads_sets,
    requirements_of,
    text_of,
)
from cepkit.diagnosis.result import WhyNot
from cepkit.diagnosis.search import Search
from cepkit.diagnosis.tables import Funnel, NearMiss, NearMisses
from cepkit.diagnosis.verdict import said
from cepkit.diagnosis.words import counted
from cepkit.diagnosis.work import Coverage, Work
from cepkit.pattern.policies import Strategy

_UNPRUNED = 8_000_000
"""Of the budget, for a search that also counts what fails in one requirement alone."""


def about_any(question: Question) -> WhyNot:
    """Return why there is no match, and what comes nearest to one."""
    notes = question.absent_types()
    rows: list[FunnelRow] = []
    misses: list[NearMiss] = []
    found: list[bool | None] = []
    passed = 0
    for number, measured in enumerate(question.measures):
        near, seen, alone = _nearest(question, number)
        poured = pour(
            measured,
            number + 1,
            question.plan.branches[number].variables,
            Work(question.budget),
            alone,
        )
        rows += poured.rows
        passed += poured.matches
        misses += near
        found.append(_any(question, number, poured.matches, poured.coverage))
        notes += _bounds(question, number, poured.coverage, seen, near)
    misses.sort(key=lambda miss: (len(miss.violated), miss.relative))
    misses = [m for m in misses if not _is_match(question, m)][: question.limit]
    decided = True if True in found else None if None in found else False
    return WhyNot(
        question.query, decided, _reason(decided, passed, rows, misses), funnel=Funnel(tuple(rows)),
        near_misses=NearMisses(tuple(misses)), notes=tuple(dict.fromkeys(notes)),
    )  # fmt: skip


def _any(question: Question, number: int, matches: int, coverage: Coverage) -> bool | None:
    sets = any(_of_sets(r) for r in requirements_of(question.branches[number]))
    if matches:
        return None if sets else True
    return False if coverage.complete else None


def _nearest(
    question: Question, number: int
) -> tuple[list[NearMiss], Coverage, dict[Requirement, int] | None]:
    """Return the near misses of a branch; without pruning where that is cheap enough."""
    measured, ignored = question.measures[number], _unsearched(question, number)
    order = question.cheapest(number)
    search = Search(measured, order, Work(min(_UNPRUNED, question.budget)), question.violations,
                    ignored=ignored)  # fmt: skip
    found, coverage, counts = nearest(search, question.limit, prune=False)
    alone: dict[Requirement, int] | None = None
    if coverage.complete:
        alone = {r: counts.get(k, 0) for r, k in search.keys.items() if r not in ignored}
    else:
        search = Search(
            measured, order, Work(question.budget), question.violations, ignored=ignored
        )
        found, coverage, _ = nearest(search, question.limit)
    return [_found(question, number, one, ignored) for one in found], coverage, alone


def _unsearched(question: Question, number: int) -> frozenset[Requirement]:
    every = requirements_of(question.branches[number])
    return frozenset(r for r in every if _of_sets(r) or isinstance(r, Unconsumed))


def _found(
    question: Question, number: int, one: Combination, ignored: frozenset[Requirement]
) -> NearMiss:
    binding = {v: (one.events[v],) for v in question.branches[number].variables}
    findings = question.inspectors[number].findings(binding)
    violated = [f for f in findings if f.holds is False and f.requirement not in ignored]
    return question.near_miss(number, binding, violated)


def _is_match(question: Question, miss: NearMiss) -> bool:
    """Whether another choice at the ORs, of the same variables, is fulfilled."""
    binding: dict[str, tuple[int, ...]] = {}
    for seen in miss.events:
        binding[seen.variable] = (*binding.get(seen.variable, ()), seen.event)
    others = [
        inspector.findings(binding)
        for number, (branch, inspector) in enumerate(
            zip(question.branches, question.inspectors, strict=True)
        )
        if number != miss.branch - 1 and set(branch.variables) == binding.keys()
    ]
    return any(all(f.holds for f in findings) for findings in others)


def _bounds(
    question: Question, number: int, coverage: Coverage, seen: Coverage, near: list[NearMiss]
) -> list[str]:
    branch = question.branches[number]
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
    if question.query.strategy is Strategy.SKIP_TILL_NEXT_MATCH and near:
        notes.append("matches that skip-till-next-match leaves out are no near misses here")
    return notes


def _of_sets(requirement: Requirement) -> bool:
    match requirement:
        case Size():
            return True
        case Holds(condition):
            return reads_sets(condition)
        case _:
            return False


def _part(coverage: Coverage) -> str:
    """Return in words how much was seen."""
    if not coverage.done:
        return f"part of the first of {coverage.total:,} events of {coverage.variable}"
    return f"the first {coverage.done:,} of {coverage.total:,} events of {coverage.variable}"


def _reason(found: bool | None, passed: int, rows: list[FunnelRow], misses: list[NearMiss]) -> str:
    """Return the answer about a whole stream in a sentence."""
    if found is None and passed:
        return "Single events pass; whether sets of them do is not looked at here."
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
