"""Warnings about the events that patterns are searched in, and about counts that take long.

Ties are looked for among the first tied events: O(n) for n events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cepkit.errors import UnsupportedError
from cepkit.indexing import repeated
from cepkit.pattern.conditions import Expression, ordered_attributes, variables_of
from cepkit.pattern.evaluation.columns import truth
from cepkit.pattern.kinds import check_no_type_is_a_kind, kinds_of
from cepkit.pattern.nodes import events_of
from cepkit.pattern.normal_form import Branch, written_branches
from cepkit.pattern.query import Query
from cepkit.pattern.rewrite import without_not
from cepkit.plan.nodes import Plan
from cepkit.printing import time_text
from cepkit.statistics.links import Link, link_codes, links_of
from cepkit.statistics.measuring.walks import check_walks
from cepkit.statistics.slice_events import Rows, has_type, partition_of, reader
from cepkit.stream.columns import EventColumns
from cepkit.stream.warnings import (
    warn_of_absent,
    warn_of_dropped,
    warn_of_long_count,
    warn_of_no_events,
    warn_of_number_texts,
    warn_of_ties,
)

_LEAST_LOOK, _SHARE, _MOST_LOOK = 2_000, 40, 10_000
"""Of the tied events a fortieth of all events is looked at, within these limits."""
_MOST_PAIRS = 100_000
_LONG = 60.0
"""A count that takes more seconds is warned of."""
_SECOND, _MINUTE = 1_000_000, 60_000_000
"""Events of one key may well share a second, and any events a minute; finer ties are chance."""
_SPREAD = 1_000_003
"""Spreads keys over integers; where two meet, the conditions tell them apart."""


def report(columns: EventColumns, *queries: Query) -> None:
    """Warn of dropped rows, absent types, numbers compared as texts, and ties in a SEQ."""
    if columns.dropped:
        warn_of_dropped(columns.dropped, *queries)
    for query in queries:
        for name in ordered_attributes(query.where):
            column = columns.attributes.get(name)
            if column is not None and column.kind == "text":
                warn_of_number_texts(name, column.dictionary, query)
    if not len(columns):
        warn_of_no_events(*queries)
        return
    known = frozenset(columns.type_names)
    absent: dict[str, list[Query]] = {}
    for query in queries:
        events = events_of(query.structure)
        if any(event.kinds for event in events):
            check_no_type_is_a_kind(kinds_of(query.written), known)
        types = {t for event in events for t in event.types or ()}
        for name in sorted(types - known):
            absent.setdefault(name, []).append(query)
    for name, those in absent.items():
        warn_of_absent([name], columns.type_names, *those)
    warn_of_tied(columns, *queries)


def warn_if_long(queries: Sequence[Query], plans: Sequence[Plan]) -> None:
    """Warn before a count of more than a minute that `aggregate(error=)` would estimate it."""
    seconds = sum(plan.seconds or 0.0 for plan in plans)
    if seconds <= _LONG:
        return
    try:
        for query in queries:
            check_walks(query, "error=")
    except UnsupportedError:
        return  # of sets and of chosen matches there is no estimate
    warn_of_long_count(seconds, *queries)


def warn_of_tied(columns: EventColumns, *queries: Query) -> None:
    """Warn of events in a SEQ that are in no order, as their times are equal, if there are any."""
    tied = _tied_events(columns)
    if tied is None:
        return
    in_minutes = _are_multiples(columns, _MINUTE)
    for query in queries:
        for first, second, ts in _ties(tied, query, in_minutes):
            warn_of_ties(first, second, time_text(ts), query)
            return


def _tied_events(columns: EventColumns) -> EventColumns | None:
    """Return the first events that share their time with another; None where times are an order."""
    if columns.by_arrival or not _are_multiples(columns, _SECOND):
        return None
    same = columns.ts[1:] == columns.ts[:-1]
    if not same.any():
        return None
    tied = np.zeros(len(columns), np.bool_)
    tied[1:] = same
    tied[:-1] |= same
    most = min(max(_LEAST_LOOK, len(columns) // _SHARE), _MOST_LOOK)
    return columns.take(np.flatnonzero(tied)[:most])


def _are_multiples(columns: EventColumns, length: int) -> bool:
    """Return whether the first times are multiples of some microseconds."""
    return not (columns.ts[:_LEAST_LOOK] % length).any()


def _ties(tied: EventColumns, query: Query, in_minutes: bool) -> Iterator[tuple[str, str, int]]:
    """Yield two variables in order, and a time of events that could be both but for their order.

    Where times are finer than minutes, ties of events that nothing ties together are chance.
    """
    keys = [name for name in (*query.partition_by, *query.group_by) if name in tied.attributes]
    partitions = partition_of(tied, tuple(keys))
    for branch in written_branches(query):
        links = links_of(branch, tied.kinds)
        for first, second in _neighbours(branch):
            linked = links.get(frozenset((first, second)))
            if linked is None and not keys and not in_minutes:
                continue
            rows = _pairs(tied, partitions, branch, first, second, linked)
            if len(rows):
                yield first, second, int(tied.ts[rows[0]])


def _neighbours(branch: Branch) -> Iterator[tuple[str, str]]:
    for variable in branch.variables:
        yield from ((x, variable) for x in branch.neighbours(variable, branch.variables)[0])
    for event in branch.negated:
        if event.beside is None:
            beside = branch.absent_with(event.variable) - {event.variable}
            before, after = branch.neighbours(event.variable, (*branch.variables, *beside))
            yield from ((x, event.variable) for x in before)
            yield from ((event.variable, y) for y in after)


def _pairs(
    tied: EventColumns,
    partitions: Rows,
    branch: Branch,
    first: str,
    second: str,
    link: Link | None,
) -> Rows:
    """Return the first of each pair of one time that fulfils all that is asked of the two alone."""
    conditions = [c for c in branch.conditions if not c.has_set_functions]
    one, other = (_fitting(tied, branch, variable, conditions) for variable in (first, second))
    keys = tied.ts * _SPREAD + partitions
    of_one = of_other = keys
    if link is not None:
        codes = dict(zip((link.first, link.second), link_codes(tied.attributes, link), strict=True))
        of_one, of_other = (keys * _SPREAD + codes[variable] for variable in (first, second))
    other = other[np.argsort(of_other[other], kind="stable")]
    begins = np.searchsorted(of_other[other], of_one[one])
    numbers = np.searchsorted(of_other[other], of_one[one], side="right") - begins
    numbers[np.cumsum(numbers) > _MOST_PAIRS] = 0
    places = np.arange(numbers.sum()) - repeated(np.cumsum(numbers) - numbers, numbers)
    one, other = repeated(one, numbers), other[repeated(begins, numbers) + places]
    held = (one != other) & (tied.ts[one] == tied.ts[other])
    held &= partitions[one] == partitions[other]
    one, other = one[held], other[held]
    for condition in conditions:
        if variables_of(condition) == {first, second} and len(one):
            read = reader(tied, {first: one, second: other})
            held = truth(without_not(condition), read, len(one))
            one, other = one[held], other[held]
    return np.asarray(one)


def _fitting(
    tied: EventColumns, branch: Branch, variable: str, conditions: list[Expression]
) -> Rows:
    """Return the events that could be a variable by their type and the conditions on it alone."""
    rows = np.flatnonzero(has_type(tied, branch.event(variable).types))
    for condition in conditions:
        if variables_of(condition) == {variable} and len(rows):
            rows = rows[truth(without_not(condition), reader(tied, {variable: rows}), len(rows))]
    return rows
