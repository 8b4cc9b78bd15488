"""Axes of plotly's figures: the places of values, and the tick labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias

import numpy as np

from cepkit.lazy import pd

Kind: TypeAlias = Literal["linear", "log", "date"]

_KINDS: tuple[Kind, ...] = ("linear", "log", "date")
_STEPS = (1, 2, 5, 10)
_MILLISECOND = 1.0
_SECOND = 1000.0
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_TIMES = tuple(
    step * unit
    for unit, steps in (
        (_MILLISECOND, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (_SECOND, (1, 2, 5, 10, 15, 30)),
        (_MINUTE, (1, 2, 5, 10, 15, 30)),
        (_HOUR, (1, 2, 3, 6, 12)),
        (_DAY, (1, 2, 7, 14, 30, 91, 182, 365, 730, 1825, 3650, 36500)),
    )
    for step in steps
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MARGIN = 0.05
_THOUSAND = 10_000


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis on the page.

    Attributes:
        kind: The kind of its values: dates are in milliseconds, logarithms to base ten.
        span: Its ends, in values of the axis.
        pixels: The places of these ends.
        ticks: Values and texts, none where no numbers stand at it.
    """

    kind: Kind
    span: tuple[float, float]
    pixels: tuple[float, float]
    ticks: tuple[tuple[float, str], ...]

    def place(self, value: float) -> float:
        """Return where a number of this axis lies."""
        (begin, end), (low, high) = self.span, self.pixels
        share = (value - begin) / (end - begin) if end != begin else 0.5
        return low + (high - low) * min(max(share, -9.0), 10.0)


def axis_of(settings: Any, drawn: Sequence[np.ndarray], kind: Kind, padded: bool) -> Axis:
    """Return an axis of one pixel.

    Args:
        settings: Plotly's, of the axis.
        padded: Whether a range of its own has some room beyond the outermost numbers.
    """
    if settings.range is not None:
        begin, end = numbers(settings.range, "date" if kind == "date" else "linear")
    else:
        begin, end = _span(drawn, settings.rangemode == "tozero", padded)
    low, high = sorted((float(begin), float(end)))
    if settings.visible is False or settings.showticklabels is False:
        ticks: tuple[tuple[float, str], ...] = ()
    elif settings.tickvals is not None:
        places = numbers(settings.tickvals, "date" if kind == "date" else "linear")
        texts = settings.ticktext if settings.ticktext is not None else settings.tickvals
        ticks = tuple(zip(map(float, places), map(str, texts), strict=True))
    else:
        ticks = _ticks(kind, low, high, settings.nticks or 6, settings.dtick)
    slack = 1e-9 * (high - low)
    kept = tuple(tick for tick in ticks if low - slack <= tick[0] <= high + slack)
    return Axis(kind, (float(begin), float(end)), (0.0, 1.0), kept)


def kind_of(settings: Any, values: Iterable[Any]) -> Kind:
    """Return the kind of an axis's values: the setting, or else that of the first value."""
    for kind in _KINDS:
        if settings.type == kind:
            return kind
    for value in values:
        if isinstance(value, str | datetime | np.datetime64):
            return "date"
        if value is not None:
            return "linear"
    return "linear"


def numbers(values: Iterable[Any], kind: Kind) -> np.ndarray:
    """Return values as numbers of an axis, NaN for missing ones."""
    listed = list(values)
    if kind == "date":
        if all(isinstance(value, int | float) for value in listed):
            return np.asarray(listed, dtype=float)
        times = pd.to_datetime(pd.Series(listed, dtype=object), utc=True, format="mixed")
        whole = times.dt.as_unit("us").astype("int64").to_numpy() / 1000.0
        return np.where(times.isna(), np.nan, whole)
    read = np.array([math.nan if value is None else float(value) for value in listed], dtype=float)
    if kind == "log":
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(read > 0, np.log10(read), np.nan)
    return read


def _span(drawn: Sequence[np.ndarray], to_zero: bool, padded: bool) -> tuple[float, float]:
    finite = [part[np.isfinite(part)] for part in drawn]
    every = np.concatenate(finite) if finite else np.empty(0)
    if not every.size:
        return 0.0, 1.0
    low, high = float(every.min()), float(every.max())
    if low == high:
        if to_zero and low >= 0:
            return 0.0, high * 1.05 or 1.0
        return low - 0.5, high + 0.5
    room = (high - low) * _MARGIN if padded else 0.0
    if to_zero:
        return min(0.0, low), high + room
    return low - room, high + room


def _ticks(
    kind: Kind, low: float, high: float, most: int, step: float | None
) -> tuple[tuple[float, str], ...]:
    if not (math.isfinite(low) and math.isfinite(high)) or low >= high:
        return ()
    match kind:
        case "date":
            return _times(low, high, most)
        case "log":
            powers = range(math.ceil(low), math.floor(high) + 1)
            every = max(1, -(-len(powers) // most))
            return tuple((float(p), _written(10.0**p, 0)) for p in powers[::every])
        case "linear":
            return _linear(low, high, most, step)


def _linear(
    low: float, high: float, most: int, step: float | None
) -> tuple[tuple[float, str], ...]:
    if step is None:
        rough = (high - low) / most
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(s for s in _STEPS if s * unit >= rough * 0.999) * unit
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple((i * step, _written(i * step, places)) for i in range(first, last + 1))


def _written(value: float, places: int) -> str:
    for unit, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(unit, _THOUSAND):
            return f"{value / unit:g}{letter}"
    return f"{value:,.{places}f}" if places < 7 and abs(value) >= 1e-6 else f"{value:g}"


def _times(low: float, high: float, most: int) -> tuple[tuple[float, str], ...]:
    rough = (high - low) / most
    step = next((s for s in _TIMES if s >= rough), _TIMES[-1])
    ticks: list[tuple[float, str]] = []
    day = ""
    for i in range(math.ceil(low / step), math.floor(high / step) + 1):
        try:
            moment = _EPOCH + timedelta(milliseconds=i * step)
        except OverflowError:
            return ()
        date = f"{moment:%Y-%m-%d}"
        if step >= _DAY:
            text = date
        else:
            clock = f"{moment:%H:%M}" if step >= _MINUTE else f"{moment:%H:%M:%S}"
            clock += f".{moment.microsecond // 1000:03d}" if step < _SECOND else ""
            text = clock if date == day else f"{clock}<br>{date}"
        day = date
        ticks.append((i * step, text))
    return tuple(ticks)
