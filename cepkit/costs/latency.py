"""The cost of a plan as the work that remains when the last event of a match has arrived.

    Cost(O) = sum of W r over the variables bound after the last one       of an order
    Cost(T) = sum of PM(sibling of N) over the ancestors N of its leaf     of a tree

the leaf included, the root excluded. In a SEQ the last variable is fixed. Under AND several
variables can be last: an output profile (`OutputProfile`) counts from matches how often each one
is; without a profile we assume independent arrivals. The cost is the expectation over the last
variable.
Source: *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 6.1, which takes the most frequent order alone; the expectation is ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from cepkit.costs.contract import BranchCost, SetFunction, WaitCost, share_factorials
from cepkit.costs.expectation import alive
from cepkit.errors import PlanError
from cepkit.pattern.normal_form import Branch
from cepkit.statistics.model import Statistics


@dataclass(frozen=True)
class OutputProfile:
    """The numbers of matches by the variable of their last event.

    Attributes:
        last: For each variable the number of matches in which it came last; 0 if missing.
    """

    last: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if any(not (math.isfinite(n) and n >= 0) for n in self.last.values()):
            raise PlanError("an output profile with a number below zero", expected="counts")
        object.__setattr__(self, "last", MappingProxyType(dict(self.last)))

    def probabilities(self, branch: Branch) -> tuple[float, ...] | None:
        """Return for each variable of a branch the probability to be last; None if unknown."""
        counts = [self.last.get(variable, 0.0) for variable in branch.variables]
        total = math.fsum(counts)
        return tuple(n / total for n in counts) if total else None


NOTHING_KNOWN = OutputProfile()


@dataclass(frozen=True)
class Latency:
    """The cost model that counts the candidates examined after the last event of a match."""

    output: OutputProfile = NOTHING_KNOWN
    name: str = "latency"

    def on(self, branch: Branch, statistics: Statistics) -> BranchCost:
        """Return the costs of `branch` (see `contract.CostModel`)."""
        return BranchCost(branch.variables, waiting=wait_cost(branch, statistics, self.output))


def wait_cost(branch: Branch, statistics: Statistics, output: OutputProfile) -> WaitCost:
    """Return the cost of the work after the last event of a match of the branch."""
    last = output.probabilities(branch) or last_by_chance(branch)
    return WaitCost(last, alive(branch, statistics))


def last_by_chance(branch: Branch) -> tuple[float, ...]:
    """Return for each variable the probability to come last under independent uniform arrivals.

    That is the share of the allowed orderings that end with it: 1 for the last variable of a SEQ,
    and equal shares under an AND of events.
    """
    everything = (1 << len(branch.variables)) - 1
    nothing = (0.0,) * len(branch.variables)
    share = SetFunction(nothing, factorials=share_factorials(branch.variables, branch.order))
    possible = branch.latest(branch.variables)
    weights = [
        math.exp(share(everything & ~(1 << i))) if v in possible else 0.0
        for i, v in enumerate(branch.variables)
    ]
    total = math.fsum(weights)
    return tuple(w / total for w in weights)


LATENCY = Latency()
"""The model without an output profile."""
