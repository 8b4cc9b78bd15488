"""From a Parquet file to a count, beside polars and DuckDB as their users would write it.

P1 is a sequence of three whose last event is rare, P2 a sequence of four with equal keys, P3 a
conjunction, P4 an absence, P5 a count that cepkit aggregates without constructing matches. Peers
join events of one bucket of time, as long as the window, from the event that leaves least; each
takes its own threads, cepkit all cores. *fresh* is the processor time of a whole process, from its
start to its end, *warm* that of a further count in a process that has counted before, from the
file, and *memory* that of a further count of columns that are in memory already, with cepkit's plan
made. *frames* is P1 from a pandas frame to a pandas frame of the matches, a further time: cepkit's
`to_pandas()` has eleven columns (time, type and price of each event, start and end of the match),
the peers' select has six (times and prices); `RETURN a.ts, a.price, ...` would have eight and take
a tenth less. Tools take turns; medians. There is a table of processor time, and one of the clock.
The ratio is the better peer's time by cepkit's: above 1 cepkit is faster. A peer that is not
installed is left out. Each pattern is printed when it is done.

    python -m benchmarks.peers [--events N ...] [--runs N] [--only P1 ...] [--code] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.results import machine, show, write

PATTERNS: Mapping[str, str] = {
    "P1": "PATTERN SEQ(T01 a, T02 b, T50 c) WHERE a.price < b.price < c.price WITHIN 1 second",
    "P2": "PATTERN SEQ(T01 a, T02 b, T03 c, T04 d) "
    "WHERE a.key = b.key AND b.key = c.key AND c.key = d.key WITHIN 100 seconds",
    "P3": "PATTERN AND(T01 a, T02 b, T50 c) WHERE a.diff < b.diff WITHIN 1 second",
    "P4": "PATTERN SEQ(T01 a, NOT(T02 n), T50 c) WHERE n.price > a.price WITHIN 1 second",
    "P5": "PATTERN SEQ(T01 a, T02 b, T03 c) WITHIN 1 second AGG COUNT",
}
SECONDS = "processor seconds", "seconds by the clock"
AGAIN = 4
"""The number of counts of a warm process; its first count is not warm."""

_SECOND = 1_000_000

_EVENTS = """WITH e AS (
  SELECT type, epoch_us(ts) AS t, epoch_us(ts) // {window} AS bucket, price, diff, key
  FROM {source}
),
"""
_LAST = """c AS (SELECT t AS tc, price AS pc, unnest([bucket - 1, bucket]) AS bucket
  FROM e WHERE type = '{last}'),
"""
_FROM = "unnest(range((tc - {window}) // {window}, b.bucket + 1)) AS bucket"
"""The buckets of events that may come before b, in one window with c."""

DUCKDB: Mapping[str, str] = {
    "P1": _EVENTS + _LAST + "bc AS (SELECT b.t AS tb, b.price AS pb, tc, " + _FROM + """
  FROM e b JOIN c ON b.bucket = c.bucket AND b.t < tc AND tc <= b.t + {window} AND b.price < pc
  WHERE b.type = 'T02')
SELECT count(*) FROM bc JOIN e a ON a.bucket = bc.bucket AND a.t < tb AND tc <= a.t + {window}
  AND a.price < pb WHERE a.type = 'T01'""",
    "P2": _EVENTS + """d AS (SELECT t AS td, key, unnest([bucket - 1, bucket]) AS bucket
  FROM e WHERE type = 'T04'),
