"""Cells give the matches of the whole stream, each once, and the numbers that are only counted."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pyarrow as pa
import pytest

from cepkit.adaptation.slices import PerSlice
from cepkit.columnar.compile.query import compile_query
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.results.output import MatchColumns
from cepkit.columnar.results.plans import PlansInForce
from cepkit.columnar.slices.plans import SliceWork
from cepkit.columnar.workload import group_of_one
from cepkit.costs import WORK
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.checks import as_plan
from cepkit.planners.choose import choose_plan
from cepkit.spark.matches.detect import scan_for
from cepkit.spark.matches.sinks import COUNT, CountsSink, MatchesSink, number_of
from cepkit.spark.matches.table import matches_table
from cepkit.statistics.measuring.estimate import estimate
from cepkit.stream.schema import Schema
from cepkit.stream.stream import events
from tests.cells import Cut, in_cells, stream_of

SCHEMA = Schema("ts", "kind", "us")


def table_of(stream, scan, query):
    """Return the columns of the matches of a query."""
    return matches_table(stream, stream.source.schema, scan.sending, {0: query})[0]


def sink_of(stream, scan, query, group):
    """Return the sink of the matches of a query."""
    written = {0: MatchColumns.of(query, scan.sending.schema)}
    return MatchesSink(group, table_of(stream, scan, query), written, False)


def rows_of(stream, scan, query, batches):
    """Return the matches in batches, as texts."""
    table = table_of(stream, scan, query)
    parts = [part for batch in batches for _, part in table.parted(batch)]
    return [str(row) for part in parts for row in part.to_pylist()]


@pytest.mark.parametrize(
    ("pattern", "cut"),
    [
        ("SEQ(A p, B q) WITHIN 4 us", Cut(6e-6, -2e-6)),
        ("SEQ(A p, NOT(C n), B q) WITHIN 4 us", Cut(6e-6, -2e-6)),
        ("SEQ(A p, KL(B q)) WITHIN 4 us PARTITION BY g", Cut(6e-6, buckets=2)),
        ("OR(SEQ(A p, B q), SEQ(B r, C s)) WITHIN 5 EVENTS", Cut(7)),
        ("SEQ(A p, B q) WITHIN 9 us STRATEGY skip-till-next-match PARTITION BY g", Cut(buckets=2)),
    ],
)
@pytest.mark.parametrize("ties", ["none", "arrival"])
def test_sinks_find_and_count_the_matches_of_a_local_stream(pattern, cut, ties):
    n = 120
    table = pa.table(
        {
            "ts": [i * 2 // 3 for i in range(n)],
            "kind": ["ABC"[(i * 7 + i // 5) % 3] for i in range(n)],
            "g": [i % 4 % 3 for i in range(n)],
        }
    )
    query = parse(f"PATTERN {pattern}")
    plan = as_plan(None, query)
    schema = replace(SCHEMA, ties=ties)
    whole = Matches(events(table, time="ts", type="kind", unit="us", ties=ties), query, plan)
    compiled = compile_query(query, plan)
    stream, group = stream_of(table, schema), group_of_one(compiled)
    scan = scan_for(stream, (query,), compiled)
    rows, reports = in_cells(scan, sink_of(stream, scan, query, group), table, cut)
    assert sorted(rows_of(stream, scan, query, rows)) == sorted(
        map(str, whole.to_arrow().to_pylist())
    )
    assert whole.count() > 0
    numbers, counted = in_cells(scan, CountsSink(group), table, cut)
    assert sum(number_of(batch.column(COUNT)[0].as_py()) for batch in numbers) == whole.count()
    for each in (reports, counted):
        ends = [steps[-1].survivors for report in each for steps in report.work]
        assert sum(ends) == whole.count()


@pytest.mark.parametrize(
    ("pattern", "cut"),
    [
        ("SEQ(A p, B q, C r) WITHIN 9 us", Cut(30e-6, -2e-6)),
        ("SEQ(A p, B q, NOT(B n), C r) WITHIN 6 us", Cut(30e-6)),
        ("OR(SEQ(A p, B q, C r), SEQ(C s, KL(B t){1,2})) WITHIN 9 us", Cut(40e-6)),
        ("SEQ(A p, B q, C r) WITHIN 9 us PARTITION BY g", Cut(buckets=2)),
        ("SEQ(A p, B q, C r) WITHIN 9 EVENTS", Cut(40)),
    ],
)
def test_slices_of_a_cell_are_planned_separately(pattern, cut):
    n = 240
    # First A is rare, then C.
    kinds = [("ABCBCBC" if i < n // 2 else "CBABABA")[(i * 5) % 7] for i in range(n)]
    table = pa.table(
        {"ts": [i * 2 // 3 for i in range(n)], "kind": kinds, "g": [i % 4 % 3 for i in range(n)]}
    )
    query = parse(f"PATTERN {pattern}")
    stream = events(table, time="ts", type="kind", unit="us")
    plan = choose_plan(query, estimate(stream.columns(["g"]), query), "dp-order", WORK)
    whole = Matches(stream, query, plan)
    compiled = compile_query(query, plan)
    by_slice = ShortSlices(query, plan)
    spark_stream, group = stream_of(table, SCHEMA), group_of_one(compiled)
    scan = scan_for(spark_stream, (query,), compiled)
    sink = sink_of(spark_stream, scan, query, group)
    sink = replace(sink, plans=pickle.loads(pickle.dumps(by_slice)))
    rows, reports = in_cells(scan, sink, table, cut)
    assert sorted(rows_of(spark_stream, scan, query, rows)) == sorted(
        map(str, whole.to_arrow().to_pylist())
    )
    assert whole.count() > 0
    numbers, counted = in_cells(scan, CountsSink(group, by_slice), table, cut)
    assert sum(number_of(batch.column(COUNT)[0].as_py()) for batch in numbers) == whole.count()
    for each in (reports, counted):
        assert sum(report.work.matches for report in each) == whole.count()
    work = SliceWork()
    for report in counted:
        work.add(report.work)
    forms = PlansInForce.of(query, plan, work)
    assert len(work.counters) > 1
    assert forms.switches > 0
    assert [s.first for s in forms.stretches] == sorted(s.first for s in forms.stretches)
    assert all("no longer held" in s.why for s in forms.stretches[1:])


class ShortSlices(PerSlice):
    """Slices of these few events."""

    def least_rows(self, _columns):
        return 20


def test_number_of_sets_beyond_64_bits_comes_back_exact():
    n = 90
    table = pa.table({"ts": range(n), "kind": ["A", *"B" * (n - 1)]})
    query = parse("PATTERN SEQ(A p, KL(B q)) WITHIN 1 s")
    compiled = compile_query(query, as_plan(None, query))
    scan = scan_for(stream_of(table, SCHEMA), (query,), compiled)
    batches, _ = in_cells(scan, CountsSink(group_of_one(compiled)), table, Cut())
    numbers = [number_of(batch.column(COUNT)[0].as_py()) for batch in batches]
    assert sum(numbers) == 2 ** (n - 1) - 1
