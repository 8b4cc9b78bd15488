"""The contract of cost models, and the costs of a branch.

A plan works in steps: an order binds one variable after the other, a tree joins two sets of partial
matches at each node. The cost of a step depends only on the sets that it joins, so greedy search
and dynamic programming need nothing else. Costs are logarithms: numbers of Kleene sets overflow.

Every cost is built of functions of sets of variables. A set is a bit mask, bit i for the i-th
variable. The logarithm of such a function is a sum: a term for each member (or only the least of
them), a term for each group of variables that lies wholly in the set (a condition between them),
terms for classes of variables whose keys agree, and the factorials that count orderings. It can be
evaluated for one set, or for all 2^n sets at once, as dynamic programming needs.

The share of orderings that a partial order allows is linear extensions / |S|!: |S| independent
uniform arrival times come in an allowed order with this probability. Nested SEQ and
AND are decomposed once: the parts of a SEQ follow each other; only the parts of an AND can
interleave, in as many ways as the multinomial of their sizes. So the share of any set S is a
product of factorials of |S and M| for a few fixed sets M:

    share(S) = product over the ANDs P of |S and P|! / product over its parts C of |S and C|!,
               divided by |S|!

O(n^3) once, then O(number of factorials) for each set.
Source: ours; sequences as conjunctions with conditions on times are in *Join Query Optimization
Techniques for Complex Event Processing Applications* (VLDB 2018), section 5.1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cepkit.pattern.normal_form import Branch
from cepkit.plan.logarithms import log, log_sum
from cepkit.plan.nodes import BranchPlan, OrderPlan, leaves, nodes_of
from cepkit.statistics.model import Statistics

Factorial = tuple[int, int]
"""A set of variables as a bit mask, and the power of |S and mask|! in the share."""


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


@lru_cache(maxsize=256)
def share_factorials(
    variables: tuple[str, ...], order: frozenset[tuple[str, str]]
) -> tuple[Factorial, ...]:
    """Return the factorials that give the share of a set of `variables`.

    Args:
        variables: The i-th one is bit i of the masks.
        order: Transitive pairs (x, y), x before y, as nested SEQ and AND give them; pairs with
            other variables are ignored.
    """
    bit = {variable: 1 << i for i, variable in enumerate(variables)}
    powers: Counter[int] = Counter()
    pending = [frozenset(variables)]
    while pending:
        part = pending.pop()
        if len(part) < 2:
            continue
        beside = _components(part, order, related=True)
        if len(beside) > 1:
            powers[_mask(part, bit)] += 1
            powers.subtract(_mask(child, bit) for child in beside)
        else:
            beside = _components(part, order, related=False)
            assert len(beside) > 1, "nested SEQ and AND always fall apart"
        pending += beside
    powers[_mask(frozenset(variables), bit)] -= 1
    # A single variable has one ordering.
    return tuple(sorted((m, p) for m, p in powers.items() if p and m.bit_count() > 1))


def _mask(part: frozenset[str], bit: dict[str, int]) -> int:
    return sum(bit[variable] for variable in part)


def _components(
    variables: frozenset[str], order: frozenset[tuple[str, str]], *, related: bool
) -> list[frozenset[str]]:
    """Return the connected components of `variables`, linked by ordered or by unordered pairs."""
    parts = []
    left = set(variables)
    while left:
        part = {left.pop()}
        front = list(part)
        while front:
            x = front.pop()
            reached = {y for y in left if ((x, y) in order or (y, x) in order) is related}
            left -= reached
            part |= reached
            front.extend(reached)
        parts.append(frozenset(part))
    return parts


Floats = npt.NDArray[np.float64]
Masks = npt.NDArray[np.int64]

Class = tuple[int, tuple[int, ...], float]
"""A bit mask of variables, masks of pairs of them, and a logarithm: see `SetFunction.classes`."""

Packed = tuple[float, float, Floats, bool, Masks, Floats, Masks, Masks, Floats, Masks, Floats]
"""A set function as arrays, for compiled loops: weight, further, members, least, the groups in the
order of their members (mask, logarithm), the begin of the groups of each member, factorials (mask,
power), classes (mask, logarithm); the pairs of classes are among the groups."""


_REMEMBERED = 4096
"""The most values that a function caches."""


@dataclass(frozen=True)
class SetFunction:
    """ln f(S) for sets S of n variables.

    Attributes:
        members: A logarithm for each variable.
        groups: Bit masks, each with the logarithm that is added if S contains the whole mask.
        factorials: Bit masks, each with the power of |S and mask|!.
        weight: A logarithm that is added for every nonempty S.
        further: A logarithm that is added |S| - 1 times.
        least: Whether to add the least of the members' logarithms instead of their sum.
        classes: For each class a mask of its variables, its pairs, and a logarithm that is added
            (members in S - 1 - pairs in S) times: see key_classes.py.
    """

    members: tuple[float, ...]
    groups: tuple[tuple[int, float], ...] = ()
    factorials: tuple[Factorial, ...] = ()
    weight: float = 0.0
    further: float = 0.0
    least: bool = False
    classes: tuple[Class, ...] = ()

    def times(self, weight: float) -> SetFunction:
        """Return the function times a number (the number itself, not its logarithm)."""
        factor = math.log(weight) if weight > 0 else -math.inf
        return replace(self, weight=self.weight + factor)

    def __call__(self, mask: int) -> float:
        """Return ln f of a set; of the empty set 0."""
        if not mask:
            return 0.0
        value = self._values.get(mask)
        if value is None:
            # Exactly rounded, so that equal sets tie in any order of addition.
            value = math.fsum(self._terms(mask))
            if len(self._values) < _REMEMBERED:
                self._values[mask] = value
        return value

    @cached_property
    def _values(self) -> dict[int, float]:
        """The cache; searches need the same sets many times."""
        return {}

    def _terms(self, mask: int) -> list[float]:
        members = [value for i, value in enumerate(self.members) if mask >> i & 1]
        terms = [self.weight, *([min(members)] if self.least else members)]
        if len(members) > 1:
            terms.append((len(members) - 1) * self.further)
        terms += [value for group, value in self.groups if group & mask == group]
        for among, pairs, value in self.classes:
            inside = sum(pair & mask == pair for pair in pairs)
            terms.append((max((among & mask).bit_count() - 1, 0) - inside) * value)
        for among, power in self.factorials:
            terms.append(power * math.lgamma((among & mask).bit_count() + 1))
        return terms

    def table(self) -> Floats:
        """Return ln f of all sets, an array of 2^n; of the empty set 0. O(n 2^n)."""
        n = len(self.members)
        sums = np.zeros(1 << n)
        for group, value in self._all_groups():
            sums[group] += value
        if not self.least:
            sums[1 << np.arange(n)] += self.members
        # The terms of a set are those of its subsets, added up one variable after the other.
        for i in range(n):
            halves = sums.reshape(-1, 2, 1 << i)
            halves[:, 1] += halves[:, 0]
        if self.least:
            sums += self._least_members()
        sets = np.arange(1 << n)
        of_size = np.array([math.lgamma(k + 1) for k in range(n + 1)])
        for among, power in self.factorials:
            sums += power * of_size[np.bitwise_count(sets & among)]
        for among, _, value in self.classes:
            sums += np.maximum(np.bitwise_count(sets & among) - 1.0, 0.0) * value
        several = np.flatnonzero(np.bitwise_count(sets) > 1)
        if self.further:
            sums[several] += (np.bitwise_count(several) - 1.0) * self.further
        sums[1:] += self.weight
        return sums

    def _all_groups(self) -> Iterator[tuple[int, float]]:
        """Yield the groups, and the pairs of classes, each of which subtracts its term once."""
        yield from self.groups
        for _, pairs, value in self.classes:
            yield from ((pair, -value) for pair in pairs)

    def _least_members(self) -> Floats:
        least = np.full(1 << len(self.members), math.inf)
        for i, value in enumerate(self.members):
            np.minimum(least[: 1 << i], value, out=least[1 << i : 2 << i])
        least[0] = 0.0
        return least

    @cached_property
    def packed(self) -> Packed:
        """The function as arrays, for compiled loops."""
        with_member = [
            [(group, value) for group, value in self._all_groups() if group >> i & 1]
            for i in range(len(self.members))
        ]
        groups = [group for of_one in with_member for group in of_one]
        return (
            self.weight,
            self.further,
            np.array(self.members, dtype=np.float64),
            self.least,
            np.array([group for group, _ in groups], dtype=np.int64),
            np.array([value for _, value in groups], dtype=np.float64),
            np.cumsum([0, *map(len, with_member)], dtype=np.int64),
            np.array([among for among, _ in self.factorials], dtype=np.int64),
            np.array([power for _, power in self.factorials], dtype=np.float64),
            np.array([among for among, _, _ in self.classes], dtype=np.int64),
            np.array([value for _, _, value in self.classes], dtype=np.float64),
        )
