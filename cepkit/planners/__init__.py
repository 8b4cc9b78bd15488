"""The shelf of planners. A new one is one file (see contract.py) and one line in the table."""

from collections.abc import Mapping
from types import MappingProxyType

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

_SHELF: tuple[Planner, ...] = (
    GivenOrder(),
    ByFrequency(),
    Greedy(),
    IterativeImprovement("ii-random", greedy=False, starts=10),
    IterativeImprovement("ii-greedy", greedy=True, starts=1),
    Kbz(),
    DpOrder(),
    ZStream("zstream"),
    ZStream("zstream-ord", greedy=True),
    DpTree(),
)

PLANNERS: Mapping[str, Planner] = MappingProxyType({planner.name: planner for planner in _SHELF})
"""Every planner with its default settings, by name."""
