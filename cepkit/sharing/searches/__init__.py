"""The shelf of searches: a new one is a file that fits contract.py, and its entry in the table."""

from cepkit.sharing.searches.annealing import Annealing
from cepkit.sharing.searches.contract import SharingObserved, SharingObserver, SharingSearch
from cepkit.sharing.searches.exact import Exact
from cepkit.sharing.searches.greedy_merge import GreedyMerge
from cepkit.sharing.searches.own_plans import OwnPlans
from cepkit.sharing.searches.tabu import Tabu
from cepkit.shelf import Shelf

__all__ = [
    "SEARCHES",
    "Annealing",
    "Exact",
    "GreedyMerge",
    "OwnPlans",
    "SharingObserved",
    "SharingObserver",
    "SharingSearch",
    "Tabu",
]

SEARCHES: Shelf[SharingSearch] = Shelf(
    "search",
    (OwnPlans(), "each pattern's best plan, equal nodes once"),
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
