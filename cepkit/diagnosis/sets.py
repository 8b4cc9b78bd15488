"""Functions of sets of events, as values that conditions read: `count(b)`, `avg(b.price)`.

A set function becomes an attribute with a name that no column has, so that a condition with it
is evaluated like any other.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, cast

import numpy as np

from cepkit.pattern.conditions import Aggregate, Attribute, Expression, SetFunction
from cepkit.pattern.operations import as_floats
from cepkit.stream.columns import MISSING_INTEGER, Column

_MARK = "\0"


def without_sets(expression: Expression) -> Expression:
    """Return the expression with its set functions as attributes that `set_function` knows."""
    return cast("Expression", _rewritten(expression))


def _rewritten(part: Any) -> Any:
    if isinstance(part, tuple):
        return tuple(map(_rewritten, part))
    if not isinstance(part, Expression):
        return part
    if isinstance(part, Aggregate):
        name = f"{_MARK}{part.function}{_MARK}{part.attribute or ''}"
        return Attribute(part.variable or "", name, part.span)
    changed = {f.name: _rewritten(getattr(part, f.name)) for f in fields(part) if f.name != "span"}
    return replace(part, **changed)


def set_function(attribute: str) -> tuple[SetFunction, str | None] | None:
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
    match function:
        case "count":
            counts = np.ones(size, np.int64) if column is None else (~column.missing()).astype(int)
            return Column("integer", counts.astype(np.int64))
        case "avg":
            assert column is not None
            return Column("float", as_floats(column), has_missing=True)
        case _:
            assert column is not None
            return column


def of_members(function: SetFunction, column: Column | None, size: int) -> Column:
    """Return the function of one set, as a column of one row.

    Missing values are left out, but by `first` and `last`.

    Args:
        function: Which.
        column: The attribute of the members in stream order; None for `count(b)`.
        size: How many.
    """
    if column is None:
        return Column("integer", np.array([size]))
    there = np.flatnonzero(~column.missing())
    match function:
        case "count":
            return Column("integer", np.array([len(there)]))
        case "first":
            return column.slice(0, 1)
        case "last":
            return column.slice(size - 1, size)
    if not len(there):
        return Column("null", np.array([np.nan]), has_missing=True)
    known = column.take(there)
    match function:
        case "min" | "max":
            at = int(getattr(np, f"arg{function}")(known.values))
            return Column(known.kind, known.values[at : at + 1], known.dictionary)
        case "avg":
            return Column("float", np.array([as_floats(known).mean()]))
        case "sum" if known.kind == "integer":
            total = sum(map(int, known.values.tolist()))
            fits = abs(total) < 2**63
            return Column(
                "integer", np.array([total if fits else MISSING_INTEGER]), has_missing=not fits
            )
        case _:
            return Column("float", np.array([as_floats(known).sum()]))
