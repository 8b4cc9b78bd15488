"""Batch detection on Spark, beside the bucketed joins that an analyst would write in Spark SQL.

The patterns P1 to P4 and the joins are those of `peers`, the joins in Spark's dialect, also with
the broadcast hints of an expert. All count the matches of one source, in sessions of their own with
the same settings; they take turns and must agree. The sources: a Parquet *file*; a *filtered* frame
of it, with a derived column, which only Spark can read; the same frame *cached*. cepkit chooses
where it searches, or leaves the events to the *workers*. *First* is the first count of a session
that has started, *further* the median of the counts after it, each with a longer window, as an
analyst edits a query. Seconds are by the clock, in parentheses of the JVM's and the workers'
processors. The ratio is the better join's seconds divided by cepkit's: above 1 cepkit is faster.

    python -m benchmarks.spark_peers [--events N] [--sources S ...] [--patterns P ...]
        [--tools T ...] [--code]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from math import nan
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.peers import DUCKDB, PATTERNS
from benchmarks.results import machine, show, write
from benchmarks.spark_runs import options, processor_seconds, spent

NAMES = ("P1", "P2", "P3", "P4")
SOURCES = ("file", "filtered", "cached")
CEPKIT, WORKERS, JOINS, HINTED = "cepkit", "workers", "Spark SQL", "with hints"
TOOLS: Mapping[str, tuple[str, ...]] = {
    "file": (CEPKIT, JOINS, HINTED),
    "filtered": (CEPKIT, WORKERS, JOINS, HINTED),
    "cached": (CEPKIT, WORKERS, JOINS, HINTED),
}
LONGER = (1.0, 1.1, 1.2, 1.3)
"""The windows of the first count and the further ones, relative to that of the pattern."""

_SPARKS_WORDS = (
    ("epoch_us(", "unix_micros("),
    (" // ", " div "),
    ("unnest([bucket - 1, bucket])", "explode(array(bucket - 1, bucket))"),
    ("unnest(range(", "explode(sequence("),
    # The end of a range is open, that of a sequence closed.
    ("bucket + 1))", "bucket))"),
    ("bucket + 2))", "bucket + 1))"),
    ("{window} + 1))", "{window}))"),
    ("ANTI JOIN", "LEFT ANTI JOIN"),
)


_HINT = "/*+ BROADCAST(c, bc, d, cd, bcd, n) */"


def window_of(name: str, longer: float) -> int:
    """Return the window of a pattern in microseconds."""
    return round(longer * (100e6 if name == "P2" else 1e6))


def spark_sql(name: str, source: str, window: int, *, hints: bool = False) -> str:
    """Return the joins of a pattern in Spark's dialect.

    Args:
        source: A table, or a file as Spark writes it.
        hints: Whether the smaller side of each join is to be sent to all workers.
    """
    text = DUCKDB[name]
    for theirs, sparks in _SPARKS_WORDS:
        text = text.replace(theirs, sparks)
    if hints:
        # A name that a SELECT does not join is ignored.
        text = text.replace("SELECT b.", f"SELECT {_HINT} b.").replace(
            "SELECT c.", f"SELECT {_HINT} c."
        )
        text = text.replace("SELECT a.", f"SELECT {_HINT} a.").replace(
            "SELECT count", f"SELECT {_HINT} count"
        )
    return text.format(source=source, window=window, last="T50")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the sources, print each pattern when it is done, and write a table as CSV."""
    parser = options("spark_peers")
    parser.set_defaults(runs=1)
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=SOURCES[:1])
    parser.add_argument("--tools", nargs="+", choices=TOOLS["cached"], default=TOOLS["cached"])
    parser.add_argument("--patterns", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--code", action="store_true", help="print the SQL")
    parser.add_argument("--one", nargs=4, metavar=("TOOL", "PATTERN", "SOURCE", "FILE"))
    given = parser.parse_args(arguments)
    if given.one:
        print(json.dumps(_session(*given.one, cores=given.cores)))
        return
    if given.code:
        for name in NAMES:
            query = spark_sql(name, "parquet.`events.parquet`", 1, hints=True)
            print(f"{name}: {PATTERNS[name]}\n\n{query}\n")
        return
    import pyarrow.parquet as pq

    from benchmarks.streams import zipf_events

    rows = []
    print(f"first and further counts on Spark, local[{given.cores}], {machine()}")
    with tempfile.TemporaryDirectory(prefix="cepkit-peers-") as folder:
        path = Path(folder) / "events.parquet"
        pq.write_table(zipf_events(given.events, seed=1), path)
        for source in given.sources:
            for name in given.patterns:
                tools = [tool for tool in TOOLS[source] if tool in given.tools]
                row = _row(name, source, tools, path, given)
                show(f"{name}, {source}", row)
                rows += row
    write(given.out, "spark_peers", rows)


def _row(
    name: str, source: str, tools: Sequence[str], path: Path, given: Namespace
) -> list[dict[str, Any]]:
    """Measure one pattern of one source: all sessions of the tools, which take turns."""
    sessions: dict[str, list[list[tuple[int, float, float]]]] = {tool: [] for tool in tools}
    for _ in range(given.runs):
        for tool in tools:
            command = [sys.executable, "-m", "benchmarks.spark_peers", "--cores", str(given.cores)]
            command += ["--one", tool, name, source, str(path)]
            out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            sessions[tool].append(json.loads(out.splitlines()[-1]))
    counts = {tuple(n for n, *_ in one) for of_tool in sessions.values() for one in of_tool}
    if len(counts) > 1:
        raise RuntimeError(f"the tools count {sorted(counts)} matches of {name}")
    rows: list[dict[str, Any]] = []
    for tool, of_tool in sessions.items():
        row: dict[str, Any] = {
            "events": given.events,
            "source": source,
            "pattern": name,
            "tool": tool,
        }
        row["matches"] = min(counts)[0]
        for kind, part in (("first", slice(0, 1)), ("further", slice(1, None))):
            taken = [count for one in of_tool for count in one[part]]
            row[kind] = median(count[1] for count in taken)
            row[f"{kind} processor"] = median(count[2] for count in taken)
        rows.append(row)
    for row in rows:
        for kind in ("first", "further"):
            joins = [other[kind] for other in rows if other["tool"] in {JOINS, HINTED}]
            row[f"{kind} ratio"] = min(joins, default=nan) / row[kind]
    return rows


def _session(
    tool: str, name: str, source: str, path: str, *, cores: int
) -> list[tuple[int, float, float]]:
    """Return the number of matches, seconds and processor seconds of each count of a session."""
    import cepkit as ck

    session = ck.get_session(cores=cores)
    session.range(1).count()  # the session has started
    events = session.read.parquet(path)
    if source != "file":
        # A row group of Parquet files no longer holds the rows that the pattern reads.
        events = events.selectExpr("ts", "type", "price * 2 AS price", "diff", "key")
        events = events.where("price > 2")
    if source == "cached":
        events = events.cache()
        events.count()
    events.createOrReplaceTempView("events")
    counts, stream = [], None
    for longer in LONGER:
        window = window_of(name, longer)
        before, began = processor_seconds(), time.perf_counter()
        if tool in {CEPKIT, WORKERS}:
            stream = stream or ck.events(events, time="ts", type="type")
            text = f"{PATTERNS[name].partition('WITHIN')[0]} WITHIN {window // 1000} milliseconds"
            where = ck.SparkOptions(route="workers" if tool == WORKERS else "auto")
            number = ck.detect(stream, text, spark=where).count()
        else:
            query = spark_sql(name, "events", window, hints=tool == HINTED)
            number = session.sql(query).collect()[0][0]
        seconds = time.perf_counter() - began
        counts.append((number, seconds, spent(before, processor_seconds()) or 0.0))
    session.stop()
    return counts


if __name__ == "__main__":
    main()
