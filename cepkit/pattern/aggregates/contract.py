"""The contract of aggregates: accumulators of values, and the result made of them.

Values are those of one attribute, each as often as matches have it; of KL sets those of all
members. Missing ones are left out, as in SQL. An aggregate says which *accumulators* it needs, and
every method carries these: so it is defined once, here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial, reduce
from typing import Any, Literal, TypeAlias, assert_never

from cepkit.values import dataclass

Accumulator: TypeAlias = Literal["sum", "deviations", "squares", "least", "greatest"]
"""What is kept of values beside their number. `deviations` and `squares` are the sums of the
differences to some number, whichever loses the fewest digits, and of their squares."""

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
        name: As patterns have it, in lower case.
        takes: A key of `TAKES`. "anything" includes events themselves, as COUNT(b); "amounts" in
            conditions on sets also durations.
        finish: Gives the result, of the number of values and the accumulators: numbers, or arrays
            of them. Whole numbers come as integers, which arrays of objects hold where they are
            beyond 64 bits.
        gives: "integer", "float", or what the values are.
        least: Of how many values at least there is a result; of fewer it is missing.
    """

    name: str
    takes: Literal["anything", "ordered", "amounts", "numbers"]
    state: tuple[Accumulator, ...]
    finish: Callable[..., Any]
    gives: Literal["integer", "float", "same"]
    least: int = 1

    @property
    def adds(self) -> bool:
        """Whether everything that it needs is added up."""
        return not {*self.state} & {*EXTREMES}

    def accepts(self, kind: str) -> bool:
        """Return whether AGG takes values of a kind: sums of times or durations have no column."""
        match self.takes:
            case "anything":
                return True
            case "ordered":
                return kind != "array"
            case "amounts" | "numbers":
                return kind in ("integer", "float", "null", "any")
            case _:
                assert_never(self.takes)

    def result(self, number: int, held: Sequence[Any]) -> Any:
        """Return the result of so many values and their accumulators, None where it is missing."""
        if number < self.least:
            return None
        value = self.finish(number, *held)
        return value.item() if hasattr(value, "dtype") else value

    def of(self, values: Sequence[Any]) -> Any:
        """Return the result of some values."""
        held = [
            reduce(partial(joined, each), [kept(each, value) for value in values], None)
            for each in self.state
        ]
        return self.result(len(values), held)


def kept(accumulator: Accumulator, value: Any) -> Any:
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


def joined(accumulator: Accumulator, x: Any, y: Any) -> Any:
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
    """Return a number such that sums of it, and of its square, are exact; not if it is infinite."""
    return Fraction(number) if isinstance(number, float) and math.isfinite(number) else number
