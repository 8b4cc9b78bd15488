"""How long planning takes: every planner on patterns of 16, 20 and 22 variables.

Three kinds of sequences. *No conditions*, and so few events in a window that no set of variables
costs more than a whole plan: exact planners can leave nothing out, their worst case. *Some pairs*:
conditions between 30 % of the pairs. *All pairs*: a clique. Rates and selectivities of the latter
two are drawn from the ranges that JOIN tells of. CPU time of one core, the compiled loops loaded
before.

    python -m benchmarks.planning [--small] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results import show, write
from cepkit import parse
from cepkit.costs import PARTIAL_MATCHES, WORK
from cepkit.costs.contract import CostModel
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.planners import PLANNERS, DpOrder, DpTree, Planner
from cepkit.statistics.model import Statistics

RATES = (1.0, 45.0)
SELECTIVITIES = (0.002, 0.88)
"""The ranges that JOIN, section 7.2, measured: events per second, and shares of pairs."""
WINDOW = 1200.0
"""The window in seconds."""
SIZES = (16, 20, 22)
TARGETS = {("dp-tree", 16): 2.0, ("dp-tree", 20): 60.0, ("dp-tree", 22): 600.0} | {
    ("dp-order", 20): 5.0
}
QUICK = ("greedy", "ii-random", "ii-greedy")
"""The planners with a target of a tenth of a second for 22 variables."""
_LIMIT = 900.0


@dataclass(frozen=True)
class Problem:
    """A branch to plan, with the statistics of its stream."""

    name: str
    branch: Branch
    statistics: Statistics


def sequence(size: int, window: float = WINDOW) -> Branch:
    """Return SEQ of `size` events of different types."""
    inside = ", ".join(f"T{i} v{i}" for i in range(size))
    (branch,) = normal_form(parse(f"PATTERN SEQ({inside}) WITHIN {window:g} seconds"))
    return branch


def drawn(branch: Branch, pairs: float | int, rng: np.random.Generator) -> Statistics:
    """Return statistics with rates and selectivities drawn evenly by their logarithms.

    Args:
        branch: The branch with the variables.
        pairs: How many pairs have a condition; a float is a share of all.
        rng: The generator.
    """
    every = list(combinations(branch.variables, 2))
    number = round(pairs * len(every)) if isinstance(pairs, float) else pairs
    chosen = rng.choice(len(every), size=number, replace=False)
    return Statistics.assumed(
        {v: _log_uniform(rng, *RATES) for v in branch.variables},
        {every[i]: _log_uniform(rng, *SELECTIVITIES) for i in sorted(chosen)},
    )


def problems(size: int) -> Iterator[Problem]:
    """Yield a problem of each kind."""
    rng = np.random.default_rng(size)
    branch = sequence(size)
    # From 0.8 to 1 event of each type in a window: the longer a partial match, the fewer there are.
    rates = {v: rng.uniform(0.8, 1.0) / WINDOW for v in branch.variables}
    yield Problem("no conditions", branch, Statistics.assumed(rates))
    yield Problem("some pairs", branch, drawn(branch, 0.3, rng))
    yield Problem("all pairs", branch, drawn(branch, 1.0, rng))


def patient(planner: Planner) -> Planner:
    """Return a planner that may take as long as it needs."""
    if isinstance(planner, DpTree | DpOrder):
        return replace(planner, seconds=_LIMIT)
    return planner


def timed(planner: Planner, problem: Problem, cost: CostModel = PARTIAL_MATCHES) -> float:
    """Return the CPU seconds of planning, the least of three where it is short."""
    seconds: list[float] = []
    while len(seconds) < 3 and sum(seconds) < 1:
        began = time.process_time()
        planner.plan(problem.branch, problem.statistics, cost)
        seconds.append(time.process_time() - began)
    return min(seconds)


def measure(sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Return a row for each planner and size."""
    rows = []
    planners = [patient(planner) for planner in PLANNERS.values()]
    runs = [(p.name, p, PARTIAL_MATCHES) for p in planners]
    runs += [(f"{p.name}, work", p, WORK) for p in planners if p.name in ("dp-order", "dp-tree")]
    small = next(problems(6))
    for _, planner, cost in runs:
        planner.plan(small.branch, small.statistics, cost)
    for size in sizes:
        of_size = list(problems(size))
        for name, planner, cost in runs:
            target = TARGETS.get((name, size))
            if name in QUICK and size == max(SIZES):
                target = 0.1
            seconds = {p.name: timed(planner, p, cost) for p in of_size}
            rows.append({"variables": size, "planner": name} | seconds | {"aimed at": target})
            print(f"  {size} {name}: {max(seconds.values()):.3g} s", flush=True)
    return rows


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table and write it as CSV."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planning")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--small", action="store_true", help="up to 16 variables")
    options = parser.parse_args(arguments)
    rows = measure(SIZES[:1] if options.small else SIZES)
    show("Seconds of planning", rows)
    write(options.out, "planning", rows)


if __name__ == "__main__":
    main()
