"""How large the checkpoint of a cepkit query gets, over hundreds of micro-batches.

A keyed pattern with a window of 20 s over 1,000 events a second, a second's events in each
micro-batch, so that the state stays as large as it is. With the settings of `ck.get_session` and
with Spark's own: micro-batches kept, and seconds between two clearings.

    python -m benchmarks.checkpoint_size [--batches N] [--out FOLDER] [--cores N]
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cepkit as ck
from benchmarks.results import show, write
from benchmarks.spark_runs import options
from benchmarks.streaming import COLUMNS, make_files

PATTERN = (
    "PATTERN SEQ(A a, B b, C c) WHERE a.price < b.price AND b.price < c.price"
    " AND a.key = b.key AND b.key = c.key WITHIN 20 seconds"
)
RETAINED = "spark.sql.streaming.minBatchesToRetain"
CLEARED = "spark.sql.streaming.stateStore.maintenanceInterval"
SETTINGS: dict[str, dict[str, str]] = {
    "10 micro-batches, cleared every 10 s": {},
    "Spark's own: 100 micro-batches, cleared every 60 s": {RETAINED: "100", CLEARED: "60s"},
}


def megabytes(folder: Path) -> float:
    """Return the size of the files in a folder; some may go meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue
    return total / 1e6


def sizes(settings: dict[str, str], cores: int, batches: int) -> dict[str, Any]:
    """Run one query to its end; return the checkpoint's size after so many micro-batches."""
    session = ck.get_session(cores=cores)
    for key, value in settings.items():
        session.conf.set(key, value)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_files(folder / "in", 1_000 * batches, 100, 1_000)
        frame = (
            session.readStream.schema(COLUMNS)
            .option("maxFilesPerTrigger", 1)
            .parquet(str(folder / "in"))
        )
        stream = ck.events(frame, time="ts", type="type", lateness="1 second")
        query = (
            ck.detect(stream, PATTERN)
            .writeStream.format("parquet")
            .option("checkpointLocation", str(folder / "state"))
            .trigger(availableNow=True)
            .start(str(folder / "out"))
        )
        row: dict[str, Any] = {}
        most = 0.0
        while not query.awaitTermination(0.2):
            size = megabytes(folder / "state")
            most = max(most, size)
            for mark in _marks(batches):
                if query.lastProgress and query.lastProgress["batchId"] >= mark:
                    row.setdefault(f"{mark}", size)
        row.setdefault(f"{batches}", megabytes(folder / "state"))
        row["most"] = max(most, *(row.values()))
        row["state MB"] = (
            sum(operator["memoryUsedBytes"] for operator in query.lastProgress["stateOperators"])
            / 1e6
        )
    session.stop()
    return row


def _marks(batches: int) -> list[int]:
    return [mark for mark in (20, 100, 200, 300, 400, 500, 600) if mark < batches]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one query after the other and print a table."""
    parser = options("checkpoint sizes")
    parser.add_argument("--batches", type=int, default=600)
    given = parser.parse_args(arguments)
    # A process each: a JVM starts what clears away once.
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        rows = [
            {"settings": name, **pool.apply(sizes, (settings, given.cores, given.batches))}
            for name, settings in SETTINGS.items()
        ]
    show("MB of the checkpoint after so many micro-batches", rows)
    write(given.out, "checkpoint_size", rows)


if __name__ == "__main__":
    main()
