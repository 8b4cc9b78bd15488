"""Patterns of the papers over recorded stock prices: the chosen plan beside other orders.

The plan is the cheapest of all planners, made with the statistics of the very stream. Up to four
variables all orders are run, otherwise 24 drawn at random (of patterns with OR, as many as one
branch has, the same for each). CPU time of counting the matches, the least of five runs, with the
building of indexes.

    python -m benchmarks.stocks [--out FOLDER] [--only TEXT]
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from benchmarks.datasets import absent
from benchmarks.measured import run
from benchmarks.results import show, write
from benchmarks.stock_patterns import CASES, FOLDERS, STREAMS, Case
from cepkit import compare_plans, parse, profile
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.stream.stream import Stream

ORDERS = 24


def orders(query: Query) -> Iterator[Plan]:
    """Yield plans by hand: all orders, or some where there are more than `ORDERS`."""
    chance = random.Random(0)
    of_branches = []
    for branch in normal_form(query):
        every = list(permutations(branch.variables))
        of_branches.append(every if len(every) <= ORDERS else chance.sample(every, ORDERS))
    for chosen in zip(*of_branches, strict=False):
        yield Plan(tuple(map(OrderPlan, chosen)), "by hand")


def measure(case: Case, stream: Stream) -> dict[str, Any]:
    """Run a case with the chosen plan, and with other orders."""
    query = parse(case.text)
    if query.strategy is Strategy.SKIP_TILL_ANY_MATCH:
        plan = compare_plans(query, profile(stream, query)).best
    else:
        plan = as_plan(None, query)  # no cost model covers the others
    run(stream, query, plan)  # compiles
    others = {other: run(stream, query, other) for other in orders(query)}
    chosen = run(stream, query, plan, times=10)
    slowest = max(others, key=lambda other: others[other].seconds)
    fastest = min(chosen.seconds, *(other.seconds for other in others.values()))
    most = max(other.candidates for other in others.values())
    return {
        "pattern": case.name,
        "events": len(stream.source),
        "matches": chosen.matches,
        "planner": plan.planner,
        "order": _orders(plan),
        "candidates": chosen.candidates,
        "ms": chosen.seconds * 1e3,
        "Mev/s": len(stream.source) / chosen.seconds / 1e6,
        "orders": len(others),
        "chosen / best": chosen.seconds / fastest,
        "worst / chosen": others[slowest].seconds / chosen.seconds,
        "candidates, worst / chosen": most / chosen.candidates,
        "worst": _orders(slowest),
    }


def _orders(plan: Plan) -> str:
    return "; ".join(map(str, plan.branches))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the cases, print a table and write it as CSV."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stocks")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--only", default="", help="cases whose name has this text")
    options = parser.parse_args(arguments)
    rows = []
    for name, load in STREAMS.items():
        cases = [case for case in CASES if case.stream == name and options.only in case.name]
        reason = absent(FOLDERS[name])
        if reason:
            print(f"\nstocks, {name}: left out, {reason}")
        elif cases:
            stream = load()
            rows += [{"stream": name} | measure(case, stream) for case in cases]
    show("Patterns of the papers, recorded prices", rows)
    write(options.out, "stocks", rows)


if __name__ == "__main__":
    main()
