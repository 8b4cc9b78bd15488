"""The aggregates of queries in a Spark stream, as Spark DataFrames with an explanation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from cepkit.aggregation.sequence.elements import Emit
from cepkit.errors import PatternError
from cepkit.pattern.query import Query
from cepkit.pattern.several import PATTERN
from cepkit.progress import Progress
from cepkit.routes.several import Several, SharingPlan
from cepkit.spark.aggregates.one_pass import AggregationPass
from cepkit.spark.matches.table import pattern_column
from cepkit.spark.passes.frame import ResultFrame
from cepkit.stream.sessions import check_session

_KEPT = StorageLevel.MEMORY_AND_DISK_DESER


class SparkAggregates(ResultFrame):
    """Aggregates as a Spark DataFrame: nothing is computed before an action asks for it.

    The columns are those of `cepkit.aggregate` on a local stream; rows are in no particular order.

    Attributes:
        query: The query.
        method: The method: "a-seq", one of its methods, "shared-counters" or "detect".
        reason: The reason for the method.
        route: How the events reach the workers, and how they are cut, as a sentence.
    """

    def __init__(self, aggregates: AggregationPass, number: int) -> None:
        request = aggregates.queries[number].request
        self.query: Query = request.query
        self.emit: Emit = request.emit
        self.method, self.reason = aggregates.way_of(number)
        super().__init__(
            aggregates.rows_of(number),
            title=f"Aggregates by {self.method} ({self.reason})",
            route=aggregates.pass_.delivery.route,
            reports=aggregates.pass_.reports,
        )


@dataclass(frozen=True, eq=False, repr=False)
class SeveralSparkAggregates(Several[SparkAggregates]):
    """The aggregates of several queries over a Spark stream, in their order.

    Each is a separate DataFrame and reads the stream at each action. A pass with several queries
    runs again for each of them, unless you `persist` it first or take all rows from `together`.

    Attributes:
        results: One for each query.
        plan: The plan of the shared counters.
        passes: The passes over the stream that they need.
        progress: Whether long work shows a bar: see `cepkit.aggregate`.
    """

    passes: tuple[AggregationPass, ...]
    progress: Progress = "auto"

    def with_progress(self, progress: Progress) -> SeveralSparkAggregates:
        """Return the same with or without bars for actions."""
        for result in self.results:
            result.with_progress(progress)
        return replace(self, progress=progress)

    @classmethod
    def of(cls, passes: Sequence[AggregationPass], plan: SharingPlan) -> SeveralSparkAggregates:
        """Return the aggregates of all queries of some passes."""
        results = {
            query: SparkAggregates(aggregates, query)
            for aggregates in passes
            for query in aggregates.queries
        }
        return cls(tuple(results[query] for query in sorted(results)), plan, tuple(passes))

    @property
    def together(self) -> ResultFrame:
        """The rows of all queries as one DataFrame, which reads the stream once for each pass.

        The column `pattern` has the name of the query. Columns that a query does not have are null
        in its rows.

        Raises:
            PatternError: Two queries have columns of one name that are of different types, or one
                groups by a column called `pattern`.
        """
        for aggregates in self.passes:
            check_session(aggregates.frame)
        check_one_type(column for result in self.results for column in result.dtypes)
        pattern = pattern_column(self.names)
        parts = [_named(aggregates, pattern) for aggregates in self.passes]
        union = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
        return ResultFrame(
            union,
            title=f"Aggregates of {len(self)} queries together",
            route="; ".join(dict.fromkeys(each.pass_.delivery.route for each in self.passes)),
            reports=self.passes[0].pass_.reports,
        ).with_progress(self.progress)

    def persist(self, level: StorageLevel = _KEPT) -> SeveralSparkAggregates:
        """Keep the rows of all queries once they have been computed.

        Args:
            level: Where, as for `DataFrame.persist`.

        Returns:
            The same aggregates, with results that use the stored rows; unused results of this
            object do so as well.
        """
        for aggregates in self.passes:
            aggregates.frame.persist(level)
        return SeveralSparkAggregates.of(self.passes, self.plan).with_progress(self.progress)

    def unpersist(self) -> None:
        """Drop the rows stored by `persist`."""
        for aggregates in self.passes:
            aggregates.frame.unpersist()


def check_one_type(columns: Iterable[tuple[str, str]]) -> None:
    """Check that the columns of several queries fit into one table.

    Raises:
        PatternError: Two of one name are of different types, or one is called `pattern`.
    """
    known: dict[str, str] = {PATTERN: "string"}
    for name, kind in columns:
        if known.setdefault(name, kind) != kind or name == PATTERN:
            raise PatternError(
                f"the column '{name}' of one query is another one than that of another",
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
