"""The rows that a search has mapped so far, and conditions on them.

Rows of a match are consecutive, so a mapping is a list of variables, and backtracking truncates it.
Each set of variables in some condition has a list of their rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, assert_never

import pyarrow as pa

from cepkit.rowpattern import expressions as e
from cepkit.rowpattern.binding import BoundQuery
from cepkit.rowpattern.folding import Running
from cepkit.rowpattern.operations import OPERATIONS, TYPES, Operation, cast_column
from cepkit.rowpattern.rows import PartitionedRows

Closure = Callable[[], Any]


class Mapping:
    """A mapping of rows to variables that grows row by row and can be truncated."""

    def __init__(self, bound: BoundQuery, rows: PartitionedRows) -> None:
        self._rows = rows
        self._names = bound.query.variables
        self._values: dict[e.Expression, list[Any]] = {}
        self._lists: dict[tuple[str, ...] | None, list[int]] = {}
        self._folds: dict[e.Fold, tuple[Running, list[int]]] = {}
        self._labels: list[int] = []
        self._start = self._number = 0
        self._conditions = [
            [self._closure(part) for part in bound.conditions[name]] for name in self._names
        ]
        self._lists_of: list[list[list[int]]] = [[] for _ in self._names]
        numbers = {name: number for number, name in enumerate(self._names)}
        for members, rows_of in self._lists.items():
            for name in self._names if members is None else members:
                self._lists_of[numbers[name]].append(rows_of)
        self._leaves = [
            [(leaf, name) for part in bound.conditions[name] for leaf in e.leaves(part)]
            for name in self._names
        ]
        self._seen_by: dict[int, tuple[Closure, ...]] = {}

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
        for fold, rows_of in self._folds.values():
            if len(fold.states) > len(rows_of):
                fold.keep(len(rows_of))

    def known(self, variables: int) -> tuple[object, ...]:
        """Return the state of the mapping that the conditions of some variables can read.

        Args:
            variables: The variables of rows to come, as bits.
        """
        if variables not in self._seen_by:
            seen: dict[object, Closure] = {}
            for number, leaves_of in enumerate(self._leaves):
                if variables >> number & 1:
                    seen.update(self._seen(leaf, name) for leaf, name in leaves_of)
            self._seen_by[variables] = tuple(seen.values())
        return tuple(state() for state in self._seen_by[variables])

    def _seen(self, leaf: e.Leaf, own: str) -> tuple[object, Closure]:
        """Return a key for a leaf, and a function for the part of the present rows it can read.

        Args:
            own: The variable of the condition; its row will be the last.
        """
        if isinstance(leaf, e.MatchNumber):
            return "number", lambda: self._number
        rows_of = self._lists[leaf.variables]
        if isinstance(leaf, e.Fold):
            kinds = [self._rows.column(part).type for part in leaf.arguments if part != e.Label()]
            # The states of DISTINCT and of lists depend on all rows, and lists cannot be compared.
            whole = leaf.distinct or leaf.function == "array_agg"
            if whole or any(map(pa.types.is_nested, kinds)):
                return (leaf.variables,), lambda: tuple(rows_of)
            return leaf, partial(self._folds[leaf][0].state, rows_of)
        skipped, shift, labels = leaf.skipped, leaf.shift, self._labels
        least = skipped if leaf.variables is None or own in leaf.variables else skipped + 1
        few = slice(skipped + 1) if leaf.end == "first" else slice(-least if least else 2**62, None)
        if not isinstance(leaf.value, e.Label):
            return (leaf.variables, leaf.end, few.start, few.stop), lambda: tuple(rows_of[few])

        def names() -> tuple[object, ...]:
            rows = rows_of[few]
            there = [row + shift - self._start for row in rows]
            known = [labels[at] if 0 <= at < len(labels) else None for at in there]
            return tuple(rows), tuple(known), tuple(labels[max(0, len(labels) + min(shift, 0)) :])

        return (leaf, least), names

    def _rows_of(self, variables: tuple[str, ...] | None) -> list[int]:
        return self._lists.setdefault(variables, [])

    def _column(self, value: e.Expression) -> list[Any]:
        if value not in self._values:
            self._values[value] = self._rows.column(value).to_pylist()
        return self._values[value]

    def _reader(self, argument: e.Expression) -> Callable[[int], Any]:
        """Return a function for the value of an aggregate's argument in a row of the match."""
        if isinstance(argument, e.Label):
            return lambda row: self._names[self._labels[row - self._start]]
        return self._column(argument).__getitem__

    def _closure(self, expression: e.Expression) -> Closure:
        """Return a function for an expression's value on the rows mapped so far."""
        match expression:
            case e.Constant(value):
                return lambda: value
            case e.Cast(value, kind):
                return _cast(self._closure(value), TYPES[kind])
            case e.Call(name, arguments):
                return _call(name, [self._closure(argument) for argument in arguments])
            case e.RowValue():
                return self._row_value(expression)
            case e.Fold(function, variables, arguments, distinct):
                if expression not in self._folds:
                    columns = [self._reader(argument) for argument in arguments]
                    fold = Running.of(function, columns, distinct=distinct)
                    self._folds[expression] = fold, self._rows_of(variables)
                fold, rows_of = self._folds[expression]
                return partial(fold.over, rows_of)
            case e.MatchNumber():
                return lambda: self._number
            case e.Column() | e.AllRows() | e.Here() | e.Label():
                raise AssertionError(expression)
            case _:
                assert_never(expression)

    def _row_value(self, leaf: e.RowValue) -> Closure:
        rows_of = self._rows_of(leaf.variables)
        place = -1 - leaf.skipped if leaf.end == "last" else leaf.skipped
        least, shift = leaf.skipped + 1, leaf.shift
        if isinstance(leaf.value, e.Label):

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
