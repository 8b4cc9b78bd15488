"""MULTI's further experiments (figures 13 and 14): workloads and streams with chosen properties.

Rates are spread evenly between 2 and 47, as measured in the source. *Density* is the mean share of
the other patterns that a pattern has two events or more in common with; one common event saves no
step. The *difference of rates* limits which types a workload may have, as a share of the largest
difference, 45. The changing stream permutes five of twelve types, others after every x events.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.multi_costs import instances, per_event, per_second
from benchmarks.multi_runs import SEARCHED, WAYS, measured
from benchmarks.several_patterns import Source, drawn, source
from cepkit import choose_plan, detect, profile
from cepkit.pattern.query import Query
from cepkit.sharing import pattern_graph
from cepkit.stream.stream import Stream, events

RATES = (2.0, 47.0)
"""The least and the largest rate of the source."""
TYPES = 60
FEW_TYPES = 12
"""The number of types where the density is chosen."""
PATTERNS = 30
DENSITIES = (0.1, 0.3, 0.5, 0.7)
DIFFERENCES = (0.1, 0.25, 0.5, 1.0)
WINDOW = 900.0
EVENTS_IN_WINDOW = 250
PERMUTED = 5
CHANGES = (250, 1_000, 5_000, 20_000, 50_000)
"""After how many events types are permuted again."""
CANDIDATES = 6
"""How many times more patterns are drawn than chosen for a density."""
TRIES = 20_000
MOST_PARTIAL_MATCHES = 2.0
"""The partial matches that a pattern may keep in its best order, for each event of the stream."""

_NAMES = ("text order", "sharing only (SH)", "reordering (RE)", "own plans, equal once",
          "prefixes, greedy-merge", "prefixes, annealing", "prefixes, tabu")  # fmt: skip
SENSITIVITY_WAYS = [way for way in dict.fromkeys((*WAYS, *SEARCHED)) if way.name in _NAMES]


def even_rates(n: int, types: int) -> pa.Table:
    """Return a stream of `n` events whose types have evenly spread rates."""
    rng = np.random.default_rng(0)
    weights = np.linspace(*RATES, types)
    codes = rng.choice(types, size=n, p=weights / weights.sum())
    gaps = rng.exponential(WINDOW * 1e6 / EVENTS_IN_WINDOW, n)
    ticks = np.maximum(1, np.rint(gaps)).astype(np.int64)
    names = np.array([f"T{number:02d}" for number in range(types)])
    return pa.table(
        {
            "ts": pa.array(np.cumsum(ticks), pa.timestamp("us")),
            "type": names[codes],
            "diff": rng.standard_normal(n),
        }
    )


def patterns(given: Source, n: int, seed: int) -> list[Query]:
    """Return patterns of some five events over a stream."""
    most = MOST_PARTIAL_MATCHES * EVENTS_IN_WINDOW * given.seconds / WINDOW
    return drawn(given, n, WINDOW, most=most, seed=seed, operators=0.2)


def of_density(given: Source, n: int, density: float, seed: int) -> tuple[list[Query], float]:
    """Return patterns whose graph has about this density, and the density.

    Patterns are exchanged for others at random, as long as the density comes nearer.
    """
    pool = patterns(given, CANDIDATES * n, seed)
    common = common_parts(pool)
    draw = random.Random(seed)
    order = draw.sample(range(len(pool)), len(pool))
    chosen, others = order[:n], order[n:]
    pairs = n * (n - 1)
    wanted = round(density * pairs / 2)
    edges = int(common[np.ix_(chosen, chosen)].sum()) // 2
    for _ in range(TRIES):
        if edges == wanted:
            break
        out, into = draw.randrange(n), draw.randrange(len(others))
        rest = chosen[:out] + chosen[out + 1 :]
        changed = edges + int(common[others[into], rest].sum() - common[chosen[out], rest].sum())
        if abs(changed - wanted) < abs(edges - wanted):
            chosen[out], others[into], edges = others[into], chosen[out], changed
    return [pool[number] for number in chosen], 2 * edges / pairs


def common_parts(queries: Sequence[Query]) -> npt.NDArray[np.bool_]:
    """Return for each two patterns whether they have two events or more in common."""
    graph = pattern_graph(queries)
    at = {name: number for number, name in enumerate(graph.names)}
    common = np.zeros((len(queries), len(queries)), dtype=np.bool_)
    for (one, other), parts in graph.edges.items():
        if any(part.size > 1 for part in parts):
            common[at[one], at[other]] = common[at[other], at[one]] = True
    return common


def within(given: Source, difference: float) -> Source:
    """Return a stream whose patterns only have types with rates that differ by at most this.

    Args:
        given: The stream.
        difference: As a share of the largest difference; the types are those in the middle.
    """
    low, high = min(given.rates.values()), max(given.rates.values())
    middle, half = (low + high) / 2, difference * (high - low) / 2
    rates = {kind: rate for kind, rate in given.rates.items() if abs(rate - middle) <= half * 1.01}
    return replace(given, rates=rates)


def by_density(n: int, seeds: Sequence[int], runs: int) -> list[dict[str, Any]]:
    """Return the results of all ways while patterns have more and more in common."""
    given = source("even rates", even_rates(n, FEW_TYPES))
    rows = []
    for density in DENSITIES:
        for seed in seeds:
            queries, reached = of_density(given, PATTERNS, density, seed)
            about = {"stream": given.name, "density": density, "seed": seed, "reached": reached}
            rows += [about | row for row in measured(given, queries, SENSITIVITY_WAYS, runs)]
    return rows


def by_difference(n: int, seeds: Sequence[int], runs: int) -> list[dict[str, Any]]:
    """Return the results of all ways while the rates of a workload differ more and more."""
    given = source("even rates", even_rates(n, TYPES))
    rows = []
    for difference in DIFFERENCES:
        for seed in seeds:
            queries = patterns(within(given, difference), PATTERNS, seed)
            about = {"stream": given.name, "difference of rates": difference, "seed": seed}
            rows += [about | row for row in measured(given, queries, SENSITIVITY_WAYS, runs)]
    return rows


def permuted(table: pa.Table, every: int, seed: int = 0) -> pa.Table:
    """Return a stream in which some types take each other's place, others after `every` events."""
    rng = np.random.default_rng(seed)
    kinds, codes = np.unique(
        table["type"].to_numpy(zero_copy_only=False).astype(str), return_inverse=True
    )
    for first in range(0, len(codes), every):
        taken = rng.choice(len(kinds), PERMUTED, replace=False)
        places = np.arange(len(kinds))
        places[taken] = rng.permutation(taken)
        codes[first : first + every] = places[codes[first : first + every]]
    return table.set_column(table.column_names.index("type"), "type", pa.array(kinds[codes]))


