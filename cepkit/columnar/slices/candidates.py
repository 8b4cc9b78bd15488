"""The candidates of each variable, gathered and keyed once for a slice.

Cost: one pass over the events for the types, then O(candidates) for each variable.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import RUN, BoundClock, Member, Program, Step
from cepkit.columnar.kernels.loops import counting_sort, partition
from cepkit.columnar.slices.cutting import Owned, readings
from cepkit.indexing import take
from cepkit.pattern.canonical import CanonicalEvent
from cepkit.pattern.evaluation.columns import Read, truth
from cepkit.pattern.keys import dense_keys, partition_keys
from cepkit.pattern.policies import Clock
from cepkit.stream.columns import Column, EventColumns

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]

_AT_ONCE = 1 << 17
"""The events searched at a time, so that the room for their rows stays in the cache."""

BY_VALUE = -1
"""Stands for a class if the order is by a value: then there are no look-ups by time."""


class Ordered:
    """Rows sorted for look-ups by time, or by a key and time.

    Attributes:
        numbers: Arrival numbers, in the stream and in the partition, if a window counts in them;
            and the place in the order of events if that is more than time.
        keys: For each equality class the code of each.
        key_class: The class that rows are sorted by; None for time order, `BY_VALUE` for a value.
        starts: Where each key of that class begins.
    """

    def __init__(self, ts: Times) -> None:
        self.ts = ts
        self.numbers: dict[BoundClock, Times] = {}
        self.keys: dict[int, Ints] = {}
        self.key_class: int | None = None
        self.starts: Times | None = None

    def __len__(self) -> int:
        return len(self.ts)

    def clock(self, clock: BoundClock) -> Times:
        """Return the time or the number of all."""
        if clock == "order":
            return self.numbers.get(clock, self.ts)
        return self.ts if clock == "time" else self.numbers[clock]

    def keep(self, order: npt.NDArray[Any]) -> None:
        """Keep those at `order`, in that order."""
        self.ts = take(self.ts, order)
        self.numbers = {clock: take(n, order) for clock, n in self.numbers.items()}
        self.keys = {number: take(codes, order) for number, codes in self.keys.items()}

    def sort_by_value(self, order: Ints) -> None:
        """Sort by a value."""
        self.keep(order)
        self.key_class = BY_VALUE

    def sort_by_key(self, number: int, key_count: int) -> None:
        """Sort by (key, time)."""
        self.starts = np.zeros(key_count + 1, dtype=np.int64)
        order = np.empty(len(self), dtype=np.int32)
        counting_sort(self.keys[number], self.starts, order)
        self.keep(order)
        self.key_class = number


class Candidates(Ordered):
    """The events that one variable can be bound to, in look-up order.

    That is time order, or the order of (key, time) if an equality links the variable to earlier
    bound ones.

    Attributes:
        step: The step that adds the variable.
        seen: How many events had its types, before its filters.
        rows: The row of each candidate among the events of the slice.
        common: Whether other variables share them in the same order, as a `Scan` records.
        all_numbers: The arrival numbers of all events of the slice.
    """

    def __init__(self, step: Step, rows: Ints, columns: EventColumns) -> None:
        super().__init__(take(columns.ts, rows))
        self.step = step
        self.seen = len(rows)
        self.rows = rows
        self.common = False
        self.all_numbers: dict[BoundClock, Times] = {}
        self._attributes = columns.attributes
        self._gathered: dict[str, Column] = {}
        self._rows_of_stream: npt.NDArray[np.integer] | None = None

    def of(self, step: Step) -> Candidates:
        """Return the same candidates for another variable; both share gathered columns."""
        other = copy.copy(self)
        other.step, other.keys, other.numbers = step, {}, {}
        return other

    def rows_from(self, begin: np.integer) -> npt.NDArray[np.integer]:
        """Return the row of each candidate in a stream in which the slice begins at `begin`."""
        if not begin:
            return self.rows
        if self._rows_of_stream is None:
            self._rows_of_stream = self.rows + begin
        return self._rows_of_stream

    def column(self, attribute: str) -> Column:
        """Return the attribute of all candidates."""
        if attribute not in self._gathered:
            self._gathered[attribute] = _at(self._attributes[attribute], self.rows)
        return self._gathered[attribute]

    def attribute(self, name: str) -> Column:
        """Return the attribute of all events of the slice."""
        return self._attributes[name]

    def read(self, variable: str, attribute: str) -> Column:
        """Return the attribute of all candidates, for `evaluation`."""
        assert variable == self.step.variable
        return self.column(attribute)

    def keep(self, order: npt.NDArray[Any]) -> None:
        """Keep the candidates at `order`, in that order."""
        super().keep(order)
        self.common = False
        self.rows, self._rows_of_stream = take(self.rows, order), None
        self._gathered = {name: _at(column, order) for name, column in self._gathered.items()}


def _at(column: Column, places: npt.NDArray[Any]) -> Column:
    """Return the column of the events at some places, as `Column.take` does."""
    if column.kind == "array":  # a row for each event
        return column.take(places)
    return Column(column.kind, take(column.values, places), column.dictionary, column.has_missing)


@dataclass(eq=False, slots=True)
class Scan:
    """The look-ups shared by programs in one slice, each computed once.

    Attributes:
        rows: The rows of the events of some sets of types; None: of any type.
        candidates: By types, filters and the stretch of the slice.
        tables: By two kinds of candidates and the time between them: see `bound.Table`.
    """

    rows: dict[frozenset[str] | None, Ints] = field(default_factory=dict)
    candidates: dict[object, Candidates] = field(default_factory=dict)
    tables: dict[object, Ints] = field(default_factory=dict)


def reader(candidates: Mapping[str, Candidates]) -> Read:
    """Return the function that reads the attributes of all candidates of a variable."""
    return lambda variable, attribute: candidates[variable].column(attribute)


class SubtreeCandidates(Ordered):
    """The partial matches of a subtree, with look-up by the time of one of their events.

    Args:
        members: For each variable its candidate in each partial match.
        anchor: The variable with that time.
    """

    def __init__(
        self, members: Mapping[str, Ints], anchor: str, candidates: Mapping[str, Candidates]
    ) -> None:
        at = members[anchor]
        super().__init__(candidates[anchor].ts[at])
        self.members = dict(members)
        self._candidates = candidates
        self.numbers = {clock: numbers[at] for clock, numbers in candidates[anchor].numbers.items()}
        for variable, places in members.items():
            for number, codes in candidates[variable].keys.items():
                self.keys.setdefault(number, codes[places])
        self.keep(np.argsort(self.clock("order"), kind="stable"))

    def keep(self, order: npt.NDArray[Any]) -> None:
        """Keep the partial matches at `order`, in that order."""
        super().keep(order)
        self.members = {v: places[order] for v, places in self.members.items()}

    def read(self, variable: str, attribute: str) -> Column:
        """Return the attribute of one variable in all partial matches, for `evaluation`."""
        return self._candidates[variable].column(attribute).take(self.members[variable])


def gather(
    program: Program,
    columns: EventColumns,
    owned: Owned,
    owners: tuple[str, ...],
    scan: Scan,
    *,
    in_order: bool,
) -> tuple[dict[str, Candidates], tuple[int, ...]]:
    """Return the candidates of each variable in time order, and each class's key count.

    Args:
        program: Has the types, filters and equality classes.
        owned: The matches that are wanted: the events of positive variables end there. The columns
            must have the numbers that it is about.
        owners: The variables that can be last. The events of a single one begin there as well.
        scan: The look-ups of other programs in the slice; new ones are added.
        in_order: Whether the events came in the order of time.

    Raises:
        PatternError: A filter or an equality does not fit the kinds of the columns.
    """
    find_types(program.everything, columns, scan)
    chained: dict[str, Ints] = {}
    if program.chain and in_order:
        chained = _side_by_side(program, columns, scan.rows[_types(program)[program.chain[0]]])
    single = {step.variable for step in program.single}
    bound = single | {step.variable for step in program.listed}
    # The ends of a set may be later than the event that decides which slice owns a match.
    open_ended = program.ends - {*owners}
    candidates = {}
    for step in program.everything:
        v = step.variable
        since = owned.since if owners == (v,) else None
        until = owned.until if v in single - open_ended else None
        free = owned.free if v in bound else None
        candidates[v] = _candidates(step, columns, scan, chained, (since, until, owned.clock), free)
    numbers: dict[BoundClock, Times] = {
        clock: readings(columns, clock) for clock in program.clocks if clock != "time"
    }
    if columns.by_arrival:
        numbers["order"] = readings(columns, "order")
    for new in candidates.values():
        new.all_numbers = numbers
        new.numbers = {clock: take(values, new.rows) for clock, values in numbers.items()}
    counts = tuple(
        _assign_runs(number, members, program, columns, candidates)
        if any(attribute == RUN for _, attribute in members)
        else _assign_keys(number, members, program, columns, candidates)
        for number, members in enumerate(program.classes)
    )
    return candidates, counts


def _types(program: Program) -> dict[str, frozenset[str] | None]:
    return {step.variable: step.event.types for step in program.single}


def _candidates(
    step: Step,
    columns: EventColumns,
    scan: Scan,
    chained: Mapping[str, Ints],
    stretch: tuple[int | None, int | None, Clock],
    free: npt.NDArray[np.bool_] | None,
) -> Candidates:
    """Return the events of a variable's types in a stretch of the slice that pass its filters."""
    common = step.variable not in chained and free is None
    filters = CanonicalEvent.of(step.event, step.filters).filters if step.filters else ()
    key = (step.event.types, filters, stretch)
    if common and key in scan.candidates:
        return scan.candidates[key].of(step)
    rows = chained.get(step.variable, scan.rows[step.event.types])
    rows = _within(columns, rows, *stretch)
    if free is not None:
        rows = rows[free[rows]]
    new = Candidates(step, rows, columns)
    for condition in step.filters:
        held = truth(condition, new.read, len(new))
        if not held.all():
            new.keep(np.flatnonzero(held))
    new.common = common
    if common:
        scan.candidates[key] = new
        return new.of(step)
    return new


