"""MULTI's costs of a shared plan: instances, and the work for each arriving event.

    #inst      the partial matches alive, summed over the nodes of a shared plan of orders or trees
    CP(T)      sum over the states that take T: #inst of the state * (C_a + C_v + Sel_v * C_n)
    CR(T)      the same sum of #inst of the state * Sel_v * C_r

A state is the node before: the first states of all patterns have one empty instance. C_a is the
cost of access to an instance, C_v that of its conditions (here one each), C_n that of a new
instance, C_r that of its removal; Sel_v is the share of pairs that become a new instance. The
source minimises #inst, because it depends on the same numbers as CP and CR; only the study reads
them, planning is by `work`. CP and CR are of orders, as in the source.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cepkit.costs.expectation import window_seconds
from cepkit.pattern.conditions import variables_of
from cepkit.pattern.normal_form import normal_form
from cepkit.plan import OrderPlan
from cepkit.sharing.shared_plan import SharedPlan


@dataclass(frozen=True, slots=True)
class Prices:
    """The source's constants: access, one condition, a new instance, and its removal."""

    access: float = 1.0
    condition: float = 1.0
    new: float = 1.0
    removal: float = 1.0


@dataclass(frozen=True, slots=True)
class PerEvent:
    """The expected work for one arriving event of a type.

    Attributes:
        rate: Its events in a second.
        instances: The instances that it is compared with.
        processing: CP.
        removal: CR.
    """

    rate: float
    instances: float = 0.0
    processing: float = 0.0
    removal: float = 0.0


def instances(plan: SharedPlan) -> float:
    """Return the partial matches that are alive at any moment, those of shared nodes once."""
    return math.fsum(node.alive for node in plan.nodes)


def per_event(plan: SharedPlan, prices: Prices | None = None) -> dict[str, PerEvent]:
    """Return the work for one event of each type, under orders."""
    assert all(isinstance(b, OrderPlan) for each in plan.plans for b in each.branches)
    price = prices or Prices()
    at = {name: number for number, name in enumerate(plan.names)}
    nodes = plan.nodes
    rates: dict[str, float] = {}
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for node in nodes:
        user = node.users[0]
        query = plan.queries[at[user.name]]
        branch = normal_form(query)[user.branch]
        known = plan.statistics.of(query)
        *before, new = user.variables
        checks = sum(
            new in among and among <= {*before, new}
            for among in map(variables_of, branch.conditions)
        )
        waiting = math.fsum(nodes[source].alive for source in node.sources) or 1.0
        rate = known.rates[new]
        passing = node.alive / (waiting * rate * window_seconds(branch, known))
        kind = ",".join(sorted(branch.event(new).types or ()))
        rates[kind] = rate
        for i, cost in enumerate(
            (1.0, price.access + checks * price.condition + passing * price.new,
             passing * price.removal)
        ):  # fmt: skip
            sums[kind][i] += waiting * cost
    return {kind: PerEvent(rates[kind], *sums[kind]) for kind in sorted(sums)}


def per_second(costs: Mapping[str, PerEvent]) -> dict[str, Any]:
    """Return the work for all events of a second."""
    return {
        "CP": math.fsum(each.rate * each.processing for each in costs.values()),
        "CR": math.fsum(each.rate * each.removal for each in costs.values()),
    }
