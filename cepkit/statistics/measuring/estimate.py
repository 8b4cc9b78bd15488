"""Statistics measured on events in memory: counted rates and filters, sampled selectivities.

A selectivity is the share of combinations that satisfy some conditions among those that lie
inside the window, in the pattern's order and in one partition. The first two events of a
combination are drawn uniformly from all such pairs, every further event uniformly from its scope,
weighted by the size of the scope. So the estimate is unbiased, even with bursts. If
attributes of a pair of variables must be equal, the pairs that agree are counted exactly, and only
the other conditions are sampled, among these pairs. Conditions on whole sets, as `avg(b.x) > 1`,
are not measured. Slices are measured one by one and added up, in this process or by Spark's
workers. Cost: O(n log n) for the scopes and O(sample) for each set of variables with conditions.
Source of the quantities: JOIN, section 4.1.

For plans, a few random slices of a long stream are measured (`estimate_by_slices`), concatenated to
a stream of their own, too far apart for a window to span two of them; it has only the events that
the pattern can take. A slice owns the events within its length and also holds one more window of
events, so that no partial match that begins inside it is cut off: numbers of partial matches are
unbiased, including bursts. Events are counted by type over the whole stream. Cost: O(n) to count
the types of n events, else O(size log size).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cepkit.indexing import bin_counts
from cepkit.pattern.canonical import CanonicalEvent, SubPattern, canonical_event
from cepkit.pattern.conditions import has_set_functions, variables_of
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.nodes import events_of
from cepkit.pattern.normal_form import Branch, written_branches
from cepkit.pattern.policies import TimeWindow
from cepkit.pattern.query import Query
from cepkit.statistics.binding import measured_form
from cepkit.statistics.links import links_of
from cepkit.statistics.measuring.joins import Part, joined_variables, sampled_joins
from cepkit.statistics.measuring.sampling import Slice, Tally, linked, sampled
from cepkit.statistics.model import Statistics
from cepkit.statistics.parts import types_of_variables
from cepkit.statistics.selectivity import Equality, Joined, Selectivity
from cepkit.statistics.slice_events import Events, Held, Rows, has_type, partition_of
from cepkit.statistics.stream_counts import StreamCounts, count_beside, count_types
from cepkit.stream.columns import EventColumns

SAMPLE = 10_000
"""The draws for each set of variables; the error of a share of 1/2 is then about 0.005."""

SIZE = 32_000
"""The total events of the slices if the window is short: measuring takes milliseconds."""
_SLICES = 64
_LEAST_SLICES = 2
_LEAST_EVENTS = 20
"""The events that slices need of each variable. If they have fewer although the stream has more,
they are lengthened once: an order that begins with a rarer type has little work in any case."""
_LONGER = 4
_KEYED = 20_000
"""Events used to count the share of one partition."""


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
        seed: The seed of the draws; the same seed on the same events gives the same numbers.
        sample: The number of draws for each set of variables.
        owned: The first and the last microsecond of the slice; None for those of the events. A
            combination belongs to the slice if its first variable's event does; the events of a
            window before and after complete it.
    """
    tallies: dict[frozenset[str], Tally] = {}
    by_form: dict[SubPattern, Tally] = {}  # by sub-pattern, regardless of names
    events = Events(columns, query.partition_by, owned)
    for branch in map(_without_set_functions, written_branches(query)):
        sets = {variables_of(c) for c in branch.conditions if variables_of(c)}
        links = links_of(branch, columns.kinds) if branch.equates else {}
        members: dict[str, Rows] = {}
        part = Slice(events, branch, members)
        for event in branch.positive + branch.negated:
            alone = frozenset((event.variable,))
            filtered = canonical_event(branch, event.variable)
            members[event.variable] = events.rows(filtered)
            if alone in sets and alone not in tallies:
                n = len(events.owned_rows(events.rows(CanonicalEvent(event.types))))
                number = len(events.owned_rows(members[event.variable]))
                tallies[alone] = Tally(alone, n, n, True, float(n), float(number), float(n))
        for names in sorted(sets, key=sorted):
            if len(names) > 1 and names not in tallies:
                form = measured_form(branch, names)
                if form not in by_form:
                    rng = np.random.default_rng([seed, *"".join(sorted(names)).encode()])
                    if names in links:
                        by_form[form] = linked(links[names], part, rng, sample)
                    else:
                        by_form[form] = sampled(names, part, rng, sample)
                tallies[names] = replace(by_form[form], variables=names)
    return tuple(tallies.values())


