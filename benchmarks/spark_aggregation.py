"""Aggregation on Spark from end to end: events per second, and how much of it is Python's.

The stream is that of `spark_batch`: 50 types with Zipf rates, a mean gap of 5 ms, 1,000 keys, in
one Parquet file that is written once. Three of the types are a third of all events. Seconds are
from the call of `aggregate` to the last row, which is thrown away; the workers are warm, nothing is
known of the stream, the best of some runs. Processor seconds are those of the JVM and all workers
together (Linux only), `in Python` is the workers' part. From `Parquet` tasks read the file
themselves where they may; from `rows` the same file stands behind a filter that every row passes.

    python -m benchmarks.spark_aggregation [--events N] [--out FOLDER] [--cores N] [--runs N]
                                           [--only TEXT]
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

import cepkit as ck
from benchmarks.results import show, write
from benchmarks.spark_batch import THREE
from benchmarks.spark_runs import OF_ALL, options, processor_seconds, spent, worker_seconds
from benchmarks.streams import zipf_events
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.spark.matches.detect import detect
from cepkit.spark.session.local import get_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OF_THREE = "PATTERN SEQ(T01 a, T02 b, T50 c) WITHIN 10 seconds AGG "

COUNT = f"{_OF_THREE}COUNT"
SUMS = f"{_OF_THREE}COUNT, SUM(a.price), MIN(b.price), MAX(b.diff)"
GROUPED = f"{COUNT} GROUP BY key"
COUNT_ALL = f"{OF_ALL}WITHIN 1 second AGG COUNT"
SEVERAL = [
    COUNT,
    "PATTERN SEQ(T01 a, T02 b, T03 c) WITHIN 10 seconds AGG COUNT",
    "PATTERN SEQ(T01 a, T02 b, T03 c, T50 d) WITHIN 10 seconds AGG COUNT",
]


@dataclass(frozen=True)
class Case:
    """Aggregates of a stream.

    Attributes:
        name: The name of the case.
        frames: Makes DataFrames, one after the other, whose rows are read.
    """

    name: str
    frames: Callable[[ck.Stream], Sequence[DataFrame]]


def _asked(text: str, emit: str = "trigger") -> Callable[[ck.Stream], Sequence[DataFrame]]:
    return lambda stream: [ck.aggregate(stream, text, emit=emit)]


def _together(stream: ck.Stream) -> Sequence[DataFrame]:
    return [ck.aggregate(stream, SEVERAL).together]


def _one_by_one(stream: ck.Stream) -> Sequence[DataFrame]:
    return [ck.aggregate(stream, text) for text in SEVERAL]


def _detected(stream: ck.Stream) -> Sequence[DataFrame]:
    return [detect(stream, ck.parse(THREE), Plan((OrderPlan(("c", "b", "a")),), "by hand"))]


CASES = (
    Case("three types, detected", _detected),
    Case("three types, COUNT", _asked(COUNT)),
    Case("three types, COUNT, SUM, MIN, MAX", _asked(SUMS)),
    Case("three types, COUNT by 1,000 keys", _asked(GROUPED)),
    Case("three types, COUNT by 1,000 keys, in total", _asked(GROUPED, "total")),
    Case("three queries, together", _together),
    Case("three queries, one by one", _one_by_one),
    Case("all types, COUNT", _asked(COUNT_ALL)),
    Case("all types, COUNT, in total", _asked(COUNT_ALL, "total")),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the cases, print a table and write it as CSV."""
    parser = options("spark_aggregation")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    given = parser.parse_args(arguments)
    session = get_session(cores=given.cores, memory="4g")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events.parquet")
        pq.write_table(zipf_events(given.events), path)
        source = session.read.parquet(str(path))
        frames = {"Parquet": source, "rows": source.where("price >= 0")}
        for frame in frames.values():
            _measure(frame, CASES[1])
        rows = []
        for case in (case for case in CASES if given.only in case.name):
            for origin, frame in frames.items():
                runs = [_measure(frame, case) for _ in range(given.runs)]
                best = min(runs, key=lambda run: run["seconds"])
                rate = given.events / best["seconds"]
                rows.append({"case": case.name, "from": origin, **best, "events/s": rate})
    show(f"Aggregation on Spark, {given.events:,} events, local[{given.cores}]", rows)
    write(given.out, "spark_aggregation", rows)


def _measure(frame: DataFrame, case: Case) -> dict[str, Any]:
    before, of_workers, began = processor_seconds(), worker_seconds(), time.perf_counter()
    stream = ck.events(frame, time="ts", type="type", columns=())
    for rows in case.frames(stream):
        rows.write.format("noop").mode("overwrite").save()
    seconds = time.perf_counter() - began
    processor = spent(before, processor_seconds())
    python = spent(of_workers, worker_seconds())
    share = python / processor if python is not None and processor else None
    return {"seconds": seconds, "processor": processor, "in Python": share}


if __name__ == "__main__":
    main()
