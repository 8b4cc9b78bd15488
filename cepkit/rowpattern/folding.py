"""Aggregates over the rows of a match, value by value, with the state after each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import pyarrow as pa

from cepkit.values import dataclass


@dataclass(frozen=True, slots=True)
class FoldFunction:
    """An aggregate: its state and its result.

    Attributes:
        first: The state without values.
        step: Returns the state with one more value, without changing it in place.
        result: Returns the aggregate of a state.
        kind: Returns the result type for a value type; raises if it does not take such values.
    """

    first: Any
    step: Callable[[Any, Any], Any]
    result: Callable[[Any], Any]
    kind: Callable[[pa.DataType], pa.DataType]


def _itself(state: Any) -> Any:
    return state


def _number(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_decimal(kind):
        return pa.decimal128(38, kind.scale)
    if pa.types.is_integer(kind):
        return pa.int64()
    if pa.types.is_floating(kind):
        return pa.float64()
    if pa.types.is_duration(kind):
        return kind
    raise pa.ArrowNotImplementedError(f"a number is needed, not {kind}")


def _mean(kind: pa.DataType) -> pa.DataType:
    return kind if pa.types.is_duration(kind) else _number(kind) and pa.float64()


def _ordered(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_nested(kind):
        raise pa.ArrowNotImplementedError(f"values with an order are needed, not {kind}")
    return kind


def _average(state: tuple[Any, int] | None) -> Any:
    if state is None:
        return None
    total, count = state
    return total / count if hasattr(total, "days") else float(total) / count


def _listed(state: Any) -> list[Any] | None:
    values = []
    while state is not None:
        state, value = state
        values.append(value)
    return values[::-1] or None


FOLDS: dict[str, FoldFunction] = {
    "count": FoldFunction(0, lambda n, _: n + 1, _itself, lambda _: pa.int64()),
    "sum": FoldFunction(None, lambda s, x: x if s is None else s + x, _itself, _number),
    "avg": FoldFunction(
        None, lambda s, x: (x, 1) if s is None else (s[0] + x, s[1] + 1), _average, _mean
    ),
    "min": FoldFunction(None, lambda s, x: x if s is None else min(s, x), _itself, _ordered),
    "max": FoldFunction(None, lambda s, x: x if s is None else max(s, x), _itself, _ordered),
    "array_agg": FoldFunction(None, lambda s, x: (s, x), _listed, pa.list_),
}


_NOTHING = object()


@dataclass(slots=True)
class Running:
    """An aggregate that grows and shrinks with the rows that a search has mapped.

    Attributes:
        function: The aggregate.
        values: The values of all rows of the table; None counts rows.
        distinct: Whether equal values count once.
        keeps_nulls: Whether nulls count.
        states: The state after each row so far, and the new value of DISTINCT there.
        seen: The values so far, for DISTINCT.
    """

    function: FoldFunction
    values: list[Any] | None
    distinct: bool = False
    keeps_nulls: bool = False
    states: list[tuple[Any, Any]] = field(default_factory=list)
    seen: set[Any] = field(default_factory=set)

    @classmethod
    def of(cls, name: str, values: list[Any] | None, *, distinct: bool) -> Running:
        """Return an aggregate of no rows."""
        return cls(FOLDS[name], values, distinct, name == "array_agg")

    def over(self, rows: list[int]) -> Any:
        """Return the aggregate of rows.

        Args:
            rows: The previous rows, with more at the end; call `keep` first if there are fewer.
        """
        for row in rows[len(self.states) :]:
            self.add(row)
        return self.function.result(self.states[-1][0] if self.states else self.function.first)

    def add(self, row: int) -> Any:
        """Add one row; return the state."""
        state = self.states[-1][0] if self.states else self.function.first
        value = True if self.values is None else self.values[row]
        new = _NOTHING
        if self.distinct and value is not None and value not in self.seen:
            self.seen.add(value)
            new = value
        if (value is not None or self.keeps_nulls) and (new is not _NOTHING or not self.distinct):
            state = self.function.step(state, value)
        self.states.append((state, new))
        return state

    def keep(self, count: int) -> None:
        """Keep only the first `count` rows."""
        for _, new in self.states[count:]:
            if new is not _NOTHING:
                self.seen.discard(new)
        del self.states[count:]
