"""The cost of a plan as the number of partial matches alive in a window.

    Cost(O) = sum over k of PM({O_1 .. O_k})              of an order
    Cost(T) = sum over the nodes N of PM(leaves of N)     of a tree

PM is defined in expectation.py for skip-till-any-match. Under the other strategies an event is in
at most one match, so the rarest variable limits their number:

    PM(S) = W * min of r * product of selectivities

It counts partial matches, not candidates. O(number of selectivities) a step.
Source: *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), sections 4.1, 4.2 and 6.2; the latter multiplies by W once more, apparently by mistake.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepkit.costs.contract import BranchCost
from cepkit.costs.expectation import alive
from cepkit.pattern.normal_form import Branch
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class PartialMatches:
    """The cost model that counts the partial matches expected alive in a window."""

    name: str = "partial-matches"

    def on(self, branch: Branch, statistics: Statistics) -> BranchCost:
        """Return the costs of `branch` (see `contract.CostModel`)."""
        return BranchCost(branch.variables, alive=alive(branch, statistics))


PARTIAL_MATCHES = PartialMatches()
"""The default model."""
