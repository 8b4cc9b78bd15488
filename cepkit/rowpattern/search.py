"""The search for the matches of a bound query: mappings of rows to variables.

If all conditions are filters, `kernels.scan` finds them. Otherwise a Python search goes from start
to start: it follows the preferred path that the filters allow, evaluates the conditions of each row
that it maps, and backtracks to the last choice if one fails. That is O(rows) if the first path
succeeds. A search that backtracks often memoises its states (as far as conditions can read them),
visits none of them twice, and raises an error where nearly all states differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
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
from cepkit.rowpattern.expressions import Expression, place_text
from cepkit.rowpattern.mapping import Mapping
from cepkit.rowpattern.program import ACCEPT, CHOICE, ROW, Instructions
from cepkit.rowpattern.rows import PartitionedRows

_CHUNK = 1 << 18
_SMALL = 1 << 24
_TRIED_BEFORE = 32
"""A search begins to memoise after this many paths."""
_TRIED_EACH = 1_000
"""A start may try this many paths ..."""
_MOST_TRIED = 500_000
"""... and what earlier ones left of it, up to this many: some seconds."""
_SKIPS = {
    "past last row": kernels.PAST_LAST,
    "next row": kernels.TO_NEXT,
    "first": kernels.TO_FIRST,
    "last": kernels.TO_LAST,
}


@dataclass(frozen=True, slots=True)
class MatchedRows:
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
    def none(cls) -> MatchedRows:
        """Return no match."""
        empty = np.zeros(0, np.int64)
        return cls(empty, empty, empty, empty, np.zeros(0, np.int32))

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(slots=True)
class PreferredSearch:
    """A search through the rows of a table."""

    bound: BoundQuery
    program: Instructions
    rows: PartitionedRows

    def matches(self) -> Iterator[MatchedRows]:
        """Yield the matches in batches.

        Raises:
            PatternError: SKIP TO names a row that the match lacks, or its first row.
            LimitError: A partition is too large for the memory.
        """
        query = self.bound.query
        lengths = np.diff(self.rows.bounds)
        longest = int(lengths.max()) if len(lengths) else 0
        size = longest * self.program.size
        if size > _SMALL and size > free_memory() // 2:
            raise LimitError(
                f"a partition of {longest:,} rows and a pattern of {self.program.size:,} steps",
                expected="a product of both that fits half of the free memory, in bytes",
                hint="PARTITION BY a column, or repeat less in the pattern",
            )
        variables = query.variables
        fits = np.ones((len(variables), len(self.rows)), np.bool_)
        for number, name in enumerate(variables):
            for part in self.bound.filters[name]:
                fits[number] &= holds(part, self.rows)
        skip_to = self.bound.members.get(query.skip.variable or "", ())
        targets = np.array(
            [v >= 0 and variables[v] in skip_to for v in self.program.variables], np.bool_
        )
        if any(self.bound.conditions.values()):
            return self._one_by_one(fits, targets)
        return self._scanned(fits, targets, longest)

    def _scanned(
        self, fits: np.ndarray, targets: np.ndarray, longest: int
    ) -> Iterator[MatchedRows]:
        program, query = self.program, self.bound.query
        state = np.zeros(4, np.int64)
        while state[0] < len(self.rows.bounds) - 1:
            steps = np.empty(max(_CHUNK, longest), np.int32)
            starts, stops, numbers = (np.empty(_CHUNK, np.int64) for _ in range(3))
            skip, unmatched = _SKIPS[query.skip.to], query.output.unmatched
            found = kernels.Found(steps, starts, stops, numbers)
            count, then = kernels.scan(
                program, fits, self.rows.bounds, skip, targets, unmatched, state, found
            )
            if then < 0:
                raise self._no_target(then, int(starts[count - 1]))
            ends = stops[:count]
            begins = np.concatenate(([0], ends))[:count]
            yield MatchedRows(
                starts[:count], begins, ends, numbers[:count], steps[: ends[-1] if count else 0]
            )

    def _one_by_one(self, fits: np.ndarray, targets: np.ndarray) -> Iterator[MatchedRows]:
        program, query, bounds = self.program, self.bound.query, self.rows.bounds.tolist()
        mapping, ways, batch = Mapping(self.bound, self.rows), _Ways(program), _Batch()
        for begin, end in pairwise(bounds):
            ways.enter(kernels.reach(*program[:4], fits, begin, end))
            number = covered = start = 0
            while start < end - begin:
                mapping.restart(begin + start, number + 1)
                steps, then = ways.preferred(mapping, start), start + 1
                if ways.left < 0:
                    raise self._too_many_paths(begin + start)
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

    def _place(self, row: int) -> str:
        """Return the text of a row: its values of ORDER BY."""
        columns = [key.column for key in self.bound.order if key.column is not None]
        values = {name: self.rows.table.column(name)[row].as_py() for name in columns}
        return f", in the match that begins at {values}" if values else ""

    def _too_many_paths(self, row: int) -> LimitError:
        parts = dict.fromkeys(part for each in self.bound.conditions.values() for part in each)
        texts = ", ".join(f"{place_text(part.span)}" for part in parts)
        return LimitError(
            f"a condition failed on more than {_MOST_TRIED:,} ways to match the rows"
            f"{self._place(row)}",
            expected="conditions that few ways fail, or for which many ways are alike; these read"
            f" more of a way than its last rows: {texts}",
            hint="limit the repetitions, as in {1,20}, or the time by WITHIN, or compare with the"
            " row before: PREV(price)",
        )

    def _no_target(self, then: int, row: int) -> PatternError:
        skip = self.bound.query.skip
        where = self._place(row)
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
    """The paths of a pattern, preferred ones first.

    `preferred` goes back to its last choice where a condition fails, and remembers the states from
    which all ways failed, for later starts too. `left` is how often it still may go back: each
    start adds to it. Without a limit, conditions that tell all paths apart, as sums do, would let
    it go on for a time that doubles with each row.
    """

    def __init__(self, program: Instructions) -> None:
        self._kinds, self._first, self._second, self._variables = (
            array.tolist()
            for array in (program.kinds, program.first, program.second, program.variables)
        )
        self._program = program
        self._ahead: list[int] = []
        self._failed: set[tuple[object, ...]] = set()
        self._can = memoryview(b"")
        self.left = _MOST_TRIED

    def enter(self, can: np.ndarray) -> None:
        """Go to another partition, with the result of `kernels.reach` for it."""
        # A view yields single values faster than an array does.
        self._can, self._failed = can.reshape(-1).data, set()

    def preferred(self, mapping: Mapping, start: int) -> list[int] | None:
        """Return the steps of the preferred match that begins at a row.

        Args:
            mapping: The mapping, without rows.
            start: The row, counted in the partition.

        Returns:
            The steps; None if there is no match, and if `left` is negative then.
        """
        can, kinds, first, second = self._can, self._kinds, self._first, self._second
        steps: list[int] = []
        entry = self._program.entry
        width = len(kinds)
        choices = [(entry, 0)] if can[start * width + entry] else []
        visited: set[tuple[object, ...]] = set()
        self.left = min(self.left + _TRIED_EACH, _MOST_TRIED)
        tried = 0
        while choices:
            at, length = choices.pop()
            tried += 1
            self.left -= 1
            if self.left < 0:
                break
            del steps[length:]
            mapping.keep(length)
            row = (start + length) * width
            while True:
                kind = kinds[at]
                if kind == ACCEPT:
                    return steps
                if kind == ROW:
                    if not mapping.take(self._variables[at]):
                        break
                    steps.append(at)
                    row += width
                elif kind == CHOICE:
                    if not can[row + first[at]]:
                        at = second[at]
                        continue
                    if can[row + second[at]]:
                        if tried > _TRIED_BEFORE:
                            state = (at, row, self._known(mapping, at))
                            if state in visited or state in self._failed:
                                break
                            visited.add(state)
                        choices.append((second[at], len(steps)))
                at = first[at]
        if len(self._failed) > _MOST_TRIED:
            self._failed = set()
        self._failed |= visited
        return None

    def _known(self, mapping: Mapping, at: int) -> tuple[object, ...]:
        """Return the part of a mapping that conditions of later rows can read."""
        self._ahead = self._ahead or self._program.ahead()
        return mapping.known(self._ahead[at])


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

    def matches(self) -> MatchedRows:
        ends = np.array(self.ends, np.int64)
        return MatchedRows(
            np.array(self.starts, np.int64),
            np.concatenate(([0], ends[:-1])),
            ends,
            np.array(self.numbers, np.int64),
            np.array(self.steps, np.int32),
        )


def holds(condition: Expression, rows: PartitionedRows) -> np.ndarray:
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
