"""Type checks of conditions against the columns of a stream.

A text alone does not say what attributes hold, so this is asked where a query meets a stream,
before any event is looked at. Cost: O(nodes of the conditions).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, assert_never

from cepkit.errors import PatternError
from cepkit.pattern import conditions as c
from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.aggregates.contract import TAKES
from cepkit.pattern.evaluation.functions.registered import computed_kind
from cepkit.pattern.evaluation.kinds import (
    ValueKind,
    check_comparable,
    constant_kind,
    set_function_kind,
    word,
)
from cepkit.pattern.moments import moments
from cepkit.pattern.printer import aggregate_text
from cepkit.pattern.query import Query

ReadKind: TypeAlias = Callable[[str, str], ValueKind]
"""Gives the kind of (variable, attribute)."""


def check_kinds(query: Query, kinds: Mapping[str, ValueKind]) -> None:
    """Check that a query can compare and compute the columns of a stream.

    Args:
        query: A query that passed `checks.check`.
        kinds: What attributes hold, at least those that are read for matches.

    Raises:
        PatternError: It does not, as in `b.ts - a.ts > 8`; the error points at the place.
    """
    for clause, names in (("PARTITION BY", query.partition_by), ("GROUP BY", query.group_by)):
        for name in names:
            if kinds.get(name) == "array":
                raise PatternError(
                    f"{clause} '{name}', which holds arrays",
                    expected="an attribute whose values are numbers, texts, times or truth values",
                )
    for condition in c.conjuncts(query.where):
        # No choice at the ORs may have a condition, or a group one repetition alone, without one
        # before it: nothing of it is read then.
        if all(name in kinds for _, name in c.attributes_of(condition)):
            check_condition(condition, lambda _, name: kinds[name])
    for result in query.returned:
        # What only measures a stream does not read what its matches return.
        if result.source is None and all(
            name in kinds for _, name in c.attributes_of(result.value)
        ):
            kind_of(result.value, lambda _, name: kinds[name])
    for aggregate in query.aggregates:
        kind = kinds.get(aggregate.attribute) if aggregate.attribute is not None else None
        if kind is not None:
            _check_aggregate(aggregate, kind)


def check_condition(condition: c.Expression, read: ReadKind) -> None:
    """Check one condition; see `check_kinds`.

    Args:
        condition: As it was written, or as `rewrite.without_not` gives it.
        read: Gives what the attributes hold.

    Raises:
        PatternError: It compares or computes what cannot be.
    """
    match condition:
        case c.AllOf(items) | c.AnyOf(items):
            for item in items:
                check_condition(item, read)
        case c.Complement(item):
            check_condition(item, read)
        case c.Comparison(_, left, right):
            _check_sides(condition, left, right, read)
        case c.InList(operand, choices):
            for choice in choices:
                _check_sides(condition, operand, choice, read)
        case c.Between(operand, low, high):
            for end in (low, high):
                _check_sides(condition, operand, end, read)
        case c.IsNull(operand):
            kind_of(operand, read)
        case c.Literal():
            pass
        case _:
            kind = kind_of(condition, read)
            if kind not in ("boolean", "null", "any"):
                raise PatternError(
                    f"{word(kind)} instead of a condition",
                    expected="something that is true or false, as in a.price < b.price",
                    span=condition.span,
                )


def kind_of(expression: c.Expression, read: ReadKind) -> ValueKind:
    """Return the kind of the value of an expression.

    Args:
        expression: The value; no condition.
        read: Gives what the attributes hold.

    Raises:
        PatternError: It is computed of what does not go together; the error points at the place.
    """
    match expression:
        case c.Literal(constant):
            return constant_kind(constant)
        case c.Attribute(variable, name):
            return read(variable, name)
        case c.Negative() | c.Arithmetic() | c.Call():
            return computed_kind(
                expression, [kind_of(part, read) for part in c.children(expression)]
            )
        case c.Aggregate(_, str(variable), str(name)):
            return set_function_kind(expression, read(variable, name))
        case c.Aggregate():
            return "integer"
        case (
            c.AllOf()
            | c.AnyOf()
            | c.Complement()
            | c.Comparison()
            | c.InList()
            | c.Between()
            | c.IsNull()
        ):
            raise PatternError("a condition instead of a value", span=expression.span)
        case _:
            assert_never(expression)


def _check_sides(
    place: c.Comparison | c.InList | c.Between,
    left: c.Expression,
    right: c.Expression,
    read: ReadKind,
) -> None:
    kinds = kind_of(left, read), kind_of(right, read)
    check_comparable(place, *kinds)
    for side in (left, right):
        if "timestamp" in kinds and isinstance(side, c.Literal) and isinstance(side.value, str):
            moments([side.value], place)


def _check_aggregate(aggregate: c.Aggregate, kind: ValueKind) -> None:
    """Check a function in AGG: a total of times or durations has no column to go to."""
    definition = AGGREGATES[aggregate.function]
    if not definition.accepts(kind):
        raise PatternError(
            f"{aggregate_text(aggregate)}, which is {word(kind)}",
            expected=TAKES[definition.takes],
            hint="of durations there are MIN and MAX; for more give their seconds as a column"
            if kind == "duration"
            else None,
            span=aggregate.span,
        )
