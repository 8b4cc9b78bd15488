"""Type checks of conditions against the columns of a stream.

A pattern does not name the kinds of attributes, so the check runs where a query meets a stream,
before any event is read. Cost: O(nodes of the conditions).
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
from cepkit.pattern.names import attribute_text, variable_text
from cepkit.pattern.printer import aggregate_text
from cepkit.pattern.query import Query

ReadKind: TypeAlias = Callable[[str, str], ValueKind]
"""Returns the kind of (variable, attribute)."""


def check_kinds(query: Query, kinds: Mapping[str, ValueKind]) -> None:
    """Check that a query can compare and compute the columns of a stream.

    Args:
        query: A query that passed `checks.check`.
        kinds: The kinds of attributes, at least of those that are read for matches.

    Raises:
        PatternError: It cannot, as in `b.ts - a.ts > 8`.
    """
    for clause, names in (("PARTITION BY", query.partition_by), ("GROUP BY", query.group_by)):
        for name in names:
            if kinds.get(name) == "array":
                raise PatternError(
                    f"{clause} '{name}', which holds arrays",
                    expected="an attribute whose values are numbers, texts, times or truth values",
                )
    for condition in c.conjuncts(query.where):
        # A condition reads no column if no choice at the ORs has it, or if it compares with an
        # earlier repetition of a group that repeats once.
        if all(name in kinds for _, name in c.attributes_of(condition)):
            check_condition(condition, lambda _, name: kinds[name])
    for result in query.returned:
        # A profile does not read the columns that only RETURN needs.
        if result.source is None and all(
            name in kinds for _, name in c.attributes_of(result.value)
        ):
            kind_of(result.value, lambda _, name: kinds[name])
    for aggregate in query.aggregates:
        if isinstance(aggregate, c.ValueAggregate):
            if all(name in kinds for _, name in c.attributes_of(aggregate.argument)):
                result_kind(aggregate, kind_of(aggregate.argument, lambda _, name: kinds[name]))
            continue
        kind = kinds.get(aggregate.attribute) if aggregate.attribute is not None else None
        if kind is not None:
            _check_aggregate(aggregate, kind)
    for threshold in query.having:
        assert isinstance(threshold.left, c.Aggregate)
        _check_threshold(threshold, threshold.left, kinds)


def check_condition(condition: c.Expression, read: ReadKind) -> None:
    """Check one condition; see `check_kinds`.

    Args:
        condition: A condition as written, or from `rewrite.without_not`.

    Raises:
        PatternError: An operator or a function does not take its operands.
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

    Raises:
        PatternError: An operator or a function does not take its operands.
    """
    match expression:
        case c.Literal(constant):
            return constant_kind(constant)
        case c.Attribute(_, c.TIME) | c.Aggregate(attribute=c.TIME):
            return "timestamp"
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
        case c.ConditionNode():
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
    """Refuse an aggregate of the wrong kind; AGG does not sum times or durations."""
    definition = AGGREGATES[aggregate.function]
    if not definition.accepts(kind):
        raise PatternError(
            f"{aggregate_text(aggregate)}, which is {word(kind)}",
            expected=TAKES[definition.takes],
            hint=f"{aggregate.function.upper()}({variable_text(aggregate.variable or '')}."
            f"{attribute_text(aggregate.attribute or '')} + 0 seconds): aggregates of computed"
            " values may be durations"
            if kind == "duration"
            else None,
            span=aggregate.span,
        )


def result_kind(aggregate: c.ValueAggregate, kind: ValueKind) -> ValueKind:
    """Return the kind of an aggregate of values that matches have.

    Raises:
        PatternError: It does not take values of this kind.
    """
    function = aggregate.function
    numbers: tuple[ValueKind, ...] = ("integer", "float", "null", "any")
    if function in ("count", c.DISTINCT) and kind != "array":
        return "integer"
    if function in ("min", "max") and kind != "array":
        return kind
    if kind in numbers:
        return kind if function == "sum" and kind == "integer" else "float"
    if kind == "duration" and function not in ("variance", "stddev"):
        return kind
    raise PatternError(
        f"{aggregate_text(aggregate)}, which is of {word(kind)}",
        expected="numbers" if function in ("variance", "stddev") else "numbers or durations",
        span=aggregate.span,
    )


def _check_threshold(
    threshold: c.Comparison, aggregate: c.Aggregate, kinds: Mapping[str, ValueKind]
) -> None:
    """Refuse a threshold that is of another kind than its aggregate."""
    name = aggregate.attribute
    kind = kinds.get(name) if name is not None else None
    if isinstance(aggregate, c.ValueAggregate):
        argument = aggregate.argument
        if not all(name in kinds for _, name in c.attributes_of(argument)):
            return
        kind = result_kind(aggregate, kind_of(argument, lambda _, name: kinds[name]))
    elif AGGREGATES[aggregate.function].gives != "same":
        kind = "float"
    if kind is not None:
        check_threshold(threshold, kind)


def check_threshold(threshold: c.Comparison, kind: ValueKind) -> None:
    """Check that an aggregate of a kind can be compared with the number of a threshold.

    Raises:
        PatternError: It cannot.
    """
    assert isinstance(threshold.left, c.Aggregate)
    assert isinstance(threshold.right, c.Literal)
    number = constant_kind(threshold.right.value)
    allowed = ("duration",) if number == "duration" else ("integer", "float", "any")
    if kind not in ("null", *allowed):
        raise PatternError(
            f"{aggregate_text(threshold.left)}, which is {word(kind)}, compared with"
            f" {word(number)}",
            expected=f"an aggregate that is {word(number)}",
            span=threshold.span,
        )