def combine(
    query: Query, counts: StreamCounts, slices: Iterable[Iterable[Tally]], *, partial: bool = False
) -> Statistics:
    """Return the statistics from the counts and the measured slices.

    If no combination satisfied the conditions, the share is half a combination of those drawn: zero
    would make every plan free.

    Args:
        slices: The tallies of each measured slice, weighted by its combinations.
        partial: Whether the stream has further slices.
    """
    by_set: dict[frozenset[str], list[Tally]] = {}
    for tallies in slices:
        for tally in tallies:
            by_set.setdefault(tally.variables, []).append(tally)
    span = 0.0 if counts.first is None or counts.last is None else counts.last - counts.first
    rates = {}
    for event in events_of(query.structure):
        types = counts.by_type if event.types is None else event.types
        total = sum(counts.by_type.get(name, 0) for name in types)
        # A single moment has no rate: count it as one second.
        rates[event.variable] = total / (span / 1e6 if span else 1.0)
    shares = {names: _share(tallies, partial=partial) for names, tallies in by_set.items()}
    equalities = {
        names: Equality(
            counts.details.by_frequency.get(names),
            _share([tally.of_equality() for tally in tallies], partial=partial),
        )
        for names, tallies in by_set.items()
        if any(tally.equal is not None for tally in tallies)
    }
    type_names = {name for event in events_of(query.structure) for name in event.types or ()}
    return Statistics(
        rates,
        {min(names): share.share for names, share in shares.items() if len(names) == 1},
        {names: share for names, share in shares.items() if len(names) > 1},
        counts.same_key,
        counts.events,
        counts.dropped,
        counts.first,
        counts.last,
        tuple(sorted(name for name in type_names if not counts.by_type.get(name))),
        equalities,
        counts.details.missing,
        counts.details.over_time,
        counts.details.keys,
        counts.details.lateness,
        query=query,
    )


def estimate(
    columns: EventColumns,
    query: Query,
    *,
    seed: int = 0,
    details: bool = True,
    joins: bool = True,
) -> Statistics:
    """Measure a stream in memory.

    Args:
        details: Whether to count more than plans need: keys, times, missing values and late
            events.
        joins: Whether to sample joins, which takes as long as all the rest.

    Raises:
        PatternError: A condition compares values of different kinds.
    """
    check_kinds(query, columns.kinds)
    tally = partial(tally_slice, columns, query, seed=seed)
    counts, tallies = count_beside(columns, query, tally, details=details)
    statistics = combine(query, counts, [tallies])
    if not joins:
        return statistics
    return replace(statistics, joins=joins_of(columns, query, statistics, seed))


def joins_of(
    columns: EventColumns,
    query: Query,
    statistics: Statistics,
    seed: int,
    part: Part | None = None,
) -> dict[frozenset[str], Joined]:
    """Return the sampled joins of sets of variables of each branch.

    Args:
        columns: The whole stream or a part of it, with the attributes of `attributes_read`.
        part: The part; None: the whole stream.
    """
    joins: dict[frozenset[str], Joined] = {}
    events = Events(columns, query.partition_by)
    for branch in map(_without_set_functions, written_branches(query)):
        members = {v: events.rows(canonical_event(branch, v)) for v in joined_variables(branch)}
        joins |= sampled_joins(columns, branch, members, statistics, seed, part)
    return joins


