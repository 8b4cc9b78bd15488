"""Times as int64 microseconds since 1970-01-01 UTC, and durations as microseconds.

Null and NaN become `MISSING_INTEGER`; nanoseconds are floored. Results lie within 2**62
microseconds of 1970 (some 146,000 years), so that adding a window cannot overflow; durations have
the same limit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepkit.errors import StreamError
from cepkit.lazy import pa
from cepkit.stream.columns import MISSING_INTEGER
from cepkit.stream.reading import arrow
from cepkit.stream.reading.time_texts import number_hint, parse_times
from cepkit.stream.reading.time_zones import instants, is_utc
from cepkit.stream.schema import UNIT_NAMES, UNITS
from cepkit.stream.warnings import fitting_units

Integers = npt.NDArray[np.int64]

_LIMIT = 2**62
_SOME = 100
_EXCEL = (32_874, 51_502)  # the years 1990 to 2040 in Excel's days
_TIME = "a finite time, within 146,000 years of 1970"
_DURATION = "a duration of less than 146,000 years"


def microseconds(
    column: arrow.ArrowColumn,
    name: str,
    *,
    unit: str | None = None,
    timezone: str | None = None,
    into: Integers | None = None,
) -> Integers:
    """Return the times of a column.

    Args:
        column: Timestamps of any unit with or without a zone, dates (midnight), numbers, or
            texts in ISO 8601 ("2024-03-01", "2024-03-01 10:00:00.5+01:00").
        unit: The unit of numbers; required for numbers and refused for other values.
        timezone: The zone of times without one; None is UTC. See `time_zones` for local times that
            occur twice or never.
        into: An array that may be filled and returned in place of a new one.

    Returns:
        A new int64 array with `MISSING_INTEGER` for null, NaN, and texts that mean null.

    Raises:
        StreamError: The column does not hold times, or has an invalid one: infinite, out of range,
            unreadable. The error shows the first such value and its row.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return microseconds(column.cast(kind.value_type), name, unit=unit, timezone=timezone)
    if pa.types.is_null(kind):
        return np.full(len(column), MISSING_INTEGER, dtype=np.int64)
    if arrow.is_number(kind):
        if unit is None:
            numbers = f"numbers ({arrow.described(kind)})"
            some = np.asarray(column.slice(0, _SOME).drop_null().cast(pa.float64(), safe=False))
            fits = "; ".join(fitting_units(some)) or "unit='s' if it counts seconds since 1970"
            raise StreamError(
                f"the time column '{name}' holds {numbers}, but no unit is given",
                expected=f"unit= one of {', '.join(UNIT_NAMES)}",
                hint=_calendar_hint(some) or fits,
            )
        return _from_numbers(arrow.single(column), name, unit)
    if unit is not None:
        some = column.drop_null()
        number = number_hint(some[0].as_py()) if arrow.is_text(kind) and len(some) else None
        raise StreamError(
            f"unit='{unit}' is given, but the time column '{name}' holds {arrow.described(kind)}",
            expected="numbers, which a unit is for",
            hint=number or "leave unit out",
        )
    if arrow.is_text(kind):
        return parse_times(column, name, timezone)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _from_timestamps(column, name, timezone, into)
    hint = None
    if pa.types.is_time(kind):
        hint = "a time of day needs its date: join the two into one column"
    raise StreamError(
        f"the time column '{name}' holds no times, but {arrow.described(kind)}",
        expected="timestamps, dates, numbers with a unit, or texts like 2024-03-01T10:00:00",
        hint=hint,
    )


def _calendar_hint(numbers: npt.NDArray[np.float64]) -> str | None:
    """Return a hint if numbers are dates such as 20240301, or days as Excel counts them.

    A unit fits them as well: minutes make 20240301 the year 2008, days make 45352 the year 2094.
    """
    if not len(numbers):
        return None
    year, day = numbers // 10_000, numbers % 10_000
    month, day = day // 100, day % 100
    parts = ((year, 1900, 2100), (month, 1, 12), (day, 1, 31))
    if all(((low <= part) & (part <= high)).all() for part, low, high in parts):
        return f"{int(numbers[0])} looks like a date: as a text it fits time_format='%Y%m%d'"
    if ((_EXCEL[0] <= numbers) & (numbers < _EXCEL[1])).all():
        return "Excel counts days from 1899-12-30: subtract 25569 and give unit='d'"
    return None


