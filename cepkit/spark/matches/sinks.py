"""Sinks of detection: tasks yield the matches of queries that run together, or their numbers.

In a separate file, because workers load only this.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from cepkit.columnar.detector import Detector
from cepkit.columnar.results.output import MatchColumns
from cepkit.columnar.slices.plans import SlicePlans, Work
from cepkit.columnar.workload import Group
from cepkit.spark.matches.table import table_rows
from cepkit.spark.passes.one_pass import Cell
from cepkit.spark.passes.one_table import QUERY, OneTable

COUNT = "n"
"""The column of numbers of matches, as bytes: sets make more than 64 bits can hold."""


def number_of(packed: bytes | bytearray) -> int:
    """Return a number of matches from its bytes."""
    return int.from_bytes(packed)


@dataclass(frozen=True, slots=True)
class MatchesSink:
    """Yields the matches of queries as rows of one table.

    Attributes:
        table: Its columns.
        written: Those of the matches of each query, by its number.
        limited: Whether only some of the matches are wanted.
        plans: Chooses the plan of each slice of a cell; None: that of `group`.
    """

    group: Group
    table: OneTable
    written: Mapping[int, MatchColumns]
    limited: bool
    plans: SlicePlans | None = None

    def __call__(self, cells: Iterator[Cell]) -> Generator[pa.RecordBatch, None, Work]:
        """Yield the matches of each cell in batches."""
        detector = Detector(self.group.query, plans=self.plans)
        for cell in cells:
            blocks = detector.matches(cell.events, cell.owned, limited=self.limited)
            yield from table_rows(blocks, self.group, self.table, cell.events, self.written)
        return detector.work or detector.counters


@dataclass(frozen=True, slots=True)
class CountsSink:
    """Counts the matches of each query without building rows.

    Attributes:
        plans: As for `MatchesSink`.
    """

    group: Group
    plans: SlicePlans | None = None

    def __call__(self, cells: Iterator[Cell]) -> Generator[pa.RecordBatch, None, Work]:
        """Yield the number of matches of each query in the task."""
        detector, of = Detector(self.group.query, plans=self.plans), self.group.of
        sizes = dict.fromkeys(of, 0)
        for cell in cells:
            for number, some in detector.count(cell.events, cell.owned):
                sizes[of[number]] += some
        packed = [size.to_bytes(size.bit_length() // 8 + 1) for size in sizes.values()]
        queries, numbers = pa.array(sizes, pa.int32()), pa.array(packed, pa.binary())
        yield pa.RecordBatch.from_arrays([queries, numbers], names=[QUERY, COUNT])
        return detector.work or detector.counters
