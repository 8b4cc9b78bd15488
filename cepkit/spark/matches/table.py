"""The matches of several queries as one table, for workers and for users."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t

from cepkit.columnar.results.output import END, START, MatchColumns, Writer
from cepkit.columnar.slices.blocks import Block
from cepkit.columnar.workload import Group
from cepkit.pattern.query import Query
from cepkit.pattern.several import PATTERN
from cepkit.spark.cells.schemas import match_columns
from cepkit.spark.cells.sending import Sending
from cepkit.spark.passes.one_table import QUERY, OneTable, one_table
from cepkit.stream.columns import EventColumns
from cepkit.stream.reading.nested import quoted
from cepkit.stream.stream import Stream


def matches_table(
    stream: Stream, columns: t.StructType, sending: Sending, queries: Mapping[int, Query]
) -> tuple[OneTable, t.StructType]:
    """Return the columns of the matches of several queries, as one table.

    Args:
        sending: The columns and rows of it that workers get.
    """
    nothing = sending.nothing
    of = {}
    for number, query in queries.items():
        matches = MatchColumns.of(query, sending.schema)
        in_arrow = matches.schema(nothing)
        in_spark = match_columns(columns, stream.column_names, matches, in_arrow)
        of[number] = in_arrow, in_spark.fields
    return one_table(of)


def table_rows(
    blocks: Iterable[tuple[int, Block]],
    group: Group,
    table: OneTable,
    events: EventColumns,
    columns: Mapping[int, MatchColumns],
) -> Iterator[pa.RecordBatch]:
    """Yield the matches of several queries among some events as rows of one table."""
    writers: dict[int, Writer] = {}
    for number, block in blocks:
        q = group.of[number]
        if q not in writers:
            writers[q] = Writer(events, columns[q])
        for batch in writers[q].batches(block, group.query.programs[number].variables):
            yield table.widened(q, batch.columns)


def lists_in(tables: Iterable[OneTable]) -> set[str]:
    """Return the variables that are lists of events in the matches of any query."""
    return {
        name
        for table in tables
        for schema in table.of.values()
        for name in schema.names
        if pa.types.is_list(schema.field(name).type)
    }


def pattern_column(names: Sequence[str]) -> Column:
    """Return the name of the query of each row of a table."""
    pairs = (F.lit(part) for q, name in enumerate(names) for part in (q, name))
    return F.create_map(*pairs)[F.col(QUERY)].alias(PATTERN)


def ends_last(rows: DataFrame, *behind: str) -> DataFrame:
    """Return rows with the columns for start and end of a match moved to the end."""
    ends = [START, END, *behind]
    columns = [name for name in rows.columns if name not in ends]
    return rows.select(*(F.col(quoted(name)) for name in [*columns, *ends]))


def named_columns(table: OneTable, lists: Collection[str]) -> list[Column]:
    """Return the columns of a table with users' names, merging equal names."""
    places: dict[str, dict[int, bool]] = {}
    for query, at in table.places.items():
        for place, field in zip(at, table.of[query], strict=True):
            places.setdefault(field.name, {})[place] = pa.types.is_list(field.type)
    columns = []
    for name, at_places in places.items():
        parts = []
        for place, is_list in at_places.items():
            column = F.col(f"c{place - 1}")
            if name in lists and not is_list:
                column = F.when(column.isNotNull(), F.array(column))
            parts.append(column)
        columns.append((F.coalesce(*parts) if len(parts) > 1 else parts[0]).alias(name))
    return columns
