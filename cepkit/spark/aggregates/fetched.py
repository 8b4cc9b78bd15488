"""Aggregates of fetched events: computed in this process, but still a Spark DataFrame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from cepkit.aggregation.rows.result import Aggregates
from cepkit.routes.aggregates import aggregate
from cepkit.spark.aggregates.query import AggregateQuery
from cepkit.spark.aggregates.result import SparkAggregates
from cepkit.spark.aggregates.totals import as_promised
from cepkit.spark.passes.fetched_frame import FetchedFrame
from cepkit.spark.passes.part import origin_of
from cepkit.stream.stream import Stream

if TYPE_CHECKING:
    import pandas as pd


@dataclass(eq=False, slots=True)
class _Rows:
    """The rows of local aggregates, in the form that a frame needs.

    Attributes:
        part: The events.
        prepared: The prepared query.
        method: As for `cepkit.aggregate`.
        known: The rows, once computed.
    """

    part: Stream
    prepared: AggregateQuery
    method: str
    known: Aggregates | None = None

    def aggregates(self) -> Aggregates:
        if self.known is None:
            request = self.prepared.request
            self.known = aggregate(
                self.part, request.query, request.functions, self.method, request.emit
            )
        return self.known

    def count(self) -> int:
        return len(self.aggregates())

    def to_arrow(self) -> pa.Table:
        columns, promised = self.aggregates().columns, self.prepared.promised
        return pa.table(
            [as_promised(columns[field.name], field) for field in promised], schema=promised
        )

    def first(self, n: int) -> pa.Table:
        return self.to_arrow().slice(0, n)

    def to_pandas(self, *, nested: bool) -> pd.DataFrame:  # noqa: ARG002 - nothing is nested
        return self.aggregates().to_pandas()


class FetchedAggregates(FetchedFrame, SparkAggregates):
    """The aggregates of a Spark stream that was small enough to be fetched.

    Args:
        stream: The stream in Spark.
        part: Its events, fetched.
        prepared: The prepared query.
        method: As for `cepkit.aggregate`.
        workers: Returns the same aggregates, computed by workers.
    """

    def __init__(
        self,
        stream: Stream,
        part: Stream,
        prepared: AggregateQuery,
        method: str,
        workers: Callable[[], SparkAggregates],
    ) -> None:
        self.query, self.emit = prepared.request.query, prepared.request.emit
        self.method, self.reason = prepared.method, prepared.reason
        FetchedFrame.__init__(
            self,
            _Rows(part, prepared, method),
            prepared.output,
            stream.source.sparkSession,
            workers,
            title=f"Aggregates by {self.method} ({self.reason})",
            route=f"computed in this process, where the events were {origin_of(part)}",
        )
