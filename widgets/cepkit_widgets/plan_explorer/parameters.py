"""The numbers that plans depend on, as sliders."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cepkit.errors import ArgumentError
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import CountWindow, TimeWindow
from cepkit.pattern.printer import structure_text
from cepkit.pattern.query import Query
from cepkit.statistics.model import Statistics
from cepkit.tables import number

Kind: TypeAlias = Literal["rate", "selectivity", "window", "alpha"]

WINDOW, ALPHA = "window", "alpha"
_UNITS = (("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))
_ALPHA_MOST = 10.0


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that the user can change.

    Attributes:
        name: Its name in the app, as ``"rate:a"``.
        kind: Its kind.
        label: Its name for the user.
        variables: The variables whose rate or selectivity it is.
        measured: Its value in the statistics or the query.
        low: The least value; 0 if the slider is not logarithmic.
        high: The greatest value.
        unit: Of the value.
    """

    name: str
    kind: Kind
    label: str
    variables: tuple[str, ...]
    measured: float
    low: float
    high: float
    unit: str = ""

    def position(self, value: float) -> float:
        """Return where on the slider a value is, from 0 to 1."""
        if self.low <= 0:
            return min(1.0, max(0.0, value / self.high))
        if value <= self.low:
            return 0.0
        return min(1.0, math.log(value / self.low) / math.log(self.high / self.low))

    def at(self, position: float) -> float:
        """Return the value at a position of the slider; it snaps to the measured value."""
        share = min(1.0, max(0.0, position))
        if abs(share - self.position(self.measured)) < 1e-9:
            return self.measured
        if self.low <= 0:
            return share * self.high
        return float(self.low * (self.high / self.low) ** share)

    def check(self, value: object) -> None:
        """Refuse invalid values."""
        most = 1.0 if self.kind == "selectivity" else math.inf
        if not isinstance(value, int | float) or not 0 <= value <= most or math.isinf(value):
            raise ArgumentError(
                f"{self.label} is {value}",
                expected="0 to 1" if most == 1 else "a number, 0 or more",
            )

    def text(self, value: float) -> str:
        """Return a value with its unit."""
        if self.unit == "s":
            for unit, seconds in _UNITS:
                if value >= seconds:
                    return f"{value / seconds:.3g} {unit}"
            return f"{value:.3g} s"
        if self.kind == "alpha":
            return f"{value:.2f}"
        return f"{number(float(f'{value:.3g}'))}{self.unit}"


def parameters_of(query: Query, statistics: Statistics) -> tuple[Parameter, ...]:
    """Return the parameters: rates, selectivities of pairs of variables, the window, alpha."""
    branches = normal_form(query)
    texts = {
        event.variable: structure_text(event)
        for branch in branches
        for event in (*branch.positive, *branch.negated)
    }
    found = []
    for variable, rate in statistics.rates.items():
        label = f"rate of {texts.get(variable, variable)}"
        low, high = (rate / 100, rate * 100) if rate > 0 else (1e-3, 10.0)
        found.append(
            Parameter(f"rate:{variable}", "rate", label, (variable,), rate, low, high, "/s")
        )
    order = list(statistics.rates)
    for names, selectivity in statistics.selectivities.items():
        if len(names) != 2:
            continue
        one, other = sorted(names, key=order.index)
        share = selectivity.share
        low = min(1e-4, share / 10) if share > 0 else 1e-4
        found.append(
            Parameter(
                f"selectivity:{one},{other}", "selectivity", f"conditions {one}, {other}",
                (one, other), share, low, 1.0,
            )
        )  # fmt: skip
    match query.window:
        case TimeWindow(microseconds):
            seconds = microseconds / 1e6
            if seconds > 0:
                found.append(
                    Parameter(
                        WINDOW, "window", "window", (), seconds, seconds / 100, seconds * 100, "s"
                    )
                )
        case CountWindow(events):
            found.append(
                Parameter(WINDOW, "window", "window", (), events, 1.0, events * 100.0, " events")
            )
        case None:
            pass
    found.append(Parameter(ALPHA, "alpha", "alpha: weight of latency", (), 0.5, 0.0, _ALPHA_MOST))
    return tuple(found)
