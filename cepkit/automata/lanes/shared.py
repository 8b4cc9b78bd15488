"""Lanes of several patterns, where one continues the instances of another.

A node that several branches have belongs to the one with the largest window; its lane has the
buffers and the instances of the node. The others get a *view* of each of its instances: the same
partial match by their own variables, where their own window, the smaller one, still allows it. A
view is no instance of its own, and is not counted. O(followers) for each instance.
Source: MULTI; that windows differ by views is ours.
"""

from __future__ import annotations

from abc import abstractmethod

from cepkit.automata.compile.demands import Test
from cepkit.automata.events import Place
from cepkit.automata.lanes.journal import Instance
from cepkit.automata.lanes.lane import Lane, Setting
from cepkit.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Handed:
    """Instances of another branch that a branch goes on from.

    Attributes:
        owner: The number of the other branch.
        bound: The variables that they bind, as this branch has them.
        theirs: The same, as the other branch has them.
        slots: For each variable its place here, and there.
        tests: What this branch demands of them, and the other one does not say in so many words.
    """

    owner: int
    bound: int
    theirs: int
    slots: tuple[tuple[int, int], ...]
    tests: tuple[Test, ...]


class SharedLane(Lane):
    """A lane that may continue instances of other lanes, and passes on its own.

    Attributes:
        followers: For each node those who go on from its instances.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.followers: dict[int, list[tuple[SharedLane, Handed]]] = {}

    @abstractmethod
    def point(self, bound: int) -> int:
        """Return the number of the node whose instances bind some variables."""

    @abstractmethod
    def go_on(self, instance: Instance, point: int) -> None:
        """Let an instance at a node do all that it can do now."""

    def follow(self, other: SharedLane, handed: Handed) -> None:
        """Go on from instances of another lane."""
        theirs = other.point(handed.theirs)
        other.followers.setdefault(theirs, []).append((self, handed))
        if not handed.bound:
            for instance in list(other.alive.values()):
                self.take_over(instance, handed)

    def hand_on(self, instance: Instance, point: int) -> None:
        """Let the patterns that follow go on from an instance that has just reached a node."""
        for lane, handed in self.followers.get(point, ()):
            lane.take_over(instance, handed)

    def take_over(self, base: Instance, handed: Handed) -> None:
        """Go on from an instance of another lane, where it is none that this one may not want."""
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
