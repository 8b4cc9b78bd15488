"""Streaming queries over files that come one after the other."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import cepkit as ck
from cepkit.spark.streaming.live import KINDS

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
COLUMNS = "ts timestamp, type string, key bigint, price double, id bigint"
KEYED = "a.key = b.key AND b.key = c.key"
BY_PRICE = "a.price < b.price AND b.price < c.price"
PATTERNS = {
    "SEQ": f"PATTERN SEQ(A a, B b, C c) WHERE {BY_PRICE} AND {KEYED} WITHIN 2 seconds",
    "SEQ without a key": f"PATTERN SEQ(A a, B b, C c) WHERE {BY_PRICE} WITHIN 100 milliseconds",
    "AND": f"PATTERN AND(A a, B b, C c) WHERE {BY_PRICE} AND {KEYED} WITHIN 1 second",
    "OR": "PATTERN SEQ(A a, OR(B b, C c)) WITHIN 1 second PARTITION BY key",
    "NOT in the middle": "PATTERN SEQ(A a, NOT(B b), C c) WITHIN 1 second PARTITION BY key",
    "NOT at the end": f"PATTERN SEQ(A a, B b, NOT(C c)) WHERE {KEYED} WITHIN 2 seconds",
    "NOT of two in the middle": "PATTERN SEQ(A a, NOT(AND(B b, C c)), D d)"
    " WHERE a.price < b.price AND b.price < c.price WITHIN 1 second PARTITION BY key",
    "NOT of two at the end": f"PATTERN SEQ(D d, A a, NOT(SEQ(B b, C c))) WHERE d.key = a.key"
    f" AND {KEYED} AND b.price < c.price WITHIN 1 second",
    "FIRST and OPT": "PATTERN SEQ(A a, FIRST B b, OPT(C c)) WHERE b.price > a.price"
    " WITHIN 1 second PARTITION BY key",
    "KL": f"PATTERN SEQ(A a, KL(B b){{1,2}}, C c) WHERE {KEYED} WITHIN 600 milliseconds",
    "neighbours and a bound": f"PATTERN SEQ(A a, KL(B b), C c) WHERE {KEYED} AND"
    " b.price > prev(b.price) WITHIN 1 second WITHIN 500 milliseconds FROM a TO b",
    "a group that repeats": "PATTERN SEQ(KL(SEQ(A a, B b)){1,2}, C c) WHERE a.price < b.price"
    " AND a[i].price < b[i-1].price AND sum(b.price) < 150 WITHIN 600 milliseconds"
    " WITHIN 300 milliseconds FROM a TO b PARTITION BY key",
    "UNTIL": f"PATTERN SEQ(A a, KL(B b) UNTIL D d, C c) WHERE {KEYED} AND d.key = a.key"
    " AND d.price > a.price WITHIN 1 second",
    "GREEDY": "PATTERN SEQ(A a, KL(B b) GREEDY, C c) WHERE b.price > a.price WITHIN 1 second"
    " PARTITION BY key",
    "members": f"PATTERN SEQ(A a, KL(B b), C c) WHERE {KEYED} AND b.price > prev(b.price, 2)"
    " AND b[2].price > a.price WITHIN 1 second",
    "GREEDY and UNTIL": "PATTERN SEQ(A a, KL(B b) GREEDY UNTIL D d, C c) WITHIN 1 second"
    " PARTITION BY key",
    "skip-till-next-match": f"PATTERN SEQ(A a, B b, C c) WHERE {KEYED} WITHIN 2 seconds"
    " STRATEGY skip-till-next-match",
}
COUNTED = {
    "window in events": "PATTERN SEQ(A a, NOT(B b), C c) WITHIN 8 EVENTS PARTITION BY key",
    "partition-contiguity": "PATTERN SEQ(A a, B b) PARTITION BY key STRATEGY partition-contiguity",
    "strict-contiguity": "PATTERN SEQ(A a, B b) WITHIN 1 s STRATEGY strict-contiguity",
    "NEXT": "PATTERN SEQ(A a, NEXT B b, NOT(NEXT C c)) WITHIN 1 s PARTITION BY key",
}
"""The patterns that count events, in the order of their times."""


def make_events(
    n: int, *, keys: int = 20, types: int = 5, disorder: float = 3, seed: int = 1
) -> pa.Table:
    """Return events, 500 a second, in the order of their arrival, up to so late."""
    rng = np.random.default_rng(seed)
    ts = START + np.cumsum(rng.exponential(SECOND / 500, n)).astype(np.int64)
    names = np.array([chr(65 + i) for i in range(types)])
    order = np.argsort(ts + (rng.random(n) * disorder * SECOND).astype(np.int64), kind="stable")
    return pa.table(
        {
            "ts": pa.array(ts[order], pa.timestamp("us", tz="UTC")),
            "type": pa.array(names[rng.integers(0, types, n)][order]),
            "key": pa.array(rng.integers(0, keys, n)[order]),
            "price": pa.array(np.round(rng.random(n) * 100, 2)[order]),
            "id": pa.array(np.arange(n)[order]),
        }
    )


def times(table: pa.Table, name: str = "ts") -> np.ndarray[Any, Any]:
    """Return times in microseconds."""
    values: np.ndarray[Any, Any] = table.column(name).cast(pa.int64()).to_numpy()
    return values


@dataclass
class Live:
    """A folder into which files come, and a streaming query over it.

    Attributes:
        spark: The session.
        root: The folder of all.
        files: How many files have come.
    """

    spark: Any
    root: Path
    files: int = 0

    def put(self, table: pa.Table, rows: int | None = None) -> None:
        """Put events into files of so many rows; each appears at once."""
        (self.root / "in").mkdir(parents=True, exist_ok=True)
        for begin in range(0, max(len(table), 1), rows or max(len(table), 1)):
            hidden = self.root / "in" / f".{self.files:05}"
            pq.write_table(table.slice(begin, rows or len(table)), hidden)
            # The source takes them in the order of their age.
            os.utime(hidden, (1_700_000_000 + self.files,) * 2)
            hidden.rename(hidden.with_name(f"{self.files:05}.parquet"))
            self.files += 1

    def events(self, **options: Any) -> Any:
        """Return the stream, a file a micro-batch."""
        reader = self.spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
        frame = reader.parquet(str(self.root / "in"))
        return ck.events(frame, **({"time": "ts", "type": "type"} | options))

    def run(self, matches: Any, name: str = "out") -> list[Any]:
        """Run a query over the events that have come, and return its progress."""
        writer = matches.writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(self.root / f"{name}-checkpoint"))
        query = writer.trigger(availableNow=True).start(str(self.root / name))
        query.awaitTermination()
        return list(query.recentProgress)

    def result(self, name: str = "out") -> pa.Table:
        """Return the rows that a query has written."""
        return self.spark.read.parquet(str(self.root / name)).toArrow()


def counts(progress: list[Any]) -> dict[str, int]:
    """Return the counts of a query over all micro-batches."""
    total: dict[str, int] = {}
    for one in progress:
        observed = one.observedMetrics.get("cepkit")
        for kind, number in (observed.asDict() if observed else {}).items():
            if kind in KINDS:
                total[kind] = total.get(kind, 0) + number
    return {kind: number for kind, number in total.items() if number}


def identities(matches: pa.Table) -> list[Any]:
    """Return matches by the ids of their events, sorted."""
    rows = []
    for row in matches.to_pylist():
        bound = [row[name] for name in matches.column_names if name not in _ENDS]
        rows.append(
            tuple(
                tuple(e["id"] for e in b) if isinstance(b, list) else (b or {}).get("id", -1)
                for b in bound
            )
        )
    return sorted(rows)


_ENDS = ("match_start", "match_end")


def in_batch(table: pa.Table, text: str, last: int | None = None) -> list[Any]:
    """Return the matches of all events at once, those that end by `last`."""
    return identities(matches_in_batch(table, text, last))


def matches_in_batch(table: pa.Table, text: str, last: int | None = None) -> pa.Table:
    """Return the rows of the matches of all events at once, those that end by `last`."""
    matches = ck.detect(ck.events(table, time="ts", type="type"), text).to_arrow()
    if last is not None:
        matches = matches.filter(pa.array(times(matches, "match_end") <= last))
    return matches


def sealed(table: pa.Table, lateness: float, ahead: float = 0) -> int:
    """Return up to when a stream is sealed after all its events: in whole milliseconds."""
    last = int(times(table).max()) // 1000 * 1000
    return last - round((lateness + ahead) * SECOND)
