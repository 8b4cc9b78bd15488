"""Sets of Kleene variables: lists of candidates, counted by arithmetic, enumerated on demand.

A row is what the steps have bound: the single events, and the ends of sets where they matter.
For each row every Kleene variable has a list of further events that its sets are chosen from. A
list of n stands for 2^n - 1 sets: their number follows from n, the largest is the list itself, and
all of them are made only when all are asked for. Conditions on the sets themselves are checked when
they are chosen (conditions.py).

Cost: the candidates of the lists, or nothing where a list is a range of candidates; then the sets
that are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import SetStep, StepCounters
from cepkit.columnar.join.step import Join, Partials
from cepkit.columnar.kleene.conditions import ChosenRows, SetConditions
from cepkit.columnar.kleene.counting import number_of_sets, numbers_of_sets
from cepkit.columnar.kleene.growth import grown, grown_in_order
from cepkit.columnar.kleene.largest import largest_of_each
from cepkit.columnar.kleene.limits import MOST_TRIED, SetChoice, TooManySets, Tries, too_many_sets
from cepkit.columnar.kleene.lists import Listing, Lists, kinds_of, parts_of, total_of
from cepkit.columnar.kleene.neighbours import (
    ANY_WAY,
    between_neighbours,
    can_be_linked,
    in_stream_order,
    leave_dead_ends_out,
    stretches,
    ways_of,
)
from cepkit.columnar.kleene.subsets import caps_of, subsets_of
from cepkit.columnar.slices.binding import BoundProgram
from cepkit.columnar.slices.blocks import Members, SetBlock
from cepkit.pattern.conditions import Expression, set_of_members

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]


_A_ROW = 1000
"""The number of sets that take as long as a row whose sets are tried by themselves."""


@dataclass(frozen=True, slots=True)
class Offers:
    """Rows with open choices: any choice from the lists of a row makes a match.

    Attributes:
        size: The number of rows.
        rows: For each bound variable, ends of sets among them, its event of the slice in each row.
        lists: For each Kleene variable its lists.
    """

    size: int
    rows: Mapping[str, npt.NDArray[np.integer]]
    lists: Mapping[str, Lists]


class Sets:
    """The Kleene variables of a bound program on one slice."""

    def __init__(
        self,
        bound: BoundProgram,
        join: Join,
        counters: Sequence[StepCounters],
        choice: SetChoice,
    ) -> None:
        self._bound = bound
        self._join = join
        self._counters = counters
        self._choice = choice
        self._steps = bound.program.sets
        self._conditions = SetConditions(bound, join)
        self._listing = Listing(bound, join, counters)
        self._tried = 0

    def blocks(self, rows: Iterable[tuple[Partials, int]]) -> Iterator[SetBlock]:
        """Yield the matches that rows lead to, some at a time.

        Args:
            rows: What the steps have bound, some at a time: candidates of each variable, and how
                many rows there are.
        """
        blocks: Iterator[SetBlock]
        blocks = (
            block
            for some, size in rows
            for listed in self._listing.listed(some, size)
            for block in self._timed(self._matches(*listed))
        )
        if self._choice == "maximal":
            program = self._bound.program
            if self._conditions.variables or program.ends - {*program.owners}:
                blocks = largest_of_each(program, blocks)
        for block in blocks:
            counters = self._counters[-1]
            counters.survivors += block.size
            yield block

    def offers(
        self, rows: Iterable[tuple[Partials, int]], tries: Tries, arrival: Times | None
    ) -> Iterator[Offers]:
        """Yield the rows with their lists, choosing the sets that conditions are about.

        Args:
            tries: How many sets may be chosen for that.
            arrival: The arrival number of each event of the slice; None: that is their order.

        Raises:
            TooManySets: There are more.
        """
        needed = self._conditions.variables
        for some, size in rows:
            for listed, count, lists in self._listing.listed(some, size):
                by_variable = {
                    s.repeated.variable: o for s, o in zip(self._steps, lists, strict=True)
                }
                free = {v: one for v, one in by_variable.items() if v not in needed}
                if not needed:
                    yield Offers(count, self._events(listed), free)
                    continue
                # In pattern order, so that their sets come in the order of the matches.
                of_variable = {s.repeated.variable: s for s in self._steps}
                steps = tuple(of_variable[v] for v in self._bound.program.variables if v in needed)
                offers_of_steps = tuple(by_variable[s.repeated.variable] for s in steps)
                marked = ChosenRows({**listed, "": np.arange(count, dtype=np.int32)}, {}, count)
                number = total_of(*kinds_of(offers_of_steps, count))
                if number <= tries.together:
                    tries.spend(number)
                    choices = self._all_choices(0, marked, offers_of_steps, steps)
                elif tries.alone:
                    choices = self._first_ones(marked, offers_of_steps, steps, tries, arrival)
                else:
                    raise TooManySets
                for choice in choices:
                    at = choice.rows[""]
                    left = {v: one.take(at) for v, one in free.items()}
                    left |= {v: Lists.of(members) for v, members in choice.members.items()}
                    own = {v: column for v, column in choice.rows.items() if v}
                    yield Offers(choice.size, self._events(own), left)

    def fitting(
        self, rows: Iterable[tuple[Partials, int]], tries: Tries
    ) -> Iterator[tuple[Partials, int]]:
        """Yield the rows that have any choice of sets, in no particular order.

        Args:
            tries: How many sets may be chosen for that, and how many of them at a time.

        Raises:
            TooManySets: There are more.
        """
        needed = self._conditions.variables
        for some, size in rows:
            for listed, count, lists in self._listing.listed(some, size):
                pairs = [
                    (step, one)
                    for step, one in zip(self._steps, lists, strict=True)
                    if step.repeated.variable in needed
                ]
                fits = np.ones(count, dtype=np.bool_)
                if all(self._is_counted_by_ways(*pair) for pair in pairs):
                    for step, one in pairs:
                        arguments = (self._between(step, one), step.repeated.variable, listed, one)
                        ways = numbers_of_sets(self._bound.candidates, *arguments)
                        fits &= np.array([number > 0 for number in ways], dtype=np.bool_)
                else:
                    marked = ChosenRows({**listed, "": np.arange(count, dtype=np.int32)}, {}, count)
                    fits[:] = False
                    for choice in self._tried_in_parts(marked, pairs, tries):
                        fits[choice.rows[""]] = True
                at = np.flatnonzero(fits)
                yield {v: column[at] for v, column in listed.items()}, len(at)

    def _tried_in_parts(
        self, rows: ChosenRows, pairs: Sequence[tuple[SetStep, Lists]], tries: Tries
    ) -> Iterator[ChosenRows]:
        """Yield choices of sets: all choices of rows that have few, else the first of each row."""
        steps, lists = tuple(step for step, _ in pairs), tuple(one for _, one in pairs)
        numbers, which = kinds_of(lists, rows.size)
        own = np.array([min(number, tries.together + 1) for number in numbers])[which]
        few = np.flatnonzero(own <= tries.together >> 8)
        ends = np.cumsum(own[few])
        begin = 0
        while begin < len(few):
            before = ends[begin - 1] if begin else 0
            end = int(np.searchsorted(ends, before + tries.together, side="right"))
            tries.spend(int(ends[end - 1] - before))
            part = few[begin:end]
            yield from self._all_choices(
                0, rows.take(part), tuple(one.take(part) for one in lists), steps
            )
            begin = end
        for at in np.flatnonzero(own > tries.together >> 8):
            tries.spend(_A_ROW)
            row = np.array([at])
            own_lists = tuple(one.take(row) for one in lists)
            yield from self._first_ones(rows.take(row), own_lists, steps, tries, None)

    def _timed(self, blocks: Iterator[SetBlock]) -> Iterator[SetBlock]:
        """Yield the blocks; making them is work of the last Kleene variable."""
        while True:
            began = perf_counter()
            block = next(blocks, None)
            self._counters[-1].seconds += perf_counter() - began
            if block is None:
                return
            yield block

    def _first_ones(
        self,
        rows: ChosenRows,
        lists: tuple[Lists, ...],
        steps: tuple[SetStep, ...],
        tries: Tries,
        arrival: Times | None,
    ) -> Iterator[ChosenRows]:
        """Yield each row that has a choice of its sets, with its first one."""
        for at in range(rows.size):
            row = np.array([at])
            own = tuple(one.take(row) for one in lists)
            if arrival is not None:
                own = tuple(one.by_arrival(arrival) for one in own)
            choice = next(self._all_choices(0, rows.take(row), own, steps, tries), None)
            if choice is not None:
                first = choice.take(np.zeros(1, dtype=np.int64))
                members = {v: sets.in_stream_order() for v, sets in first.members.items()}
                yield replace(first, members=members)

    def _matches(self, rows: Partials, size: int, lists: tuple[Lists, ...]) -> Iterator[SetBlock]:
        """Yield the matches of rows whose lists are known."""
        free = not self._conditions.variables
        if self._choice in ("count", "bound", "tried"):
            yield from self._counts(rows, size, lists)
        elif free and self._choice == "maximal":
            for part in parts_of(lists, size):
                chosen = {
                    step.repeated.variable: one.take(part).largest()
                    for step, one in zip(self._steps, lists, strict=True)
                }
                own = {v: column[part] for v, column in rows.items()}
                yield self._block(ChosenRows(own, chosen, part.stop - part.start))
        else:
            for some in self._all_choices(0, ChosenRows(rows, {}, size), lists, self._steps):
                yield self._block(some)

    def _counts(self, rows: Partials, size: int, lists: tuple[Lists, ...]) -> Iterator[SetBlock]:
        """Yield the number of matches; only sets that conditions are about are chosen."""
        needed = self._conditions.variables
        pairs = list(zip(self._steps, lists, strict=True))
        if self._choice != "count":
            own_lists = lists
            if self._choice == "tried":
                own_lists = tuple(one for step, one in pairs if step.repeated.variable in needed)
            yield SetBlock(total_of(*kinds_of(own_lists, size)), {}, {})
            return
        free = [one for step, one in pairs if step.repeated.variable not in needed]
        to_check = [(step, one) for step, one in pairs if step.repeated.variable in needed]
        numbers, which = kinds_of(free, size)
        by_ways = [pair for pair in to_check if self._is_counted_by_ways(*pair)]
        to_try = [pair for pair in to_check if not self._is_counted_by_ways(*pair)]
        for step, one in by_ways:
            variable = step.repeated.variable
            arguments = (self._bound.candidates, self._between(step, one), variable, rows, one)
            if len(by_ways) == 1 and not to_try:
                yield SetBlock(number_of_sets(*arguments, (numbers, which)), {}, {})
                return
            ways = numbers_of_sets(*arguments)
            numbers = [numbers[at] * own for at, own in zip(which.tolist(), ways, strict=True)]
            which = np.arange(size)
        if not to_try:
            yield SetBlock(total_of(numbers, which), {}, {})
            return
        # All sets of a row have the same number of free choices, which is looked up by the row.
        marked = {**rows, "": np.arange(size, dtype=np.int32)}
        steps = tuple(step for step, _ in to_try)
        sizes = tuple(one for _, one in to_try)
        for some in self._all_choices(0, ChosenRows(marked, {}, size), sizes, steps):
            yield SetBlock(total_of(numbers, which[some.rows[""]]), {}, {})

    def _is_counted_by_ways(self, step: SetStep, lists: Lists) -> bool:
        """Return whether only conditions between neighbours decide which sets there are."""
        alone = step.repeated.variable in self._conditions.of_neighbours
        return alone and bool(self._between(step, lists))

    def _all_choices(
        self,
        number: int,
        chosen: ChosenRows,
        lists: tuple[Lists, ...],
        steps: tuple[SetStep, ...],
        tries: Tries | None = None,
    ) -> Iterator[ChosenRows]:
        """Yield all choices of the sets from `number` on that pass the conditions on them.

        If `tries` are counted, sets come before their own subsets.
        """
        if number == len(steps):
            yield chosen
            return
        variable = steps[number].repeated.variable
        for parents, members in self._subsets(steps[number], chosen.rows, lists[number], tries):
            longer = chosen.take(parents).with_members(variable, members)
            at = np.flatnonzero(self._conditions.hold(longer))
            if not len(at):
                continue
            rows = parents
            if len(at) < longer.size:
                longer, rows = longer.take(at), parents[at]
            rest = tuple(one.take(rows) for one in lists)
            yield from self._all_choices(number + 1, longer, rest, steps, tries)

    def _subsets(
        self, step: SetStep, chosen: Partials, lists: Lists, tries: Tries | None = None
    ) -> Iterator[tuple[Ints, Members]]:
        """Yield all sets of all lists, some at a time, and the row that each belongs to."""
        about = step.repeated.variable in self._conditions.variables
        for parents, members in self._promising_subsets(
            step, chosen, lists, falling=tries is not None
        ):
            if tries is not None:
                tries.spend(len(parents))
            self._try(len(parents) if about else 0)
            yield parents, members

    def _promising_subsets(
        self, step: SetStep, chosen: Partials, lists: Lists, *, falling: bool
    ) -> Iterator[tuple[Ints, Members]]:
        """Yield the same without sets that can only fail."""
        between = self._between(step, lists)
        of_members = self._of_members(step)
        whole = (lists.least >= lists.lengths).all()  # one set each, which is checked as it is
        if not between or of_members or whole or (falling and not in_stream_order(lists)):
            if of_members and not whole and not falling:
                grow = grown_in_order if self._choice == "maximal" else grown
                yield from grow(lists, partial(self._may_go_on, step, of_members, chosen))
                return
            caps = caps_of(self._bound.candidates, step, chosen, lists)
            yield from subsets_of(lists, caps, ANY_WAY, falling=falling)
            return
        for part in stretches(lists):
            some, own = {v: column[part] for v, column in chosen.items()}, lists.take(part)
            caps = caps_of(self._bound.candidates, step, some, own)
            ways = ways_of(self._bound.candidates, between, step.repeated.variable, some, own)
            leave_dead_ends_out(own, ways)
            for parents, members in subsets_of(own, caps, ways, falling=falling):
                yield (parents + part.start).astype(np.int32), members

    def _of_members(self, step: SetStep) -> tuple[Expression, ...]:
        """Return the conditions on each member of a set; () if all are about neighbours alone."""
        variable = step.repeated.variable
        conditions = self._bound.program.on_sets
        of_members = tuple(c for c in conditions if set_of_members(c) == variable)
        between = between_neighbours(of_members, variable)
        return of_members if len(between) < len(of_members) else ()

    def _may_go_on(
        self,
        step: SetStep,
        conditions: Sequence[Expression],
        chosen: Partials,
        parents: Ints,
        members: Members,
    ) -> npt.NDArray[np.bool_]:
        """Return which sets may have the last of the members chosen so far."""
        self._try(len(parents))
        rows = {v: column[parents] for v, column in chosen.items()}
        some = ChosenRows(rows, {step.repeated.variable: members}, len(parents))
        return self._conditions.last_holds(conditions, some)

    def _try(self, number: int) -> None:
        """Count sets that are tried.

        Raises:
            LimitError: There are too many.
        """
        self._tried += number
        if self._tried > MOST_TRIED:
            detail = f"more than {MOST_TRIED:,} sets tried, and not all, as every one for"
            raise too_many_sets(self._bound.program, detail, MOST_TRIED)

    def _between(self, step: SetStep, lists: Lists) -> tuple[Expression, ...]:
        """Return the conditions between neighbours that lists can be searched by."""
        variable = step.repeated.variable
        between = between_neighbours(self._bound.program.on_sets, variable)
        return between if between and can_be_linked(lists) else ()

    def _block(self, chosen: ChosenRows) -> SetBlock:
        return SetBlock(chosen.size, self._events(chosen.rows), chosen.members)

    def _events(self, rows: Partials) -> dict[str, Ints]:
        return {v: self._bound.candidates[v].rows[at] for v, at in rows.items()}
