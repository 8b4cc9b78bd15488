"""JOIN's study, the measured part: patterns drawn, planned by every planner, and run.

Plans that do the same work are run once, so that noise makes no difference between planners. A
pattern is drawn again if even the best order has so much work that a run takes too long, or so
little that it measures the building of indexes. Plans that are expected to take too long are not
run.
"""

from __future__ import annotations

import math
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from benchmarks.join_patterns import KINDS, Draw, Kind, Market
from cepkit import parse, profile
from cepkit.columnar.results.matches import Matches
from cepkit.costs import COSTS
from cepkit.costs.contract import query_cost
from cepkit.errors import LimitError
from cepkit.pattern.nodes import repeated_in
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.query import Query
from cepkit.plan.nodes import OrderPlan, Plan, as_tree, work_of
from cepkit.planners import PLANNERS
from cepkit.planners.choose import choose_plan, plan_to_run
from cepkit.statistics.model import Statistics

TOO_DEAR = 10.0
"""A plan is not run if it has more than so many times the expected candidates of `Market.most`."""
ENGINE = "what detect takes"
"""The planner by itself: dp-order and dp-tree by the cost model `work`."""
_TIMES = 3
_LONG_SECONDS = 0.3
"""The seconds from which on a run is not repeated."""
_MEGABYTE = 1e6
_MANY = 10**300
"""The greatest number that is written: there may be more sets than a float holds."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """A pattern to compare planners on.

    Attributes:
        market: Its stream.
        kind: Which of the five sets it is of.
        size: Its positive variables; of a disjunction those of each branch.
        number: Which of the patterns of that set and size.
        query: The pattern.
        statistics: The statistics of the same stream.
        drawn: How many were drawn until one was neither too expensive nor too cheap.
    """

    market: Market
    kind: Kind
    size: int
    number: int
    query: Query
    statistics: Statistics
    drawn: int

    @property
    def head(self) -> Row:
        """The columns that say which it is."""
        return {
            "stream": self.market.name,
            "set": self.kind,
            "size": self.size,
            "pattern": self.number,
        }


def subjects(
    market: Market,
    sizes: Sequence[int],
    patterns: int,
    kinds: Sequence[Kind] = KINDS,
    most: float | None = None,
) -> Iterator[Subject]:
    """Yield the patterns of a stream, the same ones each time.

    Args:
        market: The stream.
        sizes: The sizes of the patterns.
        patterns: How many of each set and size.
        kinds: Which sets.
        most: Used in place of `Market.most`.
    """
    most = market.most if most is None else most
    for kind in kinds:
        for size in sizes:
            draw, before = Draw(market, seed=100 * size + KINDS.index(kind)), 0
            found = 0
            for drawn in count(1):
                query = parse(draw.pattern(kind, size))
                statistics = profile(market.stream, query)
                work = candidates_of(choose_plan(query, statistics, "dp-order"))
                if market.least <= work <= most * len(normal_form(query)):
                    yield Subject(market, kind, size, found, query, statistics, drawn - before)
                    found, before = found + 1, drawn
                    if found == patterns:
                        break


def candidates_of(plan: Plan) -> float:
    """Return how many candidates a plan is expected to look at."""
    return sum(step.candidates for branch in plan.expected for step in branch)


def key_of(plan: Plan, query: Query) -> Any:
    """Return a key that is equal for plans that do the same work in the same order."""
    repeated = repeated_in(query.structure)
    return tuple(work_of(branch, repeated) for branch in plan.branches)


def costs(plan: Plan, query: Query, statistics: Statistics) -> Row:
    """Return the logarithms (base 10) of the costs of a plan, by each model.

    `partial matches` of trees and orders can be compared: an order is a tree that leans left,
    whose leaves count as well. `own` is that of JOIN: leaves do not count in an order.
    """
    branches = normal_form(query)
    trees = [as_tree(branch) for branch in plan.branches]
    ready = {name: [model.on(b, statistics) for b in branches] for name, model in COSTS.items()}
    logs = {
        "partial matches": query_cost(ready["partial-matches"], trees),
        "own": query_cost(ready["partial-matches"], plan.branches),
        "work": query_cost(ready["work"], trees),
        "latency": query_cost(ready["latency"], plan.branches),
    }
    return {f"log {name}": log / math.log(10) for name, log in logs.items()}


def plans(query: Query, statistics: Statistics) -> dict[str, Plan]:
    """Return the plan of each planner, and the one that the engine would take."""
    found = {name: choose_plan(query, statistics, name) for name in PLANNERS}
    return found | {ENGINE: plan_to_run(query, statistics)}


def measured(subject: Subject) -> list[Row]:
    """Return a row for each planner: the cost of its plan, and the work of its run."""
    query, done, rows = subject.query, {}, []
    for planner, plan in plans(query, subject.statistics).items():
        key = key_of(plan, query)
        first = key not in done
        if first:
            done[key] = ran(subject.market, query, plan)
        rows.append(
            subject.head
            | {
                "planner": planner,
                "plan": "; ".join(map(str, plan.branches)),
                "tree": not all(isinstance(branch, OrderPlan) for branch in plan.branches),
                "first": first,
            }
            | costs(plan, query, subject.statistics)
            | done[key]
        )
    return rows


def ran(market: Market, query: Query, plan: Plan) -> Row:
    """Return the work of a plan; only the reason if it is too expensive to run."""
    nothing = dict.fromkeys(("matches", "candidates", "partials", "peak rows", "MB", "ms"))
    expected = candidates_of(plan)
    if expected > TOO_DEAR * market.most:
        return nothing | {"not run": f"{expected:.1e} candidates expected"}
    found = Matches(market.stream, query, plan)
    seconds = math.inf
    try:
        # Memory is traced in the first run, which may load loops; tracing takes time.
        peak = _peak(found)
        for _ in range(_TIMES):
            began = time.process_time()
            steps = found.explain(anew=True).steps
            seconds = min(seconds, time.process_time() - began)
            if seconds > _LONG_SECONDS:
                break
        matches = found.count()
    except LimitError as error:
        return nothing | {"not run": error.found}
    return {
        "matches": min(matches, _MANY),
        "candidates": sum(step.candidates for step in steps),
        "partials": min(sum(step.survivors for step in steps), _MANY),
        "peak rows": sum(step.peak_rows for step in steps),
        "MB": peak,
        "ms": seconds * 1e3,
        "not run": "",
    }


def _peak(matches: Matches) -> float:
    """Return the megabytes that a run holds at its peak beside the events, arrays included."""
    tracemalloc.start()
    try:
        matches.explain(anew=True)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return most / _MEGABYTE
