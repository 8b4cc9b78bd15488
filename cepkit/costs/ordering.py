"""The share of orderings that a partial order allows: linear extensions / |S|!.

|S| independent uniform arrival times come in an allowed order with this probability. Nested SEQ and
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

from collections import Counter
from functools import lru_cache

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
