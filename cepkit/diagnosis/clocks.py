"""The clock readings under which a combination is a match, or is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cepkit.columnar.results.certainty import Box
from cepkit.diagnosis.findings import Finding
from cepkit.diagnosis.result import AnswerEvent, WhyNot
from cepkit.diagnosis.words import duration_text
from cepkit.pattern import requirements as req
from cepkit.pattern.bounds import bound_of
from cepkit.pattern.conditions import attributes_of
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.query import Query
from cepkit.pattern.uncertain import Difference, differences_of

_MISSES = 5

ErrorOf = Callable[[int], int]
"""Returns the error of the clock of an event, in microseconds."""


def with_clocks(answer: WhyNot, query: Query, time: str, error_of: ErrorOf) -> WhyNot:
    """Return an answer with notes that say what clocks would have to show.

    Args:
        answer: The answer.
        query: Its query, from `uncertain_query`.
        time: The column of the time.
        error_of: The errors.
    """
    branches = normal_form(query)
    notes = []
    if answer.events:
        events, findings = (*answer.events, *answer.culprits), answer.requirements.rows
        text = _note(branches, events, answer.culprits, findings, time, error_of)
        notes += [] if text is None else [text]
    else:
        for number, miss in enumerate(answer.near_misses.rows[:_MISSES], start=1):
            text = _note(branches, miss.events, (), miss.violated, time, error_of)
            notes += [] if text is None else [f"near miss {number}: {text}"]
    return replace(answer, notes=(*answer.notes, *notes))


def _note(
    branches: Sequence[Branch],
    events: Sequence[AnswerEvent],
    culprits: Sequence[AnswerEvent],
    findings: Sequence[Finding],
    time: str,
    error_of: ErrorOf,
) -> str | None:
    """Return the note on a combination; None if it lacks an event, or was not decided."""
    at = {event.variable: event for event in events}
    branch = next((b for b in branches if {*b.variables} <= {*at}), None)
    failing = [f for f in findings if f.holds is not True]
    if branch is None or any(f.holds is None for f in failing):
        return None
    others = [f for f in failing if not _of_times(f, culprits, time)]
    if others:
        return f"no clocks make it a match: {req.text_of(others[0].requirement)} fails"
    errors = {v: error_of(event.event) for v, event in at.items()}
    demands = [one for one in differences_of(branch) if one.about <= {*branch.variables}]
    clocks = _Clocks(at, errors)
    if not failing:
        least = min(demands, key=clocks.slack, default=None)
        if least is None or branch.negated:
            return None
        if clocks.slack(least) >= clocks.reach(least):
            return "a certain match: it matches for all true times"
        what = clocks.words(least, clocks.slack(least) + 1, worse=True)
        return f"a possible match, not a certain one: no match if {what}"
    return _only_if(branch, demands, culprits, clocks)


def _of_times(finding: Finding, culprits: Sequence[AnswerEvent], time: str) -> bool:
    match finding.requirement:
        case req.Before() | req.Within():
            return True
        case req.Holds(condition):
            names = {name for _, name in attributes_of(condition)}
            return time in names or bound_of(condition) is not None
        case req.Absent():
            return len(culprits) == 1
        case _:
            return False


def _only_if(
    branch: Branch,
    demands: Sequence[Difference],
    culprits: Sequence[AnswerEvent],
    clocks: _Clocks,
) -> str:
    """Return by how much clocks must be off for a combination to be a match."""
    needs = [(one, -clocks.slack(one), False) for one in demands if clocks.slack(one) < 0]
    for event in culprits:
        ways = [one for one in differences_of(branch) if event.variable in one.about]
        way = min(ways, key=lambda one: clocks.slack(one) - clocks.reach(one), default=None)
        if way is None:
            return f"no clocks make it a match: '{event.variable}' cannot be elsewhere"
        needs.append((way, clocks.slack(way) + 1, True))
    for one, off, _ in needs:
        if off > clocks.reach(one):
            return (
                f"no clocks make it a match: they would have to be {duration_text(off)} off, and"
                f" clock_error= allows {duration_text(clocks.reach(one))} for the two"
            )
    if not clocks.box(branch.variables).sometimes(demands)[0]:
        return "no clocks make it a match: its requirements exclude each other"
    texts = [clocks.words(one, off, worse=worse) for one, off, worse in needs]
    return f"a possible match: only if {', and '.join(texts)}"


class _Clocks:
    """The clocks of some events.

    Args:
        at: The event of each variable.
        errors: The errors of their clocks.
    """

    def __init__(self, at: Mapping[str, AnswerEvent], errors: Mapping[str, int]) -> None:
        self._at, self._errors = at, errors

    def slack(self, one: Difference) -> int:
        """Return by how many microseconds a demand holds as the clocks are, negative if not."""
        return one.most - (self._at[one.later].time - self._at[one.earlier].time)

    def reach(self, one: Difference) -> int:
        """Return by how much both clocks can be off together."""
        return self._errors[one.later] + self._errors[one.earlier]

    def box(self, variables: Sequence[str]) -> Box:
        """Return the true times of some events."""
        times = {v: np.array([self._at[v].time]) for v in variables}
        return Box.of(times, {v: np.array([self._errors[v]]) for v in variables})

    def words(self, one: Difference, off: int, *, worse: bool) -> str:
        """Return which clocks are off by how much.

        Args:
            one: The demand that they decide.
            off: By how many microseconds.
            worse: Whether it fails then, else it holds.
        """
        slow, fast = (one.later, one.earlier) if worse else (one.earlier, one.later)
        strictly = (one.most == -1) != worse
        amount = f"more than {duration_text(off - 1)}" if strictly else duration_text(off)
        alone = [
            f"{self._name(v)} was {amount} {word}"
            for v, word in ((slow, "slow"), (fast, "fast"))
            if off <= self._errors[v]
        ]
        if alone:
            return f"the clock of {', or that of '.join(alone)}"
        return (
            f"the clock of {self._name(slow)} was slow and that of {self._name(fast)} fast,"
            f" by {amount} together"
        )

    def _name(self, variable: str) -> str:
        return f"{variable} ({self._at[variable].name})"
