"""The aggregates of a query in a Spark stream: a Spark DataFrame that says how it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from cepkit.aggregation.elements import Emit
from cepkit.pattern.query import Query
from cepkit.spark.counters import Reports
from cepkit.spark.result_frame import ResultFrame

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator


class SparkAggregates(ResultFrame):
    """Aggregates as a Spark DataFrame: nothing is computed before an action asks for it.

    The columns are those of `cepkit.aggregate` on a local stream; rows are in no particular order.

    Attributes:
        query: What was asked.
        emit: Which rows there are.
        method: How they are computed: "a-seq", one of its methods, or "detect".
        reason: Why in this way.
        route: How the events reach the workers, and how they are cut, as a sentence.
    """

    def __init__(
        self,
        found: DataFrame,
        *,
        query: Query,
        emit: Emit,
        method: str,
        reason: str,
        route: str,
        reports: Accumulator[Reports],
        tasks: int,
        warned: bool,
    ) -> None:
        title = f"Aggregates by {method} ({reason})"
        super().__init__(
            found, title=title, route=route, reports=reports, tasks=tasks, warned=warned
        )
        self.query = query
        self.emit = emit
        self.method = method
        self.reason = reason
