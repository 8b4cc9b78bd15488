"""Forecasts measured: expected numbers of each step of a plan, beside those that are counted.

Patterns of three to five variables are drawn over four streams: a day at a stock exchange, types
that burst together, correlated attributes and keys, and recorded minute bars. Orders that cover all
sets of variables are run, so that the work of every order is known. There are two questions: by
which factor is the forecast of a step (candidates, and partial matches) wrong, for the chosen
order, the best and a random one? And how much more work does the chosen plan than the best order?
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.datasets import absent, nasdaq
from benchmarks.results import Row, show, write
from cepkit import parse, profile, sample_stocks
from cepkit.columnar.results.matches import Matches
from cepkit.costs.steps import expected_steps
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.query import Query
from cepkit.plan.nodes import PER_PARTIAL_MATCH, OrderPlan, Plan
from cepkit.planners.choose import plan_to_run
from cepkit.statistics.model import Statistics
from cepkit.stream.stream import Stream, events

MOST_WORK = 2e7
"""The most candidates of an order: a pattern with an order that has more is drawn again."""
LEAST_MATCHES = 20
"""The fewest matches of a pattern: with fewer every forecast is noise."""

_SECOND = 1_000_000


def bursty(n: int = 40_000, seed: int = 1) -> pd.DataFrame:
    """Return events of six types: a quiet stream, and bursts in which some types come together."""
    rng = np.random.default_rng(seed)
    names = np.array([f"T{i}" for i in range(6)])
    shares = np.array([8.0, 6, 4, 3, 1.5, 1])
    quiet = n // 2
    times = [rng.uniform(0, 3600, quiet)]
    types = [rng.choice(6, quiet, p=shares / shares.sum())]
    left = n - quiet
    while left > 0:
        size = min(left, int(rng.exponential(400)) + 20)
        some = rng.permutation(6)[: rng.integers(2, 6)]
        times.append(rng.uniform(0, 3590) + rng.exponential(4.0, size))
        weights = shares[some] / shares[some].sum()
        types.append(rng.choice(some, size, p=weights))
        left -= size
    ts, code = np.concatenate(times), np.concatenate(types)
    frame = pd.DataFrame(
        {"ts": (ts * _SECOND).astype(np.int64), "type": names[code], "x": rng.uniform(0, 1, n)}
    )
    frame["y"] = rng.normal(0, 1, n)
    frame["key"] = rng.integers(0, 20, n)
    return frame.sort_values("ts", kind="stable", ignore_index=True)


def correlated(n: int = 40_000, seed: int = 2) -> pd.DataFrame:
    """Return events of six types whose x and y follow one another, and keys that come in visits."""
    rng = np.random.default_rng(seed)
    ts = np.sort(rng.uniform(0, 3600, n))
    shares = np.array([8.0, 6, 4, 3, 1.5, 1])
    code = rng.choice(6, n, p=shares / shares.sum())
    mood = np.sin(ts / 40) + 0.5 * np.sin(ts / 7 + code)
    x = mood + 0.3 * rng.normal(0, 1, n) + 0.2 * code
    y = 0.8 * x + 0.4 * rng.normal(0, 1, n)
    # A visitor stays for half a minute; five are there at a time.
    key = (ts / 30).astype(np.int64) * 5 + rng.integers(0, 5, n)
    return pd.DataFrame(
        {"ts": (ts * _SECOND).astype(np.int64), "type": [f"T{c}" for c in code], "x": x, "y": y,
         "key": key}
    )  # fmt: skip


def _bars() -> pd.DataFrame:
    frame = nasdaq().drop(columns="history")
    return frame.rename(columns={"difference": "x", "volume": "y", "timestamp": "ts"})


@dataclass(frozen=True)
class Source:
    """A stream to draw patterns over.

    Attributes:
        name: Its name in tables.
        make: Returns it.
        types: The types of its events, in order of falling rate.
        numbers: The attributes that conditions compare.
        keys: The attributes that may have to be equal.
        windows: The windows of patterns, in seconds.
    """

    name: str
    make: Callable[[], Stream]
    types: tuple[str, ...]
    numbers: tuple[str, ...]
    keys: tuple[str, ...]
    windows: tuple[int, ...]


_STOCKS = ("MSFT", "INTC", "GOOG", "CSCO", "AMZN", "ORCL", "NVDA", "DELL", "AAPL")
_T = tuple(f"T{i}" for i in range(6))

SOURCES = (
    Source(
        "stocks",
        lambda: events(sample_stocks(50_000), time="ts", type="ticker"),
        _STOCKS, ("price", "difference", "volume"), (), (2, 5, 15, 60, 300),
    ),
    Source(
        "bursty",
        lambda: events(bursty(), time="ts", type="type", unit="us"),
        _T, ("x", "y"), ("key",), (1, 2, 5, 10, 30),
    ),
    Source(
        "correlated",
        lambda: events(correlated(), time="ts", type="type", unit="us"),
        _T, ("x", "y"), ("key",), (2, 5, 10, 30, 60),
    ),
    Source(
        "nasdaq-minute",
        lambda: events(_bars(), time="ts", type="ticker"),
        ("AAPL", "AMZN", "DRIV", "GOOG", "MSFT", "ORLY", "CBRL"),
        ("x", "y"), (), (300, 600, 1200, 2400),
    ),
)  # fmt: skip


def draw_pattern(source: Source, size: int, rng: np.random.Generator) -> str:
    """Return the text of a pattern: a SEQ or an AND with conditions between some pairs."""
    names = "abcde"[:size]
    types = rng.choice(source.types, size, replace=rng.random() < 0.2)
    kind = "SEQ" if rng.random() < 0.7 else "AND"
    body = ", ".join(f"{type_name} {name}" for type_name, name in zip(types, names, strict=True))
    conditions = []
    for one, other in itertools.pairwise(names):
        if rng.random() < 0.75:
            attribute = rng.choice(source.numbers)
            sign = rng.choice(["<", "<", ">"])
            conditions.append(f"{one}.{attribute} {sign} {other}.{attribute}")
    if size > 2 and rng.random() < 0.3:
        attribute = rng.choice(source.numbers)
        one, other = sorted(rng.choice(list(names), 2, replace=False))
        conditions.append(f"{one}.{attribute} < {other}.{attribute}")
    if size > 2 and rng.random() < 0.15:
        attribute = rng.choice(source.numbers)
        conditions.append(f"a.{attribute} + b.{attribute} < 2 * c.{attribute}")
    if source.keys and rng.random() < 0.4:
        key = rng.choice(source.keys)
        among = names[: rng.integers(2, size + 1)]
        conditions += [f"{x}.{key} = {y}.{key}" for x, y in itertools.pairwise(among)]
    if not conditions:
        conditions.append(f"a.{source.numbers[0]} < b.{source.numbers[0]}")
    window = int(rng.choice(source.windows))
    return (
        f"PATTERN {kind}({body}) WHERE {' AND '.join(dict.fromkeys(conditions))}"
        f" WITHIN {window} seconds"
    )


STREAMS = tuple(source.name for source in SOURCES)

Sets = frozenset[str]


@dataclass(frozen=True)
class Counted:
    """The exact work of all orders of a pattern.

    Attributes:
        kept: The partial matches of each set of variables.
        looked_at: The candidates of each set and the variable that is bound next.
    """

    kept: dict[Sets, int]
    looked_at: dict[tuple[Sets, str], int]

    def work(self, order: Sequence[str]) -> float:
        """Return the work of an order, by the weights of the cost model `work`."""
        total = 0.0
        for i, variable in enumerate(order):
            bound = frozenset(order[:i])
            total += self.looked_at[bound, variable]
            total += PER_PARTIAL_MATCH * self.kept[bound | {variable}]
        return total


def covering_orders(variables: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield orders in which every set of variables is followed by every other variable."""
    seen: set[tuple[Sets, str]] = set()
    for order in itertools.permutations(variables):
        steps = {(frozenset(order[:i]), v) for i, v in enumerate(order)}
        if len(steps - seen) >= min(2, len(order)) or not seen:
            seen |= steps
            yield order
    for order in itertools.permutations(variables):
        steps = {(frozenset(order[:i]), v) for i, v in enumerate(order)}
        if steps - seen:
            seen |= steps
            yield order


