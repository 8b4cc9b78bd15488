"""The shelf of cost models, and what they stand on: expected numbers of a branch.

A new model is one file with a class that fits `contract.CostModel`, and a line here.
"""

from cepkit.costs.contract import BranchCost, CostModel, order_cost
from cepkit.costs.expectation import Expectation
from cepkit.costs.partial_matches import PARTIAL_MATCHES, PartialMatches
from cepkit.costs.steps import expected_candidates, expected_matches, expected_steps

__all__ = [
    "PARTIAL_MATCHES",
    "BranchCost",
    "CostModel",
    "Expectation",
    "PartialMatches",
    "expected_candidates",
    "expected_matches",
    "expected_steps",
    "order_cost",
]
