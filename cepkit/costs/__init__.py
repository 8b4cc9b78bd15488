"""The shelf of cost models, with the expected numbers of a branch, their basis.

A new model is a file with a class that follows `contract.CostModel`, and an entry in the table.
"""

from cepkit.costs.blend import Blend
from cepkit.costs.contract import BranchCost, CostModel, query_cost
from cepkit.costs.expectation import Expectation
from cepkit.costs.latency import LATENCY, Latency, OutputProfile
from cepkit.costs.partial_matches import PARTIAL_MATCHES, PartialMatches
from cepkit.costs.steps import expected_steps
from cepkit.costs.work import WORK, Work
from cepkit.shelf import Shelf

__all__ = [
    "COSTS",
    "LATENCY",
    "PARTIAL_MATCHES",
    "WORK",
    "Blend",
    "BranchCost",
    "CostModel",
    "Expectation",
    "Latency",
    "OutputProfile",
    "PartialMatches",
    "Work",
    "expected_steps",
    "query_cost",
]

COSTS: Shelf[CostModel] = Shelf(
    "cost model",
    (PARTIAL_MATCHES, "the partial matches alive in a window"),
    (LATENCY, "the work left when the last event of a match has come"),
    (WORK, "the work of the engine: candidates plus three times the partial matches"),
    method="on",
    beside=", or cepkit.costs.Blend(alpha=0.5)",
)
"""Every model without settings, by name; `Blend` needs an alpha."""
