"""Matches of several queries in files that need not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from cepkit.columnar.results.in_pieces import matches_in
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.results.output import Writer
from cepkit.columnar.results.several import Counted, Planned
from cepkit.columnar.results.together import InMemory
from cepkit.columnar.slices.counters import Counters
from cepkit.columnar.workload import Group, group_of_one
from cepkit.stream.stream import Stream
from cepkit.threads import limited_to, threads_asked


class InFiles(InMemory):
    """Files that need not fit into memory as the place where queries' matches are found.

    Each query reads them by itself.
    """

    def __init__(self, stream: Stream, planned: Planned) -> None:
        self.stream, self.planned = stream, planned
        self._threads = threads_asked()
        self._counted, self._running = None, None
        self._each = {}

    def find(self, number: int) -> Matches:
        """Return the matches of one query."""
        if number not in self._each:
            planned = self.planned
            with limited_to(self._threads):
                self._each[number] = matches_in(
                    self.stream, planned.queries[number], planned.plans[number],
                    limit=planned.limit, sets=planned.sets,
                )  # fmt: skip
        return self._each[number]

    def batches(
        self, writers: Sequence[Writer], *, limited: bool
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the number of a query and some of its matches."""
        del writers, limited  # the matches of each query have their own
        for number in range(len(self.planned.queries)):
            for batch in self.find(number).batches():
                yield number, batch

    def _count(self) -> Counted:
        sizes, counted = list[int](), list[tuple[Group, Counters]]()
        for number in range(len(self.planned.queries)):
            query, size, counters = self.find(number)._complete()  # noqa: SLF001 - beside it
            sizes.append(size)
            counted.append((group_of_one(query, number), counters))
        return sizes, counted
