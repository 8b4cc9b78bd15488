"""Files to Arrow tables: CSV (also gzipped), Parquet, and folders of either.

The suffix says what a file is. In a folder, files are taken in the order of their names; names
that begin with a dot or an underscore are not events (Spark's `_SUCCESS`, `._part.crc`).
An empty field of a CSV file is null, as for Spark; so is NaN or NA in a column of numbers, but not
among texts (a column of nothing but these is one of nulls).
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.dataset as pa_dataset

from cepkit.errors import StreamError, nearest

Format = Literal["csv", "parquet"]

_SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_EXPECTED = f"a file that ends in {', '.join(_SUFFIXES)}, or a folder of such files"

# The reader guesses a column's type from its first block; the whole file is the second try.
_BEGINNING = 1 << 16
_FIRST_BLOCK = 1 << 22
_WHOLE_FILE = (1 << 31) - 1


def column_names(path: Path) -> tuple[str, ...]:
    """Return the names of a file's columns, reading no more than its beginning.

    Raises:
        StreamError: There is no such file, or it is not what its suffix says.
    """
    if _format(path) == "csv":
        return _csv_names(_csv_files(path)[0])
    return tuple(_parquet(path).schema.names)


def read_table(path: Path, columns: Sequence[str], *, limit: int | None = None) -> pa.Table:
    """Return columns of a file as a table.

    Args:
        path: A CSV or Parquet file, or a folder of them.
        columns: The columns to read, in the order wanted.
        limit: Read about this many rows of the beginning and no more; None for all.

    Raises:
        StreamError: There is no such file, it is not what its suffix says, or it is broken.
    """
    if _format(path) == "csv":
        return _read_csv_files(path, list(columns), limit)
    dataset = _parquet(path)
    try:
        if limit is not None:
            return dataset.head(limit, columns=list(columns))
        return dataset.to_table(columns=list(columns))
    except (pa.ArrowException, OSError) as error:
        raise _broken(path, error) from error


def row_count(path: Path) -> int | None:
    """Return the number of a file's rows where the file says it (Parquet), else None."""
    return int(_parquet(path).count_rows()) if _format(path) == "parquet" else None


def _format(path: Path) -> Format:
    _check_exists(path)
    if not path.is_dir():
        return _suffix_format(path) or _unknown(path)
    kinds = {_suffix_format(file) for file in path.rglob("*") if _is_data(file, path)}
    found = kinds - {None}
    if len(found) == 1:
        return "csv" if "csv" in found else "parquet"
    what = "both CSV and Parquet files" if found else "no file of events"
    raise StreamError(f"the folder '{path}' holds {what}", expected=_EXPECTED)


def _suffix_format(path: Path) -> Format | None:
    name = path.name.casefold()
    return next((kind for suffix, kind in _SUFFIXES.items() if name.endswith(suffix)), None)


def _is_data(file: Path, folder: Path) -> bool:
    inside = file.relative_to(folder).parts
    return file.is_file() and not any(part.startswith((".", "_")) for part in inside)


def _unknown(path: Path) -> Format:
    raise StreamError(f"'{path.name}' is no kind of file that can be read", expected=_EXPECTED)


def _check_exists(path: Path) -> None:
    if path.exists():
        return
    if "://" in str(path) or ":/" in str(path)[2:]:
        hint: str | None = "read it with Spark and pass the DataFrame"
    else:
        folder = path.parent
        hint = nearest(path.name, (f.name for f in folder.iterdir())) if folder.is_dir() else None
        if not folder.is_dir():
            hint = f"there is no folder '{folder}' either"
    raise StreamError(f"there is no file '{path}'", hint=hint)


def _broken(path: Path, error: BaseException) -> StreamError:
    return StreamError(f"'{path}' cannot be read: {str(error).splitlines()[0]}")


def _parquet(path: Path) -> pa_dataset.Dataset:
    try:
        return pa_dataset.dataset(path, format="parquet", partitioning="hive")
    except (pa.ArrowException, OSError) as error:
        raise StreamError(
            f"'{path}' is not a Parquet file, or it is broken: {str(error).splitlines()[0]}"
        ) from error


def _csv_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(f for f in path.rglob("*") if _is_data(f, path) and _suffix_format(f))


def _csv_names(path: Path) -> tuple[str, ...]:
    opened = gzip.open if path.name.casefold().endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            names = next(csv.reader(file), None)
    except UnicodeDecodeError as error:
        raise StreamError(
            f"'{path}' is not a CSV file, or not in UTF-8", hint="save it as UTF-8"
        ) from error
    except (csv.Error, OSError, EOFError, zlib.error) as error:
        raise _broken(path, error) from error
    if not names:
        raise StreamError(f"'{path}' is empty", expected="a first line with the column names")
    if any("\0" in name for name in names):
        raise StreamError(f"'{path}' is not a CSV file", expected=_EXPECTED)
    return tuple(names)


def _read_csv_files(path: Path, columns: list[str], limit: int | None) -> pa.Table:
    tables: list[pa.Table] = []
    for file in _csv_files(path):
        _csv_names(file)  # its errors are the clear ones
        tables.append(_read_csv(file, columns, limit))
        if limit is not None and sum(len(table) for table in tables) >= limit:
            break
    if len(tables) == 1:
        return tables[0]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise _broken(path, error) from error


def _read_csv(path: Path, columns: list[str], limit: int | None) -> pa.Table:
    try:
        if limit is not None:
            return _first_block(path, columns).slice(0, limit)
        try:
            table = pa_csv.read_csv(path, **_options(columns, _FIRST_BLOCK))
        except pa.ArrowInvalid as error:
            if "conversion error" not in str(error):
                raise
            table = pa_csv.read_csv(path, **_options(columns, _WHOLE_FILE))
    except (pa.ArrowException, KeyError, UnicodeDecodeError, OSError) as error:
        if "Empty CSV file" in str(error):  # nothing but a header, without an end of line
            return pa.table({name: pa.nulls(0) for name in columns})
        raise _broken(path, error) from error
    return _without_empty_texts(table)


def _first_block(path: Path, columns: list[str]) -> pa.Table:
    try:
        with pa_csv.open_csv(path, **_options(columns, _BEGINNING)) as reader:
            batch = next(iter(reader), None)
            table = pa.Table.from_batches([] if batch is None else [batch], reader.schema)
    except pa.ArrowInvalid:
        # A header longer than a block, or something broken: the whole file tells.
        table = pa_csv.read_csv(path, **_options(columns, _FIRST_BLOCK))
    return _without_empty_texts(table)


def _options(columns: list[str], block: int) -> dict[str, object]:
    return {
        "read_options": pa_csv.ReadOptions(block_size=block),
        "parse_options": pa_csv.ParseOptions(newlines_in_values=True),
        "convert_options": pa_csv.ConvertOptions(include_columns=columns),
    }


def _without_empty_texts(table: pa.Table) -> pa.Table:
    """Return the table with null for empty fields in columns of texts, as in all others.

    The reader's own option for this would also make null of a ticker that is called "NA".
    """
    for position, field in enumerate(table.schema):
        if not pa.types.is_string(field.type):
            continue
        column = table.column(position)
        empty = pc.equal(column, "")
        if pc.any(empty).as_py():
            filled = pc.if_else(empty, pa.scalar(None, field.type), column)
            table = table.set_column(position, field.name, filled)
    return table
