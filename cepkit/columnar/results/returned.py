"""The values of RETURN, computed for many matches at once, and their Arrow types."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt

from cepkit.columnar.slices.blocks import Members
from cepkit.lazy import pa
from cepkit.pattern import conditions
from cepkit.pattern.conditions import Aggregate, Attribute, Expression, place_of, variables_of
from cepkit.pattern.evaluation.columns import value
from cepkit.pattern.evaluation.kind_checks import kind_of
from cepkit.pattern.evaluation.set_functions import member_at, set_function
from cepkit.pattern.query import ResultColumn
from cepkit.pattern.rewrite import replaced
from cepkit.stream.columns import Column, EventColumns
from cepkit.stream.schema import Schema, time_zone


def arrow_type(expression: Expression, events: EventColumns, stream: Schema) -> pa.DataType:
    """Return the type of an expression's values.

    Args:
        expression: Not a plain attribute, which keeps the stream's type.
        events: The events, with the kinds of their attributes.
        stream: The stream, with the zone of displayed times: that of the events' own.
    """
    source, kinds = events.schema, events.kinds
    match kind_of(expression, lambda _, name: kinds[name]):
        case "integer":
            return pa.int64()
        case "text":
            # Spark uses one of two text types.
            large = any(pa.types.is_large_string(field.type) for field in source)
            return pa.large_string() if large else pa.string()
        case "boolean":
            return pa.bool_()
        case "timestamp":
            return pa.timestamp("us", time_zone(source.field(stream.time).type, stream))
        case "duration":
            return pa.duration("us")
        case _:
            return pa.float64()


def computed(
    expression: Expression,
    attributes: Mapping[str, Column],
    events: Mapping[str, npt.NDArray[np.integer]],
    sets: Mapping[str, Members],
) -> Column:
    """Return the value of an expression for each match.

    Args:
        events: For each single variable its event in each match.
        sets: For each Kleene variable its set in each match.

    Returns:
        The values; a single one if it is the same for all. Values from events that a match does not
        have are missing, their number is 0.
    """
    functions: dict[tuple[str, str], Column] = {}

    def new(node: Attribute | Aggregate) -> Expression:
        if isinstance(node, Attribute):
            return node
        # A name that no variable has.
        name = (f"{node.function} of {node.variable}", node.attribute or "")
        functions[name] = _of_sets(node, attributes, sets)
        return Attribute(*name, node.span)

    def read(variable: str, name: str) -> Column:
        if (variable, name) in functions:
            return functions[variable, name]
        column = attributes[name]
        if variable not in events:
            return _nothing(column)
        return column.take(events[variable])

    return value(replaced(expression, new), read)


def _of_sets(
    node: Aggregate, attributes: Mapping[str, Column], sets: Mapping[str, Members]
) -> Column:
    column = None if node.attribute is None else attributes[node.attribute]
    members = sets.get(node.variable or "")
    if members is None:
        if node.function == "count":
            return Column("integer", np.zeros(1, dtype=np.int64))
        assert column is not None
        few = Members(np.array([0, 1]), np.zeros(1, dtype=np.int64))
        return set_function(node, _nothing(column), few.starts)
    if (place := place_of(node.function)) is not None:
        assert column is not None
        at, there = member_at(members.starts, place)
        return column.take(members.rows[at]).where(there)
    return set_function(node, None if column is None else column.take(members.rows), members.starts)


def _nothing(column: Column) -> Column:
    """Return one missing value of the kind of a column."""
    values = np.zeros((1, *column.values.shape[1:]), dtype=column.values.dtype)
    return Column(column.kind, values, column.dictionary).where(np.zeros(1, dtype=np.bool_))


def in_arrow(column: Column, kind: pa.DataType, size: int) -> pa.Array:
    """Return values in Arrow.

    Args:
        column: One for each row, or one for all.
    """
    if column.kind == "null":
        return pa.nulls(size, kind)
    values = column.values if len(column.values) == size else np.repeat(column.values, size)
    if column.kind == "text":
        codes = pa.array(values, mask=values < 0)  # type: ignore[operator]
        return pa.DictionaryArray.from_arrays(codes, pa.array(column.dictionary, kind)).cast(kind)
    missing = None
    if column.has_missing:
        missing = Column(column.kind, values, has_missing=True).missing()
    if column.kind == "boolean":
        values = values == 1
    return pa.array(values, mask=missing).cast(kind)


def may_lack(result: ResultColumn, lacking: Collection[str], everywhere: Collection[str]) -> bool:
    """Return whether a value of a column may be missing.

    Args:
        lacking: The attributes that some events lack.
        everywhere: The variables that all matches bind.
    """
    match result.value:
        case Aggregate("count" | conditions.DISTINCT):
            return False
        case Attribute(variable, name) | Aggregate(
            "min" | "max" | "first" | "last", str(variable), str(name)
        ):
            return name in lacking or variable not in everywhere
        case _:
            return bool(variables_of(result.value))
