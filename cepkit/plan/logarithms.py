"""Numbers kept as natural logarithms, because expected numbers of sets overflow a float.

Zero is -infinity. Sums are exactly rounded (`math.fsum`), so that they do not depend on the order
of the addends: equal choices tie exactly and plans are the same in every process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from cepkit.tables import number

SAME = 1e-9
"""How much the logarithms of two numbers may differ that a reader would call the same."""

_T = TypeVar("_T")


def log(value: float) -> float:
    """Return the logarithm of `value`, -infinity for 0."""
    return math.log(value) if value > 0 else -math.inf


def from_log(logarithm: float) -> float:
    """Return the number itself; infinity where a float cannot hold it."""
    try:
        return math.exp(logarithm)
    except OverflowError:
        return math.inf


def log_sum(logarithms: Iterable[float]) -> float:
    """Return the logarithm of the sum of the numbers; -infinity for none."""
    terms = tuple(logarithms)
    greatest = max(terms, default=-math.inf)
    if math.isinf(greatest):
        return greatest
    return greatest + math.log(math.fsum([math.exp(term - greatest) for term in terms]))


def log_text(logarithm: float) -> str:
    """Return the number as a text, with a power of ten where a float cannot hold it."""
    value = from_log(logarithm)
    if math.isfinite(value) or math.isinf(logarithm):
        return number(value)
    tens, rest = divmod(logarithm / math.log(10), 1)
    return f"{10**rest:.3f}e+{tens:.0f}"


def grouped(things: Iterable[_T], logarithms: Callable[[_T], Sequence[float]]) -> list[list[_T]]:
    """Group things whose numbers, given as logarithms, are the same."""
    groups: list[list[_T]] = []
    for thing in things:
        same = next((g for g in groups if _alike(logarithms(g[0]), logarithms(thing))), None)
        if same is None:
            groups.append([thing])
        else:
            same.append(thing)
    return groups


def _alike(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(a == b or abs(a - b) <= SAME for a, b in zip(one, other, strict=True))
