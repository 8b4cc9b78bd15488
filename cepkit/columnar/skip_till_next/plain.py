"""The loops of `compiled.py` in Python: their judge, and their stand-in without Numba.

Same names, same arguments, same matches. They take no short cuts, so they look at more
candidates, some hundred times slower each.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import groupby

import numpy as np
import numpy.typing as npt

from cepkit.columnar.skip_till_next import tapes as t
from cepkit.columnar.skip_till_next import walks as f
from cepkit.columnar.skip_till_next.walks import Walks

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

FLOOR = 1 << 14


class _Walk:
    """One walk of a query."""

    def __init__(
        self, walks: Walks, ts: Times, number: int, consumed: Flags, looked: Times, removed: Times
    ) -> None:
        self._walks = walks
        self._ts = ts
        self._first = int(walks.begins[number])
        self._steps = int(walks.begins[number + 1]) - self._first
        self._consumed = consumed
        self._looked = looked
        self._removed = removed

    def first(self, candidate: int) -> list[int] | None:
        """Return the rows of the first match with that last event, in pattern order."""
        self._looked[self._first] += 1
        if self._broken([candidate]):
            self._removed[self._first] += 1
            return None
        for at in self._extended([candidate]):
            rows = [0] * self._steps
            for depth, y in enumerate(at):
                rows[self._walks.nodes[self._first + depth, f.POSITION]] = self._row(depth, y)
            return rows
        return None

    def _extended(self, at: list[int]) -> Iterator[list[int]]:
        depth = len(at)
        if depth == self._steps:
            yield at
            return
        node = self._first + depth
        bound = [self._row(d, y) for d, y in enumerate(at)]
        end = bound[0]
        if self._walks.nodes[node, f.STRICT]:
            end = int(np.searchsorted(self._ts, self._ts[end]))
        for y in self._range(node, at):
            row = self._row(depth, y)
            if row >= end:
                return
            if self._consumed[row]:
                continue
            self._looked[node] += 1
            if row in bound or not self._inside(node, y, at):
                continue
            if not self._holds(node, [*at, y]):
                continue
            if self._broken([*at, y]):
                self._removed[node] += 1
                continue
            yield from self._extended([*at, y])

    def _row(self, depth: int, y: int) -> int:
        return int(self._walks.ints[self._walks.nodes[self._first + depth, f.ROWS] + y])

    def _range(self, node: int, at: list[int]) -> range:
        low, high = 0, int(self._walks.nodes[node, f.SIZE])
        fields = self._walks.nodes[node]
        for limit in self._walks.limits[fields[f.LIMITS] : fields[f.LIMITS_END]]:
            where = at[limit[f.DEPTH]]
            if limit[f.TABLE] >= 0:
                found = int(self._walks.ints[limit[f.TABLE] + where])
            else:
                found = self._searched(limit, at, int(fields[f.SIZE]))
            if limit[f.UPPER]:
                high = min(high, found)
            else:
                low = max(low, found)
        return range(low, high)

    def _searched(self, limit: Times, at: list[int], size: int) -> int:
        ints, times = self._walks.ints, self._walks.times
        group = 0, size
        if limit[f.PARTNER] >= 0:
            start = limit[f.STARTS] + ints[limit[f.CODES] + at[limit[f.PARTNER]]]
            group = int(times[start]), int(times[start + 1])
        own = times[limit[f.OWN] : limit[f.OWN] + size]
        return bisect_left(own, times[limit[f.WANTED] + at[limit[f.DEPTH]]], *group)

    def _inside(self, node: int, y: int, at: list[int]) -> bool:
        floats, fields = self._walks.floats, self._walks.nodes[node]
        for column, side, least, most in self._walks.checks[
            fields[f.CHECKS] : fields[f.CHECKS_END]
        ]:
            value = floats[column + y]
            low = floats[least + at[side]] if least >= 0 else -np.inf
            high = floats[most + at[side]] if most >= 0 else np.inf
            if not low <= value <= high:
                return False
        return True

    def _broken(self, at: list[int]) -> bool:
        fields = self._walks.nodes[self._first + len(at) - 1]
        bound = [self._row(d, y) for d, y in enumerate(at)]
        for node in range(fields[f.ABSENT], fields[f.ABSENT_END]):
            begin = self._walks.nodes[node, f.ROWS]
            for y in self._range(node, at):
                if int(self._walks.ints[begin + y]) in bound or not self._inside(node, y, at):
                    continue
                # What must not be there stands after the last step of the longest walk.
                if self._holds(node, [*at, *[y] * len(self._walks.nodes)]):
                    return True
        return False

    def _holds(self, node: int, at: list[int]) -> bool:
        """Whether the conditions on the tape of `node` hold for the candidates in `at`."""
        fields, stack = self._walks.nodes[node], list[float]()
        for operation, place, of in self._walks.tape[fields[f.TAPE] : fields[f.TAPE_END]].tolist():
            if operation == t.COLUMN:
                stack.append(float(self._walks.floats[place + (at[of] if of >= 0 else 0)]))
            elif operation == t.CHECK:
                if stack.pop() == 0.0:
                    return False
            elif operation < t.ADD:
                stack.append(t.of_one(operation, stack.pop()))
            else:
                y, x = stack.pop(), stack.pop()
                stack.append(t.of_two(operation, x, y))
        return True


def scan(
    walks: Walks,
    ts: Times,
    trigger_walks: Ints,
    trigger_at: Ints,
    trigger_rows: Ints,
    consumed: Flags,
    taken: Ints,
    taken_walks: Ints,
    looked: Times,
    removed: Times,
    memory: Ints,
    patience: int,
) -> tuple[int, int]:
    """Take the first match at each event that completes any, in stream order."""
    del memory  # nothing is remembered here
    known = [
        _Walk(walks, ts, number, consumed, looked, removed)
        for number in range(len(walks.begins) - 1)
    ]
    m = tried = 0
    triggers = zip(trigger_rows.tolist(), trigger_walks.tolist(), trigger_at.tolist(), strict=True)
    for row, together in groupby(triggers, key=lambda trigger: trigger[0]):
        looked[-1] = looked[:-1].sum()
        if looked[-1] > patience * (FLOOR + row - trigger_rows[0]):
            break
        group = list(together)
        tried += len(group)
        if consumed[row]:
            continue
        found = [(known[walk].first(at), walk) for _, walk, at in group]
        matches = [(rows, walk) for rows, walk in found if rows is not None]
        if matches:
            rows, walk = min(matches)
            taken[m] = -1
            taken[m, : len(rows)] = rows
            taken_walks[m] = walk
            consumed[rows] = True
            m += 1
    return m, tried


def take_in_order(rows: Ints, order: Times, consumed: Flags, taken: Times) -> int:
    """Take each match all of whose events are free, one after the other."""
    m = 0
    for i in order.tolist():
        own = rows[i][rows[i] >= 0]
        if not consumed[own].any():
            consumed[own] = True
            taken[m] = i
            m += 1
    return m
