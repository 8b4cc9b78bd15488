"""Plans that follow the stream against one plan: candidates, processor time, time spent planning.

Streams of `drifting_events`: of four types one is rare, another one in each segment. Times are CPU
times of counting the matches, events loaded before, planning of slices included; the least of
several runs. `best plan` is the order that looks at the fewest candidates of all 24, which is not
known beforehand; `one plan` is the plan by the statistics of the whole stream.

    python -m benchmarks.adaptation [--events N] [--out FOLDER] [--spark N] [--quick]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import permutations
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measured import Run, run
from benchmarks.results import Row, show, write
from benchmarks.streams import drifting_events
from cepkit.adaptation.causal import Causal
from cepkit.adaptation.choice import slice_plans
from cepkit.adaptation.loop import Adaptation
from cepkit.adaptation.slices import PerSlice
from cepkit.columnar.compile.query import compile_query
from cepkit.columnar.slices.cutting import ADAPTED_ROWS
from cepkit.columnar.slices.plans import SlicePlans
from cepkit.costs.work import WORK
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.query import Query
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.planners.choose import choose_plan, plan_to_run
from cepkit.statistics.measuring.estimate import estimate
from cepkit.stream.stream import Stream, events

WHERE = "a.diff + 1 < b.diff AND b.diff + 1 < c.diff AND c.diff + 1 < d.diff"
TEXT = f"PATTERN SEQ(T1 a, T2 b, T3 c, T4 d) WHERE {WHERE} WITHIN"
RUNS = 5
_COMPILED = cache(compile_query)
"""Compiles each plan only once."""


def main(arguments: Sequence[str]) -> None:
    """Measure, print and write the tables."""
    parser = argparse.ArgumentParser(prog="benchmarks.adaptation")
    parser.add_argument("--events", type=int, default=600_000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--spark", type=int, metavar="N", help="this many events on Spark instead")
    parser.add_argument("--quick", action="store_true", help="a fifth of the events")
    chosen = parser.parse_args(arguments)
    n = chosen.events // 5 if chosen.quick else chosen.events
    if chosen.spark:
        n = chosen.spark // 5 if chosen.quick else chosen.spark
    tables = spark_tables(n) if chosen.spark else in_memory(n)
    for number, (title, rows) in enumerate(tables.items()):
        show(title, rows)
        if chosen.out:
            write(chosen.out, f"adaptation_{'spark_' if chosen.spark else ''}{number}", rows)


def spark_tables(n: int) -> dict[str, list[Row]]:
    """Return the tables of runs on Spark: little work for each event, and much."""
    title = f"Spark, local[2], {n:,} events"
    return {
        f"{title}, 3 s, matches written": on_spark(n, "3 s", written=True),
        f"{title}, 10 s, matches counted": on_spark(n, "10 s", written=False),
    }


def in_memory(n: int) -> dict[str, list[Row]]:
    """Return the tables of runs in this process."""
    return {
        f"the rarest changes every {n // 6:,} events": drifting(n, TEXT + " 3 s"),
        f"selectivities that change every {n // 6:,} events": shifting(n),
        "a stable stream": stable(n),
        "planning and deciding": deciding(n),
    }


def drifting(n: int, text: str) -> list[Row]:
    """Return each way to follow a stream that changes, beside the best single plan."""
    query, stream, plan = _given(text, drifting_events(n, segment=n // 6, seed=3))
    orders = [Plan((OrderPlan(order),), "by hand") for order in permutations("abcd")]
    best = min(orders, key=lambda order: run(stream, query, order, 1).candidates)
    rows = [_row("best plan", run(stream, query, best, RUNS))]
    base = rows[0]
    rows.append(_row("one plan", run(stream, query, plan, RUNS), base))
    for adapt in ("auto", "slices", "unconditional", "threshold", "invariants"):
        plans = _plans(adapt, query, plan)
        rows.append(_row(adapt, run(stream, query, plan, RUNS, plans), base))
    zstream = partial(Causal, Adaptation("invariants", "zstream"), query, plan)
    rows.append(_row("invariants, zstream", run(stream, query, plan, RUNS, zstream), base))
    return rows


def shifting(n: int) -> list[Row]:
    """Return the gain of slices where rates stay, and one condition or the other holds by turns."""
    rng = np.random.default_rng(1)
    kind = rng.choice(["T1", "T2", "T3", "T4"], n)
    odd = np.arange(n) // (n // 6) % 2 == 1
    diff = rng.normal(size=n)
    for name, large in (("T1", odd), ("T3", ~odd)):
        diff += np.where(kind == name, np.where(large, 3.0, -3.0), 0.0)
    ts = (np.cumsum(rng.exponential(5_000, n))).astype(np.int64)
    table = pa.table({"ts": pa.array(ts, pa.timestamp("us")), "type": kind, "diff": diff})
    where = "a.diff < b.diff AND c.diff < d.diff"
    text = f"PATTERN SEQ(T1 a, T2 b, T3 c, T4 d) WHERE {where} WITHIN"
    rows = []
    for window in ("300 ms", "1 s"):
        query, stream, plan = _given(f"{text} {window}", table)
        static = _row(f"one plan, {window}", run(stream, query, plan, RUNS))
        rows.append(static)
        for adapt in ("auto", "slices", "threshold", "invariants"):
            found = run(stream, query, plan, RUNS, _plans(adapt, query, plan))
            rows.append(_row(f"{adapt}, {window}", found, static))
    return rows


def stable(n: int) -> list[Row]:
    """Return the cost of adaptation where nothing changes."""
    rows = []
    for window in ("3 s", "10 s"):
        query, stream, plan = _given(f"{TEXT} {window}", drifting_events(n, segment=n, seed=3))
        static = _row(f"one plan, {window}", run(stream, query, plan, RUNS))
        rows.append(static)
        for adapt, size in (("auto", None), ("slices", None), ("slices", 50_000)):
            name = adapt if size is None else f"{adapt} of {size:,} events"
            found = run(stream, query, plan, RUNS, _plans(adapt, query, plan), size)
            rows.append(_row(f"{name}, {window}", found, static))
    return rows


def deciding(n: int) -> list[Row]:
    """Return the time to plan a slice, that of a check, and that of compiling."""
    query, stream, plan = _given(f"{TEXT} 3 s", drifting_events(n, segment=n // 6, seed=3))
    columns = stream.columns(["diff"])
    rows = []
    slices = [(first, min(first + ADAPTED_ROWS, n)) for first in range(0, n, ADAPTED_ROWS)]
    ways: dict[str, partial[SlicePlans]] = {
        "slices": partial(PerSlice, query, plan),
        **{
            f"{decision}, {planner}": partial(Causal, Adaptation(decision, planner), query, plan)
            for decision in ("threshold", "invariants", "unconditional")
            for planner in ("greedy", "zstream")
        },
    }
    for name, made in ways.items():
        whole = min(_planning(made(), columns, slices) for _ in range(RUNS))
        with mock.patch(f"{made.func.__module__}.compile_query", _COMPILED):
            least = min(_planning(made(), columns, slices) for _ in range(RUNS))
        rows.append(
            {
                "way": name,
                "ms a slice": least / len(slices) * 1000,
                "with compiling": whole / len(slices) * 1000,
            }
        )
    return rows


def _planning(plans: SlicePlans, columns: Any, slices: Sequence[tuple[int, int]]) -> float:
    plans(columns, *slices[0])  # tables are made, and programs compiled, once
    began = time.process_time()
    for first, end in slices[1:]:
        plans(columns, first, end)
    return time.process_time() - began


def on_spark(n: int, window: str, *, written: bool) -> list[Row]:
    """Return the gain from end to end: read Parquet, detect, write or count the matches."""
    from benchmarks.spark_runs import processor_seconds
    from cepkit.spark.matches.detect import detect
    from cepkit.spark.session.local import get_session

    query = parse(f"{TEXT} {window}")
    folder = Path(tempfile.mkdtemp())
    rows: list[Row] = []
    try:
        table = drifting_events(n, segment=n // 6, seed=3)
        plan = plan_to_run(query, estimate(table_stream(table).columns(["diff"]), query))
        pq.write_table(table, folder / "events.parquet", row_group_size=1 << 20)
        del table
        session = get_session(cores=2)
        stream = events(
            session.read.parquet(str(folder / "events.parquet")), time="ts", type="type"
        )
        for repeat in range(2):
            for adapt in ("static", "slices", "auto"):
                plans = _plans(adapt, query, plan)()
                before, began = processor_seconds(), time.perf_counter()
                matches = detect(stream, query, plan, plans=plans)
                if written:
                    matches.write.mode("overwrite").parquet(str(folder / "matches"))
                number = matches.count()
                seconds = time.perf_counter() - began
                if repeat:
                    work = matches.explain()
                    assert work is not None
                    candidates = sum(step.candidates for step in work.steps)
                    spent = processor_seconds() - before
                    rows.append(
                        {
                            "way": adapt,
                            "seconds": seconds,
                            "processor seconds": spent,
                            "candidates": candidates,
                            "matches": number,
                        }
                    )
    finally:
        shutil.rmtree(folder)
    return rows


def table_stream(table: pa.Table) -> Stream:
    """Return a table as a stream."""
    return events(table, time="ts", type="type")


def _given(text: str, table: pa.Table) -> tuple[Query, Stream, Plan]:
    query, stream = parse(text), table_stream(table)
    statistics = estimate(stream.columns(["diff"]), query)
    return query, stream, choose_plan(query, statistics, "dp-order", WORK)


def _plans(adapt: str, query: Query, plan: Plan) -> Callable[[], SlicePlans | None]:
    assert plan.statistics is not None
    known = plan.statistics
    return lambda: slice_plans(adapt, query, plan, "every", lambda: known)


def _row(name: str, found: Run, base: Row | None = None) -> Row:
    row = {
        "way": name,
        "candidates": found.candidates,
        "partial matches": found.partials,
        "ms": found.seconds * 1000,
    }
    ms, candidates = (
        (row["ms"], row["candidates"]) if base is None else (base["ms"], base["candidates"])
    )
    return {**row, "fewer": candidates / found.candidates, "faster": ms / (found.seconds * 1000)}


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
