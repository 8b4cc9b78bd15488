"""Aggregation without matches, on columns in memory, one core: nanoseconds for a relevant event.

The stream has the types T1 to T8 in random order, a millisecond apart, and the window holds as many
live STARTs as the table says. Times are CPU times, the least of several runs after one that
compiles. They include everything from the columns of events to those of the result, but not parsing
the query.

    python -m benchmarks.aggregation [--events N] [--out FOLDER] [--only PART] [--case WORDS ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.measured import least_seconds
from benchmarks.results import Tables, machine, named, show, write
from benchmarks.two_step import constructed
from cepkit.aggregation.methods import running
from cepkit.aggregation.sequence.definition import sequence_of
from cepkit.aggregation.sequence.elements import Method
from cepkit.aggregation.sequence.operations import operations_of
from cepkit.aggregation.sharing import together as shared
from cepkit.aggregation.sharing.plan import forest_of, positions_of
from cepkit.aggregation.sharing.planner import choose
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.query import Query
from cepkit.routes.functions import functions_of
from cepkit.stream.columns import EventColumns
from cepkit.stream.reading.ingest import event_columns
from cepkit.stream.schema import Schema

GAP = 1000
"""The time between events in microseconds."""
RUNS = 3
METHODS: tuple[Method, ...] = ("prefix-counters", "window-product")
FOUR = ("T1 a", "T2 b", "T3 c", "T4 d")


@dataclass(frozen=True)
class Case:
    """A pattern without its window, the number of its positions, and the target (ns)."""

    name: str
    items: tuple[str, ...]
    rest: str
    method: Method = "window-product"
    target: float | None = None

    @property
    def types(self) -> int:
        """The number of types of the stream."""
        return len(self.items)

    def text(self, live: int) -> str:
        """Return the pattern with a window that holds so many live STARTs."""
        window = live * self.types * GAP
        return f"PATTERN SEQ({', '.join(self.items)}) {self.rest} WITHIN {window} us"


EIGHT = tuple(f"T{i} v{i}" for i in range(1, 9))
ABSENT = ("T1 a", "T2 b", "NOT(T3 n)", "T4 c", "T5 d")
ALL = "AGG COUNT, SUM(c.price), MIN(b.price), MAX(d.price)"
MORE = "COUNT, SUM(c1.price), MIN(c2.price)"
KEYED = "WHERE a.key = b.key AND b.key = c.key AND c.key = d.key"

CASES = (
    Case("count", FOUR, "AGG COUNT", target=60),
    Case("count, prefix counters", FOUR, "AGG COUNT", "prefix-counters"),
    Case("count, NOT", ABSENT, "AGG COUNT", target=60),
    Case("count, integer sum", FOUR, "AGG COUNT, SUM(c.volume)"),
    Case("count, sum, min, max", FOUR, ALL, target=200),
    Case("count, sum, min, max, prefix counters", FOUR, ALL, "prefix-counters"),
    Case("count of 8 events", EIGHT, "AGG COUNT"),
)


def columns(events: int, types: int, keys: int = 1000) -> EventColumns:
    """Return a stream in memory."""
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "ts": pa.array(np.arange(events) * GAP, pa.timestamp("us")),
            "type": np.array([f"T{i + 1}" for i in range(types)])[rng.integers(0, types, events)],
            "price": rng.uniform(1, 100, events),
            "volume": rng.integers(1, 1000, events),
            "key": rng.integers(0, keys, events),
        }
    )
    return event_columns(table, Schema("ts", "type"), ("price", "volume", "key"))


def run(stream: EventColumns, query: Query, method: str) -> None:
    """Aggregate once."""
    if method == "two-step":
        constructed(stream, query, "trigger")
        return
    assert method in METHODS
    sequence = sequence_of(query)
    operations = operations_of(sequence, stream)
    functions = list(functions_of(query, {}).values())
    variables = [event.variable for event in sequence.positive]
    running.aggregate(operations, variables, functions, stream, method, "trigger")


def nanoseconds(stream: EventColumns, text: str, method: str, runs: int = RUNS) -> float:
    """Return the CPU time of a run, for each relevant event."""
    query = parse(text)  # some two milliseconds, whatever the stream
    relevant = len(operations_of(sequence_of(query), stream))
    return _best(lambda: run(stream, query, method), runs) / relevant


def by_starts(events: int, only: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Measure every case, or those that are named, from few to many live STARTs: is it flat?"""
    table = []
    for case in named(CASES, only):
        stream = columns(events, case.types)
        row: dict[str, Any] = {"case": case.name}
        measured = []
        for live in (10, 100, 1000, 10_000):
            if case.method == "prefix-counters" and live > 100:
                row[f"{live} live"] = None
                continue
            measured.append(nanoseconds(stream, case.text(live), case.method))
            row[f"{live} live"] = measured[-1]
        row["most / least"] = max(measured) / min(measured)
        row["target"] = case.target
        table.append(row)
    return table


