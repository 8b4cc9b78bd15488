"""The branches of several queries in comparable form: equal conditions have equal numbers.

A sub-pattern is a set of variables of one branch with all conditions on these alone. Its form is a
tuple of numbers that is equal for equal sub-patterns: the variables are sorted by their events,
then by the conditions on their pairs, and permuted if they still look alike. Variables are places,
which are bits of masks; a branch's places are sorted by event too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import groupby
from operator import or_
from typing import TypeAlias, TypeVar

from cepkit.pattern.canonical import arranged
from cepkit.pattern.conditions import variables_of
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.query import Query
from cepkit.sharing.description import Description, EventKey, Family, PairKey, described
from cepkit.sharing.known_shares import KnownShares
from cepkit.sharing.late import Late, bare_branch, weaker_branch
from cepkit.statistics.model import Statistics

Form: TypeAlias = tuple[Family, tuple[int, ...], tuple[int, ...], tuple[tuple[str, ...], ...]]
"""A sub-pattern: family, events, pairs, and texts of conditions on three or more variables."""

Places: TypeAlias = tuple[int, ...]
"""Variables of a branch, in the order of a form or a plan."""

MOST_SUBSETS = 512
"""The most sub-patterns of one branch to try: all of nine variables, of more the small ones."""


_NOTHING = Statistics({})


@dataclass(frozen=True, eq=False, slots=True)
class Sharer:
    """A branch of a query that may share with others.

    Attributes:
        number: Its number among all sharers.
        description: The branch without names.
        statistics: Its statistics, by the names of its variables.
        family: The properties that two sharers must have in common to share anything.
        events: A number for each place; equal for equal events.
        pairs: A number for two places; equal if the conditions on both are equal.
    """

    number: int
    query: int
    description: Description
    statistics: Statistics
    family: Family
    events: tuple[int, ...]
    pairs: tuple[tuple[int, ...], ...]
    _forms: dict[int, tuple[Form, Places]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of variables."""
        return len(self.events)

    @property
    def full(self) -> int:
        """The set of all variables."""
        return (1 << len(self.events)) - 1

    @property
    def window(self) -> int:
        """The window in units of its clock; 0 for none."""
        return self.description.window

    def wider_texts(self, mask: int, arrangement: Places) -> tuple[tuple[str, ...], ...]:
        """Return the conditions on three or more variables of a set, in an arrangement of them."""
        if not self.description.wider:
            return ()
        at = {self.description.variables[place]: i for i, place in enumerate(arrangement)}
        return tuple(
            sorted(
                item.text(self.description.branch, at)
                for among, item in self.description.wider
                if among & mask == among
            )
        )

    def form(self, mask: int) -> tuple[Form, Places]:
        """Return the form of a sub-pattern, and the places in its order."""
        known = self._forms.get(mask)
        if known is None:
            known = self._forms[mask] = self._form(mask)
        return known

    def _form(self, mask: int) -> tuple[Form, Places]:
        places = [i for i in range(self.size) if mask >> i & 1]
        events = tuple(self.events[i] for i in places)
        arrangements: Iterable[Places] = [tuple(places)]
        if len({*events}) < len(events):
            arrangements = self._arrangements(places)
        forms = ((self._pair_texts(mask, each), each) for each in arrangements)
        (pairs, wider), arrangement = min(forms)
        return (self.family, events, pairs, wider), arrangement

    def _pair_texts(
        self, mask: int, arrangement: Places
    ) -> tuple[tuple[int, ...], tuple[tuple[str, ...], ...]]:
        pairs = self.pairs
        texts = tuple(pairs[x][y] for i, x in enumerate(arrangement) for y in arrangement[i + 1 :])
        return texts, self.wider_texts(mask, arrangement)

    def _arrangements(self, places: Sequence[int]) -> Iterable[Places]:
        def colour(x: int) -> tuple[int, list[tuple[int, int]]]:
            others = sorted((self.events[y], self.pairs[x][y]) for y in places if y != x)
            return self.events[x], others

        groups = [list(group) for _, group in groupby(sorted(places, key=colour), key=colour)]
        return arranged(groups)


