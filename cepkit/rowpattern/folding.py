"""Aggregates over the rows of a match, value by value, with the state after each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import gt, lt
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class FoldFunction:
    """An aggregate: its state and its result.

    Attributes:
        first: The state without values.
        step: Returns the state with one more value, without changing it in place.
        result: Returns the aggregate of a state.
        kind: Returns the result type for the types of its arguments; raises if it does not take
            such values.
        count: The number of its arguments.
        one_of_them: Whether its result is the first argument in one of the rows.
    """

    first: Any
    step: Callable[[Any, Any], Any]
    result: Callable[[Any], Any]
    kind: Callable[..., pa.DataType]
    count: int = 1
    one_of_them: bool = False


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


def _boolean(kind: pa.DataType) -> pa.DataType:
    if not (pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise pa.ArrowNotImplementedError(f"a truth value is needed, not {kind}")
    return pa.bool_()


def _best(better: Callable[[Any, Any], bool]) -> FoldFunction:
    """Return MAX_BY or MIN_BY: a state is a value and the key by which it is the best so far."""
    return FoldFunction(
        None,
        lambda s, x: x if s is None or better(x[1], s[1]) else s,
        lambda s: None if s is None else s[0],
        lambda value, by: (value, _ordered(by))[0],
        2,
        one_of_them=True,
    )


def _average(state: tuple[Any, int] | None) -> Any:
    if state is None:
        return None
    total, count = state
    return total / count if hasattr(total, "days") else float(total) / count


def _counted(_: int) -> bool:
    return True


def _listed(state: Any) -> list[Any] | None:
    values = []
    while state is not None:
        state, value = state
        values.append(value)
    return values[::-1] or None


FOLDS: dict[str, FoldFunction] = {
    "count": FoldFunction(0, lambda n, _: n + 1, _itself, lambda *_: pa.int64()),
    "sum": FoldFunction(None, lambda s, x: x if s is None else s + x, _itself, _number),
    "avg": FoldFunction(
        None, lambda s, x: (x, 1) if s is None else (s[0] + x, s[1] + 1), _average, _mean
    ),
    "min": FoldFunction(
        None, lambda s, x: x if s is None else min(s, x), _itself, _ordered, one_of_them=True
    ),
    "max": FoldFunction(
        None, lambda s, x: x if s is None else max(s, x), _itself, _ordered, one_of_them=True
    ),
    "min_by": _best(lt),
    "max_by": _best(gt),
    "any_value": FoldFunction(
        None, lambda s, x: x if s is None else s, _itself, _itself, one_of_them=True
    ),
    "bool_and": FoldFunction(None, lambda s, x: x if s is None else s and x, _itself, _boolean),
    "bool_or": FoldFunction(None, lambda s, x: x if s is None else s or x, _itself, _boolean),
    "array_agg": FoldFunction(None, lambda s, x: (s, x), _listed, pa.list_),
}
"""The aggregates by name; names in other dialects are in `FOLD_SYNONYMS`."""


def fold_kind(name: str, kinds: Sequence[pa.DataType], *, distinct: bool) -> pa.DataType:
    """Return the result type of an aggregate; raises Arrow's error if it takes no such values."""
    if distinct:
        kinds = [_ordered(kind) for kind in kinds]
    return FOLDS[name].kind(*kinds)


FOLD_SYNONYMS = {"arbitrary": "any_value", "every": "bool_and"}

_NOTHING = object()


@dataclass(slots=True)
class Running:
    """An aggregate that grows and shrinks with the rows that a search has mapped.

    Attributes:
        read: Returns the value of a row; None if it is missing.
        distinct: Whether equal values count once.
        keeps_nulls: Whether nulls count.
        states: The state after each row so far, and the new value of DISTINCT there.
        seen: The values so far, for DISTINCT.
    """

    function: FoldFunction
    read: Callable[[int], Any]
    distinct: bool = False
    keeps_nulls: bool = False
    states: list[tuple[Any, Any]] = field(default_factory=list)
    seen: set[Any] = field(default_factory=set)

    @classmethod
    def of(cls, name: str, columns: Sequence[Callable[[int], Any]], *, distinct: bool) -> Running:
        """Return an aggregate of no rows.

        Args:
            columns: For each argument a function for its value in a row.
        """
        match columns:
            case ():
                read: Callable[[int], Any] = _counted
            case (read,):
                pass
            case (value, by):

                def read(row: int) -> Any:
                    return None if (order := by(row)) is None else (value(row), order)

        return cls(FOLDS[name], read, distinct, name == "array_agg")

    def over(self, rows: list[int]) -> Any:
        """Return the aggregate of rows.

        Args:
            rows: The previous rows, with more at the end; call `keep` first if there are fewer.
        """
        return self.function.result(self.state(rows))

    def state(self, rows: list[int]) -> Any:
        """Return the state after rows (see `over`)."""
        if len(rows) > len(self.states):
            for row in rows[len(self.states) :]:
                self.add(row)
        return self.states[-1][0] if self.states else self.function.first

    def add(self, row: int) -> Any:
        """Add one row; return the state."""
        state = self.states[-1][0] if self.states else self.function.first
        value = self.read(row)
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
