"""Statistics of one pattern bound to the names of another.

The types of an event are the key of its rate, the canonical event that of its filter, and the
canonical sub-pattern that of a selectivity: types, filters, order, window, partition and the
conditions about exactly these variables. Join samples depend on all conditions and on implied keys,
so their key is the whole canonical branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, TypeAlias, TypeVar

from cepkit.errors import StatisticsError
from cepkit.pattern.canonical import CanonicalEvent, SubPattern, canonical, canonical_event
from cepkit.pattern.conditions import has_set_functions, variables_of
from cepkit.pattern.nodes import events_of
from cepkit.pattern.normal_form import Branch, written_branches
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.statistics.keys import KeyCounts
from cepkit.statistics.over_time import OverTime
from cepkit.statistics.selectivity import Equality, Joined, Selectivity
from cepkit.statistics.stream_counts import attributes_read
from cepkit.statistics.together import partition_attributes

_Types: TypeAlias = frozenset[str] | None
_Shares: TypeAlias = tuple[Selectivity, Equality | None]


def measured_sets(branch: Branch) -> Iterator[frozenset[str]]:
    """Yield each set of two or more variables that conditions on single events are about."""
    conditions = (c for c in branch.conditions if not has_set_functions(c))
    sets = {variables_of(condition) for condition in conditions}
    yield from sorted((names for names in sets if len(names) > 1), key=sorted)


def conditioned_sets(query: Query) -> frozenset[frozenset[str]]:
    """Return the sets of variables that conditions of a query are about."""
    return frozenset(
        variables_of(condition) for b in written_branches(query) for condition in b.conditions
    )


def measured_form(branch: Branch, names: frozenset[str]) -> SubPattern:
    """Return the key of a selectivity: NOT and KL do not matter, each variable counts as one event.

    It is computed once for each branch and cached with it.
    """
    cache: dict[frozenset[str], SubPattern] = branch.__dict__.setdefault("measured forms", {})
    if names not in cache:
        cache[names] = _measured_form(branch, names)
    return cache[names]


def _measured_form(branch: Branch, names: frozenset[str]) -> SubPattern:
    return canonical(
        replace(
            branch,
            positive=branch.positive + branch.negated,
            negated=(),
            repeated=(),
            conditions=tuple(
                c
                for c in branch.conditions
                if (variables_of(c) == names or len(variables_of(c)) == 1)
                and not has_set_functions(c)
            ),
            strategy=Strategy.SKIP_TILL_ANY_MATCH,
        ),
        names,
    )[0]


def _joined_form(branch: Branch) -> tuple[SubPattern, tuple[str, ...]]:
    """Return the key of sampled joins, and the variables at its positions."""
    conditions = tuple(c for c in branch.conditions if not has_set_functions(c))
    return canonical(replace(branch, conditions=conditions))


@dataclass(slots=True)
class CanonicalStatistics:
    """Statistics of canonical events and sub-patterns, without the names of variables.

    Attributes:
        parts: The fields of the statistics, by name; the first one with a value counts.
        rates: By types, before filters.
        counts: By types, in buckets of time.
        filters: By events, the shares that pass.
        sets: By sub-patterns of two or more events.
        in_any_window: By sub-patterns without their window; the first value counts.
        joins: By branches: for sets of positions.
        same_key: By partition.
        missing: By attributes.
        keys: By attributes.
    """

    parts: Sequence[Mapping[str, Any]]
    rates: dict[_Types, float] = field(default_factory=dict)
    counts: dict[_Types, tuple[int, ...]] = field(default_factory=dict)
    filters: dict[CanonicalEvent, float] = field(default_factory=dict)
    sets: dict[SubPattern, _Shares] = field(default_factory=dict)
    in_any_window: dict[SubPattern, _Shares] = field(default_factory=dict)
    joins: dict[SubPattern, dict[frozenset[int], Joined]] = field(default_factory=dict)
    same_key: dict[tuple[str, ...], float] = field(default_factory=lambda: {(): 1.0})
    missing: dict[str, float] = field(default_factory=dict)
    keys: dict[tuple[str, ...], KeyCounts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for values in self.parts:
            self._add(values, values["query"])

    def _add(self, values: Mapping[str, Any], query: Query) -> None:
        """Add the statistics of a query; known values stay."""
        over_time: OverTime | None = values["over_time"]
        for branch in written_branches(query):
            for event in branch.positive + branch.negated:
                name, types = event.variable, event.types
                self.rates.setdefault(types, values["rates"][name])
                if over_time is not None and name in over_time.counts:
                    self.counts.setdefault(types, over_time.counts[name])
                if name in values["filters"]:
                    filtered = canonical_event(branch, name)
                    self.filters.setdefault(filtered, values["filters"][name])
            for names in measured_sets(branch):
                if names in values["selectivities"]:
                    selectivity = values["selectivities"][names], values["equalities"].get(names)
                    form = measured_form(branch, names)
                    self.sets.setdefault(form, selectivity)
                    self.in_any_window.setdefault(replace(form, window=None), selectivity)
            if values["joins"]:
                form, variables = _joined_form(branch)
                joins = _renamed(values["joins"], dict(zip(variables, count(), strict=False)))
                self.joins.setdefault(form, joins)
        self.same_key.setdefault(partition_attributes(query), values["same_key"])
        self.missing = {**values["missing"], **self.missing}
        for keys in values["keys"]:
            self.keys.setdefault(keys.attributes, keys)

    def of(self, query: Query) -> dict[str, Any]:
        """Return the fields of the statistics of a query.

        Raises:
            StatisticsError: An event or a condition of the query was not measured.
        """
        rates = {
            e.variable: _known(self.rates.get(e.types), f"the rate of {CanonicalEvent(e.types)}")
            for e in events_of(query.structure)
        }
        filters: dict[str, float] = {}
        selectivities: dict[frozenset[str], Selectivity] = {}
        equalities: dict[frozenset[str], Equality] = {}
        joins: dict[frozenset[str], Joined] = {}
        for branch in written_branches(query):
            for event in branch.positive + branch.negated:
                filtered = canonical_event(branch, event.variable)
                if filtered.filters or filtered in self.filters:
                    what = f"the share of events that are {filtered}"
                    filters[event.variable] = _known(self.filters.get(filtered), what)
            for names in measured_sets(branch):
                form = measured_form(branch, names)
                shares = self.sets.get(form) or self.in_any_window.get(replace(form, window=None))
                about = ", ".join(sorted(names))
                share, equality = _known(shares, f"the selectivity of the conditions on {about}")
                selectivities[names] = share
                if equality is not None:
                    equalities[names] = equality
            if self.joins:
                form, variables = _joined_form(branch)
                joins |= _renamed(self.joins.get(form, {}), dict(enumerate(variables)))
        attributes = attributes_read(query)
        type_names = {name for event in events_of(query.structure) for name in event.types or ()}
        absent = {name for part in self.parts for name in part["never_occurring"]}
        return {
            **self.parts[0],
            "rates": rates,
            "filters": filters,
            "selectivities": selectivities,
            "equalities": equalities,
            "same_key": _known(
                self.same_key.get(partition_attributes(query)),
                f"the keys of PARTITION BY {', '.join(query.partition_by)}",
            ),
            "missing": {name: share for name, share in self.missing.items() if name in attributes},
            "keys": tuple(k for names, k in self.keys.items() if attributes.issuperset(names)),
            "never_occurring": tuple(sorted(type_names & absent)),
            "over_time": self._over_time(query),
            "forecast": None,
            "joins": joins,
            "query": query,
            "others": (),
        }

    def _over_time(self, query: Query) -> OverTime | None:
        over_time: OverTime | None = self.parts[0]["over_time"]
        events = (e for e in events_of(query.structure) if e.types in self.counts)
        counts = {event.variable: self.counts[event.types] for event in events}
        return None if over_time is None else replace(over_time, counts=counts)


_T = TypeVar("_T")
_From = TypeVar("_From", str, int)
_To = TypeVar("_To", str, int)


def _renamed(
    joins: Mapping[frozenset[_From], Joined], names: Mapping[_From, _To]
) -> dict[frozenset[_To], Joined]:
    """Return the joins of the sets whose variables all have a new name."""
    return {
        frozenset(names[name] for name in variables): join
        for variables, join in joins.items()
        if variables <= names.keys()
    }


def _known(value: _T | None, what: str) -> _T:
    if value is None:
        raise StatisticsError(
            f"the statistics lack {what}",
            expected="statistics of a pattern that has it, under any variable names",
            hint="cepkit.profile(stream, [pattern, another]) measures several patterns together",
        )
    return value
