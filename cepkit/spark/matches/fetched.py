"""Matches among fetched events: found in this process, but still a Spark DataFrame."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from pyspark.sql.types import StructType

from cepkit.columnar.results.explanation import Explanation
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.results.plans import AdaptedExplanation, PlansInForce
from cepkit.progress import Progress
from cepkit.spark.matches.result import SparkMatches
from cepkit.spark.passes.fetched_frame import FetchedFrame
from cepkit.stream.columns import Dropped
from cepkit.stream.stream import Stream
from cepkit.tables import count_text

if TYPE_CHECKING:
    import pandas as pd


class FetchedMatches(FetchedFrame, SparkMatches):
    """The matches in a Spark stream that was small enough to be fetched.

    Args:
        stream: The stream in Spark.
        matches: The matches among its events, here.
        origin: How these came here.
        columns: Their columns in Spark.
        workers: Makes the same matches, found by workers.

    Attributes:
        here: The matches as those of a local stream.
    """

    def __init__(
        self,
        stream: Stream,
        matches: Matches,
        origin: str,
        columns: StructType,
        workers: Callable[[], SparkMatches],
    ) -> None:
        order = "; ".join(map(str, matches.plan.branches))
        FetchedFrame.__init__(
            self,
            matches,
            columns,
            stream.source.sparkSession,
            workers,
            title=f"Matches of {', '.join(matches.variables)} by the plan {order}",
            route=f"searched in this process, {count_text(len(matches.columns), 'event')} {origin}",
        )
        self.here = matches
        self.stream = stream
        self.sets = matches.sets
        self.query = matches.query
        self.plan = matches.plan
        self.most = matches.limit
        self.variables = matches.variables

    def with_progress(self, progress: Progress) -> Self:
        """Set whether long work shows a bar; return itself."""
        self.here.progress = progress
        return super().with_progress(progress)

    def _explained(self) -> Explanation | AdaptedExplanation:
        return self.here.explain()

    @property
    def plans(self) -> PlansInForce:
        """Which plan was in force when, and why."""
        return self.here.plans

    @property
    def dropped(self) -> Dropped:
        """The rows without a time or a type, which are no events."""
        return self.here.columns.dropped

    def timeline(self, n: int = 50) -> pd.DataFrame:
        """Return the events of some `n` matches, one row for each event; see `SparkMatches`."""
        return self.here.timeline(n)
