"""Dense key codes: small integers, equal for equal values, so that keys index arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt

from cepkit.errors import PatternError
from cepkit.indexing import value_codes
from cepkit.pattern.evaluation.columns import as_times, common_codes
from cepkit.pattern.evaluation.kinds import are_comparable, as_floats, word
from cepkit.stream.columns import Column

Codes = npt.NDArray[np.int32]

_SPARE = 4
"""Integers whose range exceeds the number of rows by more than this factor are hashed."""


def dense_keys(columns: Sequence[Column]) -> tuple[list[Codes], int]:
    """Return codes for the values of all `columns`, equal for equal values, and their number.

    A missing value has the code -1; it equals nothing.

    Raises:
        PatternError: The kinds of the columns cannot be compared, as texts and numbers.
    """
    kinds = {column.kind for column in columns}
    if kinds == {"text", "timestamp"}:
        columns = [as_times(column) if column.kind == "text" else column for column in columns]
        kinds = {"timestamp"}
    if "null" in kinds:  # a column of missing values equals nothing
        return [np.full(len(column.values), -1, dtype=np.int32) for column in columns], 0
    if kinds == {"text"}:
        return _text_keys(columns)
    if not all(are_comparable(columns[0].kind, kind) for kind in kinds):
        raise PatternError(
            f"an equality compares {' with '.join(sorted(map(word, kinds)))}",
            expected="values of one kind: numbers, texts, truth values, times or durations",
        )
    if "float" in kinds:
        floats = np.concatenate([as_floats(column) for column in columns]) + 0.0  # no -0.0
        return _split(*value_codes(floats), columns)
    if kinds == {"boolean"}:
        return [column.values.astype(np.int32) for column in columns], 2
    values = [column.values for column in columns]
    missing = [column.missing() if column.has_missing else None for column in columns]
    present = [
        v if absent is None else v[~absent] for v, absent in zip(values, missing, strict=True)
    ]
    rows = sum(map(len, present))
    low = min((int(v.min()) for v in present if len(v)), default=0)
    high = max((int(v.max()) for v in present if len(v)), default=0)
    if high - low > _SPARE * rows + 1024:
        codes, number = value_codes(np.concatenate(values))
        absent = [
            np.zeros(len(v), np.bool_) if m is None else m
            for v, m in zip(values, missing, strict=True)
        ]
        codes[np.concatenate(absent)] = -1
        return _split(codes, number, columns)
    parts = []
    for v, m in zip(values, missing, strict=True):
        part = (v - low).astype(np.int32) if m is None else np.where(m, -1, v - low)
        parts.append(part.astype(np.int32, copy=False))
    return parts, high - low + 1


def partition_keys(columns: Sequence[Column]) -> tuple[Codes, int]:
    """Return a code for each row, equal where rows agree in all `columns`, and the number of codes.

    Missing agrees with missing, as in GROUP BY.
    """

    def with_missing(column: Column) -> tuple[Codes, int]:
        (codes,), number = dense_keys([column])
        missing = codes < 0
        return (np.where(missing, number, codes) if missing.any() else codes), number + 1

    def both(left: tuple[Codes, int], right: tuple[Codes, int]) -> tuple[Codes, int]:
        return value_codes(left[0].astype(np.int64) * right[1] + right[0])

    return reduce(both, map(with_missing, columns))


def _text_keys(columns: Sequence[Column]) -> tuple[list[Codes], int]:
    first = columns[0]
    if any(column.dictionary is not first.dictionary for column in columns):
        for column in columns[1:]:
            first, _ = common_codes(first, column)
        columns = [common_codes(first, column)[1] for column in columns]
    return [column.values for column in columns], len(first.dictionary)  # type: ignore[misc]


def _split(codes: Codes, number: int, columns: Sequence[Column]) -> tuple[list[Codes], int]:
    ends = np.cumsum([len(column.values) for column in columns])[:-1]
    return np.split(codes, ends), number
