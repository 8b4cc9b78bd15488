"""MULTI's study: many patterns without sharing, reordered, shared by prefixes and by trees.

Patterns are drawn as in the source (`several_patterns`, a fifth of them with NOT or KL) over the
minute bars of a day and over a generated stream in which 15 minutes hold a thousand events. Every
way of planning runs on the same engine over the same stream, read and measured before; what is
timed is `detect(stream, patterns, plan).counts()`, in processor time, the ways in turns after one
run that compiles. All ways must find the same matches. Plans that are expected to look at more
than `MOST` candidates are not run. Means are geometric, over workloads of several seeds.

    python -m benchmarks.multi_study [--quick] [--only TABLE,...] [--seeds 0,1,2] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.datasets import absent
from benchmarks.multi_runs import SEARCHED, WAYS, Way, gains, measured
from benchmarks.multi_sensitivity import by_change, by_density, by_difference, by_instances
from benchmarks.results import show
from benchmarks.several_patterns import Source, drawn, generated, minute_bars, source, with_core
from benchmarks.streams import zipf_events
from cepkit import profile
from cepkit.costs.work import WORK
from cepkit.pattern.query import Query
from cepkit.sharing.plan_graph import Mode, PlanGraph, Prepared
from cepkit.sharing.prices import number_of
from cepkit.sharing.searches import Annealing, GreedyMerge, SharingObserved, SharingSearch, Tabu
from cepkit.sharing.start import own_plans
from cepkit.sharing.workload import Workload

OPERATORS = 0.2
MODES: tuple[tuple[str, Mode], ...] = (("prefixes", "order"), ("trees", "tree"))
MARKS = (0.03, 0.1, 0.3, 1.0, 3.0)
"""The processor seconds after which the cost of a search's best plans is read."""


@dataclass(frozen=True, slots=True)
class Market:
    """A stream, and the partial matches that a pattern may keep under its best order."""

    source: Source
    most: float

    def patterns(self, n: int, minutes: float, seed: int, size: int = 5) -> list[Query]:
        """Return patterns over the stream."""
        return drawn(
            self.source, n, 60 * minutes, size=size, most=self.most, seed=seed, operators=OPERATORS
        )


@lru_cache(maxsize=2)
def markets(events: int) -> tuple[Market, ...]:
    """Return the streams; recorded ones where their files are."""
    made = Market(generated(events, gap_ms=900.0), 1.5 * events)
    reason = absent("nasdaq-minute")
    if reason:
        print(f"minute bars left out: {reason}")
        return (made,)
    return Market(minute_bars(), 1e6), made


def best_at(seen: Sequence[tuple[float, float]], marks: Sequence[float]) -> list[float | None]:
    """Return the least cost that a search had after some seconds; None where it had none.

    Args:
        seen: The seconds since it began, and the cost of its best plans.
        marks: The seconds at which the cost is read.
    """
    return [min((cost for at, cost in seen if at <= mark), default=None) for mark in marks]


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured.

    Attributes:
        events: The number of events of the generated stream.
        seeds: The seeds; a workload is drawn for each.
        runs: How often each way is timed.
        sizes: The numbers of patterns.
        minutes: The windows in minutes.
        lengths: The mean numbers of events of a pattern.
        patterns: The number of patterns in the tables by window, length and search.
        neighbours: How many neighbours a search may look at.
        spread: The number of events of the streams with evenly spread rates.
    """

    events: int = 200_000
    seeds: tuple[int, ...] = (0, 1)
    runs: int = 3
    sizes: tuple[int, ...] = (10, 25, 50, 100)
    minutes: tuple[float, ...] = (1, 5, 15, 30)
    lengths: tuple[int, ...] = (3, 4, 5, 6)
    patterns: int = 50
    neighbours: int = 20_000
    spread: int = 40_000


QUICK = Extent(20_000, (0,), 1, (5, 20), (5, 15), (3, 5), 15, 1_000, 5_000)


def over(
    extent: Extent,
    name: str,
    values: Sequence[float],
    draw: Callable[[Market, Any, int], list[Query]],
    ways: Sequence[Way] = WAYS,
) -> list[dict[str, Any]]:
    """Return the results of all ways while one setting changes."""
    rows = []
    for market in markets(extent.events):
        for value in values:
            for seed in extent.seeds:
                queries = draw(market, value, seed)
                about = {"stream": market.source.name, name: value, "seed": seed}
                rows += [about | row for row in measured(market.source, queries, ways, extent.runs)]
    return rows


def by_number(extent: Extent) -> list[dict[str, Any]]:
    """Return the results with more and more patterns, windows of 15 minutes."""
    return over(extent, "patterns", extent.sizes, lambda m, n, seed: m.patterns(n, 15, seed))


def by_window(extent: Extent) -> list[dict[str, Any]]:
    """Return the results with larger and larger windows."""
    n = extent.patterns
    return over(extent, "minutes", extent.minutes, lambda m, w, seed: m.patterns(n, w, seed))


def by_length(extent: Extent) -> list[dict[str, Any]]:
    """Return the results with longer and longer patterns."""
    n = extent.patterns
    return over(extent, "events", extent.lengths, lambda m, k, s: m.patterns(n, 15, s, k))


def by_search(extent: Extent) -> list[dict[str, Any]]:
    """Return the plans that each search finds with its default settings."""
    sizes = (extent.patterns,)
    return over(extent, "patterns", sizes, lambda m, n, seed: m.patterns(n, 15, seed), SEARCHED)


def with_a_core(extent: Extent) -> list[dict[str, Any]]:
    """Return the results where 30 patterns begin with the same selective pair."""
    table = zipf_events(extent.events)
    given = source("30 patterns with a core", table)
    queries = with_core(table, 30, 40.0)
    ways = {way.name: way for way in (*WAYS, *SEARCHED)}
    rows = measured(given, queries, [*ways.values()], extent.runs)
    return [{"stream": given.name, "seed": 0} | row for row in rows]


def over_time(extent: Extent) -> list[dict[str, Any]]:
    """Return how good plans are after some seconds of search, against each pattern's own plan."""
    steps, tabu = extent.neighbours, extent.neighbours // Tabu().width
    searches: dict[str, SharingSearch] = {
        "greedy-merge": GreedyMerge(),
        "annealing, edge": Annealing(steps=steps, idle=steps),
        "annealing, vertex(4)": Annealing(most=4, steps=steps, idle=steps),
        "tabu, edge": Tabu(steps=tabu, idle=tabu),
        "tabu, vertex(4)": Tabu(most=4, steps=tabu, idle=tabu),
    }
    rows = []
    for market in markets(extent.events):
        queries = market.patterns(extent.patterns, 15, extent.seeds[0])
        known = profile(market.source.stream, queries)
        for share, mode in MODES:
            workload = Workload.of(queries, [known.of(query) for query in queries])
            for name, search in searches.items():
                about = {"stream": market.source.name, "share": share, "search": name}
                rows.append(about | searched(Prepared(workload, WORK, mode), search))
    return rows


