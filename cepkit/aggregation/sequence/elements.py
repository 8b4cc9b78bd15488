"""Aggregation in plain Python, for aggregates that have no lanes.

It decides what the compiled loops must give, takes their place where Numba is not there, where
integers outgrow 64 bits, and for functions that loops do not know. The methods differ in the
state that they keep of a key (`State`); the order of work is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from cepkit.aggregation.semirings.functions import Count, Element, Function, Semiring, known
from cepkit.aggregation.sequence.operations import Operations
from cepkit.stream.columns import EventColumns
from cepkit.stream.values import plain_values

Emit: TypeAlias = Literal["trigger", "changes", "new", "total"]
"""See `cepkit.aggregate`."""

Method: TypeAlias = Literal["prefix-counters", "window-product", "two-step"]
"""How A-Seq's queries can be aggregated; two-step is the baseline."""


class Together:
    """Several functions as one, the number of matches first.

    Args:
        functions: The others.
    """

    def __init__(self, functions: Sequence[Function]) -> None:
        self.functions: tuple[Function, ...] = (Count(), *functions)
        self.reads = tuple(pair for f in self.functions for pair in f.reads)
        self.zero: Element = tuple(f.zero for f in self.functions)
        self.one: Element = tuple(f.one for f in self.functions)

    def plus(self, x: Element, y: Element) -> Element:
        """Return the element of two disjoint sets of matches."""
        return tuple(f.plus(a, b) for f, a, b in zip(self.functions, x, y, strict=True))

    def times(self, x: Element, y: Element) -> Element:
        """Return the element of all pairs."""
        return tuple(f.times(a, b) for f, a, b in zip(self.functions, x, y, strict=True))

    def event(self, variable: str, values: Mapping[str, Any]) -> Element:
        """Return the element of one event, given its attributes."""
        lifted = []
        for f in self.functions:
            names = [attribute for v, attribute in f.reads if v == variable]
            if not names:
                lifted.append(f.one)
            else:
                value = True if names[0] is None else known(values[names[0]])
                lifted.append(f.lift(variable, value))
        return tuple(lifted)


class State(Protocol):
    """The state of a method for one key; times never fall from call to call."""

    def next_expiry(self) -> int | None:
        """Return when the oldest live START expires, None where none will."""
        ...

    def expire(self, now: int) -> None:
        """Drop what is not live at a time any more."""
        ...

    def extend(self, position: int, ts: int, element: Element) -> None:
        """Take an event at a position before the last."""
        ...

    def complete(self, ts: int, element: Element) -> Element:
        """Take an event at the last position; return the element of the matches it completes."""
        ...

    def end(self, position: int, ts: int, /) -> None:
        """Take an event that must be absent after a position."""
        ...

    def live(self) -> Element:
        """Return the element of all live matches."""
        ...


NewState: TypeAlias = Callable[[Semiring, int, "int | None"], State]
"""Of a semiring, the number of positions, and the window."""


@dataclass(frozen=True, slots=True)
class Records:
    """The aggregates at triggers and expiries, in the order of keys.

    Attributes:
        new: For each trigger the element of the matches that it completes.
        live: For each trigger that of the live matches, after all events of its time.
        expired: For each moment at which live matches of a key expire: the START's operation and
            the element of what is left.
    """

    new: list[Element]
    live: list[Element]
    expired: list[tuple[int, Element]]


def run(
    operations: Operations,
    events: Callable[[int, int], Element],
    function: Semiring,
    new_state: NewState,
) -> Records:
    """Run a method over all operations.

    Args:
        events: Gives the element of an event (its row) at a position.
        function: The aggregate, the number of matches first (`Together`).
        new_state: Makes the state of a key.
    """
    records = Records([], [], [])
    n = operations.length
    ts, codes, rows = (a.tolist() for a in (operations.ts, operations.codes, operations.rows))
    for begin, end in zip(operations.starts[:-1], operations.starts[1:], strict=True):
        state = new_state(function, n, operations.window)
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


def _expire(state: State, now: int | None, last_start: dict[int, int], records: Records) -> None:
    """Let expire what does up to a time, one moment after the other; None: all that ever will."""
    while (moment := state.next_expiry()) is not None and (now is None or moment <= now):
        before = state.live()
        oldest = next(iter(last_start))
        start = last_start.pop(oldest)
        state.expire(moment)
        after = state.live()
        if after[0] != before[0]:
            records.expired.append((start, after))


def reader(
    together: Together, variables: Sequence[str], columns: EventColumns
) -> Callable[[int, int], Element]:
    """Return what gives the element of an event at a position.

    Args:
        together: The functions.
        variables: The variable of each position, from the first on.
        columns: The stream, with the attributes that the functions read.
    """
    names = {attribute for _, attribute in together.reads if attribute is not None}
    values = {name: plain_values(columns.attributes[name]) for name in names}

    def element(position: int, row: int) -> Element:
        at = {name: column[row] for name, column in values.items()}
        return together.event(variables[position - 1], at)

    return element
