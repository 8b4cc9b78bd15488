"""One thread against all cores: by the clock, by processor time, and what more cores would give.

Columns are in memory and plans are made before. *peers* has the patterns of `benchmarks.peers`,
*list* forty patterns in one call, *operators* the catalogue of `benchmarks.operators`. One thread
and all take turns; the least of several runs. *Serial* is the share s of one thread's time that
Amdahl's law gives for the two times measured, and the times on 8 and 16 cores that it foretells are
a forecast, not a measurement. On a machine that does other work these say little: *more work*, the
processor time of all threads by that of one, is what can still be compared there.

    python -m benchmarks threads [-- --events N ... --runs N --only peers,list --out FOLDER]
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import operators
from benchmarks.peers import PATTERNS
from benchmarks.results import Row, machine, show, write
from benchmarks.several_patterns import drawn, generated
from benchmarks.streams import zipf_events
from cepkit import aggregate, choose_plan, detect, events, parse, profile
from cepkit.threads import VARIABLE, cores

Works = Iterator[tuple[str, Callable[[], Any]]]


def of_peers(size: int) -> Works:
    """Yield the counts of P1 to P5."""
    stream = events(zipf_events(size, seed=1), time="ts", type="type")
    for name, text in PATTERNS.items():
        query = parse(text)
        if query.aggregates:
            yield name, lambda query=query: aggregate(stream, query, emit="total").to_arrow()
            continue
        plan = choose_plan(query, profile(stream, query))
        yield name, lambda query=query, plan=plan: detect(stream, query, plan).count()


def of_lists(size: int) -> Works:
    """Yield the counts of forty patterns together."""
    given = generated(size)
    queries = drawn(given, 40, 5.0, most=3e5)
    plan = choose_plan(queries, profile(given.stream, queries))
    yield "40 patterns", lambda: detect(given.stream, queries, plan).counts().tolist()


def of_operators(size: int) -> Works:
    """Yield the counts of the catalogue of operators."""
    stream = events(zipf_events(size, seed=1), time="ts", type="type")
    for case in operators.EVENTS:
        query, order = parse(case.text), list(case.order)
        yield case.name, lambda query=query, order=order: detect(stream, query, order).count()


SETS: dict[str, Callable[[int], Works]] = {
    "peers": of_peers,
    "list": of_lists,
    "operators": of_operators,
}


def compared(name: str, work: Callable[[], Any], runs: int) -> Row:
    """Return the times of one thread and of all."""
    most = cores()
    clock, processor = dict.fromkeys((1, most), math.inf), dict.fromkeys((1, most), math.inf)
    for run in range(runs + 1):
        for threads in clock:
            os.environ[VARIABLE] = str(threads)
            begun, used = time.perf_counter(), time.process_time()
            work()
            if run:  # the first one compiles
                clock[threads] = min(clock[threads], time.perf_counter() - begun)
                processor[threads] = min(processor[threads], time.process_time() - used)
    del os.environ[VARIABLE]
    one = clock[1]
    serial = max(0.0, min(1.0, (most * clock[most] / one - 1) / max(1, most - 1)))
    return {
        "case": name,
        "one": one,
        f"{most} threads": clock[most],
        "times faster": one / clock[most],
        "processor, one": processor[1],
        "more work": processor[most] / processor[1],
        "serial": serial,
        "8 cores (forecast)": 1 / (serial + (1 - serial) / 8),
        "16 cores (forecast)": 1 / (serial + (1 - serial) / 16),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print tables and write them as CSV."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.threads")
    parser.add_argument("--events", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default=",".join(SETS))
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    options = parser.parse_args(arguments)
    for name in options.only.split(","):
        for size in options.events:
            rows = [compared(case, work, options.runs) for case, work in SETS[name](size)]
            show(f"{name}, {size:,} events: seconds, {machine()}", rows)
            write(options.out, f"threads_{name}_{size}", rows)


if __name__ == "__main__":
    main()
