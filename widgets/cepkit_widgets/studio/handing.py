"""A pattern for other systems: what to run elsewhere, as texts to copy."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from os import PathLike
from typing import Any, get_args

import pandas as pd

from cepkit.errors import CepkitError, UnsupportedError
from cepkit.pattern.query import Query, SqlDialect
from cepkit.stream.schema import Schema
from cepkit.stream.stream import Stream

_NAMES = {
    "duckdb": "DuckDB",
    "flink": "Flink SQL",
    "snowflake": "Snowflake",
    "spark": "Spark SQL",
    "trino": "Trino",
}


def handed(stream: Stream, query: Query, code: str) -> Mapping[str, str]:
    """Return the pattern as Python, as a command, and as SQL of each system, by title.

    What a system cannot say is told in its place, as a comment.

    Args:
        code: The cell that finds the matches.
    """
    schema, source = stream.schema, stream.source
    file = str(source) if isinstance(source, str | PathLike) else ""
    options = _options(schema)
    if file:
        given = ", ".join([repr(file), *(f"{name}={value!r}" for name, value in options.items())])
        code = code.replace("\n\n", f"\n\nstream = ck.events({given})\n", 1)
    words = {"events": file or "EVENTS.parquet", **options, "pattern-text": str(query)}
    command = [f"--{name} {shlex.quote(value)}" for name, value in words.items()]
    texts = {"Python": code, "The command": " \\\n  ".join(["cepkit detect", *command])}
    for dialect in get_args(SqlDialect):
        try:
            text = _sql(schema, query, dialect)
        except CepkitError as error:
            text = "\n".join(f"-- {line}" for line in str(error).splitlines())
        texts[_NAMES.get(dialect, dialect)] = text
    return texts


def _options(schema: Schema) -> dict[str, str]:
    """Return how the events are read, as the options of `cepkit.events` and of the command."""
    names = ("time", "type", "unit", "timezone", "arrival", "ties")
    options = {name: getattr(schema, name) for name in names}
    for name in ("since", "until"):
        at = getattr(schema, name)
        options[name] = at and f"{pd.Timestamp(at, unit='us'):%Y-%m-%dT%H:%M:%S.%fZ}"
    return {name: value for name, value in options.items() if value not in (None, "none")}


def _sql(schema: Schema, query: Query, dialect: SqlDialect) -> str:
    """Return the SQL of the pattern over a table of these events.

    Raises:
        UnsupportedError: SQL cannot say it.
    """
    if schema.ties != "none":
        raise UnsupportedError("the SQL gives events of equal time no order, and the stream does")
    unit: Any = schema.unit
    text = query.to_sql(dialect, time=schema.time, type=schema.type, unit=unit)
    if schema.since is None and schema.until is None:
        return text
    return f"-- The table has to have the events of the time range alone.\n{text}"
