"""The operators on columns in memory, one core: NOT, contiguity, sets, runs, skips, bushy trees.

The stream and the way of measuring are those of `benchmarks/engine.py`, but for *steps*: whole
calls of `detect(...).count()` with a plan made before.

    python -m benchmarks.operators [--events N] [--out FOLDER] [--only WORDS ...]
"""

from __future__ import annotations

import argparse
import gc
import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cepkit as ck
from benchmarks.engine import GAP, RUNS, columns, status
from benchmarks.results import Tables, machine, named, show, write
from benchmarks.streams import zipf_events
from cepkit.columnar.compile.program import StepCounters
from cepkit.columnar.compile.query import CompiledQuery, compile_query
from cepkit.columnar.detector import Detector
from cepkit.columnar.kleene.limits import SetChoice
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.checks import PlanLike, as_plan
from cepkit.plan.nodes import BranchPlan, OrderPlan, Pair, TreePlan
from cepkit.stream.columns import EventColumns
from cepkit.tables import whole


@dataclass(frozen=True)
class Case:
    """A pattern, its target (events per second), and its order; without one a planner's."""

    name: str
    text: str
    target: float | None = None
    order: str = ""


def _within(events: int) -> str:
    return f"WITHIN {events * GAP:g} seconds"


EVENTS = (
    Case("NOT, window of 200", f"PATTERN SEQ(T01 a, NOT(T02 n), T50 c) {_within(200)}", 30e6, "ca"),
    Case(
        "NOT, window of 1,000", f"PATTERN SEQ(T01 a, NOT(T02 n), T50 c) {_within(1000)}", 30e6, "ca"
    ),
    Case(
        "NOT with a condition on one side, window of 200",
        f"PATTERN SEQ(T01 a, NOT(T02 n), T50 c) WHERE n.price > a.price {_within(200)}",
        10e6,
        "ca",
    ),
    Case(
        "NOT with conditions on both sides, window of 1,000",
        "PATTERN SEQ(T01 a, NOT(T02 n), T50 c) WHERE n.price > a.price AND n.price < c.price "
        f"{_within(1000)}",
        10e6,
        "ca",
    ),
    Case(
        "strict contiguity",
        "PATTERN SEQ(T01 a, T02 b, T03 c) WHERE a.price < b.price STRATEGY strict-contiguity",
        100e6,
        "abc",
    ),
    Case(
        "strict contiguity, one rare",
        "PATTERN SEQ(T01 a, T02 b, T50 c) STRATEGY strict-contiguity",
        100e6,
        "cba",
    ),
    Case(
        "partition contiguity",
        "PATTERN SEQ(T01 a, T02 b, T03 c) PARTITION BY key STRATEGY partition-contiguity",
        order="cba",
    ),
)


def compiled(text: str, plan: PlanLike, choice: SetChoice) -> CompiledQuery:
    """Return a pattern of one branch, compiled."""
    query = parse(text)
    return compile_query(query, as_plan(plan, query), "maximal" if choice == "maximal" else "every")


def number_of(detector: Detector, stream: EventColumns, choice: SetChoice) -> int:
    """Return the number of matches, found or counted."""
    if choice == "count":
        return sum(number for _, number in detector.count(stream))
    # Limited: their number was not asked before.
    return sum(block.size for _, block in detector.matches(stream, limited=True))


def _seconds(
    stream: EventColumns, text: str, plan: PlanLike, choice: SetChoice = "every"
) -> tuple[float, int, tuple[StepCounters, ...]]:
    """Return the median CPU seconds, the matches, and the work of the steps of one run."""
    query = compiled(text, plan, choice)
    measured = []
    for _ in range(RUNS + 1):
        detector = Detector(query)
        began = time.process_time()
        found = number_of(detector, stream, choice)
        measured.append(time.process_time() - began)
    return statistics.median(measured[1:]), found, detector.counters[0]


