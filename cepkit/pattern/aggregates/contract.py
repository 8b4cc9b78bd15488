"""The contract of aggregates: accumulators of values, and the result computed from them.

An aggregate is over the values of one attribute; a value counts once for each match that has it,
and a KL set contributes all its members. Missing values are left out, as in SQL. An aggregate names
its *accumulators*, and every method carries these, so an aggregate is defined once, here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from typing import Any, Literal, TypeAlias, assert_never

Accumulator: TypeAlias = Literal["sum", "deviations", "squares", "least", "greatest"]
"""The accumulators of a method besides the number of values. `deviations` and `squares` sum the
differences from an origin and their squares; the method chooses an origin that loses few digits."""

EXTREMES = ("least", "greatest")

TAKES = {
    "anything": "anything",
    "ordered": "numbers, texts, times, durations or truth values",
    "amounts": "numbers",
    "numbers": "numbers",
}


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """An aggregate of the language.

    Attributes:
        name: The name in patterns, in lower case.
        takes: A key of `TAKES`. "anything" includes events themselves, as in COUNT(b); "amounts"
            includes durations in conditions on sets.
        state: The accumulators that it needs.
        finish: Computes the result from the number of values and the accumulators: numbers, or
            arrays of them. Integers beyond 64 bits come in arrays of objects.
        gives: The kind of the result: "integer", "float", or "same" as the values.
        least: The least number of values for a result; with fewer the result is missing.
    """

    name: str
    takes: Literal["anything", "ordered", "amounts", "numbers"]
    state: tuple[Accumulator, ...]
    finish: Callable[..., Any]
    gives: Literal["integer", "float", "same"]
    least: int = 1

    @property
    def adds(self) -> bool:
        """Whether all its accumulators are sums."""
        return not {*self.state} & {*EXTREMES}

    def accepts(self, kind: str) -> bool:
        """Return whether AGG takes values of a kind; it does not sum times or durations."""
        match self.takes:
            case "anything":
                return True
            case "ordered":
                return kind != "array"
            case "amounts" | "numbers":
                return kind in ("integer", "float", "null", "any")
            case _:
                assert_never(self.takes)

    def result(self, number: int, accumulators: Sequence[Any]) -> Any:
        """Return the result for a number of values and their accumulators; None if missing."""
        if number < self.least:
            return None
        value = self.finish(number, *accumulators)
        return value.item() if hasattr(value, "dtype") else value

    def of(self, values: Sequence[Any]) -> Any:
        """Return the result for some values."""
        accumulators = [
            reduce(partial(merged, each), [state_of(each, value) for value in values], None)
            for each in self.state
        ]
        return self.result(len(values), accumulators)


def state_of(accumulator: Accumulator, value: Any) -> Any:
    """Return the state of an accumulator after one value."""
    match accumulator:
        case "deviations":
            return exact(value)
        case "squares":
            return exact(value) ** 2
        case "sum" | "least" | "greatest":
            return value
        case _:
            assert_never(accumulator)


def merged(accumulator: Accumulator, x: Any, y: Any) -> Any:
    """Combine two states of an accumulator; None is the state without values."""
    if x is None or y is None:
        return y if x is None else x
    match accumulator:
        case "least":
            return min(x, y)
        case "greatest":
            return max(x, y)
        case "sum" | "deviations" | "squares":
            return x + y
        case _:
            assert_never(accumulator)


def exact(number: Any) -> Any:
    """Return a finite number as a fraction, so that sums of it and of its square are exact."""
    return Fraction(number) if isinstance(number, float) and math.isfinite(number) else number
