"""Lateness is given as a duration, and only for streaming DataFrames."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest

from cepkit.errors import StreamError
from cepkit.stream.lateness import Lateness, check_event_time, check_lateness
from cepkit.stream.schema import Schema

SCHEMA = Schema("ts", "type")


@pytest.mark.parametrize(
    ("written", "microseconds"),
    [
        ("10 seconds", 10_000_000),
        ("0 s", 0),
        ("1.5 hours", 5_400_000_000),
        ("250ms", 250_000),
        ("1 us", 1_000),  # Spark counts whole milliseconds
        (timedelta(minutes=2), 120_000_000),
    ],
)
def test_durations_are_read_in_whole_milliseconds(written, microseconds):
    assert check_lateness(True, written, None, SCHEMA) == Lateness(microseconds)


@pytest.mark.parametrize("written", ["soon", "10", "-1 s", "1 month", "5000 days", "1e3 s"])
def test_lateness_refuses_texts_that_are_no_duration(written):
    with pytest.raises(StreamError, match="lateness="):
        check_lateness(True, written, None, SCHEMA)


def test_lateness_and_ahead_are_refused_for_static_frames():
    assert check_lateness(True, "1 s", "1 day", SCHEMA) == Lateness(1_000_000, 86_400_000_000)
    for lateness, ahead in (("1 s", None), (None, "1 s")):
        with pytest.raises(StreamError, match="events that are not a streaming"):
            check_lateness(False, lateness, ahead, SCHEMA)


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.timestamp("us"), pa.date32()])
def test_only_timestamps_with_a_zone_make_a_watermark(kind):
    with pytest.raises(StreamError, match="the time column 'ts'"):
        check_event_time(kind, "ts")
    check_event_time(pa.timestamp("us", "UTC"), "ts")
