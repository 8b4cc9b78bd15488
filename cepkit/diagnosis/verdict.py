"""The verdict on given events: what of them holds, and what would complete them best.

Variables that are not given are searched, nearest first; whatever the search cannot see of Kleene
variables (their sizes, functions of their sets) is looked at on the combinations it finds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cepkit.diagnosis.findings import Binding, Finding, Inspector
from cepkit.diagnosis.measures import Measures
from cepkit.diagnosis.nearest import Combination, nearest
from cepkit.diagnosis.requirements import (
    Absent,
    Holds,
    OfType,
    Requirement,
    SideBySide,
    Size,
    reads_sets,
    requirements_of,
    variables_in,
)
from cepkit.diagnosis.scopes import STRETCH
from cepkit.diagnosis.search import Search
from cepkit.diagnosis.words import listed
from cepkit.diagnosis.work import Work
from cepkit.pattern.names import name_text
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import Strategy

_PASSES = ((0, STRETCH), (1, STRETCH), (2, STRETCH), (0, np.inf), (3, np.inf))
"""Violations allowed and how far away to look, tried in turn until something is found."""

_MOST_MEMBERS = 50


@dataclass(frozen=True, slots=True)
class Completion:
    """The given events with others for the variables that were not given.

    Attributes:
        binding: The events of each variable.
        findings: What came of each requirement.
    """

    binding: Binding
    findings: tuple[Finding, ...]

    @property
    def violated(self) -> tuple[Finding, ...]:
        """What does not hold."""
        return tuple(f for f in self.findings if f.holds is False)

    @property
    def rank(self) -> tuple[int, float]:
        """What completions are ranked by."""
        return len(self.violated), sum(f.relative for f in self.violated)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What comes of given events in one branch.

    Attributes:
        found: Whether they are a match or part of one; None where that could not be decided.
        completions: With events for the other variables, nearest first; where everything is
            given, this alone. Empty where nothing completes them.
        findings: Of the given events alone.
        notes: What was not looked at.
    """

    found: bool | None
    completions: tuple[Completion, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()


def judged(
    measures: Measures,
    inspector: Inspector,
    given: Binding,
    absent: Mapping[str, int],
    *,
    most: int,
    budget: int,
) -> Verdict:
    """Return the verdict on given events, consumption aside.

    Args:
        measures: Of the branch.
        inspector: Of the branch.
        given: The events of positive variables.
        absent: Those of variables under NOT.
        most: How many completions are wanted.
        budget: Of the search.
    """
    branch = measures.branch
    alone = tuple(inspector.findings(given))
    todo = [v for v in branch.variables if v not in given]
    failing = frozenset(f.requirement for f in alone if f.holds is False)
    notes: list[str] = []
    if not todo:
        bindings = [given]
    else:
        missing = [v for v in todo if not len(measures.scene.of_types(branch.event(v).types))]
        if missing:
            lost = tuple(
                Finding(OfType(branch.event(v)), False, "there is no such event", relative=1.0,
                        given=False)
                for v in missing
            )  # fmt: skip
            return Verdict(False, (), (*alone, *lost))
        combinations, complete = _completing(measures, given, todo, failing, most, budget)
        if not complete:
            notes.append("the search for what completes them was cut short: it may be incomplete")
        bindings = [
            _with_sets(inspector, {**{v: (e,) for v, e in c.events.items()}, **given}, todo)
            for c in combinations
        ]
    completions = [
        Completion(binding, _all_findings(measures, inspector, binding, given, absent, failing))
        for binding in bindings
    ]
    completions.sort(key=lambda completion: completion.rank)
    found: bool | None = bool(completions) and not completions[0].violated
    if not found and todo and _sets_matter(branch, todo) and not any(
        f.holds is False for f in alone
    ):  # fmt: skip
        only_sets = completions and all(_about_sets(f.requirement) for f in completions[0].violated)
        if only_sets:
            found = None
            notes.append("sets of events were tried some at a time, not all of them")
    return Verdict(found, tuple(completions), alone, tuple(notes))


def _completing(
    measures: Measures,
    given: Binding,
    todo: Sequence[str],
    failing: frozenset[Requirement],
    most: int,
    budget: int,
) -> tuple[list[Combination], bool]:
    """Return the best choices for the variables that are not given, and whether all were seen."""
    complete = True
    count = {v: len(measures.scene.of_types(measures.branch.event(v).types)) for v in todo}
    order = sorted(todo, key=lambda v: count[v])
    for tolerance, stretch in _PASSES:
        search = Search(
            measures,
            order,
            Work(budget // len(_PASSES)),
            tolerance=tolerance,
            bound={v: events[0] for v, events in given.items()},
            ignored=failing,
            stretch=stretch,
        )
        found, coverage, _ = nearest(search, most, least_violations=0)
        complete = coverage.complete
        if found:
            return found, complete
    return [], complete


def _all_findings(
    measures: Measures,
    inspector: Inspector,
    binding: Binding,
    given: Binding,
    absent: Mapping[str, int],
    failing: frozenset[Requirement],
) -> tuple[Finding, ...]:
    found = []
    for finding in inspector.findings(binding):
        about = variables_in(finding.requirement, measures.branch.variables)
        named = about <= given.keys() or finding.requirement in failing
        found.append(replace(finding, given=named))
    for variable, event in absent.items():
        breaking = _breaking(measures, inspector, binding, variable, event)
        if not breaking.holds:
            found = [f for f in found if f.requirement != breaking.requirement]
        found.append(breaking)
    return tuple(found)


def _breaking(
    measures: Measures, inspector: Inspector, binding: Binding, variable: str, event: int
) -> Finding:
    """Return whether a given event is one that a NOT forbids: what it would need to be one."""
    branch = measures.branch
    negated = branch.event(variable)
    positive = replace(
        branch,
        positive=(*branch.positive, negated),
        negated=(),
        repeated=(),
        strategy=Strategy.SKIP_TILL_ANY_MATCH,
    )
    beside = Inspector(Measures(measures.scene, positive), inspector.name)
    about = [
        f
        for f in beside.findings({**binding, variable: (event,)})
        if variable in variables_in(f.requirement, positive.variables)
    ]
    lacking = [f.told for f in about if not f.holds]
    name = inspector.name(event)
    if lacking:
        told = f"{name} is not one: {'; '.join(lacking)}"
        return Finding(Absent(negated), True, told)
    return Finding(Absent(negated), False, f"{name} is such an event", 1.0, "events", 1.0, (event,))


def _with_sets(inspector: Inspector, binding: Binding, todo: Sequence[str]) -> Binding:
    """Return a combination with more events for Kleene variables, where one does not suffice.

    Events are added one by one while nothing but sizes and set functions is violated.
    """
    for variable in todo:
        if not inspector.is_repeated(variable):
            continue
        for event in inspector.others(variable, binding[variable][0], _MOST_MEMBERS):
            findings = inspector.findings(binding)
            if not any(f.holds is False and _about_sets(f.requirement) for f in findings):
                break
            larger = {**binding, variable: (*binding[variable], event)}
            before = sum(f.holds is False for f in findings if not _about_sets(f.requirement))
            after = [f for f in inspector.findings(larger) if not _about_sets(f.requirement)]
            if sum(f.holds is False for f in after) <= before:
                binding = larger
    return binding


def _about_sets(requirement: Requirement) -> bool:
    match requirement:
        case Size():
            return True
        case Holds(condition):
            return reads_sets(condition)
        case SideBySide():
            return True  # members may fill the gap
        case _:
            return False


def _sets_matter(branch: Branch, todo: Sequence[str]) -> bool:
    """Return whether a set of several events can be right where no single one is."""
    free = {v for v, _, _ in branch.repeated} & set(todo)
    return bool(free) and any(_about_sets(r) for r in requirements_of(branch))


def said(names: Sequence[str]) -> str:
    """Return variables as a list in a sentence."""
    return listed(list(map(name_text, names)))
