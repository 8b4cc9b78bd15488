"""Pages of the matches of a Spark stream, and the events around a match, for the match browser.

Spark starts only the tasks needed for a page. If possible, a filter becomes a condition of the
pattern, so that the engine does not find other matches; Spark itself sorts.

`limit(n).toArrow()` makes every task find n rows; `take(n)` starts few tasks, but converts values
to Python objects. So rows are packed: a packet is a single value that `take` passes on unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t

from cepkit.columnar.results.output import END, START
from cepkit.pattern import conditions as c
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.progress import Progress
from cepkit.spark.matches.detect import detect
from cepkit.spark.matches.result import SparkMatches
from cepkit.spark.passes.rows import StreamRows, seconds_of
from cepkit.spark.session.progress import run_with_progress
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.reading.nested import quoted
from cepkit.stream.schema import Schema

SIZE = 100
"""The rows of a packet."""
COLUMNS = "rows binary"


def packets(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the packets of some rows, lazily."""
    for batch in batches:
        for begin in range(0, len(batch), SIZE):
            part = batch.slice(begin, SIZE)
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, part.schema) as writer:
                writer.write_batch(part)
            yield pa.RecordBatch.from_arrays(
                [pa.array([sink.getvalue().to_pybytes()], pa.binary())], names=["rows"]
            )


def unpacked(found: Sequence[bytes | bytearray]) -> pa.Table:
    """Return the rows of one or more packets."""
    tables = [pa.ipc.open_stream(bytes(packet)).read_all() for packet in found]
    return pa.concat_tables(tables)


class MatchPages:
    """Fetches matches of a Spark stream page by page.

    Attributes:
        query: The query without RETURN, because the browser shows events.
        schema: How the rows of the events are read.
        names: The columns of an event.
        timed: Whether times are timestamps, or texts of them, instead of numbers.
        progress: Whether long work shows a bar.
    """

    def __init__(self, matches: SparkMatches) -> None:
        self.query: Query = replace(matches.query, returned=())
        stream = matches.stream
        self.schema: Schema = stream.schema.without_arrival()
        carried = stream.schema.carried(stream.column_names)
        read = [name for name in sorted(attributes_read(self.query)) if name not in carried]
        if read:
            self.schema = replace(self.schema, columns=(*carried, *read))
        self.names = self.schema.carried(stream.column_names)
        self.progress: Progress = matches.progress
        self._matches = matches
        self._stream = replace(stream, schema=replace(stream.schema, columns=self.schema.columns))
        kind = stream.source.schema.fields[stream.column_names.index(self.schema.time)].dataType
        self.timed = not isinstance(kind, t.NumericType)
        # Use it unchanged if it has all columns: the user may have cached it.
        as_it_is = not read and not matches.query.returned
        self._found: DataFrame = matches.select("*") if as_it_is else self._detected(self.query)

    def first(self, n: int) -> pa.Table:
        """Return the first `n` matches found, with a struct for each variable."""
        return self._watched(lambda: _some(self._found, n))

    def searched(
        self,
        n: int,
        condition: c.Expression | None,
        sort: tuple[str, str] | None,
        *,
        descending: bool = False,
    ) -> pa.Table:
        """Return the first `n` matches, in an order, that satisfy a condition.

        Args:
            condition: A condition on the variables for which `can_search` is true.
            sort: A variable and an attribute, or an empty text and "start" or "length"; None for
                the first ones found.
            descending: Whether the greatest comes first. Missing values always come last.
        """

        def found() -> pa.Table:
            rows = self._found
            if condition is not None:
                rows = self._detected(self._narrower(condition))
            if sort is None:
                return _some(rows, n)
            return rows.orderBy(*_by(rows, *sort, descending)).limit(n).toArrow()

        return self._watched(found)

    def can_search(self, condition: c.Expression | None) -> bool:
        """Return whether a condition on matches can become a condition of the pattern.

        It cannot if a match depends on others, if some matches lack its variables, or if there is a
        limit.
        """
        query = self.query
        if self._matches.most is not None:
            return False
        if condition is None:
            return True
        in_turn = query.strategy is Strategy.SKIP_TILL_NEXT_MATCH or query.after_match is not None
        names = c.variables_of(condition)
        branches = normal_form(query)
        return not in_turn and all(names <= {*branch.variables} for branch in branches)

    def around(self, first: str, last: str, seconds: float, most: int) -> pa.Table:
        """Return the events around some time, as rows of the stream.

        Args:
            first: When that time begins, as a text of the column's type.
            seconds: Include this much time before and after.
            most: The most events: those nearest to the beginning.
        """
        rows = StreamRows(self._stream)
        time, unit = self.schema.time, self.schema.unit

        def seconds_at(text: str) -> Column:
            return seconds_of(F.lit(text).cast(rows.kind(time)), rows.kind(time), unit)

        def found() -> pa.Table:
            at, begin, end = rows.seconds, seconds_at(first), seconds_at(last)
            near = rows.rows.where(rows.is_event & at.between(begin - seconds, end + seconds))
            columns = [rows.column(name) for name in self.names]
            nearest = near.orderBy(F.abs(at - begin)).select(*columns).limit(most)
            return nearest.toDF(*self.names).toArrow()

        return self._watched(found)

    def _narrower(self, condition: c.Expression) -> Query:
        return replace(self.query, where=c.AllOf((*c.conjuncts(self.query.where), condition)))

    def _detected(self, query: Query) -> DataFrame:
        matches = self._matches
        return detect(
            self._stream, query, matches.plan,
            limit=matches.most, sets=matches.sets, reported=True,
        ).select("*")  # fmt: skip

    def _watched(self, action: Callable[[], pa.Table]) -> pa.Table:
        return run_with_progress(
            action, "fetching matches", progress=self.progress, frame=self._matches
        )


def _some(rows: DataFrame, n: int) -> pa.Table:
    """Return the first `n` rows found."""
    packed = rows.mapInArrow(packets, COLUMNS)
    wanted = -(-n // SIZE)
    while True:
        # The last packet of a batch has fewer rows.
        found = packed.take(wanted)
        table = unpacked([row[0] for row in found]) if found else rows.limit(0).toArrow()
        if len(table) >= n or len(found) < wanted:
            return table.slice(0, n)
        wanted *= 2


def _by(rows: DataFrame, variable: str, name: str, descending: bool) -> list[Column]:
    """Return Spark's sort keys; ties go to the earlier match."""
    if variable:
        column = F.col(quoted(variable))
        if isinstance(rows.schema[variable].dataType, t.ArrayType):
            column = F.try_element_at(column, F.lit(1))
        by = column.getField(name)
        if isinstance(rows.select(by).schema[0].dataType, t.FloatType | t.DoubleType):
            by = F.when(~F.isnan(by), by)
    else:
        by = F.col(START) if name == "start" else F.col(END) - F.col(START)
    first = by.desc_nulls_last() if descending else by.asc_nulls_last()
    return [first, F.col(START).asc(), F.col(END).asc()]
