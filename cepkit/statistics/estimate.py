"""Statistics measured on events in memory: rates and filters counted, selectivities sampled.

A selectivity is the share of combinations that satisfy some conditions among those that lie
inside the window, in the pattern's order and in one partition. The first two events of a
combination are drawn uniformly among all such pairs, every further one uniformly in its scope
with the size of the scope as weight, so the estimate is unbiased however bursty the stream is.
Conditions on whole sets, as `avg(b.x) > 1`, are not measured. Slices are measured one by one
and added up, in this process or by Spark's workers.
Cost: O(n log n) for the scopes and O(sample) for each set of variables with conditions.
Source of the quantities: JOIN, section 4.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from cepkit.pattern.conditions import Aggregate, attributes_of, variables_of, walk
from cepkit.pattern.evaluation import truth
from cepkit.pattern.nodes import Event, events_of
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.query import Query
from cepkit.pattern.rewrite import without_not
from cepkit.statistics.model import Selectivity, Statistics
from cepkit.statistics.sampling import Rows, Tally, owned_rows, partition_of, reader, sampled
from cepkit.stream.columns import Dropped, EventColumns

SAMPLE = 20_000
"""Combinations drawn for each set of variables: a share of 1/2 is then known to about 0.0035."""


@dataclass(frozen=True, slots=True)
class Census:
    """What one pass over a whole stream counts.

    Attributes:
        counts: The events of each type.
        dropped: The rows that are no events.
        first: The time of the first event in microseconds, None without events.
        last: The time of the last one.
        same_key: The share of pairs of events that are in one partition.
    """

    counts: Mapping[str, int]
    dropped: Dropped = field(default_factory=Dropped)
    first: int | None = None
    last: int | None = None
    same_key: float = 1.0

    @property
    def events(self) -> int:
        """The events of all types."""
        return sum(self.counts.values())


def attributes_read(query: Query) -> frozenset[str]:
    """Return the columns that measuring `query` needs beside time and type."""
    read = attributes_of(query.where) if query.where is not None else ()
    return frozenset(name for _, name in read) | frozenset(query.partition_by)


def census(columns: EventColumns, query: Query) -> Census:
    """Count a stream in memory."""
    counts = np.bincount(columns.types, minlength=len(columns.type_names)).tolist()
    first, last = (int(columns.ts[0]), int(columns.ts[-1])) if len(columns) else (None, None)
    keys = partition_of(columns, query.partition_by)
    shares = np.bincount(keys) / max(1, len(columns)) if query.partition_by else np.ones(1)
    same_key = float((shares * shares).sum()) if len(columns) else 1.0
    return Census(
        dict(zip(columns.type_names, counts, strict=True)), columns.dropped, first, last, same_key
    )


def tally_slice(
    columns: EventColumns,
    query: Query,
    *,
    seed: int,
    sample: int = SAMPLE,
    owned: tuple[int, int] | None = None,
) -> tuple[Tally, ...]:
    """Measure the conditions of `query` on the events of one slice.

    Args:
        columns: The events, with the attributes of `attributes_read`.
        query: The pattern.
        seed: Of the draws; the same seed on the same events gives the same numbers.
        sample: Combinations to draw for each set of variables.
        owned: The first and the last microsecond of the slice; None: of the events. Events up to
            a window before and after complete the combinations of which the first variable's
            event lies in the slice.
    """
    tallies: dict[frozenset[str], Tally] = {}
    keys = partition_of(columns, query.partition_by)
    for branch in map(_without_set_functions, normal_form(query)):
        sets = {variables_of(c) for c in branch.conditions if variables_of(c)}
        members: dict[str, Rows] = {}
        for event in branch.positive + branch.negated:
            rows = _rows(columns, event)
            alone = frozenset((event.variable,))
            members[event.variable] = _passing(columns, branch, event.variable, rows)
            if alone in sets and alone not in tallies:
                n = len(owned_rows(columns, rows, owned))
                kept = len(owned_rows(columns, members[event.variable], owned))
                tallies[alone] = Tally(alone, n, n, True, float(n), float(kept), float(n))
        for names in sorted(sets, key=sorted):
            if len(names) > 1 and names not in tallies:
                rng = np.random.default_rng([seed, *"".join(sorted(names)).encode()])
                tallies[names] = sampled(names, columns, branch, members, keys, rng, sample, owned)
    return tuple(tallies.values())


def combine(
    query: Query,
    counted: Census,
    slices: Iterable[Iterable[Tally]],
    *,
    partial: bool = False,
) -> Statistics:
    """Return the statistics that the census and the measured slices give.

    Where no combination satisfied the conditions the share is half a combination of those drawn:
    zero would make every plan free.

    Args:
        query: The pattern.
        counted: The whole stream.
        slices: The tallies of each measured slice; each weighs as much as it has combinations.
        partial: Whether there are other slices, which were not measured.
    """
    by_set: dict[frozenset[str], list[Tally]] = {}
    for tallies in slices:
        for tally in tallies:
            by_set.setdefault(tally.variables, []).append(tally)
    span = 0.0 if counted.first is None or counted.last is None else counted.last - counted.first
    rates = {}
    for event in events_of(query.structure):
        types = counted.counts if event.types is None else event.types
        total = sum(counted.counts.get(name, 0) for name in types)
        # One moment has no rate; as if it were a second.
        rates[event.variable] = total / (span / 1e6 if span else 1.0)
    shares = {names: _share(tallies, partial=partial) for names, tallies in by_set.items()}
    named = {name for event in events_of(query.structure) for name in event.types or ()}
    return Statistics(
        rates,
        {min(names): found.share for names, found in shares.items() if len(names) == 1},
        {names: found for names, found in shares.items() if len(names) > 1},
        counted.same_key,
        counted.events,
        counted.dropped,
        counted.first,
        counted.last,
        tuple(sorted(name for name in named if not counted.counts.get(name))),
    )


def estimate(columns: EventColumns, query: Query, *, seed: int = 0) -> Statistics:
    """Measure a stream in memory."""
    return combine(query, census(columns, query), [tally_slice(columns, query, seed=seed)])


def _share(tallies: list[Tally], *, partial: bool) -> Selectivity:
    measured = [tally for tally in tallies if tally.weight > 0]
    total = sum(tally.combinations for tally in measured)
    if not total:
        return Selectivity(1.0, pairs=0)
    share = min(1.0, sum(t.combinations * t.held / t.weight for t in measured) / total)
    if all(tally.exact for tally in tallies) and not partial:
        return Selectivity(share)
    drawn = sum(tally.drawn for tally in tallies)
    weights = [tally.combinations / total for tally in measured]
    shares = [tally.held / tally.weight for tally in measured]
    # Of the draws inside the slices, which are independent,
    variance = sum(
        w**2 * share * (1 - share) * t.squares / t.weight**2
        for w, t in zip(weights, measured, strict=True)
    )
    if partial and len(measured) > 1:
        # and of the choice of slices: how far they lie apart, each by its weight.
        apart = sum((w * (s - share)) ** 2 for w, s in zip(weights, shares, strict=True))
        variance = max(variance, apart * len(measured) / (len(measured) - 1))
    return Selectivity(share or 0.5 / (drawn + 1), drawn, math.sqrt(variance))


def _rows(columns: EventColumns, event: Event) -> Rows:
    if event.types is None:
        return np.arange(len(columns))
    wanted = np.array([name in event.types for name in columns.type_names], dtype=np.bool_)
    return np.flatnonzero(wanted[columns.types]) if len(wanted) else np.empty(0, np.int64)


def _without_set_functions(branch: Branch) -> Branch:
    """Return a branch without its conditions on whole sets: here events are drawn, not sets."""
    kept = (
        condition
        for condition in branch.conditions
        if not any(isinstance(node, Aggregate) for node in walk(condition))
    )
    return replace(branch, conditions=tuple(kept))


def _passing(columns: EventColumns, branch: Branch, variable: str, rows: Rows) -> Rows:
    for condition in branch.conditions_between(variable, variable):
        held = truth(without_not(condition), reader(columns, {variable: rows}), len(rows))
        rows = rows[held]
    return rows
