"""What workers make of the cells of a stream: rows of the moments that are a cell's own, or sums.

The sums of a group, few and small, are joined in a second round, by `joining`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import cloudpickle

from cepkit.aggregation.elements import Emit, Together
from cepkit.aggregation.functions import Element, Function
from cepkit.aggregation.moments import Moments
from cepkit.aggregation.partial import summed
from cepkit.aggregation.running import Method
from cepkit.aggregation.sequence import EventSequence
from cepkit.aggregation.tables import Values, columns_of, typed
from cepkit.columnar.blocks import Block
from cepkit.columnar.candidates import EVERYTHING, Owned
from cepkit.columnar.program import Program
from cepkit.errors import LimitError
from cepkit.pattern.query import Query
from cepkit.routes.aggregates import aggregate_sequence
from cepkit.routes.detected import aggregate_blocks, only_counts
from cepkit.spark import worker
from cepkit.spark.counters import Reports, TaskReport
from cepkit.spark.delivery import Batches, Chosen, Work
from cepkit.stream.columns import Dropped, EventColumns
from cepkit.stream.ingest import event_columns
from cepkit.stream.schema import Schema

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator

ELEMENT = "\0element"
"""The column of packed sums: no column of a stream has such a name."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What workers must know of an aggregation.

    Attributes:
        query: What is asked.
        functions: The columns of aggregates, by name.
        sequence: The query as A-Seq takes it; None: matches are detected.
        method: The method of A-Seq; None: chosen in each cell.
        emit: Which rows.
        schema: Which column is what.
        columns: The columns that are sent, in Arrow.
        attributes: Those that are read.
    """

    query: Query
    functions: dict[str, Function]
    sequence: EventSequence | None
    method: Method | None
    emit: Emit
    schema: Schema
    columns: pa.Schema
    attributes: tuple[str, ...]

    @property
    def nothing(self) -> EventColumns:
        """A stream without events."""
        return event_columns(self.columns.empty_table(), self.schema, self.attributes)

    def moments(
        self,
        columns: EventColumns,
        blocks: Callable[[], Iterator[tuple[Program, Block]]],
        *,
        interpreted: bool = False,
    ) -> tuple[Moments, np.ndarray[Any, np.dtype[np.int32]]]:
        """Return the rows that the events of a cell give, and an event of each group."""
        if self.sequence is None:
            return aggregate_blocks(
                columns, blocks, self.query, self.functions, self.emit, interpreted=interpreted
            )
        # Of a slice not all that its events complete is its own.
        emit: Emit = "new" if self.emit == "total" else self.emit
        moments, group_rows, _, _ = aggregate_sequence(
            columns, self.sequence, self.method, self.functions, emit, interpreted=interpreted
        )
        return moments, group_rows

    def table(
        self, columns: EventColumns, moments: Moments, group_rows: np.ndarray[Any, Any]
    ) -> dict[str, Values]:
        """Return rows as columns with names and types."""
        return columns_of(
            moments, self.functions, columns, self.schema, self.query.group_by, group_rows,
            self.emit,
        )  # fmt: skip


def working(
    asked: Asked, chosen: Chosen, promised: pa.Schema, reports: Accumulator[Reports]
) -> Work:
    """Return what a task does with what it is given."""
    cells, job = chosen.cells, chosen.job

    def run(batches: Batches) -> Batches:
        from pyspark import TaskContext

        job.register()
        dropped = Dropped()
        total = _Totals(asked, promised)
        for item in cells(batches):
            if isinstance(item, Dropped):
                dropped += item
                continue
            cell, table = item
            columns = worker.columns_of(job, table)
            if asked.emit == "total":
                total.add(job, cell, columns)
            else:
                yield from _rows(asked, job, cell, columns, promised)
        if asked.emit == "total":
            yield total.batch()
        task = TaskContext.get()
        assert task is not None
        reports.add({task.partitionId(): TaskReport((), dropped)})

    return run


def _rows(
    asked: Asked, job: worker.Job, cell: int, columns: EventColumns, promised: pa.Schema
) -> Batches:
    """Yield the rows of the moments that are a cell's own."""
    owned = job.layout.owned(cell)
    seen = owned if asked.emit == "new" else EVERYTHING
    moments, group_rows = asked.moments(columns, _finder(job, columns, seen))
    moments = moments.take(np.flatnonzero(_within(owned, moments.ts)))
    found = asked.table(columns, moments, group_rows)
    yield from pa.Table.from_arrays(
        [_cast(found[field.name], field) for field in promised], schema=promised
    ).to_batches()


def _finder(
    job: worker.Job, columns: EventColumns, owned: Owned
) -> Callable[[], Iterator[tuple[Program, Block]]]:
    """Return what finds matches among the events of a cell."""

    def blocks() -> Iterator[tuple[Program, Block]]:
        counters = worker.counters_of(job)
        for number, block in worker.blocks_of(job, columns, owned, counters, emit=True):
            yield job.programs[number], block

    return blocks


