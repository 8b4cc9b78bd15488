"""JSON files as Arrow tables: an object in each line, or one array of objects; also gzipped.

Arrow's reader takes lines only, so the objects of an array are written as lines first. It also
drops the zone of times, so those are read as texts, and become times if all of them or none name a
zone.
"""

from __future__ import annotations

import io
import json
import os
import re
import zlib
from pathlib import Path

from cepkit.errors import LimitError, StreamError
from cepkit.lazy import pa, pa_json
from cepkit.memory import free_memory, size_text
from cepkit.stream.paths import check_file, shown, status_of

_SUFFIXES = (".json", ".jsonl", ".ndjson")
_BLOCK = 1 << 22
_LONGEST = (1 << 31) - 1
_MIXED = re.compile(r"Column\(([/\w]+)\) changed from ")  # Arrow's error names the field
_MOST_ARRAY = 1 << 28
"""The most bytes of an array, which takes ten times as many as Python objects."""


def is_json(name: str) -> bool:
    """Return whether the name of a file is that of a JSON file."""
    return name.casefold().removesuffix(".gz").endswith(_SUFFIXES)


def read_json(path: Path) -> pa.Table:
    """Return a JSON file as a table, a row for each object; objects inside of it are structs.

    Raises:
        StreamError: It cannot be read, is not JSON, or a field has values of several kinds.
        LimitError: It does not fit the memory.
    """
    status = status_of(path, StreamError)
    check_file(path, status, StreamError)
    try:
        with pa.input_stream(os.fspath(path), compression="detect") as file:
            content = file.read(free_memory() // 4)
            if file.read(1):
                raise LimitError(
                    f"{shown(path)} is larger than {size_text(len(content))}, a quarter of the free"
                    " memory",
                    hint="read it with Spark (spark.read.json) and pass the DataFrame",
                )
    except (OSError, EOFError, zlib.error) as error:
        raise StreamError(f"{shown(path)} cannot be read: {error}") from error
    content = content.removeprefix(b"\xef\xbb\xbf").strip()
    if not content:
        raise StreamError(f"{shown(path)} is empty", expected="an object in each line")
    if content.startswith(b"["):
        content = _lines_of_array(content, path)
    try:
        table = _table(content, None)
        texts = pa.schema([_with_texts(field) for field in table.schema])
        if texts != table.schema:
            table = _table(content, texts)
    except pa.ArrowException as error:
        raise _broken(content, path, error) from error
    _refuse_an_envelope(table, path)
    for place, field in enumerate(texts):
        table = table.set_column(place, field.name, _with_times(table.column(place)))
    return table


def _refuse_an_envelope(table: pa.Table, path: Path) -> None:
    """Refuse a file of one object with a list of others, which seem to be the events."""
    for field in table.schema if len(table) == 1 else ():
        kind = field.type
        of_objects = pa.types.is_list(kind) and pa.types.is_struct(kind.value_type)
        if of_objects and len(table.column(field.name)[0]) > 1:
            raise StreamError(
                f"{shown(path)} is one object, with a list of objects in '{field.name}'",
                expected="an object in each line, or one array of objects",
                hint=f"ck.events(json.load(open(path))['{field.name}'], ...)",
            )


def _table(content: bytes, schema: pa.Schema | None) -> pa.Table:
    longest = len(content) < _BLOCK or max(map(len, content.splitlines())) >= _BLOCK // 2
    block = min(len(content) + 1, _LONGEST) if longest else _BLOCK
    return pa_json.read_json(
        io.BytesIO(content),
        read_options=pa_json.ReadOptions(block_size=block),
        parse_options=pa_json.ParseOptions(explicit_schema=schema),
    )


def _lines_of_array(content: bytes, path: Path) -> bytes:
    if len(content) > _MOST_ARRAY:
        raise LimitError(
            f"{shown(path)} is one array of {size_text(len(content))}",
            expected=f"an array of at most {size_text(_MOST_ARRAY)}, or an object in each line",
            hint="jq -c '.[]' FILE writes an object in each line",
        )
    try:
        items = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise StreamError(f"{shown(path)} is not JSON: {error}") from error
    for place, item in enumerate(items):
        if not isinstance(item, dict):
            raise StreamError(
                f"{shown(path)} holds a {type(item).__name__} at place {place} of its array",
                expected="an array of objects",
            )
    if not items:
        raise StreamError(f"{shown(path)} is an empty array", expected="an array of objects")
    return "\n".join(map(json.dumps, items)).encode()


def _broken(content: bytes, path: Path, error: Exception) -> StreamError:
    """Return the error of the first line that is no object, else Arrow's error."""
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            if isinstance(json.loads(line), dict):
                continue
            reason = "it is not an object"
        except (ValueError, RecursionError) as cause:
            reason = str(cause)
        return StreamError(
            f"line {number} of {shown(path)} cannot be read: {reason}",
            expected="an object in each line, or one array of objects",
        )
    reason = str(error).removeprefix("JSON parse error: ").partition(" in row")[0]
    hint = None
    if mixed := _MIXED.match(reason):
        field = mixed[1].replace("/", ".")
        hint = f"make them texts first: jq -c '{field} |= tostring' {shown(path)}"
    return StreamError(
        f"{shown(path)} cannot be read: {reason}",
        expected="values of one kind in each field, and each field once",
        hint=hint,
    )


def _with_texts(field: pa.Field) -> pa.Field:
    """Return the field with texts instead of times, at any depth of structs and lists."""
    kind = field.type
    if pa.types.is_timestamp(kind):
        return field.with_type(pa.string())
    if pa.types.is_struct(kind):
        return field.with_type(pa.struct([_with_texts(inner) for inner in kind]))
    return (
        field.with_type(pa.list_(_with_texts(kind.value_field)))
        if pa.types.is_list(kind)
        else field
    )


def _with_times(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of texts as times if all of them, or none, name a zone."""
    if not pa.types.is_string(column.type) or column.null_count == len(column):
        return column
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            continue
    return column
