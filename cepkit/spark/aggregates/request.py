"""The request that workers get with the cells of an aggregation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.rows.tables import Values, columns_of
from cepkit.aggregation.semirings.functions import Function
from cepkit.aggregation.sequence.elements import Emit
from cepkit.columnar.compile.program import Program
from cepkit.columnar.compile.query import CompiledQuery
from cepkit.columnar.slices.blocks import Block
from cepkit.pattern.query import Query
from cepkit.routes.detected import aggregate_blocks
from cepkit.routes.ways import Way, aggregate_sequence
from cepkit.spark.cells.sending import Sending
from cepkit.stream.columns import EventColumns


@dataclass(frozen=True, slots=True)
class Request:
    """An aggregation in the form that workers need.

    Attributes:
        way: How it is aggregated.
        sending: The columns and rows of the stream that it alone needs.
        compiled: The compiled query that detects its matches.
    """

    query: Query
    functions: dict[str, Function]
    way: Way
    emit: Emit
    sending: Sending
    compiled: CompiledQuery

    @property
    def rows_of_cells(self) -> Emit:
        """The kind of rows of a cell: a slice owns some of the matches that its events complete."""
        return "new" if self.emit == "total" else self.emit

    def moments(
        self,
        columns: EventColumns,
        blocks: Callable[[], Iterator[tuple[Program, Block]]],
    ) -> tuple[Moments, npt.NDArray[np.int32]]:
        """Return the rows of a cell's events, and an event of each group."""
        if self.way.sequence is None:
            return aggregate_blocks(columns, blocks, self.query, self.functions, self.emit)
        moments, group_rows, _, _ = aggregate_sequence(
            columns,
            self.way.sequence,
            self.way.method,
            self.functions,
            self.rows_of_cells,
        )
        return moments, group_rows

    def table(
        self, columns: EventColumns, moments: Moments, group_rows: npt.NDArray[np.int32]
    ) -> dict[str, Values]:
        """Return rows as columns with names and types."""
        return columns_of(
            moments, self.functions, columns, self.sending.schema, self.query, group_rows,
            self.emit,
        )  # fmt: skip
