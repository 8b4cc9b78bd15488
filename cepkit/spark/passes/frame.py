"""Results as Spark DataFrames: actions raise plain errors, and warn of dropped rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from pyspark.sql import DataFrame as AnyDataFrame
from pyspark.sql.classic.dataframe import DataFrame

from cepkit.arguments import typed
from cepkit.columnar.results.frames import frame_of
from cepkit.memory import Room
from cepkit.printing import html_output, html_text, visible
from cepkit.spark.passes.reports import Reports
from cepkit.spark.session.failures import plain_errors
from cepkit.spark.session.progress import run_with_progress

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql.types import Row

Result = TypeVar("Result")

_INSTEAD = ".limit(1000) gives some of them, .count() their number; .write.parquet(path) writes all"


class ResultFrame(DataFrame):
    """A result of workers as a Spark DataFrame that can explain its plan.

    What is derived from it (`select`, `limit`) is a plain DataFrame of Spark's.

    Args:
        rows: What it is made of.
        title: What it is.
        route: How the events reach the workers.
        reports: What tasks report, rows that are no events among them.

    Attributes:
        route: How the events reach the workers, and how they are cut, as a sentence.
    """

    def __init__(self, rows: AnyDataFrame, *, title: str, route: str, reports: Reports) -> None:
        frame = cast("DataFrame", rows)
        super().__init__(frame._jdf, frame.sparkSession)  # noqa: SLF001 - Spark has no other way
        self.route = route
        self._title = f"{title}; {route}"
        self._reports = reports

    def _watched(self, action: Callable[[], Result], description: str) -> Result:
        """Return what an action returns; a bar shows how far it is, an interrupt stops its jobs."""
        with plain_errors(self):
            return run_with_progress(action, description)

    def collect(self) -> list[Row]:
        """Return all rows in this process."""
        rows = self._watched(super().collect, "collecting")
        self._reports.warn()
        return rows

    def count(self) -> int:
        """Return the number of rows."""
        return self._watched(super().count, "counting")

    def show(self, n: int = 20, truncate: bool | int = True, vertical: bool = False) -> None:
        """Print the first `n` rows that are found."""
        # Printed in this thread: a notebook shows it below the cell that asked.
        text = super()._show_string
        print(self._watched(lambda: text(n, truncate, vertical), "looking"))  # noqa: T201

    def toPandas(self) -> pd.DataFrame:  # noqa: N802 - Spark's name
        """Return all rows in this process as Spark makes them, each event in one column."""
        with warnings.catch_warnings():
            # Spark would tell of an error twice.
            warnings.filterwarnings("ignore", "toPandas attempted Arrow optimization")
            frame = self._watched(super().toPandas, "fetching")
        self._reports.warn()
        return frame

    @typed
    def to_pandas(self, *, nested: bool = False) -> pd.DataFrame:
        """Return all rows in this process, in columns such as `a.price`, as of a local stream.

        Args:
            nested: Whether each variable is one column of dictionaries, a set a list of them.

        Raises:
            LimitError: They would not fit the free memory.
        """
        table = self.toArrow()
        room = Room("rows", "a DataFrame", _INSTEAD)
        return frame_of(table.to_batches(), table.schema, room, nested=nested)

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        """Return all rows as an Arrow table in this process."""
        table = self._watched(super().toArrow, "fetching")
        self._reports.warn()
        return table

    def __repr__(self) -> str:
        return f"{self._title}\n{super().__repr__()}"

    def _repr_html_(self) -> str:
        columns = ", ".join(html_text(name) for name in self.columns)
        table = super()._repr_html_()
        below = f"<p>columns {columns}; <code>.show()</code> runs it</p>"
        return html_output(f"<p>{html_text(self._title)}</p>", visible(table or below))
