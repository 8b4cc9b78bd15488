"""A result over fetched events: this process has its rows, Spark what is derived from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame as AnyDataFrame
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame
from pyspark.sql.types import Row, StructType

from cepkit.arguments import typed
from cepkit.spark.passes.frame import ResultFrame
from cepkit.stream.sessions import check_session

if TYPE_CHECKING:
    import pandas as pd


class Found(Protocol):
    """Rows that are found in this process."""

    def count(self) -> int:
        """Return their number."""

    def to_arrow(self) -> pa.Table:
        """Return all of them."""

    def first(self, n: int) -> pa.Table:
        """Return `n` of them at most."""

    def to_pandas(self, *, nested: bool) -> pd.DataFrame:
        """Return all of them in flat columns, or nested ones."""


class FetchedFrame(ResultFrame):
    """Rows of this process as a Spark DataFrame.

    What returns rows (`count`, `show`, `collect`, `take`, `toPandas`, `to_pandas`, `toArrow`)
    starts no worker. All else, such as `select` or `write`, is Spark's as for any result: its
    workers find the rows anew.

    Args:
        here: The rows.
        columns: Their columns.
        session: Spark's session.
        workers: Makes the same rows, found by workers.
        title: What it is.
        route: Where the rows come from.
    """

    def __init__(
        self,
        here: Found,
        columns: StructType,
        session: SparkSession,
        workers: Callable[[], AnyDataFrame],
        *,
        title: str,
        route: str,
    ) -> None:
        self._made: Any = None
        self._workers = workers
        DataFrame.__init__(self, None, session)
        self.route = route
        self._title = f"{title}; {route}"
        self._here = here
        self._columns = columns

    @property
    def _jdf(self) -> Any:
        """What Spark knows of it, made when Spark is asked."""
        if self._made is None:
            self._made = self._workers()._jdf  # noqa: SLF001 - Spark has no other way
        return self._made

    @_jdf.setter
    def _jdf(self, value: Any) -> None:
        self._made = value

    @property
    def schema(self) -> StructType:
        """The columns."""
        return self._columns

    def count(self) -> int:
        """Return the number of rows."""
        return self._here.count()

    def collect(self) -> list[Row]:
        """Return all rows in this process."""
        return self._in_spark(self.toArrow()).collect()

    def take(self, num: int) -> list[Row]:
        """Return `num` rows at most."""
        return self._some(num).collect()

    def show(self, n: int = 20, truncate: bool | int = True, vertical: bool = False) -> None:
        """Print the first `n` rows that are found."""
        self._some(n + 1).show(n, truncate, vertical)

    def toPandas(self) -> pd.DataFrame:  # noqa: N802 - Spark's name
        """Return all rows in this process as Spark makes them, each event in one column."""
        return self._in_spark(self.toArrow()).toPandas()

    @typed
    def to_pandas(self, *, nested: bool = False) -> pd.DataFrame:
        """Return all rows in this process, in columns such as `a.price`, as of a local stream.

        Args:
            nested: Whether each variable is one column of dictionaries, a set a list of them.

        Raises:
            LimitError: They would not fit the free memory.
        """
        return self._here.to_pandas(nested=nested)

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        """Return all rows as an Arrow table in this process."""
        check_session(self)
        return self._as_spark_has_it(self._here.to_arrow())

    def _some(self, n: int) -> AnyDataFrame:
        check_session(self)
        return self._in_spark(self._as_spark_has_it(self._here.first(max(n, 0))))

    def _in_spark(self, rows: pa.Table) -> AnyDataFrame:
        # Of a table without rows Spark cannot tell the types.
        return self.sparkSession.createDataFrame(rows if len(rows) else [], self._columns)

    def _as_spark_has_it(self, rows: pa.Table) -> pa.Table:
        from pyspark.sql.pandas.types import to_arrow_schema

        large = self.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false")
        schema = to_arrow_schema(self._columns, timezone="UTC", prefers_large_types=large == "true")
        return rows if rows.schema.equals(schema) else rows.cast(schema)
