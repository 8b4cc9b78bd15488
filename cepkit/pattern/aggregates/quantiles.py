"""MEDIAN(x), P95(x) and PERCENTILE(x, 0.999): values below which a share of all values lies.

Between two values it is interpolated, as by PERCENTILE_CONT in SQL. No method carries quantiles:
they are aggregates of values that matches have, once these are found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

_NAMED = re.compile(r"p([1-9]\d?)")


def share_of(function: str, share: float | None = None) -> Fraction | None:
    """Return the share of values below a quantile; None where the function is no quantile."""
    named = _NAMED.fullmatch(function)
    if named is not None and share is None:
        return Fraction(int(named[1]), 100)
    if function == "median" and share is None:
        return Fraction(1, 2)
    return Fraction(str(share)) if function == "percentile" and share is not None else None


def quantile(values: Sequence[Any], share: Fraction) -> Any:
    """Return the quantile of sorted numbers, none of them missing: a number, or a fraction."""
    at = share * (len(values) - 1)
    low, rest = values[int(at)], at - int(at)
    high = values[int(at) + 1] if rest else low
    if low == high:
        return low
    if isinstance(low, float):
        return low + (high - low) * float(rest)
    return low + (high - low) * rest
