"""The verb `learn`: patterns that announce incidents."""

from __future__ import annotations

import warnings
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from cepkit.api.detecting import detect
from cepkit.arguments import check_range, typed
from cepkit.calibration.curve import Alarms, Near, row
from cepkit.calibration.labels import Incidents, Integers, incidents_of
from cepkit.calibration.result import CalibratedRow
from cepkit.calibration.thresholds import loosest
from cepkit.errors import LimitError, StreamError
from cepkit.lazy import pa
from cepkit.learning.candidate import VARIABLES
from cepkit.learning.result import Chance, Learned, Proposal
from cepkit.learning.search import Pool
from cepkit.learning.training import KeyedTimes, Truths, training_of
from cepkit.pattern import conditions as c
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.policies import TimeWindow
from cepkit.pattern.query import RESULT_ENDS, Query
from cepkit.printing import time_text
from cepkit.progress import Progress, showing
from cepkit.stream.columns import EventColumns
from cepkit.stream.lateness import as_microseconds
from cepkit.stream.reading.times import microseconds
from cepkit.stream.stream import Stream, carrying, check_all_there, check_stream
from cepkit.stream.warnings import StreamWarning, warn_of_outside
from cepkit.tables import count_text

_WHAT = "learning"
_LEAST = 4
_LEARNED = 2 / 3
"""The share of incidents to learn from."""
_PROPOSALS, _JUDGED = 10, 20
_MOST_FETCHED = 2_000_000
"""The most events that are fetched from Spark."""


@typed
def learn(
    stream: Stream,
    incidents: Any,
    *,
    within: str | timedelta = "10 minutes",
    by: str | None = None,
    seed: int = 0,
    progress: Progress = "auto",
) -> Learned:
    """Propose patterns that announce incidents.

    An alarm is the end of a match; where a pattern ends with NOT, the end of its window. It hits
    the incidents that follow it `within` this time. The earlier two thirds of the incidents, and
    the events up to there, are learned from; all scores are those on the events after them.

    Args:
        stream: From `events`; one in Spark is fetched, if it has at most two million events.
        incidents: A DataFrame (or its file) with a column `time` and, with `by`, one of keys; or
            times.
        within: How long before an incident an alarm may be; patterns are at most as long.
        by: The attribute that the events of a match and the incident share, as "machine".
        seed: The seed of the sample of events, which is drawn where they are many.
        progress: "auto" for a bar where it takes more than two seconds; True, or False. Ctrl-C ends
            the search, and the best so far are judged.

    Returns:
        The proposals, best first by the events that they were learned from (`proposals`), each with
        its `pattern`, `precision`, `recall`, `f1`, `false_alarms_per_day` and `support`;
        `to_pandas` has all. It is empty if no pattern does better than chance.

    Raises:
        StreamError: The incidents lack a column, are too few, or are outside of the time and keys
            of the stream.
        UnsupportedError: The stream has no end.
        LimitError: There are too many events in Spark.

    Example:
        >>> import cepkit as ck
        >>> rows = []
        >>> for i in range(60):
        ...     first, second = ("A", "B") if i % 2 else ("B", "A")
        ...     rows += [{"t": 1200 * i, "k": first}, {"t": 1200 * i + 40, "k": second}]
        >>> stream = ck.events(rows, time="t", type="k", unit="s")
        >>> incidents = [1200 * i + 200 for i in range(1, 60, 2)]
        >>> print(ck.learn(stream, incidents, within="3 minutes").best)
        PATTERN SEQ(A a, B b)
        WITHIN 3 minutes
        10 of 10 later incidents, 10 alarms, 0 false a day: precision 1.000, recall 1.000, F1 1.000
    """
    check_range("seed", seed, 0)
    check_stream(stream, beside=incidents)
    check_all_there(stream)
    span = as_microseconds("within", within)
    if not span:
        raise StreamError("within='0 seconds'", expected="a duration above 0")
    schema = stream.schema
    if by is not None:
        schema.check(stream.column_names, (by,))
        stream = carrying(stream, (by,))
    labels = incidents_of(incidents, by, span, 0, schema, "incidents")
    finished = True
    with showing(_WHAT, progress) as work:
        local = fetched(stream)
        columns = local.columns()
        keys, of_key = _keys(columns, by)
        inside = _inside(labels, columns, of_key)
        split = _split(inside.times, span)
        before = inside.times < split
        end = int(np.searchsorted(columns.ts, split))
        left_out = frozenset({schema.time, *([schema.type] if schema.type else [])} | {by or ""})
        rng = np.random.default_rng(seed)
        first = KeyedTimes(inside.times[before], _codes(inside, of_key)[before])
        past = columns.slice(0, end)
        training = training_of(past, keys[:end], first, span, by, left_out, rng)
        pool = Pool(training)
        try:
            pool.search(lambda share: work.tell(_WHAT, 0.9 * share))
        except KeyboardInterrupt:
            finished = False
        work.tell("judging", 0.9)
        later = _those(inside, ~before)
        held_out = _since(local, split)
        chance = _chance(later, columns.ts[end:], keys[end:], split, span)
        proposals: list[Proposal] = []
        try:
            for _, candidate in pool.ranked()[:_JUDGED]:
                query = parse(candidate.text(training))
                late = candidate.ends_late
                proposal = Proposal(query, _judged(held_out, query, later, by, ends_late=late))
                if chance.is_exceeded(proposal.row):
                    proposals.append(proposal)
                if len(proposals) == _PROPOSALS:
                    break
        except KeyboardInterrupt:
            finished = False
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=split)
    numbers = int(before.sum()), len(later.times)
    return Learned(tuple(proposals), chance, moment, numbers, span, pool.tried, finished)