def _share(tallies: list[Tally], *, partial: bool) -> Selectivity:
    # Without equal keys there were no draws, and the share is 0.
    measured = [t for t in tallies if t.weight > 0 or (t.equal == 0 and t.combinations > 0)]
    total = sum(tally.combinations for tally in measured)
    if not total:
        return Selectivity(1.0, pairs=0)
    examined = sum(t.reached for t in measured)
    satisfying = sum(t.reached * _part(t) for t in measured)
    share = min(1.0, satisfying / total)
    if all(tally.exact for tally in tallies) and not partial:
        return Selectivity(share)
    sampled = sum(tally.drawn for tally in tallies)
    # Variance of the draws inside the slices, which are independent,
    rest = min(1.0, satisfying / examined) if examined else 0.0
    variance = sum(
        (t.reached / total) ** 2 * rest * (1 - rest) * t.squares / t.weight**2
        for t in measured
        if t.weight
    )
    if partial:
        # plus that of the choice of slices: their weighted spread.
        if len(measured) > 1:
            apart = sum(
                ((t.reached * _part(t) - t.combinations * share) / total) ** 2 for t in measured
            )
            variance = max(variance, apart * len(measured) / (len(measured) - 1))
        variance = max(variance, share * (1 - share) / total)
    floor = 0.5 / (sampled + 1) * (examined / total if examined else 1.0)
    return Selectivity(share or floor, sampled, math.sqrt(variance))


def _part(tally: Tally) -> float:
    """Return the share of the combinations drawn from that satisfy the conditions."""
    return tally.held / tally.weight if tally.weight else 0.0


def _without_set_functions(branch: Branch) -> Branch:
    """Return a branch without its conditions on whole sets: sampling draws events, not sets."""
    conditions = tuple(c for c in branch.conditions if not has_set_functions(c))
    unchanged = len(conditions) == len(branch.conditions)
    return branch if unchanged else replace(branch, conditions=conditions)


def estimate_by_slices(
    columns: EventColumns, query: Query, *, seed: int = 0, size: int = SIZE, joins: bool = True
) -> Statistics:
    """Return statistics for plans from slices of a stream in memory, or from all of a short one.

    Args:
        query: The pattern. Without a window in time the whole stream is measured.
        seed: The seed of the choice of slices and of the draws.
        size: About the number of events of all slices; more if windows are long.
        joins: Whether to sample joins, which takes longer than all the rest.

    Raises:
        PatternError: A condition compares values of different kinds.
    """
    slices = Slices.of(columns, query, seed, size)
    if slices is None:
        return estimate(columns, query, seed=seed, details=False, joins=joins)
    check_kinds(query, columns.kinds)
    counts = count_types(columns)
    if not slices.has_all_types(query, counts.by_type):
        slices = Slices.of(columns, query, seed, _LONGER * size) or slices
    counts = replace(counts, same_key=_same_key(columns, query))
    return measured_slices(slices, query, counts, seed=seed, joins=joins)


def measured_slices(
    slices: Slices, query: Query, counts: StreamCounts, *, seed: int, joins: bool
) -> Statistics:
    """Return statistics from the slices of a stream."""
    tallies = tally_slice(slices.columns, query, seed=seed)
    statistics = combine(query, counts, [tallies], partial=True)
    statistics = replace(statistics, measured_events=slices.events)
    if not joins:
        return statistics
    part = Part(slices.owned, slices.share, _sizes(slices.columns, query, counts.by_type))
    return replace(statistics, joins=joins_of(slices.columns, query, statistics, seed, part))


