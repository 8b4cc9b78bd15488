"""Access to a Spark session: classic, with the JVM beside Python, or Connect, through a server.

DataFrames are the same in both. The differences are handled here and nowhere else: Spark's view of
a plan, the reports of tasks besides their rows, and creating a DataFrame from another. Streaming is
not covered: it needs a classic session.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from cepkit.spark.session.tasks import Work


class TaskReports(Protocol):
    """Reports of tasks: each task reports once under its number, after its last row.

    A task that runs again (a retry, a second action) replaces its report. A task that is cut short,
    as by `show()`, reports nothing.
    """

    def rows(self, source: DataFrame, work: Work, columns: StructType) -> DataFrame:
        """Run tasks over a DataFrame's partitions; return their rows and collect their reports."""

    @property
    def by_task(self) -> Mapping[int, Any]:
        """The reports so far."""


class Access(Protocol):
    """The operations that differ between classic and Connect sessions."""

    def frame_class(self) -> type[DataFrame]:
        """Return the class of its DataFrames."""

    def handle(self, frame: DataFrame) -> Any:
        """Return the argument that, with the session, makes a DataFrame of that class."""

    def cores(self, session: SparkSession) -> int:
        """Return the number of tasks that run at once."""

    def reports(self, session: SparkSession) -> TaskReports:
        """Return an empty collection of task reports."""

    def relation(self, frame: DataFrame) -> Any:
        """Return Java's plan of a DataFrame, with cached parts; None if it is not accessible."""

    def held(self, frame: DataFrame) -> int | None:
        """Return the number of rows if the JVM holds all of them, without a job; None if not."""

    def is_shuffled(self, frame: DataFrame) -> bool:
        """Return whether rows come from a shuffle, so that their order may change each time."""

    def kept(self, frame: DataFrame) -> DataFrame:
        """Materialise the output of a shuffle, so that it runs only once."""


def access_to(owner: DataFrame | SparkSession) -> Access:
    """Return the access to a session, or to a DataFrame's session."""
    if is_connect(owner):
        from cepkit.spark.session.connect import Connect

        return Connect()
    from cepkit.spark.session.classic import Classic

    return Classic()


def is_connect(owner: Any) -> bool:
    """Return whether a DataFrame or a session belongs to Spark Connect."""
    return any(each.__module__.startswith("pyspark.sql.connect.") for each in type(owner).__mro__)
