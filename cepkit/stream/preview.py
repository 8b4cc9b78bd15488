"""The preview of a stream, for display: its schema and its first rows."""

from __future__ import annotations

from dataclasses import dataclass

from cepkit.lazy import pa
from cepkit.printing import cut, html_output, html_text, time_text
from cepkit.stream.schema import Schema
from cepkit.tables import html_table, text_table

# Even if escaping turned every character into six, a page stays below 20 kB.
_ROWS = 5
_COLUMNS = 10
_WIDTH = 36


@dataclass(frozen=True, slots=True)
class Preview:
    """The first rows of a stream and its schema, for display.

    Attributes:
        title: The kind of the source and its number of rows.
        names: All columns of the source.
        rows: The original first rows of some columns; None if reading them would cost a Spark job.
    """

    title: str
    schema: Schema
    names: tuple[str, ...]
    rows: pa.Table | None

    def text(self) -> str:
        """Return the preview for a terminal."""
        lines = [f"Stream: {self.title}", f"  {self._facts()}", f"  columns: {self._listed()}"]
        if cells := self._cells():
            table = text_table(*cells, left=len(cells[0]))
            lines += [f"  {line}" for line in table.splitlines()]
        return "\n".join(lines)

    def html(self) -> str:
        """Return the preview for a notebook; all names and values are escaped."""
        parts = [
            f"<p><b>Stream</b> {html_text(cut(self.title, 200))}<br>",
            f"{html_text(self._facts())}<br>columns: {html_text(self._listed())}</p>",
        ]
        if cells := self._cells():
            parts += [html_table(*cells, left=len(cells[0])), "<p>the first rows, as they came</p>"]
        return html_output(*parts)

    def _facts(self) -> str:
        schema = self.schema
        facts = [f"time: {cut(schema.time, _WIDTH)}"]
        facts.append("no types" if schema.type is None else f"type: {cut(schema.type, _WIDTH)}")
        if schema.arrival:
            facts.append(f"arrival: {cut(schema.arrival, _WIDTH)}")
        if schema.by_arrival:
            facts.append("ties: by arrival")
        if schema.since is not None:
            facts.append(f"since: {time_text(schema.since)}")
        if schema.until is not None:
            facts.append(f"until: {time_text(schema.until)}")
        if schema.unit:
            facts.append(f"unit: {schema.unit}")
        facts.append(f"time zone: {schema.clock or 'UTC where none is given'}")
        return ", ".join(facts)

    def _listed(self) -> str:
        more = len(self.names) - _COLUMNS
        listed = ", ".join(cut(name, _WIDTH) for name in self.names[:_COLUMNS])
        return f"{listed}, and {more} more" if more > 0 else listed

    def _cells(self) -> tuple[list[str], list[list[str]]] | None:
        """Return the head and the rows of the table; None if there are no rows to show."""
        if self.rows is None or not len(self.rows):
            return None
        names = shown_columns(self.names, self.schema)
        columns = [
            [cut(value, _WIDTH) for value in self.rows.column(name).slice(0, _ROWS).to_pylist()]
            for name in names
        ]
        return [cut(name, _WIDTH) for name in names], [*map(list, zip(*columns, strict=True))]


def shown_columns(names: tuple[str, ...], schema: Schema) -> tuple[str, ...]:
    """Return the columns that a preview shows: time, type and the first others."""
    first = tuple(name for name in (schema.time, schema.type) if name is not None)
    others = tuple(name for name in names if name not in first)
    return first + others[: _COLUMNS - 2]
