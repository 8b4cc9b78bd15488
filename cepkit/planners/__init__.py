"""The shelf of planners: a new one is a file that fits contract.py, and its entry in the table."""

from cepkit.plan.nodes import OrderPlan, Pair, TreePlan
from cepkit.planners.by_frequency import ByFrequency
from cepkit.planners.contract import Observed, Observer, Planner
from cepkit.planners.dp_order import DpOrder
from cepkit.planners.dp_tree import DpTree
from cepkit.planners.given_order import GivenOrder
from cepkit.planners.greedy import Greedy
from cepkit.planners.iterative_improvement import IterativeImprovement
from cepkit.planners.kbz import Kbz
from cepkit.planners.zstream import ZStream
from cepkit.shelf import Shelf

__all__ = [
    "PLANNERS",
    "ByFrequency",
    "DpOrder",
    "DpTree",
    "GivenOrder",
    "Greedy",
    "IterativeImprovement",
    "Kbz",
    "Observed",
    "Observer",
    "OrderPlan",
    "Pair",
    "Planner",
    "TreePlan",
    "ZStream",
]

PLANNERS: Shelf[Planner] = Shelf(
    "planner",
    (GivenOrder(), "the order of the pattern, as engines without a planner take it; O(n)"),
    (ByFrequency(), "rare events first; O(n log n)"),
    (Greedy(), "next the variable that makes the step cheapest; O(n^2) steps"),
    (
        IterativeImprovement("ii-random", greedy=False, starts=10),
        "from 10 random orders, swaps and cycles while they help; O(n^3) moves a round, anytime",
    ),
    (
        IterativeImprovement("ii-greedy", greedy=True, starts=1),
        "the same from the greedy order; O(n^3) moves a round, anytime",
    ),
    (
        Kbz(),
        "by rank along the tree of conditions; O(n^2 log n), exact where conditions form a tree",
    ),
    (DpOrder(), "the best order of every set of variables; O(n 2^n), the best of all orders"),
    (ZStream("zstream"), "the best tree with the leaves in the order of the pattern; O(n^3)"),
    (ZStream("zstream-ord", greedy=True), "the best tree with the leaves in greedy order; O(n^3)"),
    (DpTree(), "the best tree of every set of variables; O(3^n), the best of all trees"),
    method="plan",
)
"""Every planner with its default settings, by name."""

DEFAULT = "dp-order"
"""The planner of whoever names none, where its search is not too large."""
