"""The engine alone, on columns in memory, one core: events per second, memory, and plan quality.

The stream has 50 types with Zipf rates, a mean gap of 5 ms, 9 % equal times, a uniform price, a
normal difference and 1,000 keys. Times are CPU times with the building of indexes included, the
median of five runs after one that warms up. `pairs` leaves the matches as the engine holds them (a
partial match and an event); `rows` writes out the row of every event of every match.

    python -m benchmarks.engine [--events N] [--out FOLDER] [--only WORDS ...]
"""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.results import Tables, machine, named, show, write
from benchmarks.streams import zipf_events
from cepkit.columnar.compile.program import StepCounters
from cepkit.columnar.compile.query import CompiledQuery, compile_query
from cepkit.columnar.detector import Detector
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.checks import as_plan
from cepkit.stream.columns import EventColumns
from cepkit.stream.reading.ingest import event_columns
from cepkit.stream.schema import Schema

GAP = 0.005
"""The mean time between events in seconds: a window of 200 events is 1 s."""
RUNS = 5


@dataclass(frozen=True)
class Case:
    """A pattern, the order that is measured, and the target (events per second)."""

    name: str
    text: str
    order: str
    target: float | None = None


def _ascending(window: float) -> str:
    return (
        "PATTERN SEQ(T01 a, T02 b, T50 c) WHERE a.price < b.price < c.price "
        f"WITHIN {window:g} seconds"
    )


CASES = (
    Case("SEQ-3, window of 200 events", _ascending(200 * GAP), "cba", 30e6),
    Case("SEQ-3, window of 1,000 events", _ascending(1000 * GAP), "cba", 15e6),
    Case(
        "SEQ-4 by key, window of 20,000",
        "PATTERN SEQ(T01 a, T02 b, T03 c, T04 d) "
        f"WHERE a.key = b.key AND b.key = c.key AND c.key = d.key WITHIN {20_000 * GAP:g} seconds",
        "dcba",
        40e6,
    ),
    Case(
        "AND-3, window of 200 events",
        f"PATTERN AND(T01 a, T02 b, T50 c) WHERE a.diff < b.diff WITHIN {200 * GAP:g} seconds",
        "cba",
        20e6,
    ),
    Case(
        "SEQ-3, no bands, window of 1,000",
        "PATTERN SEQ(T01 a, T02 b, T50 c) WHERE abs(1.1 * a.price - b.price) < 0.5 * c.price "
        f"AND (a.key != b.key OR a.diff < c.diff) WITHIN {1000 * GAP:g} seconds",
        "cba",
    ),
    Case(
        "near values, window of 100,000",
        "PATTERN SEQ(T01 a, T02 b) WHERE abs(a.price - b.price) < 0.000001 "
        f"WITHIN {100_000 * GAP:g} seconds",
        "ab",
    ),
)


def _next_match(last: str, condition: str = "", window: int = 200) -> str:
    return (
        f"PATTERN SEQ(T01 a, T02 b, {last} c) {condition} WITHIN {window * GAP:g} seconds "
        "STRATEGY skip-till-next-match"
    )


NEXT_MATCH = (
    Case("rare last", _next_match("T50"), "abc", 50e6),
    Case("rare last, one band", _next_match("T50", "WHERE a.price < b.price"), "abc", 50e6),
    Case("rare last, two bands", _next_match("T50", "WHERE a.price < b.price < c.price"), "abc"),
    Case("frequent", _next_match("T03"), "abc", 50e6),
    Case("frequent, one band", _next_match("T03", "WHERE a.price < b.price"), "abc", 50e6),
    Case("frequent, two bands", _next_match("T03", "WHERE a.price < b.price < c.price"), "abc"),
    Case("frequent, equal keys", _next_match("T03", "WHERE a.key = b.key"), "abc"),
    Case("rare last, no band", _next_match("T50", "WHERE a.price + b.price < c.price"), "cba"),
    Case("frequent, no band", _next_match("T03", "WHERE a.price + b.price < c.price"), "cba"),
    Case("frequent, few pairs", _next_match("T03", "WHERE abs(a.price - b.price) < 0.001"), "cba"),
    Case(
        "frequent, near last, window of 1,000",
        _next_match("T03", "WHERE c.price - 0.0005 < b.price < c.price + 0.0005", 1000),
        "cba",
    ),
)
"""In the order given where batches take over: where conditions refuse most candidates."""


