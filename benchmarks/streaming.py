"""Streaming DataFrames from end to end: files in, matches to Parquet, a file a micro-batch.

Events are 1,000 a second of ten types, three of them in the pattern, window 2 s. Seconds are those
of the query from its start to its end, after a small run of each; of several runs, taking turns,
the one with the least processor time. Processor seconds are those of the JVM and the workers, and
of the workers alone where none has ended (Linux only); on a busy machine they say more. `joins` is
the same pattern in Spark SQL: two stream-stream joins with watermarks. `looked` is how many events
were looked at for each of the pattern's types; `state bytes` those of an event that is held at the
end, `worker MB` the most memory that a worker ever had. `sustained`: micro-batches of a second's
events, ten of each key, beside a plain mapInArrow over the same columns; what takes less than a
second goes on without a backlog. `latency`: from a match's last event to its row in the sink, with
a rate source, which gives out the events of a second when it is over; beside the events themselves,
that wait for nothing.

    python -m benchmarks.streaming [--events N] [--out FOLDER] [--cores N] [--only TEXT] [--runs N]
                                   [--file-rows N] [--rate N] [--seconds N] [--quick]
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import cepkit as ck
from benchmarks.results import show, write
from benchmarks.spark_runs import (
    options,
    processor_seconds,
    spent,
    worker_megabytes,
    worker_seconds,
)
from cepkit.spark.streaming.state import from_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SECOND = 1_000_000
COLUMNS = "ts timestamp, type string, key bigint, price double, id bigint"
KEYED = (
    "PATTERN SEQ(A a, B b, C c) WHERE a.price < b.price AND b.price < c.price"
    " AND a.key = b.key AND b.key = c.key WITHIN 2 seconds"
)
UNKEYED = (
    "PATTERN SEQ(A a, B b, C c) WHERE a.price < b.price AND b.price < c.price"
    " WITHIN 200 milliseconds"
)
NOT_AT_THE_END = (
    "PATTERN SEQ(A a, B b, NOT(C c)) WHERE a.key = b.key AND b.key = c.key WITHIN 2 seconds"
)


_WARM_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Case:
    """A query over a stream."""

    name: str
    rows: Callable[[DataFrame], DataFrame]
    keys: int = 1_000


def detection(
    text: str, options: ck.SparkOptions | None = None
) -> Callable[[DataFrame], DataFrame]:
    """Return cepkit's way to matches."""

    def rows(frame: DataFrame) -> Any:
        stream = ck.events(frame, time="ts", type="type", lateness="1 second")
        return ck.detect(stream, text, spark=options)

    return rows


def joins(frame: DataFrame) -> DataFrame:
    """Return the keyed pattern as Spark's stream-stream joins."""
    from pyspark.sql import functions as F

    timed = frame.withWatermark("ts", "1 second")
    a, b, c = (
        timed.where(F.col("type") == kind).select(
            *(F.col(name).alias(f"{kind.lower()}_{name}") for name in ("ts", "key", "price", "id"))
        )
        for kind in "ABC"
    )
    after = F.expr("b_ts > a_ts AND b_ts <= a_ts + INTERVAL 2 SECONDS AND a_price < b_price")
    last = F.expr(
        "c_ts > b_ts AND c_ts <= b_ts + INTERVAL 2 SECONDS"
        " AND c_ts <= a_ts + INTERVAL 2 SECONDS AND b_price < c_price"
    )
    pairs = a.join(b, (F.col("a_key") == F.col("b_key")) & after)
    # Spark wants one event time of each side.
    pairs = pairs.withColumn("b_ts", F.expr("b_ts + INTERVAL 0 SECONDS"))
    return pairs.join(c, (F.col("b_key") == F.col("c_key")) & last)


CASES = (
    Case("keyed", detection(KEYED)),
    Case("keyed, Spark SQL joins", joins),
    Case("keyed, 100,000 keys", detection(KEYED), keys=100_000),
    Case("keyed, 1,000,000 keys", detection(KEYED), keys=1_000_000),
    Case("NOT at the end", detection(NOT_AT_THE_END)),
    Case("un-keyed", detection(UNKEYED)),
    Case("un-keyed, slices", detection(UNKEYED, ck.SparkOptions(slice_seconds=10, buckets=4))),
    Case("keyed, timeouts", detection(KEYED, ck.SparkOptions(timeouts=True))),
)


