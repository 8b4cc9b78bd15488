"""JSON texts and files, read and written, with clear errors."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from cepkit.errors import TraceError
from cepkit.files import JSON, write_text
from cepkit.stream.paths import path_of, read_text
from cepkit.stream.shapes import ShapeError, shown

_LARGEST_FILE = 1 << 30

T = TypeVar("T")


def write_json(
    data: dict[str, Any], path: str | os.PathLike[str] | None, *, overwrite: bool
) -> str:
    """Return an object as a JSON text, and write it to `path` if one is given.

    Raises:
        FileError: The file exists already, or cannot be written.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if path is not None:
        write_text(path, text, JSON, overwrite=overwrite)
    return text


def read_json(
    source: str | os.PathLike[str], decoders: Mapping[str, Callable[[dict[str, Any]], T]]
) -> T:
    """Read a JSON text or file.

    Args:
        source: The text, which begins with a brace, or a path.
        decoders: For each possible schema a function that decodes the object, or raises a
            ShapeError.

    Raises:
        TraceError: The file cannot be read, or does not hold such an object.
    """
    if not isinstance(source, str | os.PathLike):
        raise TraceError(
            f"a trace from a {type(source).__name__}", expected="a JSON text, or the path of a file"
        )
    text = source if isinstance(source, str) and source.lstrip().startswith("{") else None
    if text is None:
        text = read_text(path_of(source, TraceError), _LARGEST_FILE, TraceError)
    try:
        data = parse_object(text, "schema", *decoders)
        return decoders[data["schema"]](data)
    except ShapeError as error:
        raise TraceError(f"this is not a trace: {error}", expected=error.expected) from None


def parse_object(text: str, tag: str, *schemas: str) -> dict[str, Any]:
    """Return the object in a JSON text.

    Args:
        tag: The key that names the object's schema.
        schemas: The possible schemas.

    Raises:
        ShapeError: It is not JSON, not an object, or has another schema.
    """
    data = _parsed(text)
    if not isinstance(data, dict):
        raise ShapeError("JSON, but no object", f"an object of {tag} '{schemas[0]}'")
    if data.get(tag) not in schemas:
        raise ShapeError(f"an object of {tag} {shown(data.get(tag))}", f"'{schemas[0]}'")
    return data


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ShapeError("nested too deeply", "some levels of lists and objects") from None
    except json.JSONDecodeError as error:
        raise ShapeError(f"no JSON: {error}", "JSON") from None
    except ShapeError:
        raise
    except ValueError:  # Python refuses integers of more than 4,300 digits
        raise ShapeError("a number of thousands of digits", "a number of fewer digits") from None


def _refuse_constant(name: str) -> None:
    raise ShapeError(name, "a finite number")
