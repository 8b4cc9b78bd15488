"""Matches under uncertain clocks: those that are possible, each certain or not."""

from __future__ import annotations

from collections.abc import Iterator
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
from cepkit.pattern.uncertain import CERTAINTY, differences_of, present_name, widened
from cepkit.planners import choose as choosing
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
        branches = {frozenset(branch.variables): branch for branch in normal_form(self._query)}
        candidates = _rows_of(Matches.blocks(self), room)
        present = {}
        for branch in branches.values():
            for event in branch.negated:
                if event.variable not in present:
                    present[event.variable] = self._present(event.variable, room)
        for place, program in enumerate(self._programs):
            branch = branches[frozenset(program.variables)]
            rows = candidates.get(frozenset(program.variables))
            if rows is None:
                continue
            demands = differences_of(branch)
            absent = [self._absent(branch, v.variable, rows, present) for v in branch.negated]
            own = [one for one in demands if one.about <= {*branch.variables}]
            possible, certain = certainty(
                self._box(rows), own, [each for each in absent if each is not None]
            )
            kept = {v: events[possible] for v, events in rows.items()}
            yield Held(place, kept, certain[possible])

    def _present(self, variable: str, room: Room) -> dict[frozenset[str], dict[str, Ints]]:
        """Return matches with each event that may break a NOT."""
        wide = widened(self._query, self._wide, variable)
        plan = choosing.plan_in_memory(wide, self._columns)
        return _rows_of(Matches(self._stream, wide, plan, columns=self._columns).blocks(), room)

    def _absent(
        self,
        branch: Branch,
        variable: str,
        rows: dict[str, Ints],
        present: dict[str, dict[frozenset[str], dict[str, Ints]]],
    ) -> Absent | None:
        name = present_name(self._query, variable)
        found = present[variable].get(frozenset((*branch.variables, name)))
        if found is None:
            return None
        names = tuple(rows)
        matches = np.stack([rows[v] for v in names], axis=1)
        broken = np.stack([found[v] for v in names], axis=1)
        _, numbers = np.unique(np.concatenate((matches, broken)), axis=0, return_inverse=True)
        numbers = numbers.reshape(-1)
        own = np.full(numbers.max() + 1, -1)
        own[numbers[: len(matches)]] = np.arange(len(matches))
        own = own[numbers[len(matches) :]]
        # An event that surely breaks the NOT is in none of the matches, but in some of these, where
        # it is one of the match's own.
        there = own >= 0
        box = self._box({**{v: found[v][there] for v in names}, variable: found[name][there]})
        demands = [one for one in differences_of(branch) if variable in one.about]
        return Absent(variable, own[there], box, demands)

    def _box(self, rows: dict[str, Ints]) -> Box:
        times = {v: self._columns.ts[events] for v, events in rows.items()}
        return Box.of(times, {v: self._error_of(events) for v, events in rows.items()})

    def _error_of(self, events: Ints) -> Ints:
        errors = self._errors
        return np.full(len(events), errors) if isinstance(errors, int) else errors[events]


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