def make_files(folder: Path, n: int, keys: int, file_rows: int) -> None:
    """Write events in the order of time."""
    rng = np.random.default_rng(1)
    folder.mkdir(parents=True)
    begin = 1_700_000_000 * SECOND
    for number, first in enumerate(range(0, n, file_rows)):
        rows = min(file_rows, n - first)
        ts = begin + np.cumsum(rng.exponential(SECOND / 1000, rows)).astype(np.int64)
        begin = int(ts[-1])
        table = pa.table(
            {
                "ts": pa.array(ts, pa.timestamp("us", tz="UTC")),
                "type": pa.array(np.array(list("ABCDEFGHIJ"))[rng.integers(0, 10, rows)]),
                "key": pa.array(rng.integers(0, keys, rows)),
                "price": pa.array(np.round(rng.random(rows) * 100, 2)),
                "id": pa.array(np.arange(first, first + rows)),
            }
        )
        pq.write_table(table, folder / f"{number:05}.parquet")
        time.sleep(0.01)  # the source knows their order by their age in milliseconds


def measure(session: Any, case: Case, n: int, file_rows: int) -> dict[str, Any]:
    """Run a case once."""
    root = Path(tempfile.mkdtemp(prefix="cepkit-streaming-"))
    try:
        make_files(root / "in", n, case.keys, file_rows)
        reader = session.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
        rows = case.rows(reader.parquet(str(root / "in")))
        writer = rows.writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(root / "state"))
        all_before, workers_before = processor_seconds(), worker_seconds()
        began = time.perf_counter()
        query = writer.trigger(availableNow=True).start(str(root / "out"))
        query.awaitTermination()
        seconds = time.perf_counter() - began
        total = spent(all_before, processor_seconds())
        python = spent(workers_before, worker_seconds())
        counts = rows.watch(query).totals() if "Spark SQL" not in case.name else {}
        events = counts.get("events", 0)
        return {
            "case": case.name,
            "events": n,
            "seconds": seconds,
            "events/s": n / seconds,
            "CPU s": total,
            "CPU s, Python": python if python is None or python >= 0 else None,
            "events/CPU s": None if not total else n / total,
            "matches": session.read.parquet(str(root / "out")).count(),
            "looked": counts["looked"] / events if events else None,
            "state bytes": state_bytes(session, rows, root / "state"),
            "worker MB": worker_megabytes(),
        }
    finally:
        shutil.rmtree(root)


def state_bytes(session: Any, rows: Any, checkpoint: Path) -> float | None:
    """Return the bytes of an event in the state of a cepkit query; None for other queries."""
    if not hasattr(rows, "live"):
        return None
    states = session.read.format("statestore").load(str(checkpoint)).select("value.groupState.*")
    held = size = 0
    for state in states.collect():
        size += len(state["events"])
        held += len(from_bytes(rows.live.bucket, bytes(state["events"]), None).events)
    return size / held if held else None