def ties_of_nanoseconds(column: arrow.ArrowColumn, unit: str | None) -> int:
    """Return how many times are equal to the one before only because nanoseconds are floored.

    Args:
        unit: The unit of numbers.
    """
    if not counts_nanoseconds(column, unit):
        return 0
    times = np.sort(arrow.filled(column.drop_null(), np.int64, 0))
    floored = times // 1000
    return int(np.count_nonzero((floored[1:] == floored[:-1]) & (times[1:] != times[:-1])))


def counts_nanoseconds(column: arrow.ArrowColumn, unit: str | None) -> bool:
    """Return whether the first times of a column are finer than microseconds.

    Of a clock that counts nanoseconds one time in a thousand is a whole microsecond.
    """
    kind = column.type
    fine = pa.types.is_timestamp(kind) and kind.unit == "ns"
    if not fine and not (pa.types.is_int64(kind) and unit == "ns"):
        return False
    return bool((arrow.filled(column.slice(0, _SOME), np.int64, 0) % 1000).any())


def durations(array: arrow.ArrowColumn, name: str) -> Integers:
    """Return the durations of a column.

    Args:
        array: Durations of any unit.

    Returns:
        A new int64 array with `MISSING_INTEGER` for null.

    Raises:
        StreamError: One is out of range; the error shows it and its row.
    """
    values = _scaled(arrow.filled(array, np.int64, 0), name, array.type.unit, _DURATION)
    return _without(values, arrow.nulls(array))


def _from_timestamps(
    array: arrow.ArrowColumn, name: str, timezone: str | None, into: Integers | None
) -> Integers:
    kind = array.type
    unit = "d" if pa.types.is_date32(kind) else "ms" if pa.types.is_date64(kind) else kind.unit
    stored = np.int32 if pa.types.is_date32(kind) else np.int64
    times = _scaled(arrow.filled(array, np.int64, 0, stored, into), name, unit)
    if not is_utc(timezone) and getattr(kind, "tz", None) is None:
        times = instants(times, str(timezone))
    return _without(times, arrow.nulls(array))


def _from_numbers(array: pa.Array, name: str, unit: str) -> Integers:
    absent = arrow.nulls(array)
    if pa.types.is_integer(array.type):
        values = arrow.raw(array, array.type.to_pandas_dtype())
        if pa.types.is_uint64(array.type):
            # Beyond int64 is out of range in every unit except ns, where it is beyond the year
            # 2262.
            _refuse(values > np.uint64(2**63 - 1), absent, values, name)
        numbers = values.astype(np.int64)
        if absent is not None:
            numbers[absent] = 0
        return _without(_scaled(numbers, name, unit), absent)
    floats = arrow.raw(array.cast(pa.float64()), np.float64).astype(np.float64)
    missing = np.isnan(floats) if absent is None else np.isnan(floats) | absent
    floats[missing] = 0.0
    # Floats cannot hold most microseconds exactly: round to the nearest.
    scaled = np.floor(floats / 1000) if unit == "ns" else np.rint(floats * UNITS[unit])
    _refuse(~(np.abs(scaled) < _LIMIT), None, floats, name)
    return _without(scaled.astype(np.int64), missing)


def _scaled(values: Integers, name: str, unit: str, expected: str = _TIME) -> Integers:
    """Convert integer counts of a unit to microseconds, in place if possible."""
    if unit == "ns":
        return np.floor_divide(values, 1000, out=values)
    factor = UNITS[unit]
    bound = _LIMIT // factor
    if len(values) and (values.max() >= bound or values.min() <= -bound):
        _refuse((values >= bound) | (values <= -bound), None, values, name, expected)
    return values if factor == 1 else np.multiply(values, factor, out=values)


def _refuse(
    bad: npt.ArrayLike,
    absent: npt.NDArray[np.bool_] | None,
    values: npt.NDArray[np.generic],
    name: str,
    expected: str = _TIME,
) -> None:
    invalid = np.asarray(bad) if absent is None else np.asarray(bad) & ~absent
    if not invalid.any():
        return
    row = int(np.argmax(invalid))
    raise StreamError(
        f"the column '{name}' holds {values[row]} in row {row} (rows count from 0)",
        expected=expected,
        hint="check unit=; drop rows without a time" if expected == _TIME else None,
    )


def _without(times: Integers, missing: npt.NDArray[np.bool_] | None) -> Integers:
    if missing is not None:
        times[missing] = MISSING_INTEGER
    return times
