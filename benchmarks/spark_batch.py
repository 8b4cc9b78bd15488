"""Spark from end to end: read events, detect, write the matches to Parquet; events per second.

The stream has 50 types with Zipf rates and a mean gap of 5 ms, in one Parquet file that is written
once. Seconds are from the call of `detect` to the last file written, the workers warm, the best of
two runs; nothing is known of the stream beforehand. Processor seconds are those of the JVM and
all workers together (Linux only): on a machine that is busy with other things they say more.
`a DataFrame` is the same file behind a filter that every row passes, so that its rows come through
Spark. Windows in events count rows, or what a column says of the order of arrival: `a sequence` is
consecutive whole numbers, `an order` any other numbers, which have to be shuffled and sorted.

    python -m benchmarks.spark_batch [--events N] [--out FOLDER] [--cores N] [--runs N]
                                     [--only TEXT]
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.results import show, write
from benchmarks.spark_runs import OF_ALL, options, processor_seconds, spent
from benchmarks.streams import zipf_events
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.spark.matches.detect import detect
from cepkit.spark.session.local import get_session
from cepkit.stream.stream import events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

THREE = (
    "PATTERN SEQ(T01 a, T02 b, T50 c) "
    "WHERE a.price < b.price AND b.price < c.price AND c.diff > 1 WITHIN 1 second"
)
ALL = (
    f"{OF_ALL}WHERE a.price < 1 AND b.price < 1 AND c.price < 1 "
    "AND a.diff < b.diff AND b.diff < c.diff WITHIN 10 seconds"
)
ALL_KEYED = f"{OF_ALL}WHERE a.diff < b.diff AND b.diff < c.diff WITHIN 10 seconds PARTITION BY key"
COUNTED = (
    "PATTERN SEQ(T01 a, T02 b, T50 c) "
    "WHERE a.price < b.price AND b.price < c.price AND c.diff > 1 WITHIN 200 EVENTS"
)
COUNTED_KEYED = (
    f"{OF_ALL}WHERE a.diff < b.diff AND b.diff < c.diff WITHIN 10 EVENTS PARTITION BY key"
)
SIDE_BY_SIDE = (
    "PATTERN SEQ(T01 a, T02 b, T03 c) "
    "WHERE a.price < b.price AND b.price < c.price STRATEGY strict-contiguity"
)


@dataclass(frozen=True)
class Case:
    """A pattern, the stream that it is detected in, and the target in source events a second.

    Attributes:
        name: The name of the case.
        text: The pattern.
        hidden: Whether the rows come through Spark.
        target: Events a second; None: there is no target.
        arrival: The column with the order in which the events came.
    """

    name: str
    text: str
    hidden: bool
    target: float | None
    arrival: str | None = None


CASES = (
    Case("three of 50 types, a DataFrame", THREE, True, 2e6),
    Case("all types, Parquet", ALL, False, 2e6),
    Case("all types, a DataFrame", ALL, True, 0.8e6),
    Case("all types by key, a DataFrame", ALL_KEYED, True, 0.8e6),
    Case("200 events, three of 50 types, in the order of rows", COUNTED, True, None),
    Case("200 events, three of 50 types, by a sequence", COUNTED, True, None, "sequence"),
    Case("200 events, three of 50 types, by an order", COUNTED, True, None, "an_order"),
    Case("10 events of a key, all types, in the order of rows", COUNTED_KEYED, True, None),
    Case("side by side, three of 50 types, in the order of rows", SIDE_BY_SIDE, True, None),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the cases, print a table and write it as CSV."""
    parser = options("spark_batch")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    given = parser.parse_args(arguments)
    session = get_session(cores=given.cores, memory="4g")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events.parquet")
        pq.write_table(_with_orders(zipf_events(given.events)), path)
        source = session.read.parquet(str(path))
        hidden = source.where("price >= 0")
        _measure(hidden, THREE, Path(folder, "warm-up"))
        rows = []
        for case in (case for case in CASES if given.only in case.name):
            frame = hidden if case.hidden else source
            runs = [
                _measure(frame, case.text, Path(folder, "matches"), case.arrival)
                for _ in range(given.runs)
            ]
            best = min(runs, key=lambda run: run["seconds"])
            rate = given.events / best["seconds"]
            rows.append(
                {
                    "case": case.name,
                    **best,
                    "events/s": rate,
                    "target": case.target,
                    "held": None if case.target is None else _held(rate, case.target),
                }
            )
    show(f"Spark, {given.events:,} events, local[{given.cores}]", rows)
    write(given.out, "spark_batch", rows)


def _with_orders(table: pa.Table) -> pa.Table:
    """Return the stream with two columns for the order in which the events came."""
    numbers = np.arange(len(table))
    table = table.append_column("sequence", pa.array(numbers + 1_000_000))
    return table.append_column("an_order", pa.array(numbers * 1.5))


def _held(rate: float, target: float) -> str:
    return "yes" if rate >= target else "no"


def _measure(
    frame: DataFrame, text: str, target: Path, arrival: str | None = None
) -> dict[str, Any]:
    shutil.rmtree(target, ignore_errors=True)
    query = parse(text)
    before, began = processor_seconds(), time.perf_counter()
    carried = ("price", "diff", "key")
    stream = events(frame, time="ts", type="type", columns=carried, arrival=arrival)
    matches = detect(stream, query, Plan((OrderPlan(("c", "b", "a")),), "by hand"))
    matches.write.parquet(str(target))
    seconds, after = time.perf_counter() - began, processor_seconds()
    return {
        "route": matches.route.split(",")[0],
        "matches": matches.count(),
        "seconds": seconds,
        "processor": spent(before, after),
    }


if __name__ == "__main__":
    main()
