"""Sinks of aggregation: tasks yield rows, or add up totals.

Several queries over the same cells are aggregated together, and shared parts are counted once. A
second round merges the few small sums of each group.

Source: ASEQ's aggregates as semirings (`aggregation/rows/totals.py`).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.rows.tables import Values
from cepkit.aggregation.rows.totals import GroupSums
from cepkit.aggregation.sequence.elements import Emit
from cepkit.columnar.compile.program import Counters, Program
from cepkit.columnar.detector import Detector
from cepkit.columnar.slices.blocks import Block
from cepkit.columnar.slices.cutting import EVERYTHING, Owned
from cepkit.errors import LimitError
from cepkit.routes.aggregates import aggregate_cluster
from cepkit.routes.detected import only_counts
from cepkit.routes.sharing import Cluster
from cepkit.spark.aggregates.request import Request
from cepkit.spark.cells.dealing import Batches
from cepkit.spark.passes.one_pass import Cell
from cepkit.spark.passes.one_table import OneTable
from cepkit.spark.session.tasks import pickled

ELEMENT = pa.field("element", pa.binary())
"""The column of packed sums."""


class Totals(GroupSums):
    """The partial totals of a task, for each group of a query."""

    def __init__(self, request: Request, promised: pa.Schema) -> None:
        groups = pa.schema([promised.field(name) for name in request.query.group_by])
        super().__init__(request.functions, groups)
        self._request = request

    def add_number(self, number: int) -> None:
        """Add a number of matches, if there are no other aggregates and no groups."""
        self.plus((), (number,) * (1 + len(self._request.functions)))

    def merge(self, batch: pa.RecordBatch) -> None:
        """Merge a batch made by `packed`."""
        *keys, elements = (column.to_pylist() for column in batch.columns)
        groups = zip(*keys, strict=True) if keys else [()] * len(elements)
        for group, element in zip(groups, elements, strict=True):
            self.plus(group, pickle.loads(element))  # noqa: S301 - what a worker has written

    def packed(self) -> list[pa.Array]:
        """Return the columns of the groups, and the sums, each packed."""
        # A user's function may return instances of a class that only the user's code defines.
        packed = [pickled(element) for element in self.elements]
        return [*self.keys(), pa.array(packed, pa.binary())]

    def results(self, promised: pa.Schema) -> list[pa.Array]:
        """Return the result columns."""
        sending = self._request.sending
        rows = self.columns(sending.nothing, sending.schema, self._request.query.having)
        return [as_promised(values, promised.field(name)) for name, values in rows.items()]


def as_promised(values: Values, field: pa.Field) -> pa.Array:
    """Convert values to the declared Spark type.

    Raises:
        LimitError: An integer is beyond 64 bits.
    """
    if isinstance(values, list):
        longest = max((abs(value) for value in values if value is not None), default=0)
        if longest < 2**63:
            return pa.array(values, field.type)
        raise LimitError(
            f"the column '{field.name}' has an integer of {len(str(longest))} digits",
            expected="on Spark at most 64 bits",
            hint="a local stream holds integers of any size",
        )
    return values if values.type.equals(field.type) else values.cast(field.type)


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Queries that are aggregated in one pass over a stream.

    Attributes:
        requests: The queries, by number: sequences, or one whose matches are detected.
        clusters: The clusters of queries that share counters.
        rows: The columns of their rows.
    """

    requests: Mapping[int, Request]
    clusters: tuple[Cluster, ...]
    rows: OneTable

    def moments(self, cell: Cell) -> Iterator[tuple[int, Moments, npt.NDArray[np.int32]]]:
        """Yield query number, moments (also foreign ones of sequences) and an event of a group."""
        requests = self.requests
        sequences = {q: r.way.sequence for q, r in requests.items() if r.way.sequence is not None}
        functions = {q: request.functions for q, request in requests.items()}
        shared: set[int] = set()
        for cluster in self.clusters:
            emit = requests[cluster.queries[0]].rows_of_cells
            counted = aggregate_cluster(cluster, sequences, functions, cell.events, emit)
            if counted is not None:
                moments_of, group_rows = counted
                shared.update(moments_of)
                for query, moments in moments_of.items():
                    yield query, moments, group_rows
        for query, request in requests.items():
            if query not in shared:
                yield query, *request.moments(cell.events, _blocks_of(request, cell))