def searched(prepared: Prepared, search: SharingSearch) -> dict[str, Any]:
    """Return how much less the plans of a search cost than each pattern's own best plan."""
    seen: list[tuple[float, float]] = []
    neighbours = 0
    began = time.process_time()

    def observe(where: SharingObserved) -> None:
        nonlocal neighbours
        neighbours = where.examined
        seen.append((time.process_time() - began, where.cost))

    search.search(prepared, observe)
    seconds = time.process_time() - began
    own = number_of(PlanGraph(prepared, own_plans(prepared)).cost)
    row: dict[str, Any] = {"neighbours": neighbours, "seconds": seconds}
    for mark, cost in zip((*MARKS, math.inf), best_at(seen, (*MARKS, math.inf)), strict=True):
        name = "% less" if mark == math.inf else f"% less, {mark:g} s"
        row[name] = (
            None
            if cost is None or (mark > seconds and mark < math.inf)
            else (100 * (1 - cost / own))
        )
    return row


TABLES: dict[str, tuple[Callable[[Extent], list[dict[str, Any]]], tuple[str, ...]]] = {
    "patterns": (by_number, ("stream", "patterns")),
    "windows": (by_window, ("stream", "minutes")),
    "lengths": (by_length, ("stream", "events")),
    "searches": (by_search, ("stream", "patterns")),
    "core": (with_a_core, ("stream",)),
    "over_time": (over_time, ()),
    "density": (
        lambda extent: by_density(extent.spread, extent.seeds, extent.runs),
        ("stream", "density"),
    ),
    "rates": (
        lambda extent: by_difference(extent.spread, extent.seeds, extent.runs),
        ("stream", "difference of rates"),
    ),
    "changes": (lambda extent: by_change(2 * extent.spread, extent.seeds[0]), ()),
    "instances": (lambda extent: by_instances(extent.spread, extent.seeds[0]), ()),
}


def main(arguments: Sequence[str] = ()) -> None:
    """Measure, print tables, and write them with all single runs as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.multi_study", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small workloads, once: a minute")
    parser.add_argument("--only", default=",".join(TABLES), help=f"some of {', '.join(TABLES)}")
    parser.add_argument("--seeds", help="of the workloads, as 0,1,2")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    chosen = parser.parse_args(arguments)
    unknown = sorted({*chosen.only.split(",")} - {*TABLES})
    if unknown:
        parser.error(f"no table '{unknown[0]}'; there are: {', '.join(TABLES)}")
    extent = QUICK if chosen.quick else Extent()
    if chosen.seeds:
        extent = replace(extent, seeds=tuple(map(int, chosen.seeds.split(","))))
    chosen.out.mkdir(parents=True, exist_ok=True)
    for name in chosen.only.split(","):
        table, by = TABLES[name]
        began, load = time.process_time(), os.getloadavg()[0]
        rows = table(extent)
        means = gains(rows, by) if by else rows
        title = f"{name}: {time.process_time() - began:.0f} s, load {load:.1f} at the beginning"
        show(title, means)
        about = {"extent": asdict(extent), "load": load, "cores": os.cpu_count()}
        whole = {"table": name, **about, "means": means, "runs": rows}
        (chosen.out / f"multi_{name}.json").write_text(json.dumps(whole, indent=1))


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
