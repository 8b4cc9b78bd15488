"""Selectivities with their standard errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from cepkit.errors import StatisticsError, shown

_Z95 = 1.959963984540054
_MOST_RATE = 1e100
_LEAST_SAMPLE = 1e-9
"""The size of a sample that says nothing."""


@dataclass(frozen=True, slots=True)
class Selectivity:
    """The share of combinations that satisfy the conditions about exactly their variables.

    Attributes:
        share: The share, between 0 and 1.
        pairs: The number of examined combinations; None if the share is exact or assumed.
        standard_error: The standard error of the share; 0 if it is exact or assumed.
    """

    share: float
    pairs: int | None = None
    standard_error: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", checked_share(self.share, "a selectivity"))
        error = not_negative(self.standard_error, "a standard error")
        object.__setattr__(self, "standard_error", error)
        if self.pairs is not None and not 0 <= self.pairs < 2**63:
            raise StatisticsError(
                f"the number of sampled pairs is {shown(self.pairs)}",
                expected="0 or more, below 2^63",
            )

    def interval(self) -> tuple[float, float]:
        """Return the 95 % confidence interval (Wilson's, which is right near 0 and 1 as well)."""
        spread = self.share * (1.0 - self.share)
        if self.standard_error > 0 and spread > 0:
            size = spread / self.standard_error / self.standard_error  # a square may overflow
        elif self.pairs is not None:
            size = float(self.pairs)
        else:
            return self.share, self.share
        if size < _LEAST_SAMPLE:
            return 0.0, 1.0
        z2 = _Z95 * _Z95
        center = (self.share + z2 / (2 * size)) / (1 + z2 / size)
        half = _Z95 / (1 + z2 / size) * math.sqrt(spread / size + z2 / (4 * size * size))
        # At 0 and 1 the formula gives the share itself up to rounding.
        low, high = max(0.0, center - half), min(1.0, center + half)
        return min(low, self.share), max(high, self.share)


@dataclass(frozen=True, slots=True)
class Equality:
    """The share of pairs of events of two variables with equal keys.

    Attributes:
        by_frequency: The share among all pairs of events of the two types in the whole stream,
            regardless of times and other conditions: exact, from the frequency of each key. None if
            the keys were not counted.
        in_window: The share among the pairs that pass the variables' own conditions and lie inside
            the window, in the pattern's order and in one partition. It exceeds `by_frequency` if
            equal keys come in bursts.
    """

    by_frequency: float | None
    in_window: Selectivity

    def __post_init__(self) -> None:
        if self.by_frequency is not None:
            share = checked_share(self.by_frequency, "the share of equal keys")
            object.__setattr__(self, "by_frequency", share)


@dataclass(frozen=True, slots=True)
class Joined:
    """The partial matches of a set of variables, counted in a sample of their join.

    Shares refer to all combinations of events that pass the variables' own conditions, regardless
    of their times: counts times a share is a number of combinations in the stream.

    Attributes:
        in_scope: The share that lies in scope: in one window and partition, in the pattern's order,
            and with equal keys if keys must be equal.
        hits: The number of partial matches among the draws, all if the sample is complete; fewer
            count if draws depend on each other.
        each: The share that each hit stands for.
        exact: Whether the sample is complete.
    """

    in_scope: float
    hits: float
    each: float
    exact: bool = False

    def __post_init__(self) -> None:
        for name, what in (
            ("in_scope", "the share of combinations in scope"),
            ("hits", "the number of partial matches drawn"),
            ("each", "the share that a partial match stands for"),
        ):
            object.__setattr__(self, name, not_negative(getattr(self, name), what))

    @property
    def share(self) -> float:
        """The share of all combinations that are partial matches."""
        return self.hits * self.each


def not_negative(value: float, what: str) -> float:
    """Return a number that is finite and not below zero.

    Raises:
        StatisticsError: The number is negative or not finite.
    """
    if not (_is_number(value) and math.isfinite(value) and value >= 0):
        raise StatisticsError(f"{what} is {shown(value)}", expected="a finite number, 0 or more")
    return float(value)


def checked_rate(value: float, variable: str) -> float:
    """Return a rate of events whose products with windows are finite.

    Raises:
        StatisticsError: The number is negative or too large.
    """
    rate = not_negative(value, f"the rate of '{variable}'")
    if rate > _MOST_RATE:
        raise StatisticsError(
            f"the rate of '{variable}' is {rate:.4g} events per second",
            expected=f"at most {_MOST_RATE:.0e}",
        )
    return rate


def checked_share(value: float, what: str) -> float:
    """Return a number between 0 and 1.

    Raises:
        StatisticsError: The number is outside.
    """
    if not (_is_number(value) and 0 <= value <= 1):
        raise StatisticsError(f"{what} is {shown(value)}", expected="a share between 0 and 1")
    return float(value)


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, Real) and float(value) is not None
    except OverflowError:  # an integer that no float holds
        return False
