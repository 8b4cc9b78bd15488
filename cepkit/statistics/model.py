"""Statistics of a stream for a pattern: the value that cost models and planners work on.

Rates and selectivities are as in *Join Query Optimization Techniques for Complex Event
Processing Applications* (VLDB 2018), section 4.1. The source multiplies a rate by the
selectivity of the variable's own filter; here `rates` are before and `rate()` is after it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, TypeVar

from cepkit.arguments import typed
from cepkit.errors import StatisticsError
from cepkit.files import JSON, write_text
from cepkit.pattern.nodes import events_of
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import CountWindow, TimeWindow, Window
from cepkit.pattern.query import Query
from cepkit.pattern.zones import without_zones
from cepkit.printing import WithPrinter
from cepkit.statistics.binding import CanonicalStatistics, conditioned_sets
from cepkit.statistics.checks import check_kinds, check_known, check_sets, check_stream
from cepkit.statistics.forecast import Forecast
from cepkit.statistics.keys import KeyCounts
from cepkit.statistics.lateness import Lateness
from cepkit.statistics.over_time import OverTime
from cepkit.statistics.selectivity import (
    Equality,
    Joined,
    Selectivity,
    checked_rate,
    checked_share,
    not_negative,
)
from cepkit.stream.columns import Dropped
from cepkit.tables import count_text

_NOTHING: Mapping[str, float] = MappingProxyType({})
_MOST_COMPUTED = 64
_LONGEST = 1e12  # the longest window in seconds or events: 31,700 years
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, repr=False)
class Statistics(WithPrinter):
    """Statistics of a stream for a pattern, as a value: compare, hash, edit, save.

    Attributes:
        rates: For each variable the events per second of its types, before its own conditions.
        filters: For each variable the share of those events that pass the conditions about it
            alone; a missing variable has no such conditions (1).
        selectivities: For each set of two or more variables the selectivity of the conditions
            about exactly that set, among its combinations of events that lie inside the window,
            in the pattern's order and in one partition; a missing set has no such conditions (1).
        same_key: The share of pairs of events that are in one partition (PARTITION BY).
        events: The events of the stream, of all types.
        dropped: The rows that are no events (no time or no type); not counted in `events`.
        first: The time of the first event in microseconds since 1970, None for an empty stream.
        last: The time of the last event.
        never_occurring: The types that the pattern names and the stream does not have.
        equalities: For each pair of variables with attributes that must be equal, the share of
            pairs of events that agree in them; the engine examines no other pairs. The selectivity
            of such a pair in `selectivities` covers all conditions between the two, also these.
        missing: For each attribute that the pattern reads, the share of events without a value
            (null or NaN), among the types of the variables that read it.
        over_time: The events in buckets of time; None if not measured.
        keys: The counts of the keys of PARTITION BY and of equalities.
        lateness: The events that came out of order; None if not measured.
        forecast: The expected matches and work of the pattern; None if not computed. An edit
            removes it.
        joins: For sets of variables the number of partial matches in a sample of their joins, which
            includes bursts and dependent conditions. Estimates for other sets assume even arrivals
            and independent conditions.
        query: The pattern of the variables. Several patterns measured together are one query with
            a branch for each; a name that two of them use becomes `a` and `a of pattern 2`. None
            if only the names are known.
        others: Statistics of the same stream for patterns with another window or partition.
        measured_events: The number of events, in slices of the stream, on which conditions were
            measured; None if on all events, or on none.

    Example:
        >>> import cepkit as ck
        >>> statistics = ck.Statistics.assumed({"a": 10, "b": 0.1}, {("a", "b"): 0.5})
        >>> statistics.rates["a"]
        10.0
        >>> statistics.moved(rates={"a": 20.0}).rates["a"]
        20.0
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
    equalities: Mapping[frozenset[str], Equality] = field(
        default_factory=lambda: MappingProxyType({})
    )
    missing: Mapping[str, float] = field(default_factory=lambda: _NOTHING)
    over_time: OverTime | None = None
    keys: tuple[KeyCounts, ...] = ()
    lateness: Lateness | None = None
    forecast: Forecast | None = None
    joins: Mapping[frozenset[str], Joined] = field(default_factory=lambda: MappingProxyType({}))
    query: Query | None = None
    others: tuple[Statistics, ...] = ()
    measured_events: int | None = None
    _canonical: CanonicalStatistics | None = field(
        default=None, init=False, repr=False, compare=False
    )
    _computed: dict[tuple[int, object], tuple[Branch, Any]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        check_kinds(_values_of(self))
        rates = {v: checked_rate(r, v) for v, r in self.rates.items()}
        filters = {v: checked_share(s, f"the filter of '{v}'") for v, s in self.filters.items()}
        shares = {frozenset(names): s for names, s in self.selectivities.items()}
        equal = {frozenset(names): e for names, e in self.equalities.items()}
        missing = {
            n: checked_share(s, f"the missing share of '{n}'") for n, s in self.missing.items()
        }
        joins = {frozenset(names): joined for names, joined in self.joins.items()}
        check_sets(rates, filters, shares, equal, joins)
        for event in () if self.query is None else events_of(self.query.structure):
            check_known(event.variable, rates)
        if any(other.query is None or self.query is None for other in self.others):
            raise StatisticsError("others= with statistics that do not know their pattern")
        check_stream(self.events, self.first, self.last)
        frozen: dict[str, Mapping[Any, Any]] = {"rates": rates, "filters": filters, "joins": joins}
        frozen |= {"selectivities": shares, "equalities": equal, "missing": missing}
        for name, numbers in frozen.items():
            object.__setattr__(self, name, MappingProxyType(numbers))
        object.__setattr__(self, "query", self.query and without_zones(self.query))
        same_key = checked_share(self.same_key, "the share of one partition")
        object.__setattr__(self, "same_key", same_key)

    @classmethod
    @typed
    def assumed(
        cls,
        rates: Mapping[str, float],
        selectivities: Mapping[tuple[str, ...], float] | None = None,
        *,
        filters: Mapping[str, float] | None = None,
        same_key: float = 1.0,
        span_seconds: float = 3600.0,
        pattern: str | Query | Any = None,
        others: Sequence[Statistics] = (),
    ) -> Statistics:
        """Return assumed statistics, for what-if and for teaching.

        Without `pattern` they go by the names of variables; a pattern takes only the numbers that
        it has conditions for. With it they go by events and conditions, as measured ones do.

        Args:
            rates: For each variable its events per second.
            selectivities: For sets of variables the share of combinations that satisfies their
                conditions.
            filters: For variables the share of events that passes their own conditions.
            same_key: The share of pairs of events in one partition.
            span_seconds: The length of the imagined stream, for expected totals.
            pattern: The pattern of the variables: a query, its text, or a value of the builder.
            others: Assumed statistics of other patterns over the same stream.

        Raises:
            PatternError: The pattern is invalid.
            StatisticsError: A number is invalid, or is about conditions that the pattern lacks.
        """
        seconds = not_negative(span_seconds, "the length of the stream")
        total = sum(checked_rate(rate, v) for v, rate in rates.items())
        statistics = cls(
            rates,
            filters or {},
            {frozenset(v): Selectivity(s) for v, s in (selectivities or {}).items()},
            same_key,
            events=_rounded(total * seconds),
            first=0,
            last=_rounded(seconds * 1e6),
        )
        if pattern is None:
            return replace(statistics, others=tuple(others))
        from cepkit.pattern.builder import as_query

        query = as_query(pattern)
        about = conditioned_sets(query)
        for names in (*({name} for name in statistics.filters), *statistics.selectivities):
            if names not in about:
                raise StatisticsError(
                    f"the share of conditions on {', '.join(sorted(names))}",
                    expected="variables that the pattern has conditions on",
                )
        shares = dict.fromkeys((n for n in about if len(n) > 1), Selectivity(1.0))
        return replace(
            statistics,
            filters={min(n): 1.0 for n in about if len(n) == 1} | {**statistics.filters},
            selectivities=shares | {**statistics.selectivities},
            query=query,
            others=tuple(others),
        )

    @property
    def span_seconds(self) -> float:
        """The time from the first to the last event in seconds; 0 for an empty stream."""
        return 0.0 if self.first is None or self.last is None else (self.last - self.first) / 1e6

    @property
    def basis(self) -> str:
        """The measured events in words: all, or some in slices."""
        if self.measured_events is None:
            return f"all {count_text(self.events, 'event')}"
        return f"{self.measured_events:,} of {self.events:,} events, in random slices"

    def rate(self, variable: str) -> float:
        """Return the events per second that `variable` can take, its own conditions applied."""
        check_known(variable, self.rates)
        return self.rates[variable] * self.filters.get(variable, 1.0)

    def selectivity(self, *variables: str) -> float:
        """Return the selectivity of the conditions about exactly these variables; 1 without any."""
        for variable in variables:
            check_known(variable, self.rates)
        selectivity = self.selectivities.get(frozenset(variables))
        return 1.0 if selectivity is None else selectivity.share

    def of(self, pattern: str | Query | Any) -> Statistics:
        """Return the statistics of a pattern by the names of its variables.

        Names do not matter if the measured patterns are known: two events are the same if types and
        filters agree, two pairs if also order, window, partition and conditions agree. A pair that
        was measured only in another window has that selectivity. Assumed statistics go by name
        alone.

        Args:
            pattern: The query, its text, or a value of the builder.

        Raises:
            PatternError: `pattern` is not a pattern, or is invalid.
            StatisticsError: An event or a condition of the pattern was not measured.
        """
        from cepkit.pattern.builder import as_query

        # Verbs pass a query that they have already checked.
        query = without_zones(pattern if isinstance(pattern, Query) else as_query(pattern))
        if self.query is None:
            return self._by_name(query)
        if query == self.query:
            return self
        if self._canonical is None:
            canonical = CanonicalStatistics([_values_of(s) for s in (self, *self.others)])
            object.__setattr__(self, "_canonical", canonical)
        assert self._canonical is not None
        return Statistics(**self._canonical.of(query))

    def _by_name(self, query: Query) -> Statistics:
        """Return the numbers of the conditions that a query has."""
        about = conditioned_sets(query)
        # A query may lack the variable: then it does not use the number.
        of_query = {event.variable for event in events_of(query.structure)}
        filters = {v: s for v, s in self.filters.items() if {v} in about or v not in of_query}
        selectivities = {
            names: s
            for names, s in self.selectivities.items()
            if names in about or not names <= of_query
        }
        if len(filters) == len(self.filters) and len(selectivities) == len(self.selectivities):
            return self
        return replace(self, filters=filters, selectivities=selectivities)

    def once(self, branch: Branch, make: Callable[[Branch, Statistics], _T]) -> _T:
        """Return a value derived from a branch and these statistics, cached for each branch.

        Planning needs the same value about ten times.

        Args:
            branch: The branch.
            make: The function that computes the value; the cache goes by its identity.
        """
        key = id(branch), make
        entry = self._computed.get(key)
        if entry is None or entry[0] is not branch:
            if len(self._computed) >= _MOST_COMPUTED:
                self._computed.clear()
            entry = self._computed[key] = branch, make(branch, self)
        value: _T = entry[1]
        return value

    def with_rate(self, variable: str, rate: float) -> Statistics:
        """Return statistics with another rate (events per second, before its own conditions)."""
        check_known(variable, self.rates)
        return self._edited(rates={**self.rates, variable: rate})

    def with_rates(self, rates: Mapping[str, float]) -> Statistics:
        """Return statistics with other rates (see `with_rate`) of some variables."""
        for variable in rates:
            check_known(variable, self.rates)
        return self._edited(rates={**self.rates, **rates})

    def with_filter(self, variable: str, share: float) -> Statistics:
        """Return statistics with another share of events that pass a variable's own conditions."""
        check_known(variable, self.rates)
        return self._edited(filters={**self.filters, variable: share})

    def with_selectivity(self, first: str, second: str, share: float) -> Statistics:
        """Return statistics with another selectivity of the conditions between two variables.

        They lack measured equal keys of the two, and joins with both, which would contradict it.
        """
        for variable in (first, second):
            check_known(variable, self.rates)
        pair = frozenset((first, second))
        return self._edited(
            selectivities={**self.selectivities, pair: Selectivity(share)},
            equalities={names: e for names, e in self.equalities.items() if names != pair},
            joins={names: joined for names, joined in self.joins.items() if not pair <= names},
        )

    @typed
    def moved(
        self,
        *,
        rates: Mapping[str, float] | None = None,
        selectivities: Mapping[tuple[str, str], float] | None = None,
        window: float | None = None,
    ) -> Statistics:
        """Return statistics with some numbers moved, and other numbers scaled to fit.

        Unlike `with_selectivity` it keeps the sampled joins and equal keys, and scales them: bursts
        and dependences stay. So a small move changes little.

        Args:
            rates: New rates of variables, as for `with_rates`.
            selectivities: New selectivities of the conditions between pairs of variables.
            window: A new window for the measured pattern: seconds, or events.

        Raises:
            StatisticsError: A variable is unknown, a number is invalid, or there is no window.
        """
        result = self.with_rates(rates or {})
        for (first, second), share in (selectivities or {}).items():
            result = _with_share(result, first, second, share)
        return result if window is None else _with_window(result, window)

    def _edited(self, **changes: Any) -> Statistics:
        """Return statistics with other numbers, without the forecast."""
        changed = replace(self, **changes)
        return self if changed == self else replace(changed, forecast=None)

    @typed
    def to_json(
        self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> str:
        """Return the statistics as JSON, and write it to `path` if there is one.

        Args:
            path: The file, whose name ends in .json.
            overwrite: Whether to replace a file that exists; it stays until the new one is whole.

        Raises:
            FileError: The file exists already, or cannot be written.
        """
        from cepkit.statistics import saved  # which takes long to import

        text = saved.to_json(_values_of(self), map(_values_of, self.others))
        if path is not None:
            write_text(path, text, JSON, overwrite=overwrite)
        return text

    @staticmethod
    def from_json(source: str | os.PathLike[str]) -> Statistics:
        """Return the statistics of a JSON text, or of a file.

        Args:
            source: The result of `to_json`, or the path of its file, which ends in .json.

        Raises:
            StatisticsError: The source is no such text or file.
        """
        from cepkit.statistics import saved  # which takes long to import

        values = saved.from_json(source)
        others = tuple(Statistics(**other) for other in values.pop("others", ()))
        return Statistics(**values, others=others)

    def __hash__(self) -> int:
        values = _values_of(self).values()
        return hash(tuple(frozenset(v.items()) if isinstance(v, Mapping) else v for v in values))

    # Read-only mappings cannot be pickled, plain ones can.
    def __reduce__(self) -> tuple[object, ...]:
        values = _values_of(self).values()
        return Statistics, tuple(dict(v) if isinstance(v, Mapping) else v for v in values)


def _with_share(statistics: Statistics, first: str, second: str, share: float) -> Statistics:
    changed = statistics.with_selectivity(first, second, share)
    pair, before = frozenset((first, second)), statistics.selectivity(first, second)
    joins = {
        names: replace(joined, each=joined.each * share / before) if pair <= names else joined
        for names, joined in statistics.joins.items()
        if before or not pair <= names
    }
    equal = statistics.equalities.get(pair)
    # Equal keys are one of the conditions, so their share cannot be smaller.
    still_fits = equal is not None and share <= equal.in_window.share
    return replace(
        changed, joins=joins, equalities=(statistics if still_fits else changed).equalities
    )


def _with_window(statistics: Statistics, window: float) -> Statistics:
    query = statistics.query
    if query is None:
        return statistics
    if not_negative(window, "the window") > _LONGEST:
        raise StatisticsError(f"a window of {window:g}", expected=f"at most {_LONGEST:g}")
    match query.window:
        case TimeWindow(microseconds) as before:
            now: Window = replace(before, microseconds=_rounded(window * 1e6), days=None)
            factor = window * 1e6 / microseconds if microseconds else 1.0
        case CountWindow(events) as before:
            now, factor = replace(before, events=max(1, _rounded(window))), window / events
        case None:
            raise StatisticsError("the pattern has no window to move")
    joins = {}
    for names, joined in statistics.joins.items():
        # The factor for the combinations of k evenly spread events in one window.
        more = factor ** (len(names) - 1)
        joins[names] = replace(joined, in_scope=joined.in_scope * more, each=joined.each * more)
    query = replace(query, window=now, text=None)
    return replace(statistics, query=query, joins=joins, forecast=None)


def _values_of(statistics: Statistics) -> dict[str, Any]:
    return {f.name: getattr(statistics, f.name) for f in fields(statistics) if f.init}


def _rounded(number: float) -> int:
    """Return the nearest integer; one out of bounds for infinity."""
    return round(min(number, 1e300))
