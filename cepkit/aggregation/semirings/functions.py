"""Aggregates as semirings: sums over matches of products along each match.

An aggregate of a set of matches is an *element*. `plus` joins the elements of two disjoint sets
of matches; `times` gives the element of all matches that are a match of one set followed by one
of another; `lift` is the element of a single event. With these, every method works for every
aggregate: prefix counting becomes prefix counting over a semiring. The aggregates of the language
are on a shelf, `cepkit.pattern.aggregates`, and run as `OfValues`; a user-defined aggregate is one
more class of this kind.

Source: ASEQ, section 5, with its two rules corrected: SUM cannot be scaled by a ratio of counts,
and MIN and MAX must not see events that belong to no match.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeAlias

from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.aggregates.contract import (
    EXTREMES,
    Accumulator,
    AggregateFunction,
    exact,
    merged,
    state_of,
)
from cepkit.pattern.conditions import Aggregate

Element: TypeAlias = Any
"""The aggregate state of a set of matches; never changed in place."""

Reads: TypeAlias = tuple[tuple[str, str | None], ...]
"""(variable, attribute) pairs that a function reads; attribute None: only that an event exists."""


class Semiring(Protocol):
    """The contract of an aggregate: the operations of its semiring.

    `plus` is associative and commutative with the neutral `zero`; `times` is associative with the
    neutral `one`, distributes over `plus`, and gives `zero` where a side is `zero`.
    """

    @property
    def zero(self) -> Element:
        """The element of no match."""
        ...

    @property
    def one(self) -> Element:
        """The element of an empty match, and of an event that the function ignores."""
        ...

    def plus(self, x: Element, y: Element) -> Element:
        """Return the element of two disjoint sets of matches together."""
        ...

    def times(self, x: Element, y: Element) -> Element:
        """Return the element of every match of one set followed by every one of the other."""
        ...


class Function(Semiring, Protocol):
    """The contract of an aggregate: a semiring, and the way into it and out of it."""

    @property
    def reads(self) -> Reads:
        """The attributes that it reads; no variable twice."""
        ...

    def lift(self, variable: str, value: Any, /) -> Element:
        """Return the element of one event.

        Args:
            variable: The variable of `reads` that the event is bound to.
            value: Its attribute: a number, a text, a truth value, a time in microseconds, or
                None where it is missing.
        """
        ...

    def result(self, x: Element) -> Any:
        """Return the final value; None if it is missing."""
        ...


@dataclass(frozen=True, slots=True)
class Count:
    """COUNT: the number of matches."""

    reads: ClassVar[Reads] = ()
    zero: ClassVar[int] = 0
    one: ClassVar[int] = 1

    def plus(self, x: int, y: int) -> int:
        """Return the element of two disjoint sets of matches together."""
        return x + y

    def times(self, x: int, y: int) -> int:
        """Return the element of every match of one followed by every one of the other."""
        return x * y

    def lift(self, _: str, __: Any, /) -> int:
        """Return the element of one event."""
        return 1

    def result(self, x: int) -> int:
        """Return the value that is shown."""
        return x


@dataclass(frozen=True, slots=True)
class OfValues:
    """An aggregate of the language over values. An element is (matches, values, *accumulators).

    Attributes:
        name: Its name on the shelf (`cepkit.pattern.aggregates`).
        variable: Of which events.
        attribute: Of which attribute of them; None: that there is an event.
    """

    name: str
    variable: str
    attribute: str | None

    @property
    def definition(self) -> AggregateFunction:
        """The aggregate of the language: its accumulators, and its result."""
        return AGGREGATES[self.name]

    @property
    def reads(self) -> Reads:
        """The attribute that the function aggregates."""
        return ((self.variable, self.attribute),)

    @property
    def zero(self) -> Element:
        """The element of no match."""
        return (0, 0, *self._nothing)

    @property
    def one(self) -> Element:
        """The element of an empty match, and of an event without a value."""
        return (1, 0, *self._nothing)

    def plus(self, x: Element, y: Element) -> Element:
        """Return the element of two disjoint sets of matches together."""
        return x[0] + y[0], x[1] + y[1], *self._joined(x, y, 1, 1)

    def times(self, x: Element, y: Element) -> Element:
        """Return the element of every match of one followed by every one of the other."""
        (m, i, *_), (n, j, *_) = x, y
        if not m or not n:
            return self.zero  # infinity times 0 matches must be 0, not NaN
        # The best of all pairs is the better of the best two.
        return m * n, i * n + m * j, *self._joined(x, y, n, m)

    def lift(self, _: str, value: Any, /) -> Element:
        """Return the element of one event."""
        return (
            self.one
            if value is None
            else (1, 1, *(_state(each, value) for each in self.definition.state))
        )

    def result(self, x: Element) -> Any:
        """Return the value that is shown."""
        _, number, *values = x
        if any(isinstance(value, float) and not math.isfinite(value) for value in values):
            number = min(number, _MOST)  # infinity divided by anything
        result = self.definition.result(number, values)
        if not isinstance(result, Fraction):
            return result
        try:
            return float(result)
        except OverflowError:
            return math.inf if result > 0 else -math.inf

    @property
    def _nothing(self) -> Element:
        return tuple(None if each in EXTREMES else 0 for each in self.definition.state)

    def _joined(self, x: Element, y: Element, m: int, n: int) -> Element:
        """Return the accumulators of both, those of `x` m times and those of `y` n times."""
        return tuple(
            merged(each, a, b) if each in EXTREMES else _sum(a, m, b, n)
            for each, a, b in zip(self.definition.state, x[2:], y[2:], strict=True)
        )


_MOST = 2**53
"""A number of values that floats hold."""


def _state(accumulator: Accumulator, value: Any) -> Any:
    """Return the state of an accumulator after one value; sums are exact."""
    state = state_of(accumulator, value)
    return state if accumulator in EXTREMES else exact(state)


def _sum(x: Any, m: int, y: Any, n: int) -> Any:
    """Return m x + n y, where floats are infinite or no number."""
    try:
        return x * m + y * n
    except OverflowError:  # a number of matches, or a sum, beyond floats
        return sum(each for each in (x, y) if isinstance(each, float))


LanguageFunction: TypeAlias = Count | OfValues
"""The aggregates that a pattern's text can ask for."""


def function_of(aggregate: Aggregate) -> LanguageFunction:
    """Return the function of an aggregate in a query."""
    if aggregate.variable is None:
        return Count()
    return OfValues(aggregate.function, aggregate.variable, aggregate.attribute)


def product(function: Semiring, elements: Sequence[Element]) -> Element:
    """Return the element of one match, given those of its events."""
    result = function.one
    for element in elements:
        result = function.times(result, element)
    return result
