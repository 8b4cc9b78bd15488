"""The shelf of searches: a new one is a file that fits contract.py, and its entry in the table."""

from cepkit.sharing.searches.annealing import Annealing
from cepkit.sharing.searches.baselines import (
    OWN_PLANS,
    REORDERING,
    SHARING_ONLY,
    TEXT_ORDER,
    Baseline,
)
from cepkit.sharing.searches.contract import SharingObserved, SharingObserver, SharingSearch
from cepkit.sharing.searches.exact import Exact
from cepkit.sharing.searches.greedy_merge import GreedyMerge
from cepkit.sharing.searches.merge_decompose import MergeDecompose
from cepkit.sharing.searches.redundancy_ratio import RedundancyRatio
from cepkit.sharing.searches.tabu import Tabu
from cepkit.shelf import Shelf

__all__ = [
    "SEARCHES",
    "Annealing",
    "Baseline",
    "Exact",
    "GreedyMerge",
    "MergeDecompose",
    "RedundancyRatio",
    "SharingObserved",
    "SharingObserver",
    "SharingSearch",
    "Tabu",
]

SEARCHES: Shelf[SharingSearch] = Shelf(
    "search",
    (TEXT_ORDER, "the order of the text, nothing shared, like an engine without a planner"),
    (REORDERING, "each pattern's order of cheapest next steps, nothing shared (RE)"),
    (SHARING_ONLY, "the order of the text, equal nodes once (SH)"),
    (OWN_PLANS, "each pattern's best plan, equal nodes once"),
    (RedundancyRatio(), "substrings by what sharing them saves, no reordering (after SPASS)"),
    (MergeDecompose(), "sub-patterns built from smaller ones, no reordering (after MOTTO)"),
    (
        GreedyMerge(),
        "shares common sub-patterns, largest first, with all that have them, while that gains",
    ),
    (Annealing(), "random neighbours, worse ones with falling probability; anytime, seeded"),
    (Tabu(), "the best of random neighbours that was not there lately; anytime, seeded"),
    (
        Exact(),
        "all plans of all patterns: the best, for up to four of five variables",
    ),
    method="search",
)
"""Every search with its default settings, by name."""