def by_change(n: int, seed: int) -> list[dict[str, Any]]:
    """Return the work of plans that stay, and of plans that follow, while a stream changes."""
    table = even_rates(n, FEW_TYPES)
    given = source("even rates", table)
    queries = patterns(given, PATTERNS, seed)
    begun = choose_plan(queries, profile(given.stream, queries), share="prefix")
    rows = []
    for every in CHANGES:
        stream = events(permuted(table, every, seed), time="ts", type="type")
        known = choose_plan(queries, profile(stream, queries), share="prefix")
        counts = None
        for way, plan, adapt in (
            ("plan of the start", begun, "static"),
            ("plan of the whole stream", known, "static"),
            ("plans of slices, shared", begun, "slices"),
            ("plans of slices, each alone", None, "slices"),
        ):
            work, counted, seconds = followed(stream, queries, plan, adapt)
            assert counts in (None, counted), way
            counts = counted
            about = {"permuted after": every, "way": way}
            rows.append(about | {"million candidates": work / 1e6, "ms": 1e3 * seconds})
    return rows


def followed(
    stream: Stream, queries: Sequence[Query], plan: Any, adapt: str
) -> tuple[int, list[int], float]:
    """Return the candidates, the matches of each pattern, and the processor time of a second run.

    Args:
        stream: The events.
        queries: The patterns.
        plan: Their shared plan; None to detect one after the other.
        adapt: As for `detect`.
    """
    work, counts, seconds = 0, [0], 0.0
    for _ in range(2):
        began = time.process_time()
        if plan is not None:
            several = detect(stream, queries, plan=plan, adapt=adapt)
            counts = several.counts().tolist()
            seconds = time.process_time() - began
            work = sum(step.candidates for step in several.explain().steps)
        else:
            each = [detect(stream, query, adapt=adapt) for query in queries]
            counts = [matches.count() for matches in each]
            seconds = time.process_time() - began
            tables = [matches.explain().to_pandas() for matches in each]
            work = sum(int(table["candidates"].sum()) for table in tables)
    return work, counts, seconds


def by_instances(n: int, seed: int) -> list[dict[str, Any]]:
    """Return the instances of the plans of each way, and their CP and CR in a second."""
    given = source("even rates", even_rates(n, FEW_TYPES))
    queries, _ = of_density(given, PATTERNS, 0.5, seed)
    known = profile(given.stream, queries)
    rows = []
    for way in (*SENSITIVITY_WAYS, *(each for each in WAYS if each.share == "tree")):
        plan = choose_plan(queries, known, way.search, share=way.share)
        costs = {} if way.share == "tree" else per_second(per_event(plan))
        about: dict[str, Any] = {"way": way.name, "nodes": len(plan.nodes), "work": plan.cost}
        rows.append(about | {"#inst": instances(plan), "CP": None, "CR": None} | costs)
    return rows
