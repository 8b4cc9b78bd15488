"""The cost of a plan as the engine's work: candidates looked at, and partial matches written.

    cost of a step = candidates + 3 * partial matches

Joining L and R looks at the pairs that lie in one window, in order, and have equal keys, for equal
keys are looked up; the other conditions between the two then decide which of them are kept:

    candidates(L, R) = PM(L and R), without the other conditions between L and R

The weight 3 is measured: the least squares over all orders of six patterns gave 2 to 4. Unlike
partial matches alone it knows a step that looks at much and keeps little from one that does not.
O(number of selectivities) a step. Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from cepkit.costs.contract import BranchCost, PairCost
from cepkit.costs.expectation import Expectation
from cepkit.costs.partial_matches import alive
from cepkit.costs.set_functions import SetFunction
from cepkit.costs.steps import linked_by_equality
from cepkit.pattern.normal_form import Branch
from cepkit.plan.logarithms import log
from cepkit.statistics.model import Statistics

PER_PARTIAL_MATCH = 3.0
"""What a partial match costs, in candidates."""


@dataclass(frozen=True, slots=True)
class Work:
    """Candidates that are looked at, and partial matches at a multiple of their price.

    Attributes:
        per_partial_match: What writing one costs, in candidates.
    """

    per_partial_match: float = PER_PARTIAL_MATCH
    name: str = "work"

    def on(self, branch: Branch, statistics: Statistics) -> BranchCost:
        """Return the model made ready for `branch` (see `contract.CostModel`)."""
        expected = Expectation.of(branch, statistics)
        survivors = alive(branch, statistics)
        positive = frozenset(branch.variables)
        keys = {expected.mask(n) for n in linked_by_equality(branch) if n <= positive}
        # Where it is known how many keys are equal, the other conditions of a pair only filter.
        equal = {
            expected.mask(names): log(equality.in_window.share)
            for names, equality in statistics.equalities.items()
            if names <= positive
        }
        looked_up = tuple((g, equal.get(g, share)) for g, share in survivors.groups if g in keys)
        filtered = tuple(
            (g, share - equal[g] if g in keys else share)
            for g, share in survivors.groups
            if g not in keys or (g in equal and min(share, equal[g]) > -inf)
        )
        nothing = (0.0,) * len(survivors.members)
        pairs = PairCost(replace(survivors, groups=looked_up), SetFunction(nothing, filtered))
        return BranchCost(branch.variables, survivors.times(self.per_partial_match), pairs)


WORK = Work()
"""With the measured weight."""
