"""Explain analyze for a streaming query: the expected and the actual work of each step."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from cepkit.columnar.compile.program import Counters, StepCounters, add_counters
from cepkit.plan.nodes import Plan
from cepkit.printing import Printed, html_output
from cepkit.tables import html_table, number, text_table, whole

_MOST_STEPS = 300
"""The most steps of plans whose work is in the progress of each micro-batch."""

PlanSteps = dict[str, Counters]
"""The work of each plan, by its text; "" if there is only the given plan."""


def add_work(to: PlanSteps, plan: str, counters: Counters) -> None:
    """Add the work of a plan to that of all plans."""
    if plan not in to:
        to[plan] = tuple(tuple(StepCounters(step.variable) for step in each) for each in counters)
    add_counters(to[plan], counters)


def work_texts(search: int, work: PlanSteps) -> Iterable[str]:
    """Return the work of a search in a micro-batch as texts for its progress; none if too many."""
    for plan, counters in work.items():
        steps = [
            [[s.variable, s.candidates, s.survivors, s.removed, s.shared_with] for s in each]
            for each in counters
        ]
        if sum(map(len, steps)) <= _MOST_STEPS:
            yield json.dumps([search, plan, steps])


def work_of_texts(texts: Iterable[str]) -> dict[int, PlanSteps]:
    """Return the work of each search, by its number, over all micro-batches."""
    total: dict[int, PlanSteps] = {}
    for search, plan, branches in map(json.loads, texts):
        counters = tuple(
            tuple(
                StepCounters(name, candidates, survivors, removed, shared_with=shared)
                for name, candidates, survivors, removed, shared in steps
            )
            for steps in branches
        )
        add_work(total.setdefault(search, {}), plan, counters)
    return total


@dataclass(frozen=True, slots=True)
class LiveStep:
    """A step of a plan, over some micro-batches.

    Attributes:
        pattern: The name of the pattern; "" of one alone.
        plan: The plan of its branch.
        variable: The variable that it binds.
        candidates: Pairs of a partial match and an event that were looked at.
        expected_candidates: The number for as many rows of the recording; None where the plan has
            no statistics, or is not the one that was given.
        survivors: Partial matches that came out.
        expected_survivors: As for candidates.
        removed: Partial matches that an event under NOT ruled out.
        shared: Whether a step of another pattern did its work as well.
    """

    pattern: str
    plan: str
    variable: str
    candidates: int
    expected_candidates: float | None
    survivors: int
    expected_survivors: float | None
    removed: int
    shared: bool


@dataclass(frozen=True, slots=True, repr=False)
class StreamExplanation(Printed):
    """The steps of a streaming query: prints as a table, has an HTML repr and a pandas twin.

    Attributes:
        steps: The counts of each step.
    """

    title: str
    steps: tuple[LiveStep, ...]

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each step."""
        names = LiveStep.__slots__
        rows = [{name: getattr(step, name) for name in names} for step in self.steps]
        return pd.DataFrame(rows, columns=list(names))

    def __str__(self) -> str:
        return f"{self.title}\n{text_table(*self._table(), left=3)}" if self.steps else self.title

    def _repr_html_(self) -> str:
        return html_output(html_table(*self._table(), self.title, left=3))

    def _table(self) -> tuple[list[str], list[list[str]]]:
        head = ["pattern", "plan", "step", "candidates", "expected", "survivors", "expected"]
        rows = []
        before: tuple[str, str] | None = None
        for step in self.steps:
            now = step.pattern, step.plan
            named = ["", ""] if now == before else list(now)
            before = now
            if step.shared and not step.candidates:
                rows.append([*named, step.variable, "shared", "", "", ""])
                continue
            counts = [whole(step.candidates), _approximate(step.expected_candidates)]
            counts += [whole(step.survivors), _approximate(step.expected_survivors)]
            rows.append([*named, step.variable, *counts])
        return head, rows


def _approximate(expected: float | None) -> str:
    return "-" if expected is None else f"~{number(expected)}"


Branch = tuple[str, Plan, int]
"""The pattern's name, its plan, and the number of a branch in it."""


def steps_of(
    work: Mapping[int, PlanSteps], branches: Mapping[int, Sequence[Branch]], rows: int
) -> tuple[LiveStep, ...]:
    """Return the steps of searches, with the expected work of each.

    Args:
        branches: For each search the branch of each of its programs.
        rows: The number of rows that came; the expected work is that for as many rows of the
            recording from which a plan's statistics are.
    """
    steps: list[LiveStep] = []
    for search, programs in branches.items():
        for plan_text, counters in work.get(search, {}).items():
            for (name, plan, number_), own_counters in zip(programs, counters, strict=True):
                own = plan_text.split("; ")[number_] if plan_text else str(plan.branches[number_])
                scale = _scale(plan, rows) if own == str(plan.branches[number_]) else None
                steps += _steps(name, own, plan, number_, own_counters, scale)
    return tuple(steps)


def _scale(plan: Plan, rows: int) -> float | None:
    known = plan.statistics
    return rows / known.events if known is not None and known.events and plan.expected else None


def _steps(
    name: str,
    text: str,
    plan: Plan,
    branch: int,
    counters: Sequence[StepCounters],
    scale: float | None,
) -> Iterable[LiveStep]:
    expected = {} if scale is None else {step.variable: step for step in plan.expected[branch]}
    for step in counters:
        forecast = expected.get(step.variable)
        yield LiveStep(
            name,
            text,
            step.variable,
            step.candidates,
            None if forecast is None or scale is None else forecast.candidates * scale,
            step.survivors,
            None if forecast is None or scale is None else forecast.partial_matches * scale,
            step.removed,
            bool(step.shared_with),
        )
