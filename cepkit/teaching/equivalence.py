"""Equivalence: a search of small streams for one over which two patterns differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from typing import Any

from cepkit.arguments import check_range, typed
from cepkit.errors import UnsupportedError
from cepkit.lazy import pd
from cepkit.pattern.builder import as_query
from cepkit.pattern.query import Query
from cepkit.printing import Printed, html_lines, html_output
from cepkit.progress import Progress, showing
from cepkit.stream.stream import Stream
from cepkit.tables import html_table, text_table
from cepkit.teaching.domains import Domains, Value, domains_of
from cepkit.teaching.small_streams import (
    Match,
    SmallEvent,
    SmallStream,
    drawn,
    matches_in,
    unnumbered,
)

_BATCH = 1_000
_SHOWN = 4
"""The most matches of one pattern that have a column."""


@dataclass(frozen=True, slots=True, repr=False)
class Equivalence(Printed):
    """The result of a search for a difference between two patterns.

    Attributes:
        first: The first pattern.
        second: The second pattern.
        streams: How many streams were searched.
        events: The most events of a stream.
        example: A stream over which the patterns differ, none of its events needless; None where
            the search found no difference.
        only_first: The matches of the first pattern alone there: for each variable its rows.
        only_second: Those of the second pattern alone.
    """

    first: Query
    second: Query
    streams: int
    events: int
    example: Stream | None = None
    only_first: tuple[Match, ...] = ()
    only_second: tuple[Match, ...] = ()

    @property
    def differ(self) -> bool:
        """Whether the search found a difference."""
        return self.example is not None

    def to_pandas(self) -> pd.DataFrame:
        """Return the events of the example; no rows where there is none."""
        if self.example is None:
            return pd.DataFrame()
        frame: pd.DataFrame = self.example.source.to_pandas()
        return frame

    def __str__(self) -> str:
        if not self.differ:
            return self._title()
        head, cells = self.cells()
        table = text_table(head, cells, left=len(head))
        return "\n".join([self._title(), "", table, *self._more()])

    def _repr_html_(self) -> str:
        if not self.differ:
            return html_output(html_lines(self._title()))
        head, cells = self.cells()
        table = html_table(head, cells, left=len(head))
        return html_output(html_lines(self._title()), table, *map(html_lines, self._more()))

    def _title(self) -> str:
        if not self.differ:
            return f"no difference in {self.streams:,} streams of up to {self.events} events"
        count = len(self.to_pandas())
        return f"the patterns differ over {'this event' if count == 1 else f'these {count} events'}"

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Return head and rows: the events, and a column for each match of one pattern alone."""
        frame = self.to_pandas()
        assert self.example is not None
        time = self.example.schema.time
        begin = frame[time].min()
        frame[time] = [f"{(ts - begin).total_seconds():g} s" for ts in frame[time]]
        head, cells = [*frame.columns], [[*map(_cell, row)] for row in frame.to_numpy()]
        for word, matches in (("first", self.only_first), ("second", self.only_second)):
            for match in matches[:_SHOWN]:
                head.append(f"only {word}")
                for row, cell in enumerate(cells):
                    cell.append(" ".join(name for name, rows in match if row in rows))
        return head, cells

    def _more(self) -> list[str]:
        both = (("first", self.only_first), ("second", self.only_second))
        more = [(len(matches) - _SHOWN, word) for word, matches in both]
        return [f"and {n:,} further ones of the {word} pattern" for n, word in more if n > 0]


def _cell(value: Any) -> str:
    if value is None or value is pd.NaT or value != value:
        return "NULL"
    return f"{value:g}" if isinstance(value, float) else f"{value}"


@typed
def equivalent(
    first: Any,
    second: Any,
    *,
    streams: int = 5_000,
    events: int = 7,
    seed: int = 0,
    progress: Progress = "auto",
) -> Equivalence:
    """Search small streams for one over which two patterns have different matches.

    A match is the set of its events: names of variables do not count. The streams have the types
    and constants of the patterns, values beside these, missing values, equal times, and times at
    the edges of windows. That no difference was found proves nothing, and the result does not say
    it.

    Args:
        first: A pattern: its text, a query, or a pattern of the builder.
        second: Another one.
        streams: How many streams to search.
        events: The most events of a stream.
        seed: The seed of the random generator.
        progress: "auto" for a bar where it takes more than two seconds; True, or False.

    Returns:
        Whether there is a difference (`differ`), and the smallest example of it.

    Raises:
        PatternError: A pattern means nothing, or the two need columns of different kinds.
        UnsupportedError: A pattern asks for aggregates, or has conditions on arrays.

    Example:
        >>> from cepkit.teaching import equivalent
        >>> print(equivalent("PATTERN SEQ(A a, B b)", "PATTERN AND(A a, B b)"))
        the patterns differ over these 2 events
        <BLANKLINE>
        ts   type  only second
        0 s  B     b
        1 s  A     a
        >>> print(equivalent("PATTERN SEQ(A a, A b)", "PATTERN SEQ(A x, A y)", streams=500))
        no difference in 500 streams of up to 7 events
    """
    check_range("streams", streams, 1)
    check_range("events", events, 1, 12)
    queries = as_query(first), as_query(second)
    for query in queries:
        if query.aggregates:
            raise UnsupportedError("AGG, which asks for aggregates", hint="leave AGG out of both")
    return searched(queries, domains_of(queries), streams, events, seed, progress)


