"""Bounds of steps, `WITHIN 5 minutes FROM a TO c`, as ordinary conditions.

A bound becomes a difference between the times of two events, read as a reserved attribute.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from cepkit.pattern import conditions as c
from cepkit.pattern.calendar_windows import calendar_window
from cepkit.pattern.policies import StepBound, TimeWindow, in_microseconds


def bound_condition(
    bound: StepBound,
    order: Collection[tuple[str, str]],
    repeated: Collection[str],
    runs: Collection[str],
) -> c.Expression:
    """Return a bound as a condition; where the order leaves it open, either event may be later.

    Args:
        order: Pairs of variables; the first is strictly before the second.
        runs: The variables of sets that take every event that fits.
    """
    first, last, window, span = bound.first, bound.last, bound.window, bound.span
    assert isinstance(window, TimeWindow)
    if (last, first) in order:
        first, last = last, first
    # Beside a single event every member of a set is compared, so that the set takes only members
    # that fit. Between two sets, and for a run, which takes all that fits, the ends decide.
    by_ends = [*repeated] if {first, last} <= {*repeated} else [*runs]

    def time(function: str, variable: str) -> c.Expression:
        instant: c.Expression = c.Attribute(variable, c.TIME, span)
        if variable in by_ends:
            instant = c.Aggregate(function, variable, c.TIME, span)
        return (
            instant if window.days is None else c.Call(c.CLOCK, (instant,), span, zone=window.zone)
        )

    def gap(later: str, earlier: str) -> c.Expression:
        return c.Arithmetic("-", time("last", later), time("first", earlier), span)

    def limited(value: c.Expression) -> c.Expression:
        days = window.days
        most = timedelta(microseconds=window.microseconds) if days is None else timedelta(days)
        length = c.Literal(most, window.span)
        return c.Comparison("<" if window.exclusive else "<=", value, length, span)

    if first == last or (first, last) in order:
        return limited(gap(last, first))
    if {first, last} & {*by_ends}:
        return c.AllOf((limited(gap(last, first)), limited(gap(first, last))), span)
    return limited(c.Call("abs", (gap(last, first),), span))


def bound_of(condition: c.Expression) -> StepBound | None:
    """Return the bound of a condition from `bound_condition`; None for any other condition."""
    match condition:
        case c.AllOf((one, other)) if bound_of(other) is not None:
            return bound_of(one)
        case c.Comparison("<" | "<=" as operator, value, c.Literal(timedelta() as length)):
            window = TimeWindow(in_microseconds(length), operator == "<")
        case _:
            return None
    match value:
        case c.Arithmetic("-", later, earlier) | c.Call(
            "abs", (c.Arithmetic("-", later, earlier),)
        ) if (last := _variable_of_time(later)) and (first := _variable_of_time(earlier)):
            if isinstance(later, c.Call):
                window = calendar_window(length.days, window, later.zone)
            return StepBound(first, last, window, condition.span)
        case _:
            return None


def _variable_of_time(value: c.Expression) -> str | None:
    match value:
        case c.Call(function, (time,)) if function == c.CLOCK:
            return _variable_of_time(time)
        case c.Attribute(variable, name) | c.Aggregate(_, variable, name) if name == c.TIME:
            return variable
        case _:
            return None
