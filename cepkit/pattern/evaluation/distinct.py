"""Functions computed once for each distinct value, or each distinct combination of values.

Texts are few beside events, and Python takes them one by one. Cost: O(n) for one column of n texts
beside constants, O(n log n) for several, and a call for each combination.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from cepkit.stream.columns import MISSING_INTEGER, NO_TEXTS, Column, Kind

Codes = npt.NDArray[np.integer]


def of_distinct(
    compute: Callable[[Sequence[Any]], Any], kind: Kind, arguments: Sequence[Column]
) -> Column:
    """Return the value of `compute` for each row.

    Args:
        compute: Takes Python's own values, none of them missing; None: there is no value.
        kind: Of what it gives.
        arguments: Columns of one length, or of one row.
    """
    rows: Codes = np.zeros(1, dtype=np.int64)
    combinations: list[tuple[Any, ...]] = [()]
    for column in arguments:
        codes, values = _coded(column)
        if len(combinations) == 1:
            rows = np.broadcast_to(codes, np.broadcast_shapes(rows.shape, codes.shape))
            combinations = [(*combinations[0], value) for value in values]
        else:
            both = rows.astype(np.int64) * len(values) + codes
            present, rows = np.unique(both, return_inverse=True)
            pairs = (divmod(pair, len(values)) for pair in present.tolist())
            combinations = [(*combinations[one], values[other]) for one, other in pairs]
    results = [None if None in each else compute(each) for each in combinations]
    return _column(kind, results, rows)


def _coded(column: Column) -> tuple[Codes, list[Any]]:
    """Return the distinct values, None where one is missing, and for each row which it has."""
    texts = column.dictionary
    if column.kind == "text" and len(texts) <= len(column.values):
        codes: Codes = column.values  # type: ignore[assignment]
        return np.where(codes < 0, len(texts), codes), [*texts, None]
    present, codes = np.unique(column.values, return_inverse=True)
    missing = Column(column.kind, present).missing()
    values: list[Any] = present.tolist()
    match column.kind:
        case "text":
            values = [None if code < 0 else texts[code] for code in values]
        case "boolean":
            values = [value == 1 for value in values]
        case "float" | "integer" | "timestamp" | "duration" | "null":
            pass
        case "array":
            raise AssertionError("arrays are not taken one by one")
        case _:
            assert_never(column.kind)
    return codes, [None if absent else value for value, absent in zip(values, missing, strict=True)]


def _column(kind: Kind, results: Sequence[Any], rows: Codes) -> Column:
    """Return the column of the results that the rows have."""
    some = None in results
    match kind:
        case "text":
            texts = sorted({text for text in results if text is not None})
            codes = {text: code for code, text in enumerate(texts)}
            plain = np.array([codes.get(text, -1) for text in results], dtype=np.int32)
            return Column(kind, plain[rows], np.array(texts, dtype=object), some)
        case "boolean":
            truths = np.array([-1 if one is None else one for one in results], dtype=np.int8)
            return Column(kind, truths[rows], NO_TEXTS, some)
        case "integer" | "timestamp" | "duration":
            filled = [MISSING_INTEGER if one is None else one for one in results]
            return Column(kind, np.array(filled, dtype=np.int64)[rows], NO_TEXTS, some)
        case "float" | "null":
            numbers = np.array([np.nan if one is None else one for one in results], dtype=float)
            return Column(kind, numbers[rows], NO_TEXTS, some)
        case "array":
            raise AssertionError("no function of texts gives arrays")
        case _:
            assert_never(kind)
