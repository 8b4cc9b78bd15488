"""Bands bound to a slice: columns of numbers, and between which limits they must lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import Band
from cepkit.columnar.slices.bound import Side
from cepkit.columnar.slices.candidates import Candidates, SubtreeCandidates, reader
from cepkit.pattern import conditions as c
from cepkit.pattern.durations import in_microseconds
from cepkit.pattern.evaluation.columns import value
from cepkit.pattern.evaluation.exactness import as_exact_floats, stays_exact
from cepkit.pattern.evaluation.operations import common_codes

Floats = npt.NDArray[np.float64]


def bind_band(
    band: Band, new: Candidates | SubtreeCandidates, candidates: Mapping[str, Candidates]
) -> tuple[object, Floats, Side] | None:
    """Return the key of the band's column, the column, and the bound side.

    None if the inner loop cannot compare them exactly.
    """
    others = c.variables_of(band.other)
    own = value(band.own, new.read)
    if len(others) > 1:
        column = as_exact_floats(own)
        if column is None or own.kind == "text" or not stays_exact(band.other, reader(candidates)):
            return None
        return band.own, _spread(column, new), Side(None, None, None, band)
    (variable,) = others
    x = candidates[variable]
    other = value(band.other, x.read)
    if own.kind == other.kind == "text":
        own, other = common_codes(own, other)
    elif "text" in (own.kind, other.kind):
        return None
    column, limit = as_exact_floats(own), as_exact_floats(other)
    if column is None or limit is None:
        return None
    least, most = band_limits(band.operator, _spread(limit, x))
    return (band.own, id(own.dictionary)), _spread(column, new), Side(variable, least, most, None)


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """Attributes of a band `own operator other + delta`: of the new event, of a bound one."""

    own: str
    other: c.Attribute
    delta: int


def shifted(band: Band) -> TimeLimit | None:
    """Return a band between two attributes with a duration added; None if it is not one."""
    own, own_delta = _with_delta(band.own)
    other, other_delta = _with_delta(band.other)
    if own is None or other is None:
        return None
    return TimeLimit(own.name, other, other_delta - own_delta)


def _with_delta(expression: c.Expression) -> tuple[c.Attribute | None, int]:
    match expression:
        case c.Attribute():
            return expression, 0
        case c.Arithmetic("+", c.Attribute() as time, c.Literal(timedelta() as duration)):
            return time, in_microseconds(duration)
        case c.Arithmetic("-", c.Attribute() as time, c.Literal(timedelta() as duration)):
            return time, -in_microseconds(duration)
        case _:
            return None, 0


def _spread(values: Floats, candidates: Candidates | SubtreeCandidates) -> Floats:
    """Broadcast a constant to all candidates."""
    return values if len(values) == len(candidates) else np.repeat(values, len(candidates))


def band_limits(
    operator: c.ComparisonOperator, limit: Floats
) -> tuple[Floats | None, Floats | None]:
    """Return the smallest and the largest value that is `operator` to `limit`; None for no bound.

    Both are NaN if there is no such value, because no value lies between NaNs.
    """
    match operator:
        case "<":
            return None, -_next(-limit)
        case "<=":
            return None, limit
        case ">":
            return _next(limit), None
        case ">=":
            return limit, None
        case _:
            return limit, limit


def _next(limit: Floats) -> Floats:
    """Return the next greater float of each; NaN if there is none.

    `np.nextafter` calls a function for each number, which takes three times as long.
    """
    # As integers, positive floats ascend and negative ones descend; -0.0 would be the least.
    bits = (limit + 0.0).view(np.int64)
    greater = (bits + (bits >> 63 | 1)).view(np.float64)
    return np.where(limit < np.inf, greater, np.nan)
