"""Tabu search over shared plans: always take the best neighbour not visited recently.

Each step takes the cheapest of `width` random neighbours that is not among the last `memory`
states, even if it costs more. Anytime, seeded. O(width * length) a step, plus the local planner.
Source: MULTI.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepkit.sharing.plan_graph import Changes, PlanGraph, Prepared
from cepkit.sharing.searches.contract import Progressed, SharingObserver
from cepkit.sharing.searches.moves import LocalSearch, Moves


@dataclass(frozen=True, slots=True)
class Tabu(LocalSearch):
    """Tabu search; a step makes a move.

    Attributes:
        width: The number of neighbours to choose from.
        memory: The number of states in the tabu list.
        name: The name in tables.
    """

    steps: int = 300
    idle: int = 50
    width: int = 100
    memory: int = 10_000
    name: str = "tabu"

    def search(self, prepared: Prepared, observe: SharingObserver | None = None) -> Changes:
        """Return the best plans seen (see `contract.SharingSearch`)."""
        graph, state, moves = self.begun(prepared, observe)
        if not moves.edges:
            return state.best
        with state.interruptible():
            seen = {_state(graph): True}
            better_at = 0
            for step in range(1, self.steps + 1):
                if state.out_of_time or step - better_at > self.idle:
                    break
                state.done = step / self.steps
                state.report()
                changes = self._best_neighbour(graph, moves, seen, state)
                if changes is None:
                    break
                graph.swap(changes)
                seen[_state(graph)] = True
                if len(seen) > self.memory:
                    del seen[next(iter(seen))]
                if state.offer():
                    better_at = step
            state.report()
        return state.best

    def _best_neighbour(
        self, graph: PlanGraph, moves: Moves, seen: dict[int, bool], state: Progressed
    ) -> Changes | None:
        best: Changes | None = None
        least = 0
        for _ in range(self.width):
            if state.out_of_time and best is not None:
                break
            changes = moves.propose()
            state.examined += 1
            undo = graph.swap(changes)
            if (best is None or graph.cost < least) and _state(graph) not in seen:
                best, least = changes, graph.cost
            graph.swap(undo)
        return best


def _state(graph: PlanGraph) -> int:
    return hash(frozenset(graph.choices.items()))
