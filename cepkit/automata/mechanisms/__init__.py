"""The shelf of mechanisms. A new one is one file and one line in the table: CONTRIBUTING.md."""

from cepkit.automata.mechanisms.chain import ChainNFA
from cepkit.automata.mechanisms.contract import Mechanism
from cepkit.automata.mechanisms.eager import EagerNFA
from cepkit.automata.mechanisms.evaluation_tree import EvaluationTree
from cepkit.automata.mechanisms.tree_nfa import TreeNFA
from cepkit.shelf import Shelf

__all__ = ["MECHANISMS", "ChainNFA", "EagerNFA", "EvaluationTree", "Mechanism", "TreeNFA"]

MECHANISMS: Shelf[Mechanism] = Shelf(
    "mechanism",
    (EagerNFA(), "takes events in the order in which they come; stores nothing"),
    (
        ChainNFA(),
        "lazy: takes variables in the plan's order; for several patterns the multi-pattern NFA",
    ),
    (TreeNFA(), "lazy, without a plan: each instance takes the rarest event in its buffers"),
    (
        EvaluationTree(),
        "joins partial matches at the nodes of the plan's tree; for several patterns the multitree",
    ),
    method="prepare",
    beside=", prefix-counters (counts only), or cepkit.automata.mechanisms.TreeNFA(statistics)",
)
"""Every mechanism by name."""
