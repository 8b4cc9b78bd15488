"""VARIANCE and STDDEV of a sample, as in SQL: divided by n - 1.

Exact up to the last rounding of whole numbers, as sums of these are. Of floats digits are lost
where they spread much less than all values of the attribute do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.pattern.aggregates.contract import AggregateFunction


def _variance(n: Any, deviations: Any, squares: Any) -> Any:
    n, deviations, squares = _wide(n), _wide(deviations), _wide(squares)
    variance = (n * squares - deviations * deviations) / (n * (n - 1))
    return np.maximum(np.asarray(variance, dtype=np.float64), 0.0)  # rounded below it, it is 0


def _deviation(n: Any, deviations: Any, squares: Any) -> Any:
    return np.sqrt(_variance(n, deviations, squares))


def _wide(sums: Any) -> Any:
    """Return sums of which 64 bits hold products, or Python's integers."""
    if not isinstance(sums, np.ndarray) or sums.dtype != np.int64:
        return sums
    held: npt.NDArray[Any] = sums
    fits = int(held.min(initial=0)) > -(2**31) and int(held.max(initial=0)) < 2**31
    return held if fits else held.astype(object)


VARIANCE = AggregateFunction(
    "variance", "numbers", ("deviations", "squares"), _variance, "float", least=2
)
STDDEV = AggregateFunction(
    "stddev", "numbers", ("deviations", "squares"), _deviation, "float", least=2
)
