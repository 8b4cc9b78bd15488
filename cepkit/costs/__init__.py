"""The shelf of cost models, and what they stand on: expected numbers of a branch.

A new model is one file with a class that fits `contract.CostModel`, and a line in the table.
"""

from collections.abc import Mapping
from types import MappingProxyType

from cepkit.costs.blend import Blend
from cepkit.costs.contract import BranchCost, CostModel, query_cost
from cepkit.costs.expectation import Expectation
from cepkit.costs.latency import LATENCY, Latency, OutputProfile
from cepkit.costs.partial_matches import PARTIAL_MATCHES, PartialMatches
from cepkit.costs.steps import expected_candidates, expected_matches, expected_steps
from cepkit.costs.work import WORK, Work
from cepkit.errors import by_name

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
    "expected_candidates",
    "expected_matches",
    "expected_steps",
    "get_cost_model",
    "query_cost",
]

_SHELF: tuple[CostModel, ...] = (PARTIAL_MATCHES, LATENCY, WORK)

COSTS: Mapping[str, CostModel] = MappingProxyType({model.name: model for model in _SHELF})
"""Every model that needs no setting, by name; `Blend` needs an alpha."""


def get_cost_model(model: str | CostModel) -> CostModel:
    """Return the cost model of that name; a model itself is returned unchanged.

    Raises:
        PlanError: There is none of that name.
    """
    if not isinstance(model, str):
        return model
    return by_name(COSTS, model, "cost model", beside=", or cepkit.costs.Blend(alpha=0.5)")
