"""Results over fetched events: this process has the rows, Spark runs derived DataFrames."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import Row, StructType

from cepkit.spark.passes.frame import ResultFrame
from cepkit.spark.session.access import access_to
from cepkit.stream.sessions import check_session

if TYPE_CHECKING:
    import pandas as pd


_LATER = object()
"""Stands for Spark's handle of a result until it is needed."""


class Found(Protocol):
    """Rows found in this process."""

    def count(self) -> int:
        """Return their number."""

    def to_arrow(self) -> pa.Table:
        """Return all rows."""

    def first(self, n: int) -> pa.Table:
        """Return at most `n` rows."""

    def to_pandas(self, *, nested: bool) -> pd.DataFrame:
        """Return all rows in flat columns, or nested ones."""


class FetchedFrame(ResultFrame):
    """Rows of this process as a Spark DataFrame.

    Methods that return rows (`count`, `show`, `collect`, `take`, `toPandas`, `to_pandas`,
    `toArrow`) start no worker. All others, such as `select` or `write`, run on Spark as for any
    result: its workers find the rows again.

    Args:
        here: The rows.
        columns: Their columns.
        session: Spark's session.
        workers: Makes the same rows, found by workers.
        title: Its title.
        route: Where the rows come from.
    """

    _made: Any
    _workers: Callable[[], DataFrame] | None = None

    def __init__(
        self,
        here: Found,
        columns: StructType,
        session: SparkSession,
        workers: Callable[[], DataFrame],
        *,
        title: str,
        route: str,
    ) -> None:
        self._begin(access_to(session), _LATER, session)
        self._workers = workers
        self.route = route
        self._title = f"{title}; {route}"
        self._here = here
        self._columns = columns

    def _handle(self) -> Any:
        """Return Spark's handle, created on demand."""
        if self._made is _LATER and self._workers is not None:
            workers = self._workers()
            self._made = access_to(workers).handle(workers)
        return self._made

    def _keep(self, handle: Any) -> None:
        self._made = handle

    _jdf = property(_handle, _keep)
    """The handle of a classic DataFrame."""

    _plan = property(_handle, _keep)
    """The handle of a Connect DataFrame."""

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
        """Print the first `n` rows found."""
        self._some(n + 1).show(n, truncate, vertical)

    def toPandas(self) -> pd.DataFrame:  # noqa: N802 - Spark's name
        """Return all rows in this process in Spark's form, with one column for each event."""
        return self._in_spark(self.toArrow()).toPandas()

    def _flat(self, *, nested: bool) -> pd.DataFrame:
        return self._here.to_pandas(nested=nested)

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        """Return all rows as an Arrow table in this process."""
        check_session(self)
        return self._as_spark_has_it(self._here.to_arrow())

    def _some(self, n: int) -> DataFrame:
        check_session(self)
        return self._in_spark(self._as_spark_has_it(self._here.first(max(n, 0))))

    def _in_spark(self, rows: pa.Table) -> DataFrame:
        # Spark cannot infer types from a table without rows.
        return self.sparkSession.createDataFrame(rows if len(rows) else [], self._columns)

    def _as_spark_has_it(self, rows: pa.Table) -> pa.Table:
        from pyspark.sql.pandas.types import to_arrow_schema

        large = self.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false")
        schema = to_arrow_schema(self._columns, timezone="UTC", prefers_large_types=large == "true")
        return rows if rows.schema.equals(schema) else rows.cast(schema)
