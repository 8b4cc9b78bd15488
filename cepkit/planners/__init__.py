"""The shelf of planners. A new one is one file (see contract.py) and one line in the table."""

from collections.abc import Mapping
from types import MappingProxyType

from cepkit.planners.by_frequency import ByFrequency
from cepkit.planners.contract import Planner
from cepkit.planners.given_order import GivenOrder
from cepkit.planners.greedy import Greedy

__all__ = ["PLANNERS", "ByFrequency", "GivenOrder", "Greedy", "Planner"]

PLANNERS: Mapping[str, Planner] = MappingProxyType(
    {planner.name: planner for planner in (GivenOrder(), ByFrequency(), Greedy())}
)
"""Every planner with its default settings, by name."""
