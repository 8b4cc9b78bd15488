"""The detector: runs a compiled query over a stream in memory, a slice, or arriving events.

A stream in memory is cut into slices, so that memory is bounded and no match is found twice. A
slice from outside comes with the range of matches that it owns. A stream that arrives in parts is
also processed slice by slice: only the events of the last window are carried over, never partial
matches, so any plan can take over at any time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cepkit.columnar.after_match import AfterMatchSelection
from cepkit.columnar.compile.program import Counters, counters_for
from cepkit.columnar.compile.query import CompiledQuery
from cepkit.columnar.kleene.limits import (
    MOST_SETS,
    MOST_TRIED,
    SetChoice,
    check_number_of_sets,
    size_choice,
)
from cepkit.columnar.parts import (
    Make,
    PartRun,
    held,
    jobs_of,
    matches_of,
    sized,
    weight,
    whole,
)
from cepkit.columnar.slices.blocks import Block
from cepkit.columnar.slices.cutting import EVERYTHING, Owned, cutting_clock, looks_ahead, readings
from cepkit.columnar.slices.plans import SlicePlans, SliceWork
from cepkit.errors import StreamError
from cepkit.pattern.policies import AfterMatch, Clock
from cepkit.stream.columns import EventColumns
from cepkit.stream.joining import joined, kept
from cepkit.threads import in_order

T = TypeVar("T")


@dataclass(frozen=True, eq=False, slots=True)
class DetectorState:
    """The state of a detector between parts of a stream; it can be pickled.

    Attributes:
        events: The events that later matches may need; None before the first.
        taken: For each event whether a match has consumed it (under skip-till-next-match); with
            AFTER MATCH SKIP, whether no later match may start with it.
        arrived: The number of events that have arrived.
        complete: All events before this time have arrived, in microseconds; None: unknown yet.
        sealed: All matches that end before this have been found, by the clock of the cut: a time,
            or an arrival number; None if none has.
    """

    events: EventColumns | None = None
    taken: npt.NDArray[np.bool_] | None = None
    arrived: int = 0
    complete: int | None = None
    sealed: int | None = None


class Detector:
    """Finds the matches of a compiled query.

    Attributes:
        query: The compiled query that runs now.
        counters: The work so far, of the query that is run now.
        earlier: The compiled queries that ran before, with their counters.
        size: An upper bound on the matches from choosing sets, if it was checked; else None.
        work: The work of slices with their own plans; None without such plans.
        reached: The row up to which a sliced stream has been searched.

    Args:
        slice_rows: Events of a slice; None: chosen from the window.
        plans: Chooses the plan of each slice; None: the plan of `query`. Unused under
            skip-till-next-match.
        threads: The most slices to run at the same time. What is found does not depend on it.
    """

    def __init__(
        self,
        query: CompiledQuery,
        *,
        slice_rows: int | None = None,
        plans: SlicePlans | None = None,
        threads: int = 1,
    ) -> None:
        self.query = query
        self.counters = counters_for(query.programs)
        self.earlier: list[tuple[CompiledQuery, Counters]] = []
        self.size: int | None = None
        self.reached = 0
        self.work = SliceWork() if plans is not None and not query.in_turn else None
        self._slice_rows = slice_rows
        self._plans = plans
        self._threads = threads
        self._state = DetectorState()

    def matches(
        self,
        columns: EventColumns,
        owned: Owned = EVERYTHING,
        *,
        limited: bool = False,
        taken: npt.NDArray[np.bool_] | None = None,
    ) -> Iterator[tuple[int, Block]]:
        """Return branch numbers and matches in batches, as rows of `columns`.

        Args:
            columns: A stream, or a slice and the events up to a window before it; with NOT, also
                those up to a window after it. Where windows count events, a slice has the numbers
                that its events have in the stream.
            owned: The matches that are the slice's own.
            limited: Whether only some matches are wanted.
            taken: For a slice under skip-till-next-match, whether an earlier match has consumed
                each event; with AFTER MATCH SKIP, whether one excludes matches that start with it,
                and the slice's own matches start in it. Newly consumed events are added.

        Raises:
            LimitError: All matches are wanted, but there are more sets than could be written.
        """
        make = whole if self._threads == 1 else held
        return self.made(make, columns, owned, limited=limited, taken=taken)

    def made(
        self,
        make: Make[T],
        columns: EventColumns,
        owned: Owned = EVERYTHING,
        *,
        limited: bool = False,
        taken: npt.NDArray[np.bool_] | None = None,
    ) -> Iterator[tuple[int, T]]:
        """Return the results of `make` with the numbers of their branches; see `matches`.

        Args:
            make: Turns matches, rows of `columns`, into results; called by several threads.
        """
        query = self.query
        if query.in_turn and taken is not None:
            return _made(make, self._in_turn(columns, taken, owned))
        if query.after_match is not None:
            return _made(make, self._after_match(query.after_match, columns, owned, taken))
        if query.lists_sets and query.sets == "every" and not limited and not query.in_turn:
            self.size = self._checked(columns, owned, size_choice(query.programs), MOST_SETS)
        return self._run(columns, owned, query.sets, make)

    def count(self, columns: EventColumns, owned: Owned = EVERYTHING) -> Iterator[tuple[int, int]]:
        """Return branch numbers and numbers of matches; sets are listed where these depend on them.

        Raises:
            LimitError: It would have to try too many sets.
        """
        query = self.query
        if query.after_match is not None:
            return _made(sized, self._after_match(query.after_match, columns, owned, None))
        # Caps show their effect only during enumeration, which stops by itself.
        trying = any(p.tries_sets and not p.cuts_sets_off for p in query.programs)
        if trying and not query.in_turn:
            self._checked(columns, owned, "tried", MOST_TRIED)
        choice: SetChoice = "count" if query.sets == "every" else query.sets
        return self._run(columns, owned, choice, sized)

    def feed(
        self, columns: EventColumns, until: int, query: CompiledQuery | None = None
    ) -> Iterator[tuple[int, Block]]:
        """Yield the matches that no later event can extend or break.

        A match is found once all events up to its end have arrived; with NOT, and if sets may
        continue after all other events, a window later; with AFTER MATCH SKIP when the window of
        its first event, or of NOT after it, has ended. Windows that count the events of a
        partition, and queries without a window, wait for `finish`.

        Args:
            columns: The events since the last call; none is before the last `until`.
            until: All events before this time have arrived, in microseconds.
            query: The same query with another plan, from now on.

        Yields:
            Branch numbers and matches, as rows of `events`. Consume all of them before the next
            call.

        Raises:
            StreamError: An event is late.
        """
        before = self._state.complete
        if before is not None and len(columns) and columns.ts[0] < before:
            late = np.datetime64(int(columns.ts[0]), "us")
            raise StreamError(
                f"an event at {late}",
                expected=f"none before {np.datetime64(before, 'us')}, since the stream was declared"
                " complete up to that time",
                hint="leave late events out, or allow for more lateness",
            )
        if query is not None and query != self.query:
            self.earlier.append((self.query, self.counters))
            self.query, self.counters = query, counters_for(query.programs)
        self._add(columns)
        self._state = replace(self._state, complete=max(until, before or until))
        return self._found()

    def finish(self) -> Iterator[tuple[int, Block]]:
        """Yield the remaining matches at the end of the stream, as rows of `events`."""
        self._state = replace(self._state, complete=None)
        return self._found()

    @property
    def events(self) -> EventColumns | None:
        """The events whose rows `feed` and `finish` refer to; None before the first."""
        return self._state.events

    def state(self) -> DetectorState:
        """Return the state, once all matches of the last part were consumed."""
        return self._state

    def restore(self, state: DetectorState) -> None:
        """Continue from another detector's state."""
        self._state = state

    def _add(self, columns: EventColumns) -> None:
        """Add and number new events."""
        state = self._state
        new = replace(columns, arrivals=columns.arrival() + state.arrived, places=None)
        taken = np.zeros(len(new), dtype=np.bool_)
        if state.events is not None:
            assert state.taken is not None
            held, new = state.events, joined(state.events, new)
            old = np.isin(new.arrival(), held.arrival())
            taken = np.zeros(len(new), dtype=np.bool_)
            taken[old] = state.taken
        self._state = replace(state, events=new, taken=taken, arrived=state.arrived + len(columns))

    def _found(self) -> Iterator[tuple[int, Block]]:
        """Yield the matches that are certain among the held events, then drop useless events."""
        state, programs = self._state, self.query.programs
        clock, window = cutting_clock(programs)
        if clock == "place" or (clock == "arrival" and self.query.chooses):
            window = None
        if state.events is None or (window is None and state.complete is not None):
            return
        assert state.taken is not None
        end = None
        if state.complete is not None and window is not None:
            everything = state.complete if clock == "time" else state.arrived
            end = everything - (window if looks_ahead(programs, clock) else 0)
            end -= window if self.query.after_match is not None else 0
            if state.sealed is not None and end <= state.sealed:
                return
        taken = state.taken.copy()
        seen = self._seen(state.events, clock)
        owned = Owned(state.sealed, end, clock)
        yield from self.matches(seen, owned, taken=taken[: len(seen)])
        if end is None or window is None:
            self._state = DetectorState(arrived=state.arrived)
            return
        left = np.flatnonzero(readings(state.events, clock) >= end - window)
        self._state = replace(state, events=kept(state.events, left), taken=taken[left], sealed=end)

    def _seen(self, events: EventColumns, clock: Clock) -> EventColumns:
        """Return the events up to which the stream is complete."""
        complete = self._state.complete
        if complete is None or clock != "time":
            return events
        return events.slice(0, int(np.searchsorted(events.ts, complete)))

    def _after_match(
        self,
        skip: AfterMatch,
        columns: EventColumns,
        owned: Owned,
        excluded: npt.NDArray[np.bool_] | None,
    ) -> Iterator[tuple[int, Block]]:
        """Yield the matches that start in a slice and that AFTER MATCH SKIP selects."""
        choice, programs, own = self.query.sets, self.query.programs, _rows_of(columns, owned)
        _, window = cutting_clock(programs)
        if owned.until is not None and window is not None:
            owned = replace(owned, until=owned.until + window)  # by then they have ended
        if self.query.lists_sets and choice == "every":
            self._checked(columns, owned, size_choice(programs), MOST_SETS)
        if excluded is None:
            excluded = np.zeros(len(columns), dtype=np.bool_)
        selection = AfterMatchSelection(skip, programs, columns, own, excluded, self.query.groups)
        for number, some in self._run(columns, owned, choice, selection.of_use):
            selection.add(number, some)
        yield from selection.left()

    def _in_turn(
        self, columns: EventColumns, taken: npt.NDArray[np.bool_], owned: Owned
    ) -> Iterator[tuple[int, Block]]:
        first, last = _rows_of(columns, owned)
        yield from self._next_matches(columns, self.counters, taken=taken, first=first, last=last)

    def _next_matches(
        self, columns: EventColumns, counters: Counters, **options: Any
    ) -> Iterator[tuple[int, Block]]:
        # Imported only for this strategy: its loops and searches are slow to import.
        from cepkit.columnar.skip_till_next.detection import next_matches

        query = self.query
        return next_matches(query.branches, query.programs, columns, counters, **options)

    def _checked(self, columns: EventColumns, owned: Owned, choice: SetChoice, most: int) -> int:
        """Refuse endless enumerations in advance; return the number of matches."""
        sizes = [0] * len(self.query.programs)
        counters = counters_for(self.query.programs)
        for number, some in self._run(columns, owned, choice, sized, counters):
            sizes[number] += some
        for program, size in zip(self.query.programs, sizes, strict=True):
            check_number_of_sets(program, size, most)
        return sum(sizes)

    def _run(
        self,
        columns: EventColumns,
        owned: Owned,
        choice: SetChoice,
        make: Make[T],
        counters: Counters | None = None,
    ) -> Iterator[tuple[int, T]]:
        """Yield the results of `make` with the numbers of their branches.

        Args:
            counters: Of a count in advance, which is no work of the run; None for a run.
        """
        own = self.counters if counters is None else counters
        blocks: Iterator[tuple[int, Block]] | None = None
        if self.query.in_turn:
            blocks = self._next_matches(
                columns, own, slice_rows=self._slice_rows, threads=self._threads
            )
        elif self._plans is None and (owned.since is not None or owned.until is not None):
            blocks = matches_of(self.query, columns, owned, own, choice)
        if blocks is not None:
            yield from _made(make, blocks)
            return
        work: Counters | SliceWork = own
        if self._plans is not None:
            work = self.work if counters is None and self.work is not None else SliceWork()
        jobs = jobs_of(
            self.query,
            columns,
            owned,
            choice,
            make,
            work,
            plans=self._plans,
            slice_rows=self._slice_rows,
        )
        first = (*islice(jobs, 2),)
        threads = self._threads if len(first) > 1 else 1  # to start one takes a millisecond
        jobs = chain(first, jobs)
        del first
        for each in in_order(jobs, threads, weight):
            if isinstance(each, PartRun):
                each.add_to(work, columns)
                self.reached = each.part.end
            else:
                yield each


def _made(make: Make[T], blocks: Iterator[tuple[int, Block]]) -> Iterator[tuple[int, T]]:
    for number, block in blocks:
        for each in make(number, block):
            yield number, each


def _rows_of(columns: EventColumns, owned: Owned) -> tuple[int, int]:
    """Return the first event of a stretch of time, and the one after its last."""
    first = 0 if owned.since is None else int(np.searchsorted(columns.ts, owned.since))
    if owned.until is None:
        return first, len(columns)
    return first, int(np.searchsorted(columns.ts, owned.until))
