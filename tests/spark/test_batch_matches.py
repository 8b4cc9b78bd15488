"""Detection over Spark finds exactly the judge's matches, however the stream lies and is cut."""

from __future__ import annotations

import datetime as dt
import warnings
from decimal import Decimal
from typing import get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.columnar.results.matches import Matches
from cepkit.errors import UnsupportedError
from cepkit.pattern.conditions import attributes_of
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.policies import Strategy
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.spark.matches.detect import SparkMatches, detect
from cepkit.stream.stream import events
from tests.properties.test_engine import plans, tree_plans
from tests.strategies import FEW, ConditionKind, as_table, cases, orders, result_of

CONDITIONS: tuple[ConditionKind, ...] = tuple(k for k in get_args(ConditionKind) if k != "set")
# Which member of a set is the first follows from the order of arrival where times are equal, and
# so does which event comes next: NUMBERED is for that.
CASES = cases(
    ("SEQ", "AND", "OR", "NOT", "KL", "FIRST", "OPT"),
    max_variables=4,
    strategies=(Strategy.SKIP_TILL_ANY_MATCH,),
    windows=("none", "time", "time-exclusive"),
    condition_kinds=CONDITIONS,
    unsorted=True,
)


def plan_of(query, order=None):
    """Return a plan in the pattern's order, or the orders given."""
    chosen = order or [branch.variables for branch in normal_form(query)]
    return Plan(tuple(OrderPlan(tuple(o)) for o in chosen), "by hand")


def found(stream, query, plan=None, **options) -> SparkMatches:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        return detect(stream, query, plan or plan_of(query), **options)


def survivors(matches) -> int:
    """Return the matches that the last steps let through."""
    steps = matches.explain().steps
    last = {step.branch: step.survivors for step in steps}
    return sum(last.values())


@FEW
@given(data=st.data())
def test_detect_finds_the_judges_matches_for_any_slices_and_row_order(spark, data):
    case = data.draw(CASES)
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    table = as_table(case.events)
    table = table.take(pa.array(data.draw(st.permutations(range(len(table)))), pa.int64()))
    frame = spark.createDataFrame(table).repartition(data.draw(st.sampled_from([1, 2, 3])))
    seconds = data.draw(st.sampled_from([None, 0.7, 4, 13, 1000]))
    stream = events(frame, time="ts", type="kind")
    matches = found(stream, case.query, plan, slice_seconds=seconds)
    rows = matches.collect()
    assert result_of(rows, case.variables) == case.matches
    assert survivors(matches) == len(rows) == matches.count()


TIED = cases(
    ("SEQ", "AND", "OR", "NOT", "KL", "FIRST", "OPT"),
    max_variables=4,
    max_events=24,
    windows=("none", "time", "time-exclusive"),
    ties="arrival",
)


@FEW
@given(data=st.data())
def test_events_of_equal_time_have_the_order_of_their_arrival(spark, data):
    case = data.draw(TIED)
    table = as_table(case.events)
    table = table.take(pa.array(data.draw(st.permutations(range(len(table)))), pa.int64()))
    frame = spark.createDataFrame(table).repartition(data.draw(st.sampled_from([1, 2, 3])))
    seconds = data.draw(st.sampled_from([None, 0.7, 4, 13]))
    stream = events(frame, time="ts", type="kind", arrival="id", ties="arrival")
    matches = found(stream, case.query, slice_seconds=seconds)
    assert result_of(matches.collect(), case.variables) == case.matches


def test_ties_by_the_order_of_rows_need_rows_that_have_one(spark):
    table = pa.table({"ts": [1, 1, 1, 1], "kind": ["A", "B", "A", "B"]})
    query = parse("PATTERN SEQ(A a, B b)")
    frame = spark.createDataFrame(table)
    options = {"time": "ts", "type": "kind", "unit": "s", "ties": "arrival"}
    assert found(events(frame, **options), query).count() == 3
    with pytest.raises(UnsupportedError, match="come out of a shuffle"):
        found(events(frame.repartition(2), **options), query)


NUMBERED = cases(
    ("SEQ", "AND", "OR", "NOT", "KL", "FIRST", "NEXT", "OPT"),
    max_variables=4,
    strategies=tuple(s for s in Strategy if s is not Strategy.SKIP_TILL_NEXT_MATCH),
    windows=("count", "count-exclusive", "count", "none", "time"),
    unsorted=True,
)
SUNDAY = dt.datetime(2024, 3, 31, tzinfo=dt.UTC)  # when clocks were changed
ARRIVALS = {
    "whole": lambda numbers: numbers,
    "with gaps": lambda numbers: [n * n - 7 for n in numbers],
    "floats": lambda numbers: [n * 0.37 - 2 for n in numbers],
    "decimals": lambda numbers: [Decimal(n) * Decimal("0.1") for n in numbers],
    "times in UTC": lambda numbers: [SUNDAY + n * dt.timedelta(minutes=7) for n in numbers],
    "times": lambda numbers: [
        (SUNDAY + n * dt.timedelta(minutes=7)).replace(tzinfo=None) for n in numbers
    ],
}


