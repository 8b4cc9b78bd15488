"""Detection of several patterns over a streaming DataFrame: one state, one pass, one query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as t

from cepkit.columnar.compile.query import CompiledQuery, Sets, compile_query
from cepkit.columnar.detector import Detector
from cepkit.columnar.slices.candidates import Owned
from cepkit.columnar.slices.cutting import cutting_clock, looks_ahead
from cepkit.columnar.workload import Group, grouped
from cepkit.errors import UnsupportedError, telling
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.query import Query
from cepkit.pattern.several import called
from cepkit.plan.nodes import Plan
from cepkit.sharing.shared_plan import SharedPlan, plans_and_pools
from cepkit.spark.cells.keys import common_key
from cepkit.spark.cells.schemas import event_type
from cepkit.spark.cells.sending import sending_for
from cepkit.spark.matches.table import (
    ends_last,
    lists_in,
    matches_table,
    named_columns,
    pattern_column,
    table_rows,
)
from cepkit.spark.passes.one_table import OneTable
from cepkit.spark.streaming.bucket import Bucket
from cepkit.spark.streaming.live import Live
from cepkit.spark.streaming.pieces import unpacking
from cepkit.spark.streaming.prepare import (
    Prepared,
    check_live,
    check_window,
    choose_buckets,
    identity_of,
)
from cepkit.spark.streaming.result import StreamSeveralMatches
from cepkit.spark.streaming.rows import EVENT, KIND, MatchRows
from cepkit.spark.streaming.searches import FAR, Taken, has_event
from cepkit.stream.columns import EventColumns
from cepkit.stream.stream import Stream


@dataclass(frozen=True, slots=True)
class GroupSearch:
    """The matches of queries that are run as one.

    Attributes:
        group: The queries.
        table: The columns of the matches of all queries.
        time: The column of the event time.
        window: As for any search.
        ahead: As for any search.
        kind: What the rows are.
        at_any_time: As for any search.
    """

    group: Group
    table: OneTable
    time: str
    window: int
    ahead: int
    kind: str = "match"
    at_any_time: bool = False

    @property
    def rows(self) -> pa.Schema:
        """The columns of its rows."""
        return self.table.schema

    def is_due(self, ts: npt.NDArray[np.int64], owned: Owned) -> bool:
        """Return whether an event lies in the stretch: the last one of a match does."""
        return has_event(ts, owned)

    def batches(
        self, events: EventColumns, owned: Owned, taken: Taken | None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the matches whose last event lies in the stretch."""
        assert taken is None
        blocks = Detector(self.group.query).matches(events, owned)
        yield from table_rows(blocks, self.group, self.table, events, self.time)


def detect_several(
    stream: Stream,
    queries: Mapping[str, Query],
    plans: SharedPlan | Sequence[Plan],
    *,
    sets: Sets = "every",
    share: bool = True,
    buckets: int | None = None,
    late: Literal["count", "collect"] = "count",
) -> StreamSeveralMatches:
    """Return the matches of several queries in a streaming DataFrame, as one streaming DataFrame.

    The column `pattern` says of which query a match is. Events are kept once, for the longest
    window; a match is told as early as by its query alone.

    Args:
        stream: Events in a streaming DataFrame.
        queries: The patterns, with windows in time, by their names.
        sets: Which sets of Kleene variables make matches.
        share: Whether queries share the steps that they begin with.
        buckets: As for one query; the key is what all queries agree on.
        late: Whether events that are late, or too far ahead, are counted only, or rows as well.

    Raises:
        PatternError: A condition compares what cannot be compared.
        UnsupportedError: What must be remembered for a query has no bound, or each of its events
            is in one match at most.
    """
    columns = check_live(stream).schema
    prepared, table, in_spark = prepare_several(stream, columns, queries, plans, sets, share=share)
    sending = prepared.bucket.sending
    count = choose_buckets(prepared.key, buckets)
    text = "; ".join(f"{name}: {query}" for name, query in queries.items())
    identity = identity_of(stream, text, sending, count, sets=sets)
    carried = sending.nothing.source.schema
    variables = sorted({name for one in table.of.values() for name in one.names})
    output = MatchRows(
        table.schema, carried, sending.fields, variables, 0, late == "collect", timeouts=False
    )
    output.check_names()
    row_type = output.columns(in_spark, event_type(columns, stream.column_names, sending.schema))
    first, last = ([KIND], [EVENT]) if late == "collect" else ([], [])
    selected = [pattern_column(list(queries)), *named_columns(table, lists_in([table]))]

    def rows(found: DataFrame) -> DataFrame:
        unpacked = found.mapInArrow(unpacking(output), row_type)
        return ends_last(unpacked.select(*first, *selected, *last), *last)

    live = Live(prepared.bucket, identity, prepared.key, count, rows)
    return StreamSeveralMatches(stream, live, queries, plans_and_pools(plans)[0])


