"""The contract of cost models, and the costs of a branch.

A plan works in steps: an order binds one variable after the other, a tree joins two sets of partial
matches at each node. The cost of a step depends only on the sets that it joins, so greedy search
and dynamic programming need nothing else. Costs are logarithms: numbers of Kleene sets overflow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from cepkit.costs.set_functions import SetFunction
from cepkit.pattern.normal_form import Branch
from cepkit.plan.logarithms import log, log_sum
from cepkit.plan.nodes import BranchPlan, OrderPlan, leaves, nodes_of
from cepkit.statistics.model import Statistics


@dataclass(frozen=True)
class PairCost:
    """The number of pairs that a join of L and R examines: between(L and R) * side(L) * side(R)."""

    between: SetFunction
    side: SetFunction


@dataclass(frozen=True)
class WaitCost:
    """The cost of the work that remains when the last event of a match has arrived.

    Attributes:
        last: For each variable the probability that its event is the last.
        held: The cost of a set that is joined with the set of the last variable.
    """

    last: tuple[float, ...]
    held: SetFunction

    def probability(self, mask: int) -> float:
        """Return the probability that the last event belongs to this set."""
        return sum(p for i, p in enumerate(self.last) if mask >> i & 1)

    def joined(self, left: int, right: int) -> Iterator[float]:
        """Yield the logarithms of the costs of joining two sets."""
        for one, other in ((left, right), (right, left)):
            yield log(self.probability(one)) + self.held(other)


@dataclass(frozen=True)
class BranchCost:
    """The costs of one branch; sets of variables are bit masks, bit i for the i-th variable.

    Attributes:
        variables: The variables of the branch, in pattern order.
        alive: The cost of keeping a set's partial matches; None if that costs nothing.
        pairs: The cost of examining pairs; None if that costs nothing.
        waiting: The cost of the work after the last event; None if that costs nothing.
    """

    variables: tuple[str, ...]
    alive: SetFunction | None = None
    pairs: PairCost | None = None
    waiting: WaitCost | None = None

    @cached_property
    def full(self) -> int:
        """The set of all variables."""
        return (1 << len(self.variables)) - 1

    def mask(self, variables: Iterable[str]) -> int:
        """Return a set of variables as a bit mask."""
        return sum(1 << self.variables.index(v) for v in variables)

    def step(self, bound: int, new: int) -> float:
        """Return the logarithm of the cost of binding one more variable of an order.

        Args:
            bound: The variables bound before, as a mask.
            new: The variable to bind, as a mask.
        """
        work = self._work(bound, new)
        return work if self.waiting is None else log_sum((work, self.waiting_step(bound, new)))

    def leaf(self, variable: int) -> float:
        """Return the logarithm of the cost of a leaf of a tree; the variable is a mask."""
        return self._work(0, variable)

    def join(self, left: int, right: int) -> float:
        """Return the logarithm of the cost of a node of a tree that joins these two sets."""
        work = self._work(left, right)
        return work if self.waiting is None else log_sum((work, self.waiting_join(left, right)))

    def _work(self, left: int, right: int) -> float:
        costs = [] if self.alive is None else [self.alive(left | right)]
        if self.pairs is not None:
            both, side = self.pairs.between(left | right), self.pairs.side
            costs.append(both + side(left) + side(right))
        return log_sum(costs)

    def waiting_step(self, bound: int, new: int) -> float:
        """Return the logarithm of the waiting where an order binds one more variable."""
        if self.waiting is None:
            return log(0)
        return log(self.waiting.probability(bound)) + self.waiting.held(new)

    def waiting_join(self, left: int, right: int) -> float:
        """Return the logarithm of the waiting where a node of a tree joins two sets."""
        return log(0) if self.waiting is None else log_sum(self.waiting.joined(left, right))

    def steps(self, plan: BranchPlan) -> list[tuple[int, int]]:
        """Return the joins of a plan one after another: for a tree, the nodes above the leaves."""
        if isinstance(plan, OrderPlan):
            masks = [self.mask((v,)) for v in plan.order]
            return [(sum(masks[:i]), mask) for i, mask in enumerate(masks)]
        nodes = nodes_of(plan.root)
        return [(self.mask(leaves(n.left)), self.mask(leaves(n.right))) for n in nodes]

    def parts(self, plan: BranchPlan) -> tuple[float, float]:
        """Return the logarithms of a plan's cost in work and in waiting."""
        steps = self.steps(plan)
        work = [self._work(*step) for step in steps]
        if isinstance(plan, OrderPlan):
            return log_sum(work), log_sum(self.waiting_step(*step) for step in steps)
        work += [self.leaf(self.mask((v,))) for v in leaves(plan.root)]
        return log_sum(work), log_sum(self.waiting_join(*step) for step in steps)

    def of(self, plan: BranchPlan) -> float:
        """Return the logarithm of the cost of a plan."""
        return log_sum(self.parts(plan))


class CostModel(Protocol):
    """A cost model: it assigns each plan a cost, and the least cost is best."""

    @property
    def name(self) -> str:
        """The name in tables."""
        ...

    def on(self, branch: Branch, statistics: Statistics) -> BranchCost:
        """Return the costs of `branch`.

        Raises:
            StatisticsError: The statistics lack a variable of the branch.
            PlanError: The model was made for other variables.
        """
        ...


def query_cost(costs: Sequence[BranchCost], plans: Sequence[BranchPlan]) -> float:
    """Return the logarithm of the cost of a plan for all branches of a query.

    Work adds up over the branches; of waiting only the longest counts, because each match comes
    from one branch.
    Source: *Join Query Optimization Techniques for Complex Event Processing Applications*
    (VLDB 2018), section 6.1.
    """
    parts = [cost.parts(plan) for cost, plan in zip(costs, plans, strict=True)]
    work, waiting = zip(*parts, strict=True)
    return log_sum((log_sum(work), max(waiting)))
