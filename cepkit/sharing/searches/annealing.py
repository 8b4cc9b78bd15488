"""Simulated annealing over shared plans: a worse neighbour is taken with falling probability.

A neighbour that costs d more is taken with probability exp(-d / c). c begins as the median
difference of some neighbours of the start and is multiplied by `cooling` after each tenth of as
many steps as there are edges. Anytime, seeded. O(length) a step, and what the local planner takes.
Source: MULTI, which begins with the largest difference and cools at each step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from cepkit.sharing.plan_graph import Changes, PlanGraph, Prepared
from cepkit.sharing.searches.contract import Progressed, SharingObserver
from cepkit.sharing.searches.moves import Moves
from cepkit.sharing.start import own_plans


@dataclass(frozen=True, slots=True)
class Annealing:
    """Simulated annealing.

    Attributes:
        most: How many branches a move is about at most: 2 is the neighbourhood `edge`, more
        `vertex`. seed: Of what is random. steps: The most neighbours that are looked at. idle: How
        many in a row may bring nothing better. seconds: The most time; None for no limit. With one,
        equal seeds may give unequal plans. cooling: What c is multiplied by. probes: How many
        neighbours of the start c is made of.
    """

    most: int = 2
    seed: int = 0
    steps: int = 20_000
    idle: int = 5_000
    seconds: float | None = None
    cooling: float = 0.99
    probes: int = 200
    name: str = "annealing"

    def search(self, prepared: Prepared, observe: SharingObserver | None = None) -> Changes:
        """Return the best plans seen (see `contract.SharingSearch`)."""
        graph = PlanGraph(prepared, own_plans(prepared))
        state = Progressed(graph, observe, self.seconds)
        moves = Moves(graph, self.most, self.seed)
        if not moves.edges:
            return state.best
        temperature = self._first_temperature(graph, moves)
        every, better_at = max(1, len(moves.edges) // 10), 0
        for step in range(1, self.steps + 1):
            if state.out_of_time or step - better_at > self.idle:
                break
            state.examined = step
            before = graph.cost
            undo = graph.swap(moves.propose())
            worse = graph.cost - before
            if worse > 0 and moves.random.random() >= math.exp(-min(worse / temperature, 700)):
                graph.swap(undo)
            elif state.offer():
                better_at = step
            if step % every == 0:
                temperature *= self.cooling
        state.report()
        return state.best

    def _first_temperature(self, graph: PlanGraph, moves: Moves) -> float:
        differences = []
        for _ in range(self.probes):
            before = graph.cost
            undo = graph.swap(moves.propose())
            differences.append(abs(graph.cost - before))
            graph.swap(undo)
        return float(median(differences)) or 1.0
