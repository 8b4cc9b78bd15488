"""Numbers kept as natural logarithms, because expected numbers of sets overflow a float.

Zero is -infinity. Sums are exactly rounded (`math.fsum`), so that they do not depend on the order
of the addends: equal choices tie exactly and plans are the same in every process.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from cepkit.tables import number


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
