"""Results as Spark DataFrames: actions raise plain errors, and warn of dropped rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar, cast

from pyspark.sql import DataFrame, SparkSession

from cepkit.arguments import typed
from cepkit.columnar.results.frames import frame_of
from cepkit.errors import UnsupportedError
from cepkit.lazy import pd
from cepkit.memory import Room
from cepkit.printing import html_output, html_text, visible
from cepkit.progress import WithProgress
from cepkit.spark.passes.here import Here
from cepkit.spark.passes.reports import Reports
from cepkit.spark.session.access import Access, access_to
from cepkit.spark.session.progress import run_with_progress
from cepkit.stream.sessions import check_session

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrameWriter, DataFrameWriterV2
    from pyspark.sql.types import Row, StructType

    from cepkit.aggregation.sequence.elements import Emit

Result = TypeVar("Result")
Writer = TypeVar("Writer")

_LOOKS = ("head", "first", "isEmpty", "approxQuantile", "corr", "cov", "crosstab")
"""The actions of a DataFrame that are only watched."""
_OF_ALL = ("tail", "foreach", "foreachPartition", "checkpoint", "localCheckpoint")
"""Those among them that run the DataFrame's own plan, and not one made of it."""
_WRITES = (
    *("save", "parquet", "csv", "json", "orc", "text", "xml", "jdbc", "saveAsTable", "insertInto"),
    *("create", "replace", "createOrReplace", "append", "overwrite", "overwritePartitions"),
)
"""The actions of Spark's writers."""

_INSTEAD = ".limit(1000) gives some of them, .count() their number; .write.parquet(path) writes all"


_LATER = object()
"""Stands for Spark's handle of a result until it is needed."""