@dataclass(frozen=True, slots=True)
class AggregatesSink:
    """Yields the rows of the moments that are a cell's own.

    Attributes:
        aggregation: The queries.
    """

    aggregation: Aggregation

    def __call__(self, cells: Iterator[Cell]) -> Generator[pa.RecordBatch, None, Counters]:
        """Yield rows of each cell and query."""
        rows = self.aggregation.rows
        for cell in cells:
            for query, moments, group_rows in self.aggregation.moments(cell):
                own = moments.take(np.flatnonzero(_within(cell.owned, moments.ts)))
                if not len(own):
                    continue
                table = self.aggregation.requests[query].table(cell.events, own, group_rows)
                columns = [as_promised(table[field.name], field) for field in rows.of[query]]
                yield rows.widened(query, columns)
        return ()


@dataclass(frozen=True, slots=True)
class TotalsSink:
    """Adds up each cell's own matches, and yields the sums after all cells.

    Attributes:
        aggregation: The queries.
        sums: The columns of their sums.
    """

    aggregation: Aggregation
    sums: OneTable

    def __call__(self, cells: Iterator[Cell]) -> Generator[pa.RecordBatch, None, Counters]:
        """Yield the sums of a task."""
        totals = {query: self._totals(query) for query in self.aggregation.requests}
        for cell in cells:
            self._add(cell, totals)
        for query, total in totals.items():
            yield self.sums.widened(query, total.packed())
        return ()

    def zeros(self) -> list[pa.RecordBatch]:
        """Return the sums of no events: without groups there is still a total."""
        return [
            self.sums.widened(query, self._totals(query).packed())
            for query, request in self.aggregation.requests.items()
            if not request.query.group_by
        ]

    def joined(self, batches: Batches) -> Batches:
        """Merge sums, with all of a group in one partition, and yield rows."""
        totals: dict[int, Totals] = {}
        for batch in batches:
            for query, part in self.sums.parted(batch):
                totals.setdefault(query, self._totals(query)).merge(part)
        rows = self.aggregation.rows
        for query, total in totals.items():
            yield rows.widened(query, total.results(rows.of[query]))

    def _totals(self, query: int) -> Totals:
        return Totals(self.aggregation.requests[query], self.aggregation.rows.of[query])

    def _add(self, cell: Cell, totals: Mapping[int, Totals]) -> None:
        """Add a cell's own matches to totals."""
        requests = self.aggregation.requests
        for query, request in requests.items():
            ungrouped = not request.query.group_by and not request.compiled.chooses
            detects = request.way.sequence is None
            if detects and ungrouped and only_counts(request.functions.values()):
                detector = Detector(request.compiled)  # counts without building matches
                for _ in detector.count(cell.events, cell.owned):
                    pass
                totals[query].add_number(sum(steps[-1].survivors for steps in detector.counters))
                return
        for query, moments, group_rows in self.aggregation.moments(cell):
            own = moments
            if requests[query].way.sequence is not None:
                own = moments.take(np.flatnonzero(_within(cell.owned, moments.ts)))
            totals[query].add(cell.events, own, group_rows)


def _blocks_of(request: Request, cell: Cell) -> Callable[[], Iterator[tuple[Program, Block]]]:
    """Return a function that finds the matches for a cell's rows or sums."""
    owned = _wanted(request.emit, request.compiled.programs, cell)

    def blocks() -> Iterator[tuple[Program, Block]]:
        for number, block in Detector(request.compiled).matches(cell.events, owned):
            yield request.compiled.programs[number], block

    return blocks


def _wanted(emit: Emit, programs: tuple[Program, ...], cell: Cell) -> Owned:
    """Return a superset of the matches for a cell's rows or sums."""
    owned = cell.owned
    match emit:
        case "trigger" | "changes":
            return EVERYTHING
        case "new" if owned.since is not None and any(p.followed for p in programs):
            # A row covers matches that end at its moment; a set may end up to a window after the
            # event that decides which cell owns the match.
            return replace(owned, since=owned.since - cell.halo)
        case _:
            return owned


def _within(owned: Owned, ts: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    inside = np.ones(len(ts), dtype=np.bool_)
    if owned.since is not None:
        inside &= ts >= owned.since
    if owned.until is not None:
        inside &= ts < owned.until
    return inside
