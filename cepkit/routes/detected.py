"""Detection, then aggregation: for queries whose matches must be visited one by one.

The engine finds the matches in blocks; only the values that aggregates need are kept. Cost:
detection, plus O(log matches) for each match and each row of the output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels.records import NOTHING, Tracks
from cepkit.aggregation.rows import matched
from cepkit.aggregation.rows.matched import MatchRows, Triggers
from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.rows.tables import Values, columns_of, kept
from cepkit.aggregation.semirings.functions import Count, Element, Function, product
from cepkit.aggregation.semirings.lanes import Lanes, lanes_of, tracks_for
from cepkit.aggregation.sequence.elements import Emit, Together, reader
from cepkit.aggregation.sequence.gathering import passing
from cepkit.columnar.compile.program import Program
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.slices.blocks import Block, Members, bound_in
from cepkit.errors import LimitError
from cepkit.indexing import reduced
from cepkit.memory import Room
from cepkit.pattern.conditions import is_filter, variables_of
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.keys import partition_keys
from cepkit.pattern.nodes import bound_events_of
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.pattern.rewrite import without_not
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import Plan
from cepkit.planners.compare import compare_plans
from cepkit.routes.functions import attributes_of
from cepkit.routes.lifetimes import Lifetimes
from cepkit.statistics.measuring.estimate import estimate
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.columns import EventColumns
from cepkit.stream.stream import Stream

Groups = npt.NDArray[np.int32]
_MERGED = 1 << 18
"""After this many matches, those with the same last event and end are added up."""
_INSTEAD = (
    "emit='total' and emit='new' need no more memory than the events; otherwise a shorter WITHIN,"
    " or conditions, leave fewer matches live"
)
Blocks: TypeAlias = Callable[[], Iterable[tuple[Program, Block]]]


def aggregate_detected(
    stream: Stream,
    query: Query,
    functions: Mapping[str, Function],
    emit: Emit,
) -> dict[str, Values]:
    """Return the columns of the output.

    Raises:
        PatternError: An aggregate or a threshold does not take the column that it is of.
        LimitError: There are too many sets of Kleene variables.
    """
    bare = without_aggregates(query)
    matches = Matches(
        stream,
        bare,
        _plan(stream, bare),
        attributes=attributes_of(functions) | set(attributes_read(bare)),
    )
    check_kinds(query, matches.columns.kinds)
    if emit == "total" and not query.group_by and only_counts(functions.values()):
        total = matches.count()  # exact, and sets are counted without building them
        return kept({name: [total] for name in functions}, query.having)
    moments, group_rows = aggregate_blocks(matches.columns, matches.blocks, query, functions, emit)
    return columns_of(moments, functions, matches.columns, stream.schema, query, group_rows, emit)


def aggregate_blocks(
    columns: EventColumns,
    blocks: Blocks,
    query: Query,
    functions: Mapping[str, Function],
    emit: Emit,
) -> tuple[Moments, Groups]:
    """Return the rows of matches, and an event of each group.

    Args:
        blocks: Finds the matches among them, with their programs; it may be called twice.
    """
    bare = without_aggregates(query)
    groups, group_rows = groups_of(columns, query.group_by)
    arguments = (columns, blocks, bare, functions, groups, emit, len(group_rows))
    # Without events there is no need to compile.
    moments = _moments(*arguments, by_lanes=True) if len(columns) else None
    if moments is None:
        moments = _moments(*arguments, by_lanes=False)
    assert moments is not None
    if emit == "total" and query.group_by:
        moments = moments.take(np.flatnonzero(moments.new))
    return moments, group_rows


def without_aggregates(query: Query) -> Query:
    """Return the query that detects the matches, with GROUP BY as PARTITION BY."""
    keys = tuple(dict.fromkeys((*query.partition_by, *query.group_by)))
    return replace(query, aggregates=(), group_by=(), having=(), partition_by=keys)


def only_counts(functions: Iterable[Function]) -> bool:
    """Return whether all functions are the number of matches."""
    return all(isinstance(function, Count) for function in functions)


def _plan(stream: Stream, query: Query) -> Plan:
    if query.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
        return as_plan(None, query)
    return compare_plans(query, estimate(stream.columns(attributes_read(query)), query)).best


def groups_of(columns: EventColumns, group_by: Sequence[str]) -> tuple[Groups, Groups]:
    """Return the group of each event, and an event of each group."""
    if not group_by:
        return np.zeros(len(columns), dtype=np.int32), np.zeros(1, dtype=np.int32)
    groups, size = partition_keys([columns.attributes[name] for name in group_by])
    rows = np.zeros(size, dtype=np.int32)
    rows[groups[::-1]] = np.arange(len(columns), dtype=np.int32)[::-1]
    return groups, rows


def triggers_of(query: Query, columns: EventColumns, groups: Groups) -> Triggers:
    """Return the events that can be the last of a match.

    These are events of variables that no other variable must follow, if they satisfy the conditions
    on that event alone.
    """
    is_trigger = np.zeros(len(columns), dtype=np.bool_)
    for branch in normal_form(query):
        for event in branch.positive:
            if branch.after(event.variable) & set(branch.variables):
                continue
            is_trigger |= passing(
                columns,
                event,
                [
                    without_not(condition)
                    for condition in branch.conditions
                    if is_filter(condition) and event.variable in variables_of(condition)
                ],
            )
    rows = np.flatnonzero(is_trigger)
    return Triggers(rows, columns.ts[rows], groups[rows])


def _moments(
    columns: EventColumns,
    blocks: Blocks,
    query: Query,
    functions: Mapping[str, Function],
    groups: Groups,
    emit: Emit,
    size: int,
    *,
    by_lanes: bool,
) -> Moments | None:
    """Return the rows of the output; None if lanes cannot carry the aggregates or overflow."""
    together = Together(list(functions.values()))
    window = query.window if emit in ("trigger", "changes") else None
    lifetimes = Lifetimes(window, query.partition_by, columns)
    gathering = _MatchGatherer(query, columns, together, groups, lifetimes, by_lanes=by_lanes)
    if by_lanes and gathering.lanes is None:
        return None
    lanes = gathering.lanes
    for program, block in blocks():
        gathering.add(block, program.variables)
        if lanes is not None and not matched.fits(gathering.events, lanes):
            return None
    matched_rows = gathering.matched()
    triggers = triggers_of(query, columns, groups)
    if emit in ("trigger", "changes"):
        return matched.aggregate(
            matched_rows, triggers, columns.ts, together, lanes, changes=emit == "changes"
        )
    if emit == "new":
        slots = np.searchsorted(triggers.rows, matched_rows.last)
        return matched.parts(matched_rows, slots, triggers.ts, triggers.groups, together, lanes)
    numbers = np.arange(size, dtype=np.int32)
    return matched.parts(
        matched_rows,
        matched_rows.groups.astype(np.int64),
        np.zeros(size, np.int64),
        numbers,
        together,
        lanes,
    )


class _MatchGatherer:
    """Collects matches for aggregation: their lifetimes and values.

    If there are many, those that the output cannot tell apart are added up: so there are at most as
    many rows as pairs of a first and a last event, or as last events if none expires.

    Attributes:
        lanes: The lanes; None: elements.
        events: The number of events added.
    """

    def __init__(
        self,
        query: Query,
        columns: EventColumns,
        together: Together,
        groups: Groups,
        lifetimes: Lifetimes,
        *,
        by_lanes: bool,
    ) -> None:
        self._together, self._groups, self._lifetimes = together, groups, lifetimes
        branches = normal_form(query)
        self._names = [event.variable for event in bound_events_of(query.written)]
        self._groups_that_repeat = query.groups
        # Variables that a match may bind never, or several times.
        partial = {v for v in self._names if any(v not in b.variables for b in branches)}
        partial |= {v for branch in branches for v, _, _ in branch.repeated}
        positions = {variable: i for i, variable in enumerate(self._names)}
        lanes = lanes_of(together.functions[1:], positions, columns, partial)
        self.lanes: Lanes | None = lanes if by_lanes else None
        self.events = 0
        self._event = reader(together, self._names, columns)
        self._parts: list[MatchRows] = []
        self._held, self._most = 0, _MERGED
        # Sorting them and adding them up over time needs copies.
        self._room = Room("matches", "what is added up at each trigger", _INSTEAD, copies=5)

    def add(self, block: Block, variables: Sequence[str]) -> None:
        """Add some matches that bind some variables."""
        single, sets = bound_in(block, variables, self._groups_that_repeat)
        self.events += sum(map(len, single.values())) + sum(len(s.rows) for s in sets.values())
        begins = np.minimum.reduce([*single.values(), *(each.first for each in sets.values())])
        ends = np.maximum.reduce([*single.values(), *(each.last for each in sets.values())])
        values: Tracks | list[Element]
        if self.lanes is None:
            values = self._elements(len(begins), single, sets)
        else:
            values = self._tracks(self.lanes, len(begins), single, sets)
        part = MatchRows(
            self._lifetimes.ends(begins, single, sets),
            ends.astype(np.int64),
            self._groups[begins],
            values,
        )
        self._parts.append(part)
        self._held += len(part)
        try:
            more = part.size
            if self._held > self._most:
                more += self._merge()
            self._room.take(len(part), more)
        except (LimitError, MemoryError) as error:
            self._parts.clear()  # a stored traceback would keep them alive
            raise (self._room.full() if isinstance(error, MemoryError) else error) from None

    def _merge(self) -> int:
        """Add up the matches that the output cannot tell apart; return the change in bytes."""
        merged = matched.merged(self._parts, self._together)
        more = merged.size - sum(part.size for part in self._parts)
        self._parts = [merged]
        self._held, self._most = len(merged), max(_MERGED, 2 * len(merged))
        return more

    def _elements(
        self, size: int, single: Mapping[str, npt.NDArray[np.integer]], sets: Mapping[str, Members]
    ) -> list[Element]:
        elements: list[list[Element]] = [[] for _ in range(size)]
        for position, variable in enumerate(self._names, 1):
            if variable in single:
                rows, at = single[variable], np.arange(size)
            elif variable in sets:
                rows, at = sets[variable].rows, np.repeat(np.arange(size), sets[variable].sizes)
            else:
                continue
            for match, row in zip(at.tolist(), rows.tolist(), strict=True):
                elements[match].append(self._event(position, row))
        return [product(self._together, each) for each in elements]

    def _tracks(
        self,
        lanes: Lanes,
        size: int,
        single: Mapping[str, npt.NDArray[np.integer]],
        sets: Mapping[str, Members],
    ) -> Tracks:
        tracks = tracks_for(lanes, size)
        tracks.counts[:] = 1
        tracks.leasts[:] = NOTHING
        for positions, values, out, join in (
            (lanes.int_at, lanes.ints, tracks.ints, np.add),
            (lanes.float_at, lanes.floats, tracks.floats, np.add),
            (lanes.least_at, lanes.leasts, tracks.leasts, np.minimum),
        ):
            for lane, position in enumerate(positions):
                variable = self._names[position]
                if variable in single:
                    out[lane] = values[lane, single[variable]]
                elif variable in sets:
                    members = sets[variable]
                    if size:
                        out[lane] = reduced(join, values[lane, members.rows], members.starts[:-1])
        return tracks

    def matched(self) -> MatchRows:
        """Return everything that was added."""
        none = np.empty(0, dtype=np.int64)
        lanes = self.lanes
        empty: Tracks | list[Element] = [] if lanes is None else tracks_for(lanes, 0)
        parts = [MatchRows(none, none, none.astype(np.int32), empty), *self._parts]
        return matched.joined(parts)
