"""Measurements from running a query: the work of plans, and which event comes last.

Each plan counts all matches of a part of a stream, which visits every partial match without writing
rows. A plan whose expected work would take far too long is not run, and the result says so.

The output profile counts which variable's event was the last of each match: under AND that is
unknown in advance, and a plan's latency depends on it. Source: *Join Query Optimization Techniques
for Complex Event Processing Applications* (VLDB 2018), section 6.1, which counts whole orders; the
latency depends on the last variable alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from time import perf_counter
from typing import Any

from cepkit.columnar.results.matches import Matches
from cepkit.costs.latency import OutputProfile
from cepkit.errors import LimitError
from cepkit.plan.nodes import Plan
from cepkit.planners.compare import ComparedPlan, Measured, PlanComparison
from cepkit.stream.stream import Stream
from cepkit.tables import number

MOST_MATCHES = 100_000
"""The most matches for an output profile."""

MOST_WORK = 3e9
"""The most expected candidates and partial matches of a plan to run: some ten seconds."""
_RUNS = 3
_LONG = 1.0
"""A run longer than this many seconds is not repeated."""


def run_plans(
    comparison: PlanComparison, part: Stream, *, most_work: float = MOST_WORK
) -> PlanComparison:
    """Return the comparison with the measured work of each plan.

    Args:
        part: A local stream with the events to run all plans over.
        most_work: Expected candidates and partial matches above which a plan is not run.
    """
    events = len(part)
    rows = tuple(_run(row, comparison, part, events, most_work) for row in comparison.rows)
    note = f"measured on the first {events:,} events"
    return replace(comparison, rows=rows, notes=(*comparison.notes, note))


def _run(
    row: ComparedPlan, comparison: PlanComparison, part: Stream, events: int, most_work: float
) -> ComparedPlan:
    expected = _expected_work(row.plan, events)
    if expected > most_work:
        return replace(row, not_run=f"not run: {number(expected)} candidates expected")
    try:
        return replace(row, measured=measure(comparison, row.plan, part, events))
    except LimitError as error:
        return replace(row, not_run=f"not run: {error.found}")


def measure(comparison: PlanComparison, plan: Plan, part: Stream, events: int) -> Measured:
    """Return the measured work of one plan on a local stream."""
    matches = Matches(part, comparison.query, plan)
    seconds: list[float] = []
    # The first run may compile loops, or load columns into the processor's cache.
    while len(seconds) <= _RUNS:
        begin = perf_counter()
        steps = matches.explain(anew=True).steps
        seconds.append(perf_counter() - begin)
        if seconds[-1] > _LONG:
            break
    return Measured(
        events,
        sum(step.candidates for step in steps),
        sum(step.survivors for step in steps),
        matches.count(),
        sum(step.peak_rows for step in steps),
        min(seconds),
    )


def _expected_work(plan: Plan, events: int) -> float:
    """Return the expected candidates and partial matches for this many events.

    Sets of Kleene variables are counted without enumeration: only single events add work.
    """
    if plan.statistics is None or not plan.statistics.events:
        return 0.0
    share = events / plan.statistics.events
    return share * sum(step.candidates for branch in plan.expected for step in branch)


def output_profile(matches: Matches, *, limit: int = MOST_MATCHES) -> OutputProfile:
    """Count which variable's event is the last of matches.

    If several are last at the same time, each counts as a fraction of the match.

    Args:
        matches: From `detect`, of a local stream.
        limit: The most matches to use: those found first.
    """
    counted: Counter[str] = Counter()
    timeline = matches.timeline(limit)
    if len(timeline):
        last = timeline[timeline.ts == timeline.groupby("match").ts.transform("max")]
        last = last.drop_duplicates(["match", "variable"])
        share: Any = 1.0 / last.groupby("match").variable.transform("count")
        counted.update(share.groupby(last.variable).sum().to_dict())
    return OutputProfile(counted)
