"""A streaming DataFrame gives the matches of the batch, each once, however its events arrive."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import cepkit as ck
from cepkit.errors import StatisticsError, StreamError, UnsupportedError
from cepkit.spark.session.failures import error_of
from cepkit.spark.streaming.pieces import bucket_labels
from tests.spark.live import (
    COUNTED,
    PATTERNS,
    SECOND,
    START,
    Live,
    counts,
    identities,
    in_batch,
    make_events,
    matches_in_batch,
    sealed,
    times,
)


@pytest.fixture
def live(spark, tmp_path):
    return Live(spark, tmp_path)


AHEAD = {"NOT at the end": 2, "NOT of two at the end": 1}
"""The seconds that a pattern waits for after the last event of a match."""


@pytest.mark.parametrize("name", ["SEQ", "NOT at the end", "KL"])
def test_shuffled_files_give_the_matches_of_the_batch(live, name):
    table = make_events(5_000)
    live.put(table, 2_500)
    text = PATTERNS[name]
    progress = live.run(
        ck.detect(live.events(lateness="3 seconds"), text, spark=ck.SparkOptions(buckets=3))
    )
    expected = in_batch(table, text, sealed(table, 3, AHEAD.get(name, 0)))
    assert len(expected) > 20
    assert identities(live.result()) == expected
    assert counts(progress)["match"] == len(expected)


def test_shuffled_files_give_the_matches_of_all_patterns_in_one_query(live):
    table = make_events(5_000)
    live.put(table, 2_500)
    progress = live.run(ck.detect(live.events(lateness="3 seconds"), PATTERNS))
    rows = live.result()
    for name, text in PATTERNS.items():
        found = _bound(rows.filter(pa.compute.equal(rows["pattern"], name)))
        # Patterns that wait do so together, for the longest.
        ahead = max(AHEAD.values()) if name in AHEAD else 0
        expected = matches_in_batch(table, text, sealed(table, 3, ahead))
        assert len(expected) > 20
        assert found == _bound(expected), name
    assert counts(progress)["match"] == len(rows)


def _bound(matches):
    """Return the ids that each variable is bound to: a list in one result is one in all of it."""
    return Counter(
        tuple(
            (name, *(event["id"] for event in (bound if isinstance(bound, list) else [bound])))
            for name in "abcd"
            if (bound := row.get(name))
        )
        for row in matches.to_pylist()
    )


def test_late_events_are_counted_and_the_matches_are_those_of_the_others(live):
    table = make_events(6_000)
    live.put(table, 2_000)
    text = PATTERNS["SEQ"]
    progress = live.run(ck.detect(live.events(lateness="1 second"), text))
    late = np.zeros(len(table), bool)
    for begin in range(2_000, 6_000, 2_000):
        mark = sealed(table.slice(0, begin), 1)
        late[begin : begin + 2_000] = times(table)[begin : begin + 2_000] <= mark
    named = np.isin(table.column("type").to_pylist(), ["A", "B", "C"])
    assert counts(progress)["late"] == (late & named).sum() > 100
    others = table.filter(pa.array(~late))
    assert identities(live.result()) == in_batch(others, text, sealed(table, 1))


def test_events_are_counted_in_the_order_of_their_times(live):
    table = make_events(4_000, types=8)
    live.put(table, 2_000)
    stream, text = live.events(lateness="3 seconds"), COUNTED["partition-contiguity"]
    matches = ck.detect(stream, text, spark=ck.SparkOptions(buckets=3))
    assert "state: the last 1 event of each partition, of all types, in 3 buckets" in repr(matches)
    live.run(matches)
    ordered = table.sort_by("ts")
    expected = in_batch(ordered, text, sealed(table, 3))
    assert len(expected) > 20
    assert identities(live.result()) == expected


def test_event_windows_and_skip_till_next_match_run_in_one_query(live):
    table = make_events(4_000)
    live.put(table, 2_000)
    queries = COUNTED | {"next": PATTERNS["skip-till-next-match"]}
    live.run(ck.detect(live.events(lateness="3 seconds"), queries))
    rows = live.result()
    for name, text in queries.items():
        own = rows.filter(pa.compute.equal(rows["pattern"], name))
        bound = [v for v in ("a", "b", "c") if own[v].null_count < len(own)]
        ahead = 1 if name == "NEXT" else 0
        expected = in_batch(
            table if name == "next" else table.sort_by("ts"), text, sealed(table, 3, ahead)
        )
        assert len(expected) > 20
        assert identities(own.select(bound)) == expected


def test_time_slices_go_to_buckets_and_late_events_come_once(live):
    table = make_events(6_000)
    live.put(table, 2_000)
    text = PATTERNS["SEQ without a key"]
    stream = live.events(lateness="1 second")
    matches = ck.detect(
        stream, text, spark=ck.SparkOptions(slice_seconds=0.5, buckets=3, late="collect")
    )
    assert "3 buckets of slices of 500 milliseconds, each in about 1.2" in repr(matches)
    rows = matches.run_to_end(live.root / "out", checkpoint=live.root / "state").toArrow()
    kinds = np.array(rows["kind"].to_pylist())
    late = [event["id"] for event in rows.filter(pa.array(kinds == "late"))["event"].to_pylist()]
    assert len(late) == len(set(late)) > 20
    others = table.filter(pa.array(~np.isin(table["id"].to_numpy(), late)))
    ends = ["a", "b", "c", "match_start", "match_end"]
    expected = in_batch(others, text)
    assert len(expected) > 20
    assert identities(rows.filter(pa.array(kinds == "match")).select(ends)) == expected


def test_match_is_emitted_by_the_micro_batch_that_completes_it(live):
    live.put(_events((0, "A"), (1, "B"), (2, "C"), (3, "A")))
    live.put(_events((2, "C"), (4, "B"), (5, "C"), (6, "A")))
    progress = live.run(ck.detect(live.events(lateness="1 second"), PATTERNS["SEQ"]))
    told = [one.observedMetrics["cepkit"] for one in progress[:2]]
    assert [(one["match"], one["late"]) for one in told] == [(1, 0), (1, 1)]
    assert identities(live.result()) == [(0, 1, 2), (3, 4, 5)]


def test_time_goes_on_while_none_of_the_types_come(live):
    live.put(_events((0, "A"), (1, "B"), (2, "C")))
    for second in (10, 20):
        live.put(_events((second, "X")))
    live.run(ck.detect(live.events(lateness="1 second"), PATTERNS["SEQ"]))
    assert identities(live.result()) == [(0, 1, 2)]


def test_an_event_from_the_future_makes_no_other_late(live):
    live.put(_events((0, "A"), (4_000_000_000, "A"), (4_000_000_000, "X")))
    live.put(_events((1, "B"), (2, "C")))
    live.put(_events((10, "X")))
    matches = ck.detect(live.events(lateness="1 second", max_ahead="1 day"), PATTERNS["SEQ"])
    progress = live.run(matches)
    assert counts(progress)["ahead"] == 2
    assert len(live.result()) == 1


def test_duplicates_are_dropped_before_by_spark(live):
    for begin in (0, 1_000):
        part = make_events(2_000, disorder=1).slice(begin, 1_000)
        live.put(pa.concat_tables([part, part]))
    frame = live.events(lateness="1 second").source
    once = frame.withWatermark("ts", "1 second").dropDuplicatesWithinWatermark(["id"])
    stream = ck.events(once, time="ts", type="type", lateness="1 second")
    other = ck.events(once, time="ts", type="type", lateness="2 seconds")
    with pytest.raises(StreamError, match="has a watermark of 1,000 ms"):
        ck.detect(other, PATTERNS["SEQ"])
    live.run(ck.detect(stream, PATTERNS["SEQ"]))
    table = make_events(2_000, disorder=1)
    found = identities(live.result())
    assert found
    assert found == in_batch(table, PATTERNS["SEQ"], sealed(table, 1))


def test_rows_that_are_no_events_are_counted(live):
    live.put(_events((0, "A"), (None, "A"), (None, "X"), (1, None), (1, "B"), (2, "C")))
    live.put(_events((10, "X")))
    progress = live.run(ck.detect(live.events(lateness="1 second"), PATTERNS["SEQ"]))
    assert counts(progress) | {"no-time": 2, "no-type": 1, "match": 1} == counts(progress)


def test_a_query_goes_on_from_its_checkpoint_under_another_plan(live):
    table = make_events(4_000)
    text = PATTERNS["SEQ"]
    live.put(table.slice(0, 2_000))
    live.run(ck.detect(live.events(lateness="3 seconds"), text, ["a", "b", "c"]))
    live.put(table.slice(2_000))
    live.run(ck.detect(live.events(lateness="3 seconds"), text, ["c", "b", "a"]))
    assert identities(live.result()) == in_batch(table, text, sealed(table, 3))


def test_query_continues_with_other_shuffle_partitions(live):
    table = make_events(4_000)
    text = PATTERNS["SEQ"]
    conf = live.spark.conf
    usual = conf.get("spark.sql.shuffle.partitions")
    try:
        for partitions, part in ((2, table.slice(0, 2_000)), (5, table.slice(2_000))):
            conf.set("spark.sql.shuffle.partitions", partitions)
            live.put(part)
            live.run(ck.detect(live.events(lateness="3 seconds"), text))
    finally:
        conf.set("spark.sql.shuffle.partitions", usual)
    assert identities(live.result()) == in_batch(table, text, sealed(table, 3))


def test_matches_and_late_events_go_to_separate_folders(live):
    table = make_events(4_000)
    live.put(table, 2_000)
    rows = ck.detect(
        live.events(lateness="1 second"), PATTERNS["SEQ"], spark=ck.SparkOptions(late="collect")
    )
    writer = rows.writeStream.format("parquet").partitionBy("kind")
    writer = writer.option("checkpointLocation", str(live.root / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(live.root / "out"))
    query.awaitTermination()
    told = counts(query.recentProgress)
    out = live.spark.read.parquet(str(live.root / "out"))
    written = {row["kind"]: row["count"] for row in out.groupBy("kind").count().collect()}
    assert written == {kind: told[kind] for kind in ("match", "late")}
    assert (live.root / "out" / "kind=late").is_dir()


@pytest.mark.parametrize("adapt", ["slices", "invariants"])
def test_plans_follow_the_stream_and_the_progress_says_why(live, adapt):
    first, then = _rare("A", make_events(3_000)), _rare("C", make_events(3_000, seed=2))
    later = pa.array(times(then) + 6 * SECOND).cast(pa.timestamp("us", tz="UTC"))
    then = then.set_column(0, "ts", later)
    then = then.set_column(4, "id", pa.compute.add(then["id"], 10_000))
    table = pa.concat_tables([first, then])
    text = PATTERNS["SEQ without a key"]
    statistics = ck.profile(ck.events(first, time="ts", type="type"), text)
    live.put(first)
    live.put(then.slice(0, 2_000))
    live.put(then.slice(2_000))
    live.put(_events((90, "X")))
    stream, plan = live.events(lateness="3 seconds"), ck.choose_plan(text, statistics)
    progress = live.run(ck.detect(stream, text, plan, adapt=adapt))
    assert identities(live.result()) == in_batch(table, text)
    run = {name for one in progress for name in one.observedMetrics["cepkit"]["plans"]}
    assert any(": " not in plan for plan in run)
    told = [plan for plan in run if ": " in plan]
    # Rates that are those of the slices before have to be remembered between micro-batches.
    assert told
    assert all("no longer h" in plan for plan in told)
    with pytest.raises(StatisticsError, match="without statistics"):
        ck.detect(stream, text, adapt="slices")


def test_a_checkpoint_of_another_query_is_refused(live):
    live.put(_events((0, "A"), (1, "B")))
    stream = live.events(lateness="1 second")
    live.run(ck.detect(stream, PATTERNS["SEQ"]))
    live.put(_events((9, "X")))
    frame = stream.source.withColumn("price", F.col("price").cast("float"))
    retyped = ck.events(frame, time="ts", type="type", lateness="1 second")
    others = {
        "pattern": ck.detect(stream, PATTERNS["AND"]),
        "buckets": ck.detect(stream, PATTERNS["SEQ"], spark=ck.SparkOptions(buckets=4)),
        "columns": ck.detect(retyped, PATTERNS["SEQ"]),
    }
    for change, other in others.items():
        with pytest.raises(Exception, match="the checkpoint belongs to another query") as raised:
            live.run(other)
        error = error_of(str(raised.value))
        assert isinstance(error, StreamError)
        assert change in error.found
        assert change in str(error.expected)
        assert "new checkpointLocation" in str(error.hint)


def test_files_whose_columns_have_changed_are_null_there_or_refused(live):
    live.put(_events((0, "A"), (1, "B"), (2, "C"), (10, "A"), (11, "B")))
    live.put(_events((12, "C"), (19, "X")).drop_columns(["price"]))
    matches = ck.detect(live.events(lateness="1 second"), PATTERNS["SEQ"])
    live.run(matches)
    assert identities(live.result()) == [(0, 1, 2)]
    texts = _events((30, "A"), (31, "X"))
    live.put(texts.set_column(3, "price", pa.array(["dear", "cheap"])))
    with pytest.raises(Exception, match="price"):
        live.run(matches)


def test_query_killed_while_writing_its_first_offsets_restarts(live):
    table = make_events(2_000)
    live.put(table)
    offsets = live.root / "out-checkpoint" / "offsets"
    offsets.mkdir(parents=True)
    (offsets / ".0.0a1b2c3d.tmp").write_text("v1\n{")
    conf, setting = live.spark.conf, "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart"
    ours = conf.get(setting)
    matches = ck.detect(live.events(lateness="3 seconds"), PATTERNS["SEQ"])
    try:
        conf.set(setting, "true")
        with pytest.raises(Exception, match="should be empty"):
            live.run(matches)
    finally:
        conf.set(setting, ours)
    live.run(matches)
    assert identities(live.result()) == in_batch(table, PATTERNS["SEQ"], sealed(table, 3))


def test_the_labels_of_buckets_have_the_hashes_that_spark_makes(spark):
    labels = bucket_labels(16)
    frame = spark.createDataFrame([(label,) for label in labels], "label int")
    hashes = frame.select(F.expr("pmod(hash(label), 8)")).toArrow().column(0).to_pylist()
    assert hashes == [*range(8), *range(8)]


def test_two_queries_in_one_session(live):
    table = make_events(4_000)
    live.put(table, 2_000)
    stream = live.events(lateness="3 seconds")
    started = []
    for name in ("SEQ", "NOT in the middle"):
        writer = ck.detect(stream, PATTERNS[name]).writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(live.root / f"{name}-checkpoint"))
        started.append(writer.trigger(availableNow=True).start(str(live.root / name)))
    for query in started:
        query.awaitTermination()
    for name in ("SEQ", "NOT in the middle"):
        expected = in_batch(table, PATTERNS[name], sealed(table, 3))
        assert identities(live.result(name)) == expected


def test_several_patterns_are_one_query_with_late_events_beside_matches(live):
    table = make_events(5_000)
    live.put(table, 2_500)
    names = ["SEQ", "AND", "NOT in the middle", "KL", "NOT at the end"]
    queries = {name: PATTERNS[name] for name in names}
    matches = ck.detect(
        live.events(lateness="1 second"), queries, spark=ck.SparkOptions(late="collect", buckets=3)
    )
    assert "Matches of 5 queries" in repr(matches)
    assert "AND: by the plan a → b → c" in repr(matches)
    assert matches.columns[:2] == ["kind", "pattern"]
    assert matches.columns[-3:] == ["match_start", "match_end", "event"]
    progress = live.run(matches)
    rows = live.result()
    kinds = np.array(rows["kind"].to_pylist())
    late = rows.filter(pa.array(kinds == "late"))
    assert len(late) == counts(progress)["late"] > 20
    assert set(late["pattern"].to_pylist()) == {None}
    missed = {event["id"] for event in late["event"].to_pylist()}
    others = table.filter(pa.array([one not in missed for one in table["id"].to_pylist()]))
    for name in names:
        own = rows.filter(pa.array(np.array(rows["pattern"].to_pylist(), object) == name))
        bound = ["a", "b"] if name == "NOT at the end" else ["a", "b", "c"]
        if name == "NOT in the middle":
            bound = ["a", "c"]
        expected = in_batch(others, queries[name], sealed(table, 1, 2 if bound[-1] == "b" else 0))
        assert len(expected) > 20
        found = []
        for row in own.select(bound).to_pylist():
            # A list in the matches of one pattern is one in those of all.
            lists = {v: e if isinstance(e, list) else [e] for v, e in row.items()}
            found.append(
                tuple(
                    tuple(e["id"] for e in lists[v])
                    if name == "KL" and v == "b"
                    else lists[v][0]["id"]
                    for v in bound
                )
            )
        assert sorted(found) == expected


def test_timeouts_and_plans_that_follow_the_stream_of_several_patterns(live):
    table = make_events(3_000)
    live.put(table, 1_500)
    first = f"PATTERN SEQ(A a, FIRST B b) WHERE {KEYED_PAIR} WITHIN 100 milliseconds"
    queries = {"order": PATTERNS["SEQ"], "first": first}
    recorded = ck.events(table, time="ts", type="type")
    plans = [ck.choose_plan(text, ck.profile(recorded, text)) for text in queries.values()]
    stream = live.events(lateness="3 seconds")
    with pytest.raises(StatisticsError, match="without statistics"):
        ck.detect(stream, queries, adapt="slices")
    matches = ck.detect(
        stream, queries, plans, spark=ck.SparkOptions(timeouts=True), adapt="invariants"
    )
    progress = live.run(matches)
    run = {name for one in progress for name in one.observedMetrics["cepkit"]["plans"]}
    assert {name.partition(":")[0] for name in run} == {"order", "first"}
    rows = live.result()
    done = matches.explain(SimpleNamespace(recentProgress=progress)).to_pandas()
    for name, text in queries.items():
        own = rows.filter(pa.compute.equal(rows["pattern"], name))
        found = own.filter(pa.compute.equal(own["kind"], "match"))
        bound = ["a", "b", "c"] if name == "order" else ["a", "b"]
        expected = in_batch(table, text, sealed(table, 3))
        assert identities(found.select(bound)) == expected
        steps = done[done["pattern"] == name]
        assert steps.groupby("plan").tail(1)["survivors"].sum() == len(expected)
        given = steps["plan"] == str(plans[list(queries).index(name)].branches[0])
        assert steps[given]["expected_survivors"].notna().all()
        waiting = own.filter(pa.compute.equal(own["awaited"], "b"))
        window = 2 if name == "order" else 0.1
        price = "a.price < b.price AND " if name == "order" else ""
        alone = f"PATTERN SEQ(A a, NOT(B b)) WHERE {price}{KEYED_PAIR} WITHIN {window} seconds"
        expected = in_batch(table, alone, sealed(table, 3, window))
        assert len(expected) > 5
        assert identities(waiting.select(["a"])) == expected
        ends = pa.compute.subtract(waiting["window_end"], waiting["match_start"])
        assert set(ends.cast(pa.int64()).to_pylist()) == {round(window * SECOND)}


KEYED_PAIR = "a.key = b.key"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("PATTERN SEQ(A a, B b)", "kept forever"),
        ("PATTERN SEQ(A a, B b, NOT(C c)) WITHIN 5 events", "NOT that looks beyond the last event"),
        ("PATTERN SEQ(A a, KL(B b)) WITHIN 5 events", "a set that looks beyond the last event"),
    ],
)
def test_pattern_with_unbounded_state_or_no_order_is_refused_by_name(live, text, said):
    live.put(_events((0, "A")))
    with pytest.raises(UnsupportedError, match=said):
        ck.detect(live.events(lateness="1 second"), text)


NEXT_WITHOUT_A_KEY = "PATTERN SEQ(A a, B b) WITHIN 1 s STRATEGY skip-till-next-match"


def test_streaming_frame_refuses_verbs_that_need_all_events(live):
    live.put(_events((0, "A")))
    stream = live.events(lateness="1 second")
    for ask in (
        lambda: ck.profile(stream, PATTERNS["SEQ"]),
        stream.head,
        lambda: ck.detect(stream, PATTERNS["SEQ"], limit=3),
        lambda: ck.detect(stream, PATTERNS["SEQ"], spark=ck.SparkOptions(slice_seconds=3)),
        lambda: ck.detect(
            stream, "PATTERN SEQ(A a, B b) WITHIN 5 EVENTS", spark=ck.SparkOptions(slice_seconds=3)
        ),
        lambda: ck.detect(stream, NEXT_WITHOUT_A_KEY, spark=ck.SparkOptions(slice_seconds=3)),
        lambda: ck.detect(
            stream, "PATTERN SEQ(A a, B b) WITHIN 5 EVENTS", spark=ck.SparkOptions(timeouts=True)
        ),
        lambda: ck.aggregate(stream, "PATTERN SEQ(A a, B b) WITHIN 5 EVENTS AGG COUNT"),
        lambda: ck.detect(stream, PATTERNS["SEQ without a key"], spark=ck.SparkOptions(buckets=2)),
        lambda: ck.detect(
            stream, "PATTERN SEQ(A a, B Kind) WITHIN 1 s", spark=ck.SparkOptions(late="collect")
        ),
        lambda: ck.detect(stream, [PATTERNS["SEQ"], "PATTERN SEQ(A a, B b)"]),
        lambda: ck.detect(stream, [PATTERNS["OR"]], spark=ck.SparkOptions(timeouts=True)),
        lambda: ck.detect(stream, [PATTERNS["SEQ"]], limit=3),
        lambda: ck.aggregate(stream, f"{PATTERNS['SEQ']} AGG COUNT", emit="total"),
        lambda: ck.aggregate(stream, [f"{PATTERNS['SEQ']} AGG COUNT"] * 2, share="chop-connect"),
        lambda: ck.aggregate(stream, ["PATTERN SEQ(A a, B b) WITHIN 5 EVENTS AGG COUNT"]),
        lambda: ck.detect(stream, PATTERNS["OR"], spark=ck.SparkOptions(timeouts=True)),
        lambda: live.events(lateness="1 second", ties="arrival"),
    ):
        with pytest.raises(UnsupportedError):
            ask()
    with pytest.raises(StreamError, match=r"slice_events=(.|\n)*Expected: a Spark DataFrame"):
        ck.detect(stream, PATTERNS["SEQ"], spark=ck.SparkOptions(slice_events=3))


def test_lateness_and_a_timestamp_are_asked_for(live, spark):
    live.put(_events((0, "A")))
    with pytest.raises(StreamError, match="no lateness") as error:
        live.events()
    assert "lateness='10 seconds'" in str(error.value)
    with pytest.raises(StreamError, match="holds int64"):
        live.events(time="id", lateness="1 second")
    frame = spark.createDataFrame([(1, "A")], "ts long, type string")
    with pytest.raises(StreamError, match="events that are not a streaming"):
        ck.events(frame, time="ts", type="type", unit="s", lateness="1 second")


def test_repr_says_when_matches_are_emitted(live):
    live.put(_events((0, "A")))
    stream = live.events(lateness="1 second")
    matches = ck.detect(stream, PATTERNS["SEQ"])
    assert "emitted 1 second after their last event, up to two triggers later" in repr(matches)
    assert matches.usual_trigger == "5 seconds"
    assert "1 second and 2 seconds after" in repr(ck.detect(stream, PATTERNS["NOT at the end"]))
    text = f"{PATTERNS['OR']} AFTER MATCH SKIP PAST LAST EVENT"
    told = "1 second and 1 second after their first event (the second because a match that starts"
    assert told in repr(ck.detect(stream, text))


def _rare(kind, table):
    """Return the events, a tenth of those of a type."""
    drawn = np.random.default_rng(3).random(len(table))
    return table.filter(pa.array((np.array(table["type"].to_pylist()) != kind) | (drawn < 0.1)))


def _events(*rows):
    """Return events of a second and a type, all of one key, with ascending prices."""
    ts = [None if second is None else START + second * SECOND for second, _ in rows]
    return pa.table(
        {
            "ts": pa.array(ts, pa.timestamp("us", tz="UTC")),
            "type": pa.array([kind for _, kind in rows], pa.string()),
            "key": pa.array([1] * len(rows), pa.int64()),
            "price": pa.array([float(second or 0) for second, _ in rows]),
            "id": pa.array([second if second is not None else -1 for second, _ in rows]),
        }
    )
