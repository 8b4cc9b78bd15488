"""Runs a method over operations: compiled if that is exact, otherwise over elements.

The result are *moments*, one for each row of the output: the time, the group, the cause and the
aggregates.

Elements are aggregated in plain Python, by the window as a product of matrices as in
`kernels/stacks.py`: aggregates without lanes, and numbers too large for loops.

The fastest method is chosen. At each event, prefix counters touch every live START, a window
product a matrix as wide as the sequence. If expiring events can be divided out of the product, it
is always faster; otherwise the number of live STARTs decides. Without a window prefix counters need
a single row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from cepkit.aggregation.methods import by_loops
from cepkit.aggregation.methods.subtraction import can_subtract, subtract
from cepkit.aggregation.rows.emission import groups_at
from cepkit.aggregation.rows.joining import join_elements
from cepkit.aggregation.rows.moments import Moments, integers
from cepkit.aggregation.semirings.functions import Count, Element, Function, OfValues, Semiring
from cepkit.aggregation.semirings.lanes import SAFE, Lanes, lanes_of
from cepkit.aggregation.sequence import elements
from cepkit.aggregation.sequence.bounds import bounds
from cepkit.aggregation.sequence.elements import Emit, Method, Records, Together
from cepkit.aggregation.sequence.operations import Interleaved, Operations, in_stream_order
from cepkit.stream.columns import EventColumns

FEW = 20
"""Live STARTs up to which prefix counters are faster than two stacks, by the benchmarks."""


CARRIED = "a product carries values along sets"


def live_starts(operations: Interleaved) -> float:
    """Return the number of STARTs of a key that are live at once, averaged over the STARTs."""
    assert operations.window is not None
    at = operations.codes == operations.start_code
    ts = operations.ts[at]
    if not len(ts):
        return 0.0
    keys = np.zeros(len(ts), dtype=np.int32)
    if len(operations.keys):
        keys = operations.keys[at]
        order = np.argsort(keys, kind="stable")
        keys, ts = keys[order], ts[order]
    # One number orders by key and time.
    span = int(operations.ts.max() - operations.ts.min()) + operations.window + 2
    rank = keys * float(span) + (ts - operations.ts.min())
    begun = np.searchsorted(rank, rank - operations.window)
    return float(np.mean(np.arange(len(rank)) - begun + 1))


def choose_method(
    operations: Interleaved, functions: Iterable[Function], columns: EventColumns
) -> tuple[Method, str]:
    """Return the method for some operations and functions, and why."""
    if operations.window is None:
        return "prefix-counters", "without a window one row of counters is enough"
    sets = bool(operations.loops.any())
    if (
        not sets
        and not operations.absences
        and all(_whole(function, columns) for function in functions)
    ):
        return "window-product", "whole numbers are subtracted as events expire"
    if sets and not all(isinstance(function, Count) for function in functions):
        return "window-product", CARRIED
    live = live_starts(operations)
    if live <= FEW:
        return "prefix-counters", f"about {live:.3g} STARTs live at once, which are few"
    return "window-product", f"about {live:.3g} STARTs live at once"


def _whole(function: Function, columns: EventColumns) -> bool:
    """Return whether a function adds only integers."""
    if not isinstance(function, OfValues):
        return isinstance(function, Count)
    definition, attribute = function.definition, function.attribute
    whole = attribute is None or columns.attributes[attribute].kind == "integer"
    return not definition.state or (definition.adds and whole)


def run_elements(
    operations: Operations,
    events: Callable[[int, int], Element],
    function: Semiring,
) -> Records:
    """Run over all operations.

    Args:
        events: Returns the element of an event (its row) at a position.
        function: The aggregate, the number of matches first (`Together`).
    """
    records = Records([], [], [])
    n = operations.length
    ts, codes, rows = (a.tolist() for a in (operations.ts, operations.codes, operations.rows))
    for begin, end in zip(operations.starts[:-1], operations.starts[1:], strict=True):
        state = _Product(function, operations.loops.tolist(), operations.window)
        last_start: dict[int, int] = {}
        for i in range(begin, end):
            _expire(state, ts[i], last_start, records)
            code = codes[i]
            if code % 2:
                state.end(n - (code + 1) // 2, ts[i])
                continue
            position = n - code // 2
            if position == 1:
                last_start[ts[i]] = i
            element = events(position, rows[i])
            if position < n:
                state.extend(position, ts[i], element)
                continue
            records.new.append(state.complete(ts[i], element))
            if i + 1 == end or codes[i + 1] != 0 or ts[i + 1] != ts[i]:
                live = state.live()
                while len(records.live) < len(records.new):
                    records.live.append(live)
        _expire(state, None, last_start, records)
    return records


def _expire(state: _Product, now: int | None, last_start: dict[int, int], records: Records) -> None:
    """Expire matches up to a time, one moment after the other; None: until the end."""
    while (moment := state.next_expiry()) is not None and (now is None or moment <= now):
        before = state.live()
        oldest = next(iter(last_start))
        start = last_start.pop(oldest)
        state.expire(moment)
        after = state.live()
        if after[0] != before[0]:
            records.expired.append((start, after))


class _Product:
    """The window of one key as a product of matrices, on two stacks."""

    def __init__(self, function: Semiring, loops: Sequence[int], window: int | None) -> None:
        self._f = function
        self._n = len(loops) - 1
        self._loops = loops
        self._window = window
        # (time, first row of the product from this START to the end of the older part)
        self._front: list[tuple[int, list[Element]]] = []
        # (time, position or -position for an absence, element), and their product
        self._back: list[tuple[int, int, Element]] = []
        self._product = self._identity()

    def next_expiry(self) -> int | None:
        """Return when the oldest live START expires; None if none will."""
        if self._window is None:
            return None
        if self._front:
            return self._front[-1][0] + self._window + 1
        return next((ts + self._window + 1 for ts, p, _ in self._back if p == 1), None)

    def expire(self, now: int) -> None:
        """Drop the STARTs that have expired by a time."""
        assert self._window is not None
        oldest = now - self._window
        while self._front and self._front[-1][0] < oldest:
            self._front.pop()
        if self._front or not any(ts < oldest and p == 1 for ts, p, _ in self._back):
            return
        rows = self._identity()
        for ts, p, element in reversed(self._back):
            if ts < oldest:
                break
            if p < 0:
                ended = self._loops[-p] == 2
                rows[-p] = rows[-p - 1] if ended else [self._f.zero] * (self._n + 1)
                continue
            for to in sorted(self._sources(p)):
                rows[to] = [
                    self._f.plus(x, self._f.times(element, y))
                    for x, y in zip(rows[to], rows[p], strict=True)
                ]
            if p == 1:
                self._front.append((ts, rows[0]))
        self._back = []
        self._product = self._identity()

    def extend(self, position: int, ts: int, element: Element) -> None:
        """Apply an event at a position."""
        if self._window is not None:
            self._back.append((ts, position, element))
        for row in self._product:
            # Sets that have begun come first: they must not take the event twice.
            for come in self._sources(position):
                longer = self._f.times(row[come], element)
                row[position] = self._f.plus(row[position], longer)

    def complete(self, ts: int, element: Element) -> Element:
        """Apply an event at the last position; return the element of the matches it completes."""
        before = self._prefixes(self._n - 1)
        if self._loops[self._n]:
            before = self._f.plus(before, self._prefixes(self._n))
        self.extend(self._n, ts, element)
        return self._f.times(before, element)

    def end(self, position: int, ts: int) -> None:
        """Apply an event that must be absent after a position."""
        if self._window is not None:
            self._back.append((ts, -position, self._f.zero))
        for row in self._product:
            if self._loops[position] == 2:  # a further member continues these sets
                row[position - 1] = self._f.plus(row[position - 1], row[position])
            row[position] = self._f.zero

    def _sources(self, position: int) -> tuple[int, ...]:
        """Return the lengths of the prefixes that an event extends to its position."""
        return ((position - 1,), (position, position - 1), (position, position - 1, position - 2))[
            self._loops[position]
        ]

    def live(self) -> Element:
        """Return the element of all live matches."""
        return self._prefixes(self._n)

    def _prefixes(self, length: int) -> Element:
        """Return the element of all live prefixes of a length."""
        if not self._front:
            return self._product[0][length]
        total = self._f.zero
        for x, row in zip(self._front[-1][1], self._product, strict=True):
            total = self._f.plus(total, self._f.times(x, row[length]))
        return total

    def _identity(self) -> list[list[Element]]:
        size = range(self._n + 1)
        return [[self._f.one if i == j else self._f.zero for j in size] for i in size]


def aggregate(
    operations: Interleaved,
    variables: Sequence[str],
    functions: Sequence[Function],
    columns: EventColumns,
    method: Method,
    emit: Emit,
) -> Moments:
    """Return the rows of a method; rows of elements do not depend on it.

    Args:
        emit: Which rows to return; see `cepkit.aggregate`.

    Raises:
        PatternError: A column has values that its function cannot take.
    """
    # If no match is possible, the only position gets another one before it.
    variables = [variables[0]] * (operations.length - len(variables)) + list(variables)
    positions = {variable: p for p, variable in enumerate(variables, 1)}
    sets = {variable for variable, p in positions.items() if operations.loops[p]}
    lanes = lanes_of(functions, positions, columns, sets)
    if lanes is not None and len(operations.ts):  # without events there is no need to compile
        moments = _by_loops(operations, lanes, method, emit)
        if moments is not None:
            return moments
    together = Together(functions)
    read = elements.reader(together, variables, columns)
    by_key = operations.by_key()
    records = run_elements(by_key, read, together)
    return _of_elements(by_key, together, records, emit)


def _by_loops(operations: Interleaved, lanes: Lanes, method: Method, emit: Emit) -> Moments | None:
    """Return the rows; None if their numbers may be too large for loops."""
    most = _greatest(operations, lanes, emit)
    # Without a window the product's first column is a row of prefix counters.
    products = method == "window-product" or operations.window is None
    subtracting = products and can_subtract(operations, lanes)
    if subtracting and most < SAFE:
        return subtract(operations, lanes, emit)
    by_key = operations.by_key()
    if most >= SAFE and len(by_key.groups) > 1:
        most = _greatest(by_key, lanes, emit)
    if most >= SAFE:
        return by_loops.run_remainders(by_key, lanes, most, emit) if most < math.inf else None
    if subtracting:
        return subtract(operations, lanes, emit)
    if operations.loops.any() and not lanes.empty:
        method = "window-product"  # counters that feed themselves carry no lanes
    return by_loops.run(by_key, lanes, method, emit)


def _greatest(operations: Operations | Interleaved, lanes: Lanes, emit: Emit) -> float:
    """Return an upper bound on integers in the result; infinity if a float might overflow."""
    live, total = bounds(operations)
    most = max(live, total if emit == "total" else 0.0)
    return most * lanes.greatest if most * lanes.greatest_float < math.inf else math.inf


def _of_elements(
    operations: Operations, together: Together, records: elements.Records, emit: Emit
) -> Moments:
    triggers = np.flatnonzero(operations.codes == 0)
    groups = groups_at(operations, triggers)
    if emit == "total":
        sums: dict[int, Element] = {} if operations.grouped else {0: together.zero}
        for group, element in zip(groups, records.new, strict=True):
            sums[int(group)] = together.plus(sums.get(int(group), together.zero), element)
        if operations.grouped:
            sums = {group: element for group, element in sorted(sums.items()) if element[0]}
        nothing = np.zeros(len(sums), dtype=np.int64)
        return Moments(
            nothing, np.array(list(sums), dtype=np.int32), nothing.astype(np.bool_), nothing,
            list(sums.values()), None,
        )  # fmt: skip
    if emit == "new":
        order = in_stream_order(operations.rows[triggers])
        at = triggers[order]
        ordered = [records.new[i] for i in order]
        return Moments(
            operations.ts[at], groups[order], np.ones(len(at), np.bool_),
            integers([element[0] for element in ordered]), ordered, None,
        )  # fmt: skip
    return join_elements(operations, together, triggers, records, changes=emit == "changes")
