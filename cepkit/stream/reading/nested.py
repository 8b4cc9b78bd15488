"""Fields of structs as columns of their own: ``user.name`` is the field ``name`` of ``user``."""

from __future__ import annotations

import pyarrow as pa


def flattened(table: pa.Table) -> pa.Table:
    """Return the table with a column for each field of a struct, at any depth.

    A field is missing where its struct is. Structs inside lists stay, and so do those without
    fields. A column that has the name of such a field makes two columns of that name, which
    `Schema.check` refuses.
    """
    while any(_has_fields(field.type) for field in table.schema):
        columns: list[pa.ChunkedArray] = []
        fields: list[pa.Field] = []
        for field, column in zip(table.schema, table.columns, strict=True):
            if not _has_fields(field.type):
                columns.append(column)
                fields.append(field)
                continue
            columns += column.flatten()
            fields += [
                pa.field(f"{field.name}.{inner.name}", inner.type, metadata=inner.metadata)
                for inner in field.type
            ]
        table = pa.table(columns, pa.schema(fields))
    return table


def _has_fields(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind) and kind.num_fields)
