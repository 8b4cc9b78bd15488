"""Bands bound to a slice: columns of numbers, and between which limits they must lie.

Where neither a key nor a window narrows a step down, candidates are sorted by a value: with
`abs(a.price - b.price) < 0.05` over a stream without a window, each `a` would examine every later
`b`. Sorted by price, it examines only those nearby. Cost: a sort of the candidates for each slice,
and two binary searches for each partial match.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import Band, Bound, Step
from cepkit.columnar.kernels.loops import order_of
from cepkit.columnar.slices.bound import BoundBand, Side
from cepkit.columnar.slices.candidates import Candidates, SubtreeCandidates, reader
from cepkit.indexing import take
from cepkit.pattern import conditions as c
from cepkit.pattern.evaluation.columns import common_codes, value
from cepkit.pattern.evaluation.exactness import stays_exact
from cepkit.pattern.evaluation.kinds import as_exact_floats
from cepkit.pattern.policies import in_microseconds
from cepkit.pattern.rewrite import MIRRORED
from cepkit.stream.columns import Column

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


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


_MANY = 512
"""Below this many candidates in scope, a scan is faster than two binary searches."""

_FEWER = 8
"""The factor by which a value must leave fewer candidates than time does."""

_SORTING = 800
"""Sorting a candidate costs as much as scanning this many, with a safety factor of four."""

_PARTIALS = 64
"""Candidates of a bound variable to sample for the estimate."""

_VALUES = 1024
"""Values to sample for it."""

_ROUNDING = 2.0**-48
"""Exceeds the rounding error of a difference of two floats and a limit."""


@dataclass(frozen=True, slots=True)
class ValueOrder:
    """Candidates sorted by a value, and the look-up of a partial match's range among them.

    Attributes:
        order: The place in time of each candidate, by value; missing values come last.
        band: The values in that order, and the sides to compare.
        exact: The key of the band that the range replaces; None if conditions remain to be checked.
    """

    order: Ints
    band: BoundBand
    exact: object | None


def value_order(
    step: Step,
    new: Candidates,
    candidates: Mapping[str, Candidates],
    bands: Mapping[object, BoundBand],
    residuals: Sequence[c.Expression],
) -> ValueOrder | None:
    """Return an order by value if it leaves far fewer candidates than time; else None.

    Args:
        step: Binds the candidates, without a key look-up.
        new: The candidates, in the order of time.
    """
    if not 0 < len(new) >= _MANY or not (bands or residuals):
        return None
    in_scope = _in_scope((step.lower, step.upper), new, candidates)
    if in_scope < _MANY:
        return None
    best: tuple[object, BoundBand] | None = None
    fewest = in_scope / _FEWER / len(new)
    implied = (*_shifted(bands, new), *_near(residuals, new, candidates))
    for exact, band in (*bands.items(), *((None, band) for band in implied)):
        sides: dict[str, list[Side]] = {}
        for side in band.sides:
            if side.variable is not None:
                sides.setdefault(side.variable, []).append(side)
        partials = max((len(candidates[variable]) for variable in sides), default=0)
        if partials * in_scope < _SORTING * len(new):
            continue
        some = np.sort(band.column[_sampled(len(new), _VALUES)])
        share = min(_share(some, each) for each in sides.values())
        if share < fewest:
            fewest, best = share, (exact, band)
    if best is None:
        return None
    exact, band = best
    order = order_of(band.column)
    return ValueOrder(order, BoundBand(take(band.column, order), band.sides), exact)


def value_ranges(
    band: tuple[Floats, ...],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return where the values from the least to the greatest of each partial match lie.

    Args:
        band: The least and the greatest value, NaN for none, and the sorted column.
    """
    least, most, column = band
    numbers = np.searchsorted(column, np.nan)
    low = np.searchsorted(column, least, side="left")
    high = np.minimum(np.searchsorted(column, most, side="right"), numbers)
    high[np.isnan(most)] = 0
    return low.astype(np.int32), high.astype(np.int32)


def _in_scope(
    limits: tuple[tuple[Bound, ...], tuple[Bound, ...]],
    new: Candidates,
    candidates: Mapping[str, Candidates],
) -> float:
    """Return the approximate number of candidates that time leaves for a partial match."""
    size = float(len(new))
    fewest = size
    for variable in {limit.variable for end in limits for limit in end}:
        others = candidates[variable].ts[_sampled(len(candidates[variable]), _PARTIALS)]
        if not len(others):
            return 0.0
        begins, stops = (
            [
                float(np.searchsorted(new.ts, others + limit.delta).mean())
                for limit in end
                if limit.variable == variable and limit.clock in ("time", "order")
            ]
            for end in limits
        )
        fewest = min(fewest, min(stops, default=size) - max(begins, default=0.0))
    return fewest


