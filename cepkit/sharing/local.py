"""The local planner: the best plan of one branch with prescribed parts, by dynamic programming.

Ties are broken by the places of variables, which are sorted by their events and not by names, so
two branches plan their common part alike. Orders: O(n 2^n) once, for all prefixes and all
sub-patterns. Trees: O(3^u) for u units; a unit is a variable or a prescribed subtree. Beyond
`MOST_FOR_ORDERS` and `MOST_FOR_TREES` it takes the cheapest next step.
Source: algorithm A of MULTI; one table for all prefixes is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias, cast

from cepkit.sharing.prices import Prices
from cepkit.sharing.workload import Places

Tree: TypeAlias = "int | tuple[Tree, Tree]"
"""A place, or two trees joined."""

MOST_FOR_ORDERS, MOST_FOR_TREES = 10, 8


class Local:
    """The best plans of one branch at its own window."""

    def __init__(self, size: int, prices: Prices) -> None:
        self.size = size
        self.prices = prices
        self._trees: dict[tuple[int, ...], Tree] = {}

    @property
    def full(self) -> int:
        """The set of all variables."""
        return (1 << self.size) - 1

    @cached_property
    def order(self) -> Places:
        """The best order."""
        return self.order_of(self.full)

    def order_of(self, mask: int) -> Places:
        """Return the best order of a sub-pattern alone."""
        if self.size > MOST_FOR_ORDERS:
            return self.greedy(0, mask)
        order: list[int] = []
        while mask:
            last = self._first[1][mask]
            order.append(last)
            mask ^= 1 << last
        return tuple(reversed(order))

    def after(self, mask: int) -> Places:
        """Return the best order of all others after a set is bound."""
        if self.size > MOST_FOR_ORDERS:
            return self.greedy(mask, self.full ^ mask)
        order: list[int] = []
        while mask != self.full:
            order.append(self._rest[1][mask])
            mask |= 1 << order[-1]
        return tuple(order)

    def cost_after(self, mask: int) -> int:
        """Return the cost of binding all other variables after a set."""
        if self.size <= MOST_FOR_ORDERS:
            return self._rest[0][mask]
        total = 0
        for place in self.after(mask):
            total += self.prices.step(mask, 1 << place)
            mask |= 1 << place
        return total

    @cached_property
    def _first(self) -> tuple[list[int], list[int]]:
        """The least cost of each set, and the last variable of its best order."""
        step, costs, lasts = self.prices.step, [0], [-1]
        for mask in range(1, 1 << self.size):
            best = last = -1
            for place in _places_down(mask):
                bit = 1 << place
                cost = costs[mask ^ bit] + step(mask ^ bit, bit)
                if best < 0 or cost < best:
                    best, last = cost, place
            costs.append(best)
            lasts.append(last)
        return costs, lasts

    @cached_property
    def _rest(self) -> tuple[list[int], list[int]]:
        """The least cost of the steps after each set, and the next variable."""
        step = self.prices.step
        costs, nexts = [0] * (1 << self.size), [-1] * (1 << self.size)
        for mask in range(self.full - 1, -1, -1):
            best = taken = -1
            for place in range(self.size):
                bit = 1 << place
                if not mask & bit:
                    cost = step(mask, bit) + costs[mask | bit]
                    if best < 0 or cost < best:
                        best, taken = cost, place
            costs[mask], nexts[mask] = best, taken
        return costs, nexts

    def greedy(self, bound: int, mask: int) -> Places:
        """Return the order of cheapest next steps of a set after another is bound."""
        order: list[int] = []
        while mask:
            place = min(_places(mask), key=lambda p: self.prices.step(bound, 1 << p))
            order.append(place)
            bound |= 1 << place
            mask ^= 1 << place
        return tuple(order)

    def waiting(self, plan: Places | Tree) -> int:
        """Return the cost of the branch's waiting by a plan of it, or of a part of it."""
        wait = self.prices.wait
        if not self.prices.waits or isinstance(plan, int):
            return 0
        if self.prices.trees:
            joins = inner(cast("Tree", plan))
            return sum(wait(mask_of(left), mask_of(right)) for left, right in joins)
        masks = [1 << place for place in cast("Places", plan)]
        return sum(wait(sum(masks[:i]), mask) for i, mask in enumerate(masks))

    @property
    def tree(self) -> Tree:
        """The best tree."""
        return self.tree_around(())

    def tree_of(self, mask: int) -> Tree:
        """Return the best tree of a sub-pattern alone."""
        return self._best(tuple(1 << place for place in _places(mask)), {})

    def tree_around(self, kept: Sequence[Tree]) -> Tree:
        """Return the best tree that contains some disjoint subtrees."""
        given = {mask_of(tree): tree for tree in kept}
        inside = sum(given)
        units = (*given, *(1 << place for place in _places(self.full ^ inside)))
        return self._best(tuple(sorted(units, key=lambda unit: unit & -unit)), given)

    def _best(self, units: tuple[int, ...], given: dict[int, Tree]) -> Tree:
        """Return the best tree over units, which are disjoint sets of variables."""
        known = self._trees.get(units)
        if known is None:
            planned = _exact_tree if len(units) <= MOST_FOR_TREES else _greedy_tree
            known = self._trees[units] = planned(units, self.prices.step)
        return _filled(known, units, given)


