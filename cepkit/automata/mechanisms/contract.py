"""The contract of mechanisms.

CONTRIBUTING.md says how to add one. What it does with an event is a `Lane`; partitions, branches,
expiry and counting are done for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from cepkit.automata.chart import Chart
from cepkit.automata.compile.rules import Rules
from cepkit.automata.lanes.lane import Lane, Setting
from cepkit.automata.lanes.shared import Handed, SharedLane
from cepkit.plan.nodes import BranchPlan
from cepkit.tracing.diagram import DiagramKind

Follows: TypeAlias = Literal["nothing", "an order", "a tree"]


class Program(Protocol):
    """What all lanes of a branch share."""

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


@runtime_checkable
class JointProgram(Program, Protocol):
    """A branch prepared whose nodes others may use."""

    def lane(self, setting: Setting) -> SharedLane:
        """Return a lane for one partition, with its initial instance where it has one."""
        ...

    def node_of(self, bound: int) -> int:
        """Return the node of the diagram whose instances bind some variables, a mask."""
        ...


@runtime_checkable
class Joint(Mechanism, Protocol):
    """A mechanism that runs several patterns as one and shares their common parts."""

    @property
    def together(self) -> str:
        """How it is called where it runs several patterns."""
        ...

    @property
    def joint_diagram(self) -> DiagramKind:
        """How it is drawn then."""
        ...

    def prepare(self, rules: Rules, number: int, chart: Chart, plan: BranchPlan, /) -> JointProgram:
        """Return the program of a branch that has all its nodes to itself, or is followed."""
        ...

    def prepare_following(
        self,
        rules: Rules,
        number: int,
        chart: Chart,
        plan: BranchPlan,
        followed: Sequence[tuple[Any, Handed]],
        /,
    ) -> JointProgram:
        """Return the program of a branch that goes on from instances of others.

        Args:
            rules: What the branch demands.
            number: The number of the branch, from 0.
            chart: Where nodes and edges are made.
            plan: A plan of the kind that the mechanism follows.
            followed: The programs of the others, and what is taken from each; never empty.
        """
        ...
