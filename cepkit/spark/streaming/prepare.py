"""Queries made ready for a streaming DataFrame, or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pyspark.sql import types as t
from pyspark.sql.classic.dataframe import DataFrame as Classic

from cepkit.arguments import check_range
from cepkit.columnar.compile.query import CompiledQuery, Sets, compile_query
from cepkit.columnar.results.output import START, MatchColumns, check_alike
from cepkit.columnar.slices.cutting import cutting_clock, looks_ahead
from cepkit.columnar.slices.plans import SlicePlans
from cepkit.columnar.workload import Group, group_of_one, grouped
from cepkit.errors import StreamError, UnsupportedError, telling
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.numbers import has_next
from cepkit.pattern.query import Query
from cepkit.pattern.several import ALONE, called
from cepkit.plan.checks import plan_without_rates
from cepkit.plan.nodes import Plan
from cepkit.sharing.shared_plan import SharedPlan, Sharing
from cepkit.spark.cells.keys import Key, common_key, key_of
from cepkit.spark.cells.sending import Sending, numbers_for, sending_for
from cepkit.spark.matches.table import matches_table
from cepkit.spark.passes.one_table import OneTable
from cepkit.spark.streaming.bucket import Bucket
from cepkit.spark.streaming.searches import FAR, Counted, MatchSearch, Reach, Search
from cepkit.spark.streaming.slices import Slices
from cepkit.spark.streaming.state import Identity
from cepkit.spark.streaming.timeouts import TimeoutSearch, timeout_queries
from cepkit.stream.durations import duration_text
from cepkit.stream.sessions import check_session
from cepkit.stream.stream import Stream

BUCKETS = 16
"""The number of buckets of a pattern with a key: fixed, so that a checkpoint fits any cluster."""


PlansOf: TypeAlias = "Callable[[Query, Plan], SlicePlans | None]"
"""Makes the chooser of plans for stretches from a query and its plan; None: always this plan."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Queries made ready.

    Attributes:
        key: The key that the events of a match share; its hash decides their bucket.
        table: The columns of the rows of all queries.
        output: The same, in Spark.
    """

    bucket: Bucket
    key: Key | None
    table: OneTable
    output: t.StructType


def check_live(stream: Stream) -> Classic:
    """Return the streaming DataFrame of a stream.

    Raises:
        UnsupportedError: It is one of Spark Connect.
        StreamError: Its source is not a streaming DataFrame.
        SessionError: Its session has been stopped.
    """
    frame = stream.source
    if not isinstance(frame, Classic):
        raise UnsupportedError(
            "streams over Spark Connect are not supported: how far the watermark is cannot be"
            " carried through the client's plans",
            hint="run it in a classic session",
        )
    check_session(frame)
    if stream.lateness is None:
        raise StreamError("a stream that is not a streaming DataFrame")
    return frame


def dealt_out(
    prepared: Prepared, wanted: int | None, slice_seconds: float | None = None
) -> tuple[Bucket, int]:
    """Return the work of each bucket, and the number of buckets.

    Args:
        prepared: The query, whose key is hashed; without one there is one bucket, or slices.
        wanted: The number of buckets that is asked for; None: the usual number.
        slice_seconds: The length of slices of time that are assigned to buckets; None: there are
            none.

    Raises:
        UnsupportedError: The query cannot be distributed so.
    """
    bucket, key = prepared.bucket, prepared.key
    if wanted is not None:
        check_range("buckets", wanted, 1, 10_000)
    if slice_seconds is None:
        if key is None and wanted is not None and wanted > 1:
            raise UnsupportedError(
                f"{wanted} buckets for a pattern without a key: any two events may be in a match",
                hint="SparkOptions(slice_seconds=60) deals out slices of time; PARTITION BY a"
                " column, or a.key = b.key for all events, makes the pattern keyed",
            )
        return bucket, 1 if key is None else (wanted or BUCKETS)
    _check_slices(prepared)
    count = wanted or BUCKETS
    window = max(search.reach.window for search in bucket.searches)
    ahead = max(search.reach.ahead for search in bucket.searches)
    slices = Slices(max(1, round(slice_seconds * 1e6)), count, window, ahead)
    return replace(bucket, slices=slices), count


def _check_slices(prepared: Prepared) -> None:
    """Refuse slices of time where a bucket that sees only one window knows too little.

    Raises:
        UnsupportedError: It would.
    """
    if prepared.key is not None:
        raise UnsupportedError(
            "slices of time of a pattern with a key, over a streaming DataFrame",
            hint=f"it is dealt out by {', '.join(prepared.key.columns)}: leave slice_seconds out",
        )
    for search in prepared.bucket.searches:
        if search.in_turn:
            raise UnsupportedError(
                "slices of time under skip-till-next-match, or with AFTER MATCH SKIP, over a"
                " streaming DataFrame: which matches are taken depends on all slices before",
                hint="leave slice_seconds out, or PARTITION BY a column",
            )
        if search.reach.counted is not None:
            raise UnsupportedError(
                "slices of time with contiguity or a window in events, over a streaming DataFrame:"
                " one bucket must count all events",
                hint="leave slice_seconds out, or PARTITION BY a column with partition-contiguity",
            )


def identity_of(
    stream: Stream, queries: Mapping[str, Query], bucket: Bucket, buckets: int, **more: str
) -> Identity:
    """Return the identity of queries, by their names."""
    slices = {"ties": "by arrival"} if stream.schema.by_arrival else {}
    if bucket.slices is not None:
        slices["slices"] = duration_text(bucket.slices.length)
    texts = (str(query) if name == ALONE else f"{name}: {query}" for name, query in queries.items())
    return Identity(
        {
            "pattern": "; ".join(texts),
            **more,
            "columns": ", ".join(f"{f.name} {f.type}" for f in bucket.sending.fields),
            "lateness": duration_text(0 if stream.lateness is None else stream.lateness.late),
            "buckets": str(buckets),
            **slices,
        }
    )


def prepare(
    stream: Stream,
    queries: Mapping[str, Query],
    plans: SharedPlan | Sequence[Plan],
    sets: Sets = "every",
    *,
    share: bool = True,
    timeouts: bool = False,
    follow: PlansOf | None = None,
) -> Prepared:
    """Return the searches for the matches of queries in the buckets of a stream.

    Args:
        share: Whether queries share the steps that they begin with.
        timeouts: Whether partial matches that time out are looked for too.
        follow: Makes what chooses the plan of a query in a bucket anew in each micro-batch; queries
            then share nothing.

    Raises:
        UnsupportedError: The events to keep for a query have no bound, or no order.
        PatternError: A condition compares values that cannot be compared.
    """
    sharing = Sharing.of(plans)
    own = sharing.plans
    compiled, reaches, partial = [], [], []
    for number, (name, query) in enumerate(queries.items()):
        one = compile_query(query, own[number], sets, sharing.late[number])
        with telling(called(name)):
            reaches.append(reach_of(one))
            if timeouts:
                check_time_window(query, one)
                for awaited, other in timeout_queries(query).items():
                    shorter = compile_query(other, plan_without_rates(other))
                    partial.append((number, awaited, shorter, reach_of(shorter)))
        compiled.append(one)
    every = [*compiled, *(one for _, _, one, _ in partial)]
    all_reaches = [*reaches, *(reach for *_, reach in partial)]
    sending = live_sending(stream, [*queries.values()], every, all_reaches)
    for query in queries.values():
        check_kinds(query, sending.nothing.kinds)
    numbered = dict(enumerate(queries.values()))
    table, output = matches_table(stream, stream.source.schema, sending, numbered)
    if ALONE not in queries:
        check_alike(table.of.values())
    written = {q: MatchColumns.of(query, sending.schema) for q, query in numbered.items()}
    searches: list[Search] = []
    if follow is None:
        groups = _groups(compiled, reaches, sharing.pools, share=share)
        searches += [
            MatchSearch(one, table, written, reach=reach_of(one.query), in_turn=one.query.chooses)
            for one in groups
        ]
    else:
        for q, (name, query) in enumerate(queries.items()):
            with telling(called(name)):
                plans_of = follow(query, own[q])
            group = group_of_one(compiled[q], q)
            searches.append(
                MatchSearch(
                    group,
                    table,
                    written,
                    name,
                    plans_of,
                    reach=reaches[q],
                    in_turn=compiled[q].chooses,
                )
            )
    for q, awaited, one, reach in partial:
        start = table.places[q][table.of[q].get_field_index(START)]
        search = MatchSearch(group_of_one(one, q), table, written, reach=reach)
        searches.append(TimeoutSearch(search, awaited, start, reach=reach, kind="timed-out"))
    return Prepared(Bucket(sending, tuple(searches)), live_key(every), table, output)


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


def live_sending(
    stream: Stream,
    queries: Sequence[Query],
    compiled: Sequence[CompiledQuery],
    reaches: Sequence[Reach],
) -> Sending:
    """Return the part of a stream that queries need in the buckets.

    If events are counted, these are the events of all types. If it matters which of two events of
    the same time came first, the column of arrivals is sent too.
    """
    attributes = {name for one in compiled for name in one.attributes}
    attributes.update(name for query in queries for name in query.computed_from)
    counted = any(reach.counted is not None for reach in reaches)
    ordered = counted or stream.schema.by_arrival or any(one.chooses for one in compiled)
    if stream.schema.arrival is not None and ordered:
        attributes.add(stream.schema.arrival)
    return sending_for(stream, queries, attributes, every_type=counted)


def live_key(queries: Sequence[CompiledQuery]) -> Key | None:
    """Return the key that all events of a match share; None: buckets must hold all events."""
    programs = [program for query in queries for program in query.programs]
    everywhere = any("arrival" in program.clocks for program in programs)
    alone = all(query.after_match is None or key_of(query) for query in queries)
    return common_key(programs) if alone and not everywhere else None


def reach_of(query: CompiledQuery) -> Reach:
    """Return which events around a stretch of time are needed to find the matches that end in it.

    With AFTER MATCH SKIP it is the matches that start in it: which of these is first is known when
    the window of the first event has ended.

    Raises:
        UnsupportedError: All earlier events would have to be seen, or later ones without an end.
    """
    programs = query.programs
    clocks = numbers_for(programs, ordered=False)
    clock, window = cutting_clock(programs)
    if window is None:
        raise UnsupportedError(
            "a pattern without a window, over a streaming DataFrame: any event could be in a match"
            " that is still to come, so all of them would have to be kept forever",
            hint="WITHIN 5 minutes, or another bound on a match",
        )
    if clock == "time":
        length = min(max(window, 0), FAR)
        ahead = length if looks_ahead(programs, "time") else 0
        by_start = query.after_match is not None
        ahead += length if by_start else 0
        return Reach(length, ahead, Counted((), None) if clocks else None, by_start)
    if query.after_match is not None:
        raise UnsupportedError(
            "AFTER MATCH SKIP with a pattern that counts events and has no window in time, over a"
            " streaming DataFrame: an earlier match may always still come",
            hint="WITHIN a duration, which passes in any case",
        )
    if clock == "place" and "arrival" in clocks:
        raise UnsupportedError(
            "strict-contiguity with a window in events of a partition and NOT, over a streaming"
            " DataFrame: the events between those of a partition would have to be kept forever",
            hint="WITHIN a duration, or STRATEGY partition-contiguity",
        )
    if looks_ahead(programs, "time"):
        what = "a set" if any(program.followed for program in programs) else "NOT"
        raise UnsupportedError(
            f"{what} that looks beyond the last event, counted in events, over a streaming"
            " DataFrame: a match would be certain only after as many further events, which may"
            " never come",
            hint="WITHIN a duration, which passes in any case",
        )
    partition_by = programs[0].partition_by if clock == "place" else ()
    return Reach(0, 0, Counted(partition_by, max(window, 0)))


def check_time_window(query: Query, compiled: CompiledQuery) -> int:
    """Return the window in microseconds of a query that does not count events.

    Raises:
        UnsupportedError: There is no window in time, or the query counts events.
    """
    reach = reach_of(compiled)
    if reach.counted is not None:
        raise UnsupportedError(
            f"aggregates, or timeouts, of {_counting(query)} over a streaming DataFrame: such a"
            " match does not expire at a point in time",
            hint="WITHIN a duration, and STRATEGY skip-till-any-match",
        )
    return reach.window


def _counting(query: Query) -> str:
    if has_next(query.structure):
        return "NEXT"
    return "contiguity" if "contiguity" in query.strategy else "a window in events"
