"""Neighbours of plans: some branches with a common sub-pattern plan it alike.

Neighbourhood `edge`: two branches with an edge in the multi-pattern graph share one of their common
sub-patterns, or none: then both return to their own best plans - otherwise nothing would ever be
unshared. `vertex(k)`: the same for up to k branches with the sub-pattern. Trees keep their other
shared subtrees, or not, at random; for orders, weaker nodes (weakening.py) count as sub-patterns
too. Source: MULTI, section on local search; weaker nodes are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random

from cepkit.sharing.merging import occurrences_of, sub_plan, with_part
from cepkit.sharing.plan_graph import COMMON, Changes, Choice, PlanGraph, Planned, Prepared
from cepkit.sharing.searches.contract import Progressed, SharingObserver
from cepkit.sharing.start import own_plans, pools_of
from cepkit.sharing.weakening import WeakerNode, beginning_with, weaker_nodes
from cepkit.sharing.workload import Form, Sharer

_NOTHING_SHARED = 0.1
"""The probability that a neighbour shares nothing."""


@dataclass(frozen=True, slots=True)
class LocalSearch:
    """The settings of a search that goes from neighbour to neighbour.

    Attributes:
        most: The most branches in a move: 2 is the neighbourhood `edge`, more is `vertex`.
        seed: The seed of the random choices.
        steps: The most steps that are taken.
        idle: The most steps in a row without an improvement.
        seconds: The most time; None for no limit. With one, equal seeds may give unequal plans.
    """

    most: int = 2
    seed: int = 0
    steps: int = 1_000
    idle: int = 1_000
    seconds: float | None = None

    def begun(
        self, prepared: Prepared, observe: SharingObserver | None
    ) -> tuple[PlanGraph, Progressed, Moves]:
        """Return each branch's best plan, the progress of the search, and its moves."""
        graph = PlanGraph(prepared, own_plans(prepared))
        state = Progressed(graph, observe, self.seconds)
        return graph, state, Moves(graph, self.most, self.seed)


class Moves:
    """Random neighbours of the plans of a graph.

    Args:
        most: How many branches a move is about at most.
        seed: The seed of the random choices.
    """

    def __init__(self, graph: PlanGraph, most: int, seed: int) -> None:
        self.graph = graph
        self.random = Random(seed)  # noqa: S311 - not for secrets
        self._most = most
        least = 1 if graph.prepared.mode == "order" else 2
        forms = {
            form: sorted({sharer.number for sharer, _ in holders})
            for form, holders in graph.prepared.workload.holders.items()
            if len(form[1]) >= least
        }
        self._holders: dict[Form | WeakerNode, list[int]] = {
            **{form: forms[form] for form in sorted(forms)},
            **{
                node: sorted(sharer.number for sharer, *_ in node.holders)
                for node in weaker_nodes(graph.prepared)
            },
        }
        common: dict[tuple[int, int], list[Form | WeakerNode]] = {}
        for part, numbers in self._holders.items():
            for edge in combinations(numbers, 2):
                common.setdefault(edge, []).append(part)
        self._common = common
        self._own = own_plans(graph.prepared)
        self._parts: dict[Form, Planned] = {}
        self.edges = sorted(common)

    def propose(self) -> Changes:
        """Return a random neighbour: new plans of some branches; empty if nothing changes."""
        random = self.random
        edge = random.choice(self.edges)
        if random.random() < _NOTHING_SHARED:
            return self._changed({number: self._own[number] for number in edge})
        part = random.choice(self._common[edge])
        chosen = [*edge]
        if self._most > 2:
            others = [number for number in self._holders[part] if number not in edge]
            chosen += random.sample(others, min(self._most - 2, len(others)))
        if isinstance(part, WeakerNode):
            return self._changed(self._weakened(part, chosen))
        return self._changed(self._sharing(part, sorted(chosen)))

    def _weakened(self, node: WeakerNode, numbers: Sequence[int]) -> Changes:
        holders = tuple(holder for holder in node.holders if holder[0].number in numbers)
        pool = self._pool([sharer for sharer, *_ in holders])
        return beginning_with(self.graph.prepared, WeakerNode(node.demanded, holders), pool)

    def _pool(self, sharers: Sequence[Sharer]) -> int:
        pools = {pools_of(self.graph.prepared, sharer)[0] for sharer in sharers}
        return pools.pop() if len(pools) == 1 else COMMON

    def _sharing(self, form: Form, numbers: Sequence[int]) -> Changes:
        prepared = self.graph.prepared
        sharers = [prepared.workload.sharers[number] for number in numbers]
        if form not in self._parts:
            holders = prepared.workload.holders[form]
            self._parts[form] = sub_plan(prepared, *max(holders, key=lambda h: h[0].window))
        pool = self._pool(sharers)
        changes = {}
        for sharer in sharers:
            keep = prepared.mode == "tree" and self.random.random() < 0.5
            occurrences = occurrences_of(prepared, form, sharer)
            plan = with_part(self.graph, sharer, occurrences, self._parts[form], keep=keep)
            changes[sharer.number] = Choice(plan, pool)
        return changes

    def _changed(self, changes: Changes) -> Changes:
        now = self.graph.choices
        return {number: choice for number, choice in changes.items() if choice != now[number]}
