"""Aggregates as semirings: what is added up over matches and multiplied along one.

An aggregate of a set of matches is an *element*. `plus` joins the elements of two disjoint sets
of matches; `times` gives the element of all matches that are a match of one set followed by one
of another; `lift` is the element of a single event. With that every method aggregates without
knowing what: prefix counting is prefix counting over a semiring. The five functions of the
language stand below; a new one is one more class of this kind.

Values that are missing (null, NaN) are left out, as in SQL; SUM, AVG, MIN and MAX of no values are
missing themselves, and COUNT of none is 0.

Source: ASEQ, section 5, with its two rules corrected: SUM cannot be scaled by a ratio of counts,
and MIN and MAX must not see events that belong to no match.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

from cepkit.pattern.conditions import Aggregate

Element: TypeAlias = Any
"""What a function knows of a set of matches; never changed in place."""

Reads: TypeAlias = tuple[tuple[str, str | None], ...]
"""(variable, attribute): what a function looks at; None: that there is an event."""


class Semiring(Protocol):
    """What methods need to know of an aggregate.

    `plus` is associative and commutative with the neutral `zero`; `times` is associative with the
    neutral `one`, distributes over `plus`, and gives `zero` where a side is `zero`.
    """

    @property
    def zero(self) -> Element:
        """The element of no match."""
        ...

    @property
    def one(self) -> Element:
        """The element of one match of nothing, and of an event that the function ignores."""
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
        """The attributes it looks at; no variable twice."""
        ...

    def lift(self, variable: str, value: Any, /) -> Element:
        """Return the element of one event.

        Args:
            variable: The one of `reads` that the event is bound to.
            value: Its attribute: a number, a text, a truth value, a time in microseconds, or
                None where it is missing.
        """
        ...

    def result(self, x: Element) -> Any:
        """Return the value that is shown, None where it is missing."""
        ...


@dataclass(frozen=True, slots=True)
class Count:
    """COUNT: how many matches there are."""

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
class Sum:
    """SUM(variable.attribute). An element is (matches, values, sum of the values)."""

    variable: str
    attribute: str | None
    zero: ClassVar[tuple[int, int, int]] = (0, 0, 0)
    one: ClassVar[tuple[int, int, int]] = (1, 0, 0)

    @property
    def reads(self) -> Reads:
        """The attribute that it is of."""
        return ((self.variable, self.attribute),)

    def plus(self, x: Element, y: Element) -> Element:
        """Return the element of two disjoint sets of matches together."""
        return x[0] + y[0], x[1] + y[1], x[2] + y[2]

    def times(self, x: Element, y: Element) -> Element:
        """Return the element of every match of one followed by every one of the other."""
        (m, i, s), (n, j, t) = x, y
        # Infinity times no matches is nothing, not NaN.
        return m * n, i * n + m * j, (s * n if n else 0) + (m * t if m else 0)

    def lift(self, _: str, value: Any, /) -> Element:
        """Return the element of one event."""
        return (1, 0, 0) if value is None else (1, 1, value)

    def result(self, x: Element) -> Any:
        """Return the value that is shown."""
        return x[2] if x[1] else None


@dataclass(frozen=True, slots=True)
class CountValues(Sum):
    """COUNT(variable.attribute), COUNT(variable): how many matches have a value there."""

    def lift(self, _: str, value: Any, /) -> Element:
        """Return the element of one event."""
        return (1, 0, 0) if value is None else (1, 1, 1)

    def result(self, x: Element) -> int:
        """Return the value that is shown."""
        return int(x[1])


@dataclass(frozen=True, slots=True)
class Mean(Sum):
    """AVG(variable.attribute)."""

    def result(self, x: Element) -> float | None:
        """Return the value that is shown."""
        return x[2] / x[1] if x[1] else None


@dataclass(frozen=True, slots=True)
class Least:
    """MIN(variable.attribute). An element is None, or the least value inside a tuple."""

    variable: str
    attribute: str | None
    zero: ClassVar[None] = None
    one: ClassVar[tuple[()]] = ()

    @property
    def reads(self) -> Reads:
        """The attribute that it is of."""
        return ((self.variable, self.attribute),)

    def plus(self, x: Element, y: Element) -> Element:
        """Return the element of two disjoint sets of matches together."""
        if x is None or y is None:
            return y if x is None else x
        return self._better(x, y)

    def times(self, x: Element, y: Element) -> Element:
        """Return the element of every match of one followed by every one of the other."""
        # Of a match of two parts it is the better of both, so of all pairs of the best two.
        return None if x is None or y is None else self._better(x, y)

    def lift(self, _: str, value: Any, /) -> Element:
        """Return the element of one event."""
        return () if value is None else (value,)

    def result(self, x: Element) -> Any:
        """Return the value that is shown."""
        return x[0] if x else None

    def _better(self, x: Element, y: Element) -> Element:
        return min(x, y) if x and y else x or y


@dataclass(frozen=True, slots=True)
class Greatest(Least):
    """MAX(variable.attribute)."""

    def _better(self, x: Element, y: Element) -> Element:
        return max(x, y) if x and y else x or y


def function_of(aggregate: Aggregate) -> Function:
    """Return the function that an aggregate of a query asks for."""
    variable, attribute = aggregate.variable, aggregate.attribute
    if variable is None:
        return Count()
    kinds: dict[str, type[Sum | Least]] = {
        "count": CountValues,
        "sum": Sum,
        "avg": Mean,
        "min": Least,
        "max": Greatest,
    }
    return kinds[aggregate.function](variable, attribute)


def product(function: Semiring, elements: Sequence[Element]) -> Element:
    """Return the element of one match, given those of its events."""
    whole = function.one
    for element in elements:
        whole = function.times(whole, element)
    return whole


def known(value: Any) -> Any:
    """Return a value, None where it is missing."""
    return None if isinstance(value, float) and math.isnan(value) else value
