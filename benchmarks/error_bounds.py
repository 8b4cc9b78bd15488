"""Error bounds measured: how often the interval of an aggregate has the exact value.

Each kind of pattern is estimated with many seeds over a stream with bursts and one with a hot key.
A kind is covered if close to `confidence` of its intervals have the exact value.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd

import cepkit as ck
from benchmarks.forecasts import bursty, correlated
from benchmarks.results import Row, show, write

KINDS = {
    "SEQ of 2, residual": "SEQ(T0 a, T1 b) WHERE a.x + b.x < 0.5 WITHIN 10 seconds AGG COUNT",
    "SEQ of 3": "SEQ(T0 a, T1 b, T2 c) WITHIN 10 seconds AGG COUNT",
    "SEQ of 3, equalities": (
        "SEQ(T0 a, T1 b, T2 c) WHERE a.key = b.key AND b.key = c.key WITHIN 1 minute AGG COUNT"
    ),
    "SEQ of 4, residual": (
        "SEQ(T0 a, T1 b, T2 c, T3 d) WHERE a.x < d.x AND b.y < c.y WITHIN 10 seconds AGG COUNT"
    ),
    "AND of 3": "AND(T1 a, T2 b, T3 c) WHERE a.x < b.x WITHIN 10 seconds AGG COUNT",
    "NOT": "SEQ(T0 a, NOT(T5 n), T1 b, T2 c) WHERE n.x < a.x WITHIN 5 seconds AGG COUNT",
    "OR": "SEQ(T0 a, OR(T1 b, T2 c), T3 d) WHERE a.x < d.x WITHIN 10 seconds AGG COUNT",
    "SUM": "SEQ(T0 a, T1 b, T2 c) WHERE a.x < c.x WITHIN 10 seconds AGG SUM(b.x)",
    "AVG": "SEQ(T0 a, T1 b, T2 c) WHERE a.x < c.x WITHIN 10 seconds AGG AVG(b.x)",
    "GROUP BY": "SEQ(T0 a, T1 b, T2 c) WHERE a.x < c.x WITHIN 1 minute GROUP BY part AGG COUNT",
}


def measured(
    frame: pd.DataFrame, text: str, runs: int, error: float, confidence: float
) -> tuple[float, Row]:
    """Return the exact value of the first row, and what the estimates of a pattern did."""
    stream = ck.events(frame, time="ts", type="type", unit="us")
    query = ck.parse(f"PATTERN {text}")
    exact = ck.aggregate(stream, query, emit="total", method="auto").to_pandas()
    name, by = exact.columns[-1], [*query.group_by]
    exact = exact.sort_values(by) if by else exact
    covered, halves, seconds, intervals = 0, [], [], 0
    for seed in range(runs):
        begin = time.perf_counter()
        rows = ck.aggregate(stream, query, error=error, confidence=confidence, seed=seed)
        seconds.append(time.perf_counter() - begin)
        own = rows.to_pandas().sort_values(by) if by else rows.to_pandas()
        low, high, values = own[f"{name} low"], own[f"{name} high"], exact[name]
        covered += int(((low.values <= values.values) & (values.values <= high.values)).sum())
        halves.append(float(((high - low) / 2 / own[name]).max()))
        intervals += len(own)
    return float(exact[name].iloc[0]), {
        "intervals": intervals,
        "covered %": 100 * covered / intervals,
        "half width %": 100 * median(halves),
        "ms": 1000 * median(seconds),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all kinds, and show the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.error_bounds", description=__doc__)
    parser.add_argument("--runs", type=int, default=500, help="seeds of each kind")
    parser.add_argument("--error", type=float, default=0.05)
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    options = parser.parse_args(arguments)
    streams = {"bursts": bursty(options.events), "correlated": correlated(options.events)}
    rows: list[Row] = []
    for name, frame in streams.items():
        frame["part"] = np.random.default_rng(5).choice(3, len(frame), p=[0.6, 0.3, 0.1])
        for kind, text in KINDS.items():
            exact, row = measured(frame, text, options.runs, options.error, options.confidence)
            rows.append({"stream": name, "kind": kind, "exact": exact, **row})
    show("intervals", rows)
    write(options.out, "error_bounds", rows)


if __name__ == "__main__":
    main()
