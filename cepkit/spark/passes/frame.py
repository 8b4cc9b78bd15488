"""Results as Spark DataFrames: actions raise plain errors, and warn of dropped rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from pyspark.sql import DataFrame, SparkSession

from cepkit.arguments import typed
from cepkit.columnar.results.frames import frame_of
from cepkit.memory import Room
from cepkit.printing import html_output, html_text, visible
from cepkit.progress import WithProgress
from cepkit.spark.passes.reports import Reports
from cepkit.spark.session.access import Access, access_to
from cepkit.spark.session.failures import plain_errors
from cepkit.spark.session.progress import run_with_progress

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql.types import Row

Result = TypeVar("Result")

_INSTEAD = ".limit(1000) gives some of them, .count() their number; .write.parquet(path) writes all"


class ResultFrame(WithProgress, DataFrame):
    """A result of workers as a Spark DataFrame that can explain its plan.

    It is a DataFrame of its session's kind, classic or Connect. Derived DataFrames (`select`,
    `limit`) are plain Spark DataFrames.

    Args:
        rows: The DataFrame of the rows.
        title: Its title.
        route: How the events reach the workers.
        reports: The reports of tasks, including rows that are no events.

    Attributes:
        route: How the events reach the workers, and how they are cut, as a sentence.
    """

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Create the object: Spark's own `__new__` takes two arguments and makes a classic one."""
        return object.__new__(cls)

    def __init__(self, rows: DataFrame, *, title: str, route: str, reports: Reports) -> None:
        access = access_to(rows)
        self._begin(access, access.handle(rows), rows.sparkSession)
        self.route = route
        self._title = f"{title}; {route}"
        self._reports = reports

    def _begin(self, access: Access, handle: Any, session: SparkSession) -> None:
        """Become a DataFrame of a session's kind, given its handle."""
        frame_class: Any = access.frame_class()
        own: Any = type(self)
        self.__class__ = _of_kind(own, frame_class)
        frame_class.__init__(self, handle, session)

    def _watched(self, action: Callable[[], Result], description: str) -> Result:
        """Run an action with a progress bar; an interrupt stops its jobs."""
        with plain_errors(self):
            return run_with_progress(action, description, progress=self.progress)

    def collect(self) -> list[Row]:
        """Return all rows in this process."""
        rows = self._watched(super().collect, "collecting")
        self._reports.warn()
        return rows

    def count(self) -> int:
        """Return the number of rows."""
        return self._watched(super().count, "counting")

    def show(self, n: int = 20, truncate: bool | int = True, vertical: bool = False) -> None:
        """Print the first `n` rows found."""
        # Print in this thread, so that a notebook shows it below the calling cell.
        text = super()._show_string  # type: ignore[misc]
        print(self._watched(lambda: text(n, truncate, vertical), "looking"))  # noqa: T201

    def toPandas(self) -> pd.DataFrame:  # noqa: N802 - Spark's name
        """Return all rows in this process in Spark's form, with one column for each event."""
        with warnings.catch_warnings():
            # Spark would report an error twice.
            warnings.filterwarnings("ignore", "toPandas attempted Arrow optimization")
            frame = self._watched(super().toPandas, "fetching")
        self._reports.warn()
        return frame

    @typed
    def to_pandas(self, *, nested: bool = False) -> pd.DataFrame:
        """Return all rows in this process, in columns such as `a.price`, as for a local stream.

        Args:
            nested: Whether each variable is one column of dictionaries (lists of them for sets).

        Raises:
            LimitError: They would not fit the free memory.
        """
        return self._flat(nested=nested)

    def _flat(self, *, nested: bool) -> pd.DataFrame:
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


@cache
def _of_kind(result: Any, frame: Any) -> type[ResultFrame]:
    """Return the subclass of a result class for a kind of DataFrame, with the same name."""
    if issubclass(result, frame):
        return cast("type[ResultFrame]", result)
    names = {"__module__": result.__module__, "__qualname__": result.__qualname__}
    return cast("type[ResultFrame]", type(result.__name__, (result, frame), names))
