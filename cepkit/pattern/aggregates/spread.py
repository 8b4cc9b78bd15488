"""VARIANCE and STDDEV of a sample, as in SQL: divided by n - 1.

For whole numbers the result is exact up to its last rounding. For floats it loses digits where they
spread much less than all values of the attribute do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.pattern.aggregates.contract import AggregateFunction


def _variance(n: Any, deviations: Any, squares: Any) -> Any:
    n, deviations, squares = _wide(n), _wide(deviations), _wide(squares)
    if np.asarray(n).dtype.kind == "O" and np.asarray(squares).dtype.kind == "f":
        # The square of n may be more than a float can be, and so may n times the squares.
        variance = (squares - deviations / n * deviations) / (n - 1)
    else:
        variance = (n * squares - deviations * deviations) / (n * (n - 1))
    return np.maximum(np.asarray(variance, dtype=np.float64), 0.0)  # rounding may go below 0


def _deviation(n: Any, deviations: Any, squares: Any) -> Any:
    return np.sqrt(_variance(n, deviations, squares))


def _wide(sums: Any) -> Any:
    """Return sums as Python's integers where 64 bits may not hold their products."""
    if not isinstance(sums, np.ndarray) or sums.dtype != np.int64:
        return sums
    integers: npt.NDArray[Any] = sums
    fits = int(integers.min(initial=0)) > -(2**31) and int(integers.max(initial=0)) < 2**31
    return integers if fits else integers.astype(object)


VARIANCE = AggregateFunction(
    "variance", "numbers", ("deviations", "squares"), _variance, "float", least=2
)
STDDEV = AggregateFunction(
    "stddev", "numbers", ("deviations", "squares"), _deviation, "float", least=2
)