def prepare_several(
    stream: Stream,
    columns: t.StructType,
    queries: Mapping[str, Query],
    plans: SharedPlan | Sequence[Plan],
    sets: Sets = "every",
    *,
    share: bool = True,
) -> tuple[Prepared, OneTable, t.StructType]:
    """Return what is to be done in the buckets of a stream, and the columns of the matches.

    Args:
        columns: Its columns in Spark.
        queries: As for `detect_several`.
        plans: As for `detect_several`.
        sets: As for `detect_several`.
        share: As for `detect_several`.

    Raises:
        PatternError: A condition compares what cannot be compared.
        UnsupportedError: What must be remembered for a query has no bound, or each of its events
            is in one match at most.
    """
    groups = _groups(queries, plans, sets, share=share)
    attributes = {name for group in groups for name in group.query.attributes}
    sending = sending_for(stream, tuple(queries.values()), attributes)
    for query in queries.values():
        check_kinds(query, sending.nothing.kinds)
    table, in_spark = matches_table(stream, columns, sending, dict(enumerate(queries.values())))
    searches = tuple(_search(group, table, sending.schema.time) for group in groups)
    key = common_key([program for group in groups for program in group.query.programs])
    return Prepared(Bucket(sending, searches), key), table, in_spark


def _groups(
    queries: Mapping[str, Query],
    plans: SharedPlan | Sequence[Plan],
    sets: Sets,
    *,
    share: bool,
) -> list[Group]:
    """Return the queries in groups that are run as one: what looks ahead must not delay the rest.

    Raises:
        UnsupportedError: What must be remembered for a query has no bound, or each of its events
            is in one match at most.
    """
    own, pools = plans_and_pools(plans)
    compiled: list[CompiledQuery] = []
    for (name, query), plan in zip(queries.items(), own, strict=True):
        one = compile_query(query, plan, sets)
        with telling(called(name)):
            check_window(query, one)
            if one.in_turn:
                raise UnsupportedError(
                    "skip-till-next-match beside other patterns over a streaming DataFrame: which"
                    " events are taken is remembered for one pattern",
                    hint="detect it in a query of its own",
                )
        compiled.append(one)
    ahead = [looks_ahead(one.programs, "time") for one in compiled]
    groups = []
    for wanted in (False, True):
        members = [number for number, one in enumerate(ahead) if one == wanted]
        found = grouped(
            [compiled[number] for number in members],
            share=share,
            pools=None if pools is None else [pools[number] for number in members],
        )
        groups += [replace(one, of=tuple(members[q] for q in one.of)) for one in found]
    return groups


def _search(group: Group, table: OneTable, time: str) -> GroupSearch:
    programs = group.query.programs
    _, window = cutting_clock(programs)
    assert window is not None
    length = min(max(window, 0), FAR)
    ahead = length if looks_ahead(programs, "time") else 0
    return GroupSearch(group, table, time, length, ahead)
