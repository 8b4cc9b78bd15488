"""What Spark's Python workers do: deal events out to cells, and find the matches of a cell.

Rows travel from the JVM to Python once. There they are cut into cells and packed, many at a
time, as Arrow messages; the shuffle then moves a few large binary values in place of many small
rows, which is some two to three times as fast. Cells are cut by the same int64 times that the
engine works on, so nothing depends on how the JVM would have read a time. Numbers, where windows
count events, come with the rows: only Spark sees the whole stream.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from cepkit.columnar.compile.program import Clock, Program
from cepkit.columnar.compile.query import CompiledQuery, Sets
from cepkit.columnar.detector import Counters, Detector, counters_for
from cepkit.columnar.results.output import Writer
from cepkit.columnar.slices.blocks import Block
from cepkit.columnar.slices.candidates import Owned
from cepkit.errors import StreamError
from cepkit.pattern.evaluation.functions.registered import register_function
from cepkit.pattern.normal_form import Branch
from cepkit.spark.cells.layout import Key, Layout
from cepkit.stream.arrow import is_text, nulls, raw, single
from cepkit.stream.columns import MISSING_INTEGER, Column, Dropped, EventColumns
from cepkit.stream.ingest import attribute, event_columns
from cepkit.stream.schema import Schema
from cepkit.stream.texts import type_codes
from cepkit.stream.times import microseconds

Integers = npt.NDArray[np.int64]

PACKED = "cell long, packed binary"
_PACKED = pa.schema([("cell", pa.int64()), ("packed", pa.binary())])

NUMBERS: dict[Clock, str] = {"arrival": "\0arrival", "place": "\0place"}
"""What columns of numbers are called on the way: no column of a stream has such a name."""

_FLUSH_ROWS = 500_000
_FLUSH_BYTES = 32 * 2**20
_PIECE_ROWS = 1 << 14
"""A piece of a megabyte or so: the JVM copies larger arrays at a higher price."""


@dataclass(frozen=True, slots=True)
class Job:
    """All that a worker must know of a query.

    Attributes:
        schema: Which column is what.
        columns: The columns that are sent, in Arrow.
        programs: One for each branch.
        variables: All variables of the query in pattern order.
        types: The types that it names, None for any.
        layout: How the stream is cut.
        functions: The user's functions that its conditions call.
        sets: Which sets of Kleene variables make matches.
        limited: Whether only some of the matches are wanted.
        numbers: The clocks beside time whose numbers are sent with the rows, after the columns.
        arrival: The column that they were made of, None for the order of the rows.
        branches: Under skip-till-next-match those of the query, from which matches are taken in
            turn; otherwise none.
        further: Columns that are read beside those that the programs read.
    """

    schema: Schema
    columns: pa.Schema
    programs: tuple[Program, ...]
    variables: tuple[str, ...]
    types: frozenset[str] | None
    layout: Layout
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)
    sets: Sets = "every"
    limited: bool = False
    numbers: tuple[Clock, ...] = ()
    arrival: str | None = None
    branches: tuple[Branch, ...] = ()
    further: tuple[str, ...] = ()

    @property
    def sent(self) -> pa.Schema:
        """The columns and the numbers."""
        numbers = [pa.field(NUMBERS[clock], pa.int64()) for clock in self.numbers]
        return pa.schema([*self.columns, *numbers])

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns that conditions, keys and aggregates read."""
        read = {name for program in self.programs for name in program.columns}
        return tuple(sorted(read | set(self.further)))

    def table(self, batches: Iterable[pa.RecordBatch]) -> pa.Table:
        """Return batches of these columns, whatever Spark called them, as one table."""
        sent = self.sent
        table = pa.Table.from_batches([batch.rename_columns(sent.names) for batch in batches])
        return table if table.schema.equals(sent) else table.cast(sent)

    def register(self) -> None:
        """Make the user's functions known to this process."""
        for name, function in self.functions.items():
            register_function(name, function)


def times_of(job: Job, table: pa.Table) -> Integers:
    """Return the times of rows in microseconds.

    Raises:
        StreamError: A time is no time.
    """
    column, schema = table.column(job.schema.time), job.schema
    try:
        return microseconds(column, schema.time, unit=schema.unit, timezone=schema.timezone)
    except StreamError as error:
        # Which row of which batch it was means nothing to the user.
        error.found = re.sub(r" in row \d+ \(rows count from 0\)", "", error.found)
        raise


