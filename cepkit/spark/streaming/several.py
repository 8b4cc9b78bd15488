"""Detection of several patterns over a streaming DataFrame: one state, one pass, one query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as t

from cepkit.columnar.compile.query import CompiledQuery, Sets, compile_query
from cepkit.columnar.detector import Detector
from cepkit.columnar.results.output import START, MatchColumns, check_alike
from cepkit.columnar.slices.candidates import Owned
from cepkit.columnar.slices.plans import SlicePlans
from cepkit.columnar.workload import Group, grouped
from cepkit.errors import telling
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.query import Query
from cepkit.pattern.several import called
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import Plan
from cepkit.sharing.shared_plan import SharedPlan, Sharing
from cepkit.spark.cells.schemas import event_type
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
    check_time_window,
    dealt_out,
    identity_of,
    live_key,
    live_sending,
    reach_of,
)
from cepkit.spark.streaming.result import StreamSeveralMatches
from cepkit.spark.streaming.rows import EVENT, KIND, MatchRows
from cepkit.spark.streaming.searches import (
    Carried,
    Reach,
    Search,
    counted_by_time,
    has_event,
    said_of,
)
from cepkit.spark.streaming.timeouts import (
    AWAITED,
    WINDOW_END,
    TimeoutSearch,
    timeout_queries,
)
from cepkit.stream.columns import EventColumns
from cepkit.stream.stream import Stream


@dataclass(frozen=True, slots=True)
class GroupSearch:
    """The search for the matches of queries that are run as one.

    Attributes:
        group: The queries.
        table: The columns of the matches of all queries.
        written: The columns of the matches of each query, by its number.
        reach: As for any search.
        name: The name of its plan, where plans follow the stream.
        plans: Chooses the plan of each stretch; None: always that of `group`.
        kind: The kind of the rows.
        at_any_time: As for any search.
    """

    group: Group
    table: OneTable
    written: Mapping[int, MatchColumns]
    reach: Reach
    name: str = ""
    plans: SlicePlans | None = None
    kind: str = "match"
    at_any_time: bool = False

    @property
    def in_turn(self) -> bool:
        """As for any search."""
        return self.group.query.chooses

    @property
    def rows(self) -> pa.Schema:
        """The columns of its rows."""
        return self.table.schema

    def is_due(self, ts: npt.NDArray[np.int64], owned: Owned) -> bool:
        """Return whether an event lies in the stretch: the last one of a match does."""
        return has_event(ts, owned)

    def batches(
        self, events: EventColumns, owned: Owned, carried: Carried
    ) -> Iterator[pa.RecordBatch | str]:
        """Yield the matches whose last event lies in the stretch."""
        if self.reach.counted is not None:
            events = counted_by_time(events)
        plans = None if self.plans is None else self.plans.resumed(carried.plans)
        detector = Detector(self.group.query, plans=plans)
        blocks = detector.matches(events, owned, taken=carried.taken)
        yield from table_rows(blocks, self.group, self.table, events, self.written)
        for plan in said_of(carried, plans, detector):
            yield f"{self.name}: {plan}"


PlansOf = Callable[[Query, Plan], "SlicePlans | None"]
"""Makes the chooser of plans for stretches from a query and its plan; None: always this plan."""


def detect_several(
    stream: Stream,
    queries: Mapping[str, Query],
    plans: SharedPlan | Sequence[Plan],
    *,
    sets: Sets = "every",
    share: bool = True,
    buckets: int | None = None,
    slice_seconds: float | None = None,
    late: Literal["count", "collect"] = "count",
    timeouts: bool = False,
    follow: PlansOf | None = None,
) -> StreamSeveralMatches:
    """Return the matches of several queries in a streaming DataFrame, as one streaming DataFrame.

    The column `pattern` says of which query a match is. Events are kept once, for the longest
    window; a match is emitted as early as with its query alone.

    Args:
        stream: Events in a streaming DataFrame.
        queries: The patterns, with windows, by their names.
        sets: Which sets of Kleene variables make matches.
        share: Whether queries share the steps that they begin with.
        buckets: As for one query; the key is the one that all queries share.
        slice_seconds: As for one query, if the queries share no key.
        late: Whether events that are late or too far ahead are only counted, or are rows as well.
        timeouts: Whether partial matches that time out are rows as well.
        follow: Makes, of each query and its plan, what chooses the plan each time the watermark has
            moved; queries then share nothing.

    Raises:
        PatternError: A condition compares values that cannot be compared.
        UnsupportedError: The events to keep for a query have no bound.
    """
    columns = check_live(stream).schema
    prepared, table, in_spark = prepare_several(
        stream, columns, queries, plans, sets, share=share, timeouts=timeouts, follow=follow
    )
    bucket, count = dealt_out(prepared, buckets, slice_seconds)
    sending = bucket.sending
    text = "; ".join(f"{name}: {query}" for name, query in queries.items())
    identity = identity_of(stream, text, bucket, count, sets=sets, timeouts=str(timeouts))
    carried = sending.nothing.source.schema
    variables = sorted({name for one in table.of.values() for name in one.names})
    output = MatchRows(
        table.schema, carried, sending.fields, variables, late == "collect", timeouts
    )
    output.check_names()
    row_type = output.columns(in_spark, event_type(columns, stream.column_names, sending.schema))
    first = [KIND] if late == "collect" or timeouts else []
    last = [EVENT] if late == "collect" else []
    last += [AWAITED, WINDOW_END] if timeouts else []
    selected = [pattern_column(list(queries)), *named_columns(table, lists_in([table]))]

    def rows(pieces: DataFrame) -> DataFrame:
        unpacked = pieces.mapInArrow(unpacking(output), row_type)
        return ends_last(unpacked.select(*first, *selected, *last), *last)

    live = Live(bucket, identity, prepared.key, count, rows)
    programs = {
        i: search.group.of
        for i, search in enumerate(bucket.searches)
        if isinstance(search, GroupSearch)
    }
    return StreamSeveralMatches(stream, live, queries, Sharing.of(plans).plans, programs)


def prepare_several(
    stream: Stream,
    columns: t.StructType,
    queries: Mapping[str, Query],
    plans: SharedPlan | Sequence[Plan],
    sets: Sets = "every",
    *,
    share: bool = True,
    timeouts: bool = False,
    follow: PlansOf | None = None,
) -> tuple[Prepared, OneTable, t.StructType]:
    """Return the searches in the buckets of a stream, and the columns of the matches.

    Args:
        columns: Its columns in Spark.
        queries: As for `detect_several`.
        plans: As for `detect_several`.
        sets: As for `detect_several`.
        share: As for `detect_several`.
        timeouts: As for `detect_several`.
        follow: As for `detect_several`.

    Raises:
        PatternError: A condition compares values that cannot be compared.
        UnsupportedError: The events to keep for a query have no bound.
    """
    sharing = Sharing.of(plans)
    own, pools = sharing.plans, sharing.pools
    compiled, reaches, partial = [], [], []
    for number, (name, query) in enumerate(queries.items()):
        one = compile_query(query, own[number], sets, sharing.late[number])
        with telling(called(name)):
            reaches.append(reach_of(one))
            if timeouts:
                check_time_window(query, one)
                for awaited, other in timeout_queries(query).items():
                    shorter = compile_query(other, as_plan(None, other))
                    partial.append((number, awaited, shorter, reach_of(shorter)))
        compiled.append(one)
    every = [*compiled, *(one for _, _, one, _ in partial)]
    all_reaches = [*reaches, *(reach for *_, reach in partial)]
    sending = live_sending(stream, [*queries.values()], every, all_reaches)
    for query in queries.values():
        check_kinds(query, sending.nothing.kinds)
    table, in_spark = matches_table(stream, columns, sending, dict(enumerate(queries.values())))
    check_alike(table.of.values())
    written = {
        q: MatchColumns.of(query, sending.schema) for q, query in enumerate(queries.values())
    }
    searches: list[Search] = []
    if follow is None:
        groups = _groups(compiled, reaches, pools, share=share)
        searches += [GroupSearch(one, table, written, reach_of(one.query)) for one in groups]
    else:
        for q, (name, query) in enumerate(queries.items()):
            with telling(called(name)):
                plans_of = follow(query, own[q])
            searches.append(
                GroupSearch(_alone(compiled[q], q), table, written, reaches[q], name, plans_of)
            )
    for q, awaited, one, reach in partial:
        start = table.places[q][table.of[q].get_field_index(START)]
        search = GroupSearch(_alone(one, q), table, written, reach)
        searches.append(TimeoutSearch(search, awaited, start))
    key = live_key(every)
    return Prepared(Bucket(sending, tuple(searches)), key), table, in_spark


def _alone(query: CompiledQuery, number: int) -> Group:
    return Group(query, (number,) * len(query.programs))


def _groups(
    compiled: Sequence[CompiledQuery],
    reaches: Sequence[Reach],
    pools: Sequence[Sequence[int]] | None,
    *,
    share: bool,
) -> list[Group]:
    """Return queries in groups that are run as one: those that look ahead must not delay others."""
    groups = []
    for ahead in (False, True):
        members = [q for q, reach in enumerate(reaches) if bool(reach.ahead) == ahead]
        own_groups = grouped(
            [compiled[q] for q in members],
            share=share,
            pools=None if pools is None else [pools[q] for q in members],
        )
        groups += [replace(one, of=tuple(members[q] for q in one.of)) for one in own_groups]
    return groups
