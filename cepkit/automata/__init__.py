"""The shelf of mechanisms. A new one is one file (see contract.py) and one line in the table."""

from collections.abc import Mapping
from types import MappingProxyType

from cepkit.automata.chain import ChainNFA
from cepkit.automata.contract import Mechanism
from cepkit.automata.eager import EagerNFA
from cepkit.automata.evaluation_tree import EvaluationTree
from cepkit.automata.tree_nfa import TreeNFA

__all__ = ["MECHANISMS", "ChainNFA", "EagerNFA", "EvaluationTree", "Mechanism", "TreeNFA"]

MECHANISMS: Mapping[str, Mechanism] = MappingProxyType(
    {
        mechanism.name: mechanism
        for mechanism in (EagerNFA(), ChainNFA(), TreeNFA(), EvaluationTree())
    }
)
"""Every mechanism by name."""
