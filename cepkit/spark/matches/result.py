"""The matches of a query in a Spark stream, as a Spark DataFrame with an explanation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

from pyspark.sql import DataFrame

from cepkit.columnar.results.explanation import Explanation
from cepkit.columnar.results.frames import frame_of
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.results.output import MatchColumns
from cepkit.columnar.results.plans import AdaptedExplanation, PlansInForce, explanation_of
from cepkit.columnar.results.reports import warn_if_long
from cepkit.columnar.results.shown import timeline
from cepkit.columnar.slices.plans import SliceWork
from cepkit.columnar.workload import Group
from cepkit.errors import UnsupportedError
from cepkit.lazy import pd
from cepkit.memory import Room
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.progress import Progress
from cepkit.spark.matches.table import lists_in, named_columns
from cepkit.spark.passes.frame import ResultFrame
from cepkit.spark.passes.here import Here
from cepkit.spark.passes.one_pass import Pass
from cepkit.spark.passes.one_table import OneTable
from cepkit.stream.columns import Dropped
from cepkit.stream.stream import Stream


@dataclass(frozen=True, eq=False, slots=True)
class MatchesPass:
    """A pass for the matches of queries that run together.

    Attributes:
        group: The queries.
        pass_: The pass over the stream.
        table: The columns of its rows.
        rows: The matches of all queries.
        sizes: The numbers of matches of each query in each task.
    """

    group: Group
    pass_: Pass
    table: OneTable
    rows: DataFrame
    sizes: DataFrame


class SparkMatches(ResultFrame):
    """The matches as a Spark DataFrame: nothing is computed before an action.

    It has a struct column for each variable (null if a branch of an OR does not have it),
    `match_start` and `match_end`. It can be selected from, joined, cached and written like any
    other; derived DataFrames are plain. `to_pandas()` fetches flat columns such as `a.price`.
    Workers emit matches in batches, which never pass the driver unless they are collected. Counters
    come with them, so `explain()` costs nothing after an action that took all matches. Of a stream
    that was small enough to be fetched this process finds the matches.

    Attributes:
        query: The query.
        most: The limit of `detect`; None for all (`limit()` is Spark's own).
        route: How the events reach the workers, and how they are cut, as a sentence.
        variables: The variables of a match in pattern order.
        sets: Which sets of Kleene variables make matches.
        stream: The events.
        here: The matches as those of a local stream, if this process finds them.
    """

    def __init__(
        self,
        found: MatchesPass | Here,
        *,
        stream: Stream,
        route: str,
        query: Query,
        plan: Plan,
        limit: int | None,
        sets: Literal["every", "maximal"] = "every",
    ) -> None:
        self.query = query
        self.plan = plan
        self.most = limit
        self.sets = sets
        self.stream = stream
        self.here: Matches | None = None
        self._found: MatchesPass | None = None
        rows: DataFrame | Here
        reports = None
        match found:
            case MatchesPass():
                rows = found.rows.select(*named_columns(found.table, lists_in([found.table])))
                rows = rows if limit is None else rows.limit(limit)
                self._found, reports = found, found.pass_.reports
            case Here(rows=Matches() as here):
                self.here, rows = here, found
        self.variables = MatchColumns.of(query, self.stream.schema).variables
        order = "; ".join(map(str, plan.branches))
        super().__init__(
            rows,
            title=f"Matches of {', '.join(self.variables)} by the plan {order}",
            route=route,
            reports=reports,
            explanation=self._explained,
        )

    def with_progress(self, progress: Progress) -> Self:
        """Set whether long work shows a bar; return itself."""
        if self.here is not None:
            self.here.progress = progress
        return super().with_progress(progress)

    def _explained(self) -> Explanation | AdaptedExplanation:
        if self.here is not None:
            return self.here.explain()
        work, _ = self._run()
        self._warn()
        return explanation_of(self.query, self.plan, work)

    @property
    def plans(self) -> PlansInForce:
        """Which plan was in force when, and why; gathered from workers like `explain`."""
        if self.here is not None:
            return self.here.plans
        work, _ = self._run()
        return PlansInForce.of(self.query, self.plan, work)

    @property
    def dropped(self) -> Dropped:
        """The rows without a time or a type, which are no events; counts first if need be."""
        return self._run()[1] if self.here is None else self.here.columns.dropped

    def count(self) -> int:
        """Return the number of matches, without building rows unless the frame is cached."""
        if self.here is not None:
            return self.here.count()
        level = self.storageLevel
        # Counters tell the number of all matches before the limit.
        if level.useMemory or level.useDisk or self.query.after_match is not None:
            return super().count()
        assert self._found is not None
        if not self._found.pass_.reports.complete:
            warn_if_long([self.query], [self.plan])
        matches = self._run()[0].matches
        return matches if self.most is None else min(matches, self.most)

    def timeline(self, n: int = 50) -> pd.DataFrame:
        """Return the events of some `n` matches, one row for each event.

        Args:
            n: The most matches.

        Returns:
            Columns match (from 1), variable, ts, type and attributes (a dictionary of the
            event's other columns), in the order of match and time.

        Raises:
            LimitError: They would not fit the free memory.
        """
        if self.here is not None:
            return self.here.timeline(n)
        if self.query.returned:
            raise UnsupportedError(
                "a timeline of matches that have only the columns of RETURN",
                hint="detect without RETURN",
            )
        table = self._watched(lambda: self._again().limit(n).toArrow(), "fetching")
        # Besides the frame, the rows of the table and the table need memory.
        room = Room("matches", "a table of their events", "ask for fewer", copies=3)
        some = frame_of(table.to_batches(), table.schema, room, nested=True)
        return timeline(some, self.variables, self.stream.schema.time, self.stream.schema.type)

    def _run(self) -> tuple[SliceWork, Dropped]:
        """Return the counters and the dropped rows of a whole run; make one if there was none."""
        assert self._found is not None
        pass_, programs = self._found.pass_, self._found.group.query.programs
        if not pass_.reports.complete:
            self._watched(self._found.sizes.count, "counting")
        work = pass_.reports.work(self.plan.branches, programs)
        return work, pass_.reports.dropped + pass_.delivery.left_out
