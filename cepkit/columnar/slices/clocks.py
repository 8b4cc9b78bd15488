"""Clocks of windows: time, and event numbers in the stream or the partition."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import BoundClock, Program
from cepkit.columnar.kernels.loops import counting_sort
from cepkit.pattern.keys import partition_keys
from cepkit.pattern.numbers import with_numbers_as_attributes
from cepkit.pattern.policies import Clock
from cepkit.stream.columns import EventColumns

Times = npt.NDArray[np.int64]


def numbered(program: Program, columns: EventColumns) -> EventColumns:
    """Add the numbers that a program's windows count in.

    Args:
        program: Defines which; numbers that the events have already stay.
        columns: The whole stream, or some of its events that have them.
    """
    columns = with_numbers(columns, program.clocks, program.partition_by)
    if program.next_clock is None:
        return columns
    return with_numbers_as_attributes(columns, readings(columns, program.next_clock))


def with_numbers(
    columns: EventColumns, clocks: Collection[Clock], partition_by: Sequence[str]
) -> EventColumns:
    """Add the numbers of some clocks; see `numbered`.

    Args:
        columns: The whole stream, or some of its events that have them.
        partition_by: The attributes inside whose partitions places are counted.
    """
    arrivals, places = columns.arrivals, columns.places
    if arrivals is None and ("arrival" in clocks or ("place" in clocks and places is None)):
        arrivals = columns.arrival()
    if places is None and "place" in clocks and arrivals is not None:
        codes, count = partition_keys([columns.attributes[name] for name in partition_by])
        came = None if columns.in_order() else np.argsort(arrivals)
        starts = np.zeros(count + 1, dtype=np.int64)
        order = np.empty(len(columns), dtype=np.int32)
        # Equal keys stay in arrival order.
        keys = codes if came is None else codes[came]
        counting_sort(keys, starts, order)
        places = np.empty(len(columns), dtype=np.int64)
        numbers = np.arange(len(columns)) - np.repeat(starts[:-1], np.diff(starts))
        places[order if came is None else came[order]] = numbers
    return replace(columns, arrivals=arrivals, places=places)


def readings(columns: EventColumns, clock: BoundClock) -> Times:
    """Return the reading of a clock at each event: time, number, or a value that orders them."""
    if clock == "time":
        return columns.ts
    if clock == "order":
        return columns.order()
    numbers = columns.arrivals if clock == "arrival" else columns.places
    assert numbers is not None, "numbered before"
    return numbers


def came_in_order(program: Program, columns: EventColumns) -> bool:
    """Return whether numbers ascend with time (places inside each partition)."""
    if columns.arrivals is not None or columns.places is None:
        return columns.in_order()
    codes, _ = partition_keys([columns.attributes[name] for name in program.partition_by])
    order = np.argsort(codes, kind="stable")
    codes, places = codes[order], columns.places[order]
    return bool(((places[1:] > places[:-1]) | (codes[1:] != codes[:-1])).all())


def owners_of(program: Program, columns: EventColumns, clock: Clock) -> tuple[str, ...]:
    """Return the variables whose latest event, by a clock, decides who owns a match.

    If numbers do not ascend with time, that can be every variable except sets.
    """
    if clock == "time" or came_in_order(program, columns):
        return program.owners
    single = tuple(s.variable for s in program.single if s.variable not in program.ends)
    return single or program.owners
