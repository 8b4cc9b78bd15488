"""Variables and terms for conditions in Python: operators that make nodes (see builder.py)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any, NoReturn, TypeAlias

import numpy as np

from cepkit.arguments import typed
from cepkit.errors import PatternError, shown
from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.conditions import (
    Aggregate,
    AllOf,
    AnyOf,
    Arithmetic,
    ArithmeticOperator,
    Attribute,
    Between,
    Call,
    Comparison,
    ComparisonOperator,
    Complement,
    Constant,
    Expression,
    InList,
    IsNull,
    Literal,
    Negative,
)
from cepkit.pattern.evaluation.functions import FUNCTIONS
from cepkit.pattern.limits import refuse_too_deep
from cepkit.pattern.printer import expression_text


class Term:
    """A value or a condition. Operators on it make further terms, and never compare it.

    Conditions are joined by ``&`` and ``|`` and negated by ``~``, each comparison in brackets:
    Python's own `and`, `or`, `not` and chained comparisons ask for a truth value, which a
    condition has only when events are there; so they raise.
    """

    __slots__ = ("expression",)
    __hash__ = None  # type: ignore[assignment]
    __contains__ = None
    __iter__ = None
    __array_ufunc__ = None  # what stands beside a constant of NumPy's is asked for the operator

    expression: Expression

    def __init__(self, expression: Expression) -> None:
        self.expression = expression

    def __bool__(self) -> NoReturn:
        raise PatternError(
            f"'{self}' has no truth value before events are there",
            expected="conditions joined by & and |, negated by ~",
            hint="bracket each comparison, (a.x < b.x) & (b.x < c.x); Python's and, or, not, in "
            "and chained comparisons cannot be used",
        )

    def __str__(self) -> str:
        refuse_too_deep(self.expression)
        return expression_text(self.expression)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    # Conditions

    def __lt__(self, other: Operand) -> Term:
        return self._compared("<", other)

    def __le__(self, other: Operand) -> Term:
        return self._compared("<=", other)

    def __gt__(self, other: Operand) -> Term:
        return self._compared(">", other)

    def __ge__(self, other: Operand) -> Term:
        return self._compared(">=", other)

    def __eq__(self, other: Operand) -> Term:  # type: ignore[override]
        return self._compared("=", other)

    def __ne__(self, other: Operand) -> Term:  # type: ignore[override]
        return self._compared("!=", other)

    def is_in(self, choices: Iterable[Operand]) -> Term:
        """Return the condition that this equals one of `choices`."""
        return Term(InList(self.expression, self._choices(choices)))

    def not_in(self, choices: Iterable[Operand]) -> Term:
        """Return the condition that this equals none of `choices`."""
        return Term(InList(self.expression, self._choices(choices), negated=True))

    def between(self, low: Operand, high: Operand) -> Term:
        """Return the condition that this lies between `low` and `high`, both included."""
        return Term(Between(self.expression, expression_of(low), expression_of(high)))

    def not_between(self, low: Operand, high: Operand) -> Term:
        """Return the condition that this lies below `low` or above `high`."""
        return Term(Between(self.expression, expression_of(low), expression_of(high), True))

    def is_null(self) -> Term:
        """Return the condition that this is missing (null or NaN)."""
        return Term(IsNull(self.expression))

    def is_not_null(self) -> Term:
        """Return the condition that this is not missing."""
        return Term(IsNull(self.expression, negated=True))

    def __and__(self, other: Operand) -> Term:
        return Term(AllOf(_joined(AllOf, self, other)))

    def __rand__(self, other: Operand) -> Term:
        return Term(AllOf(_joined(AllOf, other, self)))

    def __or__(self, other: Operand) -> Term:
        return Term(AnyOf(_joined(AnyOf, self, other)))

    def __ror__(self, other: Operand) -> Term:
        return Term(AnyOf(_joined(AnyOf, other, self)))

    def __invert__(self) -> Term:
        return Term(Complement(_condition(self)))

    # Values

    def __add__(self, other: Operand) -> Term:
        return _arithmetic("+", self, other)

    def __radd__(self, other: Operand) -> Term:
        return _arithmetic("+", other, self)

    def __sub__(self, other: Operand) -> Term:
        return _arithmetic("-", self, other)

    def __rsub__(self, other: Operand) -> Term:
        return _arithmetic("-", other, self)

    def __mul__(self, other: Operand) -> Term:
        return _arithmetic("*", self, other)

    def __rmul__(self, other: Operand) -> Term:
        return _arithmetic("*", other, self)

    def __truediv__(self, other: Operand) -> Term:
        return _arithmetic("/", self, other)

    def __rtruediv__(self, other: Operand) -> Term:
        return _arithmetic("/", other, self)

    def __mod__(self, other: Operand) -> Term:
        return _arithmetic("%", self, other)

    def __rmod__(self, other: Operand) -> Term:
        return _arithmetic("%", other, self)

    def __neg__(self) -> Term:
        return Term(Negative(self.expression))

    def __abs__(self) -> Term:
        return Term(Call("abs", (self.expression,)))

    def _compared(self, operator: ComparisonOperator, other: Operand) -> Term:
        if other is None:
            raise PatternError(
                f"'{self}' compared with None, which no value equals or differs from",
                hint="write .is_null() or .is_not_null()",
            )
        return Term(Comparison(operator, self.expression, expression_of(other)))

    def _choices(self, choices: Iterable[Operand]) -> tuple[Expression, ...]:
        if isinstance(choices, str) or not isinstance(choices, Iterable):
            raise PatternError(f"'{self}' in {shown(choices)}", expected="a list of values")
        return tuple(map(expression_of, choices))


class Variable:
    """A variable of a pattern. ``a.price`` and ``a["price"]`` are its attributes.

    Attributes whose names begin with an underscore, or are no identifiers, need the brackets.
    """

    __slots__ = ("_name",)
    __iter__ = None

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Term:
        # Notebooks and copiers look for methods with underscores on every object.
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Term:
        if not isinstance(name, str):
            raise PatternError(
                f"the attribute {shown(name)} of '{self}'", expected="a column's name"
            )
        return Term(Attribute(self._name, name))

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<Variable {self}>"


Operand: TypeAlias = Term | Constant


@typed
def var(name: str) -> Variable:
    """Return a variable of a pattern, to build conditions with."""
    return Variable(name)


@typed
def fn(function: str, *arguments: Operand) -> Term:
    """Return a call of a built-in or registered function: ``fn("sqrt", a.price)``.

    Also an aggregate, as ``fn("stddev", b.price)``.
    """
    if function.lower() in AGGREGATES and len(arguments) == 1:
        (what,) = arguments
        return _aggregate(function.lower(), what)  # type: ignore[arg-type]
    name = function.lower() if function.lower() in FUNCTIONS else function
    return Term(Call(name, tuple(map(expression_of, arguments))))


def count(what: Variable | Term | None = None) -> Term:
    """Return the number of events of a variable under KL; of matches, without an argument."""
    return Term(Aggregate("count")) if what is None else _aggregate("count", what)


def sum_(what: Term) -> Term:
    """Return the sum of an attribute: ``sum_(b.price)``."""
    return _aggregate("sum", what)


def avg(what: Term) -> Term:
    """Return the mean of an attribute: ``avg(b.price)``."""
    return _aggregate("avg", what)


def min_(what: Term) -> Term:
    """Return the least value of an attribute: ``min_(b.price)``."""
    return _aggregate("min", what)


def max_(what: Term) -> Term:
    """Return the greatest value of an attribute: ``max_(b.price)``."""
    return _aggregate("max", what)


def first(what: Term) -> Term:
    """Return an attribute of the first event of a set: ``first(b.price)``."""
    return _aggregate("first", what)


def last(what: Term) -> Term:
    """Return an attribute of the last event of a set: ``last(b.price)``."""
    return _aggregate("last", what)


def expression_of(value: Operand) -> Expression:
    """Return the node of a term, or of a constant of Python, NumPy or pandas.

    Raises:
        PatternError: It is neither, or a duration that is no whole number of microseconds.
    """
    if isinstance(value, Term):
        return value.expression
    node: Any = value
    if isinstance(node, Variable):
        raise PatternError(
            f"'{node}' alone is no value", expected=f"an attribute, as in {node}.price"
        )
    if isinstance(node, timedelta | np.timedelta64):
        return Literal(_duration(node))
    if type(node).__module__ == "numpy" and getattr(node, "shape", None) == ():
        node = node.item()
    if type(node) is int and not -(2**63) <= node < 2**63:
        raise PatternError(
            f"the integer {shown(node)} does not fit into 64 bits",
            hint="as a float, with a decimal point, it may be larger",
        )
    if node is None or type(node) in (int, float, str, bool):
        return Literal(node)
    hint = "a time is written as a text: a.ts > '2024-05-01 09:30:00'"
    raise PatternError(
        f"a constant of the type {type(node).__name__}",
        expected="a number, a text, a timedelta, True, False or None",
        hint=hint if isinstance(node, date) else None,
    )


def _duration(duration: Any) -> timedelta:
    """Return a duration as Python has it; those of pandas and NumPy may be finer, or none."""
    if type(duration) is timedelta:
        return duration
    delta: np.timedelta64 = (
        duration.to_timedelta64() if hasattr(duration, "to_timedelta64") else duration
    )
    exact = delta.astype("timedelta64[us]")
    units = np.datetime_data(delta.dtype)
    if np.isnat(delta) or units[0] in ("Y", "M", "generic") or exact != delta:
        raise PatternError(
            f"the duration {duration}", expected="a duration of whole microseconds, as events have"
        )
    return timedelta(microseconds=int(exact.astype(np.int64)))


def _arithmetic(operator: ArithmeticOperator, left: Operand, right: Operand) -> Term:
    return Term(Arithmetic(operator, expression_of(left), expression_of(right)))


def _aggregate(function: str, what: Variable | Term) -> Term:
    if isinstance(what, Variable):
        return Term(Aggregate(function, str(what)))
    operand = expression_of(what)
    if not isinstance(operand, Attribute):
        raise PatternError(
            f"{function} of '{what}'", expected="an attribute of a variable, as in b.price"
        )
    return Term(Aggregate(function, operand.variable, operand.name))


def _condition(operand: Operand) -> Expression:
    expression = expression_of(operand)
    if isinstance(expression, Arithmetic | Negative | Aggregate) or (
        isinstance(expression, Literal) and not isinstance(expression.value, bool | None)
    ):
        raise PatternError(
            f"'{expression_text(expression)}' is a value, not a condition",
            expected="something that is true or false, as in a.price < b.price",
            hint="& and | bind more tightly than <: bracket each comparison",
        )
    return expression


def _joined(
    kind: type[AllOf] | type[AnyOf], left: Operand, right: Operand
) -> tuple[Expression, ...]:
    items: list[Expression] = []
    for part in (_condition(left), _condition(right)):
        # (a & b) & c is what a & b & c is read as.
        items.extend(part.items if isinstance(part, kind) else (part,))
    return tuple(items)
