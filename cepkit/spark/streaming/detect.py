"""Detection over a streaming DataFrame, as a streaming DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pyspark.sql import DataFrame

from cepkit.columnar.compile.query import Sets
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
from cepkit.spark.streaming.rows import EVENT, KIND, MatchRows
from cepkit.spark.streaming.timeouts import AWAITED, WINDOW_END
from cepkit.stream.stream import Stream


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
