"""why_not of events in Spark: it fetches only events around; the answer is the local one."""

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import StreamError, UnsupportedError

PATTERN = "PATTERN SEQ(A a, NOT(N n), B b) WHERE a.price < b.price WITHIN 10 seconds"


@pytest.fixture(scope="module")
def frame():
    start = pd.Timestamp("2024-03-04 10:00")
    rows = [(0, "A", 1.0), (2, "N", 0.0), (4, "B", 2.0), (9, "A", 5.0), (11, "B", 4.5)]
    rows += [(1000 + i, "X", 0.0) for i in range(50)] + [(5000, "A", 1.0)]
    made = pd.DataFrame(rows, columns=["at", "kind", "price"])
    made.insert(0, "ts", start + pd.to_timedelta(made.pop("at"), "s"))
    made["trade id"] = [f"t{i}" for i in range(len(made))]
    return made


@pytest.fixture(scope="module")
def streams(spark, frame):
    return [
        ck.events(source, time="ts", type="kind")
        for source in (frame, spark.createDataFrame(frame).repartition(3))
    ]


@pytest.mark.parametrize("named", [{"a": "t0", "b": "t2"}, {"a": "t3"}, {"a": "t5", "b": "t4"}])
def test_named_events_are_judged_as_in_memory(streams, named):
    local, remote = (ck.why_not(s, PATTERN, id="trade id", **named) for s in streams)
    assert remote.found == local.found
    assert [f.detail for f in remote.requirements] == [f.detail for f in local.requirements]
    assert "were fetched from Spark" in remote.notes[0]


@pytest.mark.quick
def test_why_not_without_names_looks_at_the_first_events(streams):
    local, remote = (ck.why_not(s, PATTERN, id="trade id") for s in streams)
    assert remote.found is local.found is False
    assert [m.detail for m in remote.near_misses] == [m.detail for m in local.near_misses]
    # Events of other types were left in Spark.
    assert [r.after for r in remote.funnel] == [r.after for r in local.funnel]


def test_rows_of_spark_have_no_numbers(streams):
    with pytest.raises(StreamError, match="id='column'"):
        ck.why_not(streams[1], PATTERN, a=0)


def test_unknown_id_is_refused(streams):
    with pytest.raises(StreamError, match="occurs in no event"):
        ck.why_not(streams[1], PATTERN, id="trade id", a="t99")


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, B b) WITHIN 3 EVENTS",
        "PATTERN SEQ(A a, B b)",
        "PATTERN SEQ(A a, B b) WITHIN 1 minute STRATEGY skip-till-next-match",
    ],
)
def test_patterns_that_depend_on_all_events_are_refused_with_a_hint(streams, text):
    with pytest.raises(UnsupportedError, match=r"stream\.head"):
        ck.why_not(streams[1], text, id="trade id", a="t0")
