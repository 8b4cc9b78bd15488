"""Functions of sets of variables, kept as logarithms: what every cost is made of.

A set is a bit mask, bit i for the i-th variable. The logarithm of such a function is a sum: a
number for each member (or the least of them), a number for each group of variables that lies wholly
in the set (a condition between them), and the factorials of how orderings are counted. So it can
be evaluated for one set, or for all 2^n sets at once, which dynamic programming needs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cepkit.costs.ordering import Factorial

Floats = npt.NDArray[np.float64]
Masks = npt.NDArray[np.int64]

Packed = tuple[float, float, Floats, bool, Masks, Floats, Masks, Masks, Floats]
"""A set function as arrays, for compiled loops: weight, further, members, least, the groups in the
order of their members (mask, logarithm), where those of each member begin, factorials (mask,
power)."""


@dataclass(frozen=True)
class SetFunction:
    """ln f(S) for sets S of n variables.

    Attributes:
        members: A logarithm for each variable.
        groups: Bit masks with the logarithm that counts where all of the mask is in S.
        factorials: Bit masks with the power of |S and mask|!.
        weight: A logarithm that counts for every S that is not empty.
        further: A logarithm that counts |S| - 1 times.
        least: Whether the least of the members' logarithms counts, not their sum.
    """

    members: tuple[float, ...]
    groups: tuple[tuple[int, float], ...] = ()
    factorials: tuple[Factorial, ...] = ()
    weight: float = 0.0
    further: float = 0.0
    least: bool = False

    def times(self, weight: float) -> SetFunction:
        """Return the function times a number, which is given as it is and not as a logarithm."""
        factor = math.log(weight) if weight > 0 else -math.inf
        return replace(self, weight=self.weight + factor)

    def __call__(self, mask: int) -> float:
        """Return ln f of a set; of the empty set 0."""
        if not mask:
            return 0.0
        # Exactly rounded, so that equal sets tie in whatever order they are added up.
        return math.fsum(self._terms(mask))

    def _terms(self, mask: int) -> Iterator[float]:
        yield self.weight
        chosen = [value for i, value in enumerate(self.members) if mask >> i & 1]
        if len(chosen) > 1:
            yield (len(chosen) - 1) * self.further
        if self.least:
            yield min(chosen)
        else:
            yield from chosen
        for group, value in self.groups:
            if group & mask == group:
                yield value
        for among, power in self.factorials:
            yield power * math.lgamma((among & mask).bit_count() + 1)

    def table(self) -> Floats:
        """Return ln f of all sets, an array of 2^n; of the empty set 0. O(n 2^n)."""
        n = len(self.members)
        sums = np.zeros(1 << n)
        for group, value in self.groups:
            sums[group] += value
        if not self.least:
            sums[1 << np.arange(n)] += self.members
        # What a set has is what its subsets have: added up one variable after the other.
        for i in range(n):
            halves = sums.reshape(-1, 2, 1 << i)
            halves[:, 1] += halves[:, 0]
        if self.least:
            sums += self._least_members()
        sets = np.arange(1 << n)
        of_size = np.array([math.lgamma(k + 1) for k in range(n + 1)])
        for among, power in self.factorials:
            sums += power * of_size[np.bitwise_count(sets & among)]
        several = np.flatnonzero(np.bitwise_count(sets) > 1)
        if self.further:
            sums[several] += (np.bitwise_count(several) - 1.0) * self.further
        sums[1:] += self.weight
        return sums

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
            [(group, value) for group, value in self.groups if group >> i & 1]
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
        )
