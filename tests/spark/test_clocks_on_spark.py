"""Conditions read the clock of the stream's zone on Spark, whatever the zone of its session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cepkit as ck
from tests.clocks import (
    CALENDAR,
    OF_ONE,
    OF_TWO,
    ZONES,
    expected,
    expected_pairs,
    expected_windows,
    frame,
    hourly_frame,
)


@pytest.fixture
def elsewhere(spark: Any) -> Iterator[Any]:
    """The session, its clock somewhere else."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before)


def pairs(rows: Any) -> list[tuple[int, int]]:
    """Return the events of each match, sorted."""
    return sorted((row["a"]["id"], row["b"]["id"]) for row in rows)


def any_of(conditions: Any, zone: str) -> list[tuple[int, int]]:
    """Return the pairs that one of some conditions holds for."""
    return sorted(set().union(*(expected_pairs(zone, each) for each in conditions)))


@pytest.mark.parametrize("route", ["workers", "driver"])
@pytest.mark.parametrize("zone", ZONES)
def test_conditions_on_spark_read_the_clock_of_the_zone(
    elsewhere: Any, zone: str, route: Any, tmp_path: Path
) -> None:
    frame(zone).to_parquet(tmp_path / "events.parquet")
    source = elsewhere.read.parquet(str(tmp_path / "events.parquet"))
    events = ck.events(source, time="ts", type="kind", timezone=zone)
    options = ck.SparkOptions(route=route)
    tests = [f"PATTERN ANY a WHERE {condition}" for condition in OF_ONE]
    where = " OR ".join(f"({condition})" for condition in OF_TWO)
    both = f"PATTERN SEQ(A a, B b) WHERE {where} WITHIN 1500 days"
    assert pairs(ck.detect(events, both, spark=options).toPandas().to_dict("records")) == any_of(
        OF_TWO, zone
    )
    for condition, text in zip(OF_ONE, tests, strict=True):
        assert ck.detect(events, text, spark=options).count() == len(expected(zone, condition)), (
            condition
        )


@pytest.mark.parametrize("zone", ["Europe/Rome", "Australia/Lord_Howe"])
def test_streams_read_the_clock_of_the_zone(elsewhere: Any, zone: str, tmp_path: Path) -> None:
    folder = tmp_path / "events"
    folder.mkdir()
    frame(zone).to_parquet(folder / "events.parquet")
    source = elsewhere.readStream.schema("ts timestamp, kind string, id bigint").parquet(
        str(folder)
    )
    events = ck.events(source, time="ts", type="kind", timezone=zone, lateness="1 hour")
    where = " OR ".join(f"({condition})" for condition in OF_TWO)
    matches = ck.detect(events, f"PATTERN SEQ(A a, B b) WHERE {where} WITHIN 3 hours")
    rows = matches.run_to_end(tmp_path / "out", checkpoint=tmp_path / "checkpoint")
    local = ck.detect(
        ck.events(frame(zone), time="ts", type="kind", timezone=zone),
        f"PATTERN SEQ(A a, B b) WHERE {where} WITHIN 3 hours",
    )
    assert pairs(rows.toPandas().to_dict("records")) == pairs(local.to_arrow().to_pylist())


@pytest.mark.parametrize("zone", ["Europe/Rome", "Australia/Lord_Howe"])
def test_windows_of_calendar_days_on_spark_go_by_the_clock(
    elsewhere: Any, zone: str, tmp_path: Path
) -> None:
    (tmp_path / "events").mkdir()
    hourly_frame(zone).to_parquet(tmp_path / "events" / "events.parquet")
    folder = str(tmp_path / "events")
    options = {"time": "ts", "type": "kind", "timezone": zone}
    batch = ck.events(elsewhere.read.parquet(folder), **options)
    for pattern in CALENDAR:
        matches = ck.detect(batch, f"PATTERN {pattern}", spark=ck.SparkOptions(route="workers"))
        found = pairs(matches.toPandas().to_dict("records"))
        assert found == sorted(expected_windows(zone, pattern)), pattern
    frames = elsewhere.readStream.schema("ts timestamp, kind string, id bigint").parquet(folder)
    live = ck.events(frames, lateness="1 hour", **options)
    text = "PATTERN SEQ(A a, B b, NOT(A n)) WITHIN 1 calendar day"
    rows = ck.detect(live, text).run_to_end(tmp_path / "out", checkpoint=tmp_path / "state")
    local = ck.detect(ck.events(hourly_frame(zone), **options), text).to_arrow().to_pylist()
    assert local
    assert pairs(rows.toPandas().to_dict("records")) == pairs(local)