def searched(
    queries: tuple[Query, Query],
    domains: Domains,
    streams: int = 5_000,
    events: int = 7,
    seed: int = 0,
    progress: Progress = False,
) -> Equivalence:
    """Search streams from some domains and return the result: see `equivalent`."""
    random = Random(seed)  # noqa: S311 - a seed decides, and no secret depends on it
    source, done = drawn(domains, queries, random, events), 0
    best: SmallStream | None = None
    what = "searching for a difference"
    with showing(what, progress) as work:
        while done < streams and best is None:
            batch = list(islice(source, min(_BATCH, streams - done)))
            differ = _differ(batch, queries, domains)
            different = [stream for stream, differs in zip(batch, differ, strict=True) if differs]
            best = min(different, key=_simplicity, default=None)
            done += len(batch)
            work.tell(what, done / streams)
        if best is None:
            return Equivalence(*queries, done, events)
        smallest = _shrunk(best, queries, domains)
    example = unnumbered(smallest, domains)
    one, other = (matches_in([smallest], query, domains)[0] for query in queries)
    return Equivalence(*queries, done, events, example, _alone(one, other), _alone(other, one))


def _simplicity(stream: SmallStream) -> tuple[bool, int]:
    """Return a key that puts streams without equal times first, then short ones."""
    return len({event.ts for event in stream}) < len(stream), len(stream)


def _events_of(match: Match) -> tuple[int, ...]:
    return tuple(sorted(row for _, rows in match for row in rows))


def _alone(matches: Counter[Match], others: Counter[Match]) -> tuple[Match, ...]:
    """Return the matches whose events the others do not have as often."""
    left = Counter(map(_events_of, others.elements()))
    alone = []
    for match in sorted(matches.elements()):
        if left[_events_of(match)]:
            left[_events_of(match)] -= 1
        else:
            alone.append(match)
    return tuple(alone)


def _differ(
    streams: Sequence[SmallStream], queries: Sequence[Query], domains: Domains
) -> list[bool]:
    found = [matches_in(streams, query, domains) for query in queries]
    first, second = ([Counter(map(_events_of, m.elements())) for m in each] for each in found)
    return [one != other for one, other in zip(first, second, strict=True)]


def _shrunk(stream: SmallStream, queries: Sequence[Query], domains: Domains) -> SmallStream:
    """Return a stream that still makes the difference, each of its events and values needed."""
    while True:
        simpler = list(_simpler(stream, domains))
        differ = _differ(simpler, queries, domains) if simpler else []
        smaller = next((one for one, differs in zip(simpler, differ, strict=True) if differs), None)
        if smaller is None:
            return stream
        stream = smaller


def _simpler(stream: SmallStream, domains: Domains) -> Iterator[SmallStream]:
    """Yield streams with an event less, then with earlier times, then with simpler values."""
    for at in range(len(stream)):
        rest = stream[:at] + stream[at + 1 :]
        if rest:
            yield tuple(replace(event, ts=event.ts - rest[0].ts) for event in rest)
    for at in range(1, len(stream)):
        gap = stream[at].ts - stream[at - 1].ts
        for step in domains.steps[: domains.steps.index(gap) if gap in domains.steps else None]:
            sooner = [replace(event, ts=event.ts - gap + step) for event in stream[at:]]
            yield (*stream[:at], *sooner)
    for at, event in enumerate(stream):
        for place, (name, value) in enumerate(event.values):
            choices = domains.values[name]
            for simple in choices[: choices.index(value)]:
                changed = _with_value(event, place, simple)
                yield (*stream[:at], changed, *stream[at + 1 :])
                # Equal values stay equal.
                yield tuple(
                    _with_value(other, place, simple) if other.values[place][1] == value else other
                    for other in stream
                )


def _with_value(event: SmallEvent, place: int, value: Value) -> SmallEvent:
    name = event.values[place][0]
    values = (*event.values[:place], (name, value), *event.values[place + 1 :])
    return replace(event, values=values)
