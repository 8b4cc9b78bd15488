"""Detection over a streaming DataFrame, as a streaming DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as t

from cepkit.columnar.compile.query import Sets
from cepkit.errors import UnsupportedError
from cepkit.pattern.query import Query
from cepkit.pattern.several import ALONE
from cepkit.plan.nodes import Plan
from cepkit.sharing.shared_plan import SharedPlan, Sharing
from cepkit.spark.cells.schemas import event_type
from cepkit.spark.matches.table import ends_last, lists_in, named_columns, pattern_column
from cepkit.spark.streaming.live import Live
from cepkit.spark.streaming.pieces import unpacking
from cepkit.spark.streaming.prepare import PlansOf, check_live, dealt_out, identity_of, prepare
from cepkit.spark.streaming.result import StreamFrame
from cepkit.spark.streaming.timeouts import AWAITED, WINDOW_END, with_timeout
from cepkit.stream.stream import Stream

KIND, EVENT = "kind", "event"
"""The columns with the kind of a row, and with a late event."""


@dataclass(frozen=True, slots=True)
class MatchRows:
    """The columns of matches, late events and timeouts.

    Attributes:
        matches: The columns of matches.
        carried: The columns of an event.
        sent: The columns of an event as it is sent to workers.
        variables: The variables in pattern order.
        late: Whether events that are late, or too far ahead, are rows too.
        timeouts: Whether partial matches that timed out are rows too.
    """

    matches: pa.Schema
    carried: pa.Schema
    sent: pa.Schema
    variables: Sequence[str]
    late: bool
    timeouts: bool

    def check_names(self) -> None:
        """Refuse variables with the name of a column beside the matches.

        Raises:
            UnsupportedError: There is one.
        """
        known = {name.casefold() for name in self.variables}
        for name in self._beside:
            if name in known:
                raise UnsupportedError(
                    f"a variable '{name}' beside the column '{name}' of late events or timeouts",
                    hint="rename the variable",
                )

    @property
    def _beside(self) -> tuple[str, ...]:
        late = (KIND, EVENT) if self.late else ()
        return (*late, *((KIND, AWAITED, WINDOW_END) if self.timeouts else ()))

    @property
    def schema(self) -> pa.Schema:
        """All columns."""
        fields = list(self.matches)
        if self.late or self.timeouts:
            fields.insert(0, pa.field(KIND, pa.string()))
        if self.late:
            fields.append(pa.field(EVENT, pa.struct(list(self.carried))))
        return with_timeout(pa.schema(fields)) if self.timeouts else pa.schema(fields)

    def columns(self, matches: t.StructType, event: t.DataType) -> t.StructType:
        """Return all columns for Spark, from those of matches and of an event."""
        fields = list(matches.fields)
        if self.late or self.timeouts:
            fields.insert(0, t.StructField(KIND, t.StringType()))
        if self.late:
            fields.append(t.StructField(EVENT, event))
        if self.timeouts:
            fields.append(t.StructField(AWAITED, t.StringType()))
            fields.append(t.StructField(WINDOW_END, t.TimestampType()))
        return t.StructType(fields)

    def __call__(self, kind: str) -> Callable[[pa.Buffer], pa.RecordBatch] | None:
        """Return the function that reads pieces of a kind; None: they are no rows."""
        if kind == "match":
            return lambda piece: self._with_all_columns(kind, _columns(piece, self.matches))
        if kind == "timed-out":
            schema = with_timeout(self.matches)
            return lambda piece: self._with_all_columns(kind, _columns(piece, schema))
        if kind in ("late", "ahead") and self.late:
            return lambda piece: self._with_all_columns(kind, self._events(piece))
        return None

    def _events(self, piece: pa.Buffer) -> dict[str, pa.Array]:
        batch = pa.ipc.read_record_batch(piece, self.sent)
        arrays = [batch.column(self.sent.get_field_index(name)) for name in self.carried.names]
        return {EVENT: pa.StructArray.from_arrays(arrays, fields=list(self.carried))}

    def _with_all_columns(self, kind: str, known: dict[str, pa.Array]) -> pa.RecordBatch:
        """Return rows with all columns, null where a kind has none."""
        length = len(next(iter(known.values())))
        arrays = []
        for field in self.schema:
            if field.name == KIND and (self.late or self.timeouts):
                arrays.append(pa.array([kind] * length, pa.string()))
            else:
                arrays.append(known.get(field.name, pa.nulls(length, field.type)))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _columns(piece: pa.Buffer, schema: pa.Schema) -> dict[str, pa.Array]:
    batch = pa.ipc.read_record_batch(piece, schema)
    return {field.name: batch.column(i) for i, field in enumerate(schema)}


def detect(
    stream: Stream,
    queries: Mapping[str, Query],
    plans: SharedPlan | Sequence[Plan],
    *,
    sets: Sets = "every",
    share: bool = True,
    buckets: int | None = None,
    slice_seconds: float | None = None,
    late: Literal["count", "collect"] = "count",
    timeouts: bool = False,
    follow: PlansOf | None = None,
) -> StreamFrame:
    """Return the matches of queries in a streaming DataFrame, as one streaming DataFrame.

    Each match is emitted once, in append mode, when no event can come any more that would belong to
    it or break it: `lateness` after its last event, with NOT at the end another window later. That
    is as early as with its query alone. Events are kept once, for the longest window.

    Args:
        queries: The patterns, with windows, by their names; of several, the column `pattern` says
            of which a match is.
        plans: How they are evaluated. A query may continue from its checkpoint with other plans.
        share: Whether queries share the steps that they begin with.
        buckets: The number of buckets that the key of all queries is hashed into; one task
            evaluates a bucket. None: 16, or one without a key.
        slice_seconds: The length of the slices of time that are assigned to buckets, for queries
            without a common key; None: one bucket has all events.
        late: Whether events that are late or too far ahead are only counted, or are rows as well.
        timeouts: Whether partial matches that time out are rows as well.
        follow: Makes, of each query and its plan, what chooses the plan each time the watermark has
            moved; queries then share nothing.

    Raises:
        PatternError: A condition compares values that cannot be compared.
        UnsupportedError: The events to keep for a query have no bound.
    """
    columns = check_live(stream).schema
    prepared = prepare(stream, queries, plans, sets, share=share, timeouts=timeouts, follow=follow)
    bucket, count = dealt_out(prepared, buckets, slice_seconds)
    sending, table = bucket.sending, prepared.table
    identity = identity_of(stream, queries, bucket, count, sets=sets, timeouts=str(timeouts))
    carried = sending.nothing.source.schema
    variables = sorted({name for one in table.of.values() for name in one.names})
    output = MatchRows(
        table.schema, carried, sending.fields, variables, late == "collect", timeouts
    )
    output.check_names()
    event = event_type(columns, stream.column_names, sending.schema)
    row_type = output.columns(prepared.output, event)
    first = [KIND] if late == "collect" or timeouts else []
    last = [EVENT] if late == "collect" else []
    last += [AWAITED, WINDOW_END] if timeouts else []
    pattern = [] if ALONE in queries else [pattern_column(list(queries))]
    selected = [*pattern, *named_columns(table, lists_in([table]))]

    def rows(pieces: DataFrame) -> DataFrame:
        unpacked = pieces.mapInArrow(unpacking(output), row_type)
        return ends_last(unpacked.select(*first, *selected, *last), *last)

    live = Live(bucket, identity, prepared.key, count, rows)
    by_name = dict(zip(queries, Sharing.of(plans).plans, strict=True))
    return StreamFrame(stream, live, "Matches", queries, plans=by_name)
