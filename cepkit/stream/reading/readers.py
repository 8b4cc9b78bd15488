"""Readers of files as Arrow tables: CSV (also gzipped), Parquet, and folders of either.

The suffix determines the format. Files in a folder are read in the order of their names; names that
begin with a dot or an underscore are skipped (Spark's `_SUCCESS`, `._part.crc`). An empty field of
a CSV file is null, as in Spark; so is NaN or NA in a column of numbers, but not among texts (a
column with only these is a column of nulls).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cepkit.errors import StreamError
from cepkit.lazy import pa, pc, pq
from cepkit.stream.paths import broken, cannot_read, check_file, shown, status_of
from cepkit.stream.reading.arrow import is_text
from cepkit.stream.reading.csv_files import CsvFormat, csv_columns, read_csv_files
from cepkit.stream.reading.json_lines import is_json
from cepkit.stream.reading.nested import flat, paths
from cepkit.stream.reading.row_groups import groups_of
from cepkit.stream.schema import Schema
from cepkit.stream.warnings import warn_of_unread
from cepkit.threads import together

if TYPE_CHECKING:
    import pyarrow.dataset as pa_dataset

Format = Literal["csv", "parquet"]

_SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_EXPECTED = (
    f"a file that ends in {', '.join(_SUFFIXES)}, .json, .jsonl or .ndjson, or a folder of files"
    " of one format"
)

_LIST = 'a list of its files: ck.events(sorted(Path(folder).glob("*.parquet")), ...)'
_OF_PANDAS = {
    ".xlsx": "read_excel",
    ".xls": "read_excel",
    ".ods": "read_excel",
    ".feather": "read_feather",
    ".arrow": "read_feather",
    ".orc": "read_orc",
}
_OTHER_TABLES = (".tsv", ".orc", ".avro", ".xlsx", ".csv.zip", ".csv.bz2", ".csv.zst")

MOST_ENTRIES = 100_000
"""The most entries of a folder and its subfolders: a second or two of listing."""


def column_names(path: Path) -> tuple[str, ...]:
    """Return the names of a file's columns from its beginning.

    Raises:
        StreamError: The file does not exist, or does not have the format of its suffix.
    """
    data = data_at(path)
    if data.format == "parquet":
        return tuple(_schema(data).names)
    return csv_columns(data.files)


def read_csv(path: Path, form: CsvFormat) -> pa.Table:
    """Return CSV files as a table.

    Raises:
        StreamError: As of `read_table`.
    """
    data = data_at(path, "csv")
    names = csv_columns(data.files, form)
    if twice := [name for name in names if names.count(name) > 1]:
        raise StreamError(f"{shown(path)} has more than one column '{twice[0]}'")
    return read_csv_files(path, data.files, list(names), None, form)


def read_table(
    path: Path,
    columns: Sequence[str],
    *,
    limit: int | None = None,
    coded: bool = False,
    within: Schema | None = None,
) -> pa.Table:
    """Return columns of a file as a table.

    Args:
        path: A CSV or Parquet file, or a folder of them.
        limit: The number of rows to read from the beginning; None for all.
        coded: Whether texts of Parquet files stay dictionary-encoded as stored.
        within: Has the time range to read; row groups that lie outside are left out.

    Raises:
        StreamError: The file does not exist, does not have the format of its suffix, or is broken.
    """
    data = data_at(path)
    if data.format == "csv":
        return read_csv_files(path, data.files, list(columns), limit)
    schema = _schema(data)
    texts = [name for name in columns if coded and is_text(schema.field(name).type)]
    with reading(path):
        if limit is not None:
            schema_of_result = pa.schema([schema.field(name) for name in columns])
            return _beginning(data, schema_of_result, limit)
        # A dataset refuses duplicate column names.
        plain = len({*schema.names}) == len(schema) and not any("." in n for n in schema.names)
        if data.one_file and plain:
            return _read_file(data, list(columns), texts, within)
        dataset = _dataset(data, texts)
        if within is not None and within.has_range:
            dataset = _part_within(dataset, within, schema.field(within.time).type)
        table = dataset.to_table(columns=_projection(dataset, columns))
        if not data.one_file:
            _warn_of_unread_columns(path, dataset)
        return table


def _warn_of_unread_columns(path: Path, dataset: pa_dataset.FileSystemDataset) -> None:
    """Warn of columns that the first file of a folder lacks, by the footers just read."""
    known = {*dataset.schema.names}
    for fragment in dataset.get_fragments():
        for name in fragment.physical_schema.names:
            if name not in known:
                warn_of_unread(path, Path(fragment.path), name)
                return


def _projection(dataset: pa_dataset.Dataset, columns: Sequence[str]) -> Any:
    """Return columns for a scan, which also reads fields of structs."""
    path_of = {".".join(path): path for path in paths(dataset.schema)}
    if all(len(path_of[name]) == 1 for name in columns):
        return list(columns)
    return {name: pc.field(*path_of[name]) for name in columns}


def _part_within(dataset: pa_dataset.FileSystemDataset, within: Schema, kind: pa.DataType) -> Any:
    """Return the row groups of a dataset that reach into a time range."""
    import pyarrow.dataset as pa_dataset

    fragments = []
    for fragment in dataset.get_fragments():
        groups = groups_of(fragment.path, fragment.metadata, within, kind)
        if groups is not None:
            numbers = [group.number for group in groups if group.reaches(within)]
        fragments.append(fragment if groups is None else fragment.subset(row_group_ids=numbers))
    return pa_dataset.FileSystemDataset(fragments, dataset.schema, dataset.format)


def _read_file(data: Data, columns: list[str], texts: list[str], within: Schema | None) -> pa.Table:
    """Read columns of one Parquet file without a dataset, which would import pandas."""
    metadata = _metadata(data)
    groups: Sequence[int] = range(metadata.num_row_groups)
    if within is not None and within.has_range:
        kind = _schema(data).field(within.time).type
        known = groups_of(data.path, metadata, within, kind)
        if known is not None:
            groups = [group.number for group in known if group.reaches(within)]
    if not groups:
        return pa.Table.from_batches([], _schema(data)).select(columns)
    read = partial(_group, data.path, metadata, columns, texts)
    return pa.concat_tables(together(*(partial(read, group) for group in groups)))


def _group(
    path: Path, metadata: pq.FileMetaData, columns: list[str], texts: list[str], group: int
) -> pa.Table:
    """Return columns of a row group."""
    with pq.ParquetFile(path, metadata=metadata, read_dictionary=texts, pre_buffer=False) as file:
        return file.read_row_group(group, columns, use_threads=False).select(columns)


def number_of_groups(path: Path) -> int:
    """Return how many row groups one Parquet file has."""
    return int(_metadata(data_at(path)).num_row_groups)


def column_by_group(path: Path, name: str) -> list[tuple[int, Callable[[], pa.Table]]]:
    """Return the rows of each row group of one Parquet file, and how one column of it is read.

    Texts stay dictionary-encoded as stored.
    """
    data = data_at(path)
    metadata = _metadata(data)
    texts = [name] if is_text(_schema(data).field(name).type) else []
    return [
        (metadata.row_group(n).num_rows, partial(_group, path, metadata, [name], texts, n))
        for n in range(metadata.num_row_groups)
    ]


def _beginning(data: Data, schema: pa.Schema, limit: int) -> pa.Table:
    """Return the first rows of Parquet files.

    A dataset would decode a whole row group for them.
    """
    if not limit:
        return pa.Table.from_batches([], schema)
    columns = schema.names
    with pq.ParquetFile(data.files[0]) as file:
        stored = file.schema_arrow
        here = all(stored.get_field_index(f.name) >= 0 for f in schema)
        if here and pa.schema([stored.field(name) for name in columns]).equals(schema):
            batch = next(file.iter_batches(limit, columns=columns, use_threads=False), None)
            if batch is not None and (len(batch) == limit or len(data.files) == 1):
                return pa.Table.from_batches([batch]).select(columns)
    dataset = _dataset(data)
    return dataset.head(limit, columns=_projection(dataset, columns))


def row_count(path: Path) -> int | None:
    """Return the number of a file's rows if its metadata has it (Parquet), else None."""
    data = data_at(path)
    if data.format != "parquet":
        return None
    return int(_metadata(data).num_rows if data.one_file else _dataset(data).count_rows())