@dataclass(frozen=True, eq=False, slots=True)
class Weaker:
    """A sub-pattern of a branch with fewer conditions than the branch.

    Attributes:
        sharer: The sub-pattern as a branch of its own.
        places: The place in the branch for each of its places.
        late: Its conditions, and those that the branch checks after it.
    """

    sharer: Sharer
    places: Places
    late: Late

    def own(self, places: Places) -> Places:
        """Convert places of the branch to its own."""
        return tuple(map(self.places.index, places))


@dataclass(frozen=True, eq=False)
class Workload:
    """The branches of several queries; O(n^2) numbers for n variables of each.

    Attributes:
        sharers: Their branches, query by query.
        members: The numbers of the branches to consider; None for all.
        weaker: The weaker sub-patterns examined so far.
    """

    queries: tuple[Query, ...]
    sharers: tuple[Sharer, ...]
    members: frozenset[int] | None = None
    weaker: list[Weaker] = field(default_factory=list)
    _numbers: _Numbers = field(default_factory=lambda: _Numbers({}, {}))
    _weaker_at: dict[tuple[int, Late], int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, queries: Sequence[Query], statistics: Sequence[Statistics] | None = None
    ) -> Workload:
        """Return queries as a workload.

        Args:
            statistics: The statistics of each, by its names; None if nothing is to be planned.
        """
        given = [_NOTHING] * len(queries) if statistics is None else statistics
        branches = [
            (number, description, known)
            for number, (query, known) in enumerate(zip(queries, given, strict=True))
            for description in map(described, normal_form(query))
        ]
        # Numbers follow the sorted texts, so they depend neither on names nor on the order of a
        # list.
        numbers = _Numbers(
            _numbered({key for _, description, _ in branches for key in description.events}),
            _numbered(
                {key for _, description, _ in branches for key in description.pairs.values()}
            ),
        )
        sharers = tuple(
            numbers.sharer(number, query_number, description, known)
            for number, (query_number, description, known) in enumerate(branches)
        )
        return cls(tuple(queries), sharers, _numbers=numbers)

    def weaken(self, sharer: Sharer, late: Late) -> int:
        """Return the number of a weaker sub-pattern of a branch in `weaker`."""
        key = sharer.number, late
        number = self._weaker_at.get(key)
        if number is None:
            number = self._weaker_at[key] = len(self.weaker)
            description = described(weaker_branch(sharer.description.branch, late))
            known = self.known_shares.of(description.branch, sharer.statistics)
            own = self._numbers.sharer(len(self.sharers) + number, sharer.query, description, known)
            places = tuple(map(sharer.description.variables.index, description.variables))
            self.weaker.append(Weaker(own, places, late))
        return number

    @cached_property
    def known_shares(self) -> KnownShares:
        """The known selectivities of conditions in any branch."""
        return KnownShares.of_all((s.description.branch, s.statistics) for s in self.ranked)

    @cached_property
    def skeletons(self) -> dict[Form, list[tuple[Sharer, Places]]]:
        """Common sub-patterns without the conditions that can be checked later, and their holders.

        All have conditions on each event. Repeated events and branches with FIRST cannot be
        weakened and are left out.
        """
        holders: dict[Form, list[tuple[Sharer, Places]]] = {}
        for sharer in self.ranked:
            branch = sharer.description.branch
            if not sharer.description.shares or any(
                e.earlier_than is not None or e.beside is not None for e in branch.negated
            ):
                continue
            description = described(bare_branch(branch))
            bare = self._numbers.sharer(-1, sharer.query, description, sharer.statistics)
            places = tuple(map(sharer.description.variables.index, description.variables))
            repeated = {variable for variable, *_ in branch.repeated}
            single = sum(1 << i for i, v in enumerate(description.variables) if v not in repeated)
            about = [
                sum(1 << i for i, v in enumerate(description.variables) if v in variables_of(c))
                for c in sharer.description.conditions
            ]
            for mask in subsets(bare.size):
                # There is something to weaken only if each event has conditions.
                touched = reduce(or_, (each for each in about if each & ~mask == 0), 0)
                if mask & ~single == 0 and mask & (mask - 1) and touched == mask:
                    form, among = bare.form(mask)
                    own = tuple(places[place] for place in among)
                    holders.setdefault(form, []).append((sharer, own))
        return {form: each for form, each in holders.items() if len(each) > 1}

    @cached_property
    def windows(self) -> dict[Family, frozenset[int]]:
        """The windows in each family."""
        windows: dict[Family, set[int]] = {}
        for sharer in self.sharers:
            windows.setdefault(sharer.family, set()).add(sharer.window)
        return {family: frozenset(each) for family, each in windows.items()}

    @cached_property
    def ranked(self) -> tuple[Sharer, ...]:
        """The sharers in an order independent of the list's."""
        members = (s for s in self.sharers if self.members is None or s.number in self.members)
        return tuple(sorted(members, key=lambda s: (s.form(s.full)[0], s.window, s.number)))

    def blocks(self, most: int) -> list[Workload]:
        """Return the branches in blocks of at most `most`, those with much in common together.

        A branch joins those that have the most frequent of its sub-patterns.
        """
        if len(self.ranked) <= most:
            return [self]
        often: dict[int, tuple[int, Form]] = {}  # holders of a sub-pattern, and the pattern
        for form, held in self.holders.items():
            if len(form[1]) > 1:
                for sharer, _ in held:
                    known = often.get(sharer.number, (0, form))
                    often[sharer.number] = max(known, (len(held), form))
        alike = [s.number for s in self.ranked if s.number in often]
        alike.sort(key=often.__getitem__, reverse=True)
        together = alike + [s.number for s in self.ranked if s.number not in often]
        parts = (together[i : i + most] for i in range(0, len(together), most))
        return [replace(self, members=frozenset(part)) for part in parts]

    @cached_property
    def holders(self) -> dict[Form, list[tuple[Sharer, Places]]]:
        """The sub-patterns of two branches, or that one has twice, and their holders."""
        holders: dict[Form, list[tuple[Sharer, Places]]] = {}
        for sharer in self.ranked:
            if sharer.description.shares:
                for mask in subsets(sharer.size):
                    form, places = sharer.form(mask)
                    holders.setdefault(form, []).append((sharer, places))
        return {form: each for form, each in holders.items() if len(each) > 1}


