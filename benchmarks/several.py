"""Many patterns at once against one after the other: processor time, candidates, planning.

Times are processor times of counting the matches of parsed patterns over a stream in memory: the
least of several runs, in which the ways take turns. *Separate* is a call of `detect` for each
pattern, *together* one call with the list, both with measuring and planning; *scan only* is the
list with `share="none"`. *Ready* is together with a shared plan that was made before.

    python -m benchmarks several [-- --patterns 10,100 --runs N --events N --only NAME,...
                                    --spark N --out FOLDER]
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks.datasets import absent
from benchmarks.results import Row, show, write
from benchmarks.several_patterns import Source, drawn, generated, minute_bars, with_core
from benchmarks.streams import zipf_events
from cepkit import choose_plan, detect, profile
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.stream.stream import Stream, events

BARS = ("nasdaq-minute", 900.0, 1e6)
EVENTS = ("generated", 5.0, 3e5)
"""The generated workload: the window in seconds, and the most partial matches of a pattern."""


def main(arguments: Sequence[str]) -> None:
    """Measure, print and write the tables."""
    parser = argparse.ArgumentParser(prog="benchmarks.several")
    parser.add_argument("--patterns", default="10,100")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", help=f"some of {', '.join(_TABLES)}")
    parser.add_argument("--spark", type=int, metavar="N", help="also 20 patterns over N events")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{os.cpu_count()} cores; load of 1, 5 and 15 minutes: {load}")
    for name in _TABLES if chosen.only is None else chosen.only.split(","):
        rows = _TABLES[name](chosen)
        show(name, rows)
        if chosen.out:
            write(chosen.out, f"several_{name}", rows)
    if chosen.spark:
        rows = on_spark(chosen.spark)
        show("spark", rows)
        if chosen.out:
            write(chosen.out, "several_spark", rows)


def in_turns(ways: Mapping[str, Callable[[], object]], runs: int) -> dict[str, float]:
    """Return the least processor time of each way; they take turns, after one run of each.

    Raises:
        AssertionError: Two ways found different numbers of matches.
    """
    numbers = {name: work() for name, work in ways.items()}  # compiles loops, and compares
    assert len({str(number) for number in numbers.values()}) == 1, numbers
    least = dict.fromkeys(ways, math.inf)
    for _ in range(runs):
        for name, work in ways.items():
            began = time.process_time()
            work()
            least[name] = min(least[name], time.process_time() - began)
    return least


def separately(stream: Stream, queries: Sequence[Query]) -> list[int]:
    """Return the number of matches of each, by a call for each."""
    return [detect(stream, query).count() for query in queries]


def together(
    stream: Stream,
    queries: Sequence[Query],
    plan: object = None,
    share: str = "auto",
) -> list[int]:
    """Return the number of matches of each, by one call."""
    return detect(stream, queries, plan=plan, share=share).counts().tolist()


def _sources(options: argparse.Namespace) -> list[tuple[Source, float, float]]:
    given = [(generated(options.events), *EVENTS[1:])]
    reason = absent(BARS[0])
    if reason is None:
        given.append((minute_bars(), *BARS[1:]))
    else:
        print(f"left out: {reason}")
    return given


def lists(options: argparse.Namespace) -> list[Row]:
    """Return 10, 100, ... patterns together against one after the other."""
    rows: list[Row] = []
    for given, window, most in _sources(options):
        for n in map(int, options.patterns.split(",")):
            queries = drawn(given, n, window, most=most)
            rows.append({"stream": given.name, **_compared(given.stream, queries, options.runs)})
    return rows


def core(options: argparse.Namespace) -> list[Row]:
    """Return 30 patterns that begin with the same selective pair."""
    table = zipf_events(options.events)
    stream = events(table, time="ts", type="type")
    queries = with_core(table, 30, 40.0)
    return [{"stream": "selective core", **_compared(stream, queries, options.runs)}]


def _compared(stream: Stream, queries: Sequence[Query], runs: int) -> dict[str, object]:
    """Return the times of all ways, and the candidates of two."""
    plan = choose_plan(queries, profile(stream, queries))
    ways = {
        "separate": partial(separately, stream, queries),
        "together": partial(together, stream, queries),
        "scan only": partial(together, stream, queries, share="none"),
        "ready": partial(together, stream, queries, plan),
    }
    least = in_turns(ways, runs)
    apart = sum(s.candidates for q in queries for s in detect(stream, q).explain().steps)
    shared = sum(s.candidates for s in detect(stream, queries, plan=plan).explain().steps)
    return {
        "patterns": len(queries),
        **{f"{name} ms": seconds * 1000 for name, seconds in least.items()},
        **{f"x {name}": least["separate"] / least[name] for name in list(ways)[1:]},
        "candidates": apart,
        "shared": shared,
        "x fewer": apart / shared,
        "planned": plan.alone / plan.cost,
    }


def text_order(options: argparse.Namespace) -> list[Row]:
    """Return the source's baseline: plans in the order of the text, without sharing."""
    rows: list[Row] = []
    n = max(map(int, options.patterns.split(",")))
    for given, window, most in _sources(options):
        queries = drawn(given, n, window, most=most)
        plan = choose_plan(queries, profile(given.stream, queries))
        own = choose_plan(queries, plan.statistics, share="none")
        texts: list[Plan] = [
            choose_plan(query, plan.statistics, "given-order") for query in queries
        ]
        ways = {
            "order of the text": partial(together, given.stream, queries, texts, "none"),
            "own plans": partial(together, given.stream, queries, own, "none"),
            "shared plan": partial(together, given.stream, queries, plan),
        }
        least = in_turns(ways, 1)
        rows.append(
            {
                "stream": given.name,
                "patterns": n,
                **{f"{name} ms": seconds * 1000 for name, seconds in least.items()},
                "x reordered": least["order of the text"] / least["own plans"],
                "x shared": least["order of the text"] / least["shared plan"],
            }
        )
    return rows


