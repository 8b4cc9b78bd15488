"""The compiler of a row pattern to instructions, with preferred choices first.

    row v     one row that fits v, then `first`
    choice    `first` before `second`
    start     only at the partition's first row, then `first`
    end       only behind its last row
    accept, fail

Each optional iteration of `*`, `+` and `{n,}` takes at least one row, and if the last mandatory
iteration takes none, the loop ends; so no path returns to an instruction without taking a row, and
none runs forever. `?` and `{n,m}` are copies of a part. A part that can match no row is compiled
twice if that matters: for paths that have taken a row since the iteration began, and for paths that
have not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from itertools import permutations
from math import factorial
from typing import NamedTuple, assert_never

import numpy as np

from cepkit.errors import PatternError
from cepkit.rowpattern import nodes as n

ACCEPT, FAIL, ROW, CHOICE, START, END = range(6)
_MOST_INSTRUCTIONS = 20_000
_MOST_PERMUTED = 6


class Instructions(NamedTuple):
    """Instructions; a choice and an anchor only continue at earlier instructions.

    Attributes:
        kinds: The kind of each.
        first: The next instruction.
        second: For a choice, the other next instruction.
        variables: For a row, the number of its variable.
        hidden: For a row, whether it is inside {- -}.
        entry: The first instruction.
    """

    kinds: np.ndarray
    first: np.ndarray
    second: np.ndarray
    variables: np.ndarray
    hidden: np.ndarray
    entry: int

    @property
    def size(self) -> int:
        """The number of instructions."""
        return len(self.kinds)

    def ahead(self) -> list[int]:
        """Return for each instruction the variables of the rows that may follow, as bits."""
        steps = list(zip(*(a.tolist() for a in (self.kinds, self.first, self.second)), strict=True))
        own = [1 << v if v >= 0 else 0 for v in self.variables.tolist()]
        ahead: list[int] = own
        before: list[int] = []
        while ahead != before:
            before, ahead = ahead, ahead[:]
            for at in reversed(range(len(steps))):
                kind, first, second = steps[at]
                if kind == CHOICE:
                    ahead[at] = ahead[first] | ahead[second]
                elif kind not in (ACCEPT, FAIL):
                    ahead[at] |= ahead[first]
        return ahead


@dataclass(frozen=True, slots=True)
class _Next:
    """The next instruction after a part.

    Attributes:
        empty: The next one if the iteration has taken no row.
        taken: The next one if it has taken a row.
    """

    empty: int
    taken: int


@dataclass(slots=True)
class _Writer:
    names: dict[str, int]
    rows: list[list[int]] = field(default_factory=list)
    hidden: bool = False

    def emit(self, kind: int, first: int = -1, second: int = -1, variable: int = -1) -> int:
        if len(self.rows) >= _MOST_INSTRUCTIONS:
            raise PatternError(
                f"the pattern expands to more than {_MOST_INSTRUCTIONS:,} steps",
                hint="{n} writes a part n times, PERMUTE each order",
            )
        self.rows.append([kind, first, second, variable, self.hidden])
        return len(self.rows) - 1

    def choice(self, first: int, second: int) -> int:
        return first if first == second else self.emit(CHOICE, first, second)

    def add(self, part: n.RowPattern, to: _Next) -> int:
        """Emit the instructions of a part; return the first of them."""
        match part:
            case n.Variable(name):
                return self.emit(ROW, to.taken, variable=self.names[name])
            case n.Anchor(at):
                return self.emit(START if at == "start" else END, to.empty)
            case n.Exclusion(inner):
                outside, self.hidden = self.hidden, True
                entry = self.add(inner, to)
                self.hidden = outside
                return entry
            case n.Concatenation(parts):
                return self._sequence(parts, to)
            case n.Alternation(parts):
                entries = [self.add(one, to) for one in parts]
                return reduce(
                    lambda rest, one: self.choice(one, rest), entries[-2::-1], entries[-1]
                )
            case n.Permutation(parts):
                if len(parts) > _MOST_PERMUTED:
                    raise PatternError(
                        f"PERMUTE of {len(parts)} parts has {factorial(len(parts)):,} orders",
                        expected=f"at most {_MOST_PERMUTED} parts",
                        span=part.span,
                    )
                orders = [n.Concatenation(order) for order in permutations(parts)]
                return self.add(n.Alternation(tuple(orders)), to)
            case n.Repetition():
                return self._repetition(part, to)
            case _:
                assert_never(part)

    def _sequence(self, parts: tuple[n.RowPattern, ...], to: _Next) -> int:
        for part in reversed(parts):
            taken = self.add(part, _Next(to.taken, to.taken))
            same = to.empty == to.taken or not may_be_empty(part)
            to = _Next(taken if same else self.add(part, to), taken)
        return to.empty

    def _repetition(self, loop: n.Repetition, to: _Next) -> int:
        if loop.most is not None:
            leave = to
            for _ in range(loop.most - loop.least):
                to = self._both(loop.part, to, to)
                empty = self._choose(loop, to.empty, leave.empty)
                same = to.empty == to.taken and leave.empty == leave.taken
                to = _Next(empty, empty if same else self._choose(loop, to.taken, leave.taken))
            return self._sequence((loop.part,) * loop.least, to)
        fail, more = self.emit(FAIL), self.emit(CHOICE)
        again = self.add(loop.part, _Next(fail, more))
        self.rows[more][1:3] = [again, to.taken] if loop.greedy else [to.taken, again]
        if not loop.least:
            return more if to.empty == to.taken else self._choose(loop, again, to.empty)
        last = _Next(again, again)
        if may_be_empty(loop.part):
            last = self._both(loop.part, to, _Next(more, more))
        return self._sequence((loop.part,) * (loop.least - 1), last)

    def _both(self, part: n.RowPattern, empty: _Next, taken: _Next) -> _Next:
        """Emit a part for both kinds of paths to it.

        Args:
            empty: The next instruction if the part takes no row.
            taken: The next instruction if it takes one.
        """
        entry = self.add(part, _Next(empty.taken, taken.taken))
        if not may_be_empty(part) or empty.empty == empty.taken:
            return _Next(entry, entry)
        return _Next(self.add(part, _Next(empty.empty, taken.taken)), entry)

    def _choose(self, loop: n.Repetition, again: int, leave: int) -> int:
        return self.choice(again, leave) if loop.greedy else self.choice(leave, again)


def may_be_empty(part: n.RowPattern) -> bool:
    """Return whether a part can match no row."""
    match part:
        case n.Variable():
            return False
        case n.Anchor():
            return True
        case n.Concatenation(parts) | n.Permutation(parts):
            return all(map(may_be_empty, parts))
        case n.Alternation(parts):
            return any(map(may_be_empty, parts))
        case n.Repetition(inner, least):
            return not least or may_be_empty(inner)
        case n.Exclusion(inner):
            return may_be_empty(inner)
        case _:
            assert_never(part)


def compile_pattern(pattern: n.RowPattern, variables: tuple[str, ...]) -> Instructions:
    """Return the instructions of a pattern.

    Raises:
        PatternError: There are too many instructions.
    """
    compiler = _Writer({name: number for number, name in enumerate(variables)})
    accept = compiler.emit(ACCEPT)
    entry = compiler.add(pattern, _Next(accept, accept))
    order = _order(compiler.rows, entry)
    place = {old: new for new, old in enumerate(order)}
    rows = [compiler.rows[old] for old in order]
    table = np.array(rows, np.int32).reshape(len(rows), 5)
    targets = [[place.get(int(to), 0) for to in table[:, column]] for column in (1, 2)]
    return Instructions(
        table[:, 0].astype(np.int8),
        np.array(targets[0], np.int32),
        np.array(targets[1], np.int32),
        table[:, 3].copy(),
        table[:, 4].astype(np.bool_),
        place[entry],
    )


def _order(rows: list[list[int]], entry: int) -> list[int]:
    """Return the reachable instructions, each after those it reaches without a row."""
    reached, heads = {entry}, [entry]
    order: list[int] = []
    done: set[int] = set()
    while heads:
        stack = [(heads.pop(), False)]
        while stack:
            at, below = stack.pop()
            if at in done:
                continue
            kind, first, second = rows[at][:3]
            ways = [first, second] if kind == CHOICE else [first] if kind in (START, END) else []
            if below or not ways:
                done.add(at)
                order.append(at)
                if kind == ROW and first not in reached:
                    reached.add(first)
                    heads.append(first)
                continue
            stack.append((at, True))
            stack.extend((way, False) for way in ways if way not in done)
    return order
