"""Conditions as trees of sqlglot, with the same answer where a value is missing.

Times and durations become times that are moved: `b.ts - a.ts <= 5 minutes` is
`b.ts <= a.ts + INTERVAL '5' MINUTE`, which every system can say and use for a join.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TypeAlias, assert_never

from sqlglot import exp

from cepkit.errors import UnsupportedError
from cepkit.pattern import conditions as c
from cepkit.pattern.moments import since_1970
from cepkit.pattern.normal_form import next_in
from cepkit.pattern.printer import expression_text
from cepkit.pattern.rewrite import MIRRORED
from cepkit.pattern.sql.table import Table

Tree: TypeAlias = exp.Expr

_COMPARISONS: Mapping[c.ComparisonOperator, type[exp.Binary]] = {
    "<": exp.LT, "<=": exp.LTE, "=": exp.EQ, "!=": exp.NEQ, ">=": exp.GTE, ">": exp.GT,
}  # fmt: skip
_ARITHMETIC: Mapping[c.ArithmeticOperator, type[exp.Binary]] = {
    "+": exp.Add, "-": exp.Sub, "*": exp.Mul,
}  # fmt: skip


def _where(holds: Tree, value: Tree) -> Tree:
    return exp.Case(ifs=[exp.If(this=holds, true=value)])


def _positive(x: Tree) -> Tree:
    return exp.GT(this=x.copy(), expression=exp.Literal.number(0))


FUNCTIONS: Mapping[str, Callable[..., Tree]] = {
    "abs": lambda x: exp.Abs(this=x),
    "sqrt": lambda x: _where(
        exp.GTE(this=x.copy(), expression=exp.Literal.number(0)), exp.Sqrt(this=x)
    ),
    "log": lambda x: _where(_positive(x), exp.Ln(this=x)),
    "lower": lambda x: exp.Lower(this=x),
    "upper": lambda x: exp.Upper(this=x),
    "length": lambda x: exp.Length(this=x),
    "starts_with": lambda x, part: exp.StartsWith(this=x, expression=part),
}
"""The functions that mean the same in SQL."""


def comparison(operator: c.ComparisonOperator, left: Tree, right: Tree) -> Tree:
    """Return `left operator right`."""
    return _COMPARISONS[operator](this=_bracketed(left), expression=_bracketed(right))


def all_of(conditions: list[Tree]) -> Tree:
    """Return the conjunction of conditions, TRUE for none."""
    return exp.and_(*conditions) if conditions else exp.true()


def tree_of(expression: c.Expression, table: Table) -> Tree:
    """Return an expression of a pattern as a tree of SQL.

    Raises:
        UnsupportedError: SQL cannot express it exactly.
    """

    def tree(part: c.Expression) -> Tree:
        return tree_of(part, table)

    match expression:
        case c.Literal():
            return _constant(expression, table)
        case c.Attribute(variable, name):
            if next_in(expression) is not None:
                raise UnsupportedError(
                    "NEXT counts the events between two others, which a join cannot",
                    hint="STRATEGY partition-contiguity for a whole sequence without gaps",
                    span=expression.span,
                )
            return table.column(variable, name)
        case c.Negative(operand):
            return exp.Neg(this=_bracketed(tree(operand)))
        case c.Arithmetic():
            return _arithmetic(expression, table)
        case c.Call(function, arguments):
            if function not in FUNCTIONS:
                raise _without_words(expression, f"the function {function}")
            return FUNCTIONS[function](*map(tree, arguments))
        case c.Aggregate():
            raise _without_words(expression, "a function of a set")
        case c.Comparison(operator, left, right):
            moved = _of_times(operator, left, right, table)
            return comparison(operator, tree(left), tree(right)) if moved is None else moved
        case c.InList() | c.Between() | c.IsNull() | c.AllOf() | c.AnyOf() | c.Complement():
            return _truth_of(expression, table)
        case _:
            assert_never(expression)


def _truth_of(
    condition: c.InList | c.Between | c.IsNull | c.AllOf | c.AnyOf | c.Complement, table: Table
) -> Tree:
    def tree(part: c.Expression) -> Tree:
        return tree_of(part, table)

    match condition:
        case c.InList(operand, choices, negated):
            listed: Tree = exp.In(this=_bracketed(tree(operand)), expressions=[*map(tree, choices)])
            return exp.not_(listed) if negated else listed
        case c.Between(operand, low, high, negated):
            both = (c.Comparison(">=", operand, low), c.Comparison("<=", operand, high))
            inside = all_of([*map(tree, both)])
            return exp.not_(inside) if negated else inside
        case c.IsNull(operand, negated):
            missing = exp.Is(this=_bracketed(tree(operand)), expression=exp.Null())
            return exp.not_(missing) if negated else missing
        case c.AllOf(items):
            return all_of([*map(tree, items)])
        case c.AnyOf(items):
            return exp.or_(*map(tree, items))
        case c.Complement(item):
            return exp.not_(tree(item))
        case _:
            assert_never(condition)


def _bracketed(tree: Tree) -> Tree:
    return exp.paren(tree, copy=False) if isinstance(tree, exp.Binary | exp.Not) else tree


def _without_words(expression: c.Expression, what: str) -> UnsupportedError:
    return UnsupportedError(
        f"SQL cannot express {what} exactly: '{expression_text(expression)}'",
        hint="run the pattern with cepkit, or leave the condition out and filter its rows",
        span=expression.span,
    )


def _constant(literal: c.Literal, table: Table) -> Tree:
    match literal.value:
        case datetime() as moment:
            since = timedelta(microseconds=since_1970(moment, literal.zone))
            if table.unit is not None:
                return table.shifted(exp.Literal.number(0), since)
            text = (datetime(1970, 1, 1) + since).isoformat(sep=" ")  # noqa: DTZ001 - in UTC
            return exp.cast(exp.Literal.string(text), exp.DType.TIMESTAMP)
        case timedelta():
            raise _without_words(literal, "a duration beside no difference of two times")
        case value:
            return exp.convert(value)


def _arithmetic(expression: c.Arithmetic, table: Table) -> Tree:
    operator, left, right = expression.operator, expression.left, expression.right
    match operator, left, right:
        case (("+" | "-"), _, c.Literal(timedelta() as by)):
            return table.shifted(tree_of(left, table), by if operator == "+" else -by)
        case "+", c.Literal(timedelta() as by), _:
            return table.shifted(tree_of(right, table), by)
    times = (table.time, c.TIME)
    if any(isinstance(side, c.Attribute) and side.name in times for side in (left, right)):
        raise _without_words(expression, "arithmetic with times")
    one, two = (_bracketed(tree_of(side, table)) for side in (left, right))
    if operator == "/":
        divisor = exp.Nullif(this=two, expression=exp.Literal.number(0))
        return exp.Div(this=exp.cast(one, exp.DType.DOUBLE), expression=divisor)
    if operator == "%":
        return exp.Mod(this=one, expression=exp.Nullif(this=two, expression=exp.Literal.number(0)))
    return _ARITHMETIC[operator](this=one, expression=two)


def _of_times(
    operator: c.ComparisonOperator, left: c.Expression, right: c.Expression, table: Table
) -> Tree | None:
    """Return a comparison of a difference with a duration; None for any other comparison."""
    match left, right:
        case c.Arithmetic("-", later, earlier), c.Literal(timedelta() as by):
            moved = table.shifted(tree_of(earlier, table), by)
            return comparison(operator, tree_of(later, table), moved)
        case c.Literal(timedelta()), c.Arithmetic("-"):
            return _of_times(MIRRORED[operator], right, left, table)
        case c.Call("abs", (c.Arithmetic("-", one, two),)), c.Literal(timedelta() as by):
            if operator not in ("<", "<="):
                return None
            gaps = (c.Arithmetic("-", one, two), c.Arithmetic("-", two, one))
            sides = [_of_times(operator, gap, c.Literal(by), table) for gap in gaps]
            return all_of([side for side in sides if side is not None])
        case _:
            return None
