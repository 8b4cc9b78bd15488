"""An axis for numbers that may be zero, differ by powers of ten, or be too large for a float.

Numbers come as logarithms to base ten (-infinity for zero). If they differ much the axis is
logarithmic, and zero gets a place below the smallest; otherwise it is linear.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cepkit.figures.kit.texts import cut, shown
from cepkit.tables import number

_LARGE_SPREAD = math.log10(50)
_MOST_TICKS = 7
_FLOAT_DIGITS = 300
_FEWEST_TICKS = 3
_UNITS = {1e9: "B", 1e6: "M", 1e3: "k"}
_LONG = 1e5
_TEXT_LENGTH = 24
_DIGITS = ((1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7))


@dataclass(frozen=True, slots=True)
class Scale:
    """Where numbers lie on an axis.

    Attributes:
        logarithmic: Whether they are placed by their logarithms.
        begin: Where the axis begins; the place of a zero.
        end: Where it ends, room for a label behind the greatest included.
        ticks: Positions and texts of a logarithmic axis; empty for a linear one.
    """

    logarithmic: bool
    begin: float
    end: float
    ticks: tuple[tuple[float, str], ...] = ()

    @classmethod
    def of(cls, logs: Iterable[float], room: float = 0.0) -> Scale:
        """Return a scale for numbers.

        Args:
            logs: Their logarithms to base ten.
            room: The share of the axis to keep free behind the greatest.
        """
        all_logs = list(logs)
        finite = [log for log in all_logs if math.isfinite(log)]
        least, greatest = min(finite, default=0.0), max(finite, default=0.0)
        share = 1.0 / (1.0 - room)
        if greatest - least < _LARGE_SPREAD and abs(greatest) < _FLOAT_DIGITS:
            return cls(False, 0.0, 10.0**greatest * share)
        low = math.floor(least)
        zero = -math.inf in all_logs
        # A bar of the smallest number should still be seen.
        begin = low - (0.7 if zero else 0.3)
        ticks = (((begin, "0"),) if zero else ()) + _powers(low, greatest)
        return cls(True, begin, begin + (greatest - begin) * share, ticks)

    @classmethod
    def of_powers(cls, logs: Iterable[float], room: float = 0.0) -> Scale:
        """Return a scale that is always logarithmic, and close around the numbers.

        Args:
            logs: Their logarithms to base ten.
            room: The share of the axis to keep free behind the greatest.
        """
        all_logs = list(logs)
        finite = [log for log in all_logs if math.isfinite(log)]
        least, greatest = min(finite, default=0.0), max(finite, default=1.0)
        margin = max(0.06 * (greatest - least), 0.004) if greatest > least else 0.3
        low, high = least - margin, greatest + margin
        zero = -math.inf in all_logs
        begin = low - max(0.15 * (high - low), 0.02) if zero else low
        ticks = (((begin, "0"),) if zero else ()) + _marks(low, high)
        return cls(True, begin, begin + (high - begin) / (1.0 - room), ticks)

    def place(self, log: float) -> float:
        """Return the position of the number with this logarithm."""
        if log == -math.inf:
            return self.begin
        return min(log, self.end) if self.logarithmic else 10.0**log

    def bars(self, logs: Iterable[float]) -> dict[str, Any]:
        """Return the settings of horizontal bars from the axis's begin to these numbers."""
        lengths = [self.place(log) - self.begin for log in logs]
        return {"orientation": "h", "base": self.begin, "x": lengths}

    def share(self, place: float) -> float:
        """Return how far from the axis's lower end a position lies, 0 to 1."""
        low, high = self._range()
        return (place - low) / (high - low)

    def _range(self) -> tuple[float, float]:
        # It begins slightly before its least place, so that a mark there is whole.
        least = self.begin if self.logarithmic else 0.0
        return least - 0.012 * (self.end - least), self.end

    def axis(self) -> dict[str, Any]:
        """Return the settings of a plotly axis."""
        if not self.logarithmic:
            return {"range": list(self._range())}
        return {
            "range": list(self._range()),
            "tickangle": 0,
            "tickvals": [position for position, _ in self.ticks],
            "ticktext": [text for _, text in self.ticks],
        }


