"""Conditions without NOT, so that two truth values suffice instead of three.

A condition counts only where it is true. With every NOT pushed down to the comparisons, "false" and
"unknown" have the same effect: each leaf is true or not, and AND and OR combine them. So no engine
carries validity masks through a condition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import assert_never

from cepkit.pattern import conditions as c

OPPOSITE: dict[c.ComparisonOperator, c.ComparisonOperator] = {
    "<": ">=",
    "<=": ">",
    "=": "!=",
    "!=": "=",
    ">=": "<",
    ">": "<=",
}
"""The comparison that is true where another is false, and not true where it is unknown."""

MIRRORED: dict[c.ComparisonOperator, c.ComparisonOperator] = {
    "<": ">",
    "<=": ">=",
    "=": "=",
    "!=": "!=",
    ">=": "<=",
    ">": "<",
}
"""The same comparison with its sides exchanged."""


def without_not(condition: c.Expression) -> c.Expression:
    """Return a condition that is true exactly where `condition` is.

    The result has only AND, OR, comparisons, IN, IS NULL and truth constants. A truth value that
    is a condition (a boolean attribute, a user's predicate) becomes a comparison with TRUE or
    FALSE.
    """
    return _rewrite(condition, truth=True)


def _rewrite(condition: c.Expression, truth: bool) -> c.Expression:
    """Return a condition that is true exactly where `condition` is `truth`."""
    match condition:
        case c.Complement(item):
            return _rewrite(item, not truth)
        case c.AllOf(items) | c.AnyOf(items):
            parts = tuple(_rewrite(item, truth) for item in items)
            both = isinstance(condition, c.AllOf) == truth
            return c.AllOf(parts, condition.span) if both else c.AnyOf(parts, condition.span)
        case c.Comparison(operator, left, right, span):
            return condition if truth else c.Comparison(OPPOSITE[operator], left, right, span)
        case c.Between(operand, low, high, negated, span):
            if truth != negated:
                return c.AllOf(
                    (
                        c.Comparison(">=", operand, low, span),
                        c.Comparison("<=", operand, high, span),
                    ),
                    span,
                )
            return c.AnyOf(
                (c.Comparison("<", operand, low, span), c.Comparison(">", operand, high, span)),
                span,
            )
        case c.InList(operand, choices, negated, span):
            return c.InList(operand, choices, negated == truth, span)
        case c.IsNull(operand, negated, span):
            return c.IsNull(operand, negated == truth, span)
        case c.Literal(None):
            return c.Literal(False, condition.span)
        case c.Literal(bool(value)):
            return c.Literal(value == truth, condition.span)
        case c.Attribute() | c.Call():
            return c.Comparison("=", condition, c.Literal(truth), condition.span)
        case _:
            raise AssertionError("checks.py lets only conditions stand here")


def replaced(
    expression: c.Expression, new: Callable[[c.Attribute | c.Aggregate], c.Expression]
) -> c.Expression:
    """Return `expression` with each attribute and each set function replaced by its `new`."""
    # Constructors, because dataclasses.replace would take most of the time.
    match expression:
        case c.Attribute() | c.Aggregate():
            return new(expression)
        case c.Literal():
            return expression
        case c.Comparison(operator, left, right, span):
            return c.Comparison(operator, replaced(left, new), replaced(right, new), span)
        case c.Arithmetic(operation, left, right, span):
            return c.Arithmetic(operation, replaced(left, new), replaced(right, new), span)
        case c.Negative(operand, span):
            return c.Negative(replaced(operand, new), span)
        case c.IsNull(operand, negated, span):
            return c.IsNull(replaced(operand, new), negated, span)
        case c.Complement(item, span):
            return c.Complement(replaced(item, new), span)
        case c.Call(function, arguments, span):
            new_arguments = tuple(replaced(each, new) for each in arguments)
            return c.Call(function, new_arguments, span, zone=expression.zone)
        case c.InList(operand, choices, negated, span):
            new_choices = tuple(replaced(each, new) for each in choices)
            return c.InList(replaced(operand, new), new_choices, negated, span)
        case c.Between(operand, low, high, negated, span):
            return c.Between(
                replaced(operand, new), replaced(low, new), replaced(high, new), negated, span
            )
        case c.AllOf(items, span):
            return c.AllOf(tuple(replaced(item, new) for item in items), span)
        case c.AnyOf(items, span):
            return c.AnyOf(tuple(replaced(item, new) for item in items), span)
        case _:
            assert_never(expression)


def renamed(expression: c.Expression, names: Mapping[str, str]) -> c.Expression:
    """Return `expression` with the new names that `names` has for its variables."""

    def new(node: c.Attribute | c.Aggregate) -> c.Expression:
        variable = node.variable or ""
        return about(node, names[variable]) if variable in names else node

    return replaced(expression, new)


def about(node: c.Attribute | c.Aggregate, variable: str) -> c.Expression:
    """Return an attribute or a set function of another variable."""
    match node:
        case c.Attribute(_, name, span):
            return c.Attribute(variable, name, span)
        case c.Aggregate(function, _, attribute, span):
            return c.Aggregate(function, variable, attribute, span)