def sustained(session: Any, name: str, rate: int, seconds: float) -> dict[str, Any]:
    """Return how long micro-batches of so many events take."""
    from pyspark.sql import functions as F

    source = session.readStream.format("rate-micro-batch").option("rowsPerBatch", rate)
    source = source.option("numPartitions", session.sparkContext.defaultParallelism)
    source = source.option("advanceMillisPerBatch", 1000).load()
    within = F.make_dt_interval(secs=F.expr("pmod(hash(value, 3), 1000000) / 1e6D"))
    frame = _drawn(source, F.col("timestamp") + within, rate)
    rows = frame.mapInArrow(lambda batches: batches, COLUMNS)
    if name != "mapInArrow":
        rows = detection(KEYED)(frame)
    folder = tempfile.mkdtemp(prefix="cepkit-streaming-")
    writer = rows.writeStream.format("noop").option("checkpointLocation", folder)
    query = writer.trigger(processingTime="0 seconds").start()
    query.awaitTermination(seconds)
    query.stop()
    shutil.rmtree(folder, ignore_errors=True)
    batches = [p for p in query.recentProgress if p.numInputRows]
    batches = batches[len(batches) // 3 :]  # the first compile
    took = [p.durationMs["triggerExecution"] / 1e3 for p in batches] or [np.nan]
    observed = [p.observedMetrics["cepkit"]["match"] for p in batches if p.observedMetrics]
    median = float(np.median(took))
    return {
        "case": name,
        "events a batch": rate,
        "batches": len(took),
        "median s": median,
        "events/s": rate / median,
        "matches a batch": float(np.median(observed)) if observed else None,
    }


def _drawn(source: DataFrame, time: Any, rate: int) -> DataFrame:
    """Return the rows of a rate source as events, ten a second of each key."""
    from pyspark.sql import functions as F

    return source.select(
        time.alias("ts"),
        F.expr("substring('ABCDEFGHIJ', cast(pmod(hash(value), 10) as int) + 1, 1)").alias("type"),
        F.expr(f"pmod(hash(value, 1), {max(1, rate // 10)})").cast("long").alias("key"),
        F.expr("pmod(hash(value, 2), 1000) / 10.0D").alias("price"),
        F.col("value").alias("id"),
    )


def latency(session: Any, name: str, rate: int, seconds: float, trigger: str) -> dict[str, Any]:
    """Return how long after its last event a match is in the sink, at a rate of events."""
    from pyspark.sql import functions as F

    source = session.readStream.format("rate").option("rowsPerSecond", rate).load()
    frame = _drawn(source, F.col("timestamp"), rate)
    rows = frame.where("type = 'C'").select(F.col("ts").alias("match_end"))
    if name != "events alone":
        stream = ck.events(frame, time="ts", type="type", lateness="0 seconds")
        rows = ck.detect(stream, KEYED)
    delays: list[float] = []

    def collect(batch: DataFrame, _: int) -> None:
        ends = batch.select(F.col("match_end").cast("double")).toArrow().column(0).to_numpy()
        delays.extend((time.time() - ends).tolist())

    writer = rows.writeStream.foreachBatch(collect)
    folder = tempfile.mkdtemp(prefix="cepkit-streaming-")
    query = writer.option("checkpointLocation", folder).trigger(processingTime=trigger).start()
    query.awaitTermination(seconds)
    query.stop()
    shutil.rmtree(folder, ignore_errors=True)
    late = np.array(delays[len(delays) // 3 :] or [np.nan])  # the first batches compile
    return {
        "case": name,
        "trigger": trigger,
        "rate": rate,
        "rows": len(delays),
        "median s": float(np.median(late)),
        "99 % s": float(np.quantile(late, 0.99)),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the cases and print a table."""
    parser = options("streaming")
    parser.add_argument("--file-rows", type=int, default=500_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--rate", type=int, default=200_000, help="sustained; latency at half")
    parser.add_argument("--seconds", type=float, default=60, help="of each run at a rate")
    parser.add_argument("--quick", action="store_true", help="small: to see that it runs")
    given = parser.parse_args(arguments)
    if given.quick:
        given.events, given.file_rows, given.runs = 40_000, 20_000, 1
        given.rate, given.seconds = 10_000, 20
    session = ck.get_session(cores=given.cores)
    chosen = [case for case in CASES if given.only in case.name]
    for case in (
        chosen if not given.quick else ()
    ):  # the JVM compiles as it runs, and so do the workers
        measure(session, case, 4 * _WARM_ROWS, _WARM_ROWS)
    runs = [
        measure(session, case, given.events, given.file_rows)
        for _ in range(given.runs)
        for case in chosen
    ]
    rows = [
        min((run for run in runs if run["case"] == case.name), key=lambda run: run["CPU s"] or 0)
        for case in chosen
    ]
    if rows:
        show("streams of files", rows)
        write(given.out, "streaming", rows)
    if given.only in "sustained":
        names = ("keyed", "mapInArrow") * given.runs
        at_rate = [sustained(session, name, given.rate, given.seconds) for name in names]
        show("micro-batches of a rate source", at_rate)
        write(given.out, "streaming_sustained", at_rate)
    if given.only in "latency":
        delays = [
            latency(session, name, given.rate // 2, given.seconds, trigger)
            for trigger in ("1 second", "0 seconds")
            for name in ("keyed", "events alone")
        ]
        show("latency, lateness 0", delays)
        write(given.out, "streaming_latency", delays)


if __name__ == "__main__":
    main()
