"""Simulated annealing over shared plans: it accepts worse neighbours with falling probability.

A neighbour that costs d more is taken with probability exp(-d / c). c begins as the median
difference of some neighbours of the start and is multiplied by `cooling` after each tenth of as
many steps as there are edges. Anytime, seeded. O(length) a step, plus the local planner.
Source: MULTI, which begins with the largest difference and cools at each step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from cepkit.sharing.plan_graph import Changes, PlanGraph, Prepared
from cepkit.sharing.searches.contract import SharingObserver
from cepkit.sharing.searches.moves import LocalSearch, Moves

_REPORTED = 200
"""Report progress to the observer after this many steps."""


@dataclass(frozen=True, slots=True)
class Annealing(LocalSearch):
    """Simulated annealing; a step examines one neighbour.

    Attributes:
        cooling: The factor of c at each cooling.
        probes: The number of neighbours of the start that determine the first c.
        name: The name in tables.
    """

    steps: int = 20_000
    idle: int = 5_000
    cooling: float = 0.99
    probes: int = 200
    name: str = "annealing"

    def search(self, prepared: Prepared, observe: SharingObserver | None = None) -> Changes:
        """Return the best plans seen (see `contract.SharingSearch`)."""
        graph, state, moves = self.begun(prepared, observe)
        if not moves.edges:
            return state.best
        with state.interruptible():
            temperature = self._first_temperature(graph, moves)
            every, better_at = max(1, len(moves.edges) // 10), 0
            for step in range(1, self.steps + 1):
                if state.out_of_time or step - better_at > self.idle:
                    break
                state.examined, state.done = step, step / self.steps
                if step % _REPORTED == 0:
                    state.report()
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