def counted(stream: Stream, query: Query, variables: Sequence[str]) -> Counted | None:
    """Return the work of the orders of a pattern; None where one of them has too much."""
    kept: dict[Sets, int] = {}
    looked_at: dict[tuple[Sets, str], int] = {}
    for order in covering_orders(variables):
        steps = Matches(stream, query, Plan((OrderPlan(order),), "given")).explain().steps
        if sum(step.candidates for step in steps) > MOST_WORK:
            return None
        for i, step in enumerate(steps):
            bound = frozenset(order[:i])
            looked_at[bound, step.variable] = step.candidates
            kept[bound | {step.variable}] = step.survivors
    return Counted(kept, looked_at)


@dataclass(frozen=True)
class Subject:
    """A drawn pattern with its exact work."""

    source: str
    text: str
    query: Query
    branch: Branch
    counted: Counted


def subjects(source: Source, stream: Stream, each: int, seed: int) -> Iterator[Subject]:
    """Yield patterns of three, four and five variables, `each` of every size."""
    rng = np.random.default_rng(seed)
    for size in (3, 4, 5):
        found = 0
        while found < each:
            text = draw_pattern(source, size, rng)
            query = parse(text)
            (branch,) = normal_form(query)
            if _too_dear(stream, query, branch):
                continue
            exact = counted(stream, query, branch.variables)
            if exact is None or exact.kept[frozenset(branch.variables)] < LEAST_MATCHES:
                continue
            found += 1
            yield Subject(source.name, text, query, branch, exact)


