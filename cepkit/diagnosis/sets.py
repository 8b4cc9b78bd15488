"""Functions of sets of events, as values that conditions read: `count(b)`, `avg(b.price)`.

A set function becomes an attribute with a name that no column has, so that a condition with it
is evaluated like any other.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from cepkit.pattern.conditions import Aggregate, Attribute, Expression, SetFunction
from cepkit.pattern.rewrite import replaced
from cepkit.pattern.set_functions import set_function
from cepkit.stream.columns import Column

_MARK = "\0"


def without_sets(expression: Expression) -> Expression:
    """Return the expression with its set functions as attributes that `function_named` knows."""

    def new(node: Attribute | Aggregate) -> Expression:
        if isinstance(node, Attribute):
            return node
        name = f"{_MARK}{node.function}{_MARK}{node.attribute or ''}"
        return Attribute(node.variable or "", name, node.span)

    return replaced(expression, new)


def function_named(attribute: str) -> tuple[SetFunction, str | None] | None:
    """Return the function and its attribute that a name of `without_sets` stands for, or None."""
    if not attribute.startswith(_MARK):
        return None
    _, function, name = attribute.split(_MARK, 2)
    return cast("SetFunction", function), name or None


def of_single(function: SetFunction, column: Column | None, size: int) -> Column:
    """Return the function of sets of one event each.

    Args:
        function: Which.
        column: The attribute of the events; None for `count(b)`.
        size: How many.
    """
    if function in ("first", "last"):
        assert column is not None
        return column
    return set_function(Aggregate(function), column, np.arange(size + 1))


def of_members(function: SetFunction, column: Column | None, size: int) -> Column:
    """Return the function of one set, as a column of one row.

    Missing values are left out, but by `first` and `last`.

    Args:
        function: Which.
        column: The attribute of the members in stream order; None for `count(b)`.
        size: How many.
    """
    if function in ("first", "last"):
        assert column is not None
        return column.slice(0, 1) if function == "first" else column.slice(size - 1, size)
    return set_function(Aggregate(function), column, np.array([0, size]))
