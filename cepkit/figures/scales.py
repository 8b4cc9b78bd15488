"""An axis for numbers that may be zero, differ by powers of ten, or be too large for a float.

Numbers come as their logarithms to base ten (-infinity for zero). Where they differ much they
are placed by them, and zero has a place of its own below the smallest; else by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_LARGE_SPREAD = math.log10(50)
_MOST_TICKS = 7
_FLOAT_DIGITS = 300


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
        known = list(logs)
        finite = [log for log in known if math.isfinite(log)]
        least, greatest = min(finite, default=0.0), max(finite, default=0.0)
        share = 1.0 / (1.0 - room)
        if greatest - least < _LARGE_SPREAD and abs(greatest) < _FLOAT_DIGITS:
            return cls(False, 0.0, 10.0**greatest * share)
        low = math.floor(least)
        zero = -math.inf in known
        # A bar of the smallest number should still be seen.
        begin = low - (0.7 if zero else 0.3)
        ticks = (((begin, "0"),) if zero else ()) + _powers(low, greatest)
        return cls(True, begin, begin + (greatest - begin) * share, ticks)

    def place(self, log: float) -> float:
        """Return the position of the number with this logarithm."""
        if log == -math.inf:
            return self.begin
        return min(log, self.end) if self.logarithmic else 10.0**log

    def axis(self) -> dict[str, Any]:
        """Return the settings of a plotly axis."""
        if not self.logarithmic:
            # The axis begins a hair before zero so that a mark there is whole.
            return {"range": [-0.012 * self.end, self.end]}
        margin = 0.012 * (self.end - self.begin)
        return {
            "range": [self.begin - margin, self.end],
            "tickvals": [position for position, _ in self.ticks],
            "ticktext": [text for _, text in self.ticks],
        }


def log10(value: float) -> float:
    """Return the logarithm to base ten, -infinity for zero."""
    return math.log10(value) if value > 0 else -math.inf


def _powers(low: int, greatest: float) -> tuple[tuple[float, str], ...]:
    step = max(1, math.ceil((greatest - low) / _MOST_TICKS))
    powers = range(low, math.floor(greatest) + 1, step)
    return tuple((float(power), _power(power)) for power in powers)


def _power(power: int) -> str:
    if -4 <= power <= 2:
        return f"{10.0**power:.{max(0, -power)}f}"
    for least, letter in ((9, "B"), (6, "M"), (3, "k")):
        if least <= power < least + 3 and power < 12:
            return f"{10 ** (power - least)}{letter}"
    return f"1e{power}"