@dataclass(frozen=True, slots=True)
class TextScale:
    """Where texts lie on an axis: side by side in their order.

    By default plotly would read texts as numbers, dates or markup.

    Attributes:
        texts: The different texts in ascending order.
    """

    texts: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> TextScale:
        """Return a scale for texts."""
        return cls(tuple(sorted(set(texts))))

    def place(self, text: str) -> int:
        """Return the position of a text."""
        return bisect_left(self.texts, text)

    def axis(self) -> dict[str, Any]:
        """Return the settings of a plotly axis; of many texts only some are labelled."""
        places = range(0, len(self.texts), -(-len(self.texts) // _MOST_TICKS))
        return {
            "range": [-0.5, len(self.texts) - 0.5],
            "tickvals": list(places),
            "ticktext": [shown(cut(self.texts[place], _TEXT_LENGTH)) for place in places],
        }


def log10(value: float) -> float:
    """Return the logarithm to base ten, -infinity for zero."""
    return math.log10(value) if value > 0 else -math.inf


def _powers(low: int, greatest: float) -> tuple[tuple[float, str], ...]:
    step = max(1, math.ceil((greatest - low) / _MOST_TICKS))
    powers = range(low, math.floor(greatest) + 1, step)
    return tuple((float(power), _power(power)) for power in powers)


def _marks(low: float, high: float) -> tuple[tuple[float, str], ...]:
    """Return ticks between two logarithms: powers of ten, multiples of them, or even steps."""
    if high - low >= _FEWEST_TICKS:
        return tuple(tick for tick in _powers(math.ceil(low), high) if tick[0] >= low)
    if max(abs(low), abs(high)) >= _FLOAT_DIGITS:
        return tuple((log, _huge(log)) for log in (low, (low + high) / 2, high))
    for digits in _DIGITS:
        values = [
            digit * 10.0**power
            for power in range(math.floor(low), math.floor(high) + 1)
            for digit in digits
            if low <= math.log10(digit * 10.0**power) <= high
        ]
        if len(values) >= _FEWEST_TICKS:
            return tuple((math.log10(value), _short(value)) for value in values)
    return _steps(10.0**low, 10.0**high)


def _huge(log: float) -> str:
    """Return a number that no float holds, by its logarithm, as "3.42e1512"."""
    tens, rest = divmod(log, 1)
    return f"{10**rest:.2f}e{tens:.0f}"


def _steps(low: float, high: float) -> tuple[tuple[float, str], ...]:
    """Return ticks at equal distances, for numbers that are nearly the same."""
    rough = (high - low) / 4
    power = math.floor(math.log10(rough))
    step = next(d for d in (1, 2, 5, 10) if d * 10.0**power >= rough) * 10.0**power
    values = [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
    unit = 10.0 ** (3 * math.floor(math.log10(high) / 3)) if high >= _LONG else 1.0
    name = _UNITS.get(unit, f"e{math.log10(unit):.0f}") if unit > 1 else ""
    places = max(0, -math.floor(math.log10(step / unit) + 1e-9))
    return tuple((math.log10(value), f"{value / unit:.{places}f}{name}") for value in values)


def _power(power: int) -> str:
    if -4 <= power <= 2:
        return f"{10.0**power:.{max(0, -power)}f}"
    return _short(10.0**power) if 3 <= power < 12 else f"1e{power}"


def _short(value: float) -> str:
    """Return a number of few digits as "5", "1.5k", "20M"."""
    for least, letter in _UNITS.items():
        if least <= value < 1e12:
            return f"{value / least:g}{letter}"
    return number(value)
