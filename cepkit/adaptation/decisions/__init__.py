"""The shelf of decision functions: a new one is a file that fits contract.py, and its entry."""

from cepkit.adaptation.decisions.contract import Decision
from cepkit.adaptation.decisions.invariants import Invariants
from cepkit.adaptation.decisions.static import Static
from cepkit.adaptation.decisions.threshold import Threshold
from cepkit.adaptation.decisions.unconditional import Unconditional
from cepkit.shelf import Shelf

__all__ = ["DECISIONS", "Decision", "Invariants", "Static", "Threshold", "Unconditional"]

DECISIONS: Shelf[Decision] = Shelf(
    "decision function",
    (Static(), "never plans again; O(1)"),
    (Unconditional(), "plans again at every check; O(1) and the planner"),
    (
        Threshold(),
        "plans again when a rate or selectivity has changed by more than half; O(statistics)",
    ),
    (
        Invariants(),
        "plans again when a comparison behind the plan no longer holds; O(blocks of the plan)",
    ),
    method="fires",
    beside=", or one with settings, as cepkit.adaptation.Invariants(K=2, d=0.2)",
)
"""Every decision function with its default settings, by name."""
