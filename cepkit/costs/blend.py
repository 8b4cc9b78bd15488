"""Partial matches and latency together: Cost = Cost_partial_matches + alpha * Cost_latency.

Source: *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 6.1.
"""

from __future__ import annotations

import math
from dataclasses import replace

from cepkit.costs.contract import BranchCost
from cepkit.costs.latency import NOTHING_KNOWN, OutputProfile, wait_cost
from cepkit.costs.partial_matches import alive
from cepkit.errors import PlanError
from cepkit.pattern.normal_form import Branch
from cepkit.statistics.model import Statistics
from cepkit.values import dataclass


@dataclass(frozen=True)
class Blend:
    """The cost model that adds alpha times latency to partial matches.

    Attributes:
        alpha: What a unit of latency is worth, in partial matches; 0 for none.
        output: How often each variable came last in the matches found so far; None if unknown.
    """

    alpha: float
    output: OutputProfile = NOTHING_KNOWN

    def __post_init__(self) -> None:
        if not (math.isfinite(self.alpha) and self.alpha >= 0):
            raise PlanError(f"alpha is {self.alpha}", expected="a finite number, 0 or more")

    @property
    def name(self) -> str:
        """How tables call it."""
        return f"blend({self.alpha:g})"

    def on(self, branch: Branch, statistics: Statistics) -> BranchCost:
        """Return the model made ready for `branch` (see `contract.CostModel`)."""
        waiting = wait_cost(branch, statistics, self.output)
        return BranchCost(
            branch.variables,
            alive=alive(branch, statistics),
            waiting=replace(waiting, held=waiting.held.times(self.alpha)),
        )
