"""Plans: in which order the variables of a pattern are bound."""

from cepkit.plan import printer as printer  # registers how a plan prints
from cepkit.plan.checks import as_plan, check_plan
from cepkit.plan.nodes import ExpectedStep, OrderPlan, Pair, Plan, TreePlan

__all__ = [
    "ExpectedStep",
    "OrderPlan",
    "Pair",
    "Plan",
    "TreePlan",
    "as_plan",
    "check_plan",
    "printer",
]
