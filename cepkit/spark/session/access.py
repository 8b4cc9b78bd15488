"""Access to a Spark session: classic, with the JVM beside Python, or Connect, through a server.

DataFrames are the same in both. What is not - what Spark knows of a plan, what tasks report beside
their rows, how a DataFrame is made of another - is asked here and nowhere else. How streams are run
is not among it: they are for classic sessions alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from cepkit.spark.session.tasks import Work


class TaskReports(Protocol):
    """Reports of tasks: each once, when all that it makes has left it, under its number.

    A task that runs again (a retry, a second action) reports under the same number, and the newer
    report replaces the older one. A task that is broken off, as by `show()`, reports nothing.
    """

    def rows(self, source: DataFrame, work: Work, columns: StructType) -> DataFrame:
        """Return what tasks make of a DataFrame's partitions, whose reports come here."""

    @property
    def by_task(self) -> Mapping[int, Any]:
        """The reports so far."""


class Access(Protocol):
    """The requests that classic sessions and those of Connect answer in different ways."""

    def frame_class(self) -> type[DataFrame]:
        """Return the class of its DataFrames."""

    def handle(self, frame: DataFrame) -> Any:
        """Return of what, beside the session, a DataFrame of that class is made."""

    def cores(self, session: SparkSession) -> int:
        """Return how many tasks run at once."""

    def reports(self, session: SparkSession) -> TaskReports:
        """Return where tasks can report."""

    def relation(self, frame: DataFrame) -> Any:
        """Return Java's analyzed plan of a DataFrame; None where it cannot be seen."""

    def is_shuffled(self, frame: DataFrame) -> bool:
        """Return whether rows come from a shuffle, so that their order may change each time."""

    def kept(self, frame: DataFrame) -> DataFrame:
        """Return what a shuffle brings such that it is run once and its outcome read again."""


def access_to(owner: DataFrame | SparkSession) -> Access:
    """Return the access to a session, or to that of a DataFrame."""
    if is_connect(owner):
        from cepkit.spark.session.connect import Connect

        return Connect()
    from cepkit.spark.session.classic import Classic

    return Classic()


def is_connect(owner: Any) -> bool:
    """Return whether a DataFrame or a session is one of Spark Connect."""
    return any(each.__module__.startswith("pyspark.sql.connect.") for each in type(owner).__mro__)