@dataclass(frozen=True, slots=True)
class Slices:
    """Slices of a stream, concatenated to a stream.

    Attributes:
        columns: The events of the slices that have types of the pattern.
        owned: For each of these events whether a slice owns it.
        share: The share of the stream's events that they own.
        events: The number of events of all types in the slices.
    """

    columns: EventColumns
    owned: Held
    share: float
    events: int

    @classmethod
    def of(cls, columns: EventColumns, query: Query, seed: int, size: int) -> Slices | None:
        """Return slices of about `size` events; None if the whole stream is not much longer.

        Args:
            seed: The seed of their places.
            size: The number of their events together; more if windows are long.
        """
        number = len(columns)
        if not isinstance(query.window, TimeWindow) or number < 2 * size:
            return None
        window = query.window.microseconds
        span = int(columns.ts[-1]) - int(columns.ts[0])
        in_window = number * window // max(span, 1)
        length = max(size // _SLICES, in_window // 2)
        slices = max(size // (length + in_window), _LEAST_SLICES)
        if 2 * slices * (length + in_window) > number:
            return None
        rng = np.random.default_rng([seed, slices])
        part = number / slices
        places = np.arange(slices) * part + rng.random(slices) * (part - length)
        begins = places.astype(np.int64)
        last = columns.ts[begins + length - 1]
        ends = np.searchsorted(columns.ts, last + window, side="right")
        if 2 * int((ends - begins).sum(dtype=np.int64)) > number:
            return None
        share = length * slices / number
        return cls.joined(columns, query, begins, begins + length, ends, share)

    @classmethod
    def joined(
        cls,
        columns: EventColumns,
        query: Query,
        begins: Rows,
        own: Rows,
        ends: Rows,
        share: float,
    ) -> Slices:
        """Return some slices of a stream, concatenated.

        Args:
            begins: The first row of each slice.
            own: The row after the last that the slice owns.
            ends: The row after the last one.
            share: The share of the stream's events that the slices own.
        """
        assert isinstance(query.window, TimeWindow)
        types = types_of_variables(query, (e.variable for e in events_of(query.structure)))
        rows, ts, owned = [], [], []
        now = 0
        bounds = zip(begins.tolist(), own.tolist(), ends.tolist(), strict=True)
        for begin, after, end in bounds:
            has_types = has_type(columns.slice(begin, end), types)
            places = np.flatnonzero(has_types)
            first = int(columns.ts[begin])
            rows.append(places + begin)
            ts.append(columns.ts[begin:end][places] - first + now)
            owned.append(places < after - begin)
            now += int(columns.ts[end - 1]) - first + query.window.microseconds + 1
        all_rows = np.concatenate(rows)
        slices = EventColumns(
            np.concatenate(ts),
            columns.types[all_rows],
            columns.type_names,
            {name: column.take(all_rows) for name, column in columns.attributes.items()},
            columns.carried,
        )
        return cls(slices, np.concatenate(owned), share, int((ends - begins).sum(dtype=np.int64)))

    def has_all_types(self, query: Query, by_type: Mapping[str, int]) -> bool:
        """Return whether the slices have enough events of each variable that the stream has."""
        own = count_types(self.columns).by_type
        for event in events_of(query.structure):
            here = sum(own[name] for name in own if event.types is None or name in event.types)
            if here < min(_LEAST_EVENTS, _of_types(by_type, event.types)):
                return False
        return True


def _of_types(by_type: Mapping[str, int], types: frozenset[str] | None) -> int:
    return sum(by_type.values() if types is None else (by_type.get(name, 0) for name in types))


def _sizes(
    columns: EventColumns, query: Query, by_type: Mapping[str, int]
) -> dict[CanonicalEvent, float]:
    """Return for each event of a pattern the number of events that pass its own conditions."""
    events = Events(columns)
    sizes = {}
    for branch in written_branches(query):
        for event in branch.positive + branch.negated:
            filtered = canonical_event(branch, event.variable)
            of_types = len(events.rows(CanonicalEvent(event.types)))
            share = len(events.rows(filtered)) / max(1, of_types)
            sizes[filtered] = _of_types(by_type, event.types) * share
    return sizes


def _same_key(columns: EventColumns, query: Query) -> float:
    """Return the share of pairs of events in one partition, from events all over the stream."""
    if not query.partition_by or not len(columns):
        return 1.0
    rows = np.arange(0, len(columns), max(1, len(columns) // _KEYED))
    sample = EventColumns(
        columns.ts[rows],
        columns.types[rows],
        columns.type_names,
        {name: columns.attributes[name].take(rows) for name in query.partition_by},
        columns.carried,
    )
    of_key = bin_counts(partition_of(sample, query.partition_by)).astype(np.float64)
    number = len(rows)
    # Scale up for the events left out, which share keys as well; no event pairs with itself.
    pairs = float((of_key * (of_key - 1)).sum()) / max(1.0, number * (number - 1.0))
    return pairs + (1 - pairs) / len(columns)
