"""What a mechanism must be.

CONTRIBUTING.md says how to add one. What it does with an event is a `Lane`; partitions, branches,
expiry and counting are done for it.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from cepkit.automata.chart import Chart
from cepkit.automata.compile.rules import Rules
from cepkit.automata.lanes.lane import Lane, Setting
from cepkit.plan.nodes import BranchPlan
from cepkit.tracing.diagram import DiagramKind

Follows: TypeAlias = Literal["nothing", "an order", "a tree"]


class Program(Protocol):
    """A branch prepared: all that its lanes share."""

    def lane(self, setting: Setting) -> Lane:
        """Return a lane for one partition, with its initial instance where it has one."""
        ...


class Mechanism(Protocol):
    """Finds all matches of a branch, event by event, each once."""

    @property
    def name(self) -> str:
        """How users and tables call it."""
        ...

    @property
    def follows(self) -> Follows:
        """The kind of plan that it takes; an order is a tree that leans left."""
        ...

    @property
    def diagram(self) -> DiagramKind:
        """How it is drawn."""
        ...

    def prepare(self, rules: Rules, number: int, chart: Chart, plan: BranchPlan, /) -> Program:
        """Return the program of a branch, its nodes and edges drawn on the chart.

        Args:
            rules: What the branch demands.
            number: The number of the branch, from 0.
            chart: Where nodes and edges are made; those of a lazy automaton as they are reached.
            plan: A plan of the kind that the mechanism follows; any where it follows nothing.
        """
        ...
