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
    setting = setting_of(stream, frame, queries, statistics, slice_seconds)
    work, output, between = pass_of(queries, clusters)
    asked, sums = work.asked, work.sums
    emit = next(iter(asked.values())).emit
    chosen = setting.choose(route_for(emit, setting.window, setting.key, route))
    reports = new_reports(frame.sparkSession.sparkContext)
    if sums is not None and between is not None:
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
        found = chosen.source.mapInArrow(working(work, chosen, reports), output)
    known = told or chosen.dropped is not None
    patterns = tuple(one.asked.query for one in queries.values())
    if chosen.dropped is not None and not told:
        warn_of_dropped(chosen.dropped, *patterns)
    telling = Telling(reports, chosen.tasks, patterns, told=known)
    return StartedPass(queries, work.clusters, found, work.rows, chosen.text, telling)


def setting_of(
    stream: Stream,
    frame: DataFrame,
    queries: Mapping[int, Prepared],
    statistics: Statistics | None,
    slice_seconds: float | None,
) -> Setting:
    """Return what cells for some queries must hold, and how the stream may be cut into them."""
    each = list(queries.values())
    first, names = each[0], stream.column_names
    attributes = tuple(sorted({name for one in each for name in one.asked.attributes}))
    schema = replace(stream.schema, columns=attributes)
    needed = schema.without_arrival().needed(names, ())
    windows = [one.window for one in each if one.window is not None]
    return Setting(
        Stream(frame, schema, names),
        frame,
        first.bare,
        statistics,
        first.programs if first.way.sequence is None else (),
        arrow_columns(frame, names, needed),
        attributes,
        frame.sparkSession.sparkContext.defaultParallelism,
        first.clock,
        max(windows) if len(windows) == len(each) else None,
        first.ahead,
        first.key if all(one.key == first.key for one in each) else None,
        first.numbers,
        slice_seconds,
        beside=tuple(one.bare for one in each[1:]),
        every_type=any(one.every_type for one in each),
    )


def pass_of(
    queries: Mapping[int, Prepared], clusters: Iterable[Cluster]
) -> tuple[Pass, t.StructType, t.StructType | None]:
    """Return what workers must know, and for Spark the columns of rows, and of sums if any."""
    rows, output = one_table({q: (one.promised, one.output.fields) for q, one in queries.items()})
    asked = {q: one.asked for q, one in queries.items()}
    if any(one.emit != "total" for one in asked.values()):
        return Pass(asked, tuple(clusters), rows, None), output, None
    sums, between = one_table({q: _sums(one) for q, one in queries.items()})
    return Pass(asked, tuple(clusters), rows, sums), output, between


def _sums(prepared: Prepared) -> tuple[pa.Schema, Sequence[t.StructField]]:
    """Return the columns of a query's sums, in Arrow and in Spark: those of its groups, the sum."""
    groups = prepared.asked.query.group_by
    schema = pa.schema([*(prepared.promised.field(name) for name in groups), ELEMENT])
    fields = [field for field in prepared.output.fields if field.name in groups]
    return schema, [*fields, t.StructField(ELEMENT.name, t.BinaryType())]
