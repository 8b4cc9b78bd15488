"""Functions of sets of variables, as logarithms: the building blocks of every cost.

A set is a bit mask, bit i for the i-th variable. The logarithm of such a function is a sum: a term
for each member (or only the least of them), a term for each group of variables that lies wholly in
the set (a condition between them), terms for classes of variables whose keys agree, and the
factorials that count orderings. It can be evaluated for one set, or for all 2^n sets at once, as
dynamic programming needs.

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
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

Factorial = tuple[int, int]
"""A set of variables as a bit mask, and the power of |S and mask|! in the share."""


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
