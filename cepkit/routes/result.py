"""The aggregates of several queries: a mapping of those of each, with results over all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar

from cepkit.errors import UnsupportedError
from cepkit.pattern.several import ByName
from cepkit.printing import html_output
from cepkit.progress import Progress
from cepkit.routes.sharing import SharingPlan
from cepkit.tables import count_text

Result = TypeVar("Result")


class Workers(Protocol):
    """The passes of Spark's workers that compute the aggregates of several queries."""

    @property
    def passes(self) -> tuple[Any, ...]:
        """The passes over the stream."""

    def results(self) -> tuple[Any, ...]:
        """Return the aggregates of each query, as DataFrames."""

    def together(self, names: tuple[str, ...]) -> Any:
        """Return the rows of all queries as one DataFrame."""

    def persist(self, level: Any | None) -> None:
        """Keep the rows of all queries once they have been computed."""

    def unpersist(self) -> None:
        """Drop the rows stored by `persist`."""


@dataclass(frozen=True, eq=False, repr=False)
class SeveralAggregates(ByName[Result]):
    """The aggregates of several queries, in their order, each under its name or number.

    On Spark each is a separate DataFrame and reads the stream at each action. A pass with several
    queries runs again for each of them, unless you `persist` it first or take all rows from
    `together`.

    Attributes:
        results: One for each query.
        plan: The plan of the shared counters.
        workers: What Spark's workers compute; None: the rows are here.
        progress: Whether long work shows a bar: see `cepkit.aggregate`.
    """

    results: tuple[Result, ...]
    plan: SharingPlan
    workers: Workers | None = None
    progress: Progress = "auto"

    def with_progress(self, progress: Progress) -> Self:
        """Return the same with or without bars for actions on Spark."""
        on_spark: Any = self.results if self.workers is not None else ()
        for frame in on_spark:
            frame.with_progress(progress)
        return replace(self, progress=progress)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the queries."""
        return self.plan.names

    @property
    def passes(self) -> tuple[Any, ...]:
        """The passes over a Spark stream that the results need; none in this process."""
        return () if self.workers is None else self.workers.passes

    def _at(self, number: int) -> Result:
        return self.results[number]

    @property
    def together(self) -> Any:
        """On Spark the rows of all queries as one DataFrame, from one run of each pass.

        The column `pattern` has the name of the query. Columns that a query does not have are null
        in its rows.

        Raises:
            PatternError: Two queries have columns of one name that are of different types, or one
                groups by a column called `pattern`.
            UnsupportedError: The rows are in this process.
        """
        return self._on_spark("together").together(self.names).with_progress(self.progress)

    def persist(self, level: Any | None = None) -> Self:
        """Keep the rows of all queries on Spark once they have been computed.

        Args:
            level: Where, as for `DataFrame.persist`.

        Returns:
            The same aggregates, with results that use the stored rows; unused results of this
            object do so as well.

        Raises:
            UnsupportedError: The rows are in this process.
        """
        workers = self._on_spark("persist")
        workers.persist(level)
        return replace(self, results=workers.results()).with_progress(self.progress)

    def unpersist(self) -> None:
        """Drop the rows stored by `persist`.

        Raises:
            UnsupportedError: The rows are in this process.
        """
        self._on_spark("unpersist").unpersist()

    def _on_spark(self, what: str) -> Workers:
        if self.workers is None:
            raise UnsupportedError(
                f"{what} of aggregates in this process: the rows of each query are there already",
                hint="take the results one by one: to_pandas() or to_arrow() of each",
            )
        return self.workers

    def __repr__(self) -> str:
        return f"{self._title()}\n{self.plan}"

    def _repr_html_(self) -> str:
        return html_output(f"<p>{self._title()}</p>", self.plan._repr_html_())

    def _title(self) -> str:
        return f"Aggregates of {count_text(len(self), 'query', 'queries')}"
