"""The aggregates of queries in a Spark stream, as Spark DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from cepkit.aggregation.rows.result import Aggregates
from cepkit.errors import PatternError
from cepkit.lazy import pd
from cepkit.pattern.several import ALONE, PATTERN
from cepkit.routes.aggregates import aggregate
from cepkit.spark.aggregates.one_pass import AggregationPass
from cepkit.spark.aggregates.query import AggregateQuery
from cepkit.spark.aggregates.sinks import as_promised
from cepkit.spark.matches.table import pattern_column
from cepkit.spark.passes.frame import ResultFrame
from cepkit.spark.passes.here import Here
from cepkit.spark.passes.reports import Reports
from cepkit.stream.sessions import check_session
from cepkit.stream.stream import Stream


def aggregates_frame(
    rows: DataFrame | Here,
    prepared: AggregateQuery,
    method: str,
    reason: str,
    route: str,
    reports: Reports | None = None,
) -> ResultFrame:
    """Return the aggregates of a query as a Spark DataFrame.

    The columns are those of `cepkit.aggregate` on a local stream; rows are in no particular order.
    """
    title = f"Aggregates by {method} ({reason})"
    frame = ResultFrame(rows, title=title, route=route, reports=reports)
    frame.query, frame.emit = prepared.request.query, prepared.request.emit
    frame.method, frame.reason = method, reason
    return frame


@dataclass(eq=False, slots=True)
class RowsHere:
    """The rows of local aggregates, in the form that a frame needs.

    Attributes:
        compute: Computes them.
        promised: Their columns, as Spark has them.
        known: The rows, once computed.
    """

    compute: Callable[[], Aggregates]
    promised: pa.Schema
    known: Aggregates | None = None

    @classmethod
    def of(cls, part: Stream, prepared: AggregateQuery, method: str) -> RowsHere:
        """Return the rows of a query over some events."""
        request = prepared.request
        queries, functions = {ALONE: request.query}, [request.functions]
        return cls(
            lambda: aggregate(part, queries, functions, method, request.emit)[0], prepared.promised
        )

    def aggregates(self) -> Aggregates:
        """Return the aggregates."""
        if self.known is None:
            self.known = self.compute()
        return self.known

    def count(self) -> int:
        """Return the number of rows."""
        return len(self.aggregates())

    def to_arrow(self) -> pa.Table:
        """Return all rows, with the promised types."""
        columns, promised = self.aggregates().columns, self.promised
        return pa.table(
            [as_promised(columns[field.name], field) for field in promised], schema=promised
        )

    def first(self, n: int) -> pa.Table:
        """Return at most `n` rows."""
        return self.to_arrow().slice(0, n)

    def to_pandas(self, *, nested: bool) -> pd.DataFrame:  # noqa: ARG002 - nothing is nested
        """Return all rows."""
        return self.aggregates().to_pandas()


@dataclass(frozen=True, eq=False, slots=True)
class Passes:
    """The passes over a Spark stream for the aggregates of queries (see `result.Workers`)."""

    passes: tuple[AggregationPass, ...]

    def results(self) -> tuple[ResultFrame, ...]:
        """Return the aggregates of each query."""
        results = {}
        for one in self.passes:
            for q, prepared in one.queries.items():
                route, reports = one.pass_.delivery.route, one.pass_.reports
                results[q] = aggregates_frame(
                    one.rows_of(q), prepared, *one.way_of(q), route, reports
                )
        return tuple(results[q] for q in sorted(results))

    def together(self, names: tuple[str, ...]) -> ResultFrame:
        """Return the rows of all queries, each pass run once; see `SeveralAggregates.together`."""
        for one in self.passes:
            check_session(one.frame)
        check_one_type(column for result in self.results() for column in result.dtypes)
        pattern = pattern_column(names)
        parts = [_named(one, pattern) for one in self.passes]
        union = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
        return ResultFrame(
            union,
            title=f"Aggregates of {len(names)} queries together",
            route="; ".join(dict.fromkeys(one.pass_.delivery.route for one in self.passes)),
            reports=self.passes[0].pass_.reports,
        )

    def persist(self, level: StorageLevel | None) -> None:
        """Keep the rows of all queries once they have been computed."""
        for one in self.passes:
            one.frame.persist(StorageLevel.MEMORY_AND_DISK_DESER if level is None else level)

    def unpersist(self) -> None:
        """Drop the rows stored by `persist`."""
        for one in self.passes:
            one.frame.unpersist()


def check_one_type(columns: Iterable[tuple[str, str]]) -> None:
    """Check that the columns of several queries fit into one table.

    Raises:
        PatternError: Two of one name are of different types, or one is called `pattern`.
    """
    known: dict[str, str] = {PATTERN: "string"}
    for name, kind in columns:
        if known.setdefault(name, kind) != kind or name == PATTERN:
            raise PatternError(
                f"two queries have different columns '{name}'",
                hint="take the results one by one; over a streaming DataFrame aggregate one by one",
            )


def _named(aggregates: AggregationPass, pattern: Column) -> DataFrame:
    """Return the rows of a pass with the names that users know."""
    names = {
        at: name
        for query, places in aggregates.columns.places.items()
        for at, name in zip(places, aggregates.columns.of[query].names, strict=True)
    }
    columns = [F.col(f"c{at - 1}").alias(name) for at, name in sorted(names.items())]
    return aggregates.frame.select(pattern, *columns)