cd AS (SELECT c.t AS tc, td, key,
    unnest(range((td - {window}) // {window}, c.bucket + 1)) AS bucket
  FROM e c JOIN d USING (bucket, key) WHERE c.type = 'T03' AND c.t < td AND td <= c.t + {window}),
bcd AS (SELECT b.t AS tb, td, key,
    unnest(range((td - {window}) // {window}, b.bucket + 1)) AS bucket
  FROM e b JOIN cd USING (bucket, key) WHERE b.type = 'T02' AND b.t < tc AND td <= b.t + {window})
SELECT count(*) FROM e a JOIN bcd USING (bucket, key)
WHERE a.type = 'T01' AND a.t < tb AND td <= a.t + {window}""",
    "P3": _EVENTS + """c AS (
  SELECT t AS tc, unnest(range(bucket - 1, bucket + 2)) AS bucket FROM e WHERE type = 'T50'),
bc AS (SELECT b.t AS tb, b.diff AS db, tc, unnest(range((greatest(b.t, tc) - {window}) // {window},
    (least(b.t, tc) + {window}) // {window} + 1)) AS bucket
  FROM e b JOIN c ON b.bucket = c.bucket AND abs(b.t - tc) <= {window} WHERE b.type = 'T02')
SELECT count(*) FROM bc JOIN e a ON a.bucket = bc.bucket AND a.diff < db
  AND a.t BETWEEN greatest(tb, tc) - {window} AND least(tb, tc) + {window} WHERE a.type = 'T01'""",
    "P4": _EVENTS + _LAST + """ac AS (SELECT a.t, a.price, a.bucket, tc
  FROM e a JOIN c ON a.bucket = c.bucket AND t < tc AND tc <= t + {window} WHERE a.type = 'T01'),
n AS (SELECT t AS tn, price AS pn, unnest([bucket - 1, bucket]) AS bucket
  FROM e WHERE type = 'T02')
SELECT count(*) FROM ac ANTI JOIN n ON ac.bucket = n.bucket AND tn > t AND tn < tc AND pn > price
""",
    "P5": _EVENTS + _LAST + "bc AS (SELECT b.t AS tb, tc, " + _FROM + """
  FROM e b JOIN c ON b.bucket = c.bucket AND b.t < tc AND tc <= b.t + {window}
  WHERE b.type = 'T02')
SELECT count(*) FROM bc JOIN e a ON a.bucket = bc.bucket AND a.t < tb AND tc <= a.t + {window}
WHERE a.type = 'T01'""",
}  # fmt: skip
"""The queries of DuckDB; for P5 it must make the matches, as SQL cannot count sequences."""


def sql(name: str, source: str) -> str:
    """Return the query of a pattern in SQL."""
    window = _SECOND * (100 if name == "P2" else 1)
    return DUCKDB[name].format(source=source, window=window, last="T03" if name == "P5" else "T50")


def duckdb_count(name: str, path: str) -> int:
    """Count with DuckDB."""
    import duckdb

    return _duckdb_number(duckdb.connect(), sql(name, f"'{path}'"))


def duckdb_in_memory(name: str, path: str) -> Callable[[], int]:
    """Return the count of a table in memory."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE events AS FROM '{path}'")
    return lambda: _duckdb_number(connection, sql(name, "events"))


def duckdb_frames(path: str) -> Callable[[], int]:
    """Return P1 from a frame to a frame."""
    import duckdb
    import pandas as pd

    frame = pd.read_parquet(path)
    query = sql("P1", "frame").replace("pb, tc", "pb, pc, tc")
    query = query.replace("count(*)", "a.t AS ta, a.price AS pa, tb, pb, tc, pc")

    def matches() -> int:
        with duckdb.connect() as connection:
            return len(connection.register("frame", frame).execute(query).df())

    return matches


def _duckdb_number(connection: Any, query: str) -> int:
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def polars_count(name: str, path: str) -> int:
    """Count with polars."""
    import polars as pl

    return _polars_number(name, pl.scan_parquet(path))


def polars_in_memory(name: str, path: str) -> Callable[[], int]:
    """Return the count of a frame in memory."""
    import polars as pl

    frame = pl.read_parquet(path)
    return lambda: _polars_number(name, frame.lazy())


def polars_frames(path: str) -> Callable[[], int]:
    """Return P1 from a frame to a frame."""
    import pandas as pd
    import polars as pl

    frame = pd.read_parquet(path)
    columns = ["ta", "pricea", "tb", "priceb", "tc", "pricec"]

    def matches() -> int:
        joined = polars_joins("P1", pl.from_pandas(frame).lazy())
        return len(joined.select(columns).collect().to_pandas())

    return matches


def _polars_number(name: str, source: Any) -> int:
    import polars as pl

    return int(polars_joins(name, source).select(pl.len()).collect().item())


def polars_joins(name: str, source: Any) -> Any:
    """Return the matches in a lazy frame, as a lazy frame."""
    import polars as pl

    second = _SECOND
    window = 100 * second if name == "P2" else second

    def events(type_name: str, variable: str, *columns: str) -> Any:
        rows = source.filter(pl.col("type") == type_name)
        time_of = pl.col("ts").dt.epoch("us").alias(f"t{variable}")
        named = (pl.col(c).alias(c if c == "key" else c + variable) for c in columns)
        bucket = pl.col("ts").dt.epoch("us") // window
        return rows.select(time_of, *named, bucket=bucket)

    def spread(rows: Any, first: Any, last: Any) -> Any:
        return rows.with_columns(bucket=pl.int_ranges(first, last + 1)).explode("bucket")

    def before(rows: Any, variable: str, after: str, *on: str) -> Any:
        """Join events before those of `after`, and spread them over the buckets before them."""
        time_of, last = pl.col(f"t{variable}"), pl.col(f"t{end}")
        joined = events(*rows).join(found, on=["bucket", *on])
        joined = joined.filter((time_of < pl.col(f"t{after}")) & (last - time_of <= window))
        return spread(joined, (last - window) // window, time_of // window)

    ta, tb, tc = pl.col("ta"), pl.col("tb"), pl.col("tc")
    bucket = pl.col("bucket")
    end = "d" if name == "P2" else "c"
    if name == "P2":
        found = spread(events("T04", "d", "key"), bucket - 1, bucket)
        found = before(("T03", "c", "key"), "c", "d", "key")
        found = before(("T02", "b", "key"), "b", "c", "key")
        pairs = events("T01", "a", "key").join(found, on=["bucket", "key"])
        held = (ta < tb) & (pl.col("td") - ta <= window)
    elif name == "P3":
        found = spread(events("T50", "c"), bucket - 1, bucket + 1)
        pairs = events("T02", "b", "diff").join(found, on="bucket")
        pairs = pairs.filter((tb - tc).abs() <= window)
        latest, earliest = pl.max_horizontal("tb", "tc"), pl.min_horizontal("tb", "tc")
        found = spread(pairs, (latest - window) // window, (earliest + window) // window)
        pairs = events("T01", "a", "diff").join(found, on="bucket")
        held = (latest - ta <= window) & (ta - earliest <= window)
        held &= pl.col("diffa") < pl.col("diffb")
    elif name == "P4":
        found = spread(events("T50", "c"), bucket - 1, bucket)
        pairs = events("T01", "a", "price").join(found, on="bucket")
        pairs = pairs.filter((ta < tc) & (tc - ta <= window)).with_row_index("pair")
        absent = spread(events("T02", "n", "price"), bucket - 1, bucket)
        violating = pairs.join(absent, on="bucket").filter(
            (pl.col("tn") > ta) & (pl.col("tn") < tc) & (pl.col("pricen") > pl.col("pricea"))
        )
        pairs, held = pairs.join(violating, on="pair", how="anti"), pl.lit(value=True)
    else:
        columns = ("price",) if name == "P1" else ()
        found = spread(events("T50" if name == "P1" else "T03", "c", *columns), bucket - 1, bucket)
        found = before(("T02", "b", *columns), "b", "c")
        if name == "P1":
            found = found.filter(pl.col("priceb") < pl.col("pricec"))
        pairs = events("T01", "a", *columns).join(found, on="bucket")
        held = (ta < tb) & (tc - ta <= window)
        if name == "P1":
            held &= pl.col("pricea") < pl.col("priceb")
    return pairs.filter(held)


def cepkit_count(name: str, path: str) -> int:
    """Count with cepkit."""
    import cepkit as ck

    return _cepkit_number(name, ck.events(path, time="ts", type="type"), PATTERNS[name])


def cepkit_in_memory(name: str, path: str) -> Callable[[], int]:
    """Return the count of a stream in memory, with a plan made before."""
    import pyarrow.parquet as pq

    import cepkit as ck

    stream = ck.events(pq.read_table(path), time="ts", type="type")
    query = ck.parse(PATTERNS[name])
    plan = None if name == "P5" else ck.choose_plan(query, ck.profile(stream, query))
    return lambda: _cepkit_number(name, stream, query, plan)


def cepkit_frames(path: str) -> Callable[[], int]:
    """Return P1 from a frame to a frame."""
    import pandas as pd

    import cepkit as ck

    frame = pd.read_parquet(path)

    def matches() -> int:
        stream = ck.events(frame, time="ts", type="type", columns=["price"])
        return len(ck.detect(stream, PATTERNS["P1"]).to_pandas())

    return matches


def _cepkit_number(name: str, stream: Any, query: Any, plan: Any = None) -> int:
    import cepkit as ck

    if name == "P5":
        result: Any = ck.aggregate(stream, query, emit="total")
        return int(result.to_arrow().column("count")[0].as_py())
    return ck.detect(stream, query, plan).count()


class Tool(NamedTuple):
    """How a tool counts from a file, in memory, and from a frame to a frame."""

    count: Callable[[str, str], int]
    in_memory: Callable[[str, str], Callable[[], int]]
    frames: Callable[[str], Callable[[], int]]

    def counts(self, kind: str, name: str, path: str) -> Callable[[], int]:
        """Return the kind of measurement: "fresh", "warm", "memory" or "frames"."""
        if kind == "memory":
            return self.in_memory(name, path)
        if kind == "frames":
            return self.frames(path)
        return lambda: self.count(name, path)


TOOLS: Mapping[str, Tool] = {
    "cepkit": Tool(cepkit_count, cepkit_in_memory, cepkit_frames),
    "polars": Tool(polars_count, polars_in_memory, polars_frames),
    "duckdb": Tool(duckdb_count, duckdb_in_memory, duckdb_frames),
}


class Counted(NamedTuple):
    """A count in a process of its own.

    Attributes:
        number: The count.
        fresh: The processor seconds of the process, and its seconds by the clock.
        again: Those of a further count, the least; 0 if there is none.
        memory: The most memory in MB.
    """

    number: int
    fresh: tuple[float, float]
    again: tuple[float, float]
    memory: float


def counted(tool: str, name: str, path: Path, kind: str) -> Counted:
    """Count in a process of its own.

    Args:
        tool: A name of `TOOLS`.
        name: A name of `PATTERNS`.
        path: The file.
        kind: As for `Tool.counts`; all but "fresh" count several times.
    """
    call = ["--child", tool, name, str(path), kind]
    # An installed package has its bytecode, so processes must not make it again.
    of_child = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.peers", *call],
        stdout=subprocess.PIPE,
        text=True,
        env=of_child,
    )
    assert child.stdout is not None
    told = child.stdout.read().split()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stdout.close()
    if child.returncode:
        raise RuntimeError(f"{tool} fails on {name}")
    fresh = used.ru_utime + used.ru_stime, time.perf_counter() - began
    return Counted(int(told[0]), fresh, (float(told[1]), float(told[2])), float(told[3]))


def _child(tool: str, name: str, path: str, kind: str) -> None:
    count = TOOLS[tool].counts(kind, name, path)
    warm, clock = [], []
    for _ in range(1 if kind == "fresh" else AGAIN):
        began, begun = time.process_time(), time.perf_counter()
        number = count()
        warm.append(time.process_time() - began)
        clock.append(time.perf_counter() - begun)
    print(number, min(warm[1:], default=0.0), min(clock[1:], default=0.0), _most_memory())


def _most_memory() -> float:
    """Return the most memory of this process in MB; 0 if the system does not report it."""
    # For a child getrusage also counts the memory of its parent before exec.
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else ()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def measure(
    path: Path, events: int, runs: int, names: Sequence[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a row for each of some patterns: by processor time, and by the clock."""
    tools = [tool for tool in TOOLS if importlib.util.find_spec(tool)]
    for tool in TOOLS.keys() - tools:
        print(f"  {tool} is not installed: left out")
    tables: tuple[list[dict[str, Any]], list[dict[str, Any]]] = [], []
    for name in names:
        counted("cepkit", name, path, "fresh")  # compiles what is not cached on disk yet
        fresh: dict[str, list[Counted]] = {tool: [] for tool in tools}
        kinds = ("warm", "memory", "frames") if name == "P1" else ("warm", "memory")
        again = {kind: {tool: list[tuple[float, float]]() for tool in tools} for kind in kinds}
        numbers = set()
        for _ in range(runs):
            for tool in tools:
                fresh[tool].append(counted(tool, name, path, "fresh"))
                numbers.add(fresh[tool][-1].number)
                for kind, of_tools in again.items():
                    one = counted(tool, name, path, kind)
                    of_tools[tool].append(one.again)
                    numbers.add(one.number)
        if len(numbers) > 1:
            raise RuntimeError(f"the tools count {sorted(numbers)} matches of {name}")
        taken = {"fresh": {tool: [one.fresh for one in fresh[tool]] for tool in tools}, **again}
        matches = numbers.pop()
        for by_clock, table in enumerate(tables):
            row: dict[str, Any] = {"events": events, "pattern": name, "matches": matches}
            for kind in ("fresh", "warm", "memory", "frames"):
                of_tools = taken.get(kind, {})
                medians = {t: median(each[by_clock] for each in of_tools[t]) for t in of_tools}
                peers = [s for tool, s in medians.items() if tool != "cepkit"]
                row |= {f"{kind} {tool}": medians.get(tool) for tool in TOOLS}
                row[f"{kind} ratio"] = min(peers) / medians["cepkit"] if peers else None
            most = {tool: max(one.memory for one in fresh[tool]) for tool in tools}
            table.append(row | {f"MB {tool}": most.get(tool) for tool in TOOLS})
            shown = {name: value for name, value in table[-1].items() if value is not None}
            show(f"{name}, {SECONDS[by_clock]}", [shown])
    return tables


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table and write it as CSV."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    parser.add_argument("--events", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=[*PATTERNS], default=[*PATTERNS])
    parser.add_argument("--code", action="store_true", help="print what each tool is asked")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        _child(*options.child)
        return
    if options.code:
        quoted = "'events.parquet'"
        for name, text in PATTERNS.items():
            print(f"{name}: {text}\n\n{sql(name, quoted)}\n")
        print(inspect.getsource(polars_joins))
        return
    import pyarrow.parquet as pq

    from benchmarks.streams import zipf_events

    tables: tuple[list[dict[str, Any]], list[dict[str, Any]]] = [], []
    with tempfile.TemporaryDirectory() as folder:
        for events in options.events:
            path = Path(folder) / f"{events}.parquet"
            pq.write_table(zipf_events(events, seed=1), path)
            by_processor, by_clock = measure(path, events, options.runs, options.only)
            tables[0].extend(by_processor)
            tables[1].extend(by_clock)
            path.unlink()
    for name, seconds, rows in zip(("peers", "peers_clock"), SECONDS, tables, strict=True):
        show(f"{seconds} from a Parquet file to a count, {machine()}", rows)
        write(options.out, name, rows)


if __name__ == "__main__":
    main()
