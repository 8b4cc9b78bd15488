"""The matches of several queries in a Spark stream: one pass for queries with the same cut."""

from __future__ import annotations

from functools import cached_property, reduce

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as t

from cepkit.columnar.results.output import MatchColumns, check_alike
from cepkit.columnar.results.several import Counted, SeveralMatches, SeveralResults
from cepkit.columnar.workload import Group
from cepkit.pattern.several import PATTERN
from cepkit.planners.choose import is_quick
from cepkit.spark.cells.schemas import match_columns, quoted
from cepkit.spark.matches.detect import detect, detect_fetched, start
from cepkit.spark.matches.result import MatchesPass, SparkMatches
from cepkit.spark.matches.table import ends_last, lists_in, named_columns, pattern_column
from cepkit.spark.passes.frame import ResultFrame
from cepkit.spark.passes.here import Here
from cepkit.spark.passes.one_table import QUERY
from cepkit.spark.passes.part import origin_of
from cepkit.spark.session.progress import run_with_progress
from cepkit.stream.sessions import check_session
from cepkit.tables import count_text


class SeveralSparkMatches(SeveralResults[SparkMatches]):
    """The matches of several queries in a Spark stream, each under its name or number.

    Each is a separate Spark DataFrame; `together` has all matches, from one pass for the queries
    with the same cut.
    """

    @cached_property
    def _here(self) -> SeveralMatches | None:
        """The matches, found in this process if the stream is small; else None."""
        fetch, plans = self.options["fetch"], self.plan or self.plans
        if fetch is None or not all(map(is_quick, self.plans)):
            return None
        part = fetch(self.queries)
        if part.place == "spark":
            return None
        queries = dict(zip(self.names, self.queries, strict=True))
        return SeveralMatches(
            part, queries, plans, self._measure, limit=self.limit, sets=self.sets, share=self._share
        )

    @cached_property
    def _passes(self) -> list[MatchesPass]:
        return [self._pass(group) for group in self.groups]

    def _pass(self, group: Group) -> MatchesPass:
        numbers = dict.fromkeys(group.of)
        return start(
            self.stream,
            {q: self.queries[q] for q in numbers},
            {q: self.plans[q] for q in numbers},
            group,
            None if self.plan is None else self.plan.statistics,
            slice_seconds=self.options.get("slice_seconds"),
            slice_events=self.options.get("slice_events"),
            limited=self.limit is not None,
        )

    def _find(self, number: int) -> SparkMatches:
        query, plan, limit, sets = self.queries[number], self.plans[number], self.limit, self.sets
        if self._here is not None:
            part = self._here.stream
            return detect_fetched(self.stream, part, query, plan, limit=limit, sets=sets)
        sliced = {name: self.options[name] for name in ("slice_seconds", "slice_events")}
        return detect(self.stream, query, plan, limit=limit, sets=sets, **sliced)

    def _count(self) -> Counted:
        if self._here is not None:
            return self._here.counted()
        sizes = [0] * len(self)
        counters = []
        for one in self._passes:
            check_session(one.sizes)
            rows = one.sizes.select("*")  # Spark keeps the failure of a cancelled stage
            counted = run_with_progress(rows.collect, "counting", progress=self.progress)
            for query, size in counted:
                sizes[query] += size
            one.pass_.reports.warn()
            work = one.pass_.reports.work((), one.group.query.programs)
            counters.append((one.group, work.counters[()]))
        return sizes, counters

    @cached_property
    def together(self) -> ResultFrame:
        """The matches of all queries, with the name of the query in the column `pattern`.

        A variable of several queries is one column; a list of events where it is a Kleene variable
        of any of them.
        """
        if self._here is None:
            return self._by_workers()
        columns = self._together_columns(self._here)
        in_order = [F.col(quoted(name)) for name in columns.names]
        rows = Here(
            self._here.together,
            columns,
            self.stream.source.sparkSession,
            lambda: self._by_workers().select(*in_order),
        )
        return ResultFrame(
            rows,
            title=f"{self.title} together",
            route=f"searched in this process, {count_text(self._here.events, 'event')}"
            f" {origin_of(self._here.stream)}",
        )

    def _together_columns(self, here: SeveralMatches) -> t.StructType:
        """Return the Spark columns of `together`, from its matches in this process."""
        schema = self.stream.schema.without_arrival()
        kinds: dict[str, t.DataType] = {PATTERN: t.StringType()}
        for matches in here:
            columns = match_columns(
                self.stream.source.schema,
                self.stream.column_names,
                MatchColumns.of(matches.query, schema),
                matches.schema,
            )
            for column in columns:
                if column.name not in kinds or isinstance(column.dataType, t.ArrayType):
                    kinds[column.name] = column.dataType
        names = here.together.schema.names
        return t.StructType([t.StructField(name, kinds[name]) for name in names])

    def _by_workers(self) -> ResultFrame:
        check_alike(schema for one in self._passes for schema in one.table.of.values())
        lists = lists_in([one.table for one in self._passes])
        pattern = pattern_column(self.names)
        parts = []
        for one in self._passes:
            rows = one.rows
            if self.limit is not None:
                order = Window.partitionBy(QUERY).orderBy(F.lit(0))
                rows = rows.withColumn("row", F.row_number().over(order))
                rows = rows.where(F.col("row") <= self.limit)
            parts.append(rows.select(pattern, *named_columns(one.table, lists)))
        union = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
        return ResultFrame(
            ends_last(union),
            title=f"{self.title} together",
            route="; ".join(dict.fromkeys(one.pass_.delivery.route for one in self._passes)),
            reports=self._passes[0].pass_.reports,
        )
