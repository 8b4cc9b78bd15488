"""Fields of structs as columns of their own: ``user.name`` is the field ``name`` of ``user``.

A field is missing where its struct is. Structs inside lists and maps stay, and so do those without
fields. A column that has the name of such a field makes two columns of that name, which
`Schema.check` refuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from cepkit.lazy import pa
from cepkit.stream.sessions import check_session

Path = tuple[str, ...]


def flattened(table: pa.Table) -> pa.Table:
    """Return the table with a column for each field of a struct, at any depth."""
    while any(has_fields(field.type) for field in table.schema):
        columns: list[pa.ChunkedArray] = []
        fields: list[pa.Field] = []
        for field, column in zip(table.schema, table.columns, strict=True):
            if not has_fields(field.type):
                columns.append(column)
                fields.append(field)
                continue
            columns += column.flatten()
            fields += [inner.with_name(f"{field.name}.{inner.name}") for inner in field.type]
        table = pa.table(columns, pa.schema(fields))
    return table


def flat(schema: pa.Schema) -> pa.Schema:
    """Return the columns that a table of these columns has flattened."""
    nested = any(has_fields(field.type) for field in schema)
    return flattened(schema.empty_table()).schema if nested else schema


def paths(fields: Iterable[pa.Field], above: Path = ()) -> Iterator[Path]:
    """Yield for each flattened column the names of its struct, of structs inside, and its own."""
    for field in fields:
        path = (*above, field.name)
        if has_fields(field.type):
            yield from paths(field.type, path)
        else:
            yield path


def flattened_frame(frame: Any) -> Any:
    """Return a Spark DataFrame with a column for each field of a struct, at any depth."""
    kinds = dict(frame.dtypes)
    nested = any(kind.startswith("struct<") for kind in kinds.values())
    if not nested or len(kinds) < len(frame.columns):  # two of one name are refused later
        return frame
    check_session(frame)
    return frame.selectExpr(*_expressions(frame.schema.fields))


def has_fields(kind: pa.DataType) -> bool:
    """Return whether a column holds structs with fields."""
    return bool(pa.types.is_struct(kind) and kind.num_fields)


def _fields_of(field: Any) -> list[Any]:
    """Return the fields of a Spark column that holds structs; else none."""
    return field.dataType.fields if field.dataType.typeName() == "struct" else []


def _expressions(fields: Iterable[Any], above: Path = ()) -> Iterator[str]:
    for field in fields:
        path = (*above, field.name)
        if inner := _fields_of(field):
            yield from _expressions(inner, path)
        else:
            yield f"{'.'.join(map(quoted, path))} AS {quoted('.'.join(path))}"


def quoted(name: str) -> str:
    """Return any column name quoted for Spark's expressions."""
    return "`" + name.replace("`", "``") + "`"
