"""What workers must know of an aggregation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.rows.tables import Values, columns_of
from cepkit.aggregation.semirings.functions import Function
from cepkit.aggregation.sequence.definition import EventSequence
from cepkit.aggregation.sequence.elements import Emit, Method
from cepkit.columnar.compile.program import Program
from cepkit.columnar.slices.blocks import Block
from cepkit.pattern.query import Query
from cepkit.routes.aggregates import aggregate_sequence
from cepkit.routes.detected import aggregate_blocks
from cepkit.stream.columns import EventColumns
from cepkit.stream.ingest import event_columns
from cepkit.stream.schema import Schema


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
    def rows_of_cells(self) -> Emit:
        """Which rows a cell gives: of a slice not all that its events complete is its own."""
        return "new" if self.emit == "total" else self.emit

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
    ) -> tuple[Moments, npt.NDArray[np.int32]]:
        """Return the rows that the events of a cell give, and an event of each group."""
        if self.sequence is None:
            return aggregate_blocks(
                columns, blocks, self.query, self.functions, self.emit, interpreted=interpreted
            )
        moments, group_rows, _, _ = aggregate_sequence(
            columns,
            self.sequence,
            self.method,
            self.functions,
            self.rows_of_cells,
            interpreted=interpreted,
        )
        return moments, group_rows

    def table(
        self, columns: EventColumns, moments: Moments, group_rows: npt.NDArray[np.int32]
    ) -> dict[str, Values]:
        """Return rows as columns with names and types."""
        return columns_of(
            moments, self.functions, columns, self.schema, self.query.group_by, group_rows,
            self.emit,
        )  # fmt: skip
