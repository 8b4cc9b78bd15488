"""The cost of an order as the partial matches that are alive in a window, summed over its steps.

    Cost(O) = sum over k of PM({O_1 .. O_k})
    Cost(T) = sum over the nodes N of the tree of PM(leaves of N)

PM is defined in expectation.py. O(number of selectivities) a step.
Source: *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 4.1. It counts what is kept, not what is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepkit.costs.contract import BranchCost
from cepkit.costs.expectation import Expectation
from cepkit.errors import UnsupportedError
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import Strategy
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class _Ready:
    expectation: Expectation

    def node(self, variables: frozenset[str]) -> float:
        return self.expectation.log_alive(variables)

    def step(self, bound: frozenset[str], variable: str) -> float:
        return self.expectation.log_alive(bound | {variable})


@dataclass(frozen=True, slots=True)
class PartialMatches:
    """Expected number of partial matches alive in a window, under skip-till-any-match."""

    name: str = "partial-matches"

    def on(self, branch: Branch, statistics: Statistics) -> BranchCost:
        """Return the model made ready for `branch` (see `contract.CostModel`)."""
        if branch.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
            raise UnsupportedError(
                f"the cost model '{self.name}' does not know the strategy {branch.strategy.value}",
                expected=Strategy.SKIP_TILL_ANY_MATCH.value,
            )
        return _Ready(Expectation.of(branch, statistics))


PARTIAL_MATCHES = PartialMatches()
"""The model where none is asked for."""
