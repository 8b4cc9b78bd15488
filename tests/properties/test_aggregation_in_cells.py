"""The cells of a Spark stream give the judge's aggregates, without Spark (`tests/cells.py`)."""

from __future__ import annotations

import warnings
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.query import Query
from cepkit.routes.aggregates import aggregate
from cepkit.routes.functions import functions_of
from cepkit.routes.sharing import SHARES, Shared
from cepkit.routes.ways import EMITS
from cepkit.stream.schema import Schema
from cepkit.stream.stream import events
from tests.aggregates import rows_in
from tests.cells import Cut, aggregate_in_cells
from tests.properties.test_aggregation import ANYTHING, COUNTED, SEQUENCES, expected
from tests.properties.test_sharing import cuts, sequences
from tests.strategies import Case, as_table, streams

ROLES = {"time": "ts", "type": "kind"}
CUTS = st.builds(
    Cut,
    st.sampled_from((None, 4, 1, 0.7, 13, 2)),
    st.sampled_from((0, -1, -0.5)),
    st.sampled_from((1, 3)),
)


def check(case: Case, data: st.DataObject, method: str) -> None:
    emit, cut = data.draw(st.sampled_from(EMITS)), data.draw(CUTS)
    table, schema = as_table(case.events), Schema(**ROLES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        (rows,) = aggregate_in_cells(table, schema, [case.query], emit, cut, method=method)
    assert rows == expected(case, emit), (emit, cut)


@given(case=SEQUENCES, data=st.data())
def test_sequences_have_the_judges_aggregates_in_any_cells(case: Case, data: st.DataObject) -> None:
    check(case, data, data.draw(st.sampled_from(["a-seq", "detect"])))


@given(case=ANYTHING, data=st.data())
def test_auto_in_cells_aggregates_the_judges_matches_of_any_pattern(
    case: Case, data: st.DataObject
) -> None:
    check(case, data, "auto")


@given(case=COUNTED, data=st.data())
def test_windows_in_events_are_cut_by_their_numbers(case: Case, data: st.DataObject) -> None:
    check(case, data, "auto")


@st.composite
def workloads(draw: st.DrawFn) -> tuple[list[Query], Shared]:
    """Draw queries, mostly with common parts, and the way of sharing."""
    window = draw(st.sampled_from((" ", " ", " EXCLUSIVE", "")))
    rest = draw(st.sampled_from(("", "", " GROUP BY k", " PARTITION BY z")))
    rest += draw(st.sampled_from(("", "", " HAVING COUNT > 1", " HAVING COUNT <= 2")))
    key = draw(st.sampled_from((None, None, ("k", "k"), ("z", "z"), ("k", "z"))))
    alike = draw(st.lists(sequences(window, rest, key), min_size=1, max_size=3))
    others = st.one_of(
        sequences(" ", " GROUP BY z", None),
        sequences("", "", ("k", "k")),
        st.sampled_from(
            (
                parse("PATTERN SEQ(A p, B q) WITHIN 5 s AGG SUM(p.x), MAX(q.k) GROUP BY s"),
                parse("PATTERN SEQ(A p, KL(B q)) WITHIN 2 s AGG COUNT"),
                parse("PATTERN SEQ(A p, B q) WHERE p.x < q.x WITHIN 6 s AGG COUNT, MIN(p.x)"),
            )
        ),
    )
    further = draw(st.lists(others, max_size=2))
    share: Shared = draw(st.sampled_from(SHARES))
    if draw(st.booleans()):
        share = [draw(cuts(query)) for query in alike] + [None] * len(further)
    return alike + further, share


@given(workload=workloads(), emit=st.sampled_from(EMITS), cut=CUTS, data=st.data())
def test_each_of_several_queries_has_the_rows_that_it_has_alone(
    workload: tuple[list[Query], Shared], emit: Any, cut: Cut, data: st.DataObject
) -> None:
    queries, share = workload
    table = as_table(
        data.draw(streams(30, types=("A", "B", "C", "X"), attributes=("x", "y", "k", "z", "s")))
    )
    stream = events(table, **ROLES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        rows = aggregate_in_cells(table, Schema(**ROLES), queries, emit, cut, share=share)
        for query, found in zip(queries, rows, strict=True):
            (alone,) = aggregate(stream, {"": query}, [functions_of(query, {})], "auto", emit)
            assert found == rows_in(alone.to_arrow(), query), str(query)
