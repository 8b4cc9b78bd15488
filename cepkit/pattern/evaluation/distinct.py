"""Functions computed once for each distinct value, or each distinct combination of values.

Events have few distinct texts, and Python computes with one text at a time. Cost: O(n) for one
column of n texts beside constants, O(n log n) for several, and a call for each combination.
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
        compute: Takes Python's own values, none of them missing; None stands for a missing result.
        kind: The kind of the result.
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
            pair_codes = rows.astype(np.int64) * len(values) + codes
            present, rows = np.unique(pair_codes, return_inverse=True)
            pairs = (divmod(pair, len(values)) for pair in present.tolist())
            combinations = [(*combinations[one], values[other]) for one, other in pairs]
    results = [None if None in each else compute(each) for each in combinations]
    return _column(kind, results, rows)


def _coded(column: Column) -> tuple[Codes, list[Any]]:
    """Return a code for each row, and the distinct values by code, None for missing."""
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
    """Return the column of the results; `rows` has the number of a result for each row."""
    has_missing = None in results
    match kind:
        case "text":
            texts = sorted({text for text in results if text is not None})
            codes = {text: code for code, text in enumerate(texts)}
            plain = np.array([codes.get(text, -1) for text in results], dtype=np.int32)
            return Column(kind, plain[rows], np.array(texts, dtype=object), has_missing)
        case "boolean":
            truths = np.array([-1 if one is None else one for one in results], dtype=np.int8)
            return Column(kind, truths[rows], NO_TEXTS, has_missing)
        case "integer" | "timestamp" | "duration":
            filled = [MISSING_INTEGER if one is None else one for one in results]
            return Column(kind, np.array(filled, dtype=np.int64)[rows], NO_TEXTS, has_missing)
        case "float" | "null":
            numbers = np.array([np.nan if one is None else one for one in results], dtype=float)
            return Column(kind, numbers[rows], NO_TEXTS, has_missing)
        case "array":
            raise AssertionError("no function of texts gives arrays")
        case _:
            assert_never(kind)
