"""What events are called: their row in the source, or their value in a column of ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cepkit.diagnosis.scene import Ints
from cepkit.diagnosis.words import counted
from cepkit.errors import PatternError, StreamError, nearest
from cepkit.pattern.nodes import Kleene, events_of, walk
from cepkit.pattern.query import Query
from cepkit.stream.columns import EventColumns


@dataclass(frozen=True)
class Naming:
    """Names events, and finds them by name.

    Attributes:
        columns: The stream.
        column: The column of ids; None for row numbers.
    """

    columns: EventColumns
    column: str | None = None

    def name(self, event: int) -> str:
        """Return what an event is called in a sentence."""
        return f"{self.column or 'row'} {self.id(event)}"

    def id(self, event: int) -> object:
        """Return the row number of an event, or its id."""
        if self.column is None:
            return int(self.columns.source_rows(np.array([event]))[0])
        column = self.columns.attributes[self.column].take(np.array([event]))
        if column.missing()[0]:
            return None
        value = column.values[0]
        return str(column.dictionary[int(value)]) if column.kind == "text" else value.item()

    def event(self, variable: str, wanted: object) -> int:
        """Return the event that a user means.

        Raises:
            StreamError: There is no such event, or more than one.
        """
        found = self._rows(wanted) if self.column is None else self._ids(wanted)
        if len(found) == 1:
            return int(found[0])
        what = f"{self.column or 'row'} {wanted!r}, named as '{variable}',"
        if len(found):
            raise StreamError(
                f"{what} is there {len(found):,} times",
                expected="a column that tells events apart",
                hint="without id=, an event is named by the number of its row, from 0",
            )
        if self.column is not None:
            raise StreamError(
                f"{what} occurs in no event", hint=self._hint(wanted) or "is it of this stream?"
            )
        rows = len(self.columns.source)
        if isinstance(wanted, int | np.integer) and 0 <= wanted < rows:
            raise StreamError(
                f"{what} is no event: it has no time or no type", expected="a row with both"
            )
        raise StreamError(
            f"{what} is not in the stream",
            expected=f"the number of a row, 0 to {rows - 1:,}" if rows else "a stream with rows",
            hint="id='column' names events by their values in a column",
        )

    @cached_property
    def _row_numbers(self) -> Ints:
        return self.columns.source_rows(np.arange(len(self.columns))).astype(np.int64)

    def _rows(self, wanted: object) -> Ints:
        if not isinstance(wanted, int | np.integer) or isinstance(wanted, bool):
            raise StreamError(
                f"an event is named by {wanted!r}",
                expected="the number of its row, from 0",
                hint="id='column' names events by their values in a column",
            )
        return np.flatnonzero(self._row_numbers == int(wanted))

    def _ids(self, wanted: Any) -> Ints:
        column = self.columns.attributes[self.column or ""]
        if column.kind == "text":
            at = np.flatnonzero(column.dictionary == str(wanted))
            known = isinstance(wanted, str) and len(at)
            return np.flatnonzero(column.values == at[0]) if known else np.empty(0, np.int64)
        number = isinstance(wanted, int | float | np.number) and not isinstance(wanted, bool)
        if column.kind not in ("integer", "float") or not number:
            raise StreamError(
                f"{self.column} {wanted!r}: the column '{self.column}' holds {column.kind} values",
                expected="an id as the column has it: a text or a number",
            )
        return np.flatnonzero(~column.missing() & (column.values == wanted))

    def _hint(self, wanted: object) -> str | None:
        column = self.columns.attributes[self.column or ""]
        if column.kind != "text" or len(column.dictionary) > 10_000:
            return None
        return nearest(str(wanted), column.dictionary.tolist())


def check_names(query: Query, bindings: Mapping[str, object]) -> None:
    """Check that what is named are variables of a query, and that only Kleene ones take several.

    Raises:
        PatternError: One is not.
    """
    known = [event.variable for event in events_of(query.structure)]
    repeated = {e.variable for node in walk(query.structure) if isinstance(node, Kleene)
                for e in events_of(node)}  # fmt: skip
    for variable, wanted in bindings.items():
        if variable not in known:
            found = f"'{variable}' is no variable of the pattern"
            raise PatternError.unknown(found, variable, known)
        if several(wanted) and variable not in repeated:
            raise PatternError(
                f"{counted(len(ids(wanted)), 'event')} named as '{variable}'",
                expected="one event: only a variable under KL takes several",
            )


def several(wanted: object) -> bool:
    """Return whether a user names a list of events."""
    return isinstance(wanted, Iterable) and not isinstance(wanted, str)


def ids(wanted: Any) -> list[Any]:
    """Return the ids that a user names, one or several."""
    return list(wanted) if several(wanted) else [wanted]
