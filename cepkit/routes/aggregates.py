"""Aggregates of queries over a local stream, with shared counters: of one, or of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.rows.result import Aggregates
from cepkit.aggregation.rows.tables import Values, check_names, columns_of
from cepkit.aggregation.semirings.functions import Function
from cepkit.aggregation.sequence.definition import EventSequence
from cepkit.aggregation.sequence.elements import Emit
from cepkit.aggregation.sharing import together as shared
from cepkit.columnar.results.reports import report
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.query import Query
from cepkit.routes.detected import aggregate_detected
from cepkit.routes.functions import attributes_of
from cepkit.routes.in_pieces import aggregate_in_pieces, aggregate_in_slices
from cepkit.routes.result import SeveralAggregates
from cepkit.routes.sharing import Cluster, Shared, SharingPlan, plan_sharing, shareable
from cepkit.routes.ways import aggregate_sequence, way_of
from cepkit.stream.columns import EventColumns
from cepkit.stream.stream import Stream, carrying


def aggregate(
    stream: Stream,
    patterns: Mapping[str, Query],
    functions: Sequence[Mapping[str, Function]],
    method: str,
    emit: Emit,
    share: Shared = "none",
) -> SeveralAggregates[Aggregates]:
    """Aggregate a local stream.

    Args:
        method: One of `METHODS`; only "auto" and "a-seq" share.
        emit: Which rows; see `cepkit.aggregate`.
        share: One of `SHARES`, or a plan.

    Raises:
        PatternError: An aggregate cannot take the column that it is of.
        PlanError: The plan is not one of these queries.
        UnsupportedError: The method, or the kind of rows, is not possible for a query.
    """
    names, queries = tuple(patterns), tuple(patterns.values())
    for query, each in zip(queries, functions, strict=True):
        stream = carrying(stream, sorted({*query.group_by, *attributes_of(each)}))
        check_names(query.group_by, tuple(each))
    ways = [way_of(query, method) for query in queries]
    results: dict[int, Aggregates] = {}
    for q, (query, way) in enumerate(zip(queries, ways, strict=True)):
        in_pieces = aggregate_in_pieces(stream, query, functions[q], emit, way)
        if in_pieces is not None:
            results[q] = in_pieces
        elif way.sequence is None:
            rows = aggregate_detected(stream, query, functions[q], emit)
            results[q] = Aggregates(query, emit, "detect", way.reason, rows)
    sharing, reasons = shareable(ways, functions, method)
    for q in sharing.keys() & results.keys():
        del sharing[q]
        reasons[q] = "it is aggregated as the files are read"
    sequences = {
        q: way.sequence
        for q, way in enumerate(ways)
        if way.sequence is not None and q not in results
    }
    if not sequences:
        return SeveralAggregates(tuple(results.values()), SharingPlan(names, (), reasons))
    columns = stream.columns(sorted(attributes_read(sequences, functions)))
    for q in sequences:
        check_kinds(queries[q], columns.kinds)
    report(columns, *(queries[q] for q in sequences))
    if len(queries) == 1 and share == "none":
        one = aggregate_in_slices(columns, stream.schema, queries[0], functions[0], emit, ways[0])
        if one is not None:
            return SeveralAggregates((one,), SharingPlan(names, (), reasons))
    rates = partial(shared.rates_of, columns=columns)
    plan = plan_sharing(names, sharing, functions, reasons, rates, share)

    def table(q: int, moments: Moments, group_rows: npt.NDArray[np.int32]) -> dict[str, Values]:
        return columns_of(
            moments, functions[q], columns, stream.schema, queries[q], group_rows, emit
        )

    clusters = []
    for cluster in plan.clusters:
        of_cluster = aggregate_cluster(cluster, sharing, dict(enumerate(functions)), columns, emit)
        if of_cluster is None:
            reasons.update(dict.fromkeys(cluster.queries, "its numbers may be beyond 64 bits"))
            continue
        clusters.append(cluster)
        moments_of, group_rows = of_cluster
        for q, moments in moments_of.items():
            rows = table(q, moments, group_rows)
            results[q] = Aggregates(queries[q], emit, "shared-counters", cluster.reason, rows)
    for q in sequences.keys() - results.keys():
        moments, group_rows, name, reason = aggregate_sequence(
            columns, sequences[q], ways[q].method, functions[q], emit
        )
        rows = table(q, moments, group_rows)
        results[q] = Aggregates(queries[q], emit, name, reason or ways[q].reason, rows)
    ordered = tuple(results[q] for q in range(len(queries)))
    return SeveralAggregates(ordered, SharingPlan(names, tuple(clusters), reasons))


def attributes_read(
    sequences: Mapping[int, EventSequence], functions: Sequence[Mapping[str, Function]]
) -> frozenset[str]:
    """Return the columns that sequences and their aggregates read."""
    read = {name for sequence in sequences.values() for name in sequence.attributes}
    return frozenset(read.union(*(attributes_of(functions[q]) for q in sequences)))


def aggregate_cluster(
    cluster: Cluster,
    sequences: Mapping[int, EventSequence],
    functions: Mapping[int, Mapping[str, Function]],
    columns: EventColumns,
    emit: Emit,
) -> tuple[dict[int, Moments], npt.NDArray[np.int32]] | None:
    """Return the rows of each query of a cluster, by its number, and an event of each group.

    Returns:
        None if a number might exceed 64 bits.
    """
    counted = shared.aggregate(
        cluster.forest,
        [sequences[q] for q in cluster.queries],
        [list(functions[q].values()) for q in cluster.queries],
        columns,
        emit,
    )
    if counted is None:
        return None
    moments, operations = counted
    return dict(zip(cluster.queries, moments, strict=True)), operations.group_rows
