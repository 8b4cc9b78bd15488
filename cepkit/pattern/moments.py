"""Times written as texts in conditions, in UTC unless they name a zone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepkit.errors import PatternError, PatternSyntaxError, Span, StreamError
from cepkit.pattern.conditions import Expression
from cepkit.stream.columns import MISSING_INTEGER
from cepkit.stream.reading.time_texts import parse_times

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - all are in UTC


def moments(texts: Sequence[str], place: Expression | None = None) -> npt.NDArray[np.int64]:
    """Return the times of texts in microseconds, missing for texts that mean null.

    Raises:
        PatternError: A text is no time; the error points at `place`.
    """
    try:
        return parse_times(pa.array(texts, pa.string()), "", None)
    except StreamError as error:
        raise PatternError(
            "a time is compared with a text that is none",
            expected="a time such as '2024-05-01 09:30:00'",
            span=None if place is None else place.span,
        ) from error


@lru_cache(maxsize=10_000)
def moment(text: str) -> int | None:
    """Return the time of one text, None if it means null."""
    microseconds = int(moments([text])[0])
    return None if microseconds == MISSING_INTEGER else microseconds


def read_time(text: str, span: Span) -> datetime:
    """Return the time of a text after TIMESTAMP, in UTC.

    Raises:
        PatternSyntaxError: The text is no time.
    """
    try:
        microseconds = moment(text)
        if microseconds is not None:
            return _EPOCH + timedelta(microseconds=microseconds)
    except (PatternError, OverflowError):
        pass
    raise PatternSyntaxError(
        f"TIMESTAMP of the text '{text}'",
        expected="a time such as TIMESTAMP '2024-05-01 09:30:00', in UTC or with a zone as +02:00",
        span=span,
    )


def since_1970(time: datetime) -> int:
    """Return a time in UTC in microseconds since 1970."""
    return (time - _EPOCH) // timedelta(microseconds=1)
