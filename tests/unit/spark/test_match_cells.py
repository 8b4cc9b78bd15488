"""Cells give the matches of the whole stream, each once, and the numbers that are only counted."""

from __future__ import annotations

import pyarrow as pa
import pytest

from cepkit.columnar.compile.query import compile_query
from cepkit.columnar.results.matches import Matches
from cepkit.pattern.parser import parse
from cepkit.plan.checks import as_plan
from cepkit.spark.matches.detect import scan_for
from cepkit.spark.matches.sinks import CountsSink, MatchesSink
from cepkit.stream.schema import Schema
from cepkit.stream.stream import events
from tests.cells import Cut, in_cells, stream_of

SCHEMA = Schema("ts", "kind", "us")


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
def test_sinks_find_and_count_what_a_local_stream_has(pattern, cut):
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
    whole = Matches(events(table, time="ts", type="kind", unit="us"), query, plan)
    compiled = compile_query(query, plan)
    scan = scan_for(stream_of(table, SCHEMA), query, compiled)
    rows, reports = in_cells(scan, MatchesSink(compiled, whole.variables, "ts", False), table, cut)
    found = [str(row) for batch in rows for row in batch.to_pylist()]
    assert sorted(found) == sorted(map(str, whole.to_arrow().to_pylist()))
    assert whole.count() > 0
    none, counted = in_cells(scan, CountsSink(compiled), table, cut)
    assert none == []
    for each in (reports, counted):
        ends = [steps[-1].survivors for report in each for steps in report.counters]
        assert sum(ends) == whole.count()