def kept_rows(
    job: Job, table: pa.Table, ts: Integers
) -> tuple[npt.NDArray[np.bool_] | None, Dropped]:
    """Return which rows are events that the query may be about (None: all), and which are none."""
    without_time = ts == MISSING_INTEGER
    column = table.column(job.schema.type)
    other = None
    if is_text(column.type):
        without_type = np.zeros(len(ts), np.bool_)
        if column.null_count:
            without_type = np.asarray(nulls(column.combine_chunks()))
    else:
        codes, names = type_codes(column, job.schema.type)
        without_type = codes < 0
        if job.types is not None:
            other = ~np.isin(codes, [i for i, name in enumerate(names) if name in job.types])
    null_time = int(np.count_nonzero(without_time))
    null_type = int(np.count_nonzero(without_type & ~without_time))
    bad = without_time | without_type
    if other is not None:
        bad |= other
    return (~bad if bad.any() else None), Dropped(null_time, null_type)


def key_hashes(columns: Sequence[Column]) -> npt.NDArray[np.uint64]:
    """Return a number for each event that is equal where its keys are, in every process.

    Missing values (null and NaN) give one number, as they are one partition.
    """
    hashes = np.zeros(len(columns[0].values), dtype=np.uint64)
    for column in columns:
        match column.kind:
            case "text":
                texts = pd.util.hash_array(np.append(column.dictionary, ""), categorize=False)
                values = texts[column.values]
            case "float":
                values = (column.values.astype(np.float64) + 0.0).view(np.uint64)  # no -0.0
            case _:
                values = column.values.astype(np.int64).view(np.uint64)
        if column.has_missing:
            values = np.where(column.missing(), np.uint64(0x9E3779B97F4A7C15), values)
        hashes = _mixed(hashes ^ values)
    return hashes


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return splitmix64's finaliser of the values: neighbours end up far apart."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))


