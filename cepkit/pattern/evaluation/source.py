"""Residual predicates as Python source, with constants as parameters.

An expression about one side alone is an operand, computed beforehand by `evaluation`. Names and
constants of the pattern never reach the source, so queries of one shape share it, and no text of a
pattern can run as code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, assert_never

import numpy as np
import numpy.typing as npt

from cepkit.pattern import conditions as c
from cepkit.pattern.conditions import Expression, children, variables_of, walk
from cepkit.pattern.evaluation.columns import Read, common_codes, truth, value
from cepkit.pattern.evaluation.exactness import stays_exact
from cepkit.pattern.evaluation.functions import FUNCTIONS
from cepkit.pattern.evaluation.functions.contract import (
    OnArrays,
    OnInstants,
    OnMembers,
    OnNumbers,
    OnTexts,
    Registered,
)
from cepkit.pattern.evaluation.functions.correlation import standardised
from cepkit.pattern.evaluation.functions.operators import MINUS, OPERATORS
from cepkit.pattern.evaluation.functions.registered import function_of
from cepkit.pattern.evaluation.kind_checks import kind_of
from cepkit.pattern.evaluation.kinds import ValueKind, as_exact_floats

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Operand:
    """A part of a condition that generated source reads as a number.

    Attributes:
        role: The number: its value, its truth, the standardised row of its array, or the code of
            its text in a dictionary shared with another text.
        beside: That other text.
    """

    node: Expression
    role: Literal["value", "truth", "array", "code"]
    beside: Expression | None = None

    @property
    def variables(self) -> frozenset[str]:
        """The variables of the part."""
        return variables_of(self.node)

    def numbers(self, read: Read, size: int) -> Numbers:
        """Return a number for each of `size` rows; for an array a row of numbers."""
        if self.role == "truth":
            return truth(self.node, read, size).astype(np.float64)
        column = value(self.node, read)
        if self.role == "array":
            rows = standardised(column, self.node)
            return rows if len(rows) == size else np.repeat(rows, size, axis=0)
        if self.beside is not None:
            column, _ = common_codes(column, value(self.beside, read))
        numbers = as_exact_floats(column)
        assert numbers is not None, "can_be_written excludes it"
        return numbers if len(numbers) == size else np.repeat(numbers, size)


def can_be_written(condition: Expression, read: Read) -> bool:
    """Return whether loops can evaluate a condition, and floats hold all its integers.

    Args:
        read: Returns the columns with all values that the evaluation may see.
    """
    return has_source(condition) and stays_exact(condition, read)


def has_source(condition: Expression, *, arrays: bool = True) -> bool:
    """Return whether a condition calls only functions that loops can compute.

    Args:
        arrays: Whether the loops can read arrays of several events.
    """
    for node in walk(condition):
        if not isinstance(node, c.Call):
            continue
        form, alone = function_of(node).form, len(variables_of(node)) < 2
        match form:
            case OnNumbers():
                continue
            case OnArrays():
                has_form = arrays or alone
            case OnTexts() | OnInstants():
                has_form = alone
            case OnMembers() | Registered():
                has_form = False
            case _:
                assert_never(form)
        if not has_form:
            return False
    return True


def helpers_in(source: str) -> dict[str, Callable[..., Any]]:
    """Return the functions that a source calls, by name, to compile them with it."""
    called = re.findall(r"\b(\w+)\(", source)
    return {name: _HELPERS[name] for name in sorted({*called} & _HELPERS.keys())}


def _helpers() -> dict[str, Callable[..., Any]]:
    forms = (one.form for one in (*FUNCTIONS.values(), *OPERATORS.values(), MINUS))
    functions = []
    for form in forms:
        match form:
            case OnNumbers(scalar=scalar, written=None):
                functions.append(scalar)
            case OnArrays(loop=loop):
                functions.append(loop)
            case OnNumbers() | OnInstants() | OnTexts() | OnMembers() | Registered():
                pass
            case _:
                assert_never(form)
    return {function.__name__: function for function in functions}


_HELPERS = _helpers()


class ConditionWriter:
    """Writes conditions as source.

    Args:
        meet: Whether an expression over these variables becomes source; else it is an operand.
    """

    def __init__(
        self, read: Read, meet: Callable[[frozenset[str]], bool], name: Callable[[Operand], str]
    ) -> None:
        self._read = read
        self._meet = meet
        self._name = name

    def all_of(self, conditions: Iterable[Expression]) -> str:
        """Return the source of the conjunction of conditions; empty for none."""
        return " & ".join(map(self.condition, conditions))

    def condition(self, node: Expression) -> str:
        """Return the source of a condition from `rewrite.without_not`: a truth value."""
        if not self._meet(variables_of(node)):
            return f"({self._name(Operand(node, 'truth'))} != 0.0)"
        match node:
            case c.AllOf(items):
                return f"({self.all_of(items)})"
            case c.AnyOf(items):
                return f"({' | '.join(map(self.condition, items))})"
            case c.Comparison(operator, left, right):
                return self._comparison(operator, left, right)
            case c.InList(operand, choices, negated):
                parts = [
                    self._comparison("!=" if negated else "=", operand, one) for one in choices
                ]
                return f"({(' & ' if negated else ' | ').join(parts)})"
            case c.IsNull(operand, negated):
                missing = self._missing(operand)
                return f"(not {missing})" if negated else missing
            case c.ValueNode() | c.Between() | c.Complement():
                raise AssertionError("not a condition in the form that rewrite.without_not gives")
            case _:
                assert_never(node)

    def _comparison(self, operator: str, left: Expression, right: Expression) -> str:
        kinds = {self._kind(left), self._kind(right)}
        if "null" in kinds:
            return "False"
        if kinds == {"text"}:
            x = self._name(Operand(left, "code", right))
            y = self._name(Operand(right, "code", left))
        else:
            x, y = self._value(left), self._value(right)
        if operator == "!=":  # NaN differs from everything, a missing value from nothing
            return f"(({x} < {y}) | ({x} > {y}))"
        return f"({x} {'==' if operator == '=' else operator} {y})"

    def _missing(self, operand: Expression) -> str:
        text = self._value(operand)
        return f"({text} != {text})"

    def _value(self, node: Expression) -> str:
        """Return the source of a value: a float, NaN for a missing one."""
        if not self._meet(variables_of(node)):
            return self._name(Operand(node, "value"))
        match node:
            case c.Negative() | c.Arithmetic() | c.Call():
                return self._computed(node)
            case c.Literal() | c.Attribute() | c.Aggregate():
                raise AssertionError("variables do not meet in it")
            case c.ConditionNode():
                raise AssertionError("a condition instead of a value")
            case _:
                assert_never(node)

    def _computed(self, node: c.Negative | c.Arithmetic | c.Call) -> str:
        function = function_of(node)
        form = function.form
        match form:
            case OnNumbers(_, scalar, template):
                call = _call(scalar) if template is None else template.format
                return str(function.of(call, [self._value(part) for part in children(node)]))
            case OnArrays(loop=loop):
                return _call(loop)(*(self._name(Operand(p, "array")) for p in children(node)))
            case OnInstants() | OnTexts() | OnMembers() | Registered():
                raise AssertionError("has_source excludes these")
            case _:
                assert_never(form)

    def _kind(self, node: Expression) -> ValueKind:
        return kind_of(node, lambda v, a: self._read(v, a).kind)


def _call(function: Callable[..., Any]) -> Callable[..., str]:
    return lambda *arguments: f"{function.__name__}({', '.join(arguments)})"
