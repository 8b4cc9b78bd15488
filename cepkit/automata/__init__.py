"""The shelf of mechanisms. A new one is one file (see contract.py) and one line in the table."""

from cepkit.automata.chain import ChainNFA
from cepkit.automata.contract import Mechanism
from cepkit.automata.eager import EagerNFA
from cepkit.automata.evaluation_tree import EvaluationTree
from cepkit.automata.tree_nfa import TreeNFA
from cepkit.shelf import Shelf

__all__ = ["MECHANISMS", "ChainNFA", "EagerNFA", "EvaluationTree", "Mechanism", "TreeNFA"]

MECHANISMS: Shelf[Mechanism] = Shelf(
    "mechanism",
    (EagerNFA(), "events are taken in the order in which they come; nothing is stored"),
    (ChainNFA(), "lazy: variables are taken in the order of the plan; events wait in buffers"),
    (TreeNFA(), "lazy, without a plan: each instance takes what is rarest in its buffers"),
    (EvaluationTree(), "partial matches meet at the nodes of the plan's tree as they come to be"),
    method="prepare",
)
"""Every mechanism by name."""
