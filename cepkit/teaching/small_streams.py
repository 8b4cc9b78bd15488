"""Small streams: drawn so that patterns match often, and compared many at a time."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, TypeAlias

from cepkit.columnar.results.matches import Matches
from cepkit.lazy import pa
from cepkit.pattern.checks import check
from cepkit.pattern.nodes import events_of
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.stream.stream import Stream, events
from cepkit.stream.warnings import StreamWarning
from cepkit.teaching.domains import Domains

STREAM, ROW = "stream", "row"
_SCRIPTED = 0.8
"""The share of streams that begin with the types of a match."""
_ARROW = {
    "integer": pa.float64(),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "duration": pa.duration("us"),
    "timestamp": pa.timestamp("us"),
}
_BASE = 1_704_067_200_000_000  # 2024-01-01

Match: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""The events of a match, by their numbers in their stream, for each variable."""


@dataclass(frozen=True, slots=True)
class SmallEvent:
    """An event of a small stream.

    Attributes:
        ts: Its time, in microseconds from the begin of the stream.
        values: Its attributes.
    """

    type: str
    ts: int
    values: tuple[tuple[str, Any], ...]


SmallStream: TypeAlias = tuple[SmallEvent, ...]


def drawn(
    domains: Domains, queries: Sequence[Query], random: Random, most: int
) -> Iterator[SmallStream]:
    """Yield streams without end, most of them around the events of a match."""
    scripts = [branch.positive for query in queries for branch in normal_form(query)]
    scripts = [script for script in scripts if len(script) <= most]
    while True:
        script = random.choice(scripts) if scripts and random.random() < _SCRIPTED else ()
        types = [random.choice(sorted(event.types or domains.types)) for event in script]
        for _ in range(random.randint(1, most) - len(types)):
            types.insert(random.randint(0, len(types)), random.choice(domains.types))
        yield _stream(domains, random, types)


def _stream(domains: Domains, random: Random, types: Sequence[str]) -> SmallStream:
    # A stream of few values has many equal ones, and one of short steps many matches.
    steps = random.sample(domains.steps, min(len(domains.steps), random.randint(1, 3)))
    few = {
        name: random.sample(values, min(len(values), random.randint(1, 3)))
        for name, values in domains.values.items()
    }
    ts, made = 0, []
    for kind in types:
        values = tuple((name, random.choice(choices)) for name, choices in few.items())
        made.append(SmallEvent(kind, ts, values))
        ts += random.choice(steps)
    return tuple(made)


def unnumbered(stream: SmallStream, domains: Domains) -> Stream:
    """Return a stream with the columns that patterns read, without its numbers."""
    numbered = as_stream([stream], domains)
    table = numbered.source.drop_columns([_free(STREAM, domains), _free(ROW, domains)])
    return events(table, time=domains.time, type=_free("type", domains))


def as_stream(streams: Sequence[SmallStream], domains: Domains) -> Stream:
    """Return streams as one, far apart in time, streams and rows numbered in columns."""
    longest = max((stream[-1].ts for stream in streams if stream), default=0)
    apart = 3 * (longest + max(domains.steps)) + 1_000_000
    rows = [
        (number, row, _BASE + number * apart + event.ts, event)
        for number, stream in enumerate(streams)
        for row, event in enumerate(stream)
    ]
    columns: dict[str, pa.Array] = {
        domains.time: pa.array([ts for _, _, ts, _ in rows], pa.timestamp("us")),
        _free("type", domains): pa.array([event.type for *_, event in rows], pa.string()),
        _free(STREAM, domains): pa.array([number for number, *_ in rows], pa.int64()),
        _free(ROW, domains): pa.array([row for _, row, *_ in rows], pa.int64()),
    }
    for place, (name, kind) in enumerate(domains.kinds.items()):
        columns[name] = pa.array([event.values[place][1] for *_, event in rows], _ARROW[kind])
    return events(pa.table(columns), time=domains.time, type=_free("type", domains))


def matches_in(
    streams: Sequence[SmallStream], query: Query, domains: Domains
) -> list[Counter[Match]]:
    """Return the matches of a pattern in each of some streams."""
    one = _in_partitions(query, _free(STREAM, domains))
    if one is None:
        return [_found(as_stream([s], domains), query, domains, 1)[0] for s in streams]
    return _found(as_stream(streams, domains), one, domains, len(streams))


def _in_partitions(query: Query, stream: str) -> Query | None:
    """Return a pattern that matches within each stream only; None if that is impossible."""
    contiguous = query.strategy is Strategy.STRICT_CONTIGUITY
    if contiguous and query.partition_by:
        return None
    strategy = Strategy.PARTITION_CONTIGUITY if contiguous else query.strategy
    return replace(query, partition_by=(*query.partition_by, stream), strategy=strategy)


def _found(stream: Stream, query: Query, domains: Domains, number: int) -> list[Counter[Match]]:
    found: list[Counter[Match]] = [Counter() for _ in range(number)]
    streams, rows = _free(STREAM, domains), _free(ROW, domains)
    plain = check(replace(query, returned=()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StreamWarning)  # of ties, which are there on purpose
        rows_of_matches = Matches(stream, plain, as_plan(None, plain)).to_arrow().to_pylist()
    for match in rows_of_matches:
        bound, owner = [], 0
        for variable in dict.fromkeys(event.variable for event in events_of(query.written)):
            value = match.get(variable)
            members = value if isinstance(value, list) else [value] if value else []
            if members:
                owner = members[0][streams]
                bound.append((variable, tuple(member[rows] for member in members)))
        found[owner][tuple(sorted(bound))] += 1
    return found


def _free(name: str, domains: Domains) -> str:
    while name in domains.kinds or name == domains.time:
        name += "_"
    return name
