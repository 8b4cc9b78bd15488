"""The way of a query's aggregation: by A-Seq if it is a sequence, else by detection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.methods import running
from cepkit.aggregation.methods.running import CARRIED, choose_method
from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.semirings.functions import Function
from cepkit.aggregation.sequence.definition import EventSequence, sequence_of
from cepkit.aggregation.sequence.elements import Emit, Method
from cepkit.aggregation.sequence.operations import operations_of
from cepkit.errors import UnsupportedError
from cepkit.pattern.query import Query
from cepkit.stream.columns import EventColumns

METHODS: tuple[str, ...] = ("auto", "a-seq", *get_args(Method), "detect")
EMITS: tuple[Emit, ...] = ("trigger", "changes", "new", "total")


@dataclass(frozen=True, slots=True)
class Way:
    """The route of a query's aggregation.

    Attributes:
        sequence: The query as a sequence for A-Seq; None: its matches are detected.
        method: The method; None: chosen once the events are loaded.
        reason: Why.
    """

    sequence: EventSequence | None
    method: Method | None
    reason: str


def way_of(query: Query, method: str) -> Way:
    """Return the route of a query.

    Raises:
        UnsupportedError: The method cannot aggregate it; the error names the part of the query and
            points at it.
    """
    if method == "detect":
        return Way(None, None, "as asked")
    try:
        sequence = sequence_of(query)
    except UnsupportedError as error:
        if method != "auto":
            raise
        return Way(None, None, error.found.partition(": ")[2])
    known = next((name for name in get_args(Method) if name == method), None)
    return Way(sequence, known, "as asked")


def aggregate_sequence(
    columns: EventColumns,
    sequence: EventSequence,
    method: Method | None,
    functions: Mapping[str, Function],
    emit: Emit,
) -> tuple[Moments, npt.NDArray[np.int32], Method, str | None]:
    """Aggregate by A-Seq.

    Returns:
        The rows, an event of each group, the method, and why it was chosen if it was.
    """
    operations = operations_of(sequence, columns)
    reason = None
    if method is None:
        method, reason = choose_method(operations, functions.values(), columns)
    moments = running.aggregate(
        operations,
        sequence.places,
        list(functions.values()),
        columns,
        method,
        emit,
    )
    if moments.lanes is not None and not moments.lanes.empty and operations.loops.any():
        method, reason = "window-product", CARRIED
    if moments.lanes is None and len(operations.ts):
        method, reason = (
            "window-product",
            "in Python: no loop has such aggregates, or such long numbers",
        )
    return moments, operations.group_rows, method, reason
