"""The order of arrival: that of the rows, or of a column."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from cepkit.columnar.results.matches import Matches
from cepkit.errors import ArgumentError, StreamError
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.stream.columns import Dropped
from cepkit.stream.reading.arrival import arrival_numbers
from cepkit.stream.stream import events

DAY = dt.date(2024, 2, 28)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([30, 10, 20]),
        pa.array([0.5, -np.inf, 0.25]),
        pa.array([2**64 - 1, 5, 2**63], pa.uint64()),
        pa.array([Decimal("1.02"), Decimal("-7"), Decimal("1.01")]),
        pa.array([DAY + dt.timedelta(days=n) for n in (2, 0, 1)]),
        pa.array([5, 1, 2], pa.timestamp("ns")),
        pa.array([5, 1, 2], pa.timestamp("ms", "Europe/Copenhagen")),
        pa.chunked_array([[3], [1, 2]]),
    ],
    ids=lambda values: str(values.type),
)
def test_arrival_numbers_are_dense_for_any_values(values):
    assert arrival_numbers(values, "came", np.arange(3)).tolist() == [2, 0, 1]
    assert arrival_numbers(values, "came", np.array([0, 2])).tolist() == [1, 0]


def test_events_are_in_the_order_of_time_and_then_of_arrival():
    table = pa.table(
        {
            "t": [5, 1, 5, None, 1],
            "kind": ["A", "B", "C", "D", None],
            "came": [30, 40, 10, None, None],  # of what is no event nothing is asked
            "id": [0, 1, 2, 3, 4],
        }
    )
    stream = events(table, time="t", type="kind", unit="s", arrival="came")
    columns = stream.columns()
    assert columns.attributes["id"].values.tolist() == [1, 2, 0]
    assert columns.arrival().tolist() == [2, 0, 1]
    assert columns.slice(1, 3).arrival().tolist() == [0, 1]
    assert columns.dropped == Dropped(1, 1)
    assert [row["id"] for row in stream.head(2).source.to_pylist()] == [1, 2]
    assert "arrival: came" in repr(stream)
    by_row = events(table, time="t", type="kind", unit="s").columns()
    assert by_row.attributes["id"].values.tolist() == [1, 0, 2]
    assert by_row.arrival().tolist() == [1, 0, 2]


def test_the_column_may_stay_at_home():
    table = pa.table({"t": [1, 2], "kind": ["A", "B"], "came": [1, 0]})
    stream = events(table, time="t", type="kind", unit="s", arrival="came", columns=[])
    assert stream.columns().source.column_names == ["t", "kind"]
    assert stream.columns().arrival().tolist() == [1, 0]


def test_a_value_that_several_events_have_is_refused():
    table = pa.table({"t": range(6), "kind": ["A"] * 6, "came": [7, 1, 7, 2, 2, 2]})
    stream = events(table, time="t", type="kind", unit="s", arrival="came")
    with pytest.raises(StreamError) as error:
        stream.columns()
    assert error.value.found == (
        "the arrival column 'came' holds values more than once, such as 2;"
        " 3 of 6 events have the value of another"
    )


@pytest.mark.parametrize("came", [[1.0, None, float("nan"), 2.0], [None] * 4])
def test_an_event_without_a_value_is_refused(came):
    table = pa.table({"t": range(4), "kind": ["A"] * 4, "came": pa.array(came, from_pandas=False)})
    stream = events(table, time="t", type="kind", unit="s", arrival="came")
    missing = 2 if came[0] else 4
    with pytest.raises(StreamError, match=f"has no value for {missing} of 4 events"):
        stream.columns()


def test_arrival_refuses_texts_unknown_columns_and_other_values():
    frame = pd.DataFrame({"t": [1], "kind": ["A"], "came": ["first"]})
    with pytest.raises(StreamError, match="the arrival column 'came' holds texts"):
        events(frame, time="t", type="kind", unit="s", arrival="came")
    with pytest.raises(StreamError, match="no column 'cam'"):
        events(frame, time="t", type="kind", unit="s", arrival="cam")
    with pytest.raises(ArgumentError, match="arrival=3"):
        events(frame, time="t", type="kind", unit="s", arrival=3)


def test_a_window_in_events_counts_by_the_column():
    table = pa.table({"t": [0, 1, 2, 3], "kind": ["A", "X", "X", "B"], "came": [2, 0, 1, 3]})
    query = parse("PATTERN SEQ(A a, B b) WITHIN 2 EVENTS")
    plan = Plan((OrderPlan(("a", "b")),), "by hand")
    for arrival, expected in ((None, 0), ("came", 1)):
        stream = events(table, time="t", type="kind", unit="s", arrival=arrival)
        assert Matches(stream, query, plan).count() == expected
