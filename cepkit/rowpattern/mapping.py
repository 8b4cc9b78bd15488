"""The rows that a search has mapped so far, and conditions on them.

Rows of a match are consecutive, so a mapping is a list of variables, and backtracking truncates it.
Each set of variables in some condition has a list of their rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, assert_never

import pyarrow as pa

from cepkit.rowpattern.binding import BoundQuery
from cepkit.rowpattern.expressions import (
    AllRows,
    Call,
    Cast,
    Column,
    Constant,
    Expression,
    Fold,
    Here,
    Label,
    MatchNumber,
    RowValue,
)
from cepkit.rowpattern.folding import Running
from cepkit.rowpattern.operations import OPERATIONS, TYPES, Operation, cast_column
from cepkit.rowpattern.rows import Rows

Closure = Callable[[], Any]


class Mapping:
    """A mapping of rows to variables that grows row by row and can be truncated."""

    def __init__(self, bound: BoundQuery, rows: Rows) -> None:
        self._bound = bound
        self._rows = rows
        self._names = bound.query.variables
        self._values: dict[Expression, list[Any]] = {}
        self._lists: dict[tuple[str, ...] | None, list[int]] = {}
        self._folds: list[tuple[Running, list[int]]] = []
        self._labels: list[int] = []
        self._ends: dict[tuple[str, ...] | None, tuple[int, int]] = {}
        self._reads_labels = False
        self._start = self._number = 0
        self._conditions = [
            [self._closure(part) for part in bound.conditions[name]] for name in self._names
        ]
        self._lists_of = [
            [rows_of for key, rows_of in self._lists.items() if key is None or name in key]
            for name in self._names
        ]

    def restart(self, start: int, number: int) -> None:
        """Begin a match at a row, with its number."""
        self.keep(0)
        self._start, self._number = start, number

    def take(self, variable: int) -> bool:
        """Map the next row to a variable if its conditions hold; return whether they do."""
        row = self._start + len(self._labels)
        self._labels.append(variable)
        for rows_of in self._lists_of[variable]:
            rows_of.append(row)
        for condition in self._conditions[variable]:
            if condition() is not True:
                self.keep(len(self._labels) - 1)
                return False
        return True

    def keep(self, count: int) -> None:
        """Keep only the first `count` rows."""
        if count == len(self._labels):
            return
        while len(self._labels) > count:
            for rows_of in self._lists_of[self._labels.pop()]:
                rows_of.pop()
        for fold, rows_of in self._folds:
            fold.keep(len(rows_of))

    def known(self) -> tuple[object, ...]:
        """Return the state of the mapping that conditions on later rows can read."""
        parts: list[object] = []
        for variables, (first, last) in self._ends.items():
            rows_of = self._lists[variables]
            parts += rows_of[:first]
            parts += rows_of[-last:] if last else ()
            parts.append(min(len(rows_of), first + last))
        for fold, rows_of in self._folds:
            # The states of DISTINCT and of lists depend on all rows.
            whole = fold.distinct or fold.keeps_nulls
            parts.append(tuple(rows_of) if whole else fold.over(rows_of) and fold.states[-1][0])
        if self._reads_labels:
            parts.append(tuple(self._labels))
        return tuple(parts)

    def _rows_of(self, variables: tuple[str, ...] | None) -> list[int]:
        return self._lists.setdefault(variables, [])

    def _column(self, value: Expression) -> list[Any]:
        if value not in self._values:
            self._values[value] = self._rows.column(value).to_pylist()
        return self._values[value]

    def _closure(self, expression: Expression) -> Closure:
        """Return a function for an expression's value on the rows mapped so far."""
        match expression:
            case Constant(value):
                return lambda: value
            case Cast(value, kind):
                return _cast(self._closure(value), TYPES[kind])
            case Call(name, arguments):
                return _call(name, [self._closure(argument) for argument in arguments])
            case RowValue():
                return self._row_value(expression)
            case Fold(function, variables, value, distinct):
                values = None if value is None else self._column(value)
                fold, rows_of = (
                    Running.of(function, values, distinct=distinct),
                    self._rows_of(variables),
                )
                self._folds.append((fold, rows_of))
                return partial(fold.over, rows_of)
            case MatchNumber():
                return lambda: self._number
            case Column() | AllRows() | Here() | Label():
                raise AssertionError(expression)
            case _:
                assert_never(expression)

    def _row_value(self, leaf: RowValue) -> Closure:
        rows_of = self._rows_of(leaf.variables)
        place = -1 - leaf.skipped if leaf.end == "last" else leaf.skipped
        least, shift = leaf.skipped + 1, leaf.shift
        first, last = self._ends.get(leaf.variables, (0, 0))
        ends = (max(first, least), last) if leaf.end == "first" else (first, max(last, least))
        self._ends[leaf.variables] = ends
        self._reads_labels |= isinstance(leaf.value, Label)
        if isinstance(leaf.value, Label):

            def label() -> str | None:
                if len(rows_of) < least:
                    return None
                at = rows_of[place] + shift - self._start
                return self._names[self._labels[at]] if 0 <= at < len(self._labels) else None

            return label
        values = self._column(leaf.value)
        if not shift:
            return lambda: values[rows_of[place]] if len(rows_of) >= least else None
        partitions = self._rows.partitions

        def beside() -> Any:
            if len(rows_of) < least:
                return None
            row = rows_of[place]
            to = row + shift
            inside = 0 <= to < len(values) and partitions[to] == partitions[row]
            return values[to] if inside else None

        return beside


def _call(name: str, arguments: list[Closure]) -> Closure:
    operation = OPERATIONS[name]
    if name in ("and", "or"):
        return _short(operation, *arguments, decided=name == "or")
    if operation.strict and operation.values is not None and len(arguments) == 2:
        return _of_two(operation.values, *arguments)
    return lambda: operation.on_values(*(argument() for argument in arguments))


def _short(operation: Operation, left: Closure, right: Closure, *, decided: bool) -> Closure:
    def value() -> Any:
        first = left()
        return first if first is decided else operation.on_values(first, right())

    return value


def _of_two(function: Callable[[Any, Any], Any], left: Closure, right: Closure) -> Closure:
    def value() -> Any:
        first, second = left(), right()
        return None if first is None or second is None else function(first, second)

    return value


def _cast(value: Closure, kind: pa.DataType) -> Closure:
    return lambda: None if (v := value()) is None else cast_column(pa.scalar(v), kind).as_py()
