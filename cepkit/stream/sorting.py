"""Events of files in the order of time, as one Parquet file that can be read in pieces.

DuckDB sorts files of any size, if it is installed; without it Arrow sorts what fits into memory.
Rows of equal time, and those without a time, which come last, keep their order.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq

from cepkit.errors import LimitError, StreamError, nearest_column
from cepkit.files import PARQUET, check_apart, check_target, whole_file
from cepkit.lazy import pc
from cepkit.memory import free_memory, size_text
from cepkit.stream.paths import path_of, shown
from cepkit.stream.reading import readers
from cepkit.stream.reading.arrow import is_text
from cepkit.threads import number_of_threads

ROW_GROUP = 1 << 18
"""The rows of a row group: some megabytes, so that many can be read at once."""

_ROW = "row of cepkit"
_COPIES = 3
"""What sorting takes, as a multiple of the rows."""


def sort_events(source: str, target: str, time: str, *, overwrite: bool = False) -> int:
    """Write the rows of files in the order of their times; return their number.

    Args:
        source: A CSV or Parquet file, or a folder of them.
        target: The Parquet file to write.
        time: The column of the times.
        overwrite: Whether to replace a file that exists; it stays until the new one is whole.

    Raises:
        StreamError: There is no such column, or its values do not sort like times.
        FileError: The file cannot be written.
        LimitError: The rows do not fit into memory, and DuckDB is not installed.
    """
    path = path_of(source, StreamError)
    data, names = readers.data_at(path), readers.column_names(path)
    if time not in names:
        raise StreamError(f"{shown(path)} has no column '{time}'", hint=nearest_column(time, names))
    if is_text(readers.read_table(path, (time,), limit=1).schema.field(0).type):
        raise StreamError(
            f"the time column '{time}' of {shown(path)} holds texts",
            expected="timestamps, dates or numbers, which sort like times",
            hint=f"convert it first, for example by pandas.to_datetime(df['{time}'])",
        )
    out = check_target(target, PARQUET, overwrite=overwrite, option="--overwrite")
    check_apart(out, path)
    if data.format == "parquet" and importlib.util.find_spec("duckdb") is not None:
        return _by_duckdb(data, out, time, overwrite=overwrite)
    size = _COPIES * sum(_size(file) for file in data.files)
    if size > free_memory():
        raise LimitError(
            f"sorting {shown(path)}, which needs about {size_text(size)} of memory",
            expected=f"at most the {size_text(free_memory())} that are free",
            hint="pip install duckdb: it sorts Parquet files of any size",
        )
    table = readers.read_table(path, names)
    order = pc.sort_indices(table, [(time, "ascending")])
    column = pq.SortingColumn(table.schema.get_field_index(time))
    with whole_file(out, overwrite=overwrite) as file:
        pq.write_table(table.take(order), file, row_group_size=ROW_GROUP, sorting_columns=[column])
    return len(table)


def _size(file: Path) -> int:
    """Return about how many bytes the rows of a file take."""
    if not file.name.endswith((".parquet", ".pq")):
        return 4 * file.stat().st_size
    footer = pq.read_metadata(file)
    return sum(footer.row_group(i).total_byte_size for i in range(footer.num_row_groups))


def _by_duckdb(data: readers.Data, out: Path, time: str, *, overwrite: bool) -> int:
    duckdb: Any = importlib.import_module("duckdb")
    files = ", ".join(f"'{_quoted(file)}'" for file in data.files)
    column = time.replace('"', '""')
    with (
        whole_file(out, overwrite=overwrite) as file,
        TemporaryDirectory(prefix=".cepkit-sort-", dir=out.parent) as spilled,
        duckdb.connect() as connection,
    ):
        connection.execute(f"SET memory_limit = '{max(free_memory() // 2**21, 256)}MB'")
        connection.execute(f"SET temp_directory = '{_quoted(Path(spilled))}'")
        connection.execute(f"SET threads = {number_of_threads()}")
        numbered = f'*, row_number() OVER () AS "{_ROW}" FROM read_parquet([{files}])'
        ordered = f'(SELECT {numbered}) ORDER BY "{column}" NULLS LAST, "{_ROW}"'
        selected = f'SELECT * EXCLUDE "{_ROW}" FROM {ordered}'  # noqa: S608 - quoted
        form = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP}, USE_TMP_FILE false"
        try:
            copied = connection.execute(f"COPY ({selected}) TO '{_quoted(file.name)}' ({form})")
            (rows,) = copied.fetchone()
        except duckdb.Error as error:
            raise StreamError(
                f"{shown(data.path)} cannot be sorted: {str(error).splitlines()[0]}"
            ) from error
    return int(rows)


def _quoted(path: Path | str) -> str:
    return str(path).replace("'", "''")
