"""Sinks of detection: tasks yield matches, or their number.

In a separate file, because workers load only this.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

import pyarrow as pa

from cepkit.columnar.compile.query import CompiledQuery
from cepkit.columnar.detector import Detector
from cepkit.columnar.results.output import MatchColumns, Writer
from cepkit.columnar.slices.plans import SlicePlans, Work
from cepkit.spark.passes.one_pass import Cell


@dataclass(frozen=True, slots=True)
class MatchesSink:
    """Yields the matches of a query.

    Attributes:
        columns: Those of its rows.
        limited: Whether only some of the matches are wanted.
        plans: Chooses the plan of each slice of a cell; None: the plan of `query`.
    """

    query: CompiledQuery
    columns: MatchColumns
    limited: bool
    plans: SlicePlans | None = None

    def __call__(self, cells: Iterator[Cell]) -> Generator[pa.RecordBatch, None, Work]:
        """Yield the matches of each cell in batches."""
        detector, programs = Detector(self.query, plans=self.plans), self.query.programs
        for cell in cells:
            writer = Writer(cell.events, self.columns)
            for branch, block in detector.matches(cell.events, cell.owned, limited=self.limited):
                yield from writer.batches(block, programs[branch].variables)
        return detector.work or detector.counters


@dataclass(frozen=True, slots=True)
class CountsSink:
    """Counts the matches of a query without building rows.

    Attributes:
        plans: As for `MatchesSink`.
    """

    query: CompiledQuery
    plans: SlicePlans | None = None

    def __call__(self, cells: Iterator[Cell]) -> Generator[pa.RecordBatch, None, Work]:
        """Yield nothing; the numbers are in the counters."""
        detector = Detector(self.query, plans=self.plans)
        for cell in cells:
            for _ in detector.count(cell.events, cell.owned):
                pass
        yield from ()
        return detector.work or detector.counters