def split(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the events of `batches` as packed pieces of cells.

    A last piece without a cell says how many rows were no events.
    """
    held: list[pa.RecordBatch] = []
    dropped = Dropped()
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _FLUSH_ROWS or size >= _FLUSH_BYTES:
            dropped += yield from _pack(job, held)
            held, rows, size = [], 0, 0
    if held:
        dropped += yield from _pack(job, held)
    if dropped:
        counts = np.array([dropped.null_time, dropped.null_type], dtype=np.int64).tobytes()
        yield pa.RecordBatch.from_arrays(
            [pa.array([None], pa.int64()), pa.array([counts], pa.binary())], schema=_PACKED
        )


def _pack(job: Job, batches: list[pa.RecordBatch]) -> Generator[pa.RecordBatch, None, Dropped]:
    table = job.table(batches)
    _check_numbers(job, table)
    ts = times_of(job, table)
    kept, dropped = kept_rows(job, table, ts)
    if kept is not None:
        table, ts = table.filter(pa.array(kept)), ts[kept]
    layout = job.layout
    bucket: Integers | None = None
    if layout.buckets > 1 and layout.key is not None:
        table, ts, bucket = _bucketed(job, layout.key, table, ts)
    readings = ts if layout.clock == "time" else numbers_of(table, layout.clock)
    for slices, rows in _slices(layout, readings):
        part = table if rows is None else table.take(pa.array(rows))
        numbers = slices if layout.buckets == 1 else slices * layout.buckets
        if bucket is not None:
            numbers = numbers + (bucket if rows is None else bucket[rows])
        if not (numbers[1:] >= numbers[:-1]).all():
            order = np.argsort(_small(numbers), kind="stable")
            part, numbers = part.take(pa.array(order)), numbers[order]
        yield _packed(part, numbers)
    return dropped


def _packed(table: pa.Table, cells: Integers) -> pa.RecordBatch:
    """Return the rows in pieces, one for each cell; rows of a cell stand together."""
    numbers: list[int] = []
    offsets = [0]
    sink = pa.BufferOutputStream()
    ends = [0, *(np.flatnonzero(np.diff(cells)) + 1).tolist(), len(cells)]
    ends = sorted({*ends, *range(0, len(cells), _PIECE_ROWS)})
    whole = table.combine_chunks().to_batches()
    for begin, end in pairwise(ends) if whole else ():
        sink.write(whole[0].slice(begin, end - begin).serialize())
        numbers.append(int(cells[begin]))
        offsets.append(sink.tell())
    places = pa.py_buffer(np.array(offsets, dtype=np.int32))
    packed = pa.Array.from_buffers(pa.binary(), len(numbers), [None, places, sink.getvalue()])
    return pa.RecordBatch.from_arrays([pa.array(numbers, pa.int64()), packed], schema=_PACKED)


def _check_numbers(job: Job, table: pa.Table) -> None:
    """Refuse rows that Spark could not number.

    Raises:
        StreamError: The arrival column does not tell rows apart, or rows moved after counting.
    """
    for clock in job.numbers:
        unknown = table.column(NUMBERS[clock]).null_count
        if unknown and job.arrival is None:
            raise StreamError(
                "the rows of the DataFrame were not in the same order when they were counted and"
                " when they were read",
                hint="events(..., arrival=column) says in which order they came",
            )
        if unknown:
            raise StreamError(
                f"the arrival column '{job.arrival}' holds values more than once: in one part of"
                f" the stream {unknown:,} events have the value of another",
                expected="a value of its own for each event",
            )


def numbers_of(table: pa.Table, clock: Clock) -> Integers:
    """Return the numbers that rows were sent with."""
    return np.asarray(raw(single(table.column(NUMBERS[clock])), np.int64), dtype=np.int64)


def _slices(layout: Layout, readings: Integers) -> Iterator[tuple[Integers, Integers | None]]:
    """Yield slice numbers and their rows: the first slice of each, then the further ones."""
    if layout.slice is None:
        yield np.zeros(len(readings), dtype=np.int64), None
        return
    since = readings - layout.origin
    first = (since - layout.ahead) // layout.slice
    copies = (since + (layout.window or 0)) // layout.slice - first
    for further in range(int(copies.max(initial=0)) + 1):
        wanted = copies >= further
        if layout.chosen is not None:
            wanted &= np.isin(first + further, layout.chosen)
        rows = None if wanted.all() else np.flatnonzero(wanted)
        yield (first if rows is None else first[rows]) + further, rows


def _bucketed(
    job: Job, key: Key, table: pa.Table, ts: Integers
) -> tuple[pa.Table, Integers, Integers]:
    known = {job.schema.time: Column("timestamp", ts)}
    columns = [
        known.get(name) or attribute(table.column(name), name, job.schema) for name in key.columns
    ]
    if not key.missing_agree and any(column.has_missing for column in columns):
        present = ~np.logical_or.reduce([column.missing() for column in columns])
        rows = np.flatnonzero(present)
        table, ts = table.filter(pa.array(present)), ts[present]
        columns = [column.take(rows) for column in columns]
    hashes = key_hashes(columns) % np.uint64(job.layout.buckets)
    return table, ts, hashes.astype(np.int64)


def _small(numbers: Integers) -> npt.NDArray[np.signedinteger[Any]]:
    """Return the same order in as few bits as hold it: two bytes are sorted by radix."""
    low, high = int(numbers.min()), int(numbers.max())
    return numbers if high - low > 32_000 else (numbers - low).astype(np.int16)


def unpacked(
    job: Job, batches: Iterable[pa.RecordBatch]
) -> Iterator[tuple[int, pa.Table] | Dropped]:
    """Yield the cells of a task, whose pieces come one after the other, and the dropped rows."""

    def pieces() -> Iterator[tuple[int | None, pa.Buffer]]:
        for batch in batches:
            cells = batch.column(0).to_pylist()
            yield from zip(cells, (piece.as_buffer() for piece in batch.column(1)), strict=True)

    for cell, group in groupby(pieces(), key=lambda piece: piece[0]):
        if cell is None:
            for _, counts in group:
                yield Dropped(*np.frombuffer(counts, dtype=np.int64).tolist())
        else:
            read = [pa.ipc.read_record_batch(piece, job.sent) for _, piece in group]
            yield cell, pa.Table.from_batches(read, job.sent)


def counters_of(job: Job) -> Counters:
    """Return counters at zero for all branches."""
    return counters_for(job.programs)


def matches_of(
    job: Job,
    table: pa.Table,
    owned: Owned,
    counters: Counters,
    *,
    emit: bool,
) -> Iterator[pa.RecordBatch]:
    """Yield the matches of one cell, some at a time.

    Args:
        job: What is asked.
        table: The events of the cell and its halo.
        owned: The matches that are the cell's own.
        counters: The work is added to them.
        emit: Whether to make rows of the matches; without, they are only counted.
    """
    columns = columns_of(job, table)
    repeated = {step.variable for program in job.programs for step in program.listed}
    writer = Writer(columns, job.variables, job.schema.time, repeated) if emit else None
    for branch, block in blocks_of(job, columns, owned, counters, emit=emit):
        if writer is not None:
            yield from writer.batches(block, job.programs[branch].variables)


def columns_of(job: Job, table: pa.Table) -> EventColumns:
    """Return the rows of a cell as events."""
    numbers = {clock: numbers_of(table, clock) for clock in job.numbers}
    return event_columns(
        table.select(job.columns.names),
        job.schema,
        job.attributes,
        arrivals=numbers.get("arrival"),
        places=numbers.get("place"),
    )


def blocks_of(
    job: Job,
    columns: EventColumns,
    owned: Owned,
    counters: Counters,
    *,
    emit: bool,
) -> Iterator[tuple[int, Block]]:
    """Yield branch and matches among the events of one cell, some at a time.

    Args:
        job: What is asked.
        columns: The events of the cell and its halo.
        owned: The matches that are wanted.
        counters: The work is added to them.
        emit: Whether sets are chosen; without, they are only counted.
    """
    compiled = CompiledQuery(job.branches, job.programs, bool(job.branches), job.sets)
    detector = Detector(compiled, counters)
    if emit:
        yield from detector.matches(columns, owned, limited=job.limited)
    else:
        yield from detector.count(columns, owned)
