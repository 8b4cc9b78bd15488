"""Cells give the rows of the whole stream: for all small streams, however they are cut."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from cepkit.pattern.parsing.parser import parse
from cepkit.routes.ways import EMITS
from cepkit.stream.schema import Schema
from tests.cells import Cut, aggregate_in_cells
from tests.small_streams import (
    EACH,
    aggregate_whole,
    de_bruijn,
    side_by_side,
    small_streams,
    types_in,
)

SCHEMA = Schema("ts", "kind", "us")
BY_TIME = (Cut(1), Cut(2, -1, buckets=2))
BY_NUMBER = (Cut(1), Cut(2, -1, buckets=2))


def check(
    table: pa.Table, pattern: str, cuts: Sequence[Cut], emits=EMITS, method: str = "auto"
) -> None:
    for emit in emits:
        expected = aggregate_whole(table, pattern, emit, method)
        for cut in cuts:
            (found,) = aggregate_in_cells(table, SCHEMA, [parse(pattern)], emit, cut, method=method)
            assert found == expected, (emit, cut)


@pytest.mark.parametrize("window", ["WITHIN 2 s", "WITHIN 2 s EXCLUSIVE"])
@pytest.mark.parametrize("structure", EACH)
def test_slices_of_time_have_the_rows_of_the_whole(structure, window):
    table = side_by_side(small_streams(types_in(structure), 4))
    pattern = f"PATTERN {structure} {window} AGG COUNT, SUM(q.x) GROUP BY g"
    check(table, pattern, BY_TIME)


@pytest.mark.parametrize("structure", EACH)
def test_slices_of_time_have_the_rows_about_all_keys_together(structure):
    table = side_by_side(small_streams(types_in(structure), 4))
    pattern = f"PATTERN {structure} WITHIN 2 s PARTITION BY g AGG COUNT"
    check(table, pattern, BY_TIME[:1], emits=["total"])
    check(table, f"{pattern}, SUM(q.x)", BY_TIME[:1])


@pytest.mark.parametrize("structure", ["SEQ(A p, B q)", "SEQ(A p, NOT(C n), B q)"])
def test_sequences_whose_matches_are_detected_have_the_rows_of_the_whole(structure):
    table = side_by_side(small_streams(types_in(structure), 4))
    pattern = f"PATTERN {structure} WITHIN 2 s AGG COUNT, SUM(q.x) GROUP BY g"
    check(table, pattern, BY_TIME, method="detect")


@pytest.mark.parametrize(
    "clauses",
    [
        "",
        "WITHIN 3 EVENTS",
        "PARTITION BY g STRATEGY partition-contiguity",
    ],
)
@pytest.mark.parametrize("structure", EACH)
def test_buckets_of_keys_and_slices_by_number_have_the_rows_of_the_whole(structure, clauses):
    table = side_by_side(small_streams(types_in(structure), 3, late=True))
    pattern = f"PATTERN {structure} {clauses}"
    check(table, f"{pattern} AGG COUNT, SUM(q.x) GROUP BY g", [Cut(buckets=2)])
    check(table, f"{pattern} AGG COUNT, SUM(q.x) GROUP BY g", BY_NUMBER, emits=["total"])


@pytest.mark.parametrize(
    ("clauses", "late"),
    [("WITHIN 3 EVENTS", 0), ("WITHIN 3 EVENTS", 3), ("STRATEGY strict-contiguity", 0)],
)
@pytest.mark.parametrize("structure", EACH)
def test_slices_in_the_order_of_arrival_have_the_total_of_the_whole(structure, clauses, late):
    kinds = de_bruijn(types_in(structure), 4)
    n = len(kinds)
    table = pa.table({"ts": [i ^ late for i in range(n)], "kind": kinds, "x": range(n)})
    pattern = f"PATTERN {structure} {clauses} AGG COUNT"
    check(table, pattern, [Cut(3)], emits=["total"])
    check(table, f"{pattern}, SUM(q.x)", [Cut(2)], emits=["total"])


@pytest.mark.parametrize("share", ["prefix", [(1, 1), (2,), (1, 2), (1, 1), None]])
def test_queries_in_one_pass_have_the_rows_that_each_has_alone(share):
    table = side_by_side(small_streams("ABC", 4))
    patterns = [
        f"PATTERN {structure} AGG COUNT, SUM(q.x) GROUP BY g"
        for structure in (
            "SEQ(A p, B q) WITHIN 2 s",
            "SEQ(A p, B q) WITHIN 1 s EXCLUSIVE",
            "SEQ(A p, B q, C r) WITHIN 3 s",
            "SEQ(A p, NOT(C n), B q) WITHIN 2 s",
            "SEQ(A p, KL(B q)) WITHIN 2 s",
        )
    ]
    queries = [parse(pattern) for pattern in patterns]
    for emit in EMITS:
        expected = [aggregate_whole(table, pattern, emit) for pattern in patterns]
        for cut in BY_TIME:
            found = aggregate_in_cells(table, SCHEMA, queries, emit, cut, share=share)
            assert found == expected, (emit, cut)
