"""The matches of several queries in a Spark stream: one pass for queries with the same cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from typing import Any

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as t

from cepkit.columnar.compile.query import Sets
from cepkit.columnar.results.output import MatchColumns, check_alike
from cepkit.columnar.results.together import Counted, InMemory, Place, Planned
from cepkit.columnar.workload import Group
from cepkit.pattern.query import Query
from cepkit.pattern.several import PATTERN
from cepkit.plan.nodes import Plan
from cepkit.planners.choose import is_quick
from cepkit.progress import Progress
from cepkit.spark.cells.schemas import match_columns
from cepkit.spark.matches.detect import detect, start
from cepkit.spark.matches.result import MatchesPass, SparkMatches
from cepkit.spark.matches.sinks import number_of
from cepkit.spark.matches.table import ends_last, lists_in, named_columns, pattern_column
from cepkit.spark.passes.frame import ResultFrame
from cepkit.spark.passes.here import Here
from cepkit.spark.passes.one_table import QUERY
from cepkit.spark.passes.part import searched_here
from cepkit.spark.session.progress import run_with_progress
from cepkit.stream.reading.nested import quoted
from cepkit.stream.sessions import check_session
from cepkit.stream.stream import Stream


class OnSpark(Place[SparkMatches]):
    """A Spark stream as the place where queries' matches are found.

    Each query's are a separate Spark DataFrame; `together` has all, from one pass for the queries
    with the same cut.

    Args:
        slice_seconds: As for `detect`.
        slice_events: As for `detect`.
        fetch: Fetches the events that queries need, if there are few; None: workers have them.
    """

    def __init__(
        self,
        stream: Stream,
        planned: Planned,
        *,
        slice_seconds: float | None = None,
        slice_events: int | None = None,
        fetch: Callable[[Sequence[Query]], Stream] | None = None,
    ) -> None:
        super().__init__(stream, planned)
        self._options: dict[str, Any] = {
            "slice_seconds": slice_seconds,
            "slice_events": slice_events,
        }
        self._fetch = fetch

    @cached_property
    def _here(self) -> InMemory | None:
        """The events in this process if they are few; else None."""
        if self._fetch is None or not all(map(is_quick, self.planned.plans)):
            return None
        part = self._fetch(self.planned.queries)
        return None if part.place == "spark" else InMemory(part, self.planned)

    @cached_property
    def _passes(self) -> list[MatchesPass]:
        return [self._pass(group) for group in self.planned.groups]

    def _pass(self, group: Group) -> MatchesPass:
        planned, numbers = self.planned, dict.fromkeys(group.of)
        return start(
            self.stream,
            {q: planned.queries[q] for q in numbers},
            {q: planned.plans[q] for q in numbers},
            group,
            None if planned.plan is None else planned.plan.statistics,
            limited=planned.limit is not None,
            **self._options,
        )

    def _matches(self, query: Query, plan: Plan, limit: int | None, sets: Sets) -> SparkMatches:
        part = None if self._here is None else self._here.stream
        return detect(
            self.stream, query, plan, part=part, limit=limit, sets=sets, **self._options
        )  # fmt: skip

    def counted(self, progress: Progress, *, anew: bool = False) -> Counted:
        """Return the number of matches of each query and the counters of each group."""
        if self._here is None:
            return super().counted(progress, anew=anew)
        self._counted = self._here.counted(progress, anew=anew)
        return self._counted

    def _count(self, progress: Progress) -> Counted:
        sizes = [0] * len(self.planned.queries)
        counters = []
        for one in self._passes:
            check_session(one.sizes)
            rows = one.sizes.select("*")  # Spark keeps the failure of a cancelled stage
            for query, packed in run_with_progress(rows.collect, "counting", progress=progress):
                sizes[query] += number_of(packed)
            one.pass_.reports.warn()
            work = one.pass_.reports.work((), one.group.query.programs)
            counters.append((one.group, work.counters[()]))
        return sizes, counters

    def together(self) -> ResultFrame:
        """Return the matches of all queries, with the name of the query in column `pattern`."""
        here = self._here
        if here is None:
            return self._by_workers()
        together = here.together()
        columns = self._together_columns(here, together.schema.names)
        in_order = [F.col(quoted(name)) for name in columns.names]
        rows = Here(
            together,
            columns,
            self.stream.source.sparkSession,
            lambda: self._by_workers().select(*in_order),
        )
        way = searched_here(len(here.columns), here.stream)
        return ResultFrame(rows, title=f"{self.planned.title} together", route=way)

    def _together_columns(self, here: InMemory, names: Sequence[str]) -> t.StructType:
        """Return the Spark columns of `together`, from its matches in this process."""
        schema = self.stream.schema.without_arrival()
        kinds: dict[str, t.DataType] = {PATTERN: t.StringType()}
        for q, query in enumerate(self.planned.queries):
            columns = match_columns(
                self.stream.source.schema,
                self.stream.column_names,
                MatchColumns.of(query, schema),
                here.find(q).schema,
            )
            for column in columns:
                if column.name not in kinds or isinstance(column.dataType, t.ArrayType):
                    kinds[column.name] = column.dataType
        return t.StructType([t.StructField(name, kinds[name]) for name in names])

    def _by_workers(self) -> ResultFrame:
        check_alike(schema for one in self._passes for schema in one.table.of.values())
        lists = lists_in([one.table for one in self._passes])
        pattern = pattern_column(self.planned.names)
        parts = []
        for one in self._passes:
            rows = one.rows
            if self.planned.limit is not None:
                order = Window.partitionBy(QUERY).orderBy(F.lit(0))
                rows = rows.withColumn("row", F.row_number().over(order))
                rows = rows.where(F.col("row") <= self.planned.limit)
            parts.append(rows.select(pattern, *named_columns(one.table, lists)))
        union = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
        return ResultFrame(
            ends_last(union),
            title=f"{self.planned.title} together",
            route="; ".join(dict.fromkeys(one.pass_.delivery.route for one in self._passes)),
            reports=self._passes[0].pass_.reports,
        )
