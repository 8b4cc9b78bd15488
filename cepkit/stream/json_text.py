"""Traces of all kinds as JSON texts and files: written, and read again with what may be wrong."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from cepkit.errors import TraceError

T = TypeVar("T")


def write_json(data: dict[str, Any], path: str | os.PathLike[str] | None) -> str:
    """Return an object as a JSON text, and write it to `path` if one is given."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def read_json(
    source: str | os.PathLike[str], schema: str, decode: Callable[[dict[str, Any]], T]
) -> T:
    """Return what a JSON text, or a file of one, holds.

    Args:
        source: The text, which begins with a brace, or a path.
        schema: What its object should be.
        decode: Makes of that object what is returned.

    Raises:
        TraceError: The file cannot be read, holds no object of that schema, or one that lacks
            something.
    """
    found = _object(source, schema)
    try:
        return decode(found)
    except TraceError:
        raise
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise TraceError(f"this trace lacks something: {error}") from error


def _object(source: str | os.PathLike[str], schema: str) -> dict[str, Any]:
    text = source if isinstance(source, str) and source.lstrip().startswith("{") else None
    try:
        found = json.loads(Path(source).read_text(encoding="utf-8") if text is None else text)
    except OSError as error:
        raise TraceError(f"'{source}' cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise TraceError(f"this is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise TraceError("this is JSON, but no trace", expected=f"an object with schema {schema}")
    if found.get("schema") != schema:
        raise TraceError(f"the schema {found.get('schema')!r}", expected=f"'{schema}'")
    return found


def encode_columns(columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Return attributes of events as JSON has them: infinities as texts, arrays as lists."""
    return {name: list(map(_finite, column)) for name, column in columns.items()}


def decode_columns(columns: Mapping[str, Sequence[Any]]) -> dict[str, tuple[Any, ...]]:
    """Return attributes that `encode_columns` encoded; infinities stay texts."""
    return {
        name: tuple(tuple(value) if isinstance(value, list) else value for value in column)
        for name, column in columns.items()
    }


def _finite(value: Any) -> Any:
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return list(map(_finite, value)) if isinstance(value, tuple) else value