@dataclass(frozen=True, slots=True)
class Data:
    """The files at a path.

    Attributes:
        format: The common format.
        files: The files, in the order of their names.
    """

    path: Path
    format: Format
    files: tuple[Path, ...]

    @property
    def one_file(self) -> bool:
        """Whether the path is a file; the names inside a folder may carry more meaning."""
        return self.files == (self.path,)


def data_at(path: Path, otherwise: Format | None = None) -> Data:
    """Return the files of events at a path.

    Args:
        path: A file or a folder.
        otherwise: The format of a file with an unknown suffix.

    Raises:
        StreamError: There is no file of events, the files have several formats, or are too many.
    """
    try:
        status = status_of(path, StreamError)
    except StreamError as error:
        if ":/" in str(path)[2:]:  # s3://..., which a path shortens to one slash
            error.hint = "read it with Spark and pass the DataFrame"
        raise
    if not stat.S_ISDIR(status.st_mode):
        kind = _suffix_format(path.name) or otherwise
        if kind is None:
            of_pandas = _OF_PANDAS.get(path.suffix.casefold())
            raise StreamError(
                f"cannot read {shown(path.name)}",
                expected=_EXPECTED,
                hint=f"pandas.{of_pandas}(...) reads it: pass its DataFrame"
                if of_pandas
                else "sep=',' or another one reads any file as CSV",
            )
        _check(path, status)
        return Data(path, kind, (path,))
    files = sorted(_files_in(path))
    firsts = {_suffix_format(file.name): file.relative_to(path) for file in reversed(files)}
    kind = next(iter(firsts), None)
    if len(firsts) == 1 and kind is not None:
        return Data(path, kind, tuple(files))
    of_several = " and ".join(sorted(map(shown, firsts.values())))
    raise StreamError(
        f"the folder {shown(path)} holds {of_several or 'no file of events'}",
        expected="files of one format" if files else _EXPECTED,
        hint=_LIST if files else None,
    )


