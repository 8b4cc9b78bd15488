"""The verb `calibrate`: how many matches a pattern has for each value of its parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import product
from typing import Any

import numpy as np

from cepkit.api.arguments import Pattern, detectable, measured
from cepkit.api.detecting import detect
from cepkit.arguments import typed
from cepkit.calibration import curve
from cepkit.calibration.labels import Incidents, incidents_of
from cepkit.calibration.result import CalibratedRow, Calibration
from cepkit.calibration.thresholds import Threshold, Values, loosest, thresholds_of
from cepkit.errors import LimitError, PatternError, UnsupportedError, nearest
from cepkit.lazy import pa
from cepkit.pattern import conditions as c
from cepkit.pattern.builder import as_query
from cepkit.pattern.nodes import absent_in, bound_events_of, repeated_in
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.query import RESULT_ENDS, Query
from cepkit.planners import choose as choosing
from cepkit.progress import Progress, showing
from cepkit.stream.lateness import as_microseconds
from cepkit.stream.reading.times import microseconds
from cepkit.stream.stream import Stream, carrying, check_all_there, check_stream

_MOST_ROWS = 100_000
_MOST_RUNS = 1_000
_WHAT = "calibrating"


@typed
def calibrate(
    stream: Stream,
    pattern: Pattern,
    *,
    labels: Any = None,
    by: str | None = None,
    tolerance: str | timedelta = "0 seconds",
    miss: float = 1.0,
    false_alarm: float = 1.0,
    progress: Progress = "auto",
    **grids: Iterable[Any] | None,
) -> Calibration:
    """Count the matches of a pattern for many values of its parameters, in one detection.

    Args:
        stream: From `events`.
        pattern: A pattern with parameters, such as `$k` in `WHERE b.amount > $k`.
        labels: Incidents: their times, or a DataFrame (or its file) with a column `time` and, with
            `by`, one of keys. An incident is a hit if a match ends near it; a match without one
            near is a false alarm.
        by: The attribute that a match shares with its incident, as "machine".
        tolerance: How far from an incident a match may end, before or after.
        miss: The cost of an incident without a match.
        false_alarm: The cost of a match without an incident.
        progress: "auto" for a bar where it takes more than two seconds; True, or False.
        **grids: The values of each parameter; None or nothing: those at which the number of
            matches changes, at most 50.

    Returns:
        The counts (`to_pandas`), the best values (`best`), and the pattern with them (`bind`).
        Parameters that bound a comparison of single events take one detection, others one for
        each choice of values; the result says so.

    Raises:
        PatternError: The pattern has no parameter, or lacks one that an argument names.
        UnsupportedError: The stream has no end, or the pattern asks for aggregates.
        LimitError: There are too many choices of values.

    Example:
        >>> import cepkit as ck
        >>> rows = [{"t": t, "k": "AB"[t % 2], "x": t * 7 % 5} for t in range(8)]
        >>> stream = ck.events(rows, time="t", type="k", unit="s")
        >>> curve = ck.calibrate(stream, "PATTERN SEQ(A a, B b) WHERE b.x > $x WITHIN 3 seconds")
        >>> curve.to_pandas()
           x  matches
        0  0        5
        1  1        3
        2  2        2
        3  4        0
    """
    check_stream(stream, beside=pattern)
    check_all_there(stream)
    stream = carrying(stream, None)  # RETURN takes its own
    query = as_query(pattern)
    if query.aggregates or query.returned:
        word = "AGG" if query.aggregates else "RETURN"
        raise UnsupportedError(f"{word} in a pattern to calibrate", hint=f"leave {word} out")
    if not query.parameters:
        raise PatternError("the pattern has no parameter", expected="WHERE b.amount > $k, say")
    for name in grids:
        if name not in query.parameters:
            known = ", ".join(f"${each}" for each in query.parameters)
            raise PatternError(
                f"the pattern has no parameter ${name}",
                expected=known,
                hint=nearest(name, query.parameters),
            )
    chosen = {name: list(values) for name, values in grids.items() if values is not None}
    first = {name: values[0] for name, values in chosen.items() if values}
    incidents = None
    if labels is not None:
        near = as_microseconds("tolerance", tolerance)
        incidents = incidents_of(labels, by, near, near, stream.schema)
    key = by if incidents is not None else None
    with showing(_WHAT, progress) as work:
        thresholds = thresholds_of(query)
        if isinstance(thresholds, str):
            lists = _all_given(query.parameters, chosen, f"each takes a detection: {thresholds}")
            _check_number(lists, _MOST_RUNS)
            work.tell(_WHAT, 0.0)
            rows = tuple(_run(stream, query, values, incidents, key) for values in product(*lists))
        else:
            ordered = [thresholds[name] for name in query.parameters]
            longest: float = 0
            for each in ordered:
                each.limit(first.get(each.name, 0))  # before minutes of work
                if each.value is None:
                    (values,) = _all_given([each.name], chosen, "it is the window")
                    longest = max(map(each.limit, values))
            alarms, span = _alarms(stream, query, ordered, key, longest)
            lists = [
                chosen.get(each.name) or _in_units(curve.grid(values), each)
                for each, values in zip(ordered, alarms.values, strict=True)
            ]
            _check_number(lists, _MOST_ROWS)
            pairs = None if incidents is None else curve.Near.of(alarms, incidents, span)
            rows = curve.rows(ordered, lists, alarms, pairs)
    one_pass = not isinstance(thresholds, str)
    return Calibration(
        query,
        rows,
        incidents is not None,
        miss,
        false_alarm,
        1 if one_pass else len(rows),
        "" if isinstance(thresholds, dict) else thresholds,
    )


def _in_units(values: Sequence[float], threshold: Threshold) -> list[float]:
    return [value / threshold.unit for value in values] if threshold.unit > 1 else [*values]


def _check_number(lists: Sequence[Sequence[Any]], most: int) -> None:
    number = math.prod(map(len, lists))
    if number > most:
        raise LimitError(
            f"{number:,} choices of values", expected=f"at most {most:,}", hint="give fewer values"
        )


def _all_given(names: Sequence[str], chosen: dict[str, list[Any]], reason: str) -> list[list[Any]]:
    for name in names:
        if not chosen.get(name):
            raise PatternError(f"no values for ${name}: {reason}", expected=f"{name}=[...]")
    return [chosen[name] for name in names]


def _run(
    stream: Stream,
    query: Query,
    values: tuple[Any, ...],
    incidents: Incidents | None,
    by: str | None,
) -> CalibratedRow:
    """Return the counts of one detection."""
    bound = query.bind(**dict(zip(query.parameters, values, strict=True)))
    if incidents is None:
        matches: Any = detect(stream, detectable(stream, bound), progress=False)
        return CalibratedRow(values, matches.count())
    alarms, span = _alarms(stream, bound, (), by)
    near = curve.Near.of(alarms, incidents, span)
    return curve.row(values, np.ones(len(alarms.ends), np.bool_), near)


def _alarms(
    stream: Stream,
    query: Query,
    thresholds: Sequence[Threshold],
    by: str | None,
    longest: float = 0,
) -> tuple[curve.Alarms, int]:
    """Return the matches of the loosest values, and the length of the stream in microseconds."""
    loose = loosest(query, thresholds, None if by is None else _key(query, by), longest)
    loose.check_reads(stream)
    statistics = measured(stream, loose, 0)
    span = (statistics.last or 0) - (statistics.first or 0)
    plan = choosing.plan_to_run(loose, statistics)
    matches: Any = detect(stream, loose, plan, progress=False)
    # pandas would give times of Spark without their zone.
    table: pa.Table = matches.toArrow() if stream.place == "spark" else matches.to_arrow()
    unit, zone = stream.schema.unit, stream.schema.timezone
    starts, ends = (
        microseconds(table.column(name), name, unit=unit, timezone=zone) for name in RESULT_ENDS
    )
    values = tuple(
        ends - starts if each.value is None else _numbers(table.column(f"${each.name}"))
        for each in thresholds
    )
    column = None if by is None else table.column("key").to_pylist()
    return curve.Alarms(values, ends, column), span


def _key(query: Query, by: str) -> c.Expression:
    """Return the key of a match: that of an event that every match has."""
    absent = absent_in(query.written) | repeated_in(query.written)
    in_all = frozenset.intersection(*(frozenset(b.variables) for b in normal_form(query)))
    for event in bound_events_of(query.written):
        if event.variable in in_all - absent:
            return c.Attribute(event.variable, by)
    raise UnsupportedError(
        f"by='{by}', and no single event is in every match of the pattern",
        hint="leave by= out, or calibrate the branches of the OR one by one",
    )


def _numbers(column: pa.ChunkedArray) -> Values:
    """Return values, none of them missing, as whole numbers or floats; durations in microseconds.

    Raises:
        PatternError: They are not numbers.
    """
    if pa.types.is_duration(column.type):
        column = column.cast(pa.duration("us"))
    is_whole = pa.types.is_integer(column.type) or pa.types.is_duration(column.type)
    if not (is_whole or pa.types.is_floating(column.type) or pa.types.is_null(column.type)):
        raise PatternError(
            f"a parameter is compared with values of the type {column.type}",
            expected="numbers or durations",
        )
    return np.asarray(column.cast(pa.int64() if is_whole else pa.float64()).to_numpy())
