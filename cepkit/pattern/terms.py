"""Variables and terms for conditions in Python: operators that make nodes (see builder.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from typing import Any, NoReturn, TypeAlias, overload

import numpy as np

from cepkit.arguments import typed
from cepkit.errors import PatternError, shown
from cepkit.pattern import conditions as c
from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.evaluation.functions import FUNCTIONS
from cepkit.pattern.given_times import duration_of, time_of
from cepkit.pattern.kinds import defined
from cepkit.pattern.limits import refuse_too_deep
from cepkit.pattern.nodes import Kind
from cepkit.pattern.printer import expression_text
from cepkit.pattern.rewrite import renamed
from cepkit.pattern.zones import by_calendar

_Operation: TypeAlias = "Callable[[Term, Operand], Term]"


def _comparing(operator: c.ComparisonOperator) -> _Operation:
    def comparison(one: Term, other: Operand) -> Term:
        if other is None:
            raise PatternError(
                f"'{one}' compared with None, which no value equals or differs from",
                hint="write .is_null() or .is_not_null()",
            )
        return Term(c.Comparison(operator, one.expression, expression_of(other)))

    return comparison


def _computing(operator: c.ArithmeticOperator) -> tuple[_Operation, _Operation]:
    """Return the operation with the other operand on the right, and on the left."""

    def operation(one: Operand, other: Operand) -> Term:
        return Term(c.Arithmetic(operator, expression_of(one), expression_of(other)))

    return operation, lambda one, other: operation(other, one)


def _joining(kind: type[c.AllOf] | type[c.AnyOf]) -> tuple[_Operation, _Operation]:
    """Return the conjunction or disjunction with the other condition on the right, and the left."""

    def conjunction(one: Operand, other: Operand) -> Term:
        items: list[c.Expression] = []
        for part in (_condition(one), _condition(other)):
            # Python reads a & b & c as (a & b) & c.
            items.extend(part.items if isinstance(part, kind) else (part,))
        return Term(kind(tuple(items)))

    return conjunction, lambda one, other: conjunction(other, one)


class Term:
    """A value or a condition. Operators on it make further terms, and never compare it.

    Conditions are joined by ``&`` and ``|`` and negated by ``~``, each comparison in brackets.
    Python's own `and`, `or`, `not` and chained comparisons ask for a truth value, which a
    condition has only over events, so they raise.
    """

    __slots__ = ("expression",)
    __hash__ = None  # type: ignore[assignment]
    __contains__ = None
    __iter__ = None
    __array_ufunc__ = None  # beside a NumPy constant the operator of the term counts

    expression: c.Expression

    def __init__(self, expression: c.Expression) -> None:
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

    __lt__ = _comparing("<")
    __le__ = _comparing("<=")
    __gt__ = _comparing(">")
    __ge__ = _comparing(">=")
    __eq__ = _comparing("=")  # type: ignore[assignment]
    __ne__ = _comparing("!=")  # type: ignore[assignment]

    def is_in(self, choices: Iterable[Operand]) -> Term:
        """Return the condition that this equals one of `choices`."""
        return Term(c.InList(self.expression, self._choices(choices)))

    def not_in(self, choices: Iterable[Operand]) -> Term:
        """Return the condition that this equals none of `choices`."""
        return Term(c.InList(self.expression, self._choices(choices), negated=True))

    def between(self, low: Operand, high: Operand) -> Term:
        """Return the condition that this lies between `low` and `high`, both included."""
        return Term(c.Between(self.expression, expression_of(low), expression_of(high)))

    def not_between(self, low: Operand, high: Operand) -> Term:
        """Return the condition that this lies below `low` or above `high`."""
        return Term(c.Between(self.expression, expression_of(low), expression_of(high), True))

    def like(self, pattern: Operand) -> Term:
        """Return the condition that this is like `pattern`: % is any characters, _ one."""
        return Term(c.Call("like", (self.expression, expression_of(pattern))))

    def ilike(self, pattern: Operand) -> Term:
        """Return the condition that this is like `pattern`, in upper or lower case."""
        return Term(c.Call("ilike", (self.expression, expression_of(pattern))))

    def matches(self, regex: Operand) -> Term:
        """Return the condition that the regular expression `regex` is found in this."""
        return Term(c.Call("matches", (self.expression, expression_of(regex))))

    def is_null(self) -> Term:
        """Return the condition that this is missing (null or NaN)."""
        return Term(c.IsNull(self.expression))

    def is_not_null(self) -> Term:
        """Return the condition that this is not missing."""
        return Term(c.IsNull(self.expression, negated=True))

    __and__, __rand__ = _joining(c.AllOf)
    __or__, __ror__ = _joining(c.AnyOf)

    def __invert__(self) -> Term:
        return Term(c.Complement(_condition(self)))

    # Values

    __add__, __radd__ = _computing("+")
    __sub__, __rsub__ = _computing("-")
    __mul__, __rmul__ = _computing("*")
    __truediv__, __rtruediv__ = _computing("/")
    __mod__, __rmod__ = _computing("%")

    def __neg__(self) -> Term:
        return Term(c.Negative(self.expression))

    def __abs__(self) -> Term:
        return Term(c.Call("abs", (self.expression,)))

    def _choices(self, choices: Iterable[Operand]) -> tuple[c.Expression, ...]:
        if isinstance(choices, str) or not isinstance(choices, Iterable):
            raise PatternError(f"'{self}' in {shown(choices)}", expected="a list of values")
        return tuple(map(expression_of, choices))


class Variable:
    """A variable of a pattern. ``a.price`` and ``a["price"]`` are its attributes.

    Attributes whose names begin with an underscore, or are no identifiers, need the brackets.
    ``b[2].price`` is an attribute of the second member of a set, ``b[-1].price`` of the last one.
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

    @overload
    def __getitem__(self, name: str) -> Term: ...
    @overload
    def __getitem__(self, name: int) -> Member: ...
    def __getitem__(self, name: str | int) -> Term | Member:
        if type(name) is int and 0 < abs(name) <= c.FARTHEST:
            return Member(self._name, name)
        if not isinstance(name, str):
            raise PatternError(
                f"the attribute {shown(name)} of '{self}'",
                expected="a column's name",
                hint="the members of a set are numbered from 1: b[1].price, b[-1].price",
            )
        return Term(c.Attribute(self._name, name))

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<Variable {self}>"


