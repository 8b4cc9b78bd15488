"""Numbers of columns as floats, and floats as durations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepkit.errors import PatternError
from cepkit.pattern.evaluation.kinds import word
from cepkit.stream.columns import MISSING_INTEGER, Column


def as_floats(column: Column) -> npt.NDArray[np.float64]:
    """Return the numbers or truth values of `column` as floats, NaN for missing.

    Raises:
        PatternError: The column holds texts or arrays.
    """
    match column.kind:
        case "float" | "null":
            return column.values  # type: ignore[return-value]
        case "integer" | "timestamp" | "duration" | "boolean":
            floats = column.values.astype(np.float64)
            if column.has_missing:
                floats[column.missing()] = np.nan
            return floats
        case _:
            raise PatternError(f"{word(column.kind)} instead of a number")


def rounded(microseconds: npt.NDArray[np.float64]) -> Column:
    """Return durations of whole microseconds, missing where 64 bits cannot hold them."""
    with np.errstate(invalid="ignore"):
        out_of_range = ~(np.abs(microseconds) < 2.0**63)
    whole = np.rint(np.where(out_of_range, 0.0, microseconds)).astype(np.int64)
    return Column(
        "duration",
        np.where(out_of_range, MISSING_INTEGER, whole),
        has_missing=bool(out_of_range.any()),
    )
