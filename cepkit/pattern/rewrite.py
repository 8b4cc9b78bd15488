"""Conditions without NOT: what holds is then decided by two truth values instead of three.

A condition counts only where it is true. With every NOT pushed down to the comparisons, "false"
and "unknown" need not be told apart any more: each leaf says whether it is true, AND and OR do
the rest. So no engine carries validity masks through a condition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from cepkit.pattern.conditions import (
    Aggregate,
    AllOf,
    AnyOf,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Comparison,
    ComparisonOperator,
    Complement,
    Expression,
    InList,
    IsNull,
    Literal,
    Negative,
)

OPPOSITE: dict[ComparisonOperator, ComparisonOperator] = {
    "<": ">=",
    "<=": ">",
    "=": "!=",
    "!=": "=",
    ">=": "<",
    ">": "<=",
}
"""What holds where a comparison is false - and not where it is unknown."""

MIRRORED: dict[ComparisonOperator, ComparisonOperator] = {
    "<": ">",
    "<=": ">=",
    "=": "=",
    "!=": "!=",
    ">=": "<=",
    ">": "<",
}
"""The same comparison with its sides exchanged."""


def without_not(condition: Expression) -> Expression:
    """Return a condition that is true exactly where `condition` is.

    The result is made of AND, OR, comparisons, IN, IS NULL and truth constants alone; a truth
    value that stands as a condition (a boolean attribute, a predicate of the user's) is compared
    with TRUE or FALSE.
    """
    return _rewrite(condition, truth=True)


def _rewrite(condition: Expression, truth: bool) -> Expression:
    """Return what is true exactly where `condition` is `truth`."""
    match condition:
        case Complement(item):
            return _rewrite(item, not truth)
        case AllOf(items) | AnyOf(items):
            parts = tuple(_rewrite(item, truth) for item in items)
            both = isinstance(condition, AllOf) == truth
            return AllOf(parts, condition.span) if both else AnyOf(parts, condition.span)
        case Comparison(operator, left, right, span):
            return condition if truth else Comparison(OPPOSITE[operator], left, right, span)
        case Between(operand, low, high, negated, span):
            if truth != negated:
                return AllOf(
                    (Comparison(">=", operand, low, span), Comparison("<=", operand, high, span)),
                    span,
                )
            return AnyOf(
                (Comparison("<", operand, low, span), Comparison(">", operand, high, span)), span
            )
        case InList(operand, choices, negated, span):
            return InList(operand, choices, negated == truth, span)
        case IsNull(operand, negated, span):
            return IsNull(operand, negated == truth, span)
        case Literal(None):
            return Literal(False, condition.span)
        case Literal(bool(value)):
            return Literal(value == truth, condition.span)
        case Attribute() | Call():
            return Comparison("=", condition, Literal(truth), condition.span)
        case _:
            raise AssertionError("checks.py lets only conditions stand here")


def replaced(
    expression: Expression, new: Callable[[Attribute | Aggregate], Expression]
) -> Expression:
    """Return `expression` with `new` put in place of each attribute and each set function."""

    def all_of(items: tuple[Expression, ...]) -> tuple[Expression, ...]:
        return tuple(replaced(item, new) for item in items)

    match expression:
        case Attribute() | Aggregate():
            return new(expression)
        case Literal():
            return expression
        case Negative(operand) | IsNull(operand):
            return replace(expression, operand=replaced(operand, new))
        case Complement(item):
            return replace(expression, item=replaced(item, new))
        case Arithmetic(_, left, right) | Comparison(_, left, right):
            return replace(expression, left=replaced(left, new), right=replaced(right, new))
        case Call(_, arguments):
            return replace(expression, arguments=all_of(arguments))
        case InList(operand, choices):
            return replace(expression, operand=replaced(operand, new), choices=all_of(choices))
        case Between(operand, low, high):
            return replace(
                expression,
                operand=replaced(operand, new),
                low=replaced(low, new),
                high=replaced(high, new),
            )
        case AllOf(items) | AnyOf(items):
            return replace(expression, items=all_of(items))
        case _:
            assert_never(expression)