def by_keys(events: int) -> list[dict[str, Any]]:
    """Measure keyed queries beside the same without a key, and grouped by the key."""
    table = []
    without = nanoseconds(
        columns(events, 4), Case("", FOUR, "AGG COUNT").text(1000), "window-product"
    )
    for keys in (10, 1000, 100_000):
        stream = columns(events, 4, keys)
        window = Case("", FOUR, "").text(1000).partition("WITHIN")[2]
        sequence = f"PATTERN SEQ({', '.join(FOUR)})"
        for name, rest in (
            ("grouped", "AGG COUNT GROUP BY key"),
            ("equal keys", f"{KEYED} AGG COUNT"),
        ):
            took = nanoseconds(stream, f"{sequence} {rest} WITHIN {window}", "window-product")
            table.append(
                {"keys": keys, "query": name, "ns": took, "times un-keyed": took / without}
            )
    return table


def by_length(events: int) -> list[dict[str, Any]]:
    """Measure the methods against each other over sequences of 2 to 5 events."""
    table = []
    for length in (2, 3, 4, 5):
        items = tuple(f"T{i} v{i}" for i in range(1, length + 1))
        case = Case("", items, "AGG COUNT")
        row: dict[str, Any] = {"length": length}
        for method in (*METHODS, "two-step"):
            # Few events for the baseline: only its time for one event matters.
            some = min(events, 20_000 if method == "two-step" and length > 3 else events)
            stream = columns(some, length)
            runs = 1 if method == "two-step" else RUNS
            row[method] = nanoseconds(stream, case.text(100), method, runs)
        row["two-step / product"] = row["two-step"] / row["window-product"]
        table.append(row)
    return table


def by_sharing(events: int) -> list[dict[str, Any]]:
    """Measure queries with something in common, shared and each alone."""
    table = []
    for what, length, queries in (
        *(("prefix", length, 3) for length in (2, 4, 6)),
        *(("prefix", 3, queries) for queries in (2, 4, 6)),
        *(("substring", length, 3) for length in (2, 4, 6)),
        *(("substring", 3, queries) for queries in (2, 4, 6)),
    ):
        stream = columns(events, length + queries)
        for asked in ("COUNT",) if queries == 2 else ("COUNT", MORE):
            table += [_shared(stream, what, length, queries, live, asked) for live in (10, 100)]
    return table


def _shared(
    stream: EventColumns, what: str, length: int, queries: int, live: int, asked: str
) -> dict[str, Any]:
    common = [f"T{i} c{i}" for i in range(1, length + 1)]
    own = [f"T{length + q} o{q}" for q in range(1, queries + 1)]
    structures = [[*common, one] if what == "prefix" else [one, *common] for one in own]
    window = live * (length + queries) * GAP
    texts = [f"PATTERN SEQ({', '.join(s)}) WITHIN {window} us AGG {asked}" for s in structures]
    parsed = [parse(text) for text in texts]
    sequences = [sequence_of(query) for query in parsed]
    positions = [positions_of(sequence) for sequence in sequences]
    cuts = [(length + 1,) if what == "prefix" else (1, length)] * queries
    forest = forest_of(positions, cuts)
    functions = [list(functions_of(query, {}).values()) for query in parsed]

    def together() -> None:
        assert shared.aggregate(forest, sequences, functions, stream, "trigger") is not None

    def alone(method: Method) -> None:
        for query in parsed:
            run(stream, query, method)

    row: dict[str, Any] = {
        "common": what, "length": length, "queries": queries, "asked": asked, "live": live,
    }  # fmt: skip
    row["shared"] = _best(together) / len(stream)
    for method in ("prefix-counters", "window-product"):
        row[f"alone, {method}"] = _best(lambda m=method: alone(m)) / len(stream)
        row[f"gain over {method}"] = row[f"alone, {method}"] / row["shared"]
    rates, lanes = shared.rates_of(sequences, stream), [asked.count(",")] * queries
    choice = choose(positions, rates, "auto", lanes)
    row["auto"] = "alone" if choice.cuts is None else "shared"
    return row


def _best(work: Callable[[], object], runs: int = RUNS) -> float:
    """Return the least CPU time of several runs after one that compiles, in nanoseconds."""
    work()
    return least_seconds(work, runs) * 1e9


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Aggregation without matches, in memory.")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--only", choices=("starts", "keys", "length", "sharing"))
    parser.add_argument("--case", nargs="+", help="by STARTs, only cases with these words")
    options = parser.parse_args(arguments)
    events, sharing = options.events, "several queries, ns an event of the stream"
    parts: Tables = (
        ("aggregation_starts", "ns an event, by live", lambda: by_starts(events, options.case)),
        ("aggregation_keys", "1,000 live STARTs, by keys", lambda: by_keys(events)),
        ("aggregation_length", "ns an event, 100 live STARTs", lambda: by_length(events)),
        ("aggregation_sharing", sharing, lambda: by_sharing(events)),
    )
    for name, title, measure in parts:
        if options.only and not name.endswith(options.only):
            continue
        rows = measure()
        show(f"{title}, {machine()}", rows)
        write(options.out, name, rows)


if __name__ == "__main__":
    main()
