"""Counts over files larger than memory, under a limit of the address space.

Writes the benchmark stream (`zipf_events`) in pieces as one Parquet file, some 20
bytes an event, and counts in a fresh process whose address space is limited: P1 of `peers`, a
sequence of three whose last event is rare, and P5, which is aggregated. It reports the clock, the
processor time and the peak memory of each process. The time of a billion events is extrapolated
from the two largest counts. The files are deleted.

    python -m benchmarks.larger_than_memory [--events N ...] [--limit-mb N] [--folder F] [--out F]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.peers import PATTERNS
from benchmarks.results import machine, show, write
from benchmarks.streams import zipf_events

PIECE = 1 << 20
"""The events that are made at a time."""
ROW_GROUP = 1 << 18
BILLION = 1_000_000_000


def write_events(path: Path, n: int) -> None:
    """Write the benchmark stream in pieces, so that it is never in memory as a whole.

    Args:
        path: The Parquet file.
        n: The number of events.
    """
    begin, writer = 0, None
    for seed, first in enumerate(range(0, n, PIECE)):
        table = zipf_events(min(PIECE, n - first), seed=seed)
        ts = table.column("ts")
        times = ts.cast(pa.int64()).to_numpy()
        shifted = times + (begin - times[0] if begin else 0)
        begin = int(shifted[-1]) + 1
        table = table.set_column(0, "ts", pa.array(shifted).cast(ts.type))
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table, row_group_size=ROW_GROUP)
    if writer is not None:
        writer.close()


def count(path: str, name: str, limit: int) -> None:
    """Count the matches of a pattern in this process, under a limit of its address space."""
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    begin = time.perf_counter()
    import cepkit as ck

    stream = ck.events(path, time="ts", type="type")
    if "AGG" in PATTERNS[name]:
        number = ck.aggregate(stream, PATTERNS[name], emit="total").to_pandas()["count"][0]
    else:
        number = ck.detect(stream, PATTERNS[name]).count()
    seconds = time.perf_counter() - begin
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(number, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss)


def measured(path: Path, n: int, name: str, limit: int) -> dict[str, Any]:
    """Return the row of a count in a process of its own."""
    arguments = [sys.executable, "-m", "benchmarks.larger_than_memory", "--count", str(path)]
    arguments += ["--pattern", name, "--limit-mb", str(limit >> 20)]
    ran = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(ran.stderr)
    number, seconds, processor, peak = map(float, ran.stdout.split())
    return {
        "events": n,
        "pattern": name,
        "file MB": path.stat().st_size / 1e6,
        "matches": int(number),
        "seconds": seconds,
        "processor": processor,
        "peak MB": peak / 1e3,
    }


def billion(rows: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return what the two largest counts of a pattern foretell for a billion events."""
    one, other = sorted((row for row in rows if row["pattern"] == name), key=_events)[-2:]
    share = (BILLION - other["events"]) / (other["events"] - one["events"])
    more = {
        what: other[what] + share * (other[what] - one[what])
        for what in ("file MB", "seconds", "processor")
    }
    return {"events": "1,000,000,000, extrapolated", "pattern": name, **more}


def _events(row: dict[str, Any]) -> int:
    return int(row["events"])


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sizes = [10_000_000, 30_000_000, 100_000_000]
    parser.add_argument("--events", type=int, nargs="+", default=sizes)
    parser.add_argument("--limit-mb", type=int, default=2048)
    parser.add_argument("--folder", help="where the files lie meanwhile; default: the system's")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--count", help=argparse.SUPPRESS)
    parser.add_argument("--pattern", nargs="+", default=["P1", "P5"], choices=PATTERNS)
    options = parser.parse_args(arguments)
    limit = options.limit_mb << 20
    if options.count:
        count(options.count, options.pattern[0], limit)
        return
    rows: list[dict[str, Any]] = []
    for n in options.events:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            path = Path(folder) / "events.parquet"
            write_events(path, n)
            rows += [measured(path, n, name, limit) for name in options.pattern]
            show(f"Under {options.limit_mb:,} MB of address space; {machine()}", rows[-2:])
    show(f"Under {options.limit_mb:,} MB of address space; {machine()}", rows)
    if len(options.events) > 1:
        show("Extrapolated", [billion(rows, name) for name in options.pattern])
    if options.out:
        write(options.out, "larger_than_memory", rows)


if __name__ == "__main__":
    main(sys.argv[1:])
