"""Matches in files that need not fit into memory: found piece by piece, as the files are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from cepkit.columnar.compile.program import Program, add_counters, counters_for
from cepkit.columnar.compile.query import Sets, compile_query
from cepkit.columnar.detector import Detector
from cepkit.columnar.kleene.limits import MOST_SETS, check_number_of_sets
from cepkit.columnar.pieces import Cut, Piece, Pieces, large_parts
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.results.output import Writer
from cepkit.columnar.results.reports import report
from cepkit.columnar.results.rows import Rows
from cepkit.columnar.slices.blocks import Block
from cepkit.columnar.slices.plans import SliceWork
from cepkit.lazy import pa, pd
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.stream.columns import EventColumns
from cepkit.stream.reading.file_parts import FileParts
from cepkit.stream.stream import Stream
from cepkit.threads import in_order, limited_to


def matches_in(
    stream: Stream, query: Query, plan: Plan, *, sets: Sets = "every", **options: Any
) -> Matches:
    """Return the matches of a query: of files that are better read in pieces, found in pieces.

    Args:
        sets: As for `Matches`, and so are all further options.
    """
    compiled = compile_query(query, plan, sets)
    read = {*compiled.attributes, *query.computed_from, *options.get("attributes", ())}
    large = large_parts(stream, compiled, read)
    if large is None:
        return Matches(stream, query, plan, sets=sets, **options)
    return matches_in_pieces(stream, query, plan, *large, sets=sets, **options)


def matches_in_pieces(
    stream: Stream, query: Query, plan: Plan, parts: FileParts, cut: Cut, **options: Any
) -> Matches:
    """Return the matches of a query in files, found piece by piece.

    Args:
        options: As for `Matches`.
    """
    return _MatchesInPieces(stream, query, plan, parts, cut, **options)


T = TypeVar("T")
_Make = Callable[[Piece, int, Block], Iterable[T]]


class _MatchesInPieces(Matches):
    """The matches of a query in Parquet files that are never in memory as a whole.

    What needs all events at once, `blocks` and `columns`, loads them.
    """

    def __init__(
        self, stream: Stream, query: Query, plan: Plan, parts: FileParts, cut: Cut, **options: Any
    ) -> None:
        read = {*compile_query(query, plan).attributes, *query.computed_from}
        read.update(options.get("attributes", ()))
        carried = stream.schema.carried(stream.column_names)
        self._stream, self._options = stream, (query, plan, options)
        self._to_count = Pieces(parts, cut, sorted(read), (stream.schema.time,))
        self._to_write = Pieces(parts, cut, sorted(read), carried)
        super().__init__(stream, query, plan, columns=self._to_write.nothing, **options)
        self._lacking = parts.lacking()
        self._reported, self._rows_read = False, 0

    @property
    def searched(self) -> float:
        """The share of events that the last (or current) run has read."""
        return self._rows_read / max(1, self._to_count.parts.rows)

    @property
    def columns(self) -> EventColumns:
        """The events whose rows `blocks` refers to."""
        return self._whole().columns

    def blocks(self) -> Iterator[tuple[Program, Block]]:
        """Yield the matches as rows of `columns`; see `Matches`."""
        return self._whole().blocks()

    def _whole(self) -> Matches:
        query, plan, options = self._options
        return Matches(self._stream, query, plan, **options)

    def _written(self, writer: Writer, most: int | None) -> Iterator[pa.RecordBatch]:
        left = self._limit(most)

        def batches(piece: Piece, number: int, block: Block) -> Iterable[pa.RecordBatch]:
            own = Writer(piece.columns, writer.columns)
            return own.batches(block, self._programs[number].variables)

        for _, batch in self._found(self._to_write, batches, limited=left is not None):
            if left is None:
                yield batch
                continue
            yield batch.slice(0, left)
            left -= min(left, len(batch))
            if not left:
                return

    def _frame(self, most: int | None, *, nested: bool) -> pd.DataFrame:
        return Rows._frame(self, most, nested=nested)  # noqa: SLF001 - not the one that needs all events

    def _lacks(self, name: str) -> bool:
        return name in self._lacking

    def _count_all(self) -> None:
        with self._working("counting matches"):
            sizes = self._found(self._to_count, _nothing, limited=False, counting=True)
            for _ in sizes:
                pass

    def _made(self, make: Any, *, limited: bool) -> Iterator[tuple[Program, Any]]:
        def of_piece(_: Piece, number: int, block: Block) -> Iterable[Any]:
            yield from make(number, block)

        for number, each in self._found(self._to_count, of_piece, limited=limited):
            yield self._programs[number], each

    def _found(
        self, pieces: Pieces, make: _Make[T], *, limited: bool, counting: bool = False
    ) -> Iterator[tuple[int, T]]:
        """Yield the results of `make` for each piece, with the numbers of their branches.

        Args:
            make: Turns a block of matches into results, in the thread that finds them.
            limited: Whether only some matches are wanted.
            counting: Whether only their number is.
        """
        compiled, work = self._compiled, counters_for(self._programs)
        with limited_to(self._threads):
            threads = pieces.threads()
        sets, sizes = 0, list[int]()
        last: EventColumns | None = None

        def job(piece: Piece) -> Callable[[], Iterator[tuple[int, T] | tuple[Piece, Detector]]]:
            def run() -> Iterator[tuple[int, T] | tuple[Piece, Detector]]:
                detector = Detector(compiled, slice_rows=self._slice_rows)
                detector.counters = counters_for(self._programs, work)
                if compiled.chooses:
                    blocks = detector.matches(
                        piece.columns, piece.owned, limited=limited, taken=piece.taken
                    )
                elif counting:
                    blocks = iter(())
                    sizes.extend(some for _, some in detector.count(piece.columns, piece.owned))
                else:
                    blocks = detector.matches(piece.columns, piece.owned, limited=limited)
                for branch, block in blocks:
                    sizes.append(block.size)
                    for each in make(piece, branch, block):
                        yield branch, each
                yield piece, detector

            return run

        # A piece whose matches depend on those before it is found when these are.
        jobs = map(job, pieces(threads))
        for one, other in in_order(jobs, 1 if compiled.chooses else threads, _weight):
            if not isinstance(one, Piece):
                yield one, other
                continue
            self._rows_read, last = one.rows, one.columns
            add_counters(work, other.counters)
            if other.size is not None:
                sets += other.size
                check_number_of_sets(self._programs[0], sets, MOST_SETS)
        self._work = SliceWork({self.plan.branches: work})
        self._number = sum(sizes)
        if not self._reported:
            self._reported = True
            last = pieces.nothing if last is None else last
            report(pieces.seen(last), self.query)


def _nothing(_: Piece, __: int, ___: Block) -> Iterable[int]:
    return ()


def _weight(result: Any) -> int:
    return int(getattr(result[1], "nbytes", 1 << 10))
