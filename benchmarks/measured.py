"""The time of some work, and the results and counts of a query over a stream in memory."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from cepkit.columnar.results.matches import Matches
from cepkit.columnar.slices.plans import SlicePlans
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.stream.stream import Stream


@dataclass(frozen=True)
class Run:
    """A run, its events loaded before; indexes are built within its seconds.

    Attributes:
        seconds: CPU time, the least of several runs: the wall time of an idle machine.
        matches: The number of matches.
        candidates: The pairs of a partial match and an event that were looked at.
        partials: The partial matches of all steps.
    """

    seconds: float
    matches: int
    candidates: int
    partials: int


def least_seconds(work: Callable[[], object], runs: int) -> float:
    """Return the CPU time of some work, the least of several runs."""
    least = math.inf
    for _ in range(runs):
        began = time.process_time()
        work()
        least = min(least, time.process_time() - began)
    return least


def run(
    stream: Stream,
    query: Query,
    plan: Plan,
    times: int = 5,
    plans: Callable[[], SlicePlans | None] = lambda: None,
    slice_rows: int | None = None,
) -> Run:
    """Count the matches of a query, several times.

    Args:
        stream: A local stream.
        query: The query whose matches are counted.
        plan: The plan of the whole stream.
        times: The number of runs; the least time counts.
        plans: Returns what plans slices, a new one for each run.
        slice_rows: The number of events of a slice; None: chosen by the engine.
    """
    seconds = math.inf
    for _ in range(times):
        matches = Matches(stream, query, plan, plans=plans(), slice_rows=slice_rows)
        began = time.process_time()
        found = matches.count()
        seconds = min(seconds, time.process_time() - began)
    steps = matches.explain().steps
    candidates = sum(step.candidates for step in steps)
    return Run(seconds, found, candidates, sum(step.survivors for step in steps))