def fetched(stream: Stream) -> Stream:
    """Return the stream, or its events in Spark as a local one.

    Raises:
        LimitError: They are too many.
    """
    if stream.place == "local":
        return stream
    fetched = stream.head(_MOST_FETCHED + 1)
    if len(fetched.source) > _MOST_FETCHED:
        raise LimitError(
            f"more than {_MOST_FETCHED:,} events in Spark to learn from",
            hint="filter the DataFrame: a part of the time, or of the keys, is enough",
        )
    return fetched


def _keys(columns: EventColumns, by: str | None) -> tuple[Integers, dict[Any, int]]:
    """Return the code of each event's key, and that of each key."""
    if by is None:
        return np.zeros(len(columns), np.int64), {}
    column = columns.attributes.get(by)
    if column is None or column.kind not in ("text", "integer", "float", "boolean"):
        kind = (
            "values that no condition reads" if column is None else f"values of kind {column.kind}"
        )
        raise StreamError(f"the key '{by}' holds {kind}", expected="texts, numbers or truth values")
    if column.kind == "text":
        texts = {text: code for code, text in enumerate(column.dictionary)}
        return column.values.astype(np.int64) + 1, {text: at + 1 for text, at in texts.items()}
    values, codes = np.unique(column.values, return_inverse=True)
    plain = [bool(v) for v in values] if column.kind == "boolean" else values.tolist()
    return codes.astype(np.int64), {value: code for code, value in enumerate(plain)}


def _inside(labels: Incidents, columns: EventColumns, of_key: dict[Any, int]) -> Incidents:
    """Return the incidents in the time and keys of the stream.

    Raises:
        StreamError: No incident, or too few, are in the time and keys of the stream.
    """
    if not len(columns):
        raise StreamError("a stream without events", expected="events before the incidents")
    known = _codes(labels, of_key) >= 0
    if len(known) and not known.any():
        own, other = next(iter(labels.keys)), next(iter(of_key), None)
        raise StreamError(
            "no incident has a key that an event has",
            expected=f"keys such as {other!r}, and not {own!r}",
            hint=None if type(own) is type(other) else "numbers and texts are different keys",
        )
    first, last = int(columns.ts[0]), int(columns.ts[-1])
    at_time = (labels.times >= first) & (labels.times <= last + labels.before)
    if len(known) and not at_time.any():
        low, high = time_text(int(labels.times.min())), time_text(int(labels.times.max()))
        raise StreamError(
            f"all incidents are outside of the stream's time, from {low} to {high}",
            expected=f"times from {time_text(first)} to {time_text(last)}",
            hint="times without a zone are in that of events(..., timezone=), or UTC;"
            " numbers in its unit",
        )
    inside = _those(labels, known & at_time)
    count = len(inside.times)
    if count < _LEAST:
        raise StreamError(
            f"{count_text(count, 'incident')} in the time and keys of the stream",
            expected=f"at least {_LEAST}; with fewer than 20 only strong patterns can be"
            " distinguished from chance",
        )
    if count < len(known):
        warn_of_outside(len(known) - count, len(known))
    return inside


