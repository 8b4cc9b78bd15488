"""The shelf of mechanisms. A new one is one file (see contract.py) and one line in the table."""

from collections.abc import Mapping
from types import MappingProxyType

from cepkit.automata.chain import ChainNFA
from cepkit.automata.contract import Mechanism

__all__ = ["MECHANISMS", "ChainNFA", "Mechanism"]

MECHANISMS: Mapping[str, Mechanism] = MappingProxyType(
    {mechanism.name: mechanism for mechanism in (ChainNFA(),)}
)
"""Every mechanism by name."""