def _within(
    columns: EventColumns, rows: Ints, since: int | None, until: int | None, clock: Clock
) -> Ints:
    """Return the rows that are in a stretch of a clock."""
    if since is None and until is None:
        return rows
    if clock == "time":
        begin, end = (
            None if at is None else rows.searchsorted(np.int32(columns.ts.searchsorted(at)))
            for at in (since, until)
        )
        return rows[begin:end]
    values = readings(columns, clock)[rows]
    kept = np.ones(len(rows), dtype=np.bool_)
    if since is not None:
        kept &= values >= since
    if until is not None:
        kept &= values < until
    return rows if kept.all() else rows[kept]


def find_types(steps: Iterable[Step], columns: EventColumns, scan: Scan) -> None:
    """Find the rows of the events of the types of steps, ascending; known ones stay."""
    n, rows = len(columns), scan.rows
    types_needed = {step.event.types for step in steps} - rows.keys()
    if None in types_needed:
        rows[None] = np.arange(n, dtype=np.int32)
    waiting = sorted((types for types in types_needed if types is not None), key=sorted)
    while waiting:
        # One pass over the events serves all sets without common types.
        together: list[frozenset[str]] = []
        for types in waiting:
            if all(not types & other for other in together):
                together.append(types)
        waiting = [types for types in waiting if types not in together]
        rows.update(_partition(together, columns))


