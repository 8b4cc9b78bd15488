"""Matches as a readable table in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

from cepkit.pattern.conditions import attributes_of
from cepkit.pattern.nodes import bound_events_of
from cepkit.pattern.query import Query
from cepkit.printing import cut
from cepkit.stream.schema import Schema
from cepkit.tables import text_table

_WIDEST = 32


def first_rows(matches: Any, n: int) -> list[dict[str, Any]]:
    """Return the first `n` matches found, as dictionaries.

    Args:
        matches: The result of `detect`, local or from Spark.
    """
    if hasattr(matches, "batches"):
        rows: list[dict[str, Any]] = []
        for batch in matches.batches():
            rows += batch.slice(0, n - len(rows)).to_pylist()
            if len(rows) >= n:
                break
        return rows
    # Limit the DataFrame: the limit of the matches themselves belongs to the user.
    first: list[dict[str, Any]] = matches.select("*").limit(n).toArrow().to_pylist()
    return first


def match_table(rows: Sequence[dict[str, Any]], query: Query, schema: Schema) -> str:
    """Return matches as a table: the columns of RETURN, else the attributes that conditions read.

    Args:
        rows: From `first_rows`.
        schema: The names of the time and type columns.
    """
    if query.returned:
        return table_of([result.name for result in query.returned], rows)
    head = [f"{variable}.{name}" for variable, name in _shown(query, schema)]
    cells = [
        [_text(_value(row[variable], name)) for variable, name in _shown(query, schema)]
        for row in rows
    ]
    _drop_common_date(cells)
    if rows and isinstance(rows[0].get("certainty"), str):  # of clock_error=
        head = [*head, "certainty"]
        cells = [[*cell, row["certainty"]] for cell, row in zip(cells, rows, strict=True)]
    cells = [[cut(cell, _WIDEST) for cell in row] for row in cells]
    return text_table(head, cells, left=0)


def table_of(names: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    """Return rows of plain values as a table."""
    cells = [[cut(_text(row[name]), _WIDEST) for name in names] for row in rows]
    return text_table(list(names), cells, left=0)


def _shown(query: Query, schema: Schema) -> list[tuple[str, str]]:
    read = attributes_of(query.where)
    columns, keyed = [], False
    for event in bound_events_of(query.written):
        columns.append((event.variable, schema.time))
        # The type is redundant if the pattern names only one.
        if schema.type is not None and (event.types is None or len(event.types) != 1):
            columns.append((event.variable, schema.type))
        own = {name for variable, name in read if variable == event.variable}
        if not keyed:  # all events of a match have the same key
            own, keyed = own | {*query.partition_by}, True
        names = sorted(own)
        columns += [(event.variable, n) for n in names if n not in (schema.time, schema.type)]
    return columns


def _value(bound: object, name: str) -> object:
    """Return an attribute of a variable's binding: an event, several, or none."""
    match bound:
        case dict():
            return bound.get(name)
        case list():
            return [event.get(name) for event in bound]
        case _:
            return None


def _text(value: object) -> str:
    match value:
        case None:
            return "-"
        case datetime():
            moment = value.astimezone(UTC) if value.tzinfo else value
            text = moment.replace(tzinfo=None).isoformat(" ")
            text = text.rstrip("0").rstrip(".") if "." in text else text
            return f"{text}Z" if value.tzinfo else text
        case date():
            return value.isoformat()
        case float():
            return f"{value:.6g}"
        case list():
            text = ", ".join(_text(part) for part in value[:4])
            text = f"[{text}, ...]" if len(value) > 4 else f"[{text}]"
        case _:
            text = str(value)
    return " ".join(text.split())  # a cell is one line


def _drop_common_date(cells: list[list[str]]) -> None:
    """Leave out the date after a row's first time if it is the same."""
    for row in cells:
        day = row[0][:11]
        if len(day) == 11 and day[4] == day[7] == "-" and day[10] == " ":
            # The times of several events are in brackets.
            row[1:] = [
                cell.replace(day, "") if cell.startswith((f"[{day}", day)) else cell
                for cell in row[1:]
            ]
