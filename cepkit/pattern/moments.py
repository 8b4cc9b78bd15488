"""Times written in conditions: readings of the clock of a zone, unless they name one themselves."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from cepkit.errors import PatternError, PatternSyntaxError, Span, StreamError
from cepkit.lazy import pa
from cepkit.pattern.conditions import Expression, Literal, children
from cepkit.stream.columns import MISSING_INTEGER
from cepkit.stream.reading.time_texts import parse_times
from cepkit.stream.reading.time_zones import instant

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - all are without a zone


def moments(texts: Sequence[str], place: Expression | None = None) -> npt.NDArray[np.int64]:
    """Return the times of texts in microseconds, missing for texts that mean null.

    The zone of texts without one is that of the constants of `place`.

    Raises:
        PatternError: A text is no time; the error points at `place`.
    """
    try:
        return parse_times(pa.array(texts, pa.string()), "", zone_of(place))
    except StreamError as error:
        raise PatternError(
            "a time is compared with a text that is not a time",
            expected="a time such as '2024-05-01 09:30:00'",
            span=None if place is None else place.span,
        ) from error


def zone_of(*places: Expression | None) -> str | None:
    """Return the zone that constants of conditions name, None for UTC."""
    constants = (part for place in places if place is not None for part in children(place))
    zones = (one.zone for one in constants if isinstance(one, Literal) and one.zone is not None)
    return next(zones, None)


@lru_cache(maxsize=10_000)
def moment(text: str, zone: str | None = None) -> int | None:
    """Return the time of one text, None if it means null."""
    microseconds = int(parse_times(pa.array([text], pa.string()), "", zone)[0])
    return None if microseconds == MISSING_INTEGER else microseconds


def read_time(text: str, span: Span) -> Literal:
    """Return the time of a text after TIMESTAMP; in UTC if the text names a zone.

    Raises:
        PatternSyntaxError: The text is no time.
    """
    try:
        microseconds = moment(text)
        if microseconds is not None:
            time = _EPOCH + timedelta(microseconds=microseconds)
            names_zone = moment(text, "+01:00") == microseconds
            return Literal(time, span, zone="UTC" if names_zone else None)
    except (StreamError, OverflowError):
        pass
    raise PatternSyntaxError(
        f"TIMESTAMP of the text '{text}'",
        expected="a time such as TIMESTAMP '2024-05-01 09:30:00', perhaps with a zone as +02:00",
        span=span,
    )


def since_1970(time: datetime, zone: str | None = None) -> int:
    """Return the instant of a reading of a clock in microseconds since 1970."""
    microseconds = (time - _EPOCH) // timedelta(microseconds=1)
    return microseconds if zone is None else int(instant(microseconds, zone))
