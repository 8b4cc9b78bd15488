"""The allowed lateness of a streaming DataFrame's events."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from cepkit.errors import StreamError, UnsupportedError, nearest, shown
from cepkit.lazy import pa
from cepkit.stream.durations import NOT_UNITS, UNITS, duration_text, whole
from cepkit.stream.reading.arrow import described
from cepkit.stream.schema import Schema

_WRITTEN = re.compile(r"\s*([0-9_]*\.?[0-9]+)\s*([^\W\d_]+)\s*")
_MOST = 10 * 365 * UNITS["days"]


@dataclass(frozen=True, slots=True)
class Lateness:
    """The limits of how late and how far ahead events may be, in microseconds.

    Attributes:
        late: The most that an event may be earlier than the latest event before it.
        ahead: The most that an event's time may be ahead of the system clock; None: no limit.
    """

    late: int
    ahead: int | None = None

    def __str__(self) -> str:
        text = f"events up to {duration_text(self.late)} late"
        return text if self.ahead is None else f"{text}, {duration_text(self.ahead)} ahead"


def check_lateness(
    streaming: bool,
    lateness: str | timedelta | None,
    max_ahead: str | timedelta | None,
    schema: Schema,
) -> Lateness:
    """Return the allowed lateness of a source that has such a setting.

    Raises:
        StreamError: A streaming DataFrame has no lateness, another source has one, or a value is
            not a duration.
        UnsupportedError: The schema of a streaming DataFrame has an order or a range that Spark
            cannot follow.
    """
    if not streaming:
        name = "max_ahead" if lateness is None else "lateness"
        raise StreamError(
            f"{name}={shown(max_ahead if lateness is None else lateness)} with events that are not"
            " a streaming DataFrame",
            hint=f"leave {name} out: it is for streaming DataFrames (spark.readStream)",
        )
    if lateness is None:
        raise StreamError(
            "a streaming DataFrame, and no lateness: a match can be emitted only when no earlier"
            " event can come any more",
            expected="lateness=, by how much an event may be earlier than one that came before it",
            hint="events(..., lateness='10 seconds'): matches are emitted that much later, and what"
            " comes later still is left out and counted",
        )
    if schema.by_arrival and schema.arrival is None:
        raise UnsupportedError(
            "ties='arrival' with a streaming DataFrame and no arrival column: Spark reads events of"
            " one time in no certain order",
            hint="events(..., arrival=column) says in which order they came",
        )
    if schema.has_range:
        raise UnsupportedError(
            "since= or until= with a streaming DataFrame: its matches are found as time goes on",
            hint="filter the DataFrame by its time column before events(...)",
        )
    ahead = None if max_ahead is None else as_microseconds("max_ahead", max_ahead)
    return Lateness(as_microseconds("lateness", lateness), ahead)


def check_event_time(kind: pa.DataType, name: str) -> None:
    """Check that the time column of a streaming DataFrame can carry Spark's watermark.

    Raises:
        StreamError: It does not hold timestamps with a zone.
    """
    if not (pa.types.is_timestamp(kind) and kind.tz is not None):
        raise StreamError(
            f"the time column '{name}' of a streaming DataFrame holds {described(kind)}"
            f"{' without a zone' if pa.types.is_timestamp(kind) else ''}",
            expected="Spark's timestamps with a zone, as the watermark is made of them",
            hint=f"sdf.withColumn('{name}', F.timestamp_seconds('{name}')) of numbers of seconds,"
            f" F.to_timestamp('{name}') of texts and of times without a zone",
        )


def as_microseconds(name: str, value: str | timedelta) -> int:
    """Return a duration in microseconds, rounded to milliseconds like Spark's."""
    return -(-exact_microseconds(name, value) // 1_000) * 1_000


def exact_microseconds(name: str, value: str | timedelta) -> int:
    """Return a duration in microseconds."""
    if isinstance(value, timedelta):
        length = value // timedelta(microseconds=1)
    else:
        length = _read(name, value)
    if not 0 <= length <= _MOST:
        raise StreamError(f"{name}={shown(value)}", expected="0 seconds to 3650 days")
    return length


def _read(name: str, text: str) -> int:
    expected = "a number and a unit: '10 seconds', '500 ms', '2 hours'"
    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise StreamError(f"{name}={shown(text)}", expected=expected)
    number, unit = match.groups()
    if unit.casefold() not in UNITS:
        hint = NOT_UNITS.get(unit.casefold()) or nearest(unit, UNITS)
        raise StreamError(f"{name}={shown(text)}", expected=expected, hint=hint)
    length = whole(number, UNITS[unit.casefold()])
    if length is None:
        raise StreamError(f"{name}={shown(text)}", expected="a whole number of microseconds")
    return length
