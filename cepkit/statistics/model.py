"""Statistics of a stream for a pattern: the value that cost models and planners work on.

Rates and selectivities are as in *Join Query Optimization Techniques for Complex Event
Processing Applications* (VLDB 2018), section 4.1. The source multiplies a rate by the
selectivity of the variable's own filter; here `rates` are before and `rate()` is after it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType

from cepkit.errors import StatisticsError, nearest
from cepkit.stream.columns import Dropped

_NOTHING: Mapping[str, float] = MappingProxyType({})
_Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Selectivity:
    """The share of combinations that satisfy the conditions about exactly their variables.

    Attributes:
        share: Between 0 and 1.
        pairs: How many combinations were looked at; None where the share is exact or assumed.
        standard_error: Of the share; 0 where it is exact or assumed.
    """

    share: float
    pairs: int | None = None
    standard_error: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", _share(self.share, "a selectivity"))
        error = _not_negative(self.standard_error, "a standard error")
        object.__setattr__(self, "standard_error", error)
        if self.pairs is not None and self.pairs < 0:
            raise StatisticsError(
                f"the number of sampled pairs is {self.pairs}", expected="0 or more"
            )

    def interval(self) -> tuple[float, float]:
        """Return the 95 % confidence interval (Wilson's, which is right near 0 and 1 as well)."""
        spread = self.share * (1.0 - self.share)
        if self.standard_error > 0 and spread > 0:
            size = spread / self.standard_error**2
        elif self.pairs is not None:
            size = float(self.pairs)
        else:
            return self.share, self.share
        if size == 0:
            return 0.0, 1.0
        z2 = _Z95 * _Z95
        center = (self.share + z2 / (2 * size)) / (1 + z2 / size)
        half = _Z95 / (1 + z2 / size) * math.sqrt(spread / size + z2 / (4 * size * size))
        # At the ends the formula gives the share itself, but for the last digit.
        low, high = max(0.0, center - half), min(1.0, center + half)
        return min(low, self.share), max(high, self.share)


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is known of a stream in the light of a pattern. A value: compare, hash, edit, save.

    Attributes:
        rates: For each variable the events per second of its types, before its own conditions.
        filters: For each variable the share of those events that pass the conditions about it
            alone; a variable that is not there has none (1).
        selectivities: For each set of two or more variables the selectivity of the conditions
            about exactly that set, among its combinations of events that lie inside the window,
            in the pattern's order and in one partition; a set that is not there has none (1).
        same_key: The share of pairs of events that are in one partition (PARTITION BY).
        events: The events of the stream, of all types.
        dropped: The rows that are no events (without time or type); not among `events`.
        first: The time of the first event in microseconds since 1970, None for an empty stream.
        last: The time of the last event.
        never_occurring: The types that the pattern names and the stream does not have.
    """

    rates: Mapping[str, float]
    filters: Mapping[str, float] = field(default_factory=lambda: _NOTHING)
    selectivities: Mapping[frozenset[str], Selectivity] = field(
        default_factory=lambda: MappingProxyType({})
    )
    same_key: float = 1.0
    events: int = 0
    dropped: Dropped = field(default_factory=Dropped)
    first: int | None = None
    last: int | None = None
    never_occurring: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        rates = {v: _not_negative(r, f"the rate of '{v}'") for v, r in self.rates.items()}
        filters = {v: _share(s, f"the filter of '{v}'") for v, s in self.filters.items()}
        shares = {frozenset(names): s for names, s in self.selectivities.items()}
        for names in (*map(_alone, filters), *shares):
            for variable in sorted(names):
                _check_known(variable, rates)
        if any(len(names) < 2 for names in shares):
            raise StatisticsError(
                "a selectivity of fewer than two variables",
                expected="the share that passes a variable's own conditions in 'filters'",
            )
        _check_stream(self)
        object.__setattr__(self, "rates", MappingProxyType(rates))
        object.__setattr__(self, "filters", MappingProxyType(filters))
        object.__setattr__(self, "selectivities", MappingProxyType(shares))
        object.__setattr__(self, "same_key", _share(self.same_key, "the share of one partition"))

    @classmethod
    def assumed(
        cls,
        rates: Mapping[str, float],
        selectivities: Mapping[tuple[str, ...], float] | None = None,
        *,
        filters: Mapping[str, float] | None = None,
        same_key: float = 1.0,
        span_seconds: float = 3600.0,
    ) -> Statistics:
        """Return statistics that are assumed, not measured: for what-if and for teaching.

        Args:
            rates: For each variable its events per second.
            selectivities: For sets of variables the share that satisfies their conditions.
            filters: For variables the share that passes their own conditions.
            same_key: The share of pairs of events in one partition.
            span_seconds: How long a stream to imagine, for expected totals.
        """
        last = round(span_seconds * 1e6)
        return cls(
            rates,
            filters or {},
            {frozenset(v): Selectivity(s) for v, s in (selectivities or {}).items()},
            same_key,
            events=round(sum(rates.values()) * span_seconds),
            first=0,
            last=last,
        )

    @property
    def span_seconds(self) -> float:
        """The time from the first to the last event in seconds; 0 for an empty stream."""
        return 0.0 if self.first is None or self.last is None else (self.last - self.first) / 1e6

    def rate(self, variable: str) -> float:
        """Return the events per second that `variable` can take, its own conditions applied."""
        _check_known(variable, self.rates)
        return self.rates[variable] * self.filters.get(variable, 1.0)

    def selectivity(self, *variables: str) -> float:
        """Return the share of the conditions about exactly these variables; 1 without any."""
        for variable in variables:
            _check_known(variable, self.rates)
        found = self.selectivities.get(frozenset(variables))
        return 1.0 if found is None else found.share

    def with_rate(self, variable: str, rate: float) -> Statistics:
        """Return the same with another rate (events per second, before its own conditions)."""
        _check_known(variable, self.rates)
        return replace(self, rates={**self.rates, variable: rate})

    def with_selectivity(self, first: str, second: str, share: float) -> Statistics:
        """Return the same with another selectivity of the conditions between two variables."""
        pair = frozenset((first, second))
        return replace(self, selectivities={**self.selectivities, pair: Selectivity(share)})

    def to_json(self) -> str:
        """Return the statistics as JSON; `from_json` reads it."""
        from cepkit.statistics.saved import to_json

        return to_json(self)

    @staticmethod
    def from_json(text: str) -> Statistics:
        """Return the statistics that `to_json` wrote.

        Raises:
            StatisticsError: The text is something else.
        """
        from cepkit.statistics.saved import from_json

        return from_json(text)

    def __hash__(self) -> int:
        mappings = (self.rates, self.filters, self.selectivities)
        rest = (self.same_key, self.events, self.dropped, self.first, self.last)
        return hash((*(frozenset(m.items()) for m in mappings), *rest, self.never_occurring))

    # Read-only mappings cannot be pickled, plain ones can.
    def __reduce__(self) -> tuple[object, ...]:
        values = (getattr(self, f.name) for f in fields(self))
        return Statistics, tuple(dict(v) if isinstance(v, Mapping) else v for v in values)

    def __str__(self) -> str:
        from cepkit.statistics.printer import to_text

        return to_text(self)

    def _repr_html_(self) -> str:
        from cepkit.statistics.printer import to_html

        return to_html(self)


def _alone(variable: str) -> frozenset[str]:
    return frozenset((variable,))


def _not_negative(value: float, what: str) -> float:
    if not (math.isfinite(value) and value >= 0):
        raise StatisticsError(f"{what} is {value}", expected="a finite number, 0 or more")
    return float(value)


def _share(value: float, what: str) -> float:
    if not 0 <= value <= 1:
        raise StatisticsError(f"{what} is {value}", expected="a share between 0 and 1")
    return float(value)


def _check_known(variable: str, known: Iterable[str]) -> None:
    names = tuple(known)
    if variable not in names:
        raise StatisticsError(
            f"the statistics have no rate of a variable '{variable}'",
            expected=f"one of {', '.join(names)}" if names else None,
            hint=nearest(variable, names),
        )


def _check_stream(statistics: Statistics) -> None:
    first, last = statistics.first, statistics.last
    if statistics.events < 0:
        raise StatisticsError(f"a stream of {statistics.events} events", expected="0 or more")
    if (first is None) != (last is None):
        raise StatisticsError("only one of the times of the first and the last event is given")
    if first is not None and last is not None and last < first:
        raise StatisticsError(f"the last event (at {last}) is before the first (at {first})")
