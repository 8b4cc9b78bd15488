"""skip-till-next-match: every event is in at most one match.

The stream is scanned in order. At each event, of all matches that it completes and whose events are
free, the one with the smallest arrival numbers in pattern order is taken, and its events are
consumed. So the result does not depend on the plan. There are two methods:

- first-match search (search.py), if events came in time order: a depth-first search from each event
  that can be last, up to the first success. O(events) if most searches succeed at once; at worst,
  if conditions refuse everything, a search visits all partial matches in its window,
  O(window^(variables - 1)).
- batches (batches.py), in plan order: find all matches, then choose. If searches take long a batch
  is tried, and if it takes less work batches continue; they are the only method for sets, `corr`
  and user functions between events, integers beyond 2^53, and events out of order.

Consumed events carry over, so slices are searched in sequence; their candidates, which depend on no
match, are gathered side by side. The searches of a slice need memory for its candidates, and the
stream one byte for each event.

A search binds the last variable of a branch to an event and then the others in pattern order, each
within the range given by tables, searches and bands. A branch has one search for each variable that
can be last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import product
from time import perf_counter

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import Program, Step, StepCounters
from cepkit.columnar.compile.query import compile_branch
from cepkit.columnar.compile.steps import parts_of
from cepkit.columnar.skip_till_next.batches import TRIAL, Batches, taken_blocks
from cepkit.columnar.skip_till_next.records import Counts, Events, LastEvents, MatchArrays, Tables
from cepkit.columnar.skip_till_next.search import Decide, scan
from cepkit.columnar.skip_till_next.tables import tables_of
from cepkit.columnar.slices.binding import Binder, BoundProgram
from cepkit.columnar.slices.blocks import SetBlock
from cepkit.columnar.slices.cutting import Owned, numbered, slices
from cepkit.indexing import bin_counts
from cepkit.pattern.conditions import Comparison, Expression, variables_of
from cepkit.pattern.evaluation.source import has_source
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.rewrite import MIRRORED
from cepkit.stream.columns import EventColumns
from cepkit.threads import in_order


def search_programs(branches: Sequence[Branch]) -> tuple[tuple[int, Program], ...] | None:
    """Return branch number and program of each search, or None if searches are impossible.

    They are impossible with sets, with several events in one NOT, and with conditions that combine
    events in user functions or in functions of arrays or texts. Whether columns of numbers are
    exact is known only when the programs are bound: see `tables.py`.
    """
    if any(branch.repeated or branch.together for branch in branches):
        return None
    programs = []
    for number, stated in enumerate(branches):
        branch = replace(stated, conditions=(*stated.conditions, *_implied(stated)))
        for variable in branch.latest(branch.variables):
            others = [other for other in branch.variables if other != variable]
            program = _trimmed(branch, compile_branch(branch, (variable, *others)))
            for step in (*program.single, *program.negated):
                if not all(has_source(c, arrays=False) for c in step.residuals):
                    return None
            programs.append((number, program))
    return tuple(programs)


def _implied(branch: Branch) -> tuple[Comparison, ...]:
    """Return the comparisons that follow from two or more: with `x < y` and `y < z`, `x < z`.

    They refuse a candidate before the search for events between it and the last one.
    """
    stated: dict[tuple[Expression, Expression], Comparison] = {}
    for part in parts_of(branch.conditions):
        if not isinstance(part, Comparison) or part.operator in ("=", "!="):
            continue
        operator, left, right = part.operator, part.left, part.right
        if operator in (">", ">="):
            operator, left, right = MIRRORED[operator], right, left
        both = variables_of(left), variables_of(right)
        if both[0] != both[1] and all(len(v) == 1 and v <= {*branch.variables} for v in both):
            stated.setdefault((left, right), Comparison(operator, left, right, part.span))
    known = dict(stated)
    sides = dict.fromkeys(side for pair in stated for side in pair)
    for middle, low, high in product(sides, repeat=3):
        if (low, middle) in known and (middle, high) in known:
            first, second = known[low, middle], known[middle, high]
            strict = "<" in (first.operator, second.operator)
            implied = Comparison("<" if strict else "<=", low, high, first.span)
            known.setdefault((low, high), implied)
    return tuple(
        part
        for pair, part in known.items()
        if pair not in stated and variables_of(part.left) != variables_of(part.right)
    )


def _trimmed(branch: Branch, program: Program) -> Program:
    """Drop the bounds that follow from the choice of the last event.

    Every range ends at the last event, so the window only requires that no event is too early for
    it. Of the variables after another one, only the last variable is bound before it.
    """
    last = program.single[0].variable

    def trimmed(step: Step) -> Step:
        known = {last} | branch.before(step.variable)
        lower = tuple(bound for bound in step.lower if bound.variable in known)
        return _with_single_sides(replace(step, lower=lower, upper=()))

    return replace(
        program,
        steps=tuple(map(trimmed, program.single)),
        absences=tuple(replace(a, step=_with_single_sides(a.step)) for a in program.absences),
    )


def _with_single_sides(step: Step) -> Step:
    """Return a step with bands about one bound variable each; the others are residuals."""
    bands = [band for band in step.bands if len(variables_of(band.other)) == 1]
    others = (
        Comparison(band.operator, band.own, band.other, band.own.span)
        for band in step.bands
        if band not in bands
    )
    return replace(step, bands=tuple(bands), residuals=(*step.residuals, *others))


PATIENCE = 16
"""Searches are compared with batches beyond this many examined candidates for each event."""

GATHERED = 4
"""The most slices whose candidates are gathered at the same time: one thread searches no faster."""

STRETCH = 1 << 19
"""The work of batches is compared with that of searches after this many events."""


def next_matches(
    branches: Sequence[Branch],
    programs: Sequence[Program],
    columns: EventColumns,
    counters: Sequence[Sequence[StepCounters]],
    *,
    taken: npt.NDArray[np.bool_] | None = None,
    first: int = 0,
    last: int | None = None,
    slice_rows: int | None = None,
    threads: int = 1,
) -> Iterator[tuple[int, SetBlock]]:
    """Yield branch numbers and matches in batches, in stream order of their slices.

    Searches count the examined candidates of each variable, and matches as survivors.

    Args:
        programs: Their programs; only batches follow them.
        counters: For each branch those of its steps; the work is added to them.
        taken: bool[events], whether an earlier match has an event; taken events are added. None:
            all events are free.
        first: The first event that can be last in a match.
        last: The end of those; None: that of the stream.
        slice_rows: Events of a slice; None: chosen from the window.
        threads: The most threads that gather the candidates of slices.
    """
    columns = numbered(programs[0], columns)
    consumed = np.zeros(len(columns), dtype=np.bool_) if taken is None else taken
    whole = any(clock != "time" for program in programs for _, clock in program.windows)
    window = None if whole else programs[0].window
    cuts = [*slices(columns.ts, window, slice_rows, first, last)]
    threads = min(threads, GATHERED, len(cuts))
    searcher = _Searcher(branches, programs, columns, consumed, counters, keeps=threads == 1)
    method = _Method(searcher, Batches(programs, columns, consumed, counters, slice_rows))
    jobs = (partial(method.prepared, *each) for each in cuts)
    for blocks in in_order(jobs, threads if searcher.possible else 1):
        yield from blocks()
        del blocks  # and its candidates, before the next ones are gathered


class _Method:
    """Chooses between searches and batches: if searches take long, tries both.

    Both can continue from any event, so the choice is only about work.
    """

    def __init__(self, searcher: _Searcher, batches: Batches) -> None:
        self._searcher = searcher
        self._batches = batches
        self._by_batches = not searcher.possible
        self._patience = PATIENCE
        self._work_of_searches = math.inf

    def prepared(
        self, begin: int, first: int, end: int
    ) -> Iterator[Callable[[], Iterator[tuple[int, SetBlock]]]]:
        """Yield the function that finds the matches of a slice; any thread may prepare it."""
        searches = cache(partial(self._searcher.searches, begin, first, end))
        if first < end and not self._by_batches:
            searches()
        yield partial(self._blocks, searches, first, end)

    def _blocks(
        self, searches: Callable[[], _Searches | None], first: int, end: int
    ) -> Iterator[tuple[int, SetBlock]]:
        """Yield branch and matches for the last events from `first` to `end`."""
        while first < end:
            if self._by_batches:
                until = min(end, first + STRETCH) if self._searcher.possible else end
                before = self._batches.work
                yield from self._batches.blocks(first, until)
                work = (self._batches.work - before) / (until - first)
                self._by_batches = work <= self._work_of_searches
                first = until
                continue
            made = searches()
            if made is None:
                yield from self._batches.blocks(first, end)
                return
            reached, work, matches = made.taken(first, end, self._patience)
            yield from matches
            self._work_of_searches = work / max(1, reached - first)
            first = reached
            if first < end:
                first = yield from self._trial(first, min(end, first + TRIAL))

    def _trial(self, first: int, until: int) -> Generator[tuple[int, SetBlock], None, int]:
        """Try a batch, choose the method to continue with, and return where to continue."""
        before = self._batches.work
        tried = self._batches.trial(first, until)
        if tried is not None:
            yield from tried
            work = (self._batches.work - before) / (until - first)
            self._by_batches = work < self._work_of_searches
        if not self._by_batches:
            self._patience *= 4  # repeated comparisons pay off less and less
        return first if tried is None else until


class _Searcher:
    """Takes matches by first-match search, if that is possible.

    Args:
        programs: Their programs, for the variables and their place in the counters.
        consumed: For each event whether a match has it; events that are taken are added.
        keeps: Whether searches keep what they are made of; not if several wait for their turn.
    """

    def __init__(
        self,
        branches: Sequence[Branch],
        programs: Sequence[Program],
        columns: EventColumns,
        consumed: npt.NDArray[np.bool_],
        counters: Sequence[Sequence[StepCounters]],
        *,
        keeps: bool,
    ) -> None:
        self._keeps = keeps
        self._branches = branches
        self._programs = programs
        self._columns = columns
        self._consumed = consumed
        self._counters = counters
        # Candidates are tried in time order, but the smallest arrival numbers must win.
        self._searches = search_programs(branches) if columns.in_order() else None
        self.possible = self._searches is not None

    def searches(self, begin: int, first: int, end: int) -> _Searches | None:
        """Return the searches for the last events from `first` to `end`; None if impossible.

        Args:
            begin: The first event up to a window before.
            first: Where the slice begins.
            end: Where it ends; events of equal time are not separated.
        """
        assert self._searches is not None
        began = perf_counter()
        bound = self._bound(begin, first, end)
        branches = [self._branches[number] for number, _ in self._searches]
        built = tables_of(branches, bound)
        if built is None:
            return None
        lasts = _lasts(built[0], bound, begin, first)
        kept = bound if self._keeps else ()
        return _Searches(self, kept, *built, lasts, perf_counter() - began)

    def _bound(self, begin: int, first: int, end: int) -> list[BoundProgram]:
        assert self._searches is not None
        ts, n = self._columns.ts, len(self._columns)
        ahead = end
        if end < n and any(program.negated for _, program in self._searches):
            window = self._searches[0][1].window or 0
            ahead = int(np.searchsorted(ts, ts[end - 1] + window, side="right"))
        part = self._columns if ahead - begin == n else self._columns.slice(begin, ahead)
        owned = Owned(
            since=None if first == 0 else int(ts[first]), until=None if end == n else int(ts[end])
        )
        return [Binder(program, part, owned, in_time=True).bound() for _, program in self._searches]

    def taken(
        self,
        tables: Tables,
        decide: Decide,
        lasts: LastEvents,
        memory: npt.NDArray[np.int32],
        patience: int,
        seconds: float,
    ) -> tuple[int, int, Iterator[tuple[int, SetBlock]]]:
        """Take matches, one after the other, as long as patience lasts.

        Args:
            seconds: What their preparation took, if it is not counted yet.

        Returns:
            The number of last events tried, the work, and branch and matches.
        """
        assert self._searches is not None
        began = perf_counter() - seconds
        width = max(len(program.variables) for program in self._programs)
        rows = np.empty((len(lasts.rows), width), dtype=np.int32)
        matched = MatchArrays(rows, np.empty(len(rows), dtype=np.int32))
        counts = Counts(*(np.zeros(len(tables.nodes) + 1, dtype=np.int64) for _ in range(2)))
        begin, columns = lasts.begin, self._columns
        events = Events(columns.ts[begin:], columns.order()[begin:], self._consumed[begin:])
        number, tried = scan(tables, decide, lasts, events, matched, counts, memory, patience)
        rows = rows[:number]
        branches = np.array([branch for branch, _ in self._searches])[matched.searches[:number]]
        self._count(tables, counts, bin_counts(branches, minlength=len(self._programs)).tolist())
        self._counters[0][0].seconds += perf_counter() - began
        rows[rows >= 0] += lasts.begin
        return tried, int(counts.looked[-1]), taken_blocks(self._programs, rows, branches)

    def _count(self, tables: Tables, counts: Counts, matches: Sequence[int]) -> None:
        assert self._searches is not None
        for counted, number in zip(self._counters, matches, strict=True):
            for counters in counted:
                counters.survivors += number
                counters.peak_rows = max(counters.peak_rows, min(number, 1))
        for begin, (branch, program) in zip(tables.begins.tolist(), self._searches, strict=False):
            of_variable = {counted.variable: counted for counted in self._counters[branch]}
            for node, step in enumerate(program.single, start=begin):
                of_variable[step.variable].candidates += int(counts.looked[node])
                of_variable[step.variable].removed += int(counts.removed[node])


class _Searches:
    """The searches of one slice, which can pause and continue.

    Args:
        bound: The programs, to be freed together with their arrays: memory released in one piece
            can be reused for the next slice without going back to the system.
        seconds: The time that it took to make them.
    """

    def __init__(
        self,
        searcher: _Searcher,
        bound: Sequence[BoundProgram],
        tables: Tables,
        decide: Decide,
        lasts: LastEvents,
        seconds: float,
    ) -> None:
        self._searcher = searcher
        self._seconds = seconds
        self._bound = bound
        self._tables = tables
        self._decide = decide
        self._lasts = lasts
        candidates = int(tables.nodes["count"][: tables.begins[-1]].sum())
        self._memory = np.zeros((2, candidates), dtype=np.int32)

    def taken(
        self, first: int, end: int, patience: int
    ) -> tuple[int, int, Iterator[tuple[int, SetBlock]]]:
        """Return the progress of the searches, their work, and branch and matches."""
        lasts = self._lasts.since(first)
        tried, work, matches = self._searcher.taken(
            self._tables, self._decide, lasts, self._memory, patience, self._seconds
        )
        self._seconds = 0.0
        reached = end if tried == len(lasts.rows) else lasts.begin + int(lasts.rows[tried])
        return reached, work, matches


def _lasts(tables: Tables, bound: Sequence[BoundProgram], begin: int, first: int) -> LastEvents:
    """Return the events that can be last, in stream order.

    Args:
        begin: The row of the stream at which the slice begins.
        first: The first row of the stream that is wanted.
    """
    parts = []
    for number, program in enumerate(bound):
        node = tables.nodes[tables.begins[number]]
        size = int(node["count"]) if program.possible else 0
        rows = tables.ints[node["rows"] : node["rows"] + size]
        at = np.arange(np.searchsorted(rows, first - begin), len(rows), dtype=np.int32)
        parts.append((np.full(len(at), number, dtype=np.int32), at, rows[at]))
    if len(parts) == 1:
        return LastEvents(begin, *parts[0])
    searches, at, rows = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(rows, kind="stable")
    return LastEvents(begin, searches[order], at[order], rows[order])