def _too_dear(stream: Stream, query: Query, branch: Branch) -> bool:
    """Return whether some order is expected to look at far too many candidates."""
    statistics = profile(stream, query)
    orders = (branch.variables, branch.variables[::-1])
    steps = (expected_steps(branch, statistics, order) for order in orders)
    return any(sum(step.candidates for step in each) > MOST_WORK for each in steps)


def ratio(expected: float, actual: float) -> float:
    """Return by which factor two numbers differ; numbers below one count as one."""
    one, other = max(expected, 1.0), max(actual, 1.0)
    return max(one / other, other / one)


def step_ratios(subject: Subject, statistics: Statistics, order: Sequence[str]) -> Iterator[float]:
    """Yield the factors by which the forecast of an order's steps is wrong, the first left out."""
    exact = subject.counted
    steps = expected_steps(subject.branch, statistics, order)
    for i, step in enumerate(steps):
        if i:
            bound = frozenset(order[:i])
            yield ratio(step.candidates, exact.looked_at[bound, step.variable])
            yield ratio(step.partial_matches, exact.kept[bound | {step.variable}])


def real_work(subject: Subject, stream: Stream, plan: Plan) -> float:
    """Return the work of a plan."""
    (chosen,) = plan.branches
    if isinstance(chosen, OrderPlan):
        return subject.counted.work(chosen.order)
    steps = Matches(stream, subject.query, plan).explain().steps
    return sum(step.candidates + PER_PARTIAL_MATCH * step.survivors for step in steps)


def measure(subject: Subject, stream: Stream, seed: int, *, joins: bool = True) -> Row:
    """Return how good a profile of a pattern is, and its time.

    Args:
        subject: The pattern.
        stream: Its stream.
        seed: The seed of the profile.
        joins: Whether to use the sample of joins; without it conditions count as independent.
    """
    began = time.process_time()
    statistics = profile(stream, subject.query, seed=seed)
    seconds = time.process_time() - began
    if not joins:
        statistics = replace(statistics, joins={})
    plan = plan_to_run(subject.query, statistics)
    orders = list(itertools.permutations(subject.branch.variables))
    works = {order: subject.counted.work(order) for order in orders}
    best = min(orders, key=lambda order: works[order])
    steps = list(step_ratios(subject, statistics, plan.branches[0].variables))
    of_best = list(step_ratios(subject, statistics, best))
    any_order = orders[np.random.default_rng(seed).integers(len(orders))]
    others = list(step_ratios(subject, statistics, any_order))
    forecast = expected_steps(subject.branch, statistics, best)[-1].partial_matches
    matches = subject.counted.kept[frozenset(subject.branch.variables)]
    return {
        "stream": subject.source, "size": len(subject.branch.variables),
        "matches": matches, "forecast": forecast,
        "of matches": ratio(forecast, matches), "joins": joins,
        "steps": [*steps, *of_best, *others],
        "work": real_work(subject, stream, plan) / works[best],
        "worst": max(works.values()) / works[best],
        "ms": 1000 * seconds, "text": subject.text, "plan": str(plan.branches[0]),
    }  # fmt: skip


def summary(name: str, rows: Sequence[Row]) -> Row:
    """Return a row of the table for some patterns."""
    steps = np.concatenate([row["steps"] for row in rows])
    work = np.array([row["work"] for row in rows])
    of_matches = np.array([row["of matches"] for row in rows])
    return {
        "patterns": name, "number": len(rows),
        "steps, median": float(np.median(steps)),
        "steps, 95 %": float(np.quantile(steps, 0.95)),
        "matches, median": float(np.median(of_matches)),
        "matches, 95 %": float(np.quantile(of_matches, 0.95)),
        "within 1.1 of best": float(np.mean(work <= 1.1)),
        "work, mean": float(work.mean()), "work, worst": float(work.max()),
        "ms": float(np.mean([row["ms"] for row in rows])),
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Print and write the errors of the forecasts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forecasts", description=__doc__)
    parser.add_argument("--each", type=int, default=6, help="patterns of each size and stream")
    parser.add_argument("--seed", type=int, default=5, help="of what is drawn (default 5)")
    parser.add_argument("--stream", help="one stream alone")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    for source in SOURCES:
        if options.stream not in (None, source.name):
            continue
        if source.name == "nasdaq-minute" and (reason := absent("nasdaq-minute")):
            print(reason)
            continue
        stream = source.make()
        drawn = subjects(source, stream, options.each, options.seed)
        for each in drawn:
            rows += [measure(each, stream, options.seed, joins=joins) for joins in (False, True)]
    for joins, title in ((False, "as if independent"), (True, "by a sample of joins")):
        shown = [row for row in rows if row["joins"] == joins]
        parts = {name: [r for r in shown if r["stream"] == name] for name in STREAMS}
        parts |= {f"of {size}": [r for r in shown if r["size"] == size] for size in (3, 4, 5)}
        show(title, [summary(n, part) for n, part in {**parts, "all": shown}.items() if part])
    worst = [{**row, "steps": max(row["steps"]) if row["steps"] else math.nan} for row in rows]
    write(options.out, "forecasts", worst)


if __name__ == "__main__":
    main()