def _within(owned: Owned, ts: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    inside = np.ones(len(ts), dtype=np.bool_)
    if owned.since is not None:
        inside &= ts >= owned.since
    if owned.until is not None:
        inside &= ts < owned.until
    return inside


class _Totals:
    """What all cells of a task hold together, for each group."""

    def __init__(self, asked: Asked, promised: pa.Schema) -> None:
        self._asked = asked
        self._together = Together(list(asked.functions.values()))
        self._groups = pa.schema([promised.field(name) for name in asked.query.group_by])
        self._sums: dict[tuple[Any, ...], Element] = {}
        if not asked.query.group_by:
            self._sums[()] = self._together.zero

    def add(self, job: worker.Job, cell: int, columns: EventColumns) -> None:
        """Add what is a cell's own."""
        asked, owned = self._asked, job.layout.owned(cell)
        sets = asked.sequence is None and not asked.query.group_by and not job.branches
        if sets and only_counts(asked.functions.values()):  # counted without being made
            counters = worker.counters_of(job)
            for _ in worker.blocks_of(job, columns, owned, counters, emit=False):
                pass
            number = sum(steps[-1].survivors for steps in counters)
            self._plus((), (number,) * (1 + len(asked.functions)))
            return
        moments, group_rows = asked.moments(columns, _finder(job, columns, owned))
        if asked.sequence is not None:
            moments = moments.take(np.flatnonzero(_within(owned, moments.ts)))
        found = summed(moments, self._together)
        if names := self._groups.names:
            # A group of triggers alone has no row.
            found = {group: element for group, element in found.items() if element[0]}
        rows = columns.source_rows(group_rows[np.fromiter(found, np.int64, len(found))])
        keys = columns.source.select(names).take(pa.array(rows))
        values = [[_normal(v) for v in keys.column(name).to_pylist()] for name in names]
        groups = zip(*values, strict=True) if names else [()] * len(found)
        for group, element in zip(groups, found.values(), strict=True):
            self._plus(group, element)

    def merge(self, batch: pa.RecordBatch) -> None:
        """Add what `batch` made."""
        *keys, elements = (column.to_pylist() for column in batch.columns)
        groups = zip(*keys, strict=True) if keys else [()] * len(elements)
        for group, element in zip(groups, elements, strict=True):
            self._plus(group, pickle.loads(element))  # noqa: S301 - what a worker has written

    def batch(self) -> pa.RecordBatch:
        """Return the sums, each packed."""
        # What a user's own function makes may be of a class that only he knows.
        packed = [_dumps(element) for element in self._sums.values()]
        schema = self._groups.append(pa.field(ELEMENT, pa.binary()))
        return pa.RecordBatch.from_arrays(
            [*self._keys(), pa.array(packed, pa.binary())], schema=schema
        )

    def results(self, promised: pa.Schema) -> pa.RecordBatch:
        """Return the values that are shown."""
        nothing = self._asked.nothing
        columns = self._keys()
        for place, (name, function) in enumerate(self._asked.functions.items(), 1):
            results = [function.result(element[place]) for element in self._sums.values()]
            values = typed(results, function, nothing, self._asked.schema)
            columns.append(_cast(values, promised.field(name)))
        return pa.RecordBatch.from_arrays(columns, schema=promised)

    def _plus(self, group: tuple[Any, ...], element: Element) -> None:
        known = self._sums.get(group)
        self._sums[group] = element if known is None else self._together.plus(known, element)

    def _keys(self) -> list[pa.Array]:
        return [
            pa.array([group[i] for group in self._sums], field.type)
            for i, field in enumerate(self._groups)
        ]


def _dumps(element: Element) -> bytes:
    packed: bytes = cloudpickle.dumps(element)  # type: ignore[no-untyped-call]
    return packed


def _normal(value: Any) -> Any:
    """Return the one value that stands for all that GROUP BY takes to be equal."""
    if isinstance(value, float):
        return None if value != value else value + 0.0
    return value


def joining(asked: Asked, promised: pa.Schema) -> Work:
    """Return what joins the sums of cells, all of a group being in one partition."""

    def run(batches: Batches) -> Batches:
        total = _Totals(asked, promised)
        for batch in batches:
            total.merge(batch)
        yield total.results(promised)

    return run


def _cast(values: Values, field: pa.Field) -> pa.Array:
    if isinstance(values, list):
        longest = max(abs(value) for value in values if value is not None)
        raise LimitError(
            f"the column '{field.name}' has an integer of {len(str(longest))} digits",
            expected="on Spark at most 64 bits",
            hint="a local stream holds integers of any size",
        )
    return values if values.type.equals(field.type) else values.cast(field.type)
