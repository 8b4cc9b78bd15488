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
    (Greedy(), "next the variable that makes the step cheapest; O(n²) steps"),
    (
        IterativeImprovement("ii-random", greedy=False, starts=10),
        "from 10 random orders, swaps and cycles while they help; O(n³) moves a round, anytime",
    ),
    (
        IterativeImprovement("ii-greedy", greedy=True, starts=1),
        "the same from the greedy order; O(n³) moves a round, anytime",
    ),
    (
        Kbz(),
        "by rank along the tree of conditions; O(n² log n), the best without cross products there",
    ),
    (DpOrder(), "the best order of every set of variables; O(n 2ⁿ), the best of all orders"),
    (ZStream("zstream"), "the best tree with the leaves in the order of the pattern; O(n³)"),
    (ZStream("zstream-ord", greedy=True), "the best tree with the leaves in greedy order; O(n³)"),
    (DpTree(), "the best tree of every set of variables; O(3ⁿ), the best of all trees"),
)
"""Every planner with its default settings, by name."""
