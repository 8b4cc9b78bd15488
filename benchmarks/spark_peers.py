"""Batch detection on Spark, beside the bucketed joins that an analyst would write in Spark SQL.

The patterns P1 to P4 and the joins are those of `peers`, the joins in Spark's dialect. Both count
the matches in one Parquet file, in sessions of their own with the same settings; they take turns
and must agree. *First* is the first count of a session that has started, *further* the median of
the counts after it, each with a longer window, as an analyst edits a query. Seconds are by the
clock, in parentheses of the JVM's and the workers' processors. The ratio is Spark SQL's seconds
divided by cepkit's: above 1 cepkit is faster.

    python -m benchmarks.spark_peers [--sizes N ...] [--runs N] [--code] [--out FOLDER]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.peers import DUCKDB, PATTERNS
from benchmarks.results import machine, show, write
from benchmarks.spark_runs import options, processor_seconds, spent

NAMES = ("P1", "P2", "P3", "P4")
TOOLS = ("cepkit", "Spark SQL")
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


def window_of(name: str, longer: float) -> int:
    """Return the window of a pattern in microseconds."""
    return round(longer * (100e6 if name == "P2" else 1e6))


def spark_sql(name: str, path: str, window: int) -> str:
    """Return the joins of a pattern in Spark's dialect."""
    text = DUCKDB[name]
    for theirs, sparks in _SPARKS_WORDS:
        text = text.replace(theirs, sparks)
    return text.format(source=f"parquet.`{path}`", window=window, last="T50")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the sizes, print a table and write it as CSV."""
    parser = options("spark_peers")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--code", action="store_true", help="print the SQL")
    parser.add_argument("--one", nargs=3, metavar=("TOOL", "PATTERN", "FILE"))
    given = parser.parse_args(arguments)
    if given.one:
        print(json.dumps(_session(*given.one, cores=given.cores)))
        return
    if given.code:
        for name in NAMES:
            print(f"{name}: {PATTERNS[name]}\n\n{spark_sql(name, 'events.parquet', 1)}\n")
        return
    import pyarrow.parquet as pq

    from cepkit.stream.generators import zipf_events

    rows = []
    with tempfile.TemporaryDirectory(prefix="cepkit-peers-") as folder:
        for size in given.sizes:
            path = Path(folder) / f"{size}.parquet"
            pq.write_table(zipf_events(size, seed=1), path)
            rows += [_row(name, path, size, given.runs, given.cores) for name in NAMES]
    show(f"first and further counts on Spark, local[{given.cores}], {machine()}", rows)
    write(given.out, "spark_peers", rows)


def _row(name: str, path: Path, size: int, runs: int, cores: int) -> dict[str, Any]:
    """Measure one pattern: all sessions of both tools, which take turns."""
    sessions: dict[str, list[list[tuple[int, float, float]]]] = {tool: [] for tool in TOOLS}
    for _ in range(runs):
        for tool in TOOLS:
            command = [sys.executable, "-m", "benchmarks.spark_peers", "--cores", str(cores)]
            command += ["--one", tool, name, str(path)]
            out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            sessions[tool].append(json.loads(out.splitlines()[-1]))
    counts = {tuple(n for n, *_ in one) for of_tool in sessions.values() for one in of_tool}
    if len(counts) > 1:
        raise RuntimeError(f"the tools count {sorted(counts)} matches of {name}")
    row: dict[str, Any] = {"events": size, "pattern": name, "matches": min(counts)[0]}
    for kind, part in (("first", slice(0, 1)), ("further", slice(1, None))):
        seconds = {}
        for tool, of_tool in sessions.items():
            taken = [count for one in of_tool for count in one[part]]
            seconds[tool] = median(count[1] for count in taken)
            row[f"{kind} {tool}"] = seconds[tool]
            row[f"{kind} {tool} processor"] = median(count[2] for count in taken)
        row[f"{kind} ratio"] = seconds["Spark SQL"] / seconds["cepkit"]
    return row


def _session(tool: str, name: str, path: str, *, cores: int) -> list[tuple[int, float, float]]:
    """Return the number of matches, seconds and processor seconds of each count of a session."""
    import cepkit as ck

    session = ck.get_session(cores=cores)
    session.range(1).count()  # the session has started
    counts = []
    for longer in LONGER:
        window = window_of(name, longer)
        before, began = processor_seconds(), time.perf_counter()
        if tool == "cepkit":
            stream = ck.events(session.read.parquet(path), time="ts", type="type")
            text = f"{PATTERNS[name].partition('WITHIN')[0]} WITHIN {window // 1000} milliseconds"
            number = ck.detect(stream, text).count()
        else:
            number = session.sql(spark_sql(name, path, window)).collect()[0][0]
        seconds = time.perf_counter() - began
        counts.append((number, seconds, spent(before, processor_seconds()) or 0.0))
    session.stop()
    return counts


if __name__ == "__main__":
    main()
