"""Partial matches and latency together: Cost = Cost_partial_matches + alpha * Cost_latency.

Source: *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 6.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from cepkit.costs.contract import BranchCost
from cepkit.costs.expectation import alive
from cepkit.costs.latency import NOTHING_KNOWN, OutputProfile, wait_cost
from cepkit.errors import PlanError
from cepkit.pattern.normal_form import Branch
from cepkit.statistics.model import Statistics


@dataclass(frozen=True)
class Blend:
    """The cost model that adds alpha times latency to partial matches.

    Attributes:
        alpha: The weight of a unit of latency, in partial matches.
        output: The output profile: for each variable the matches in which it came last.
    """

    alpha: float
    output: OutputProfile = NOTHING_KNOWN

    def __post_init__(self) -> None:
        if not (math.isfinite(self.alpha) and self.alpha >= 0):
            raise PlanError(f"alpha is {self.alpha}", expected="a finite number, 0 or more")

    @property
    def name(self) -> str:
        """The name in tables."""
        return f"blend({self.alpha:g})"

    def on(self, branch: Branch, statistics: Statistics) -> BranchCost:
        """Return the costs of `branch` (see `contract.CostModel`)."""
        waiting = wait_cost(branch, statistics, self.output)
        return BranchCost(
            branch.variables,
            alive=alive(branch, statistics),
            waiting=replace(waiting, held=waiting.held.times(self.alpha)),
        )
