"""The shelf of searches: a new one is a file that fits contract.py, and its entry in the table."""

from cepkit.sharing.searches.contract import SharingObserved, SharingObserver, SharingSearch
from cepkit.sharing.searches.greedy_merge import GreedyMerge
from cepkit.shelf import Shelf

__all__ = ["SEARCHES", "GreedyMerge", "SharingObserved", "SharingObserver", "SharingSearch"]

SEARCHES: Shelf[SharingSearch] = Shelf(
    "search",
    (
        GreedyMerge(),
        "common sub-patterns, largest first, to all who have them, while that gains; deterministic",
    ),
    method="search",
)
"""Every search with its default settings, by name."""
