"""What a JSON text holds, or a file of one: traces are saved and read so."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from cepkit.errors import TraceError


def json_object(source: str | os.PathLike[str], schema: str) -> dict[str, Any]:
    """Return the object of a JSON text, or of a file.

    Args:
        source: The text, which begins with a brace, or a path.
        schema: What the object should be.

    Raises:
        TraceError: The file cannot be read, or holds no object of that schema.
    """
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
