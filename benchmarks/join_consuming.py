"""Mechanisms under skip-till-next-match, for JOIN's study: matches consume their events.

A lane ends all instances that have a consumed event, and takes none from a buffer. Of the matches
that an event completes, the first in the order of arrival counts, so that the matches do not depend
on the plan. Consumed events stay in their buffers until their window has passed. Sequences of
single events only.
"""

from __future__ import annotations

from typing import Any

from cepkit.automata.chart import Chart
from cepkit.automata.compile.demands import Stage
from cepkit.automata.compile.rules import Rules
from cepkit.automata.events import Event
from cepkit.automata.lanes.buffers import Buffer
from cepkit.automata.lanes.journal import Instance
from cepkit.automata.lanes.lane import Lane, Setting
from cepkit.automata.lanes.scopes import Scopes
from cepkit.automata.mechanisms.chain import ChainLane, ChainNFA, ChainProgram
from cepkit.automata.mechanisms.evaluation_tree import EvaluationTree, JoinLane, JoinProgram
from cepkit.plan.nodes import BranchPlan, as_tree


class _Unconsumed(Scopes):
    """Scopes without consumed events."""

    def __init__(self, limit: int | None, consumed: set[Event], *, timed: bool) -> None:
        super().__init__(limit, timed=timed)
        self._consumed = consumed

    def candidates(self, buffer: Buffer, stage: Stage, instance: Instance) -> list[Event]:
        """Return the events in scope that no match has consumed."""
        events = super().candidates(buffer, stage, instance)
        return [event for event in events if event not in self._consumed]


class _Consuming(Lane):
    """A lane whose matches consume their events: skip-till-next-match."""

    def __init__(self, setting: Setting, *program: Any) -> None:
        super().__init__(setting, *program)
        self._consumed: set[Event] = set()
        self._completed: list[Instance] = []
        self.scopes = _Unconsumed(self.rules.limit, self._consumed, timed=self.rules.timed)

    def complete(self, instance: Instance) -> None:
        """Note a complete instance; the end of the step chooses among them."""
        self._completed.append(instance)

    def feed(self, event: Event) -> None:
        """Take in an event, and report the first of the matches that it completes."""
        super().feed(event)
        if not self._completed:
            return
        first = min(self._completed, key=_numbers)
        self._completed.clear()
        super().complete(first)
        events = {place for place in first.binding if isinstance(place, Event)}
        self._consumed |= events
        for instance in list(self.alive.values()):
            if not events.isdisjoint(instance.binding):
                self.discard(instance, "ended")


def _numbers(instance: Instance) -> list[int]:
    """Return the numbers of the events of a sequence, in the order of the pattern."""
    return [place.number for place in instance.binding if isinstance(place, Event)]


class _ConsumingChainLane(_Consuming, ChainLane):
    """The chain automaton's lane."""


class _ConsumingJoinLane(_Consuming, JoinLane):
    """The evaluation tree's lane."""


class _ConsumingChainProgram(ChainProgram):
    """The states of an order."""

    def lane(self, setting: Setting) -> ChainLane:
        """Return a lane whose matches consume."""
        return _ConsumingChainLane(setting, self)


class _ConsumingJoinProgram(JoinProgram):
    """The nodes of a tree."""

    def lane(self, setting: Setting) -> JoinLane:
        """Return a lane whose matches consume."""
        return _ConsumingJoinLane(setting, self)


class ConsumingChain(ChainNFA):
    """The chain automaton whose matches consume their events."""

    def prepare(self, rules: Rules, number: int, chart: Chart, plan: BranchPlan) -> ChainProgram:
        """Return the states of the order of a plan."""
        return _ConsumingChainProgram(rules, number, chart, plan.variables)


class ConsumingTree(EvaluationTree):
    """The evaluation tree whose matches consume their events."""

    def prepare(self, rules: Rules, number: int, chart: Chart, plan: BranchPlan) -> JoinProgram:
        """Return the nodes of the tree of a plan."""
        return _ConsumingJoinProgram(rules, number, chart, as_tree(plan).root)


CONSUMING = {"chain-nfa": ConsumingChain(), "evaluation-tree": ConsumingTree()}
