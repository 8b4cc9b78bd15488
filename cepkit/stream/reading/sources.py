"""Sources of streams: pandas and Spark DataFrames, Arrow tables, files.

All code that checks or reads a column gets an Arrow column, from every kind of source. From Spark
this module reads only column types; the rows stay there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from cepkit.errors import StreamError
from cepkit.lazy import pa, with_frames
from cepkit.stream.paths import path_of
from cepkit.stream.reading import readers
from cepkit.stream.reading.arrow import plain
from cepkit.stream.reading.json_lines import is_json, read_json
from cepkit.stream.reading.nested import flattened, flattened_frame
from cepkit.stream.reading.pandas_columns import (
    UNREADABLE,
    flattened_pandas,
    from_pandas,
    refuse_mixed_zones,
)
from cepkit.stream.reading.time_range import rows_inside, taken
from cepkit.stream.reading.written import Written, with_column
from cepkit.stream.schema import Schema

_SPARK_TYPES: Mapping[str, pa.DataType] = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal": pa.decimal128(38),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "varchar": pa.string(),
    "char": pa.string(),
    "binary": pa.binary(),
    "timestamp_ntz": pa.timestamp("us"),
    "timestamp": pa.timestamp("us", "UTC"),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "interval": pa.duration("us"),
    "interval year": pa.month_day_nano_interval(),
    "interval month": pa.month_day_nano_interval(),
    "void": pa.null(),
    "map": pa.map_(pa.string(), pa.null()),
    "struct": pa.struct([]),
}
"""Arrow types by the beginning of Spark's type names."""


_BY_TABS = (".tsv", ".tsv.gz")
_AS_TABLE: Mapping[str, str] = {
    "polars.lazyframe": "collect",
    "pyarrow._dataset.": "to_table",
    "ibis.": "to_pyarrow",
}
"""The methods that run a query, by the beginning of the names of its classes."""


Tables: TypeAlias = dict[str, Any]
"""Tables by their names, or by their numbers from 1."""


def is_spark(source: object) -> bool:
    """Return whether an object is a Spark DataFrame, classic or Connect, without loading Spark."""
    return any(
        base.__module__.startswith("pyspark.sql.") and base.__name__ == "DataFrame"
        for base in type(source).__mro__
    )


def is_pandas(source: object) -> bool:
    """Return whether an object is a pandas DataFrame."""
    return any(
        base.__module__.partition(".")[0] == "pandas" and base.__name__ == "DataFrame"
        for base in type(source).__mro__
    )


def tables_of(source: Any) -> Tables | None:
    """Return several tables that a source holds; None if it is one, or a folder of other files."""
    if isinstance(source, str | os.PathLike):
        path = path_of(source, StreamError)
        return {str(file.relative_to(path)): file for file in readers.json_files(path)} or None
    if isinstance(source, Mapping):
        tables = {str(name): table for name, table in source.items()}
        return tables if tables and all(map(_is_table, tables.values())) else None
    if isinstance(source, list | tuple) and source and not isinstance(source[0], dict):
        return {str(n): t for n, t in enumerate(source, 1)} if all(map(_is_table, source)) else None
    return None


def _is_table(value: Any) -> bool:
    if is_spark(value) or is_pandas(value) or isinstance(value, str | os.PathLike):
        return True
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(row, dict) for row in value)
    # What has one type of values is a column.
    is_column = hasattr(value, "dtype") or isinstance(value, pa.ChunkedArray)
    is_lazy = type(value).__module__.startswith(("polars.lazyframe", "pyarrow._dataset", "ibis."))
    return is_lazy or (hasattr(value, "__arrow_c_stream__") and not is_column)


def accepted(source: Any, written: Written | None = None) -> Any:
    """Return a source that a stream can read: a DataFrame, an Arrow table or a path.

    Raises:
        StreamError: The source cannot be read as a stream, or `written` does not apply to it.
    """
    if written is None:
        return _accepted(source)
    if is_spark(source):
        return written.on_spark(_accepted(source))
    given = source
    source = _accepted(source)
    if isinstance(source, Path) and source.name.casefold().endswith(_BY_TABS):
        written = replace(written, sep=written.sep or "\t")
    if isinstance(source, Path) and written.csv is not None:
        if readers.data_at(source, "csv").format == "csv":
            source = readers.read_csv(source, written.csv)
        else:
            written.refuse("Parquet files")
    elif not isinstance(source, Path):
        written.refuse(given if isinstance(given, str) else source)
    if not written.converts:
        return source
    names = column_names(source)
    times = written.times(all_rows(source, written.checked(names), names))
    if isinstance(source, Path):
        source = all_rows(source, names, names)
    return with_column(source, written.time_column, times)