class Member:
    """One member of a set: ``b[2].price`` or ``b[2]["price"]`` is an attribute of the second."""

    __slots__ = ("_name", "_place")
    __iter__ = None

    def __init__(self, name: str, place: int) -> None:
        self._name = name
        self._place = place

    def __getattr__(self, name: str) -> Term:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Term:
        if not isinstance(name, str):
            raise PatternError(
                f"the attribute {shown(name)} of '{self}'", expected="a column's name"
            )
        return Term(c.Aggregate(c.member_function(self._place), self._name, name))

    def __str__(self) -> str:
        return f"{self._name}[{self._place}]"

    def __repr__(self) -> str:
        return f"<Member {self}>"


Operand: TypeAlias = Term | c.Constant


@typed
def var(name: str) -> Variable:
    """Return a variable of a pattern, to build conditions with."""
    return Variable(name)


@typed
def fn(function: str, *arguments: Operand) -> Term:
    """Return a call of a function or an aggregate: ``fn("sqrt", a.price)``."""
    if function.lower() in AGGREGATES and len(arguments) == 1:
        (what,) = arguments
        return _aggregate(function.lower(), what)  # type: ignore[arg-type]
    name = function.lower() if function.lower() in FUNCTIONS else function
    return Term(c.Call(name, tuple(map(expression_of, arguments))))


def count(what: Variable | Term | None = None, *, distinct: bool = False) -> Term:
    """Return the number of events of a set, of (different) values, or, of nothing, of matches."""
    function = c.DISTINCT if distinct else "count"
    return Term(c.Aggregate("count")) if what is None else _aggregate(function, what)


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


def prev(what: Term, distance: int = 1) -> Term:
    """Return an attribute of the member before each member of a set, as in a rising run.

    Args:
        what: The attribute.
        distance: The number of members to go back, as in ``b[i-2].price``.

    Example:
        >>> b = Variable("b")
        >>> print(b.price > prev(b.price))
        b.price > prev(b.price)
    """
    if type(distance) is not int or not 1 <= distance <= c.FARTHEST:
        raise PatternError(
            f"prev({what}, {shown(distance)})", expected="a number of members, from 1 on"
        )
    return _aggregate(c.prev_function(distance), what)


def running(what: Term, *, before: bool = False) -> Term:
    """Return a function over the members of a set up to each, instead of all members.

    Args:
        what: The function of the set.
        before: Whether to leave out the member itself; the first member then has no value.

    Example:
        >>> b = Variable("b")
        >>> print(running(sum_(b.price)) < 100)
        sum(b[..i].price) < 100
        >>> print(b.price > running(avg(b.price), before=True))
        b.price > avg(b[..i-1].price)
    """
    node = expression_of(what)
    known = {*AGGREGATES, c.DISTINCT, "first", "last"}
    if not isinstance(node, c.Aggregate) or node.function not in known:
        raise PatternError(
            f"running({what})", expected="a function of a set, as in running(sum_(b.price))"
        )
    prefix = c.EARLIER if before else c.RUNNING
    return Term(c.Aggregate(prefix + node.function, node.variable, node.attribute))