def _partition(
    together: list[frozenset[str]], columns: EventColumns
) -> dict[frozenset[str] | None, Ints]:
    n = len(columns)
    slots = np.zeros(max(1, len(columns.type_names)), dtype=np.int32)
    for code, name in enumerate(columns.type_names):
        for slot, types in enumerate(together, start=1):
            if name in types:
                slots[code] = slot
    steps = np.ones(len(together) + 1, dtype=np.int64)
    steps[0] = 0  # it collects unused types, all in the same place
    size = min(n, _AT_ONCE)
    begins = np.arange(len(steps)) * size + np.array([[0], [size // 2]])
    room = np.empty(len(steps) * size, dtype=np.int32)
    found: list[list[Ints]] = [[room[:0]] for _ in together]
    for first in range(0, n, _AT_ONCE):
        codes = columns.types[first : first + _AT_ONCE].astype(np.int32, copy=False)
        ends = begins.astype(np.int64)
        partition(codes, slots, steps, ends, room)
        for slot, parts in enumerate(found, start=1):
            parts += [room[begins[h, slot] : ends[h, slot]] + np.int32(first) for h in (0, 1)]
    return {types: np.concatenate(parts) for types, parts in zip(together, found, strict=True)}


def _side_by_side(program: Program, columns: EventColumns, begins: Ints) -> dict[str, Ints]:
    """Return the rows of events whose neighbours have the types of a contiguous chain."""
    length = len(program.chain)
    begins = begins[: np.searchsorted(begins, len(columns) - length, side="right")]
    types = _types(program)
    for place, variable in enumerate(program.chain):
        types_needed = types[variable]
        if types_needed is not None:
            fits = np.array([name in types_needed for name in columns.type_names], dtype=np.bool_)
            begins = begins[fits[columns.types[begins + place]]]
    numbers = readings(columns, "arrival")
    begins = begins[numbers[begins + (length - 1)] - numbers[begins] == length - 1]
    return {v: begins + np.int32(place) for place, v in enumerate(program.chain)}


def _assign_runs(
    number: int,
    members: frozenset[Member],
    program: Program,
    columns: EventColumns,
    candidates: Mapping[str, Candidates],
) -> int:
    """Assign each candidate the number of its contiguous stretch.

    Returns:
        The number of stretches.
    """
    clock = program.next_clock if program.side_by_side is None else program.side_by_side
    assert clock is not None
    variables = [variable for variable, _ in members]
    rows = np.unique(np.concatenate([candidates[v].rows for v in variables]))
    # In arrival order, partition by partition if it counts inside partitions.
    numbers = np.empty(len(columns), dtype=np.int64)
    for v in variables:
        numbers[candidates[v].rows] = candidates[v].clock(clock)
    parts = np.zeros(len(rows), dtype=np.int32)
    if clock == "place":
        parts = partition_keys([columns.attributes[a] for a in program.partition_by])[0][rows]
    order = np.lexsort((numbers[rows], parts))
    rows, parts = rows[order], parts[order]
    gaps = (np.diff(numbers[rows]) != 1) | (np.diff(parts) != 0)
    runs = np.zeros(len(columns), dtype=np.int32)
    runs[rows] = np.concatenate(([0], np.cumsum(gaps)))[: len(rows)]
    for v in variables:
        candidates[v].keys[number] = runs[candidates[v].rows]
    return int(runs.max(initial=0)) + 1


def _assign_keys(
    number: int,
    members: frozenset[Member],
    program: Program,
    columns: EventColumns,
    candidates: Mapping[str, Candidates],
) -> int:
    """Assign the candidates their codes in a class; drop those that nothing can equal.

    A class of a negated variable does not constrain the other variables: these keep all their
    candidates, with a separate code that no event has.

    Returns:
        The number of codes.
    """
    if not members:
        return 0
    if any(attribute is None for _, attribute in members):
        codes, count = partition_keys([columns.attributes[a] for a in program.partition_by])
        for variable, _ in members:
            candidates[variable].keys[number] = codes[candidates[variable].rows]
        return count
    ordered = sorted((variable, attribute or "") for variable, attribute in members)
    parts, count = dense_keys([candidates[v].column(attribute) for v, attribute in ordered])
    kept: dict[str, Ints] = {}
    fitting: dict[str, npt.NDArray[np.bool_]] = {}
    for (variable, _), codes in zip(ordered, parts, strict=True):
        # Two attributes of one variable in the class must agree with each other as well.
        if variable in kept:
            fitting[variable] &= codes == kept[variable]
        else:
            kept[variable] = codes
            fitting[variable] = codes >= 0
    absent = {step.variable for step in program.negated}
    for variable, codes in kept.items():
        if number >= program.linked and variable not in absent:
            candidates[variable].keys[number] = np.where(codes < 0, np.int32(count), codes)
            continue
        candidates[variable].keys[number] = codes
        if not fitting[variable].all():
            candidates[variable].keep(np.flatnonzero(fitting[variable]))
    return count + 1
