"""Lanes of several patterns, where one continues the instances of another.

A shared node belongs to the branch with the largest window; its lane has the buffers and the
instances of the node. Each other branch gets a *view* of each instance that its own, smaller window
allows: the same partial match under its own variables. Views are not counted as instances.
O(followers) for each instance. Source: MULTI; views for different windows are ours.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from cepkit.automata.compile.demands import Test
from cepkit.automata.events import Place
from cepkit.automata.lanes.journal import Instance
from cepkit.automata.lanes.lane import Lane, Setting


@dataclass(frozen=True, slots=True, eq=False)
class Handed:
    """Instances of another branch that a branch continues.

    Attributes:
        owner: The number of the other branch.
        bound: The variables that they bind, as a mask of this branch.
        theirs: The same variables, as a mask of the other branch.
        slots: For each variable its place here, and there.
        tests: The conditions of this branch on them that the other branch does not have.
    """

    owner: int
    bound: int
    theirs: int
    slots: tuple[tuple[int, int], ...]
    tests: tuple[Test, ...]


class SharedLane(Lane):
    """A lane that may continue instances of other lanes, and hands on its own.

    Attributes:
        followers: For each point the lanes that continue its instances.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.followers: dict[int, list[tuple[SharedLane, Handed]]] = {}

    @abstractmethod
    def point(self, bound: int) -> int:
        """Return the point of a lane, a number, whose instances bind some variables."""

    @abstractmethod
    def go_on(self, instance: Instance, point: int) -> None:
        """Do all possible steps of an instance at a point."""

    def follow(self, other: SharedLane, handed: Handed) -> None:
        """Continue instances of another lane."""
        theirs = other.point(handed.theirs)
        other.followers.setdefault(theirs, []).append((self, handed))
        if not handed.bound:
            for instance in list(other.alive.values()):
                self.take_over(instance, handed)

    def hand_on(self, instance: Instance, point: int) -> None:
        """Hand a new instance at a point to all followers."""
        for lane, handed in self.followers.get(point, ()):
            lane.take_over(instance, handed)

    def take_over(self, base: Instance, handed: Handed) -> None:
        """Continue an instance of another lane in a view, if the own window and tests allow it."""
        limit = self.rules.limit
        if limit is not None and base.high - base.low > limit:
            return
        binding: list[Place] = [None] * len(self.rules.variables)
        for here, there in handed.slots:
            binding[here] = base.binding[there]
        view = Instance(
            base.number, base.node, handed.bound, tuple(binding), base.low, base.high, base=base
        )
        if not all(test.holds(view.binding) for test in handed.tests):
            return
        self.go_on(view, self.point(handed.bound))
        if view.homes:
            base.views = [*base.views, view]
