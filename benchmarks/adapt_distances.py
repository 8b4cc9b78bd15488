"""ADAPT's figure 6: the distance d of invariants, scanned and estimated, by size and pattern set.

For each pattern the candidates of the engine are counted under distances from 0 to 0.5; `best d`
has the fewest. `mean d` is the source's estimate, the mean relative difference of the deciding
conditions of the first plan, and `median d` ours; accuracy is the smaller of estimate and best
divided by the larger. The second table has real streams, where they are there: the week of Aarhus
traffic and a day of trades. The third runs a mechanism beside the engine: the chain automaton.

    python -m benchmarks.adapt_distances [--events N] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from benchmarks.adapt_study import Case, Clocked, Fixed, counted_run, traffic
from benchmarks.datasets import absent, folder
from benchmarks.results import Row, show, write
from benchmarks.streams import drifting_events
from cepkit.adaptation.causal import Causal
from cepkit.adaptation.decisions import Invariants
from cepkit.adaptation.loop import Adaptation
from cepkit.api.tracing import simulate
from cepkit.costs.work import WORK
from cepkit.pattern.parsing.parser import parse
from cepkit.planners.choose import choose_plan
from cepkit.planners.deciding import Decisions
from cepkit.statistics.measuring.estimate import estimate
from cepkit.stream.stream import events

SIZES = (3, 4, 5, 6)
DISTANCES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
WEIGHTS = (1, 20, 22, 24, 26, 28)
"""One type is rare, the others nearly as frequent as each other; which is which changes."""


TYPES = tuple(f"T{i}" for i in range(1, 7))
CLASSES = ("V10", "V15", "V20", "V25", "V30", "V35")
TICKERS = ("YHOO", "DELL", "ORCL", "AMAT", "RIMM", "CSCO")


def pattern(
    operator: str,
    size: int,
    types: Sequence[str] = TYPES,
    step: float = 1,
    window: str = "1 second",
) -> str:
    """Return a pattern of some size, each variable with a condition on the next one."""
    named = list(zip(types[:size], "abcdef", strict=False))
    listed = ", ".join(f"{kind} {name}" for kind, name in named)
    pairs = itertools.pairwise(name for _, name in named)
    where = " AND ".join(f"{x}.diff + {step:g} < {y}.diff" for x, y in pairs)
    return f"PATTERN {operator}({listed}) WHERE {where} WITHIN {window}"


def main(arguments: Sequence[str]) -> None:
    """Run the study, print and write its tables."""
    parser = argparse.ArgumentParser(prog="benchmarks.adapt_distances")
    parser.add_argument("--events", type=int, default=120_000)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    tables = {
        "adapt_distances": distances(chosen.events),
        "adapt_real_distances": real_distances(),
        "adapt_mechanisms": mechanisms(chosen.events // 20),
    }
    for name, rows in tables.items():
        show(name, rows)
        if chosen.out:
            write(chosen.out, name, rows)


def distances(n: int) -> list[Row]:
    """Return for each pattern and planner what each distance costs, and the estimates."""
    rows: list[Row] = []
    for operator in ("SEQ", "AND"):
        for size in SIZES:
            table = drifting_events(n, weights=WEIGHTS[:size], segment=n // 4 + 777, seed=size)
            query = parse(pattern(operator, size))
            case = Case(operator, events(table, time="ts", type="type"), query, n // 24)
            rows += [_scanned(case, size, planner) for planner in ("greedy", "zstream")]
    return rows


@dataclass(frozen=True, slots=True)
class Real:
    """A real stream, the types of the patterns over it, and their conditions and windows."""

    name: str
    table: Callable[[], pd.DataFrame]
    types: Sequence[str]
    step: float
    windows: Mapping[str, str]


def real_distances() -> list[Row]:
    """Return the same for the real streams that are there, in 24 slices."""
    rows: list[Row] = []
    for real in REAL:
        if absent(real.name) is not None:
            continue
        table = real.table()
        stream = events(table[table["type"].isin(real.types)], time="ts", type="type")
        for operator, size in itertools.product(real.windows, SIZES):
            text = pattern(operator, size, real.types, real.step, real.windows[operator])
            case = Case(operator, stream, parse(text), len(stream.columns([])) // 24)
            scans = [_scanned(case, size, planner) for planner in ("greedy", "zstream")]
            rows += [{"stream": real.name, **row} for row in scans]
    return rows


def trades() -> pd.DataFrame:
    """Return a day of trades; `diff` is the price beside the last one of the same ticker."""
    (file,) = (folder() / "stock-trades").glob("trades_*.csv.gz")
    frame = pd.read_csv(file)
    change = frame.groupby("ticker")["price"].diff().fillna(0.0)
    times = pd.to_datetime(frame["ts_ms"], unit="ms", utc=True)
    return pd.DataFrame({"ts": times, "type": frame["ticker"], "diff": change})


REAL = (
    Real("aarhus-traffic", traffic, CLASSES, 10, {"SEQ": "20 minutes", "AND": "4 minutes"}),
    Real("stock-trades", trades, TICKERS, 0, {"SEQ": "5 s", "AND": "5 s"}),
)


def _scanned(case: Case, size: int, planner: str) -> Row:
    statistics = estimate(case.stream.columns(["diff"]), case.query)
    plan = choose_plan(case.query, statistics, planner, WORK)
    matches, base = counted_run(case, plan, Clocked(Fixed(plan)))
    candidates = {}
    for d in DISTANCES:
        causal = Causal(Adaptation(Invariants(d=d), planner), case.query, plan)
        again, counted = counted_run(case, plan, Clocked(causal))
        assert again == matches
        candidates[d] = counted.candidates
    best = min(candidates, key=lambda d: candidates[d])
    decided = plan.decided
    assert isinstance(decided, Decisions)
    mean, median = (Invariants(d=kind).distance(decided) for kind in ("mean", "median"))
    return {
        "set": case.name,
        "size": size,
        "planner": planner,
        **{f"d={d:g}": base.candidates / number for d, number in candidates.items()},
        "best d": best,
        "mean d": mean,
        "median d": median,
        "accuracy of mean %": _accuracy(mean, best),
        "accuracy of median %": _accuracy(median, best),
    }


def _accuracy(estimate_of_d: float, best: float) -> float:
    larger = max(estimate_of_d, best)
    return 100 * min(estimate_of_d, best) / larger if larger else 100.0


def mechanisms(n: int) -> list[Row]:
    """Return the evaluations and generations of the chain automaton under each distance."""
    table = drifting_events(n, weights=(4, 20, 22), segment=n // 4 + 77, seed=3)
    stream = events(table, time="ts", type="type")
    rows = []
    for d in DISTANCES:
        trace = simulate(
            stream,
            pattern("SEQ", 3),
            mechanism="chain-nfa",
            adapt=Invariants(d=d),
            max_steps=20_000,
        )
        rows.append(
            {
                "d": d,
                "evaluations": trace.evaluations,
                "fires": trace.fires,
                "switches": trace.switches,
                "matches": len(trace.matches),
            }
        )
    return rows


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
