"""skip-till-next-match with Kleene variables: sets are chosen when their rows are taken.

A set takes all events that it can, so the set of a row is its list of candidates, or the earliest
of them if its size is bounded. Earlier matches may have consumed some of the list by the time the
row's turn comes. So rows are held with their lists, and a loop goes through them by last event: for
rows whose single events are free it fills the sets with free events, and takes the row with the
smallest arrival numbers. With conditions on whole sets, each set that satisfies them is a separate
row, whose events must all be free; in batches of one event, where nothing is consumed meanwhile,
only the first such set of each row.

Cost: the members of the lists, once for each row; no unwanted set is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import Program
from cepkit.columnar.kleene.lists import Lists
from cepkit.columnar.kleene.sets import Offers
from cepkit.columnar.slices.blocks import Members, SetBlock
from cepkit.compiling import by_name, compiled

SLOT = np.dtype(
    [(name, np.int32) for name in ("first", "last", "begin", "end", "least", "most", "is_set")]
)
"""One variable of one offer, a single event or a set: its fixed events (-1: none), its list in the
pool, how many to choose from the list, and whether it is a set."""

_STOP = 1 << 62
"""Ends the numbers of a set and exceeds any: so a set sorts before its own subsets."""

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Slots = npt.NDArray[Any]


class OfferArrays(NamedTuple):
    """Offers in the form of the loop.

    Attributes:
        begins: int64[offers + 1], where the slots of each begin, and the end.
        slots: SLOT[slots].
        pool: int32[n], the lists that sets choose from, in order of preference.
        lasts: int64[offers], the row of the last event of each.
        order: int64[offers], their numbers by last event; those of one event by branch.
        arrival: int64[events], the arrival number of each; empty if that is the row.
    """

    begins: Times
    slots: Slots
    pool: Ints
    lasts: Times
    order: Times
    arrival: Times


class PendingOffers:
    """Offers of all branches that end in one batch, their events as rows of the stream.

    Args:
        consumed: For each event whether a match has it; events that are taken are added.
        arrival: The arrival number of each row; None: that is the row.

    Attributes:
        size: The number of offers, plus the members of their lists.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        consumed: npt.NDArray[np.bool_],
        arrival: Times | None,
    ) -> None:
        self._programs = programs
        self._consumed = consumed
        self._arrival = arrival
        self._sets = [{one.repeated.variable for one in program.sets} for program in programs]
        self._clear()

    def _clear(self) -> None:
        self._branches: list[npt.NDArray[np.int64]] = []
        self._lasts: list[npt.NDArray[np.integer]] = []
        self._slots: list[Slots] = []
        self._pool: list[npt.NDArray[np.integer]] = []
        self._places: dict[int, tuple[object, int]] = {}
        self._pooled = 0
        self._begun: set[tuple[int, str]] = set()
        self.size = 0

    def add(self, number: int, offers: Offers, shift: int, first: int) -> None:
        """Hold offers of one branch.

        Args:
            offers: Some rows of a slice, with their lists.
            shift: The row at which the slice begins.
            first: The first event of the batch; offers that end before it are dropped.
        """
        # A set that can hold the last event of a match has its last member bound.
        lasts = np.maximum.reduce(list(offers.rows.values())).astype(np.int64) + shift
        kept = np.flatnonzero(lasts >= first)
        variables = self._programs[number].variables
        slots = np.zeros((len(kept), len(variables)), dtype=SLOT)
        for i, variable in enumerate(variables):
            if variable in self._sets[number]:
                lists = offers.lists[variable].take(kept)
                self._fill(slots[:, i], lists, shift, (number, variable))
            else:
                slots["first"][:, i] = offers.rows[variable][kept] + shift
                slots["last"][:, i] = -1
        self._branches.append(np.full(len(kept), number))
        self._lasts.append(lasts[kept])
        self._slots.append(slots.reshape(-1))
        self.size += len(kept)

    def _fill(self, slots: Slots, lists: Lists, shift: int, of: tuple[int, str]) -> None:
        for field, ends in (("first", lists.firsts), ("last", lists.lasts)):
            slots[field] = np.where(ends >= 0, ends + shift, -1)
        bounded = bool((lists.most < lists.lengths).any())
        if bounded and self._arrival is not None:
            lists = lists.by_arrival(self._arrival[shift:])
        place = self._place(lists.members, shift, of)
        slots["begin"], slots["end"] = lists.begins + place, lists.ends + place
        slots["least"], slots["most"] = lists.least, lists.most
        slots["is_set"] = 1

    def _place(self, members: npt.NDArray[np.integer], shift: int, of: tuple[int, str]) -> int:
        """Return where lists begin in the pool.

        Lists that are ranges of candidates share one array, which is not counted.
        """
        if id(members) not in self._places:
            self._places[id(members)] = (members, self._pooled)  # alive, so that its id is unique
            self._pool.append(members + shift)
            self._pooled += len(members)
            self.size += len(members) if of in self._begun else 0
            self._begun.add(of)
        return self._places[id(members)][1]

    def keep_first(self) -> None:
        """Keep only the preferred offer of each event."""
        branches, members = self._chosen()
        self._consumed[members.rows] = False
        self._clear()
        if not len(branches):
            return
        number = int(branches[0])
        slots = np.full(len(members.sizes), -1, dtype=SLOT)
        slots["begin"], slots["end"] = members.starts[:-1], members.starts[1:]
        slots["least"] = slots["most"] = members.sizes
        slots["is_set"] = [v in self._sets[number] for v in self._programs[number].variables]
        self._branches, self._slots = [branches], [slots]
        self._lasts = [members.rows.max(keepdims=True)]
        self._pool, self._pooled, self.size = [members.rows], len(members.rows), 1

    def taken(self) -> Iterator[tuple[int, SetBlock]]:
        """Yield branch and matches, and mark their events as consumed."""
        branches, members = self._chosen()
        widths = np.array([len(program.variables) for program in self._programs])[branches]
        begins = np.cumsum(widths) - widths
        for number, program in enumerate(self._programs):
            own = begins[branches == number]
            if not len(own):
                continue
            chosen = {v: members.take(own + i) for i, v in enumerate(program.variables)}
            sets = {v: some for v, some in chosen.items() if v in self._sets[number]}
            single = {v: some.rows for v, some in chosen.items() if v not in sets}
            yield number, SetBlock(len(own), single, sets)

    def _chosen(self) -> tuple[npt.NDArray[np.int64], Members]:
        """Return the branches of the matches to take, and the events of each of their variables."""
        nothing = np.empty(0, dtype=np.int64)
        branches = np.concatenate((nothing, *self._branches))
        lasts = np.concatenate((nothing, *self._lasts))
        slots = by_name(np.concatenate((np.empty(0, dtype=SLOT), *self._slots)))
        pool = np.concatenate((np.empty(0, dtype=np.int32), *self._pool), dtype=np.int32)
        widths = np.array([len(program.variables) for program in self._programs])[branches]
        begins = np.concatenate(([0], np.cumsum(widths)))
        # Offers of the same event: earlier branches first.
        order = np.argsort(lasts, kind="stable")
        most = len(np.unique(lasts))
        taken = np.empty(most, dtype=np.int64)
        starts = np.zeros(most * int(widths.max(initial=0)) + 1, dtype=np.int64)
        # No event is in two matches.
        events = np.empty(len(pool) + 2 * len(slots), dtype=np.int32)
        arrival = nothing if self._arrival is None else self._arrival
        offers = OfferArrays(begins, slots, pool, lasts, order, arrival)
        size = take_offers(offers, self._consumed, taken, starts, events)
        branches = branches[taken[:size]]
        starts = starts[: int(widths[taken[:size]].sum()) + 1]
        return branches, Members(starts, events[: starts[-1]])


