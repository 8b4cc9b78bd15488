"""skip-till-next-match with Kleene variables: rows whose sets are chosen when they are taken.

A set takes all it can, so the set of a row is its list of candidates, or the earliest of them where
its size is bounded. What is left of the list is known only when the turn comes to the row, as
matches before it may have taken some. So rows are held with their lists, and a loop goes through
them in the order of their last events: of those whose single events are free it fills the sets with
what is free, and takes the row with the smallest arrival numbers. Where conditions are about whole
sets, each set that fulfils them is a row of its own, of which everything must be free; in batches
of one event, where nothing is taken before its turn, only the first such set of each row.

Cost: the members of the lists, once for each row; no set is made that is not wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import Program
from cepkit.columnar.kernels.backend import Loops
from cepkit.columnar.kleene.lists import Lists
from cepkit.columnar.kleene.sets import Offers
from cepkit.columnar.skip_till_next.loops import offer_loops
from cepkit.columnar.slices.blocks import Members, SetBlock

# Columns of a slot: one variable of one offer, a single event or a set.
FIRST, LAST = 0, 1  # events that it has whatever else is chosen; -1: none
BEGIN, END = 2, 3  # its list in the pool
LEAST, MOST = 4, 5  # how many to choose from the list
IS_SET = 6
SLOT_FIELDS = 7

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]


class OffersHeld:
    """Offers of all branches that end in one batch, their events as rows of the stream.

    Args:
        programs: Of all branches.
        consumed: For each event whether a match has it; what is taken is added.
        arrival: The arrival number of each row; None: that is the row.
        loops: The inner loops to use.

    Attributes:
        size: The offers that are held, and the members of their lists.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        consumed: npt.NDArray[np.bool_],
        arrival: Times | None,
        loops: Loops,
    ) -> None:
        self._programs = programs
        self._consumed = consumed
        self._arrival = arrival
        self._loops = offer_loops(loops)
        self._sets = [{one.repeated.variable for one in program.sets} for program in programs]
        self._clear()

    def _clear(self) -> None:
        self._branches: list[npt.NDArray[np.int64]] = []
        self._lasts: list[npt.NDArray[np.integer]] = []
        self._slots: list[Ints] = []
        self._pool: list[npt.NDArray[np.integer]] = []
        self._places: dict[int, tuple[object, int]] = {}
        self._pooled = 0
        self._begun: set[tuple[int, str]] = set()
        self.size = 0

    def add(self, number: int, offers: Offers, shift: int, first: int) -> None:
        """Hold offers of one branch.

        Args:
            number: Of the branch.
            offers: Some rows of a slice, with their lists.
            shift: The row at which the slice begins.
            first: The first event of the batch; what ends before it is left out.
        """
        # A set that can hold the last event of a match has its last member bound.
        lasts = np.maximum.reduce(list(offers.rows.values())).astype(np.int64) + shift
        kept = np.flatnonzero(lasts >= first)
        variables = self._programs[number].variables
        slots = np.zeros((len(kept), len(variables), SLOT_FIELDS), dtype=np.int32)
        for i, variable in enumerate(variables):
            if variable in self._sets[number]:
                lists = offers.lists[variable].take(kept)
                self._fill(slots[:, i], lists, shift, (number, variable))
            else:
                slots[:, i, FIRST] = offers.rows[variable][kept] + shift
                slots[:, i, LAST] = -1
        self._branches.append(np.full(len(kept), number))
        self._lasts.append(lasts[kept])
        self._slots.append(slots.reshape(-1, SLOT_FIELDS))
        self.size += len(kept)

    def _fill(self, slots: Ints, lists: Lists, shift: int, of: tuple[int, str]) -> None:
        for field, ends in ((FIRST, lists.firsts), (LAST, lists.lasts)):
            slots[:, field] = np.where(ends >= 0, ends + shift, -1)
        bounded = bool((lists.most < lists.lengths).any())
        if bounded and self._arrival is not None:
            lists = lists.by_arrival(self._arrival[shift:])
        place = self._place(lists.members, shift, of)
        slots[:, BEGIN], slots[:, END] = lists.begins + place, lists.ends + place
        slots[:, LEAST], slots[:, MOST] = lists.least, lists.most
        slots[:, IS_SET] = 1

    def _place(self, members: npt.NDArray[np.integer], shift: int, of: tuple[int, str]) -> int:
        """Return where lists begin in the pool.

        Lists that are ranges of candidates lie in one array, which is there once and not counted.
        """
        if id(members) not in self._places:
            self._places[id(members)] = (members, self._pooled)  # kept alive, so is its id
            self._pool.append(members + shift)
            self._pooled += len(members)
            self.size += len(members) if of in self._begun else 0
            self._begun.add(of)
        return self._places[id(members)][1]

    def keep_first(self) -> None:
        """Keep of the offers of one event only the one that would be taken."""
        branches, members = self._chosen()
        self._consumed[members.rows] = False
        self._clear()
        if not len(branches):
            return
        number = int(branches[0])
        slots = np.full((len(members.sizes), SLOT_FIELDS), -1, dtype=np.int32)
        slots[:, BEGIN], slots[:, END] = members.starts[:-1], members.starts[1:]
        slots[:, LEAST] = slots[:, MOST] = members.sizes
        slots[:, IS_SET] = [v in self._sets[number] for v in self._programs[number].variables]
        self._branches, self._slots = [branches], [slots]
        self._lasts = [members.rows.max(keepdims=True)]
        self._pool, self._pooled, self.size = [members.rows], len(members.rows), 1

    def taken(self) -> Iterator[tuple[int, SetBlock]]:
        """Yield branch and matches; from now on their events are consumed."""
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
        slots = np.concatenate((np.empty((0, SLOT_FIELDS), dtype=np.int32), *self._slots))
        pool = np.concatenate((np.empty(0, dtype=np.int32), *self._pool), dtype=np.int32)
        widths = np.array([len(program.variables) for program in self._programs])[branches]
        begins = np.concatenate(([0], np.cumsum(widths)))
        # Offers of one event: those of the earlier branch first.
        order = np.argsort(lasts, kind="stable")
        most = len(np.unique(lasts))
        taken = np.empty(most, dtype=np.int64)
        starts = np.zeros(most * int(widths.max(initial=0)) + 1, dtype=np.int64)
        # No event is in two matches.
        events = np.empty(len(pool) + 2 * len(slots), dtype=np.int32)
        size = self._loops.take_offers(
            begins,
            slots,
            pool,
            lasts,
            order,
            np.empty(0, dtype=np.int64) if self._arrival is None else self._arrival,
            self._consumed,
            taken,
            starts,
            events,
        )
        branches = branches[taken[:size]]
        starts = starts[: int(widths[taken[:size]].sum()) + 1]
        return branches, Members(starts, events[: starts[-1]])
