"""The contract of mechanisms.

CONTRIBUTING.md says how to add one. A mechanism defines a `Lane`, which takes events; `machine.py`
handles partitions, branches, expiry and counting.
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
    """A branch prepared for a mechanism; all its lanes share it."""

    def lane(self, setting: Setting) -> Lane:
        """Return a lane for one partition, with its initial instance where it has one."""
        ...


class Mechanism(Protocol):
    """Finds all matches of a branch, event by event, each once."""

    @property
    def name(self) -> str:
        """Its name for users and in tables."""
        ...

    @property
    def follows(self) -> Follows:
        """The kind of plan that it takes; an order is a tree that leans left."""
        ...

    @property
    def diagram(self) -> DiagramKind:
        """The kind of its diagram."""
        ...

    def prepare(self, rules: Rules, number: int, chart: Chart, plan: BranchPlan, /) -> Program:
        """Return the program of a branch, its nodes and edges drawn on the chart.

        Args:
            rules: The demands of the branch.
            number: The number of the branch, from 0.
            chart: The chart for nodes and edges; a lazy automaton adds them as it reaches them.
            plan: A plan of the kind that the mechanism follows; any plan if it follows nothing.
        """
        ...


@runtime_checkable
class JointProgram(Program, Protocol):
    """A prepared branch whose nodes others may use."""

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
        """Its name with several patterns."""
        ...

    @property
    def joint_diagram(self) -> DiagramKind:
        """The kind of its diagram with several patterns."""
        ...

    def prepare(self, rules: Rules, number: int, chart: Chart, plan: BranchPlan, /) -> JointProgram:
        """Return the program of a branch that follows no other."""
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
        """Return the program of a branch that continues instances of others.

        Args:
            rules: The demands of the branch.
            number: The number of the branch, from 0.
            chart: The chart for nodes and edges.
            plan: A plan of the kind that the mechanism follows.
            followed: The programs of the others, with their instances; never empty.
        """
        ...