@compiled
def _given_are_free(offers: OfferArrays, begin: int, end: int, consumed: Flags) -> bool:
    """Whether all fixed events of an offer are free."""
    for s in range(begin, end):
        slot = offers.slots[s]
        if slot.first >= 0 and consumed[slot.first]:
            return False
        if slot.last >= 0 and consumed[slot.last]:
            return False
    return True


@compiled
def _write(offers: OfferArrays, s: int, consumed: Flags, rows: Ints, at: int) -> int:
    """Write the events of a slot from `at` on; return the end, or -1 if too few are free."""
    slot, pool = offers.slots[s], offers.pool
    if slot.first >= 0:
        rows[at] = slot.first
        at += 1
    chosen = 0
    for i in range(slot.begin, slot.end):
        if chosen == slot.most:
            break
        if not consumed[pool[i]]:
            rows[at + chosen] = pool[i]
            chosen += 1
    if chosen < slot.least:
        return -1
    at += chosen
    if slot.last >= 0:
        rows[at] = slot.last
        at += 1
    return at


@compiled
def _key(
    offers: OfferArrays,
    begin: int,
    end: int,
    consumed: Flags,
    rows: Ints,
    key: Times,
    best: Times,
    least: int,
) -> int:
    """Write the sort key of an offer.

    Args:
        begin: The first slot of the offer.
        end: The end of its slots.
        consumed: bool[events], whether a match has an event.
        rows: int32[width], to work in.
        key: int64[width], the output.
        best: int64[width], that of the best offer.
        least: Its length; -1: there is none.

    Returns:
        Its length; -1 if the offer is impossible or not better than the best one.
    """
    arrival = offers.arrival
    size = 0
    smaller = least < 0
    for s in range(begin, end):
        filled = _write(offers, s, consumed, rows, 0)
        if filled < 0:
            return -1
        before = size
        for i in range(filled):
            key[size] = rows[i] if arrival.size == 0 else arrival[rows[i]]
            size += 1
        if arrival.size > 0:
            key[before:size].sort()
        if offers.slots[s].is_set:
            key[size] = _STOP
            size += 1
        for i in range(before, size):
            if smaller:
                break
            if i >= least or key[i] > best[i]:
                return -1
            smaller = key[i] < best[i]
    return size if smaller or size < least else -1


