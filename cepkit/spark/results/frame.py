"""A result as a Spark DataFrame: actions raise plain errors and tell of rows that are no events."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from pyspark.sql import DataFrame as AnyDataFrame
from pyspark.sql.classic.dataframe import DataFrame

from cepkit.pattern.query import Query
from cepkit.printing import html_output, html_text, visible
from cepkit.spark.cells.counters import Reports
from cepkit.spark.session.failures import plain_errors
from cepkit.stream.columns import Dropped
from cepkit.stream.warnings import warn_of_dropped

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.accumulators import Accumulator
    from pyspark.sql.types import Row


class Telling:
    """Tells the user of rows that are no events: once, and only when all tasks have told of theirs.

    Args:
        reports: What tasks tell as they finish.
        tasks: How many there are.
        patterns: What is asked of the stream.
        told: Whether the user knows already.

    Attributes:
        reports: What tasks have told.
        told: Whether the user knows.
    """

    def __init__(
        self,
        reports: Accumulator[Reports],
        tasks: int,
        patterns: Sequence[Query],
        *,
        told: bool,
    ) -> None:
        self.reports = reports
        self._tasks = tasks
        self._patterns = patterns
        self.told = told

    @property
    def complete(self) -> bool:
        """Whether all tasks have told what they did."""
        return len(self.reports.value) >= self._tasks

    def tell(self) -> None:
        """Warn, if there is something to tell."""
        if not self.told and self.complete:
            self.told = True
            reports = self.reports.value.values()
            dropped = sum((report.dropped for report in reports), Dropped())
            warn_of_dropped(dropped, *self._patterns)


class ResultFrame(DataFrame):
    """What workers find, as a Spark DataFrame that says how it is made.

    What is derived from it (`select`, `limit`) is a plain DataFrame of Spark's.

    Args:
        found: What it is made of.
        title: What it is.
        route: How the events reach the workers.
        telling: Tells of rows that are no events.

    Attributes:
        route: How the events reach the workers, and how they are cut, as a sentence.
    """

    def __init__(self, found: AnyDataFrame, *, title: str, route: str, telling: Telling) -> None:
        frame = cast("DataFrame", found)
        super().__init__(frame._jdf, frame.sparkSession)  # noqa: SLF001 - Spark has no other way
        self.route = route
        self._title = f"{title}; {route}"
        self._telling = telling

    def collect(self) -> list[Row]:
        """Return all rows in this process."""
        with plain_errors(self):
            rows = super().collect()
        self._telling.tell()
        return rows

    def count(self) -> int:
        """Return the number of rows."""
        with plain_errors(self):
            return super().count()

    def show(self, n: int = 20, truncate: bool | int = True, vertical: bool = False) -> None:
        """Print the first `n` rows that are found."""
        with plain_errors(self):
            super().show(n, truncate, vertical)

    def toPandas(self) -> pd.DataFrame:  # noqa: N802 - Spark's name
        """Return all rows as a pandas DataFrame in this process."""
        with plain_errors(self), warnings.catch_warnings():
            # Spark would tell of an error twice.
            warnings.filterwarnings("ignore", "toPandas attempted Arrow optimization")
            frame = super().toPandas()
        self._telling.tell()
        return frame

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        """Return all rows as an Arrow table in this process."""
        with plain_errors(self):
            table = super().toArrow()
        self._telling.tell()
        return table

    def __repr__(self) -> str:
        return f"{self._title}\n{super().__repr__()}"

    def _repr_html_(self) -> str:
        columns = ", ".join(html_text(name) for name in self.columns)
        table = super()._repr_html_()
        below = f"<p>columns {columns}; <code>.show()</code> runs it</p>"
        return html_output(f"<p>{html_text(self._title)}</p>", visible(table or below))