def json_files(path: Path) -> list[Path]:
    """Return the files of a folder and its subfolders, if all files of events there are JSON."""
    try:
        files = sorted(_files_in(path)) if path.is_dir() else []
    except OSError:  # what reads the path says why
        return []
    return files if all(is_json(file.name) for file in files) else []


def _files_in(folder: Path) -> list[Path]:
    """Return the files of events in a folder and its subfolders; links are followed.

    Raises:
        StreamError: A part that could hold events cannot be read, or there are too many entries.
    """
    files: list[Path] = []
    pending, visited, count = [folder], set(), 0
    while pending:
        current = pending.pop()
        status = status_of(current, StreamError)
        if (status.st_dev, status.st_ino) in visited:
            continue  # a link to a folder already visited
        visited.add((status.st_dev, status.st_ino))
        try:
            with os.scandir(current) as entries:
                for entry in entries:
                    count += 1
                    if count > MOST_ENTRIES:
                        raise StreamError(
                            f"the folder {shown(folder)} holds more than {MOST_ENTRIES:,} files"
                            " and folders",
                            expected="a folder of files of events",
                            hint="name the folder inside of it that has them",
                        )
                    if entry.name.startswith((".", "_")):
                        continue
                    path = Path(entry.path)
                    if entry.is_dir():
                        pending.append(path)
                    elif _suffix_format(entry.name) or _is_other_table(entry.name):
                        _check(path, status_of(path, StreamError))
                        files.append(path)
        except OSError as error:
            raise cannot_read(current, error, StreamError) from None
    return files


def _check(path: Path, status: os.stat_result) -> None:
    """Refuse pipes, sockets and the like, and names that Arrow could not open.

    Raises:
        StreamError: It is one of these.
    """
    check_file(path, status, StreamError)
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise StreamError(
            f"the path {shown(path)}", expected="a name in UTF-8", hint="rename the file"
        ) from None


def _suffix_format(name: str) -> Format | None:
    folded = name.casefold()
    return next((kind for suffix, kind in _SUFFIXES.items() if folded.endswith(suffix)), None)


def _is_other_table(name: str) -> bool:
    """Return whether a file seems to hold rows, in a format that a folder is not read in."""
    return is_json(name) or name.casefold().removesuffix(".gz").endswith(_OTHER_TABLES)


def schema_of(path: Path) -> pa.Schema:
    """Return the columns of Parquet files."""
    return _schema(data_at(path))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors of reading Parquet files into clear ones."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raised = broken(path, error)
        raised.hint = raised.hint or (_LIST if path.is_dir() else None)
        raise raised from error


def _schema(data: Data) -> pa.Schema:
    """Return the columns of Parquet files; fields of structs are columns."""
    one = data.one_file
    return flat(_metadata(data).schema.to_arrow_schema() if one else _dataset(data).schema)


def _metadata(data: Data) -> pq.FileMetaData:
    with _opening(data):
        return pq.read_metadata(data.path)


def _dataset(data: Data, coded: Sequence[str] = ()) -> pa_dataset.Dataset:
    import pyarrow.dataset as pa_dataset

    with _opening(data):
        return pa_dataset.dataset(
            list(map(str, data.files)),
            format=pa_dataset.ParquetFileFormat(
                dictionary_columns=set(coded),
                # Prefetching whole column chunks pays off only for remote files.
                default_fragment_scan_options=pa_dataset.ParquetFragmentScanOptions(
                    pre_buffer=False
                ),
            ),
            partitioning="hive",
            partition_base_dir=str(data.path) if data.path.is_dir() else None,
        )


@contextmanager
def _opening(data: Data) -> Iterator[None]:
    """Turn errors of opening Parquet files into clear ones."""
    try:
        yield
    except PermissionError as error:
        raise cannot_read(data.path, error, StreamError) from None
    except (pa.ArrowException, OSError) as error:
        raise StreamError(
            f"{shown(data.path)} is not a Parquet file, or it is broken:"
            f" {str(error).splitlines()[0]}"
        ) from error
