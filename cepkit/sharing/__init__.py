"""Several patterns at once: their common sub-patterns, and plans that share them.

After *Real-Time Multi-Pattern Detection over Event Streams* (MULTI), a published patent
application, US 2022/0091909 A1: multi-pattern graphs, prefix-shared orders (MPT), shared trees
(MPM) and local search over them. Ours are the greedy merge (the default), best responses, integer
prices, the price of handing rows over, separate sharing by window, and weaker nodes. `share="none"`
uses none of it: every pattern has its own plan.
"""

from cepkit.sharing import printer as printer  # registers how shared plans print
from cepkit.sharing.choose import SHARES, share_plans
from cepkit.sharing.compare import ComparedSharing, SharingComparison, compare_shared_plans
from cepkit.sharing.graph import CommonPattern, PatternGraph, pattern_graph
from cepkit.sharing.searches import SEARCHES, SharingObserved, SharingObserver, SharingSearch
from cepkit.sharing.shared_plan import NodeUser, SharedNode, SharedPlan

__all__ = [
    "SEARCHES",
    "SHARES",
    "CommonPattern",
    "ComparedSharing",
    "NodeUser",
    "PatternGraph",
    "SharedNode",
    "SharedPlan",
    "SharingComparison",
    "SharingObserved",
    "SharingObserver",
    "SharingSearch",
    "compare_shared_plans",
    "pattern_graph",
    "printer",
    "share_plans",
]