@FEW
@given(data=st.data())
def test_event_windows_by_arrival_column_have_the_judges_matches(spark, data):
    case = data.draw(NUMBERED)
    plan = plan_of(case.query, data.draw(st.tuples(*map(orders, normal_form(case.query)))))
    table = as_table(case.events)
    made = ARRIVALS[data.draw(st.sampled_from(sorted(ARRIVALS)))]
    came = made(table["id"].to_pylist())
    table = table.append_column("came", pa.array(came, None if came else pa.int64()))
    table = table.take(pa.array(data.draw(st.permutations(range(len(table)))), pa.int64()))
    frame = spark.createDataFrame(table).repartition(data.draw(st.sampled_from([1, 2, 3])))
    stream = events(frame, time="ts", type="kind", arrival="came")
    sizes = {
        "slice_events": data.draw(st.sampled_from([None, 1, 3, 10, 1000])),
        "slice_seconds": data.draw(st.sampled_from([None, 4])),
    }
    matches = found(stream, case.query, plan, **sizes)
    rows = matches.collect()
    assert result_of(rows, case.variables) == case.matches, matches.route
    assert survivors(matches) == len(rows) == matches.count()


@FEW
@given(data=st.data())
def test_event_windows_by_row_order_have_the_judges_matches(spark, tmp_path_factory, data):
    case = data.draw(NUMBERED)
    table = as_table(case.events)
    # Spark reads durations in Parquet files as numbers.
    ways = ["table", "sorted"] if reads(case.query, "d") else ["table", "file", "sorted"]
    match data.draw(st.sampled_from(ways)):
        case "table":
            frame = spark.createDataFrame(table)
        case "file":
            path = tmp_path_factory.mktemp("events") / "e.parquet"
            pq.write_table(table, path, row_group_size=data.draw(st.sampled_from([1, 3, 100])))
            frame = spark.read.parquet(str(path))
        case _:
            shuffled = table.take(pa.array(data.draw(st.permutations(range(len(table)))), "int64"))
            frame = spark.createDataFrame(shuffled).repartition(2).orderBy("id")
    size = data.draw(st.sampled_from([None, 2, 7]))
    matches = found(events(frame, time="ts", type="kind"), case.query, slice_events=size)
    rows = matches.collect()
    assert result_of(rows, case.variables) == case.matches, matches.route
    assert survivors(matches) == len(rows)


TOGETHER = cases(
    ("SEQ", "AND", "OR", "NOT", "KL", "TOGETHER"),
    max_variables=3,
    strategies=(Strategy.SKIP_TILL_ANY_MATCH,),
    windows=("none", "time", "time"),
    unsorted=True,
)


@FEW
@given(data=st.data())
def test_not_of_several_events_leaves_the_judges_matches(spark, data):
    case = data.draw(TOGETHER)
    table = as_table(case.events)
    frame = spark.createDataFrame(table).repartition(data.draw(st.sampled_from([1, 3])))
    seconds = data.draw(st.sampled_from([None, 0.7, 4, 13]))
    stream = events(frame, time="ts", type="kind")
    matches = found(stream, case.query, slice_seconds=seconds)
    rows = matches.collect()
    assert result_of(rows, case.variables) == case.matches, matches.route
    assert survivors(matches) == len(rows) == matches.count()


TAKEN = cases(
    ("SEQ", "AND", "OR", "NOT", "KL", "FIRST", "NEXT", "OPT"),
    max_variables=4,
    strategies=(Strategy.SKIP_TILL_NEXT_MATCH,),
    unsorted=True,
)


@FEW
@given(data=st.data())
def test_events_that_take_part_once_are_taken_as_the_judge_takes_them(spark, data):
    case = data.draw(TAKEN)
    table = as_table(case.events)
    table = table.take(pa.array(data.draw(st.permutations(range(len(table)))), pa.int64()))
    frame = spark.createDataFrame(table).repartition(data.draw(st.sampled_from([1, 3])))
    stream = events(frame, time="ts", type="kind", arrival="id")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cepkit.spark.cells.layout.LEAST_EVENTS", 5)  # so that there are buckets
        matches = found(stream, case.query, slice_seconds=data.draw(st.sampled_from([None, 1])))
    rows = matches.collect()
    assert result_of(rows, case.variables) == case.matches, matches.route
    assert survivors(matches) == len(rows) == matches.count()


