"""The order of arrival from a column, as dense numbers from 0.

O(events) if the column ascends already, otherwise O(events log events).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepkit.errors import StreamError
from cepkit.lazy import pa, pc
from cepkit.stream.reading.arrow import ArrowColumn, described, single

Integers = npt.NDArray[np.int64]


def arrival_numbers(column: ArrowColumn, name: str, rows: npt.NDArray[np.integer]) -> Integers:
    """Return the arrival number of each event: the number of events that came before it.

    Args:
        column: The arrival of each row of a source: numbers or times.
        rows: The rows that are events, ascending.

    Returns:
        A number for each of `rows`, from 0 without a gap.

    Raises:
        StreamError: The column's values have no order, a value is missing, or several events have
            the same value.
    """
    check_arrival(column.type, name)
    array = single(column)
    if len(rows) < len(array):
        array = array.take(pa.array(rows))
    absent = pc.is_null(array, nan_is_null=True)
    refuse_missing(name, pc.sum(absent).as_py() or 0, len(rows))
    numbers = np.arange(len(rows))
    if len(rows) < 2 or pc.all(pc.less(array[:-1], array[1:])).as_py():
        return numbers
    order = pc.sort_indices(array).to_numpy()
    ascending = array.take(pa.array(order))
    same = pc.equal(ascending[:-1], ascending[1:])
    doubled = pc.sum(same).as_py()
    if doubled:
        first = ascending[int(np.argmax(same.to_numpy(zero_copy_only=False)))]
        raise StreamError(
            f"the arrival column '{name}' holds values more than once, such as {first.as_py()};"
            f" {doubled:,} of {len(rows):,} events have the value of another",
            expected="a value of its own for each event",
        )
    arrivals = np.empty(len(rows), dtype=np.int64)
    arrivals[order] = numbers
    return arrivals


def check_arrival(kind: pa.DataType, name: str) -> None:
    """Refuse a column whose values cannot define an order of arrival.

    Raises:
        StreamError: It holds neither numbers nor times.
    """
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    moment = pa.types.is_timestamp(kind) or pa.types.is_date(kind)
    if not (number or moment or pa.types.is_null(kind)):
        raise StreamError(
            f"the arrival column '{name}' holds {described(kind)}",
            expected="numbers or times, which say in which order the events came",
        )


def refuse_missing(name: str, missing: int, events: int) -> None:
    """Refuse a column with missing values.

    Raises:
        StreamError: `missing` is not 0.
    """
    if missing:
        raise StreamError(
            f"the arrival column '{name}' has no value for {missing:,} of {events:,} events",
            expected="a value of its own for each event",
            hint="fill them in, or drop those rows",
        )
