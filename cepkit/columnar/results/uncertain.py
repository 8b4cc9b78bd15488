"""Matches under uncertain clocks: those that are possible, each certain or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepkit.columnar.compile.program import Program
from cepkit.columnar.results.certainty import Absent, Box, certainty
from cepkit.columnar.results.expected import INSTEAD
from cepkit.columnar.results.held import Held, Ints, _HeldMatches
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.results.shown import FirstMatches
from cepkit.columnar.slices.blocks import Block
from cepkit.lazy import pd
from cepkit.memory import Room
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.query import Query
from cepkit.pattern.uncertain import CERTAINTY, Difference, differences_of, widened
from cepkit.statistics.measuring.walks import Breaking, members_of
from cepkit.statistics.slice_events import Events
from cepkit.stream.columns import EventColumns
from cepkit.stream.stream import Stream

_BYTES = 24
"""The bytes of an event of a match, and of its times."""


class _UncertainMatches(_HeldMatches):
    """The possible matches of a query.

    Args:
        stream: A local stream.
        queries: The query, and what `uncertain_query` makes of it.
        plan: The plan of its wider query; None for the cheapest.
        errors: The greatest error of each clock, or of each event.
        columns: The events, with all attributes that the query reads.
        options: As for `Matches`.
    """

    def __init__(
        self,
        stream: Stream,
        queries: tuple[Query, Query],
        plan: Any,
        errors: int | Ints,
        columns: EventColumns,
        **options: Any,
    ) -> None:
        self._wide = int(np.max(errors, initial=0))
        self._errors = errors
        shown, self._query = queries
        wide = widened(self._query, self._wide)
        super().__init__(stream, wide, plan, columns=columns, **options)
        self._stream, self.query = stream, shown

    @property
    def schema(self) -> pa.Schema:
        """The columns of `Matches`, and `certainty`."""
        return super().schema.append(pa.field(CERTAINTY, pa.string()))

    def counts(self) -> pd.Series[int]:
        """Return the number of certain matches, and of those that are only possible."""
        found = self._all()
        certain = sum(int(e.certain.sum()) for e in found if e.certain is not None)
        possible = sum(each.block.size for each in found) - certain
        return pd.Series({"certain": certain, "possible": possible}, name="matches")

    def timeline(self, n: int = 50) -> pd.DataFrame:
        """Return the events of some `n` matches, one row for each event.

        Args:
            n: The most matches.

        Returns:
            The columns of `Matches.timeline`, `clock_error` (a number if `ts` is one, else a
            duration) and `certainty`.
        """
        tidy = super().timeline(n)
        errors = {v: np.zeros(0, np.int64) for v in self.variables}
        certain = np.zeros(0, np.bool_)
        for each in self._all():
            assert each.certain is not None
            certain = np.append(certain, each.certain[: n - len(certain)])
            for v, known in errors.items():
                events = each.rows.get(v, np.zeros(each.block.size, np.int64))
                errors[v] = np.append(known, self._error_of(events)[: n - len(known)])
        at = tidy["match"].to_numpy() - 1
        own = [errors[v][match] for v, match in zip(tidy["variable"], at, strict=True)]
        off = np.array(own, np.int64)
        unit = self._stream.schema.microseconds
        tidy["clock_error"] = pd.to_timedelta(off, unit="us") if unit is None else off / unit
        tidy[CERTAINTY] = np.where(certain[at], "certain", "possible")
        return tidy

    def _batches(self, most: int | None = None) -> Iterator[pa.RecordBatch]:
        writer, schema = self.writer(), self.schema
        for each, bound, begin in self._parts(writer, most):
            assert each.certain is not None
            for batch in writer.batches_of(bound):
                certain = each.certain[begin : begin + len(batch)]
                words = pa.array(np.where(certain, "certain", "possible"), pa.string())
                yield pa.RecordBatch.from_arrays([*batch.columns, words], schema=schema)

    def _shown(self) -> FirstMatches:
        first = super()._shown()
        if CERTAINTY in first.head:
            return first
        words = self.first(len(first.rows)).column(CERTAINTY).to_pylist()
        rows = [[*row, word] for row, word in zip(first.rows, words, strict=True)]
        return replace(first, head=[*first.head, CERTAINTY], rows=rows)

    def _title(self, shown_rows: int) -> str:
        counts = self.counts()
        return f"{counts['certain']:,} certain and {counts['possible']:,} possible: " + (
            super()._title(shown_rows)
        )

    def _count_all(self) -> None:
        super()._count_all()
        self._number = None  # of the wider query, which has others, too

    def _find(self) -> Iterator[Held]:
        room = Room("matches", "their certainty", INSTEAD)
        candidates = _rows_of(Matches.blocks(self), room)
        branches = _by_variables(self._query)
        breaking = _by_variables(widened(self._query, self._wide, breaking=True))
        events = Events(self._columns, self._query.partition_by)
        for place, program in enumerate(self._programs):
            names = frozenset(program.variables)
            rows = candidates.get(names)
            if rows is None:
                continue
            demands, wide = differences_of(branches[names]), breaking[names]
            members = members_of(events, wide) if wide.negated else {}
            absent = []
            for event in wide.negated:
                found = Breaking(events, wide, event.variable, members).pairs(rows)
                own = [one for one in demands if event.variable in one.about]
                absent.append(self._absent(event.variable, rows, found, own, room))
            own = [one for one in demands if one.about <= names]
            possible, certain = certainty(self._box(rows), own, absent)
            kept = {v: each[possible] for v, each in rows.items()}
            yield Held(place, kept, certain[possible])

    def _absent(
        self,
        variable: str,
        rows: dict[str, Ints],
        found: Iterator[tuple[Ints, Ints]],
        demands: Sequence[Difference],
        room: Room,
    ) -> Absent:
        """Return the events that may break a NOT."""
        matches, events = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for owners, new in found:
            room.take(len(new), len(new) * _BYTES * (1 + len(rows)))
            matches.append(owners)
            events.append(new)
        owners, new = np.concatenate(matches), np.concatenate(events)
        box = self._box({**{v: each[owners] for v, each in rows.items()}, variable: new})
        return Absent(variable, owners, box, demands)

    def _box(self, rows: dict[str, Ints]) -> Box:
        times = {v: self._columns.ts[events] for v, events in rows.items()}
        return Box.of(times, {v: self._error_of(events) for v, events in rows.items()})

    def _error_of(self, events: Ints) -> Ints:
        errors = self._errors
        return np.full(len(events), errors) if isinstance(errors, int) else errors[events]


def _by_variables(query: Query) -> dict[frozenset[str], Branch]:
    return {frozenset(branch.variables): branch for branch in normal_form(query)}


def _rows_of(
    blocks: Iterator[tuple[Program, Block]], room: Room
) -> dict[frozenset[str], dict[str, Ints]]:
    """Return the events of matches, for each choice of variables."""
    parts: dict[frozenset[str], list[dict[str, Ints]]] = {}
    for program, block in blocks:
        rows = {v: block.events(v).astype(np.int64) for v in program.variables}
        room.take(block.size, block.size * _BYTES * len(rows))
        parts.setdefault(frozenset(rows), []).append(rows)
    return {
        variables: {v: np.concatenate([one[v] for one in each]) for v in each[0]}
        for variables, each in parts.items()
    }