_Joined: TypeAlias = Callable[[int, int], int]


def _exact_tree(units: Sequence[int], step: _Joined) -> Tree:
    """Return the best tree, with numbers of units as leaves."""
    sets, costs, splits = [0], [0], [0]
    for subset in range(1, 1 << len(units)):
        lowest = subset & -subset
        rest = subset ^ lowest
        sets.append(sets[rest] | units[lowest.bit_length() - 1])
        best, taken = -1, 0
        # Each split once: the lowest unit is on the left; trees that lean left win ties.
        right = rest
        if rest:
            for right in _parts(rest):
                left = subset ^ right
                cost = costs[left] + costs[right]
                if best < 0 or cost < best:
                    cost += step(sets[left], sets[right])
                    if best < 0 or cost < best:
                        best, taken = cost, right
        costs.append(max(best, 0))
        splits.append(taken)

    def tree(subset: int) -> Tree:
        right = splits[subset]
        return (tree(subset ^ right), tree(right)) if right else subset.bit_length() - 1

    return tree((1 << len(units)) - 1)


def _parts(mask: int) -> Iterable[int]:
    """Return the parts of a set, single variables first, the last ones before."""
    singles = [1 << place for place in _places_down(mask)]
    yield from singles
    part = mask
    while part:
        if part & (part - 1):
            yield part
        part = (part - 1) & mask


def _greedy_tree(units: Sequence[int], step: _Joined) -> Tree:
    """Build a tree by joining the cheapest pair again and again. O(u^3)."""
    trees: list[tuple[int, Tree]] = [(unit, number) for number, unit in enumerate(units)]
    while len(trees) > 1:
        pairs = [(i, j) for j in range(len(trees)) for i in range(j)]
        i, j = min(pairs, key=lambda pair: step(trees[pair[0]][0], trees[pair[1]][0]))
        (one, left), (other, right) = trees[i], trees.pop(j)
        trees[i] = (one | other, (left, right))
    return trees[0][1]


def _filled(tree: Tree, units: Sequence[int], given: dict[int, Tree]) -> Tree:
    """Replace the units in a tree by their places."""
    if isinstance(tree, int):
        unit = units[tree]
        return given[unit] if unit in given else unit.bit_length() - 1
    return _filled(tree[0], units, given), _filled(tree[1], units, given)


def leaning_left(units: Sequence[Tree]) -> Tree:
    """Return the tree that joins one unit after the other."""
    tree, *rest = units
    for unit in rest:
        tree = (tree, unit)
    return tree


def all_trees(places: tuple[int, ...]) -> Iterable[Tree]:
    """Yield all trees over some places, regardless of left and right."""
    first, *rest = places
    if not rest:
        yield first
        return
    for taken in range((1 << len(rest)) - 1):
        left = (first, *(place for i, place in enumerate(rest) if taken >> i & 1))
        right = tuple(place for i, place in enumerate(rest) if not taken >> i & 1)
        for one in all_trees(left):
            for other in all_trees(right):
                yield one, other


def upright(tree: Tree) -> Tree:
    """Return a tree with its sides in one order, a single variable on the right."""
    if isinstance(tree, int):
        return tree
    left, right = sorted(
        map(upright, tree), key=lambda side: (isinstance(side, int), mask_of(side) & -mask_of(side))
    )
    return left, right


def mask_of(tree: Tree) -> int:
    """Return the variables of a tree as a set."""
    return 1 << tree if isinstance(tree, int) else mask_of(tree[0]) | mask_of(tree[1])


def nodes_of(tree: Tree) -> Iterable[Tree]:
    """Yield the subtrees of a tree, including leaves, bottom-up."""
    if not isinstance(tree, int):
        yield from nodes_of(tree[0])
        yield from nodes_of(tree[1])
    yield tree


def inner(tree: Tree) -> Iterable[tuple[Tree, Tree]]:
    """Yield the subtrees of a tree that are no leaves, the tree itself first."""
    if not isinstance(tree, int):
        yield tree
        yield from inner(tree[0])
        yield from inner(tree[1])


def renamed(tree: Tree, places: Sequence[int] | Mapping[int, int]) -> Tree:
    """Return a tree with other places."""
    if isinstance(tree, int):
        return places[tree]
    return renamed(tree[0], places), renamed(tree[1], places)


def _places(mask: int) -> list[int]:
    return [place for place in range(mask.bit_length()) if mask >> place & 1]


def _places_down(mask: int) -> list[int]:
    return _places(mask)[::-1]
