"""Profiling on Spark: numbers for plans alone, and all details for people; seconds and jobs.

The stream is that of `spark_batch`, in one Parquet file that is written once: 50 types with Zipf
rates, 1,000 keys. The patterns have four variables of the four most frequent types, half of all
events. Seconds are of the whole profile, the workers warm; processor seconds are those of the JVM
and all workers together (Linux only): on a machine that is busy with other things they say more.

    python -m benchmarks.spark_profile [--events N] [--out FOLDER] [--cores N] [--runs N]
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from benchmarks.results import show, write
from benchmarks.spark_runs import options, processor_seconds, spent
from benchmarks.streams import zipf_events
from cepkit.pattern.parsing.parser import parse
from cepkit.spark.profile.planning import statistics_for_plans
from cepkit.spark.profile.statistics import profile
from cepkit.spark.session.local import get_session
from cepkit.stream.stream import events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FOUR = "PATTERN SEQ(T01 a, T02 b, T03 c, T04 d) WHERE "
_WINDOW = " WITHIN 10 seconds"

CONDITIONS = f"{_FOUR}a.price < b.price AND b.price < c.price AND c.diff < d.diff{_WINDOW}"
EQUALITIES = (
    f"{_FOUR}a.key = b.key AND b.key = c.key AND c.key = d.key AND a.price < b.price{_WINDOW}"
)

CASES = (
    ("three inequalities, what plans need", CONDITIONS, False),
    ("three inequalities, everything", CONDITIONS, True),
    ("three equalities and one more, what plans need", EQUALITIES, False),
    ("three equalities and one more, everything", EQUALITIES, True),
    ("the same by key, everything", f"{EQUALITIES} PARTITION BY key", True),
)

_TARGET_SECONDS = 60.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the cases, print a table and write it as CSV."""
    parser = options("spark_profile")
    given = parser.parse_args(arguments)
    session = get_session(cores=given.cores, memory="4g")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events.parquet")
        pq.write_table(zipf_events(given.events), path)
        frame = session.read.parquet(str(path))
        _measured(frame, CONDITIONS, details=True)
        rows = []
        for name, text, details in CASES:
            runs = [_measured(frame, text, details=details) for _ in range(given.runs)]
            seconds, processor = min(runs, key=lambda run: run[0])
            rows.append(
                {
                    "case": name,
                    "seconds": seconds,
                    "events/s": given.events / seconds,
                    "processor": processor,
                    "target": _TARGET_SECONDS,
                    "held": "yes" if seconds < _TARGET_SECONDS else "no",
                }
            )
    show(f"Profiling on Spark, {given.events:,} events, local[{given.cores}]", rows)
    write(given.out, "spark_profile", rows)


def _measured(frame: DataFrame, text: str, *, details: bool) -> tuple[float, float | None]:
    before, began = processor_seconds(), time.perf_counter()
    stream = events(frame, time="ts", type="type")
    measure = profile if details else statistics_for_plans
    measure(stream, parse(text))
    seconds, after = time.perf_counter() - began, processor_seconds()
    return seconds, spent(before, after)


if __name__ == "__main__":
    main()
