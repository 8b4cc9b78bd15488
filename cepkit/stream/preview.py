"""The preview of a stream: its schema and its first rows."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from cepkit.printing import html_output, html_text
from cepkit.stream.schema import Schema

# With every character escaped to six, a page of these stays below 20 kB.
_ROWS = 5
_COLUMNS = 10
_WIDTH = 36


@dataclass(frozen=True, slots=True)
class Preview:
    """The first rows of a stream, and how they are read, to be shown.

    Attributes:
        title: What the source is and how many rows it has.
        names: All columns of the source.
        rows: The first rows of some columns as they came, None where looking would cost a job.
    """

    title: str
    schema: Schema
    names: tuple[str, ...]
    rows: pa.Table | None

    def text(self) -> str:
        """Return the preview for a terminal."""
        lines = [f"Stream: {self.title}", f"  {self._facts()}", f"  columns: {self._listed()}"]
        if self.rows is not None and len(self.rows):
            cells = [list(shown_columns(self.names, self.schema)), *self._cells()]
            widths = [max(len(_cut(row[i])) for row in cells) for i in range(len(cells[0]))]
            lines += [
                "  "
                + "  ".join(_cut(c).ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
                for row in cells
            ]
        return "\n".join(lines)

    def html(self) -> str:
        """Return the preview for a notebook; all names and values are escaped."""
        parts = [
            f"<p><b>Stream</b> {html_text(_cut(self.title, 200))}<br>",
            f"{html_text(self._facts())}<br>columns: {html_text(self._listed())}</p>",
        ]
        if self.rows is not None and len(self.rows):
            columns = shown_columns(self.names, self.schema)
            head = "".join(f"<th>{html_text(_cut(name))}</th>" for name in columns)
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>")
            for row in self._cells():
                cells = "".join(f"<td>{html_text(_cut(cell))}</td>" for cell in row)
                parts.append(f"<tr>{cells}</tr>")
            parts.append("</tbody></table><p>the first rows, as they came</p>")
        return html_output(*parts)

    def _facts(self) -> str:
        schema = self.schema
        facts = [f"time: {_cut(schema.time)}", f"type: {_cut(schema.type)}"]
        if schema.arrival:
            facts.append(f"arrival: {_cut(schema.arrival)}")
        if schema.unit:
            facts.append(f"unit: {schema.unit}")
        facts.append(f"time zone: {schema.timezone or 'UTC where none is given'}")
        return ", ".join(facts)

    def _listed(self) -> str:
        more = len(self.names) - _COLUMNS
        listed = ", ".join(_cut(name) for name in self.names[:_COLUMNS])
        return f"{listed}, and {more} more" if more > 0 else listed

    def _cells(self) -> list[list[str]]:
        assert self.rows is not None
        columns = [
            [str(value) for value in self.rows.column(name).slice(0, _ROWS).to_pylist()]
            for name in shown_columns(self.names, self.schema)
        ]
        return [list(row) for row in zip(*columns, strict=True)]


def shown_columns(names: tuple[str, ...], schema: Schema) -> tuple[str, ...]:
    """Return the columns of which a preview shows values: time, type and the first others."""
    first = (schema.time, schema.type)
    others = tuple(name for name in names if name not in first)
    return first + others[: _COLUMNS - 2]


def _cut(text: str, width: int = _WIDTH) -> str:
    text = text.replace("\n", " ")
    return text if len(text) <= width else text[: width - 1] + "…"
