"""A pattern for other systems: what to run elsewhere, as texts to copy."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from os import PathLike
from typing import Any, get_args

from cepkit.errors import CepkitError
from cepkit.pattern.query import Query, SqlDialect
from cepkit.stream.stream import Stream

_NAMES = {
    "duckdb": "DuckDB",
    "flink": "Flink SQL",
    "snowflake": "Snowflake",
    "spark": "Spark SQL",
    "trino": "Trino",
}
_UNITS = ("s", "ms", "us")


def handed(stream: Stream, query: Query, code: str) -> Mapping[str, str]:
    """Return the pattern as Python, as a command, and as SQL of each system, by title.

    What a system cannot say is told in its place, as a comment.

    Args:
        code: The cell that finds the matches.
    """
    texts = {"Python": code, "The command": command(stream, query)}
    schema = stream.schema
    unit: Any = schema.unit if schema.unit in _UNITS else None
    for dialect in get_args(SqlDialect):
        try:
            text = query.to_sql(dialect, time=schema.time, type=schema.type, unit=unit)
        except CepkitError as error:
            text = "\n".join(f"-- {line}" for line in str(error).splitlines())
        texts[_NAMES.get(dialect, dialect)] = text
    return texts


def command(stream: Stream, query: Query) -> str:
    """Return the line that finds the matches on a terminal."""
    schema, source = stream.schema, stream.source
    file = str(source) if isinstance(source, str | PathLike) else "EVENTS.parquet"
    options = {
        "events": file,
        "time": schema.time,
        "type": schema.type,
        "unit": schema.unit,
        "timezone": schema.timezone,
        "arrival": schema.arrival,
        "ties": None if schema.ties == "none" else schema.ties,
        "pattern-text": str(query),
    }
    words = [f"--{name} {shlex.quote(value)}" for name, value in options.items() if value]
    return " \\\n  ".join(["cepkit detect", *words])
