"""A row pattern query over a Spark DataFrame: one task matches each partition."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from cepkit.errors import UnsupportedError
from cepkit.rowpattern.binding import BoundQuery
from cepkit.rowpattern.nodes import RowQuery
from cepkit.rowpattern.rows import rows_of
from cepkit.rowpattern.run import Prepared, prepare
from cepkit.rowpattern.translation import Translatable
from cepkit.spark.cells.schemas import arrow_columns
from cepkit.spark.passes.frame import ResultFrame
from cepkit.stream.reading.arrow import plain
from cepkit.stream.sessions import check_session


class SparkRowMatches(ResultFrame, Translatable):
    """The rows of a query with MATCH_RECOGNIZE, as a Spark DataFrame.

    Nothing is computed before an action. A partition goes to one task as a whole, so the largest
    must fit a worker's memory. Rows that tie in ORDER BY come in any order.

    Attributes:
        query: The parsed query.

    Raises:
        UnsupportedError: No PARTITION BY, or an order of the whole result.
    """

    def __init__(self, query: RowQuery, source: DataFrame) -> None:
        check_session(source)
        _check_partitioned(query)
        if source.isStreaming:
            raise UnsupportedError(
                "MATCH_RECOGNIZE over a streaming DataFrame",
                hint="run it over the files that are there: spark.read instead of spark.readStream",
            )
        columns = arrow_columns(source, source.columns, source.columns)
        self.query = query
        self._prepared = prepare(query, plain(columns.empty_table()))
        keys = [f"`{name.replace('`', '``')}`" for name in self._prepared.bound.partition]
        output = from_arrow_schema(self._prepared.schema)
        rows = source.groupBy(*keys).applyInArrow(_matching(self._prepared), output)
        super().__init__(
            rows,
            title=f"Rows of {query.table}, matched",
            route=f"each {', '.join(self._prepared.bound.partition)} by one task",
            explanation=lambda: "\n".join((self.route, *self._prepared.explained())),
        )

    def _bound(self) -> BoundQuery:
        return self._prepared.bound


def _check_partitioned(query: RowQuery) -> None:
    if not query.partition:
        raise UnsupportedError(
            "MATCH_RECOGNIZE without PARTITION BY on Spark: one task would have all rows",
            hint="PARTITION BY a column, or run it over table.toPandas()",
            span=query.span,
        )
    if query.sorted_by or query.limit is not None:
        raise UnsupportedError(
            "ORDER BY or LIMIT around MATCH_RECOGNIZE on Spark",
            hint="leave it out, and call .orderBy(...) or .limit(...) on the result",
            span=query.sorted_by[0].span if query.sorted_by else None,
        )


def _matching(prepared: Prepared) -> Callable[[pa.Table], pa.Table]:
    """Return the function that matches a partition."""

    def matched(rows: pa.Table) -> pa.Table:
        tables = prepared.batches(rows_of(plain(rows), prepared.bound))
        # Workers spell the zone of timestamps differently.
        same = [table.cast(prepared.schema) for table in tables]
        return pa.concat_tables([prepared.schema.empty_table(), *same])

    return matched
