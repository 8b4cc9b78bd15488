"""Checks of the arguments that most verbs take: a stream, patterns, statistics, options."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from cepkit.errors import LimitError, StatisticsError
from cepkit.pattern.builder import as_query
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.pattern.zones import at_clock
from cepkit.statistics.model import Statistics
from cepkit.statistics.together import alike, together
from cepkit.stream.stream import Stream, check_stream

if TYPE_CHECKING:
    from cepkit.spark.fetching import Where

from collections.abc import Iterable, Mapping

from cepkit.errors import ArgumentError, PatternError, PlanError, StreamError, shown

Pattern: TypeAlias = str | Query | Any
"""A query, its text, or a pattern of the builder."""


def checked(stream: Stream, pattern: Pattern) -> Query:
    """Return the query of a pattern.

    Raises:
        StreamError: `stream` is not a stream.
        PatternError: `pattern` is not a pattern, or reads a column that the stream lacks.
    """
    return _checked(stream, pattern, Query.check_reads)


def detectable(stream: Stream, pattern: Pattern) -> Query:
    """Return the query of a pattern, which must not ask for aggregates; see `checked`.

    Raises:
        UnsupportedError: It asks for aggregates.
    """
    return _checked(stream, pattern, Query.check_detectable)


def _checked(stream: Stream, pattern: Pattern, check: Callable[[Query, Stream], None]) -> Query:
    check_stream(stream, beside=pattern)
    query = pattern if isinstance(pattern, Query) and pattern.is_sound else as_query(pattern)
    check(query, stream)
    zone = stream.schema.clock
    return query if zone is None else at_clock(query, zone)


def statistics_given(statistics: Statistics, query: Query) -> Statistics:
    """Return statistics by the names of a query's variables.

    Raises:
        StatisticsError: The value is not statistics, or does not cover its events and conditions.
    """
    check_statistics(statistics)
    return statistics.of(query)


def check_statistics(statistics: object) -> None:
    """Check that a value is statistics.

    Raises:
        StatisticsError: The value is not statistics.
    """
    if not isinstance(statistics, Statistics):
        raise StatisticsError(
            f"a {type(statistics).__name__} instead of statistics",
            hint="cepkit.profile(stream, pattern) measures them; several patterns go in a list",
        )


def at_hand(
    stream: Stream,
    queries: Sequence[Query],
    attributes: Collection[str] = (),
    *,
    where: Where = "auto",
    output: bool = True,
    option: str = "",
) -> Stream:
    """Return a stream with the events that queries need; a large Spark stream stays on Spark.

    Args:
        stream: From `events`.
        queries: The patterns; if there are none, all events are needed.
        attributes: The columns to read besides those that conditions read.
        where: Where to search the events of a Spark stream.
        output: Whether the columns of the output are needed as well.
        option: The option that needs the events here, as "sample="; empty if none does.

    Raises:
        LimitError: They do not fit here.
    """
    if stream.place == "local":
        return stream
    from cepkit.spark.fetching import fetched
    from cepkit.statistics.stream_counts import attributes_read

    read = frozenset(attributes).union(*map(attributes_read, queries))
    try:
        part = fetched(stream, queries, read, where="driver" if option else where, output=output)
    except LimitError as error:
        if not option:
            raise
        raise LimitError(
            error.found,
            expected=error.expected,
            hint=f"{option} fetches them: filter the DataFrame to a part of the time, or of the"
            " keys",
        ) from None
    return part or stream


def measured(
    stream: Stream,
    query: Query,
    seed: int,
    *,
    details: bool = False,
    joins: bool = True,
    where: Where = "auto",
) -> Statistics:
    """Return the statistics, without warnings that detection will repeat.

    Args:
        stream: From `events`.
        query: The pattern.
        seed: Of the sample.
        details: Whether to count also what plans do not need.
        joins: Whether to sample joins, if the whole stream is measured in one place.
        where: Where to search the events of a Spark stream.
    """
    stream = at_hand(stream, (query,), where=where)  # as detection will need it, if it fits
    stream = at_hand(stream, (query,), where=where, output=False)
    if stream.place == "spark":
        if not details:
            from cepkit.spark.profile.planning import statistics_for_plans

            return statistics_for_plans(stream, query, seed=seed, joins=joins)
        from cepkit.spark.profile.statistics import profile as profile_on_spark

        return profile_on_spark(stream, query, seed=seed, joins=joins)
    from cepkit.statistics.measuring.estimate import estimate
    from cepkit.statistics.stream_counts import attributes_read

    parts = stream.parts(attributes_read(query))
    if parts is not None and stream.schema.arrival is None:
        from cepkit.statistics.measuring.file_parts import estimate_in_parts

        return estimate_in_parts(parts, query, seed=seed, details=details, joins=joins)
    columns = stream.columns(attributes_read(query))
    return estimate(columns, query, seed=seed, details=details, joins=joins)


def measured_together(
    stream: Stream, queries: Sequence[Query], seed: int = 0, *, details: bool = False
) -> Statistics:
    """Return the statistics of several queries; one pass for each window and partition."""
    first, *others = (
        measured(stream, query, seed, details=details, joins=len(queries) == 1)
        for query in map(together, alike(queries))
    )
    return replace(first, others=tuple(others))


def order_matters(query: Query) -> bool:
    """Return whether the evaluation depends on an order of variables."""
    return query.strategy is Strategy.SKIP_TILL_ANY_MATCH


_FUNCTION = ("zero", "one", "plus", "times", "reads", "lift", "result")
_HINT = "cepkit.aggregation.semirings.functions describes aggregates"


def are_several(pattern: object) -> bool:
    """Return whether several patterns are given, valid or not."""
    return isinstance(pattern, Iterable) and not isinstance(pattern, str)


def check_name(option: str, name: object, names: Iterable[str]) -> None:
    """Check that an option has one of its values.

    Raises:
        StreamError: It has another value.
    """
    if not (isinstance(name, str) and name in names):
        raise StreamError.unknown(f"{option}={shown(name)}", shown(name), names)


def refuse(where: str, **given: bool) -> None:
    """Refuse options that are given although they say nothing there.

    Args:
        where: Where they say nothing, as "for one pattern".
        **given: Whether the option of this name is given.

    Raises:
        ArgumentError: One of them is given.
    """
    for name in (name for name, is_given in given.items() if is_given):
        raise ArgumentError(f"{name}= {where}", hint=f"leave {name}= out")


def check_pieces(share: object) -> None:
    """Check a plan of shared counters, without the patterns.

    Raises:
        PlanError: It is neither lengths of pieces nor the plan of a result.
    """
    from cepkit.routes.sharing import SHARES, SharingPlan

    lengths = isinstance(share, Sequence) and all(map(_are_lengths, share))
    if not (lengths or isinstance(share, SharingPlan)):
        raise PlanError(
            f"share={shown(share)}",
            expected=f"one of {', '.join(SHARES)}; or a plan: that of a result, or for each pattern"
            " the lengths of its pieces (None: it shares nothing)",
            hint="share=[(2, 1), (1, 2), None] cuts the first two of three patterns",
        )


def _are_lengths(cuts: object) -> bool:
    if cuts is None:
        return True
    if isinstance(cuts, str) or not isinstance(cuts, Sequence):
        return False
    return all(isinstance(length, int) for length in cuts)


def check_functions(functions: Mapping[str, object] | None) -> None:
    """Check that user-defined aggregates are valid.

    Raises:
        PatternError: They are not.
    """
    for name, function in (functions or {}).items():
        if isinstance(function, type):
            raise PatternError(
                f"functions= has the class {function.__name__} for {shown(name)}",
                expected="one of its objects",
                hint=f"is it {function.__name__}(...)?",
            )
        lacking = [part for part in _FUNCTION if not hasattr(function, part)]
        if lacking:
            raise PatternError(
                f"functions= has an object of the type {type(function).__name__} for {shown(name)}",
                expected=f"an aggregate: an object with {', '.join(_FUNCTION)}",
                hint=_HINT,
            )
