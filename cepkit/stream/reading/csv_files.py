"""Readers of CSV files, also gzipped, as Arrow tables.

An empty field is null, as in Spark; so is NaN or NA in a column of numbers, but not among texts (a
column with only these is a column of nulls).
"""

from __future__ import annotations

import codecs
import csv
import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from cepkit.errors import StreamError
from cepkit.lazy import pa, pa_csv, pc
from cepkit.stream.paths import broken, shown
from cepkit.stream.schema import separator_hint

_LONGEST_LINE = 1 << 20

# The reader infers column types from the first block; the second try uses the whole file.
_BEGINNING = 1 << 16
_FIRST_BLOCK = 1 << 22
_WHOLE_FILE = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How CSV files are written.

    Attributes:
        sep: What separates fields.
        decimal: The decimal point.
        texts: Columns that are read as texts.
    """

    sep: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    texts: tuple[str, ...] = ()


_PLAIN = CsvFormat()


def csv_names(path: Path, form: CsvFormat = _PLAIN) -> tuple[str, ...]:
    """Return the names of the columns in the first line of a CSV file.

    Raises:
        StreamError: It is empty, or no CSV file.
    """
    opener = gzip.open if path.name.casefold().endswith(".gz") else open
    try:
        encoding = "utf-8-sig" if form.encoding == "utf-8" else form.encoding
        with opener(path, "rt", encoding=encoding, newline="") as file:
            names = next(csv.reader(_first_lines(file), delimiter=form.sep), None)
    except UnicodeDecodeError as error:
        raise StreamError(
            f"{shown(path)} is not a CSV file, or not in {form.encoding.upper()}",
            hint="encoding='utf-16'"
            if error.object[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
            else "encoding='latin-1' or another one; or save it as UTF-8",
        ) from error
    except (csv.Error, OSError, EOFError, zlib.error) as error:
        raise broken(path, error) from error
    if not names:
        raise StreamError(f"{shown(path)} is empty", expected="a first line with the column names")
    if any("\0" in name for name in names):
        raise StreamError(
            f"{shown(path)} is not a CSV file", expected="a text with a line for each event"
        )
    return tuple(names)


def csv_columns(files: Sequence[Path], form: CsvFormat = _PLAIN) -> tuple[str, ...]:
    """Return the names of the columns of CSV files; each once, if there are several files.

    Raises:
        StreamError: As of `csv_names`.
    """
    headers = [csv_names(file, form) for file in files]
    return headers[0] if len(headers) == 1 else tuple(dict.fromkeys(chain.from_iterable(headers)))


def _first_lines(file: TextIO) -> Iterator[str]:
    """Yield lines; at most the first megabyte of a file with hardly any line ends."""
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE and line[-1] not in "\r\n":
            raise csv.Error(f"a line of more than {_LONGEST_LINE:,} characters")
        yield line


def read_csv_files(
    path: Path,
    files: Sequence[Path],
    columns: list[str],
    limit: int | None,
    form: CsvFormat = _PLAIN,
) -> pa.Table:
    """Return columns of CSV files as a table; one that a file lacks is missing in its rows.

    Args:
        path: The place of the files, for error messages.
        limit: The number of rows to read from the beginning; None for all.
        form: How they are written.
    """
    tables: list[pa.Table] = []
    for file in files:
        csv_names(file, form)  # raises clear errors
        tables.append(_read_csv(file, columns, limit, form, alone=len(files) == 1))
        if limit is not None and sum(len(table) for table in tables) >= limit:
            break
    if len(tables) == 1:
        return tables[0]
    # Where a column holds NA and nothing else, they are texts if others of that column are.
    texts = {f.name for table in tables for f in table.schema if pa.types.is_string(f.type)}
    for place, table in enumerate(tables):
        if again := [f.name for f in table.schema if f.name in texts and pa.types.is_null(f.type)]:
            named = replace(form, texts=(*form.texts, *again))
            tables[place] = _read_csv(files[place], columns, limit, named, alone=False)
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise broken(path, error) from error


def _read_csv(
    path: Path, columns: list[str], limit: int | None, form: CsvFormat, *, alone: bool
) -> pa.Table:
    options = partial(_options, columns, form, alone=alone)
    try:
        if limit is not None:
            return _first_block(path, options).slice(0, limit)
        try:
            table = pa_csv.read_csv(path, **options(_FIRST_BLOCK))
        except pa.ArrowInvalid as error:
            if "conversion error" not in str(error):
                raise
            table = pa_csv.read_csv(path, **options(_WHOLE_FILE))
    except (pa.ArrowException, KeyError, UnicodeDecodeError, OSError) as error:
        if "Empty CSV file" in str(error):  # only a header, without a line end
            return pa.table({name: pa.nulls(0) for name in columns})
        raised = broken(path, error)
        raised.hint = separator_hint(csv_names(path, form))
        raise raised from error
    return _without_empty_texts(table)


def _first_block(path: Path, options: Callable[[int], dict[str, Any]]) -> pa.Table:
    try:
        with pa_csv.open_csv(path, **options(_BEGINNING)) as reader:
            batch = next(iter(reader), None)
            table = pa.Table.from_batches([] if batch is None else [batch], reader.schema)
    except pa.ArrowInvalid:
        # A header longer than a block, or a broken file: read the whole file.
        table = pa_csv.read_csv(path, **options(_FIRST_BLOCK))
    return _without_empty_texts(table)


def _options(columns: list[str], form: CsvFormat, block: int, *, alone: bool) -> dict[str, Any]:
    return {
        "read_options": pa_csv.ReadOptions(block_size=block, encoding=form.encoding),
        "parse_options": pa_csv.ParseOptions(delimiter=form.sep, newlines_in_values=True),
        "convert_options": pa_csv.ConvertOptions(
            include_columns=columns,
            include_missing_columns=not alone,
            decimal_point=form.decimal,
            column_types=dict.fromkeys(form.texts, pa.string()),
        ),
    }


def _without_empty_texts(table: pa.Table) -> pa.Table:
    """Return the table with null for empty fields in columns of texts, as in all others.

    The reader's own option for this would also turn the ticker "NA" into null.
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
