"""The verdict on named events: which requirements hold, and the nearest completion.

The search looks for events of the other variables, nearest first. What it cannot see of Kleene
variables (their sizes, functions of their sets) is checked on the combinations that it finds.
Which matches skip-till-next-match takes depends on all earlier matches: the engine says that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from cepkit.budget import Work
from cepkit.diagnosis.findings import Binding, Finding, Inspector
from cepkit.diagnosis.measures import Measures
from cepkit.diagnosis.nearest import Combination, nearest
from cepkit.diagnosis.partials import STRETCH
from cepkit.diagnosis.search import Search
from cepkit.diagnosis.sets import SetsBoundError, SetSearch, demands_of
from cepkit.diagnosis.words import list_text
from cepkit.pattern import requirements as req
from cepkit.pattern.policies import Strategy

_PASSES = ((0, STRETCH), (1, STRETCH), (2, STRETCH), (0, np.inf), (3, np.inf))
"""The tolerance and the stretch of each search, tried in turn until one finds a completion."""

_MOST_MEMBERS = 50
"""The most events that are tried as further members of a set."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The given events with others for the variables that were not given."""

    binding: Binding
    findings: tuple[Finding, ...]

    @property
    def violated(self) -> tuple[Finding, ...]:
        """The findings that do not hold."""
        return tuple(f for f in self.findings if f.holds is False)

    @property
    def rank(self) -> tuple[int, float]:
        """The number of violations and their sum: completions with less come first."""
        return len(self.violated), sum(f.relative for f in self.violated)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome for given events in one branch.

    Attributes:
        is_match: Whether they are a match or part of one; None where that could not be decided.
        completions: The given events with events for the other variables, nearest first; where
            everything is given, this alone. Empty where nothing completes them.
        findings: The findings on the given events alone.
        notes: The parts that were not searched.
    """

    is_match: bool | None
    completions: tuple[Completion, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()


def verdict_on(
    inspector: Inspector, bound: Binding, absent: Mapping[str, int], *, most: int, budget: int
) -> Verdict:
    """Return the verdict on given events, consumption aside."""
    measures, branch = inspector.measures, inspector.measures.branch
    alone = tuple(inspector.findings(bound))
    todo = [v for v in branch.variables if v not in bound]
    failing = frozenset(f.requirement for f in alone if f.holds is False)
    notes: list[str] = []
    decided = True
    if not todo:
        bindings = [bound]
    else:
        missing = [v for v in todo if not len(measures.table.of_types(branch.event(v).types))]
        if missing:
            lost = tuple(
                Finding(req.OfType(branch.event(v)), False, "there is no such event", relative=1.0,
                        given=False)
                for v in missing
            )  # fmt: skip
            return Verdict(False, (), (*alone, *lost))
        combinations, complete = _completing(measures, bound, todo, failing, most, budget)
        if not complete:
            notes.append(
                "the search for the other events stopped early: it may have missed a match"
            )
        bindings = [
            with_sets(inspector, {**{v: (e,) for v, e in c.events.items()}, **bound}, todo)
            for c in combinations
        ]
        if branch.repeated and not failing:
            whole, decided = _with_whole_sets(measures, bound, most)
            bindings = [*whole, *(b for b in bindings if b not in whole)]
            if not decided:
                notes.append("only some sets of events were tried")
    completions = [
        Completion(binding, _all_findings(inspector, binding, bound, absent, failing))
        for binding in bindings
    ]
    completions.sort(key=lambda completion: completion.rank)
    is_match: bool | None = bool(completions) and not completions[0].violated
    if not is_match and not decided:
        is_match = None
    return Verdict(is_match, tuple(completions), alone, tuple(notes))


def _with_whole_sets(measures: Measures, bound: Binding, most: int) -> tuple[list[Binding], bool]:
    """Return given events with sets that fulfil all requirements, or else all but one.

    Returns:
        The combinations; whether all that could fulfil all requirements were looked at.
    """
    search = SetSearch(measures.table, measures.branch, bound)
    try:
        bindings = search.found(most=most)
    except SetsBoundError:
        return [], False
    if not bindings:
        bindings = [one for _, near in search.nearly(most) for one in near or ()]
    return bindings, True


def _completing(
    measures: Measures,
    binding: Binding,
    todo: Sequence[str],
    failing: frozenset[req.Requirement],
    most: int,
    budget: int,
) -> tuple[list[Combination], bool]:
    """Return the best choices for the variables that are not given, and whether all were seen."""
    complete = True
    failing |= {*demands_of(measures.branch)}
    count = {v: len(measures.table.of_types(measures.branch.event(v).types)) for v in todo}
    order = sorted(todo, key=lambda v: count[v])
    for tolerance, stretch in _PASSES:
        search = Search(
            measures,
            order,
            Work(budget // len(_PASSES)),
            tolerance=tolerance,
            bound={v: events[0] for v, events in binding.items()},
            ignored=failing,
            stretch=stretch,
        )
        combinations, coverage, _ = nearest(search, most, least_violations=0)
        complete = coverage.complete
        if combinations:
            return combinations, complete
    return [], complete


def _all_findings(
    inspector: Inspector,
    binding: Binding,
    bound: Binding,
    absent: Mapping[str, int],
    failing: frozenset[req.Requirement],
) -> tuple[Finding, ...]:
    findings = []
    for finding in inspector.findings(binding):
        about = req.variables_in(finding.requirement, inspector.measures.branch.variables)
        always = about <= bound.keys() or finding.requirement in failing
        findings.append(replace(finding, given=always))
    for variable, event in absent.items():
        breaking = _breaking(inspector, binding, variable, event)
        if not breaking.holds:
            findings = [f for f in findings if f.requirement != breaking.requirement]
        findings.append(breaking)
    return tuple(findings)


def _breaking(inspector: Inspector, binding: Binding, variable: str, event: int) -> Finding:
    """Return whether a NOT forbids a given event; if not, the finding says why not."""
    branch = inspector.measures.branch
    negated = branch.event(variable)
    requirement, name = req.absent_of(branch, negated), inspector.name(event)
    present = Finding(requirement, False, f"{name} is such an event", 1.0, "events", 1.0, (event,))
    if negated.beside is not None and branch.repeated:
        complete = binding.keys() >= {*branch.variables}
        if complete and event in inspector.forbidden((negated,), binding):
            return present
        return Finding(requirement, True, f"{name} is none that {req.text_of(requirement)} forbids")
    positive = replace(
        branch,
        positive=(*branch.positive, negated),
        negated=(),
        repeated=(),
        strategy=Strategy.SKIP_TILL_ANY_MATCH,
    )
    beside = Inspector(Measures(inspector.measures.table, positive), inspector.name)
    about = [
        f
        for f in beside.findings({**binding, variable: (event,)})
        if variable in req.variables_in(f.requirement, positive.variables)
    ]
    lacking = [f.detail for f in about if not f.holds]
    if lacking:
        return Finding(requirement, True, f"{name} is not one: {'; '.join(lacking)}")
    return present


def with_sets(inspector: Inspector, binding: Binding, todo: Sequence[str]) -> Binding:
    """Return a combination with more events for Kleene variables, where one does not suffice.

    Events are added one by one until all requirements of sets hold; if they never do, the
    combination stays as it is.
    """
    single, repeated = binding, {v for v, _, _ in inspector.measures.branch.repeated}
    for variable in (v for v in todo if v in repeated):
        for event in inspector.others(variable, binding[variable][0], _MOST_MEMBERS):
            failing, of_sets = _failing(inspector, binding)
            if not of_sets:
                break
            larger = {**binding, variable: tuple(sorted((*binding[variable], event)))}
            if _failing(inspector, larger)[0] <= failing:
                binding = larger
    return single if _failing(inspector, binding)[1] else binding


def _failing(inspector: Inspector, binding: Binding) -> tuple[int, int]:
    """Return how many requirements fail, those about single events and those about sets."""
    failing = [f.requirement for f in inspector.findings(binding) if f.holds is False]
    of_sets = sum(req.about_sets(r, inspector.measures.branch) for r in failing)
    return len(failing) - of_sets, of_sets


def consumption(
    matches: Sequence[Binding] | None, binding: Binding, inspector: Inspector
) -> Finding:
    """Return whether skip-till-next-match takes a combination; if not, who consumed its events.

    Args:
        matches: The matches that are taken, in stream order; None where they are not known.
    """
    requirement = req.Unconsumed()
    if matches is None:
        return Finding(requirement, None, "not checked: there are too many matches before it")

    def named(some: Iterable[int]) -> str:
        return list_text([inspector.name(event) for event in some])

    events = {*chain.from_iterable(binding.values())}
    whole = {v: tuple(sorted(members)) for v, members in binding.items()}
    for match in matches:
        if match == whole:
            return Finding(requirement, True, "it is the first with free events")
        both = sorted(events.intersection(chain.from_iterable(match.values())))
        if both:
            text = ", ".join(f"{v} = {named(e)}" for v, e in match.items())
            were = "was" if len(both) == 1 else "were"
            detail = f"{named(both)} {were} taken by the match {text}"
            return Finding(requirement, False, detail, relative=1.0, events=tuple(both))
    return Finding(requirement, False, "another match was taken", relative=1.0)
