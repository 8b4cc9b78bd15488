"""Several tables as one source: the union of their columns, and the name of each as a type.

Rows keep the order of the tables. A column that a table lacks is missing in its rows. Columns of
one name hold values of one kind: numbers of any width, times of any unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from cepkit.errors import StreamError, telling
from cepkit.lazy import pa
from cepkit.stream.reading import arrow
from cepkit.stream.reading.nested import quoted
from cepkit.stream.reading.sources import Tables, accepted, all_rows, column_names, is_spark
from cepkit.stream.reading.written import Written
from cepkit.stream.schema import check_columns

TYPE = "type"
"""The column of the tables' names, unless the user names it."""

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


def together(tables: Tables, written: Written, names_in: str | None) -> Any:
    """Return tables as one: an Arrow table, or a Spark DataFrame if they are such.

    Args:
        tables: At least one.
        written: How each is written.
        names_in: The column that gets their names; None for none.

    Raises:
        StreamError: One cannot be read, lacks the times, or has a column `names_in`; a column
            holds values of several kinds.
    """
    parts = {}
    for name, table in tables.items():
        with telling(f"the table '{name}'"):
            parts[name] = accepted(table, written)
            columns = column_names(parts[name])
            check_columns((written.time_column,), columns)
            if names_in in columns:
                raise StreamError(
                    f"there is a column '{names_in}' beside the name '{name}'",
                    expected="the names of tables as the types",
                    hint="type= another name for theirs, or a list of the tables to keep types",
                )
    on_spark = {name for name, part in parts.items() if is_spark(part)}
    if on_spark and on_spark != parts.keys():
        raise StreamError(
            f"the table '{min(on_spark)}' is in Spark, and others are not",
            expected="tables in one place",
            hint="spark.createDataFrame(...) takes the others there",
        )
    return _on_spark(parts, names_in) if on_spark else _in_arrow(parts, names_in)


def _in_arrow(parts: Mapping[str, Any], names_in: str | None) -> pa.Table:
    tables: dict[str, pa.Table] = {}
    zones: dict[str, str] = {}
    for name, part in parts.items():
        columns = column_names(part)
        tables[name] = _plain(all_rows(part, columns, columns), zones)
        if names_in is not None:
            names = pa.repeat(name, len(tables[name]))
            tables[name] = tables[name].append_column(names_in, names)
    known: dict[str, tuple[pa.Field, str]] = {}
    for name, table in tables.items():
        for field in table.schema:
            one, first = known.get(field.name, (field, name))
            both = _common(one, field)
            if both is None:
                kinds = _described(one.type), _described(field.type)
                raise _unlike(field.name, (first, name), kinds)
            known[field.name] = both, first
    try:
        return pa.concat_tables(tables.values(), promote_options="permissive")
    except pa.ArrowInvalid as error:  # as of integers that only one of two types has
        raise StreamError(f"the tables do not fit together: {error}") from error


def _common(one: pa.Field, other: pa.Field) -> pa.Field | None:
    """Return a column for the values of two; None if these are of different kinds."""
    kinds = {one.type, other.type} - {pa.null()}
    if len({arrow.is_text(kind) for kind in kinds}) == 2:  # Arrow would make bytes of both
        return None
    schemas = [pa.schema([one]), pa.schema([other])]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0)
    except pa.ArrowException:
        return None


def _plain(table: pa.Table, zones: dict[str, str]) -> pa.Table:
    """Return a table with texts in place of codes, and times in the zones of earlier tables.

    Args:
        zones: The zones of columns; those of new columns are added.
    """
    for place, field in enumerate(table.schema):
        kind = field.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        elif pa.types.is_timestamp(kind) and kind.tz is not None:
            kind = pa.timestamp(kind.unit, zones.setdefault(field.name, kind.tz))
        if kind != field.type:
            table = table.set_column(place, field.name, table.column(place).cast(kind))
    return table


def _described(kind: pa.DataType) -> str:
    if not pa.types.is_timestamp(kind):
        return arrow.described(kind)
    return f"times {'without' if kind.tz is None else 'with'} a zone"


def _on_spark(parts: Mapping[str, Any], names_in: str | None) -> Any:
    known: dict[str, tuple[str, str]] = {}
    for name, part in parts.items():
        for column, stored in part.dtypes:
            kind = "numbers" if stored.startswith(_NUMBERS) else stored
            one, first = known.setdefault(column, (kind, name))
            if one == "void":
                known[column] = kind, name
            elif kind not in (one, "void"):
                raise _unlike(column, (first, name), (one, kind))
    frames: Sequence[Any] = [*parts.values()]
    if names_in is not None:
        frames = [
            part.selectExpr("*", f"'{_escaped(name)}' AS {quoted(names_in)}")
            for name, part in parts.items()
        ]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _unlike(column: str, tables: tuple[str, str], kinds: tuple[str, str]) -> StreamError:
    return StreamError(
        f"the column '{column}' holds {kinds[0]} in the table '{tables[0]}' and {kinds[1]} in"
        f" '{tables[1]}'",
        expected="values of one kind under each name",
        hint="convert one of them, or rename it",
    )