def _share(values: Floats, sides: Sequence[Side]) -> float:
    """Return the mean share of sorted values within the sides of one variable."""
    limits = [each for side in sides for each in (side.least, side.most) if each is not None]
    at = _sampled(len(limits[0]), _PARTIALS)
    if not len(at):
        return 0.0
    least, most = np.full(len(at), -np.inf), np.full(len(at), np.inf)
    for side in sides:
        least = least if side.least is None else np.maximum(least, side.least[at])
        most = most if side.most is None else np.minimum(most, side.most[at])
    low, high = value_ranges((least, most, values))
    return float(np.maximum(high - low, 0).mean()) / len(values)


def _sampled(size: int, number: int) -> npt.NDArray[np.int64]:
    """Return at most `number` places among `size`, evenly spread."""
    return np.arange(0, size, max(size // number, 1))


def _shifted(bands: Mapping[object, BoundBand], new: Candidates) -> Iterator[BoundBand]:
    """Yield bands that `b.x - 1 < a.x` and `a.x < b.x + 1` imply together: `b.x` is near `a.x`."""
    groups: dict[c.Attribute, list[tuple[BoundBand, float]]] = {}
    for key, band in bands.items():
        own = key[0] if isinstance(key, tuple) else None
        match own:
            case c.Attribute():
                attribute, shift = own, 0.0
            case c.Arithmetic(
                "+" | "-" as sign, c.Attribute() as moved, c.Literal(int() | float() as by)
            ):
                attribute, shift = moved, float(by) if sign == "+" else -float(by)
            case _:
                continue
        groups.setdefault(attribute, []).append((band, shift))
    for attribute, several in groups.items():
        column = _numbers(value(attribute, new.read), len(new)) if len(several) > 1 else None
        if column is not None:
            sides = [
                _moved(side, shift)
                for band, shift in several
                for side in band.sides
                if side.variable is not None
            ]
            yield BoundBand(column, tuple(sides))


def _moved(side: Side, shift: float) -> Side:
    """Return the side for unshifted values, widened by the possible rounding error."""

    def moved(limits: Floats | None, sign: int) -> Floats | None:
        if limits is None:
            return None
        with np.errstate(all="ignore"):
            return limits - shift + sign * _ROUNDING * (np.abs(limits) + abs(shift))

    return Side(side.variable, moved(side.least, -1), moved(side.most, 1), None)


def _near(
    residuals: Sequence[c.Expression], new: Candidates, candidates: Mapping[str, Candidates]
) -> Iterator[BoundBand]:
    """Yield bands implied by conditions such as `abs(a.x - b.x) < 3`, which are still checked."""
    for residual in residuals:
        if not isinstance(residual, c.Comparison):
            continue
        for gap, most, operator in (
            (residual.left, residual.right, residual.operator),
            (residual.right, residual.left, MIRRORED.get(residual.operator)),
        ):
            if operator not in ("<", "<="):
                continue
            match gap:
                case c.Call("abs", (c.Arithmetic("-", left, right),)):
                    for own, other in ((left, right), (right, left)):
                        band = _around(own, other, most, new, candidates)
                        if band is not None:
                            yield band
                case _:
                    pass


def _around(
    own: c.Expression,
    other: c.Expression,
    most: c.Expression,
    new: Candidates,
    candidates: Mapping[str, Candidates],
) -> BoundBand | None:
    """Return the band of values of `own` at most `most` away from `other`, or None."""
    about = c.variables_of(other) | c.variables_of(most)
    if c.variables_of(own) != {new.step.variable} or len(about) != 1 or not c.variables_of(other):
        return None
    (variable,) = about
    if variable == new.step.variable:
        return None
    read = reader(candidates)
    column, middle, reach = (
        _numbers(value(expression, read), size)
        for expression, size in (
            (own, len(new)),
            (other, len(candidates[variable])),
            (most, len(candidates[variable])),
        )
    )
    if column is None or middle is None or reach is None:
        return None
    with np.errstate(all="ignore"):
        reach = reach + _ROUNDING * (np.abs(middle) + np.abs(reach))
        return BoundBand(column, (Side(variable, middle - reach, middle + reach, None),))


def _numbers(column: Column, size: int) -> Floats | None:
    """Return numbers as floats, with constants broadcast; None if that changes values."""
    if column.kind not in ("integer", "float"):
        return None
    floats = as_exact_floats(column)
    return np.repeat(floats, size) if floats is not None and len(floats) != size else floats