def test_skip_till_next_match_is_cut_only_by_keys(spark, monkeypatch):
    monkeypatch.setattr("cepkit.spark.cells.layout.LEAST_EVENTS", 100)
    frame = spark.range(4000).selectExpr("id AS ts", "if(id % 2 = 0, 'A', 'B') AS kind", "id AS k")
    stream = events(frame, time="ts", type="kind", unit="s")
    text = "PATTERN SEQ(A a, B b) WITHIN 5 s STRATEGY skip-till-next-match"
    alone = found(stream, parse(text)).route
    assert "one slice: what is taken depends on what was taken before, 1 task" in alone
    assert "buckets of k" in found(stream, parse(f"{text} PARTITION BY k")).route


def reads(query, name):
    return query.where is not None and name in {name for _, name in attributes_of(query.where)}


@FEW
@given(data=st.data())
def test_tasks_that_read_parquet_files_find_the_judges_matches(spark, tmp_path_factory, data):
    case = data.draw(CASES.filter(lambda case: not reads(case.query, "d")))
    # Spark reads durations in Parquet files as numbers.
    table = as_table(sorted(case.events, key=lambda event: event.ts)).drop_columns(["d"])
    path = tmp_path_factory.mktemp("events") / "e.parquet"
    size = data.draw(st.sampled_from([1, 3, 100]))
    pq.write_table(table, path, row_group_size=size)
    stream = events(spark.read.parquet(str(path)), time="ts", type="kind")
    seconds = data.draw(st.sampled_from([None, 13, 40]))
    try:
        matches = found(stream, case.query, route="files", slice_seconds=seconds)
    except NotImplementedError:  # the slices are too short for the row groups
        matches = found(stream, case.query, route="files")
    assert matches.route.startswith("Parquet files")
    rows = matches.collect()
    assert result_of(rows, case.variables) == case.matches
    assert survivors(matches) == len(rows)


KEYED = parse("PATTERN SEQ(A a, B b) WHERE a.y < b.x WITHIN 9 s PARTITION BY y, s")
LINKED = parse("PATTERN AND(A a, B b, A c) WHERE a.y = b.y AND b.y = c.y AND a.s <= b.s WITHIN 9 s")


@pytest.mark.parametrize("query", [KEYED, LINKED], ids=["partition by", "chain of equalities"])
@pytest.mark.parametrize("seconds", [None, 3], ids=["buckets", "buckets x slices"])
def test_keys_are_kept_together(spark, query, seconds, monkeypatch):
    monkeypatch.setattr("cepkit.spark.cells.layout.LEAST_EVENTS", 5)  # so that there are buckets
    nan, zero = float("nan"), -0.0
    ys = [1.0, None, nan, 0.0, zero, 2.0] * 20
    table = pa.table(
        {
            "id": range(120),
            "ts": pa.array([i * 700_000 for i in range(120)], pa.timestamp("us")),
            "kind": ["A", "B", "A", "A", "B"] * 24,
            "x": [float(i % 7) for i in range(120)],
            "y": pa.array(ys, pa.float64(), from_pandas=False),
            "s": (["p", "q", None] * 40),
        }
    )
    stream = events(spark.createDataFrame(table).repartition(3), time="ts", type="kind")
    matches = found(stream, query, slice_seconds=seconds)
    assert "buckets of" in matches.route
    expected = Matches(events(table, time="ts", type="kind"), query, plan_of(query))
    names = expected.variables
    assert expected.count() > 0
    assert result_of(matches.collect(), names) == result_of(expected.to_arrow(), names)


def test_explain_of_one_slice_has_the_counts_of_the_local_engine(spark):
    query = parse("PATTERN SEQ(A a, B b, OR(A c, C d)) WHERE a.x <= b.x WITHIN 9 s")
    table = as_table([])
    rows = [
        {"id": i, "ts": i * 600_000, "kind": "ABCX"[i * 7 % 4], "x": i * 5 % 11} for i in range(200)
    ]
    table = pa.Table.from_pylist(rows, schema=table.schema)
    local = Matches(events(table, time="ts", type="kind"), query, plan_of(query)).explain()
    stream = events(spark.createDataFrame(table).repartition(3), time="ts", type="kind")
    matches = found(stream, query)
    for _ in range(2):  # a second action adds nothing
        matches.collect()
        steps = matches.explain().steps
        assert [(s.branch, s.variable, s.candidates, s.survivors) for s in steps] == [
            (s.branch, s.variable, s.candidates, s.survivors) for s in local.steps
        ]
