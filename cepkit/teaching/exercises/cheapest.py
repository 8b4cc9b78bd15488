"""Predict the cheapest order of a pattern from its numbers; judged by the cost model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from random import Random
from typing import Any

import pandas as pd

from cepkit.costs import PARTIAL_MATCHES
from cepkit.costs.contract import query_cost
from cepkit.pattern.builder import as_query
from cepkit.pattern.normal_form import normal_form
from cepkit.plan.logarithms import from_log
from cepkit.plan.nodes import OrderPlan
from cepkit.statistics.model import Statistics
from cepkit.tables import number as shown
from cepkit.teaching.exercises.contract import Exercise, Marked
from cepkit.teaching.exercises.truth import order_of

_PATTERN = "PATTERN SEQ(A a, B b, C c{more}) WHERE a.x < b.x AND b.x < c.x WITHIN 10 seconds"
_RATES, _SHARES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0), (0.01, 0.05, 0.1, 0.5, 0.9)
_LEAD = 1.1
"""By what factor the best order is cheaper than the second."""


@dataclass(frozen=True, slots=True)
class Cheapest:
    """Sequences of three and of four events, with rates and selectivities."""

    name: str = "cheapest"
    count: int = 2

    def make(self, number: int, random: Random) -> Exercise:
        """Return an exercise (see `contract.Kind`)."""
        names = "abcd"[: 3 + number]
        pattern = _PATTERN.format(more=", D d" if number else "")
        while True:
            rates = dict(zip(names, random.sample(_RATES, len(names)), strict=True))
            shares: dict[tuple[str, ...], float] = {
                pair: random.choice(_SHARES) for pair in (("a", "b"), ("b", "c"))
            }
            costs = _costs(pattern, rates, shares)
            best, second, *_ = sorted(costs.values())
            if second > _LEAD * best:
                break
        rows = [(f"rate of {name}", f"{rate:g} per second") for name, rate in rates.items()]
        rows += [(f"share of pairs with {a}.x < {b}.x", f"{s:g}") for (a, b), s in shares.items()]
        return Exercise(
            f"{self.name}-{number + 1}",
            "In which order is the pattern looked for with the fewest partial matches? The "
            "cost of an order is how many a window holds after each of its steps, added up.",
            "an order, as 'c, a, b'",
            min(costs, key=costs.__getitem__),
            lambda answer: _judge(answer, costs),
            pattern,
            pd.DataFrame(rows, columns=["number", "value"]),
        )


def _costs(
    pattern: str, rates: Mapping[str, float], shares: Mapping[tuple[str, ...], float]
) -> dict[tuple[str, ...], float]:
    branches = normal_form(as_query(pattern))
    statistics = Statistics.assumed(rates, shares)
    costs = [PARTIAL_MATCHES.on(branch, statistics) for branch in branches]
    return {order: from_log(query_cost(costs, [OrderPlan(order)])) for order in permutations(rates)}


def _judge(answer: Any, costs: Mapping[tuple[str, ...], float]) -> Marked:
    order = order_of(answer)
    if order not in costs:
        return Marked(False, f"an order names {', '.join(min(costs))}, each once")
    ranked = sorted(costs.values())
    place = sum(cost < costs[order] * (1 - 1e-9) for cost in ranked) + 1
    if place == 1:
        return Marked(True, f"no order costs less than {shown(ranked[0])}")
    return Marked(
        False, f"{place - 1} of {len(ranked)} orders cost less than {shown(costs[order])}"
    )