def _codes(labels: Incidents, of_key: dict[Any, int]) -> Integers:
    """Return the code of each incident's key; -1 for one that no event has."""
    codes = np.zeros(len(labels.times), np.int64)
    for key, (begin, end) in labels.keys.items():
        codes[begin:end] = of_key.get(key, -1)
    return codes


def _those(labels: Incidents, chosen: Truths) -> Incidents:
    """Return some of the incidents."""
    counts = np.append(0, np.cumsum(chosen))
    keys = {
        key: (int(counts[begin]), int(counts[end])) for key, (begin, end) in labels.keys.items()
    }
    return replace(labels, times=labels.times[chosen], keys=keys)


def _split(times: Integers, within: int) -> int:
    """Return the time before which patterns are learned, and from which they are judged."""
    ordered = np.sort(times)
    learned = min(len(times) - 1, max(2, round(_LEARNED * len(times))))
    return max(int(ordered[learned - 1]) + 1, int(ordered[learned]) - 2 * within)


def _since(stream: Stream, split: int) -> Stream:
    """Return the events from a time on, read once."""
    schema = replace(stream.schema, since=split)
    rows = Stream(stream.source, schema, stream.column_names).rows()
    return Stream(rows, replace(stream.schema, since=None, until=None), stream.column_names)


def _chance(later: Incidents, ts: Integers, keys: Integers, split: int, within: int) -> Chance:
    """Return the score of alarms at random times."""
    last = max(int(ts[-1]) if len(ts) else split, int(later.times.max(initial=split)))
    whole = max(1, last - split) * max(1, len(np.unique(keys)))
    before = 0
    for begin, end in (later.keys or {None: (0, len(later.times))}).values():
        times = later.times[begin:end]
        if len(times):
            gaps = np.diff(times, prepend=min(split, int(times[0]) - within))
            before += int(np.minimum(gaps, within).sum())
    return Chance(min(1.0, before / whole), within / whole)


def _judged(
    stream: Stream, query: Query, later: Incidents, by: str | None, *, ends_late: bool
) -> CalibratedRow:
    """Return the counts of a pattern's alarms: those of one key and time are one."""
    value = c.Attribute(VARIABLES[0], by if by is not None else stream.schema.time)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StreamWarning)  # of types that are rare
        matches: Any = detect(stream, loosest(query, (), value, 0), progress=False)
        table: pa.Table = matches.to_arrow()
    unit, zone = stream.schema.unit, stream.schema.timezone
    starts, ends = (
        microseconds(table.column(name), name, unit=unit, timezone=zone) for name in RESULT_ENDS
    )
    if ends_late:
        assert isinstance(query.window, TimeWindow)
        ends = starts + query.window.microseconds
    keys = table.column("key").to_pylist() if by is not None else [None] * len(ends)
    distinct = sorted(set(zip(ends.tolist(), keys, strict=True)), key=lambda each: each[0])
    times = np.array([time for time, _ in distinct], np.int64)
    alarms = Alarms((), times, [key for _, key in distinct] if by is not None else None)
    ts = stream.columns(()).ts
    near = Near.of(alarms, later, int(ts[-1] - ts[0]) if len(ts) else 0)
    return row((), np.ones(len(times), np.bool_), near)