class ResultFrame(WithProgress, DataFrame):
    """A result as a Spark DataFrame that can explain its plan.

    It is a DataFrame of its session's kind, classic or Connect. Derived DataFrames (`select`,
    `limit`) are plain Spark DataFrames.

    Workers find the rows; or this process has found them among fetched events. Then what returns
    rows (`count`, `show`, `collect`, `take`, `toPandas`, `to_pandas`, `toArrow`) starts no worker.
    All else, such as `select` or `write`, runs on Spark, where workers find them again.

    Args:
        rows: The DataFrame of the rows, or the rows of this process.
        title: Its title.
        route: Where the rows come from.
        reports: The reports of tasks, including rows that are no events.
        explanation: Makes what `explain` returns; None: that is Spark's own.
        guard: Returns a context for actions.

    Attributes:
        route: How the events reach the workers, and how they are cut, as a sentence.
        query: The query, of a single pattern.
        emit: Of aggregates the kind of their rows.
        method: Of aggregates the method: "a-seq", one of its methods, "shared-counters", "detect".
        reason: The reason for the method.
        late: Of an ended stream the late events, which were left out; None if there were none.
    """

    query: Any
    emit: Emit
    method: str
    reason: str
    late: Any
    _made: Any

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Create the object: Spark's own `__new__` takes two arguments and makes a classic one."""
        return object.__new__(cls)

    def __init__(
        self,
        rows: DataFrame | Here,
        *,
        title: str,
        route: str,
        reports: Reports | None = None,
        explanation: Callable[[], Any] | None = None,
        guard: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._here = rows if isinstance(rows, Here) else None
        self._explanation, self._guard = explanation, guard
        if isinstance(rows, Here):
            self._begin(access_to(rows.session), _LATER, rows.session)
        else:
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
        with self._guard():
            return run_with_progress(action, description, progress=self.progress, frame=self)

    def _handle(self) -> Any:
        """Return Spark's handle, created on demand."""
        if self._made is _LATER and self._here is not None:
            workers = self._here.workers()
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
        return super().schema if self._here is None else self._here.columns

    def _all(self) -> DataFrame:
        """Return all rows as a DataFrame to be run: those of this process, or computed anew."""
        if self._here is None:
            return self._again()
        check_session(self)
        return self._here.all()

    def _some(self, n: int) -> DataFrame | None:
        """Return at most `n` rows of this process; None if workers find the rows."""
        if self._here is None:
            return None
        check_session(self)
        return self._here.some(n)

    def _warn(self) -> None:
        """Warn of rows that are no events, if tasks have reported any."""
        if self._reports is not None:
            self._reports.warn()

    def _again(self) -> DataFrame:
        """Return the same rows, computed anew: Spark keeps the failure of a cancelled stage."""
        check_session(self)
        return self.select("*")

    @property
    def write(self) -> DataFrameWriter:
        """Spark's writer, whose actions are watched as well."""
        return self._watching(super().write)

    def writeTo(self, table: str) -> DataFrameWriterV2:  # noqa: N802 - Spark's name
        """Return Spark's writer into a table, whose actions are watched as well."""
        return self._watching(super().writeTo(table))

    def _watching(self, writer: Writer) -> Writer:
        """Return a writer of Spark's whose actions are watched."""
        kind: Any = type(writer)

        def watched(action: Callable[..., None]) -> Callable[..., None]:
            @wraps(action)
            def write(*args: Any, **options: Any) -> None:
                self._watched(lambda: action(*args, **options), "writing")

            return write

        actions = {name: watched(getattr(kind, name)) for name in _WRITES if hasattr(kind, name)}
        writer.__class__ = type(kind.__name__, (kind,), actions)
        return writer

    def collect(self) -> list[Row]:
        """Return all rows in this process."""
        rows = self._watched(self._all().collect, "collecting")
        self._warn()
        return rows

    def count(self) -> int:
        """Return the number of rows."""
        if self._here is not None:
            return self._here.rows.count()
        return self._watched(super().count, "counting")

    def take(self, num: int) -> list[Row]:
        """Return `num` rows at most."""
        some, take = self._some(num), super().take
        return self._watched(lambda: take(num) if some is None else some.collect(), "looking")

    def show(self, n: int = 20, truncate: bool | int = True, vertical: bool = False) -> None:
        """Print the first `n` rows found."""
        if (some := self._some(n + 1)) is not None:
            some.show(n, truncate, vertical)
            return
        # Print in this thread, so that a notebook shows it below the calling cell.
        text = super()._show_string  # type: ignore[misc]
        print(self._watched(lambda: text(n, truncate, vertical), "looking"))  # noqa: T201

    def toPandas(self) -> pd.DataFrame:  # noqa: N802 - Spark's name
        """Return all rows in this process in Spark's form, with one column for each event."""
        with warnings.catch_warnings():
            # Spark would report an error twice.
            warnings.filterwarnings("ignore", "toPandas attempted Arrow optimization")
            frame = self._watched(self._all().toPandas, "fetching")
        self._warn()
        return frame

    def explain(self, extended: bool | str | None = None, mode: str | None = None) -> Any:
        """Return how the rows were found: for matches the work of each step of the plan.

        Workers gather the numbers during an action. They always cover the whole stream: if no
        action has taken all matches yet (`show()` takes only some), the matches are counted first,
        without building rows.

        Args:
            extended: As for any Spark DataFrame: with this or `mode`, Spark's own plan is
                printed instead, as for aggregates.
            mode: The same.
        """
        if self._explanation is None or extended is not None or mode is not None:
            super().explain(extended, mode)
            return None
        return self._explanation()

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
        if self._here is not None:
            return self._here.rows.to_pandas(nested=nested)
        table = self.toArrow()
        room = Room("rows", "a DataFrame", _INSTEAD)
        return frame_of(table.to_batches(), table.schema, room, nested=nested)

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        """Return all rows as an Arrow table in this process."""
        if self._here is not None:
            check_session(self)
            return self._here.to_arrow()
        table = self._watched(self._again().toArrow, "fetching")
        self._warn()
        return table

    def __iter__(self) -> NoReturn:
        # Without it Python would loop over the columns.
        raise UnsupportedError(
            "a loop over rows that are in Spark",
            hint="to_pandas() brings all of them here, toLocalIterator() one after the other",
        )

    def __repr__(self) -> str:
        return f"{self._title}\n{super().__repr__()}"

    def _repr_html_(self) -> str:
        columns = ", ".join(html_text(name) for name in self.columns)
        table = super()._repr_html_()
        below = f"<p>columns {columns}; <code>.show()</code> runs it</p>"
        return html_output(f"<p>{html_text(self._title)}</p>", visible(table or below))


def _look(name: str) -> Callable[..., Any]:
    """Return the action of Spark's DataFrame with a name, watched."""

    @wraps(getattr(DataFrame, name))
    def look(self: ResultFrame, *args: Any, **options: Any) -> Any:
        source = self._again() if name in _OF_ALL else super(ResultFrame, self)
        action = getattr(source, name)
        return self._watched(lambda: action(*args, **options), "looking")

    return look


for _name in _LOOKS + _OF_ALL:
    setattr(ResultFrame, _name, _look(_name))


@cache
def _of_kind(result: Any, frame: Any) -> type[ResultFrame]:
    """Return the subclass of a result class for a kind of DataFrame, with the same name."""
    if issubclass(result, frame):
        return cast("type[ResultFrame]", result)
    names = {"__module__": result.__module__, "__qualname__": result.__qualname__}
    return cast("type[ResultFrame]", type(result.__name__, (result, frame), names))
