"""Conditions without NOT, so that two truth values suffice instead of three.

A condition counts only where it is true. With every NOT pushed down to the comparisons, "false" and
"unknown" have the same effect: each leaf is true or not, and AND and OR combine them. So no engine
carries validity masks through a condition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cepkit.pattern import conditions as c
from cepkit.pattern.trees import mapped

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
    if isinstance(expression, c.Attribute | c.Aggregate):
        return new(expression)
    return mapped(expression, lambda part: replaced(part, new))


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