@compiled
def take_offers(
    offers: OfferArrays, consumed: Flags, taken: Times, starts: Times, events: Ints
) -> int:
    """Take at each event the first of its offers, one event after the other.

    Args:
        consumed: bool[events], whether a match has an event; events that are taken are added.
        taken: int64[last events], the output: the numbers of the offers that are taken.
        starts: int64[variables of these + 1], the output: where the events of each variable of
            these begin in `events`, and the end.
        events: int32[n], the output: the rows of the matches, those of a variable in stream order.

    Returns:
        The number of taken offers.
    """
    begins, lasts, order = offers.begins, offers.lasts, offers.order
    width = 0
    for offer in range(begins.size - 1):
        room = 0
        for s in range(begins[offer], begins[offer + 1]):
            # Both ends, the members, a stop.
            room += 3 + offers.slots[s].end - offers.slots[s].begin
        width = max(width, room)
    key = np.empty(width, dtype=np.int64)
    best = np.empty(width, dtype=np.int64)
    rows = np.empty(width, dtype=np.int32)
    m = 0
    slot = 0
    starts[0] = 0
    i = 0
    while i < order.size:
        last = lasts[order[i]]
        winner = -1
        least = -1
        while i < order.size and lasts[order[i]] == last:
            offer = order[i]
            i += 1
            begin, end = begins[offer], begins[offer + 1]
            if consumed[last] or not _given_are_free(offers, begin, end, consumed):
                continue
            size = _key(offers, begin, end, consumed, rows, key, best, least)
            if size >= 0:
                key, best = best, key
                least = size
                winner = offer
        if winner < 0:
            continue
        for s in range(begins[winner], begins[winner + 1]):
            begun = starts[slot]
            filled = _write(offers, s, consumed, events, begun)
            if offers.arrival.size > 0:
                events[begun:filled].sort()
            slot += 1
            starts[slot] = filled
        for k in range(starts[slot - (begins[winner + 1] - begins[winner])], starts[slot]):
            consumed[events[k]] = True
        taken[m] = winner
        m += 1
    return m
