"""Aggregates over files that need not fit into memory, or by slices side by side: rows, or sums.

As on Spark, rows at the moments of a piece depend on the events of a window before it, and of two
windows where events must be absent before a match.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.methods.running import choose_method
from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.rows.result import Aggregates
from cepkit.aggregation.rows.tables import Values, columns_of, kept, whole_numbers
from cepkit.aggregation.rows.totals import GroupSums
from cepkit.aggregation.semirings.functions import Function
from cepkit.aggregation.sequence.elements import Emit
from cepkit.aggregation.sequence.operations import operations_of
from cepkit.columnar.compile.program import Program
from cepkit.columnar.compile.query import CompiledQuery, compile_query
from cepkit.columnar.detector import Detector
from cepkit.columnar.pieces import Cut, Piece, Pieces, cut_of, large_parts, plan_of_parts
from cepkit.columnar.results.in_pieces import matches_in_pieces
from cepkit.columnar.results.reports import report
from cepkit.columnar.slices.blocks import Block
from cepkit.columnar.slices.cutting import EVERYTHING, Owned, looks_ahead, rows_of_slices, slices
from cepkit.lazy import pa
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.keys import partition_keys
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.routes.detected import aggregate_blocks, only_counts, without_aggregates
from cepkit.routes.functions import attributes_of
from cepkit.routes.ways import Way, aggregate_sequence
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.columns import EventColumns
from cepkit.stream.reading.ingest import attribute
from cepkit.stream.schema import Schema
from cepkit.stream.stream import Stream
from cepkit.threads import Job, in_order, number_of_threads

Groups = npt.NDArray[np.int32]
_HEAD = 1 << 17
"""A method is chosen by so many events."""


def aggregate_in_pieces(
    stream: Stream, query: Query, functions: Mapping[str, Function], emit: Emit, way: Way
) -> Aggregates | None:
    """Return the aggregates of a query over files that are better read in pieces; else None."""
    bare = without_aggregates(query)
    attributes = {*attributes_of(functions), *attributes_read(bare), *query.group_by}
    if stream.parts(attributes) is None:
        return None
    detects = way.sequence is None
    plan = None
    if detects and query.strategy is Strategy.SKIP_TILL_ANY_MATCH:
        plan = plan_of_parts(stream, bare)
    plan = as_plan(None, bare) if plan is None else plan
    compiled = compile_query(bare, plan)
    large = large_parts(stream, compiled, attributes)
    if large is None or large[1].clock != "time" or large[1].counting or compiled.chooses:
        return None
    parts, cut = large
    if emit == "total" and detects and not query.group_by and only_counts(functions.values()):
        number = matches_in_pieces(stream, bare, plan, parts, cut).count()
        rows: dict[str, Values] = kept({name: [number] for name in functions}, query.having)
        return Aggregates(query, emit, "detect", way.reason, rows)
    cut = _widened(cut, compiled, emit, detects=detects)
    carried = sorted({stream.schema.time, *query.group_by, *attributes_of(functions)})
    pieces = Pieces(parts, cut, sorted(attributes), carried)
    check_kinds(query, pieces.nothing.kinds)
    return _Aggregation(stream.schema, query, functions, emit, way, compiled, pieces).result()


def aggregate_in_slices(
    columns: EventColumns, schema: Schema, query: Query, functions: Mapping[str, Function],
    emit: Emit, way: Way,
) -> Aggregates | None:  # fmt: skip
    """Return the aggregates of a sequence, of the slices of a stream in memory side by side.

    It does not depend on the number of threads whether there are slices, as sums of floats do.

    Returns:
        None if slices do not serve: the stream is short or the window long, or groups are added up.
    """
    bare = without_aggregates(query)
    if rows_of_slices(len(columns)) >= len(columns):
        return None
    compiled = compile_query(bare, as_plan(None, bare))
    cut = cut_of(compiled)
    if cut is None or cut.clock != "time" or cut.counting or (emit == "total" and query.group_by):
        return None
    in_slices = _Slices(columns, _widened(cut, compiled, emit, detects=False))
    if len(in_slices.bounds) < 2:
        return None
    return _Aggregation(schema, query, functions, emit, way, compiled, in_slices).result()


def _widened(cut: Cut, compiled: CompiledQuery, emit: Emit, *, detects: bool) -> Cut:
    """Return a cut with as much before and after each piece as its rows need."""
    absent = detects and any(branch.negated for branch in compiled.branches)
    windows = detects and looks_ahead(compiled.programs, "time") if emit == "total" else absent
    back, window = 1, max(cut.window, 0)  # below 0 nothing matches, but triggers have rows
    if emit in ("trigger", "changes"):
        back += absent
    elif emit == "new":
        back += any(program.followed for program in compiled.programs)
    return replace(cut, window=back * window + (emit == "changes"), reach=windows * window)


class _Slices:
    """The slices of a stream in memory; see `Pieces`."""

    def __init__(self, columns: EventColumns, cut: Cut) -> None:
        self._columns, self.cut, self.nothing = columns, cut, columns.slice(0, 0)
        least = rows_of_slices(len(columns))
        self.bounds = [*slices(columns.ts, cut.window, None, least=least)]

    def __call__(self, _: int) -> Iterator[Piece]:
        ts, taken = self._columns.ts, np.empty(0, np.bool_)
        since: int | None = None
        for begin, _, end in self.bounds:
            until = int(ts[end]) if end < len(ts) else None
            yield Piece(self._columns.slice(begin, end), Owned(since, until), taken, end)
            since = until

    def threads(self) -> int:
        return number_of_threads()

    def seen(self, _: EventColumns) -> EventColumns:
        return self._columns


class _Aggregation:
    """The aggregation of a query over the pieces of a stream."""

    def __init__(
        self, schema: Schema, query: Query, functions: Mapping[str, Function], emit: Emit,
        way: Way, compiled: CompiledQuery, pieces: Pieces | _Slices,
    ) -> None:  # fmt: skip
        self._schema, self._query, self._functions, self._emit = schema, query, functions, emit
        self._way, self._compiled, self._pieces = way, compiled, pieces
        self._method, self._reason = way.method, way.reason

    def result(self) -> Aggregates:
        """Return the aggregates."""
        totals = self._emit == "total"
        nothing, query = self._pieces.nothing, self._query
        # Without GROUP BY no column of the output is asked for, which may not be in memory.
        groups = pa.schema([nothing.schema.field(name) for name in query.group_by])
        sums = GroupSums(self._functions, groups)
        tables: list[dict[str, Values]] = []
        threads = self._pieces.threads()
        last = nothing
        for piece, made, group_rows in in_order(self._jobs(threads), threads):
            last = piece.columns
            if isinstance(made, Moments):
                sums.add(last, made, group_rows)
            else:
                tables.append(made)
        report(self._pieces.seen(last), query)
        if totals:
            rows = self._in_order(sums.columns(nothing, self._schema, query.having))
        else:
            tables = tables or [self._table(nothing, *self._moments(nothing, EVERYTHING))]
            rows = {name: _joined([table[name] for table in tables]) for name in tables[0]}
        method = "detect" if self._way.sequence is None else str(self._method)
        return Aggregates(query, self._emit, method, self._reason, rows)

    def _jobs(
        self, threads: int
    ) -> Iterator[Job[tuple[Piece, Moments | dict[str, Values], Groups]]]:
        for piece in self._pieces(threads):
            if self._way.sequence is not None and self._method is None:
                head = piece.columns.slice(0, min(_HEAD, len(piece.columns)))
                self._method, self._reason = choose_method(
                    operations_of(self._way.sequence, head), self._functions.values(), head
                )

            def job(
                piece: Piece = piece,
            ) -> Iterator[tuple[Piece, Moments | dict[str, Values], Groups]]:
                moments, group_rows = self._moments(piece.columns, piece.owned)
                if self._emit != "total" or self._way.sequence is not None:
                    inside = np.ones(len(moments.ts), np.bool_)
                    if piece.owned.since is not None:
                        inside &= moments.ts >= piece.owned.since
                    if piece.owned.until is not None:
                        inside &= moments.ts < piece.owned.until
                    moments = moments.take(np.flatnonzero(inside))
                if self._emit == "total":
                    yield piece, moments, group_rows
                else:
                    yield piece, self._table(piece.columns, moments, group_rows), group_rows

            yield job

    def _moments(self, columns: EventColumns, owned: Owned) -> tuple[Moments, Groups]:
        """Return rows of some events, at least those of the moments that a piece owns."""
        emit, sequence = self._emit, self._way.sequence
        if sequence is not None:
            moments, group_rows, _, _ = aggregate_sequence(
                columns, sequence, self._method, self._functions,
                "new" if emit == "total" else emit,
            )  # fmt: skip
            return moments, group_rows
        if emit in ("trigger", "changes"):
            owned = EVERYTHING
        elif emit == "new" and owned.since is not None:
            owned = replace(owned, since=owned.since - self._pieces.cut.window)

        def blocks() -> Iterator[tuple[Program, Block]]:
            for number, block in Detector(self._compiled).matches(columns, owned):
                yield self._compiled.programs[number], block

        return aggregate_blocks(columns, blocks, self._query, self._functions, emit)

    def _table(
        self, columns: EventColumns, moments: Moments, group_rows: Groups
    ) -> dict[str, Values]:
        return columns_of(
            moments, self._functions, columns, self._schema, self._query, group_rows, self._emit
        )

    def _in_order(self, rows: dict[str, Values]) -> dict[str, Values]:
        """Return totals in the order of their groups, as of a stream in memory."""
        names = self._query.group_by
        if not names:
            return rows
        keys = [attribute(rows[name], name, self._schema) for name in names]
        order = np.argsort(partition_keys(keys)[0], kind="stable")
        at = pa.array(order)
        return {
            name: [values[i] for i in order] if isinstance(values, list) else values.take(at)
            for name, values in rows.items()
        }


def _joined(parts: list[Values]) -> Values:
    """Return the values of all parts as one column."""
    kinds = {part.type for part in parts if isinstance(part, pa.Array)}
    if len(kinds) == 1 and all(isinstance(part, pa.Array) for part in parts):
        return pa.concat_arrays(parts)
    listed = [part if isinstance(part, list) else part.to_pylist() for part in parts]
    return whole_numbers([value for values in listed for value in values])
