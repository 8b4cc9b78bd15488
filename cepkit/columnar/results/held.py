"""Matches found all at once and kept: the base of samples and of uncertain clocks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepkit.columnar.compile.program import Program
from cepkit.columnar.results.expected import by_count, limited
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.results.output import ROWS, MatchedEvents, Writer
from cepkit.columnar.results.rows import Rows
from cepkit.columnar.slices.blocks import Block, SetBlock
from cepkit.lazy import pd
from cepkit.memory import Expected
from cepkit.stream.stream import Stream

Ints = npt.NDArray[np.int64]
Truth = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Held:
    """Some matches of a branch.

    Attributes:
        place: The number of the branch.
        rows: The event of each variable in each match.
        certain: Which matches are certain; None: all.
    """

    place: int
    rows: dict[str, Ints]
    certain: Truth | None = None

    @property
    def block(self) -> SetBlock:
        """The matches as a block."""
        return SetBlock(len(next(iter(self.rows.values()))), self.rows, {})


class _HeldMatches(Matches):
    """Matches that are found and held all at once."""

    _stream: Stream
    _held: list[Held] | None = None

    @abstractmethod
    def _find(self) -> Iterator[Held]:
        """Yield the matches."""

    def count(self) -> int:
        """Return the number of matches."""
        number = sum(each.block.size for each in self._all())
        return number if self.limit is None else min(number, self.limit)

    def forecast(self, most: int | None = None) -> Expected | None:
        """Return the number of matches, at most `most`."""
        return limited(by_count(self.count()), self._limit(most))

    def blocks(self) -> Iterator[tuple[Program, Block]]:
        """Yield the matches as rows of `columns`."""
        for each in self._all():
            yield self._programs[each.place], each.block

    def _all(self) -> list[Held]:
        if self._held is None:
            with self._working("finding matches"):
                self._held = list(self._find())
        return self._held

    def _written(self, writer: Writer, most: int | None) -> Iterator[pa.RecordBatch]:
        for _, bound, _ in self._parts(writer, most):
            yield from writer.batches_of(bound)

    def _parts(self, writer: Writer, most: int | None) -> Iterator[tuple[Held, MatchedEvents, int]]:
        """Yield at most `most` matches, in parts, and where each part begins."""
        left = self._limit(most)
        for each in self._all():
            bound = writer.bound(each.block, self._programs[each.place].variables)
            for begin in range(0, bound.size, ROWS):
                part = bound.slice(begin, begin + ROWS)
                part = part if left is None else part.slice(0, left)
                if part.size:
                    yield each, part, begin
                left = None if left is None else left - part.size

    def _frame(self, most: int | None, *, nested: bool) -> pd.DataFrame:
        return Rows._frame(self, most, nested=nested)  # noqa: SLF001 - by batches