def one(options: argparse.Namespace) -> list[Row]:
    """Return the times of a list of one pattern, against the pattern itself."""
    given = generated(options.events)
    rows: list[Row] = []
    for number, query in enumerate(drawn(given, 3, EVENTS[1], most=EVENTS[2])):
        ways = {
            "pattern": partial(separately, given.stream, [query]),
            "list": partial(together, given.stream, [query]),
        }
        least = in_turns(ways, options.runs * 5)
        rows.append(
            {
                "pattern": number + 1,
                **{f"{name} ms": seconds * 1000 for name, seconds in least.items()},
                "list / pattern": least["list"] / least["pattern"],
            }
        )
    return rows


def planning(options: argparse.Namespace) -> list[Row]:
    """Return the time to plan the sharing, with statistics measured before."""
    rows: list[Row] = []
    for given, window, most in _sources(options):
        for n in (40, 100):
            queries = drawn(given, n, window, most=most)
            known = profile(given.stream, queries)
            for share in ("prefix", "auto"):
                began = time.process_time()
                plan = choose_plan(queries, known, share=share)
                rows.append(
                    {
                        "stream": given.name,
                        "patterns": n,
                        "share": share,
                        "seconds": time.process_time() - began,
                        "less cost, %": 100 * (1 - plan.cost / plan.alone),
                    }
                )
    return rows


def on_spark(n: int) -> list[Row]:
    """Return 20 patterns over a Parquet file on Spark: processor seconds of all processes."""
    import shutil
    import tempfile

    import pyarrow.parquet as pq

    from benchmarks.spark_runs import processor_seconds, spent
    from cepkit.spark.session.local import get_session

    folder = Path(tempfile.mkdtemp())
    given = generated(n)
    queries = drawn(given, 20, 2.0, most=n)
    rows: list[Row] = []
    try:
        table = zipf_events(n).select(["ts", "type", "diff"])
        pq.write_table(table, folder / "events.parquet", row_group_size=1 << 20)
        del table
        frame = get_session(cores=2).read.parquet(str(folder / "events.parquet"))
        for route, source in (("files", frame), ("rows", frame.filter("diff IS NOT NULL"))):
            stream = events(source, time="ts", type="type")
            ways = {"one by one": separately, "together": together}
            detect(stream, queries[0]).count()  # starts the workers
            times: dict[str, tuple[float, float | None]] = {}
            numbers = []
            for name, way in ways.items():
                before, began = processor_seconds(), time.perf_counter()
                numbers.append(way(stream, queries))
                seconds = time.perf_counter() - began
                times[name] = seconds, spent(before, processor_seconds())
            assert numbers[0] == numbers[1], numbers
            rows += [
                {
                    "route": route,
                    "way": name,
                    "seconds": seconds,
                    "processor s": processor,
                    "times": times["one by one"][0] / seconds,
                }
                for name, (seconds, processor) in times.items()
            ]
    finally:
        shutil.rmtree(folder)
    return rows


_TABLES: dict[str, Callable[[argparse.Namespace], list[Row]]] = {
    "lists": lists,
    "core": core,
    "text_order": text_order,
    "one": one,
    "planning": planning,
}


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
