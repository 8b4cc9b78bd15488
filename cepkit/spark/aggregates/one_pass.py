"""One pass over a Spark stream for all queries that can be aggregated in the same cells.

The rows of all come out as one DataFrame with the number of the query; what one query gets is a
part of it. For `emit="total"` each cell adds up the matches that are its own, and the sums of a
group, few and small, are joined in a second round.

Source: ASEQ; the cells are those of detection (`cells/delivery.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t

from cepkit.routes.several import Cluster
from cepkit.spark.aggregates.one_table import QUERY, OneTable, one_table
from cepkit.spark.aggregates.prepared import Prepared, route_for
from cepkit.spark.aggregates.totals import ELEMENT
from cepkit.spark.aggregates.worker import Pass, joining, working
from cepkit.spark.cells.counters import new_reports
from cepkit.spark.cells.delivery import Route, Setting
from cepkit.spark.cells.schemas import arrow_columns
from cepkit.spark.results.frame import Telling
from cepkit.statistics.model import Statistics
from cepkit.stream.stream import Stream
from cepkit.stream.warnings import warn_of_dropped


@dataclass(frozen=True, eq=False, slots=True)
class StartedPass:
    """A pass that an action will run.

    Attributes:
        queries: What is asked, by number.
        clusters: What the queries share.
        frame: The rows of all, with the columns of `rows`.
        rows: Which of them are whose.
        route: How the events reach the workers, and how they are cut, as a sentence.
        telling: Tells of rows that are no events.
    """

    queries: Mapping[int, Prepared]
    clusters: tuple[Cluster, ...]
    frame: DataFrame
    rows: OneTable
    route: str
    telling: Telling

    def rows_of(self, query: int) -> DataFrame:
        """Return the rows of a query, with its own columns."""
        columns = zip(self.rows.of[query].names, self.rows.places[query], strict=True)
        chosen = [F.col(self.rows.schema.names[at]).alias(name) for name, at in columns]
        return self.frame.where(F.col(QUERY) == query).select(*chosen)

    def way_of(self, query: int) -> tuple[str, str]:
        """Return how a query is aggregated, and why."""
        for cluster in self.clusters:
            if query in cluster.queries:
                return "shared-counters", cluster.reason
        return self.queries[query].method, self.queries[query].reason


def start(
    stream: Stream,
    frame: DataFrame,
    queries: Mapping[int, Prepared],
    clusters: Iterable[Cluster] = (),
    *,
    statistics: Statistics | None = None,
    slice_seconds: float | None = None,
    route: Route | None = None,
    told: bool = False,
) -> StartedPass:
    """Return a pass over a stream; where nothing says how much there is, a job counts it now.

    Args:
        stream: The stream.
        frame: Its DataFrame; it is read anew for each action.
        queries: What is asked, by number: sequences, or one query whose matches are detected.
        clusters: What they share.
        statistics: What is known of the stream.
        slice_seconds: The length of a time slice; None: chosen.
        route: How the events reach the workers; None: chosen.
        told: Whether the user has been told of rows that are no events.
    """
    each = list(queries.values())
    first = each[0]
    emit, names = first.asked.emit, stream.column_names
    attributes = tuple(sorted({name for one in each for name in one.asked.attributes}))
    schema = replace(stream.schema, columns=attributes)
    needed = schema.without_arrival().needed(names, ())
    windows = [one.window for one in each if one.window is not None]
    window = max(windows) if len(windows) == len(each) else None
    key = first.key if all(one.key == first.key for one in each) else None
    context = frame.sparkSession.sparkContext
    setting = Setting(
        Stream(frame, schema, names),
        frame,
        first.bare,
        statistics,
        first.programs if first.way.sequence is None else (),
        arrow_columns(frame, names, needed),
        attributes,
        context.defaultParallelism,
        first.clock,
        window,
        first.ahead,
        key,
        first.numbers,
        slice_seconds,
        beside=tuple(one.bare for one in each[1:]),
        every_type=any(one.every_type for one in each),
    )
    chosen = setting.choose(route_for(emit, window, key, route))
    reports = new_reports(context)
    rows, output = one_table({q: (one.promised, one.output.fields) for q, one in queries.items()})
    asked = {q: one.asked for q, one in queries.items()}
    if emit == "total":
        sums, between = one_table({q: _sums(one) for q, one in queries.items()})
        work = Pass(asked, tuple(clusters), rows, sums)
        summed = chosen.source.mapInArrow(working(work, chosen, reports), between)
        # Where there are no events at all Spark may run no task, and yet there is a total.
        zeros = [
            sums.widened(q, work.totals(q).packed()) for q in asked if not asked[q].query.group_by
        ]
        if zeros:
            nothing = pa.Table.from_batches(zeros)
            summed = summed.unionAll(frame.sparkSession.createDataFrame(nothing, between))
        places = sorted({place for of_query in sums.places.values() for place in of_query[:-1]})
        groups = [sums.schema.names[place] for place in places]
        parts = summed.repartition(chosen.tasks, QUERY, *groups)
        found = parts.mapInArrow(joining(work), output)
    else:
        work = Pass(asked, tuple(clusters), rows, None)
        found = chosen.source.mapInArrow(working(work, chosen, reports), output)
    known = told or chosen.dropped is not None
    patterns = tuple(one.asked.query for one in each)
    if chosen.dropped is not None and not told:
        warn_of_dropped(chosen.dropped, *patterns)
    telling = Telling(reports, chosen.tasks, patterns, told=known)
    return StartedPass(queries, work.clusters, found, rows, chosen.text, telling)


def _sums(prepared: Prepared) -> tuple[pa.Schema, Sequence[t.StructField]]:
    """Return the columns of a query's sums, in Arrow and in Spark: those of its groups, the sum."""
    groups = prepared.asked.query.group_by
    schema = pa.schema([*(prepared.promised.field(name) for name in groups), ELEMENT])
    fields = [field for field in prepared.output.fields if field.name in groups]
    return schema, [*fields, t.StructField(ELEMENT.name, t.BinaryType())]