def same_day(one: Variable | Term, other: Variable | Term) -> Term:
    """Return the condition that two events, or times, are on one day: ``same_day(a, b)``."""
    return _by_calendar("same_day", one, other)


def same_week(one: Variable | Term, other: Variable | Term) -> Term:
    """Return the condition that two events, or times, are in one week, from Monday on."""
    return _by_calendar("same_week", one, other)


def _by_calendar(name: str, *times: Variable | Term) -> Term:
    nodes = [
        c.Attribute("", str(time)) if isinstance(time, Variable) else expression_of(time)
        for time in times
    ]
    return Term(by_calendar(name, nodes, None))


def expression_of(value: Operand) -> c.Expression:
    """Return the node of a term, or of a constant of Python, NumPy or pandas.

    Raises:
        PatternError: The value is neither, or has no exact node, such as a duration of
            nanoseconds.
    """
    if isinstance(value, Term):
        return value.expression
    node: Any = value
    if isinstance(node, Variable | Member):
        raise PatternError(
            f"'{node}' alone is not a value", expected=f"an attribute, as in {node}.price"
        )
    if isinstance(node, timedelta | np.timedelta64):
        return c.Literal(duration_of(node))
    if isinstance(node, datetime | np.datetime64):
        return c.Literal(time_of(node), zone="UTC" if getattr(node, "tzinfo", None) else None)
    if type(node).__module__ == "numpy" and getattr(node, "shape", None) == ():
        node = node.item()
    if type(node) is int and not -(2**63) <= node < 2**63:
        raise PatternError(
            f"the integer {shown(node)} does not fit into 64 bits",
            hint="as a float, with a decimal point, it may be larger",
        )
    if node is None or type(node) in (int, float, str, bool):
        return c.Literal(node)
    hint = "a time is written as a text, as '2024-05-01', or a datetime"
    raise PatternError(
        f"a constant of the type {type(node).__name__}",
        expected="a number, a text, a datetime, a timedelta, True, False or None",
        hint=hint if isinstance(node, date) else None,
    )


def _aggregate(function: str, what: Variable | Term) -> Term:
    if isinstance(what, Variable):
        return Term(c.Aggregate(function, str(what)))
    operand = expression_of(what)
    if not isinstance(operand, c.Attribute):
        if function in (*AGGREGATES, c.DISTINCT):
            return Term(c.ValueAggregate(function, argument=operand))
        raise PatternError(
            f"{function} of '{what}'", expected="an attribute of a variable, as in b.price"
        )
    return Term(c.Aggregate(function, operand.variable, operand.name))


def aggregate_of(term: Term) -> c.Aggregate:
    """Return the aggregate of AGG that a term is."""
    match expression_of(term):
        case c.Aggregate(c.DISTINCT, str(variable), str(name)):
            return c.ValueAggregate(c.DISTINCT, argument=c.Attribute(variable, name))
        case c.Aggregate() as aggregate:
            return aggregate
    raise PatternError(
        f"{shown(term)} is not an aggregate", expected="count(), or sum_(c.price) and the like"
    )


def _condition(operand: Operand) -> c.Expression:
    expression = expression_of(operand)
    if isinstance(expression, c.Arithmetic | c.Negative | c.Aggregate) or (
        isinstance(expression, c.Literal) and not isinstance(expression.value, bool | None)
    ):
        raise PatternError(
            f"'{expression_text(expression)}' is a value, not a condition",
            expected="something that is true or false, as in a.price < b.price",
            hint="& and | bind more tightly than <: bracket each comparison",
        )
    return expression


@typed
def kind(name: str, condition: Term, base: str | Kind | None = None) -> Kind:
    """Return a kind of events, as DEFINE has it: those that satisfy a condition.

    Args:
        name: Its name.
        condition: A condition on one variable, of any name.
        base: The type or the kind that its events also are; None for any.

    Example:
        >>> from cepkit.pattern.builder import event, seq
        >>> e = var("e")
        >>> hot, cold = kind("hot", e.temp > 30), kind("cold", e.temp < 20)
        >>> print(seq(event("a", hot), event("b", cold)).within("10 minutes"))
        DEFINE hot AS temp > 30, cold AS temp < 20
        PATTERN SEQ(hot a, cold b)
        WITHIN 10 minutes
    """
    variables = sorted(c.variables_of(condition.expression))
    if len(variables) != 1:
        raise PatternError(
            f"a kind with a condition on {', '.join(variables) or 'no event'}",
            expected='one variable, as in kind("hot", var("e").temp > 30)',
        )
    return defined(name, renamed(condition.expression, {variables[0]: ""}), base)
