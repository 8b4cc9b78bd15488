"""Residual predicates as Python source: only the shape of a condition is written.

Whatever is about one side alone is an operand, computed beforehand by `evaluation`; names and
constants of the pattern never reach the source. So what is written is shared by all queries of one
shape, and a text can never run code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Literal

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
    Expression,
    InList,
    IsNull,
    Negative,
    variables_of,
    walk,
)
from cepkit.pattern.correlation import standardised
from cepkit.pattern.evaluation import Read, truth, value
from cepkit.pattern.functions import BUILTINS
from cepkit.pattern.kind_checks import kind_of
from cepkit.pattern.kinds import ValueKind
from cepkit.pattern.operations import common_codes

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Operand:
    """A part of a condition that what is written is given as a number.

    Attributes:
        node: The part.
        role: What of it: its value, whether it is true, the row of numbers that its array is, or
            the code of a text in a dictionary that it has in common with another one.
        beside: That other text.
    """

    node: Expression
    role: Literal["value", "truth", "array", "code"]
    beside: Expression | None = None

    @property
    def variables(self) -> frozenset[str]:
        """The variables that it is about."""
        return variables_of(self.node)

    def numbers(self, read: Read, size: int) -> Numbers:
        """Return a number, of an array a row of numbers, for each of `size` rows."""
        if self.role == "truth":
            return truth(self.node, read, size).astype(np.float64)
        column = value(self.node, read)
        if self.role == "array":
            rows = standardised(column, self.node)
            return rows if len(rows) == size else np.repeat(rows, size, axis=0)
        if self.beside is not None:
            column, _ = common_codes(column, value(self.beside, read))
        numbers = as_exact_floats(column)
        assert numbers is not None, "can_be_written was asked before"
        return numbers if len(numbers) == size else np.repeat(numbers, size)


def can_be_written(condition: Expression, candidates: Mapping[str, Candidates]) -> bool:
    """Whether a condition calls no function of the user's, and floats hold all its integers."""
    return has_builtins_only(condition) and stays_exact(condition, reader(candidates))


def has_builtins_only(condition: Expression, but: Set[str] = frozenset()) -> bool:
    """Whether a condition calls built-in functions only, and none of those in `but`."""
    calls = (node.function for node in walk(condition) if isinstance(node, Call))
    return all(function in BUILTINS and function not in but for function in calls)


def reader(candidates: Mapping[str, Candidates]) -> Read:
    """Return what gives the attributes of all candidates of a variable."""
    return lambda variable, attribute: candidates[variable].column(attribute)


class ConditionWriter:
    """Writes conditions in which variables meet.

    Args:
        candidates: Of all variables.
        meet: Whether an expression about these variables is written, and is no operand.
        name: Returns the name under which what is written is given an operand.
    """

    def __init__(
        self,
        candidates: Mapping[str, Candidates],
        meet: Callable[[frozenset[str]], bool],
        name: Callable[[Operand], str],
    ) -> None:
        self._candidates = candidates
        self._meet = meet
        self._name = name

    def all_of(self, conditions: Iterable[Expression]) -> str:
        """Return the source of some conditions, of which all must hold; empty where none is."""
        return " & ".join(map(self.condition, conditions))

    def condition(self, node: Expression) -> str:
        """Return the source of a condition, as `rewrite.without_not` gives it: a truth value."""
        if not self._meet(variables_of(node)):
            return f"({self._name(Operand(node, 'truth'))} != 0.0)"
        match node:
            case AllOf(items):
                return f"({self.all_of(items)})"
            case AnyOf(items):
                return f"({' | '.join(map(self.condition, items))})"
            case Comparison(operator, left, right):
                return self._comparison(operator, left, right)
            case InList(operand, choices, negated):
                parts = [self._comparison("!=" if negated else "=", operand, c) for c in choices]
                return f"({(' & ' if negated else ' | ').join(parts)})"
            case IsNull(operand, negated):
                missing = self._missing(operand)
                return f"(not {missing})" if negated else missing
            case _:
                raise AssertionError("not a condition in the form that rewrite.without_not gives")

    def _comparison(self, operator: str, left: Expression, right: Expression) -> str:
        kinds = {self._kind(left), self._kind(right)}
        if "null" in kinds:
            return "False"
        if kinds == {"text"}:
            x = self._name(Operand(left, "code", right))
            y = self._name(Operand(right, "code", left))
        else:
            x, y = self._value(left), self._value(right)
        if operator == "!=":  # NaN differs from everything, what is missing from nothing
            return f"(({x} < {y}) | ({x} > {y}))"
        return f"({x} {'==' if operator == '=' else operator} {y})"

    def _missing(self, operand: Expression) -> str:
        written = self._value(operand)
        return f"({written} != {written})"

    def _value(self, node: Expression) -> str:
        """Return the source of a value: a float, NaN where it is missing."""
        if not self._meet(variables_of(node)):
            return self._name(Operand(node, "value"))
        match node:
            case Negative(operand):
                return f"(0.0 - {self._value(operand)})"
            case Arithmetic(operator, left, right):
                x, y = self._value(left), self._value(right)
                match operator:
                    case "/":
                        return f"divided({x}, {y})"
                    case "%":
                        return f"remainder({x}, {y})"
                    case _:
                        return f"({x} {operator} {y})"
            case Call("corr", (left, right)):
                rows = (self._name(Operand(side, "array")) for side in (left, right))
                return f"correlation({', '.join(rows)})"
            case Call(function, arguments):
                written = self._value(arguments[0])
                if function in ("least", "greatest"):
                    for other in arguments[1:]:
                        written = f"{function}({written}, {self._value(other)})"
                    return written
                return f"{_NAMES[function]}({written})"
            case _:
                raise AssertionError("a condition stands where a value belongs")

    def _kind(self, node: Expression) -> ValueKind:
        return kind_of(node, lambda v, a: self._candidates[v].column(a).kind)


_NAMES = {"abs": "abs", "sqrt": "root", "log": "logarithm"}
