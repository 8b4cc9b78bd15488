"""JOIN's study with plausible rates: a number of events of a type in a window, W*r.

The source gives 1 to 45 events *per second* for single tickers; 80,509,033 events a year are 14 per
second for all 2,100 together. Per window that makes sense. So W*r is drawn, evenly, from several
ranges, and all else as in the source: sequences, half as many conditions as variables,
selectivities from 0.002 to 0.88. `expected` plans only; `measured` makes streams of such rates and
runs the source's mechanisms over them, also with a repeated variable, where EFREQ is asked twice:
by the planning rate of sets, 2^(W*r), and by the rates of single events.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pandas as pd

from benchmarks.join_mechanisms import ALPHAS, Runs
from benchmarks.join_patterns import SHARES, Market
from benchmarks.join_runs import Row, Subject, plans
from benchmarks.planning import patient, sequence
from cepkit import parse, profile
from cepkit.costs import COSTS, Blend
from cepkit.costs.contract import BranchCost
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.query import Query
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.planners import PLANNERS
from cepkit.planners.choose import choose_plan, cost_plan
from cepkit.statistics.model import Statistics

RANGES = ((0.05, 1.0), (1.0, 45.0), (5.0, 225.0), (1200.0, 54000.0))
"""The ranges of W*r; the last two are the source's rates in 5 seconds and in its 20 minutes."""
MEASURED = (1.0, 45.0)
REPEATED = (1.0, 8.0)
"""The range of W*r with sets, of which there are 2^(W*r)."""
RAW = "by-frequency, single events"
WINDOW, WINDOWS = 60, 40
"""The window in seconds, and the number of windows of a stream."""
_LARGE = 12


def expected(sizes: Sequence[int], patterns: int) -> Iterator[Row]:
    """Yield a row with the expected cost for each range, pattern, planner and alpha."""
    for (least, most), size in product(RANGES, sizes):
        # Of the largest patterns the range in question.
        if size < _LARGE or (least, most) == MEASURED:
            for number in range(patterns):
                yield from _expected(least, most, size, number)


def _expected(least: float, most: float, size: int, number: int) -> Iterator[Row]:
    rng = np.random.default_rng((size, number))
    branch = sequence(size, 1.0)
    rates = dict(zip(branch.variables, rng.uniform(least, most, size), strict=True))
    statistics = Statistics.assumed(rates, _shares(branch.variables, rng))
    head = {"W*r": f"{least:g} to {most:g}", "size": size, "pattern": number}
    alive, late = (COSTS[name].on(branch, statistics) for name in ("partial-matches", "latency"))
    for alpha in (0.0, 0.5, 1.0):
        cost = Blend(alpha) if alpha else COSTS["partial-matches"]
        names = PLANNERS if not alpha else ("dp-order",)
        for name in names:
            plan = patient(PLANNERS[name]).plan(branch, statistics, cost)
            yield head | {
                "planner": name,
                "alpha": alpha,
                "cost": math.exp(alive.of(plan)),
                "latency": math.exp(late.of(plan)),
            }


