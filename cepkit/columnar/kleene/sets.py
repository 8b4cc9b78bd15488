"""Sets of Kleene variables: lists of candidates, counted by arithmetic, enumerated on demand.

A row is what the steps have bound: the single events, and the ends of sets where they matter.
For each row every Kleene variable has a list of the events that its sets can further be chosen
from. A list of n stands for 2^n - 1 sets: their number follows from n, the largest is the list
itself, and all of them are made only when somebody asks for all. What depends on the sets
themselves is checked on them when they are chosen (conditions.py).

Cost: the candidates of the lists, or nothing where a list is a range of candidates; then the sets
that are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.kleene import MOST_MEMBERS
from cepkit.columnar.compile.program import SetStep
from cepkit.columnar.join.step import Join, Partials
from cepkit.columnar.kernels.backend import Kernels
from cepkit.columnar.kleene.caps import weighed
from cepkit.columnar.kleene.conditions import Chosen, SetConditions
from cepkit.columnar.kleene.largest import largest_of_each
from cepkit.columnar.kleene.limits import MOST_TRIED, SetChoice, TooManySets, Tries, too_many_sets
from cepkit.columnar.kleene.lists import MEMBERS, Lists, kinds_of, parts_of, total_of
from cepkit.columnar.slices.binding import BoundProgram
from cepkit.columnar.slices.blocks import Members, SetBlock
from cepkit.columnar.slices.bound import BoundStep
from cepkit.columnar.slices.counters import StepCounters

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]

SETS = 1 << 15
"""Sets chosen at a time."""

_SPAN = 1 << 32
"""More than the events of a slice."""

FEW_SETS = 1 << 4
"""Sets chosen at first, where the first that fulfils the conditions is enough."""


@dataclass(frozen=True, slots=True)
class Offers:
    """Rows with what is left to choose: any choice from the lists of a row makes a match of it.

    Attributes:
        size: The number of rows.
        rows: For each bound variable, ends of sets among them, its event of the slice in each row.
        lists: For each Kleene variable its lists.
    """

    size: int
    rows: Mapping[str, npt.NDArray[np.integer]]
    lists: Mapping[str, Lists]


class Sets:
    """The Kleene variables of a bound program on one slice.

    Args:
        bound: The program and the slice.
        join: Joins rows with candidates.
        kernels: The inner loops to use.
        counters: One for each Kleene variable; the work is added to them.
        choice: Which sets are wanted.
    """

    def __init__(
        self,
        bound: BoundProgram,
        join: Join,
        kernels: Kernels,
        counters: Sequence[StepCounters],
        choice: SetChoice,
    ) -> None:
        self._bound = bound
        self._join = join
        self._kernels = kernels
        self._counters = counters
        self._choice = choice
        self._steps = bound.program.sets
        self._conditions = SetConditions(bound, join)
        self._tried = 0
        self._ranges: dict[int, Times] = {}
        # Where nothing may lie between its ends, a set has all candidates there: unless two sets
        # could share them, or the order of arrival is another one.
        program = bound.program
        contiguous = program.side_by_side is not None and bound.in_order
        self._whole = contiguous and not program.overlapping

    def blocks(self, rows: Iterable[tuple[Partials, int]]) -> Iterator[SetBlock]:
        """Yield the matches that rows lead to, some at a time.

        Args:
            rows: What the steps have bound, some at a time: candidates of each variable, and how
                many rows there are.
        """
        found: Iterator[SetBlock]
        found = (
            block
            for some, size in rows
            for listed in self._listed(0, some, size, ())
            for block in self._timed(self._chosen(*listed))
        )
        if self._choice == "maximal":
            program = self._bound.program
            if self._conditions.variables or program.ends - {*program.owners}:
                found = largest_of_each(program, found)
        for block in found:
            counters = self._counters[-1]
            counters.survivors += block.size
            yield block

    def offers(
        self, rows: Iterable[tuple[Partials, int]], tries: Tries, arrival: Times | None
    ) -> Iterator[Offers]:
        """Yield the rows with their lists, choosing the sets that conditions are about.

        Args:
            rows: As for `blocks`.
            tries: How many sets may be chosen for that.
            arrival: The arrival number of each event of the slice; None: that is their order.

        Raises:
            TooManySets: There are more.
        """
        needed = self._conditions.variables
        for some, size in rows:
            for listed, count, lists in self._listed(0, some, size, ()):
                named = {s.repeated.variable: o for s, o in zip(self._steps, lists, strict=True)}
                free = {v: one for v, one in named.items() if v not in needed}
                if not needed:
                    yield Offers(count, self._events(listed), free)
                    continue
                # In pattern order, so that their sets come in the order of the matches.
                of_variable = {s.repeated.variable: s for s in self._steps}
                steps = tuple(of_variable[v] for v in self._bound.program.variables if v in needed)
                chosen = tuple(named[s.repeated.variable] for s in steps)
                marked = Chosen({**listed, "": np.arange(count, dtype=np.int32)}, {}, count)
                number = total_of(*kinds_of(chosen, count))
                if number <= tries.together:
                    tries.spend(number)
                    choices = self._enumerated(0, marked, chosen, steps)
                elif tries.alone:
                    choices = self._first_ones(marked, chosen, steps, tries, arrival)
                else:
                    raise TooManySets
                for choice in choices:
                    at = choice.rows[""]
                    left = {v: one.take(at) for v, one in free.items()}
                    left |= {v: Lists.of(members) for v, members in choice.members.items()}
                    own = {v: column for v, column in choice.rows.items() if v}
                    yield Offers(choice.size, self._events(own), left)

    def _first_ones(
        self,
        rows: Chosen,
        lists: tuple[Lists, ...],
        steps: tuple[SetStep, ...],
        tries: Tries,
        arrival: Times | None,
    ) -> Iterator[Chosen]:
        """Yield each row that has any choice of its sets with the first of them."""
        for at in range(rows.size):
            row = np.array([at])
            own = tuple(one.take(row) for one in lists)
            if arrival is not None:
                own = tuple(one.by_arrival(arrival) for one in own)
            found = next(self._enumerated(0, rows.take(row), own, steps, tries), None)
            if found is not None:
                first = found.take(np.zeros(1, dtype=np.int64))
                members = {v: sets.in_stream_order() for v, sets in first.members.items()}
                yield replace(first, members=members)

    def _listed(
        self, number: int, rows: Partials, size: int, lists: tuple[Lists, ...]
    ) -> Iterator[tuple[Partials, int, tuple[Lists, ...]]]:
        """Yield rows with the lists of the Kleene variables, those from `number` on made here."""
        if number == len(self._steps):
            yield rows, size, lists
            return
        counters = self._counters[number]
        began = perf_counter()
        for begin, end, found in self._lists(number, rows, size):
            fitting = found.fitting()
            kept = np.flatnonzero(fitting)
            some = {v: column[begin:end][kept] for v, column in rows.items()}
            before = tuple(one.take(slice(begin, end)).take(kept) for one in lists)
            counters.peak_rows = max(counters.peak_rows, len(kept))
            if number < len(self._steps) - 1:
                counters.survivors += len(kept)
            counters.seconds += perf_counter() - began
            if len(kept):
                yield from self._listed(number + 1, some, len(kept), (*before, found.take(kept)))
            began = perf_counter()
        counters.seconds += perf_counter() - began

    def _timed(self, blocks: Iterator[SetBlock]) -> Iterator[SetBlock]:
        """Yield the blocks; making them is work of the last Kleene variable."""
        while True:
            began = perf_counter()
            block = next(blocks, None)
            self._counters[-1].seconds += perf_counter() - began
            if block is None:
                return
            yield block

    def _lists(self, number: int, rows: Partials, size: int) -> Iterator[tuple[int, int, Lists]]:
        """Yield a stretch of rows with the lists that a Kleene variable has for them."""
        step = self._steps[number]
        if not step.shared:
            for begin, end, begins, ends, members in self._stretches(number, rows, size):
                some = {v: column[begin:end] for v, column in rows.items()}
                yield begin, end, self._between(number, some, begins, ends, members)
            return
        # Rows that differ in the ends alone stand together and have one list.
        others = {v: column for v, column in rows.items() if v not in step.shared}
        changes = np.ones(size, dtype=np.bool_)
        changes[1:] = False
        for column in others.values():
            changes[1:] |= column[1:] != column[:-1]
        heads = np.append(np.flatnonzero(changes), size)
        distinct = {v: column[heads[:-1]] for v, column in others.items()}
        for begin, end, begins, ends, members in self._stretches(number, distinct, len(heads) - 1):
            since, until = int(heads[begin]), int(heads[end])
            lists = np.repeat(np.arange(end - begin), np.diff(heads[begin : end + 1]))
            some = {v: column[since:until] for v, column in rows.items()}
            low, high = self._between_ends(number, some, lists, begins, ends, members)
            yield since, until, self._between(number, some, low, high, members)

    def _between_ends(
        self,
        number: int,
        rows: Partials,
        lists: npt.NDArray[np.integer],
        begins: Ints,
        ends: Ints,
        members: Ints,
    ) -> tuple[Ints, Ints]:
        """Return of the list of each row where the stretch between the ends of the row lies."""
        step = self._steps[number]
        repeated, candidates = step.repeated, self._bound.candidates
        groups, ordered = self._ascending(number, begins, ends, members)
        low, high, own = begins[lists], ends[lists], groups[lists]
        if repeated.first is not None and repeated.first in step.shared:
            first = candidates[repeated.first].rows[rows[repeated.first]]
            low = np.maximum(low, np.searchsorted(ordered, own + first, side="right"))
        if repeated.last is not None and repeated.last in step.shared:
            last = candidates[repeated.last].rows[rows[repeated.last]]
            high = np.minimum(high, np.searchsorted(ordered, own + last, side="left"))
        return low.astype(np.int32), np.maximum(low, high).astype(np.int32)

    def _ascending(
        self, number: int, begins: Ints, ends: Ints, members: Ints
    ) -> tuple[Times, Times]:
        """Return what to add to an event of each list, and numbers by which members ascend.

        Ranges of candidates ascend by key and event, so that no list of theirs is copied; lists
        that stand one behind the other by list and event.
        """
        bound = self._bound.sets[number]
        if not _is_range(bound):
            lists = np.arange(len(begins)) * _SPAN
            return lists, np.repeat(lists, ends - begins) + members
        key = bound.candidates.key_class
        codes = None if key is None else bound.candidates.keys[key]
        own = np.zeros(len(begins), dtype=np.int64)
        if codes is not None:
            filled = begins < ends  # of an empty list nothing is looked for
            own[filled] = codes[begins[filled]]
        if number not in self._ranges:
            keys = np.int64(0) if codes is None else codes.astype(np.int64) * _SPAN
            self._ranges[number] = members + keys
        return own * _SPAN, self._ranges[number]

    def _stretches(
        self, number: int, rows: Partials, size: int
    ) -> Iterator[tuple[int, int, Ints, Ints, Ints]]:
        """Yield a stretch of rows, and where the list of each begins and ends in the members."""
        bound, counters = self._bound.sets[number], self._counters[number]
        events = self._bound.candidates[self._steps[number].repeated.variable].rows
        if _is_range(bound):
            low, high = self._join.ranges(bound, rows, size)
            high = np.maximum(low, high)
            counters.candidates += int((high.astype(np.int64) - low).sum())
            yield 0, size, low, high, events
            return
        for begin, end, parents, found in self._join.groups(bound, counters, rows, size):
            counts = np.bincount(parents - begin, minlength=end - begin)
            ends = np.cumsum(counts).astype(np.int32)
            yield begin, end, (ends - counts).astype(np.int32), ends, events[found]

    def _between(
        self, number: int, rows: Partials, begins: Ints, ends: Ints, members: Ints
    ) -> Lists:
        """Return the lists with the ends of the sets and the bounds on what else is chosen."""
        repeated = self._steps[number].repeated
        none = np.full(len(begins), -1, dtype=np.int32)
        firsts, lasts = (
            none if end is None else self._bound.candidates[end].rows[rows[end]]
            for end in (repeated.first, repeated.last)
        )
        lasts = np.where(firsts == lasts, np.int32(-1), lasts)
        given = (firsts >= 0).astype(np.int32) + (lasts >= 0)
        least = np.maximum(repeated.minimum - given, np.where(given, 0, 1)).astype(np.int32)
        lengths = ends - begins
        most = lengths if repeated.maximum is None else (repeated.maximum - given).astype(np.int32)
        if self._whole:
            least = np.where(lengths < least, np.int32(MOST_MEMBERS), lengths)
        return Lists(begins, ends, members, least, np.minimum(most, lengths), firsts, lasts)

    def _chosen(self, rows: Partials, size: int, lists: tuple[Lists, ...]) -> Iterator[SetBlock]:
        """Yield the matches of rows whose lists are known."""
        free = not self._conditions.variables
        if self._choice in ("count", "bound", "tried"):
            yield from self._counted(rows, size, lists)
        elif free and self._choice == "maximal":
            for part in parts_of(lists, size):
                chosen = {
                    step.repeated.variable: one.take(part).largest()
                    for step, one in zip(self._steps, lists, strict=True)
                }
                own = {v: column[part] for v, column in rows.items()}
                yield self._block(Chosen(own, chosen, part.stop - part.start))
        else:
            for some in self._enumerated(0, Chosen(rows, {}, size), lists, self._steps):
                yield self._block(some)

    def _counted(self, rows: Partials, size: int, lists: tuple[Lists, ...]) -> Iterator[SetBlock]:
        """Yield the number of matches, having chosen only the sets that conditions are about."""
        needed = self._conditions.variables
        pairs = list(zip(self._steps, lists, strict=True))
        if self._choice != "count":
            counted = lists
            if self._choice == "tried":
                counted = tuple(one for step, one in pairs if step.repeated.variable in needed)
            yield SetBlock(total_of(*kinds_of(counted, size)), {}, {})
            return
        free = [one for step, one in pairs if step.repeated.variable not in needed]
        held = [(step, one) for step, one in pairs if step.repeated.variable in needed]
        if not held:
            yield SetBlock(total_of(*kinds_of(free, size)), {}, {})
            return
        # What is free is the same for all sets of a row: its number, looked up by the row.
        marked = {**rows, "": np.arange(size, dtype=np.int32)}
        numbers, which = kinds_of(free, size)
        steps = tuple(step for step, _ in held)
        chosen = tuple(one for _, one in held)
        for some in self._enumerated(0, Chosen(marked, {}, size), chosen, steps):
            yield SetBlock(total_of(numbers, which[some.rows[""]]), {}, {})

    def _enumerated(
        self,
        number: int,
        chosen: Chosen,
        lists: tuple[Lists, ...],
        steps: tuple[SetStep, ...],
        tries: Tries | None = None,
    ) -> Iterator[Chosen]:
        """Yield all choices of the sets from `number` on that pass the conditions on them.

        Where `tries` are counted, sets come before their own subsets.
        """
        if number == len(steps):
            yield chosen
            return
        variable = steps[number].repeated.variable
        for parents, members in self._subsets(steps[number], chosen.rows, lists[number], tries):
            longer = chosen.take(parents).with_members(variable, members)
            held = np.flatnonzero(self._conditions.hold(longer))
            if not len(held):
                continue
            kept = parents
            if len(held) < longer.size:
                longer, kept = longer.take(held), parents[held]
            rest = tuple(one.take(kept) for one in lists)
            yield from self._enumerated(number + 1, longer, rest, steps, tries)

    def _subsets(
        self, step: SetStep, chosen: Partials, lists: Lists, tries: Tries | None = None
    ) -> Iterator[tuple[Ints, Members]]:
        """Yield all sets of all lists, some at a time, and the row that each belongs to."""
        room = SETS if tries is None else FEW_SETS
        longest = int(lists.lengths.max(initial=0))
        state = np.array([0, -1], dtype=np.int64)
        stack = np.zeros(longest + 1, dtype=np.int32)
        sums = np.zeros((len(step.caps), longest + 2))
        weights, caps = weighed(self._bound.candidates, step, chosen, lists)
        while state[0] < len(lists.begins):
            parents = np.empty(room, dtype=np.int32)
            starts = np.empty(room + 1, dtype=np.int64)
            rows = np.empty(MEMBERS + longest, dtype=np.int32)
            count = self._kernels.subsets(
                lists.begins,
                lists.ends,
                lists.least,
                lists.most,
                lists.firsts,
                lists.lasts,
                lists.members,
                weights,
                caps,
                state,
                stack,
                sums,
                parents,
                starts,
                rows,
                tries is not None,
            )
            if tries is not None:
                tries.spend(count)
                room = min(SETS, 4 * room)
            if count:
                if step.repeated.variable in self._conditions.variables:
                    self._tried += count
                if self._tried > MOST_TRIED:
                    tried = f"more than {MOST_TRIED:,} sets tried, and not all, as every one for"
                    raise too_many_sets(self._bound.program, tried, MOST_TRIED)
                starts = starts[: count + 1]
                yield parents[:count], Members(starts, rows[: starts[-1]])

    def _block(self, chosen: Chosen) -> SetBlock:
        return SetBlock(chosen.size, self._events(chosen.rows), chosen.members)

    def _events(self, rows: Partials) -> dict[str, Ints]:
        return {v: self._bound.candidates[v].rows[at] for v, at in rows.items()}


def _is_range(bound: BoundStep) -> bool:
    """Whether the list of a row is a range of candidates as they are."""
    step = bound.step
    checked = bound.bands or bound.residues or step.distinct or step.follows or step.precedes
    return not checked
