"""The ways to plan many patterns that MULTI's study compares, and the runs of each."""

from __future__ import annotations

import math
import time
import tracemalloc
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.several_patterns import Source
from benchmarks.sharing_searches import STUDIED
from cepkit import choose_plan, detect, profile
from cepkit.pattern.query import Query
from cepkit.sharing.parts import Share
from cepkit.sharing.searches import SharingSearch
from cepkit.sharing.shared_plan import SharedPlan

MOST = 2e9
"""The most candidates that a run may be expected to look at: some seconds."""
LONG = 0.3
"""The seconds from which on a run is timed only once."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to plan patterns: the parts that plans may share, and the search."""

    name: str
    share: Share
    search: str | SharingSearch


_STUDIED = {search.name: search for search in STUDIED}
BASE = Way("text order", "prefix", _STUDIED["text-order"])
WAYS = (
    BASE,
    Way("sharing only (SH)", "prefix", _STUDIED["sharing-only"]),
    Way("reordering (RE)", "prefix", _STUDIED["reordering"]),
    Way("own plans, apart", "none", "greedy-merge"),
    Way("own plans, equal once", "prefix", "own-plans"),
    Way("prefixes, greedy-merge", "prefix", "greedy-merge"),
    Way("trees, greedy-merge", "tree", "greedy-merge"),
    Way("auto", "auto", "greedy-merge"),
)
SEARCHED = (
    BASE,
    *(
        Way(f"{kind}, {search}", share, _STUDIED.get(search, search))
        for kind, share in (("prefixes", "prefix"), ("trees", "tree"))
        for search in ("redundancy-ratio", "merge-decompose", "greedy-merge", "annealing", "tabu")
    ),
)


def measured(
    given: Source, queries: Sequence[Query], ways: Sequence[Way], runs: int
) -> list[dict[str, Any]]:
    """Return the plan and work of each way: one row each."""
    known = profile(given.stream, queries)
    rows, plans, counts = [], {}, None
    for way in ways:
        began = time.process_time()
        plan = choose_plan(queries, known, way.search, share=way.share)
        planning = time.process_time() - began
        row: dict[str, Any] = {"way": way.name, "planning s": planning, "cost": plan.cost}
        row |= {"seconds": None, "candidates": None, "partial matches": None, "peak MB": None}
        rows.append(row)
        if expected(plan) <= MOST:
            plans[way.name] = plan
            row |= first_run(given, queries, plan)
            found = row.pop("counts")
            assert counts in (None, found), way.name
            counts, row["seconds"] = found, math.inf
    for _ in range(runs):
        for row in rows:
            plan = plans.get(row["way"])
            if plan is not None and not LONG <= row["seconds"] < math.inf:
                began = time.process_time()
                detect(given.stream, queries, plan=plan).counts()
                row["seconds"] = min(row["seconds"], time.process_time() - began)
    return rows


def expected(plan: SharedPlan) -> float:
    """Return the candidates that the plans are expected to look at, without sharing."""
    return sum(each.forecast.candidates for each in plan.plans if each.forecast is not None)


def first_run(given: Source, queries: Sequence[Query], plan: SharedPlan) -> dict[str, Any]:
    """Return the counts of a run that is not timed, and the memory that it adds."""
    tracemalloc.start()
    try:
        several = detect(given.stream, queries, plan=plan)
        counts = several.counts().tolist()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    steps = several.explain().steps
    return {
        "counts": counts,
        "candidates": sum(step.candidates for step in steps),
        "partial matches": sum(step.survivors for step in steps),
        "peak MB": peak / 1e6,
    }


def gains(rows: Iterable[Mapping[str, Any]], by: Sequence[str]) -> list[dict[str, Any]]:
    """Return for each way how many times better than the order of the text it is.

    Args:
        rows: Rows of `measured`, with columns that identify workloads, among them the seed.
        by: The columns that identify a row of the result, beside the way.
    """
    cases: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        cases.setdefault((*(row[name] for name in by), row["seed"]), []).append(row)
    grouped: dict[tuple[Any, ...], list[tuple[Mapping[str, Any], Mapping[str, Any]]]] = {}
    for case, each in cases.items():
        base = next(row for row in each if row["way"] == BASE.name)
        for row in each:
            grouped.setdefault((*case[:-1], row["way"]), []).append((base, row))
    return [
        {
            **dict(zip((*by, "way"), key, strict=True)),
            "x cost": mean(base["cost"] / row["cost"] for base, row in pairs),
            "x time": _mean_times(pairs, "seconds"),
            "x candidates": _mean_times(pairs, "candidates"),
            "x partial matches": _mean_times(pairs, "partial matches"),
            "ms": _mean_of(pairs, "seconds", 1e3),
            "peak MB": _mean_of(pairs, "peak MB", 1.0),
            "planning s": mean(row["planning s"] for _, row in pairs),
        }
        for key, pairs in grouped.items()
    ]


def mean(values: Iterable[float]) -> float:
    """Return the geometric mean; NaN if there are no numbers."""
    logs = [math.log(max(value, 1e-12)) for value in values]
    return math.exp(math.fsum(logs) / len(logs)) if logs else math.nan


def _mean_times(pairs: Sequence[tuple[Any, Any]], name: str) -> float | None:
    """Return how many times less; None where one of the two did not run in some workload."""
    if any(row[name] is None for pair in pairs for row in pair):
        return None
    return mean((base[name] or 1) / (row[name] or 1) for base, row in pairs)


def _mean_of(pairs: Sequence[tuple[Any, Any]], name: str, scale: float) -> float | None:
    if any(row[name] is None for _, row in pairs):
        return None
    return mean(row[name] * scale for _, row in pairs)
