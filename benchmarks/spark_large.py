"""Spark beyond ten million events: seconds, and memory that should not grow with the stream.

The stream is that of `spark_batch` with four columns that nobody reads: some 60 bytes an event in
Parquet, 100 million events 6 GB. It is written a million events at a time to a folder for temporary
files (TMPDIR says where), which is removed in the end. Seconds are from the call of `detect` to
the last file of matches written, the workers warm, nothing known of the stream beforehand. Memory
is the most that a process has ever had in such a run (Linux only): the largest Python worker, the
JVM, and this Python. Each size is measured in a process of its own; `growth` is the processor time
an event took, over that of the size before.

    python -m benchmarks.spark_large [--sizes N ...] [--out FOLDER] [--cores N] [--memory 4g]

100 million events, for which the folder needs some 12 GB:

    python -m benchmarks.spark_large --sizes 1000000 10000000 100000000
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.results import show, write
from benchmarks.spark_batch import ALL_KEYED, THREE
from benchmarks.spark_runs import (
    java_megabytes,
    options,
    processor_seconds,
    spent,
    worker_megabytes,
)
from benchmarks.streams import zipf_events
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.spark.matches.detect import detect
from cepkit.spark.session.local import get_session
from cepkit.stream.stream import events

SIZES = (1_000_000, 10_000_000)
CASES = {
    "un-keyed, files": (THREE, False),
    "un-keyed, a DataFrame": (THREE, True),
    "keyed, a DataFrame": (ALL_KEYED, True),
}
"""The pattern, and whether its rows come through Spark."""

_CHUNK = 1_000_000
_UNREAD = 4
_FILE_BYTES = 60.0
_ROOM = 2.0
"""How many times the size of the events must be free on disk, for shuffles and matches too."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the sizes, print a table and write it as CSV."""
    parser = options("spark_large")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--memory", default="4g", help="of the JVM's heap")
    parser.add_argument("--one", action="store_true", help="measure --events, and print it as JSON")
    given = parser.parse_args(arguments)
    if given.one:
        print(json.dumps(_measured(given)))
        return
    rows: list[dict[str, Any]] = []
    before: dict[str, float] = {}
    for size in given.sizes:
        for row in _in_a_process(size, given):
            each = (row["processor"] or 0.0) / size
            known = before.get(row["case"])
            rows.append(row | {"growth": each / known if known else None})
            before[row["case"]] = each
    show(f"Spark beyond ten million events, local[{given.cores}]", rows)
    write(given.out, "spark_large", rows)


def _in_a_process(size: int, given: Namespace) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "benchmarks.spark_large", "--one", "--events", str(size)]
    command += ["--cores", str(given.cores), "--memory", given.memory]
    rows: list[dict[str, Any]] = json.loads(
        subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    )
    return rows


def _measured(given: Namespace) -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory(prefix="cepkit-large-") as name:
        folder = Path(name)
        free = shutil.disk_usage(folder).free
        if free < _ROOM * _FILE_BYTES * given.events:
            needed = _ROOM * _FILE_BYTES * given.events / 1e9
            sys.exit(f"{folder} has {free / 1e9:.0f} GB free, and {needed:.0f} GB are needed")
        path = folder / "events.parquet"
        _write_events(path, given.events)
        session = get_session(cores=given.cores, memory=given.memory)
        session.conf.set("spark.sql.files.maxPartitionBytes", "64m")
        source = session.read.parquet(str(path))
        for case, (text, hidden) in CASES.items():
            frame = source.where("price >= 0") if hidden else source
            _written(frame.limit(10_000), text, folder / "warm-up")
            row = {"events": given.events, "case": case, "GB": path.stat().st_size / 1e9}
            row |= _written(frame, text, folder / "matches")
            row["worker MB"], row["JVM MB"] = worker_megabytes(), java_megabytes()
            row["driver MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            rows.append(row)
    return rows


def _write_events(path: Path, number: int) -> None:
    """Write the stream, a chunk at a time, each beginning where the one before ends."""
    writer, end = None, None
    for chunk, begin in enumerate(range(0, number, _CHUNK)):
        table = zipf_events(min(_CHUNK, number - begin), seed=chunk)
        rng = np.random.default_rng(chunk)
        for i in range(_UNREAD):
            table = table.append_column(f"unread{i}", pa.array(rng.random(len(table))))
        kind, ts = table.schema.field("ts").type, table.column("ts").cast(pa.int64())
        if end is not None:
            ts = pc.add(ts, end - ts[0].as_py())
        end = ts[-1].as_py()
        table = table.set_column(0, "ts", ts.cast(kind))
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=_CHUNK)
    assert writer is not None
    writer.close()


def _written(frame: Any, text: str, target: Path) -> dict[str, Any]:
    shutil.rmtree(target, ignore_errors=True)
    before, began = processor_seconds(), time.perf_counter()
    stream = events(frame, time="ts", type="type", columns=("price", "diff", "key"))
    matches = detect(stream, parse(text), Plan((OrderPlan(("c", "b", "a")),), "by hand"))
    matches.write.parquet(str(target))
    seconds, after = time.perf_counter() - began, processor_seconds()
    number = matches.count()
    shutil.rmtree(target)
    return {"matches": number, "seconds": seconds, "processor": spent(before, after)}


if __name__ == "__main__":
    main()
