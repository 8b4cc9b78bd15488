"""The search for the matches of a bound query: mappings of rows to variables.

If all conditions are filters, `kernels.scan` finds them. Otherwise a Python search goes from start
to start: it follows the preferred path that the filters allow, evaluates the conditions of each row
that it maps, and backtracks to the last choice if one fails. That is O(rows) if the first path
succeeds. A search that backtracks often memoises its states (as far as conditions can read them)
and visits none of them twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepkit.errors import LimitError, PatternError
from cepkit.memory import free_memory
from cepkit.rowpattern import kernels
from cepkit.rowpattern.binding import BoundQuery
from cepkit.rowpattern.columns import as_array, evaluate, kind_text
from cepkit.rowpattern.expressions import Expression
from cepkit.rowpattern.mapping import Mapping
from cepkit.rowpattern.program import ACCEPT, CHOICE, ROW, Program
from cepkit.rowpattern.rows import Rows
from cepkit.values import dataclass

_CHUNK = 1 << 18
_SMALL = 1 << 24
_MOST_TRIED = 32
"""A search begins to memoise after this many paths."""
_SKIPS = {
    "past last row": kernels.PAST_LAST,
    "next row": kernels.TO_NEXT,
    "first": kernels.TO_FIRST,
    "last": kernels.TO_LAST,
}


@dataclass(frozen=True, slots=True)
class Matches:
    """Some matches, in the order of their starts.

    Attributes:
        starts: The first row of each match; for an empty match the row at which the search began.
        begins: The index of its first step.
        ends: The index behind its last step.
        numbers: Its number in its partition; 0 for a row that no match covers.
        steps: The instruction of each row.
    """

    starts: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    numbers: np.ndarray
    steps: np.ndarray

    @classmethod
    def none(cls) -> Matches:
        """Return no match."""
        empty = np.zeros(0, np.int64)
        return cls(empty, empty, empty, empty, np.zeros(0, np.int32))

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(slots=True)
class Search:
    """A search through the rows of a table."""

    bound: BoundQuery
    program: Program
    rows: Rows

    def matches(self) -> Iterator[Matches]:
        """Yield the matches in batches.

        Raises:
            PatternError: SKIP TO names a row that the match lacks, or its first row.
            LimitError: A partition is too large for the memory.
        """
        query = self.bound.query
        lengths = np.diff(self.rows.bounds)
        longest = int(lengths.max()) if len(lengths) else 0
        size = longest * len(self.program)
        if size > _SMALL and size > free_memory() // 2:
            raise LimitError(
                f"a partition of {longest:,} rows and a pattern of {len(self.program):,} steps",
                expected="a product of both that fits half of the free memory, in bytes",
                hint="PARTITION BY a column, or repeat less in the pattern",
            )
        fits = np.array([self._fits(name) for name in query.variables]).reshape(
            len(query.variables), len(self.rows)
        )
        skip_to = self.bound.members.get(query.skip.variable or "", ())
        targets = np.array(
            [v >= 0 and query.variables[v] in skip_to for v in self.program.variables], np.bool_
        )
        if any(self.bound.conditions.values()):
            return self._one_by_one(fits, targets)
        return self._scanned(fits, targets, longest)

    def _fits(self, variable: str) -> np.ndarray:
        """Return for each row whether it passes the filters of a variable."""
        fits = np.ones(len(self.rows), np.bool_)
        for part in self.bound.filters[variable]:
            fits &= holds(part, self.rows)
        return fits

    def _scanned(self, fits: np.ndarray, targets: np.ndarray, longest: int) -> Iterator[Matches]:
        program, query = self.program, self.bound.query
        state = np.zeros(4, np.int64)
        while state[0] < len(self.rows.bounds) - 1:
            steps = np.empty(max(_CHUNK, longest), np.int32)
            starts, stops, numbers = (np.empty(_CHUNK, np.int64) for _ in range(3))
            count, then = kernels.scan(
                program.kinds,
                program.first,
                program.second,
                program.variables,
                program.entry,
                fits,
                self.rows.bounds,
                _SKIPS[query.skip.to],
                targets,
                query.output.unmatched,
                state,
                steps,
                starts,
                stops,
                numbers,
            )
            if then < 0:
                raise self._no_target(then, int(starts[count - 1]))
            ends = stops[:count]
            begins = np.concatenate(([0], ends))[:count]
            yield Matches(
                starts[:count], begins, ends, numbers[:count], steps[: ends[-1] if count else 0]
            )

    def _one_by_one(self, fits: np.ndarray, targets: np.ndarray) -> Iterator[Matches]:
        program, query, bounds = self.program, self.bound.query, self.rows.bounds.tolist()
        mapping, batch = Mapping(self.bound, self.rows), _Batch()
        for begin, end in pairwise(bounds):
            can = kernels.reach(
                program.kinds, program.first, program.second, program.variables, fits, begin, end
            )
            ways = _Ways(program, can)
            number = covered = start = 0
            while start < end - begin:
                mapping.restart(begin + start, number + 1)
                steps, then = ways.preferred(mapping, start), start + 1
                if steps is not None:
                    number += 1
                    covered = max(covered, start + len(steps))
                    batch.add(begin + start, steps, number)
                    skip = _SKIPS[query.skip.to]
                    then = kernels.next_start(
                        skip, targets, np.array(steps, np.int32), 0, len(steps), start
                    )
                    if then < 0:
                        raise self._no_target(then, begin + start)
                elif query.output.unmatched and start >= covered:
                    batch.add(begin + start, [], 0)
                start = then
                if batch.size > _CHUNK:
                    yield batch.matches()
                    batch = _Batch()
        if batch.size:
            yield batch.matches()

    def _no_target(self, then: int, row: int) -> PatternError:
        skip = self.bound.query.skip
        values = {
            key.column: self.rows.table.column(key.column)[row].as_py() for key in self.bound.order
        }
        where = f", in the match that begins at {values}" if values else ""
        if then == kernels.NO_PROGRESS:
            problem = (
                f"{skip.variable} is the first row of the match itself: the search would not go on"
            )
        else:
            problem = f"no row is {skip.variable}"
        return PatternError(
            f"SKIP TO {skip.to.upper()} {skip.variable}: {problem}{where}",
            expected=f"a row of {skip.variable} behind the first in each match",
            hint="write SKIP TO NEXT ROW or SKIP PAST LAST ROW",
            span=skip.span,
        )


class _Ways:
    """The paths of a pattern through one partition, preferred ones first."""

    def __init__(self, program: Program, can: np.ndarray) -> None:
        self._kinds, self._first, self._second, self._variables = (
            array.tolist()
            for array in (program.kinds, program.first, program.second, program.variables)
        )
        self._entry, self._can = program.entry, can

    def preferred(self, mapping: Mapping, start: int) -> list[int] | None:
        """Return the steps of the preferred match that begins at a row."""
        can, kinds, first = self._can, self._kinds, self._first
        steps: list[int] = []
        choices = [(self._entry, 0)]
        failed: set[tuple[object, ...]] = set()
        tried = 0
        while choices:
            at, length = choices.pop()
            tried += 1
            del steps[length:]
            mapping.keep(length)
            while can[start + len(steps), at]:
                kind = kinds[at]
                if kind == ACCEPT:
                    return steps
                if kind == ROW:
                    if not mapping.take(self._variables[at]):
                        break
                    steps.append(at)
                elif kind == CHOICE:
                    if tried > _MOST_TRIED:
                        # An equal state was tried before and failed.
                        state = (at, len(steps), mapping.known())
                        if state in failed:
                            break
                        failed.add(state)
                    choices.append((self._second[at], len(steps)))
                at = first[at]
        return None


@dataclass(slots=True)
class _Batch:
    """A batch of matches that grows one by one."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)

    @property
    def size(self) -> int:
        return len(self.starts) + len(self.steps)

    def add(self, start: int, steps: list[int], number: int) -> None:
        self.starts.append(start)
        self.steps += steps
        self.ends.append(len(self.steps))
        self.numbers.append(number)

    def matches(self) -> Matches:
        ends = np.array(self.ends, np.int64)
        return Matches(
            np.array(self.starts, np.int64),
            np.concatenate(([0], ends[:-1])),
            ends,
            np.array(self.numbers, np.int64),
            np.array(self.steps, np.int32),
        )


def holds(condition: Expression, rows: Rows) -> np.ndarray:
    """Return for each row whether a condition on it and its neighbours is true."""

    def leaf(part: Any) -> Any:
        return rows.shifted(part.value, part.shift)

    value = evaluate(condition, leaf)
    check_truth(condition, value.type)
    true: np.ndarray = as_array(pc.fill_null(as_truth(value), False), len(rows)).to_numpy(
        zero_copy_only=False
    )
    return true


def as_truth(value: Any) -> Any:
    """Return a null without a type as an unknown truth value."""
    return value.cast(pa.bool_()) if pa.types.is_null(value.type) else value


def check_truth(condition: Expression, kind: pa.DataType) -> None:
    """Check that a condition is a truth value.

    Raises:
        PatternError: It is a value of another kind.
    """
    if not (pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise PatternError(
            f"{kind_text(kind)} as a condition",
            expected="a comparison, as in price > PREV(price)",
            span=condition.span,
        )