def columns(events: int) -> EventColumns:
    """Return the stream in memory."""
    table = zipf_events(events, seed=1)
    return event_columns(table, Schema("ts", "type"), ("price", "diff", "key"))


def compiled(text: str, order: Sequence[str]) -> CompiledQuery:
    """Return a pattern of one branch, compiled."""
    query = parse(text)
    return compile_query(query, as_plan(list(order), query))


def run(
    stream: EventColumns, query: CompiledQuery, *, rows: bool = False
) -> tuple[float, int, tuple[StepCounters, ...]]:
    """Return CPU seconds, matches and counters of one run."""
    detector = Detector(query)
    began = time.process_time()
    found = 0
    for _, block in detector.matches(stream):
        found += block.size
        if rows:
            for variable in query.programs[0].variables:
                block.events(variable)
    return time.process_time() - began, found, detector.counters[0]


def median(stream: EventColumns, query: CompiledQuery, *, rows: bool = False) -> Any:
    """Return the median CPU seconds, and matches and counters, of several runs."""
    run(stream, query, rows=rows)
    runs = [run(stream, query, rows=rows) for _ in range(RUNS)]
    return statistics.median(seconds for seconds, _, _ in runs), runs[0][1], runs[0][2]


def throughput(stream: EventColumns, only: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Measure every case, or those that are named."""
    table = []
    for case in named(CASES, only):
        query = compiled(case.text, case.order)
        seconds, found, counters = median(stream, query)
        written, _, _ = median(stream, query, rows=True)
        candidates = sum(step.candidates for step in counters)
        table.append(
            {
                "case": case.name,
                "candidates": candidates,
                "matches": found,
                "Mev/s pairs": len(stream) / seconds / 1e6,
                "Mev/s rows": len(stream) / written / 1e6,
                "target": None if case.target is None else case.target / 1e6,
                "ns/candidate": seconds * 1e9 / candidates,
            }
        )
    return table


def orders(stream: EventColumns) -> list[dict[str, Any]]:
    """Measure all orders of every case: does plan quality show?"""
    table = []
    for case in CASES[:4]:
        measured = []
        for order in itertools.permutations(sorted(case.order)):
            seconds, _, counters = run(stream, compiled(case.text, order))
            candidates = sum(step.candidates for step in counters)
            partials = sum(step.survivors for step in counters)
            measured.append((seconds, candidates, partials, "".join(order)))
        best, worst = min(measured), max(measured)
        table.append(
            {
                "case": case.name,
                "best": best[3],
                "worst": worst[3],
                "time ratio": worst[0] / best[0],
                "candidates ratio": worst[1] / best[1],
                "(candidates + 3 partials) ratio": (worst[1] + 3 * worst[2])
                / (best[1] + 3 * best[2]),
            }
        )
    return table


def next_match(stream: EventColumns, only: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Measure skip-till-next-match, beside a Python loop that does the same without conditions."""
    table = []
    for case in named(NEXT_MATCH, only):
        seconds, found, counters = median(stream, compiled(case.text, case.order))
        table.append(
            {
                "case": case.name,
                "candidates": sum(step.candidates for step in counters),
                "matches": found,
                "Mev/s": len(stream) / seconds / 1e6,
                "target": None if case.target is None else case.target / 1e6,
                "Mev/s, Python": _python_walk(stream, case, found),
            }
        )
    return table


def _python_walk(stream: EventColumns, case: Case, expected: int) -> float | None:
    """Return the speed of a loop over the events with a queue for each variable, in Mev/s.

    None where the case has conditions, for which queues do not suffice.
    """
    query = parse(case.text)
    if query.where is not None:
        return None
    (branch,) = normal_form(query)
    first, second, third = (stream.type_names.index(min(e.types or ())) for e in branch.positive)
    ts, types, window = stream.ts.tolist(), stream.types.tolist(), round(200 * GAP * 1e6)
    began = time.process_time()
    a: deque[int] = deque()
    b: deque[int] = deque()
    found = 0
    for moment, kind in zip(ts, types, strict=True):
        if kind == first:
            a.append(moment)
        elif kind == second:
            b.append(moment)
        elif kind == third:
            while a and a[0] < moment - window:
                a.popleft()
            # An event that this a does not precede, no later a precedes, in this match or another.
            while a and b and b[0] <= a[0]:
                b.popleft()
            if a and b and b[0] < moment:
                a.popleft()
                b.popleft()
                found += 1
    seconds = time.process_time() - began
    assert found == expected, f"{case.name}: {found} matches by the Python loop, not {expected}"
    return len(stream) / seconds / 1e6


def memory(events: int) -> list[dict[str, Any]]:
    """Measure the peak memory above the input, each case in a process of its own (Linux)."""
    if not Path("/proc/self/clear_refs").exists():
        return []
    table = []
    for number, case in enumerate(CASES):
        command = [sys.executable, "-m", "benchmarks.engine", "--events", str(events)]
        answer = subprocess.run(
            [*command, "--memory-of", str(number)], check=True, capture_output=True, text=True
        )
        table.append({"case": case.name, "MB above the input": float(answer.stdout), "target": 50})
    return table


def first_runs(events: int) -> list[dict[str, Any]]:
    """Measure the first run of each case in a process of its own, without and with caches."""
    table = []
    for number, case in enumerate(CASES):
        command = [sys.executable, "-m", "benchmarks.engine", "--events", str(events)]
        with tempfile.TemporaryDirectory() as empty:
            caches = {"NUMBA_CACHE_DIR": empty, "XDG_CACHE_HOME": empty}
            # The second process uses the loops that the first has compiled.
            cold, warm = (
                subprocess.run(
                    [*command, "--first-of", str(number)],
                    check=True,
                    capture_output=True,
                    text=True,
                    env={**os.environ, **caches},
                ).stdout
                for _ in range(2)
            )
        row = {"case": case.name, "seconds, no caches": float(cold), "target": 3}
        table.append({**row, "seconds, with caches": float(warm)})
    return table


def _first_of(number: int, events: int) -> float:
    """Return the wall time of the first run in this process."""
    query, stream = compiled(CASES[number].text, CASES[number].order), columns(events)
    began = time.perf_counter()
    run(stream, query)
    return time.perf_counter() - began


def _memory_of(number: int, events: int) -> float:
    """Return the peak of memory above that before, in this process."""
    query = compiled(CASES[number].text, CASES[number].order)
    run(columns(20_000), query)  # compiles
    stream = columns(events)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = status("VmRSS")
    run(stream, query)
    return (status("VmHWM") - before) / 1024


def status(name: str) -> int:
    """Return a line of this process's state, in kilobytes (Linux)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="The engine alone, on columns in memory.")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--only", nargs="+", help="speeds alone, of cases with these words")
    parser.add_argument("--memory-of", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--first-of", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.memory_of is not None:
        print(_memory_of(options.memory_of, options.events))
        return
    if options.first_of is not None:
        print(_first_of(options.first_of, options.events))
        return
    stream, events = columns(options.events), f"{options.events:,} events"
    speeds: Tables = (
        ("engine", f"The engine, {events}", lambda: throughput(stream, options.only)),
        ("engine_next_match", "skip-till-next-match", lambda: next_match(stream, options.only)),
    )
    others: Tables = (
        ("engine_orders", "Best and worst order", lambda: orders(stream)),
        ("engine_memory", "Peak memory", lambda: memory(options.events)),
        ("engine_first_run", "First run of a process", lambda: first_runs(options.events)),
    )
    for name, title, measure in (*speeds, *(() if options.only else others)):
        if rows := measure():
            show(f"{title}, {machine()}", rows)
            write(options.out, name, rows)


if __name__ == "__main__":
    main()
