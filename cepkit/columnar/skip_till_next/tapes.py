"""Conditions that are no bands, as tapes of instructions that a walk follows for each candidate.

A tape is for a machine with a stack of numbers: truth is 1, what is missing NaN. What is about one
variable alone is computed beforehand, as a column; only where variables meet there is something
left to do, some nanoseconds for each instruction. Nothing is compiled for a query, and conditions
are checked on the few candidates that a walk comes to.

There is no tape for functions of the user's, for `corr`, and for integers that floats cannot hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from cepkit.columnar.kernels.numbers import as_exact_floats, stays_exact
from cepkit.columnar.slices.candidates import Candidates
from cepkit.pattern.conditions import (
    AllOf,
    AnyOf,
    Arithmetic,
    Call,
    Comparison,
    ComparisonOperator,
    Expression,
    InList,
    IsNull,
    Negative,
    variables_of,
    walk,
)
from cepkit.pattern.evaluation import truth, value
from cepkit.pattern.functions import BUILTINS
from cepkit.pattern.operations import common_codes
from cepkit.stream.columns import Column

Floats = npt.NDArray[np.float64]

# Columns of a tape.
OPERATION = 0
PLACE = 1  # of a column: where it begins
OF = 2  # of a column: the step whose candidate is looked up; -1: it is a constant
TAPE_FIELDS = 3

# Operations. Those on two numbers are between ADD and EITHER.
CHECK = 0  # ends a condition: where it does not hold the candidate is refused
COLUMN = 1
NEGATIVE, ABSOLUTE, ROOT, LOGARITHM, IS_MISSING, IS_THERE = 2, 3, 4, 5, 6, 7
ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER, LEAST_OF, GREATEST_OF = 8, 9, 10, 11, 12, 13, 14
LESS, AT_MOST, EQUAL, DIFFERENT, GREATER, AT_LEAST, BOTH, EITHER = 15, 16, 17, 18, 19, 20, 21, 22

_OF_TWO = {
    "+": ADD,
    "-": SUBTRACT,
    "*": MULTIPLY,
    "/": DIVIDE,
    "%": REMAINDER,
    "least": LEAST_OF,
    "greatest": GREATEST_OF,
    "<": LESS,
    "<=": AT_MOST,
    "=": EQUAL,
    "!=": DIFFERENT,
    ">": GREATER,
    ">=": AT_LEAST,
}
_OF_ONE = {"abs": ABSOLUTE, "sqrt": ROOT, "log": LOGARITHM}


def can_be_taped(condition: Expression) -> bool:
    """Whether a tape has instructions for a condition, whatever the numbers are."""
    calls = (node for node in walk(condition) if isinstance(node, Call))
    return all(call.function in BUILTINS and call.function != "corr" for call in calls)


class Tape:
    """Writes conditions of one walk.

    Args:
        candidates: Of all variables.
        places: The step of each variable.
        add: Keeps a column, and returns where it begins.
    """

    def __init__(
        self,
        candidates: Mapping[str, Candidates],
        places: Mapping[str, int],
        add: Callable[[Floats], int],
    ) -> None:
        self._candidates = candidates
        self._places = places
        self._add = add
        self._known: dict[Expression, tuple[int, int]] = {}
        self._rows: list[tuple[int, int, int]] = []

    def condition(self, condition: Expression) -> list[tuple[int, int, int]]:
        """Return the tape of a condition that fits, as `rewrite.without_not` gives it."""
        self._rows = []
        self._truth(condition)
        self._write(CHECK)
        return self._rows

    def fits(self, condition: Expression) -> bool:
        """Whether a condition can be computed in floats, with these columns."""
        return stays_exact(condition, self._read) and all(
            self._kind(x) == self._kind(y) or "text" not in (self._kind(x), self._kind(y))
            for node in walk(condition)
            for x, y in _compared(node)
        )

    def _write(self, operation: int, place: int = 0, of: int = -1) -> None:
        self._rows.append((operation, place, of))

    def _truth(self, node: Expression) -> None:
        variables = variables_of(node)
        if len(variables) < 2:
            size = len(self._candidates[min(variables)]) if variables else 1
            self._column(node, lambda: truth(node, self._read, size).astype(np.float64))
            return
        match node:
            case AllOf(items) | AnyOf(items):
                self._folded(items, BOTH if isinstance(node, AllOf) else EITHER, self._truth)
            case Comparison(operator, left, right):
                self._comparison(operator, left, right)
            case InList(operand, choices, negated):
                operator = "!=" if negated else "="
                self._folded(
                    choices,
                    BOTH if negated else EITHER,
                    lambda choice: self._comparison(operator, operand, choice),
                )
            case IsNull(operand, negated):
                self._value(operand)
                self._write(IS_THERE if negated else IS_MISSING)
            case _:
                raise AssertionError("not a condition in the form that rewrite.without_not gives")

    def _folded(
        self, items: Sequence[Expression], operation: int, write: Callable[[Expression], None]
    ) -> None:
        write(items[0])
        for item in items[1:]:
            write(item)
            self._write(operation)

    def _comparison(
        self, operator: ComparisonOperator, left: Expression, right: Expression
    ) -> None:
        if self._kind(left) == self._kind(right) == "text":
            columns = common_codes(value(left, self._read), value(right, self._read))
            for side, codes in zip((left, right), columns, strict=True):
                self._push(side, _floats(codes))
        else:
            self._value(left)
            self._value(right)
        self._write(_OF_TWO[operator])

    def _value(self, node: Expression) -> None:
        if len(variables_of(node)) < 2:
            self._column(node, lambda: _floats(value(node, self._read)))
            return
        match node:
            case Negative(operand):
                self._value(operand)
                self._write(NEGATIVE)
            case Arithmetic(operator, left, right):
                self._folded((left, right), _OF_TWO[operator], self._value)
            case Call(function, arguments) if function in _OF_ONE:
                self._value(arguments[0])
                self._write(_OF_ONE[function])
            case Call(function, arguments):
                self._folded(arguments, _OF_TWO[function], self._value)
            case _:
                raise AssertionError("a condition stands where a value belongs")

    def _column(self, node: Expression, numbers: Callable[[], Floats]) -> None:
        """Write the look-up of what is about one variable alone, or of a constant."""
        if node in self._known:
            self._write(COLUMN, *self._known[node])
        else:
            self._known[node] = self._push(node, numbers())

    def _push(self, node: Expression, numbers: Floats) -> tuple[int, int]:
        variables = variables_of(node)
        of = self._places[min(variables)] if variables else -1
        if variables and len(numbers) == 1:  # what is the same for all events
            numbers = np.repeat(numbers, len(self._candidates[min(variables)]))
        place = self._add(numbers)
        self._write(COLUMN, place, of)
        return place, of

    def _read(self, variable: str, attribute: str) -> Column:
        return self._candidates[variable].column(attribute)

    def _kind(self, node: Expression) -> str:
        nothing = np.empty(0, dtype=np.int32)
        return value(node, lambda v, a: self._candidates[v].column(a).take(nothing)).kind


def _compared(node: Expression) -> list[tuple[Expression, Expression]]:
    match node:
        case Comparison(_, left, right):
            return [(left, right)]
        case InList(operand, choices):
            return [(operand, choice) for choice in choices]
        case _:
            return []


def _floats(column: Column) -> Floats:
    numbers = as_exact_floats(column)
    assert numbers is not None, "stays_exact was asked before"
    return numbers


def of_one(operation: int, x: float) -> float:
    """Return what an operation makes of one number."""
    if operation == NEGATIVE:
        return 0.0 - x
    if operation == ABSOLUTE:
        return abs(x)
    if operation == ROOT:
        return math.sqrt(x) if x >= 0.0 else math.nan
    if operation == LOGARITHM:
        return math.log(x) if x > 0.0 else math.nan
    return 1.0 if math.isnan(x) == (operation == IS_MISSING) else 0.0


def of_two(operation: int, x: float, y: float) -> float:
    """Return what an operation makes of two numbers."""
    if operation == ADD:
        return x + y
    if operation == SUBTRACT:
        return x - y
    if operation == MULTIPLY:
        return x * y
    if operation == LESS:
        return 1.0 if x < y else 0.0
    if operation == AT_MOST:
        return 1.0 if x <= y else 0.0
    if operation == GREATER:
        return 1.0 if x > y else 0.0
    if operation == AT_LEAST:
        return 1.0 if x >= y else 0.0
    if operation == EQUAL:
        return 1.0 if x == y else 0.0
    if operation == DIFFERENT:  # NaN differs from everything, what is missing from nothing
        return 1.0 if (x < y) | (x > y) else 0.0
    if operation == BOTH:
        return x * y
    if operation == EITHER:
        return max(x, y)
    if operation == DIVIDE:
        return math.nan if y == 0.0 else x / y
    if math.isnan(x) or math.isnan(y):
        return math.nan
    if operation == REMAINDER:
        return math.nan if y == 0.0 or math.isinf(x) else np.fmod(x, y)
    return min(x, y) if operation == LEAST_OF else max(x, y)