def _accepted(source: Any) -> Any:
    if is_spark(source):
        return flattened_frame(source)
    if is_pandas(source):
        if not with_frames():
            raise StreamError(
                "a stream from a DataFrame without PyArrow, which is not installed",
                hint="df.to_dict('records') makes a list of dictionaries",
            )
        return flattened_pandas(source)
    if isinstance(source, pa.Table):
        return flattened(source)
    if isinstance(source, str | os.PathLike):
        path = path_of(source, StreamError)
        return flattened(read_json(path)) if is_json(path.name) else path
    if isinstance(source, list | tuple) and source and all(isinstance(r, dict) for r in source):
        return flattened(_of_rows(source))
    kind = f"{type(source).__module__}.{type(source).__name__}".removeprefix("builtins.")
    for beginning, method in _AS_TABLE.items():
        if kind.startswith(beginning) and hasattr(source, method):
            return _accepted(getattr(source, method)())
    if isinstance(source, pa.RecordBatch) or hasattr(source, "__arrow_c_stream__"):
        return flattened(pa.table(source))
    if isinstance(source, list | tuple) and not source:
        raise StreamError(
            f"a stream from an empty {kind}, which has no columns",
            expected="at least one row, or a DataFrame or an Arrow table, which has columns",
        )
    hints = {
        "dict": "pandas.DataFrame(data) makes a DataFrame of columns",
        "pyspark.pandas": "call .to_spark() on it",
        "generator": "list(rows) makes a list of them",
        "_duckdb.DuckDBPyConnection": 'connection.sql("SELECT ...") is a relation',
        "duckdb.DuckDBPyConnection": 'connection.sql("SELECT ...") is a relation',
    }
    raise StreamError(
        f"a stream from {kind}",
        expected="a pandas, Polars or Spark DataFrame, an Arrow table, a list of dictionaries, or a"
        " path",
        hint=next((hint for name, hint in hints.items() if kind.startswith(name)), None),
    )


def _of_rows(rows: Sequence[dict[Any, Any]]) -> pa.Table:
    """Return rows (dictionaries) as a table with the union of their columns.

    Raises:
        StreamError: Arrow has no type for the values of a column.
    """
    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        try:
            columns[str(name)] = pa.array(values)
            pa.field(str(name), pa.null())
        except UNREADABLE as error:
            raise StreamError(
                f"the values of '{name}' cannot be read: {error}",
                expected="values of one type under each name",
            ) from error
        refuse_mixed_zones(columns[str(name)].type, values, name)
    return pa.table(columns)


def column_names(source: Any) -> tuple[str, ...]:
    """Return the names of a source's columns, as texts."""
    if isinstance(source, Path):
        return readers.column_names(source)
    if isinstance(source, pa.Table):
        return tuple(source.column_names)
    return tuple(str(name) for name in source.columns)


def first_rows(
    source: Any, columns: tuple[str, ...], names: tuple[str, ...], count: int
) -> pa.Table:
    """Return columns of the first rows; for a Spark DataFrame without rows."""
    if is_spark(source):
        type_names = dict(source.dtypes)
        return pa.table(
            {name: pa.array([], _spark_type(type_names[name], name)) for name in columns}
        )
    if isinstance(source, Path):
        return plain(readers.read_table(source, columns, limit=count))
    rows = source.slice(0, count) if isinstance(source, pa.Table) else source.iloc[:count]
    return all_rows(rows, columns, names)


def all_rows(
    source: Any,
    columns: tuple[str, ...],
    names: tuple[str, ...],
    schema: Schema | None = None,
    *,
    coded: bool = False,
) -> pa.Table:
    """Return columns of a local source as a table of plain types.

    Args:
        schema: Has the time range whose rows are read; None for all rows.
        coded: Whether texts of a DataFrame may be codes (see `pandas_columns.decoded`).
    """
    if schema is not None and schema.has_range:
        read = tuple(name for name in names if name in {*columns, schema.time})
        if isinstance(source, Path):
            table = plain(readers.read_table(source, read, within=schema))
        else:
            table = all_rows(source, read, names, coded=coded)
        rows = taken(table, rows_inside(table.column(schema.time), schema))
        return rows if read == columns else rows.select(list(columns))
    if isinstance(source, Path):
        return plain(readers.read_table(source, columns))
    if isinstance(source, pa.Table):
        return plain(source if columns == names else source.select(list(columns)))
    places = [names.index(name) for name in columns]
    return plain(from_pandas(source, columns, places, coded=coded))


def _spark_type(type_name: str, name: str) -> pa.DataType:
    """Return the Arrow type of a Spark column, as far as its role needs it.

    Raises:
        StreamError: Arrow has no such type.
    """
    if type_name.startswith("array<"):
        return pa.list_(_spark_type(type_name[6:-1], name))
    beginnings = [beginning for beginning in _SPARK_TYPES if type_name.startswith(beginning)]
    if not beginnings:
        raise StreamError(
            f"the column '{name}' holds {type_name}",
            expected="times, numbers, texts or truth values",
        )
    return _SPARK_TYPES[max(beginnings, key=len)]  # "interval" begins with "int"