def _shares(variables: Sequence[str], rng: np.random.Generator) -> dict[tuple[str, ...], float]:
    pairs = list(combinations(variables, 2))
    chosen = rng.choice(len(pairs), size=len(variables) // 2, replace=False)
    return {pairs[i]: float(np.exp(rng.uniform(*np.log(SHARES)))) for i in sorted(chosen)}


def measured(sizes: Sequence[int], patterns: int) -> Iterator[Row]:
    """Yield a row with the work of the source's mechanisms for each pattern and planner."""
    for size in sizes:
        for number in range(patterns):
            subject = drawn(size, number)
            runs = Runs(subject)
            for planner, plan in plans(subject.query, subject.statistics).items():
                yield runs.row(planner, plan)


def weighed(sizes: Sequence[int], patterns: int) -> Iterator[Row]:
    """Yield a row for each pattern, planner and alpha."""
    for size in sizes:
        for number in range(patterns):
            subject = drawn(size, number)
            runs = Runs(subject)
            for alpha in ALPHAS:
                for planner in ("greedy", "dp-order", "dp-tree"):
                    plan = choose_plan(subject.query, subject.statistics, planner, Blend(alpha))
                    yield {"alpha": alpha} | runs.row(planner, plan)


def repeated(sizes: Sequence[int], patterns: int) -> Iterator[Row]:
    """Yield a row for each pattern with a repeated variable and each planner of orders."""
    for size in sizes:
        for number in range(patterns):
            subject = drawn(size, number, sets=True)
            query, statistics = subject.query, subject.statistics
            (branch,) = normal_form(query)
            cost = COSTS["partial-matches"].on(branch, statistics)
            runs = Runs(subject, lambda plan, cost=cost: _instances(cost, plan))
            for planner in ("given-order", "by-frequency", "greedy", "dp-order"):
                yield runs.row(planner, choose_plan(query, statistics, planner))
            yield runs.row(RAW, by_raw_rates(query, statistics))


def _instances(cost: BranchCost, plan: Plan) -> float:
    """Return how many instances a chain is expected to make, sets included."""
    return WINDOWS * math.exp(min(cost.of(plan.branches[0]), 100.0))


def by_raw_rates(query: Query, statistics: Statistics) -> Plan:
    """Return the order of ascending rates of single events, of a pattern without OR."""
    order = OrderPlan(tuple(sorted(statistics.rates, key=statistics.rate)))
    return cost_plan(Plan((order,), RAW), query, statistics)


def drawn(size: int, number: int, *, sets: bool = False) -> Subject:
    """Return a pattern, and the stream that it is run over.

    Args:
        size: The number of its variables.
        number: Which of that size.
        sets: Whether one of the variables is repeated.
    """
    rng = np.random.default_rng((size, number, sets))
    names = [*"abcdefg"[:size]]
    counts = rng.uniform(*(REPEATED if sets else MEASURED), size)
    shares = _shares(names, rng)
    columns = [f"p{i}" for i in range(len(shares))]
    inside = [f"{name.upper()} {name}" for name in names]
    if sets:
        at = int(rng.integers(size))
        inside[at] = f"KL({inside[at]})"
    where = " AND ".join(
        f"{one}.{column} + {_offset(share):.6f} < {other}.{column}"
        for column, ((one, other), share) in zip(columns, shares.items(), strict=True)
    )
    text = f"PATTERN SEQ({', '.join(inside)}) WHERE {where} WITHIN {WINDOW} seconds"
    frame = _events(dict(zip(names, counts, strict=True)), columns, rng)
    seconds = dict.fromkeys(("sequence", "kleene"), float(WINDOW))
    market = Market("per window", "", lambda: frame, "ts", "s", seconds, least=0.0, most=math.inf)
    query = parse(text)
    statistics = replace(profile(market.stream, query), joins={})
    return Subject(market, "kleene" if sets else "sequence", size, number, query, statistics, 1)


def _offset(share: float) -> float:
    """Return k such that x + k < y holds for a share of even pairs from 0 to 1."""
    return 1 - math.sqrt(2 * share) if share <= 0.5 else math.sqrt(2 * (1 - share)) - 1


def _events(
    counts: dict[str, float], columns: Sequence[str], rng: np.random.Generator
) -> pd.DataFrame:
    parts = []
    for name, count in counts.items():
        number = round(count * WINDOWS)
        values = {column: rng.random(number) for column in columns}
        ts = rng.uniform(0, WINDOW * WINDOWS, number)
        parts.append(pd.DataFrame({"ts": ts, "ticker": name.upper(), **values}))
    frame = pd.concat(parts).sort_values("ts", kind="stable", ignore_index=True)
    return frame.assign(part=rng.integers(0, 2, len(frame)))
