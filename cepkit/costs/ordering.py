"""The share of orderings that a partial order allows: linear extensions / |S|!.

|S| independent uniform arrival times come in an allowed order with this probability. The order
falls apart into sets that are unrelated (shares multiply) or follow each other completely; what
does neither is taken apart by its last element.

Nested SEQ and AND always fall apart: O(n^3) for n variables. Other orders cost O(n^2 2^n).
Source: ours; sequences as conjunctions with conditions on times are in *Join Query Optimization
Techniques for Complex Event Processing Applications* (VLDB 2018), section 5.1.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import factorial, prod


@lru_cache(maxsize=65536)
def ordering_share(variables: frozenset[str], order: frozenset[tuple[str, str]]) -> Fraction:
    """Return the share of the orderings of `variables` that respect `order`.

    Args:
        variables: The set S.
        order: Transitive pairs (x, y), x before y; pairs with others than S do not matter.
    """
    size = len(variables)
    if size <= 1:
        return Fraction(1)

    def related(x: str, y: str) -> bool:
        return (x, y) in order or (y, x) in order

    apart = _components(variables, related)
    if len(apart) > 1:
        return prod((ordering_share(part, order) for part in apart), start=Fraction(1))
    following = _components(variables, lambda x, y: not related(x, y))
    if len(following) > 1:
        shares = (ordering_share(part, order) * factorial(len(part)) for part in following)
        return prod(shares, start=Fraction(1)) / factorial(size)
    lasts = [v for v in variables if not any((v, w) in order for w in variables)]
    return sum((ordering_share(variables - {v}, order) for v in lasts), Fraction(0)) / size


def _components(
    variables: frozenset[str], linked: Callable[[str, str], bool]
) -> list[frozenset[str]]:
    """Return the connected parts of `variables`."""
    parts = []
    left = set(variables)
    while left:
        part = {left.pop()}
        front = list(part)
        while front:
            x = front.pop()
            reached = {y for y in left if linked(x, y)}
            left -= reached
            part |= reached
            front.extend(reached)
        parts.append(frozenset(part))
    return parts