def events_per_second(
    stream: EventColumns, only: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Measure NOT and contiguity, or the cases that are named."""
    table = []
    for case in named(EVENTS, only):
        seconds, found, counters = _seconds(stream, case.text, tuple(case.order))
        table.append(
            {
                "case": case.name,
                "matches": found,
                "removed by NOT": sum(step.removed for step in counters),
                "Mev/s": len(stream) / seconds / 1e6,
                "target": None if case.target is None else case.target / 1e6,
            }
        )
    return table


ASCENDING = f"PATTERN SEQ(T01 a, T02 b, T50 c) WHERE a.price < b.price < c.price {_within(200)}"
STEPS = (
    Case("SEQ of three", f"PATTERN SEQ(T01 a, T02 b, T50 c) {_within(200)}"),
    Case("FIRST b, FIRST c", f"PATTERN SEQ(T01 a, FIRST T02 b, FIRST T50 c) {_within(200)}", 20e6),
    Case(
        "FIRST b, FIRST c, with a condition",
        f"PATTERN SEQ(T01 a, FIRST T02 b, FIRST T50 c) WHERE a.price < b.price {_within(200)}",
        20e6,
    ),
    Case("NEXT b", f"PATTERN SEQ(T01 a, NEXT T02 b, T50 c) {_within(200)}"),
    Case("NOT(NEXT b)", f"PATTERN SEQ(T01 a, NOT(NEXT T02 b), T50 c) {_within(200)}"),
    Case("OPT(b)", f"PATTERN SEQ(T01 a, OPT(T02 b), T50 c) {_within(200)}"),
    Case(
        "runs from their first event", f"PATTERN SEQ(T20 a, FIRST KL(FIRST T05 b)) {_within(2000)}"
    ),
    Case("all runs", f"PATTERN SEQ(T20 a, KL(FIRST T05 b)) {_within(1000)}"),
    Case(
        "ascending sets of 500 candidates",
        f"PATTERN SEQ(T50 a, KL(T05 b)) WHERE b.price > prev(b.price) {_within(11_300)}",
    ),
    Case("a group, 2 or 3 times", f"PATTERN KL(SEQ(T20 a, T50 b)){{2,3}} {_within(400)}"),
    Case("ascending prices", ASCENDING),
    Case("the same, SKIP TO NEXT", f"{ASCENDING} AFTER MATCH SKIP TO NEXT"),
    Case("the same, SKIP PAST LAST EVENT", f"{ASCENDING} AFTER MATCH SKIP PAST LAST EVENT"),
)
"""Cases of operators for a step, a set and a match."""


def steps(events: int, only: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Measure whole calls that count the matches, with a plan made before."""
    stream = ck.events(zipf_events(events, seed=1), time="ts", type="type")
    table = []
    for case in named(STEPS, only):
        plan = ck.choose_plan(case.text, ck.profile(stream, case.text))
        taken = []
        for _ in range(RUNS + 1):
            began = time.process_time()
            matches = ck.detect(stream, case.text, plan).count()
            taken.append(time.process_time() - began)
        seconds = statistics.median(taken[1:])
        table.append(
            {
                "case": case.name,
                "matches": whole(matches),
                "ms": seconds * 1e3,
                "Mev/s": events / seconds / 1e6,
                "target": None if case.target is None else case.target / 1e6,
            }
        )
    return table


def sets(stream: EventColumns) -> list[dict[str, Any]]:
    """Measure sets held as lists of candidates: their number, the largest, and all of them."""
    table = []
    for name, window, condition in (
        ("window of 200", 200, ""),
        ("window of 400", 400, ""),
        ("window of 400, b dearer", 400, "WHERE b.price > a.price"),
        ("window of 1,600", 1600, ""),
    ):
        text = f"PATTERN SEQ(T20 a, KL(T05 b), T50 c) {condition} {_within(window)}"
        counted, matches, _ = _seconds(stream, text, ("c", "a", "b"), "count")
        largest, rows, _ = _seconds(stream, text, ("c", "a", "b"), "maximal")
        line: dict[str, Any] = {
            "SEQ(T20 a, KL(T05 b), T50 c)": name,
            "matches": whole(matches),
            "count, ms": counted * 1e3,
            "largest": rows,
            "maximal, ms": largest * 1e3,
            "every, M/s": None,
        }
        if matches < 100_000_000:
            seconds, found, _ = _seconds(stream, text, ("c", "a", "b"))
            assert found == matches
            line["every, M/s"] = found / seconds / 1e6
        table.append(line)
    return table


def _two_pairs(operator: str, conditions: str, window: int) -> str:
    events = "T01 a, T02 b, T03 c, T04 d"
    return f"PATTERN {operator}({events}) WHERE {conditions} {_within(window)}"


PAIRS = (
    ("two pairs of equal keys", _two_pairs("AND", "a.key = b.key AND c.key = d.key", 2000)),
    (
        "two pairs of near prices",
        _two_pairs("AND", "0 < b.price - a.price < 0.001 AND 0 < d.price - c.price < 0.001", 500),
    ),
)
BUSHY = TreePlan(Pair(Pair("a", "b"), Pair("c", "d")))


def trees(stream: EventColumns) -> list[dict[str, Any]]:
    """Measure a bushy tree beside all orders that do not begin with a cross product."""
    table = []
    for name, text in PAIRS:
        seconds, matches, steps = _seconds(stream, text, BUSHY)
        orders = []
        for order in itertools.permutations("abcd"):
            if set(order[:2]) in ({"a", "b"}, {"c", "d"}):
                taken, found, did = _seconds(stream, text, OrderPlan(order))
                assert found == matches
                orders.append((taken, "".join(order), _work(did)))
        best = min(orders)
        table.append(
            {
                "case": name,
                "matches": matches,
                "bushy, ms": seconds * 1e3,
                "best order": best[1],
                "its ms": best[0] * 1e3,
                "time ratio": best[0] / seconds,
                "target": 3,
                "(candidates + 3 partials) ratio": best[2] / _work(steps),
            }
        )
    return table


def _work(counters: Sequence[StepCounters]) -> int:
    return sum(step.candidates + 3 * step.survivors for step in counters)


HELD: tuple[tuple[str, str, BranchPlan, SetChoice], ...] = (
    ("a tree, two pairs of equal keys", PAIRS[0][1], BUSHY, "every"),
    (
        "a tree, many partial matches on both sides",
        _two_pairs(
            "AND",
            "a.price < b.price AND c.price < d.price AND a.key = c.key AND b.key = d.key",
            400,
        ),
        BUSHY,
        "every",
    ),
    (
        "the largest sets",
        f"PATTERN SEQ(T20 a, KL(T05 b), T50 c) {_within(1600)}",
        OrderPlan(("c", "a", "b")),
        "maximal",
    ),
    (
        "the number of sets, beside a NOT",
        f"PATTERN SEQ(T20 a, KL(T05 b), NOT(T03 n), T50 c) {_within(1600)}",
        OrderPlan(("c", "a", "b")),
        "count",
    ),
)
"""Patterns whose intermediate results have no bound."""


def memory(events: int) -> list[dict[str, Any]]:
    """Measure the peak memory above the input, each case in a process of its own (Linux)."""
    if not Path("/proc/self/clear_refs").exists():
        return []
    table = []
    for number, (name, _, _, _) in enumerate(HELD):
        command = [sys.executable, "-m", "benchmarks.operators", "--events", str(events)]
        answer = subprocess.run(
            [*command, "--memory-of", str(number)], check=True, capture_output=True, text=True
        )
        table.append({"case": name, "MB above the input": float(answer.stdout), "target": 1000})
    return table


def _memory_of(number: int, events: int) -> float:
    _, text, plan, choice = HELD[number]
    query = compiled(text, plan, choice)

    def whole_run(stream: EventColumns) -> None:
        number_of(Detector(query), stream, choice)

    whole_run(columns(20_000))  # compiles
    stream = columns(events)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = status("VmRSS")
    whole_run(stream)
    return (status("VmHWM") - before) / 1024


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="The operators, on columns in memory.")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--only", nargs="+", help="speeds alone, of cases with these words")
    parser.add_argument("--memory-of", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.memory_of is not None:
        print(_memory_of(options.memory_of, options.events))
        return
    stream, events = columns(options.events), f"{options.events:,} events"
    speeds: Tables = (
        ("operators", f"Operators, {events}", lambda: events_per_second(stream, options.only)),
        ("steps", f"Steps, {events}", lambda: steps(options.events, options.only)),
    )
    others: Tables = (
        ("sets", "Kleene closure", lambda: sets(stream)),
        ("trees", "Bushy trees", lambda: trees(stream)),
        ("operators_memory", "Peak memory", lambda: memory(options.events)),
    )
    for name, title, measure in (*speeds, *(() if options.only else others)):
        if rows := measure():
            show(f"{title}, {machine()}", rows)
            write(options.out, name, rows)


if __name__ == "__main__":
    main()