def subsets(size: int) -> Iterable[int]:
    """Return the sets of places to try: all sets of few places, the smaller sets of many."""
    masks = range(1, 1 << min(size, 20))
    if 1 << size <= MOST_SUBSETS:
        return masks
    few: list[int] = []
    layer = {1 << place for place in range(size)}
    while layer and len(few) + len(layer) <= MOST_SUBSETS:
        few += sorted(layer)
        layer = {mask | 1 << place for mask in layer for place in range(size)} - layer
    return [*few, (1 << size) - 1]


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Numbers for the conditions of branches: equal conditions have equal numbers."""

    events: dict[EventKey, int]
    pairs: dict[PairKey, int]

    def sharer(
        self, number: int, query: int, description: Description, known: Statistics
    ) -> Sharer:
        """Return a branch in numbers; new conditions get the next ones."""
        size = range(len(description.events))
        clock, keys, strategy = description.family
        return Sharer(
            number,
            query,
            description,
            known,
            (clock, keys, strategy if description.shares else f"{strategy} {number}"),
            tuple(self.events.setdefault(key, len(self.events)) for key in description.events),
            tuple(
                tuple(
                    -1
                    if i == j
                    else self.pairs.setdefault(description.pairs[i, j], len(self.pairs))
                    for j in size
                )
                for i in size
            ),
        )


_Key = TypeVar("_Key", EventKey, PairKey)


def _numbered(keys: set[_Key]) -> dict[_Key, int]:
    return {key: number for number, key in enumerate(sorted(keys))}
