"""The time column is a time in conditions, for every type and unit."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepkit as ck
from cepkit.errors import PatternError
from cepkit.pattern.evaluation.functions import registered as functions

SECONDS = np.array([0, 3, 12, 20])
KINDS = ["A", "B", "B", "A"]
MOMENTS = np.datetime64("2024-05-01T09:30:00", "s") + SECONDS
EPOCH = MOMENTS.astype("datetime64[s]").astype(np.int64)
FORMS: dict[str, tuple[Any, dict[str, str]]] = {
    "nanoseconds": (pd.Series(MOMENTS.astype("datetime64[ns]")), {}),
    "seconds": (pa.array(MOMENTS), {}),
    "with a zone": (pd.Series(MOMENTS).dt.tz_localize("Asia/Kolkata"), {}),
    "in a zone": (pd.Series(MOMENTS), {"timezone": "Asia/Kolkata"}),
    "unit s": (EPOCH, {"unit": "s"}),
    "unit ms": (EPOCH * 1_000, {"unit": "ms"}),
    "unit us": (EPOCH * 1_000_000, {"unit": "us"}),
    "unit ns": (EPOCH * 1_000_000_000, {"unit": "ns"}),
    "unit min": (EPOCH / 60, {"unit": "min"}),
    "unit h": ([Decimal(int(second)) / 3600 for second in EPOCH], {"unit": "h"}),
    "floats": (EPOCH.astype(float), {"unit": "s"}),
    "texts": ([str(moment) for moment in MOMENTS], {}),
    "categories": (pd.Series([str(moment) for moment in MOMENTS], dtype="category"), {}),
}
LONG = "b.ts - a.ts > 8 seconds"


def stream(form: str, suffix: str | None = None, folder: Path | None = None) -> Any:
    """Return four events whose times are given in a form, in memory or in a file."""
    times, options = FORMS[form]
    frame = pd.DataFrame({"ts": times, "kind": KINDS, "id": range(4)})
    source: Any = frame
    if suffix is not None and folder is not None:
        source = folder / f"events.{suffix}"
        if suffix == "csv":
            frame.to_csv(source, index=False)
        else:
            pq.write_table(pa.Table.from_pandas(frame), source)
    return ck.events(source, time="ts", type="kind", **options)


def pairs(matches: Any) -> list[tuple[int, int]]:
    """Return the ids of a and b."""
    return sorted((row["a"]["id"], row["b"]["id"]) for row in matches.to_arrow().to_pylist())


@pytest.mark.parametrize("form", FORMS)
def test_difference_of_times_is_a_duration_in_every_form(form: str) -> None:
    events = stream(form)
    assert pairs(ck.detect(events, f"PATTERN SEQ(A a, B b) WHERE {LONG}")) == [(0, 2)]
    assert pairs(ck.detect(events, "PATTERN SEQ(A a, B b) WHERE b.ts - a.ts < 8 s")) == [(0, 1)]
    # A text says a time in UTC.
    zoned = form in ("with a zone", "in a zone")
    moment = "2024-05-01 04:00:01" if zoned else "2024-05-01 09:30:01"
    for text, found in ((f"b.ts > '{moment}'", [1, 2]), (f"b.ts < '{moment}'", [])):
        matches = ck.detect(events, f"PATTERN SEQ(A a, B b) WHERE {text}")
        assert [b for _, b in pairs(matches)] == found


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("form", FORMS)
def test_files_say_the_same(form: str, suffix: str, tmp_path: Path) -> None:
    events = stream(form, suffix, tmp_path)
    assert pairs(ck.detect(events, f"PATTERN SEQ(A a, B b) WHERE {LONG}")) == [(0, 2)]


@pytest.mark.parametrize("form", FORMS)
def test_every_verb_takes_the_time_column_for_a_time(form: str) -> None:
    events = stream(form)
    pattern = f"PATTERN SEQ(A a, B b) WHERE {LONG} WITHIN 1 min"
    trace = ck.simulate(events, pattern, "eager-nfa")
    assert [dict(match.events) for match in trace.matches] == [{"a": 0, "b": 2}]
    assert ck.profile(events, pattern).selectivities
    (row,) = (
        ck.aggregate(events, f"{pattern} AGG COUNT, MAX(b.ts)", emit="total").to_pandas().values
    )
    assert row[0] == 1
    why = ck.why_not(events, pattern, a=0, b=1)
    assert "3 s > 8 s fails by 5 s" in str(why)
    taken = ck.detect(events, f"{pattern} STRATEGY skip-till-next-match")
    assert pairs(taken) == [(0, 2)]


@pytest.mark.parametrize("form", FORMS)
def test_duration_compared_with_a_number_is_refused_with_a_hint(form: str) -> None:
    events = stream(form)
    pattern = "PATTERN SEQ(A a, B b) WHERE b.ts - a.ts > 8"
    for verb in (
        ck.detect,
        ck.profile,
        ck.why_not,
        lambda *given: ck.simulate(*given, "eager-nfa"),
        lambda given, text: ck.aggregate(given, f"{text} AGG COUNT"),
    ):
        with pytest.raises(PatternError) as caught:
            verb(events, pattern)
        assert str(caught.value).splitlines()[2].strip() == "^" * len("b.ts - a.ts > 8")
        assert caught.value.hint == "a duration is a number with its unit: b.ts - a.ts > 8 seconds"


def test_comparisons_are_checked_even_if_no_event_fits() -> None:
    frame = pd.DataFrame({"ts": [0], "kind": ["Z"]})
    events = ck.events(frame, time="ts", type="kind", unit="s")
    for text in ("SEQ(A a, B b) WHERE b.ts - a.ts > 8", "SEQ(A a, KL(B b)) WHERE max(b.ts) > 8"):
        with pytest.raises(PatternError, match="compared with a number"):
            ck.detect(events, f"PATTERN {text}")


@pytest.mark.parametrize(("condition", "count"), [("1 s < 2 s", 2), ("2 s < 1 s", 0)])
def test_two_durations_may_be_compared(condition: str, count: int) -> None:
    pattern = f"PATTERN SEQ(A a, B b) WHERE {condition}"
    assert ck.detect(stream("unit s"), pattern).count() == count


def test_a_function_of_the_users_is_given_times_and_durations(monkeypatch) -> None:
    monkeypatch.setattr(functions, "_registered", {})
    seen = []

    def long(moments: Any, gaps: Any) -> Any:
        seen.append((moments.dtype, gaps.dtype))
        return gaps > np.timedelta64(8, "s")

    ck.register_function("long", long)
    events = stream("unit s")
    pattern = "PATTERN SEQ(A a, B b) WHERE long(a.ts, b.ts - a.ts)"
    assert pairs(ck.detect(events, pattern)) == [(0, 2)]
    assert len(ck.simulate(events, pattern, "eager-nfa").matches) == 1
    assert set(seen) == {(np.dtype("datetime64[us]"), np.dtype("timedelta64[us]"))}


def test_columns_of_durations() -> None:
    gaps = [1.5, 9.0, 8.0, np.nan]
    frame = pd.DataFrame(
        {"ts": MOMENTS, "kind": KINDS, "id": range(4), "gap": pd.to_timedelta(gaps, "s")}
    )
    events = ck.events(frame, time="ts", type="kind")
    pattern = "PATTERN SEQ(A a, B b) WHERE b.gap - a.gap > 7 s AND b.gap != a.gap * 2 WITHIN 1 h"
    assert pairs(ck.detect(events, pattern)) == [(0, 1)]
    found = ck.aggregate(events, f"{pattern} AGG MIN(b.gap), MAX(a.gap)", emit="total").to_pandas()
    assert found.iloc[0].tolist() == [pd.Timedelta("9 s"), pd.Timedelta("1.5 s")]
    trace = ck.simulate(events, pattern, "eager-nfa")
    assert trace.events.attributes["gap"] == ("1500 milliseconds", "9 seconds", "8 seconds", None)
    keys = ck.profile(events, f"{pattern} PARTITION BY gap").keys[0]
    assert ("1500 milliseconds", 1) in keys.most_frequent


@pytest.mark.parametrize(
    ("condition", "matches"),
    [
        ("hour(a.t) = 23 AND hour(b.t) = 0", 1),
        ("minute(a.t) = 59 AND second(a.t) = 58", 1),
        ("weekday(a.t) = 7 AND weekday(b.t) = 1", 1),  # a Sunday and a Monday
        ("date(a.t) = date(b.t)", 0),
        ("date(b.t) - date(a.t) = 1 day", 1),
        ("date(b.t + 1 hour) > '2024-03-04'", 0),
        ("hour(a.t + 1 hour) = 0", 1),
        ("hour(a.t) + hour(b.t) = 23", 1),
    ],
)
def test_parts_of_times(condition: str, matches: int) -> None:
    times = ["2024-03-03 23:59:58.999999", "2024-03-04 00:00:00"]
    frame = pd.DataFrame({"t": pd.to_datetime(times, format="ISO8601"), "kind": ["A", "B"]})
    pattern = f"PATTERN SEQ(A a, B b) WHERE {condition} AT TIME ZONE 'UTC'"
    assert ck.detect(ck.events(frame, time="t", type="kind"), pattern).count() == matches


@pytest.mark.parametrize(
    ("condition", "matches"),
    [
        ("a.t < TIMESTAMP '2024-03-04 00:00'", 1),
        ("a.t < TIMESTAMP '2024-03-03 23:59:58.999999'", 0),
        ("b.t = TIMESTAMP '2024-03-04 01:00+01:00'", 1),
        ("TIMESTAMP '2024-03-04 00:00:01' - a.t < 3 seconds", 1),
        ("b.t + (a.t - TIMESTAMP '2024-03-03') > TIMESTAMP '2024-03-05'", 0),
        ("b.t IN (TIMESTAMP '2024-03-04', TIMESTAMP '2024-03-05')", 1),
        ("greatest(a.t, b.t, TIMESTAMP '2024-03-05') = TIMESTAMP '2024-03-05'", 1),
    ],
)
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_times_that_are_written(condition: str, matches: int, zone: str | None) -> None:
    times = pd.to_datetime(["2024-03-03 23:59:58.999999", "2024-03-04 00:00:00"], format="ISO8601")
    times = times if zone is None else times.tz_localize("UTC").tz_convert(zone)
    frame = pd.DataFrame({"t": times, "kind": ["A", "B"]})
    pattern = f"PATTERN SEQ(A a, B b) WHERE {condition} AT TIME ZONE 'UTC'"
    assert ck.detect(ck.events(frame, time="t", type="kind"), pattern).count() == matches
    trace = ck.simulate(ck.events(frame, time="t", type="kind"), f"{pattern} WITHIN 1 day")
    assert len(trace.matches) == matches


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "+02:00", None])
@pytest.mark.parametrize("year", [1, 1500, 9999])
def test_times_that_no_zone_has_a_clock_for_are_shown_in_utc(zone: str | None, year: int) -> None:
    # With a zone, pandas ends the process in the year 1500, and Python has no year 0 or 10000.
    day = "01-01T00:00:01" if year == 1 else "12-31T23:59:59"
    instant = np.datetime64(f"{year:04}-{day}", "us")
    times = pa.array([instant.astype(int), None], pa.int64()).cast(pa.timestamp("us", zone))
    rows = pa.table({"t": [1, 2], "kind": ["A", "B"], "due": times})
    stream = ck.events(rows, time="t", type="kind", unit="s")
    matches = ck.detect(stream, "PATTERN SEQ(A a, B b)")
    (match,) = matches
    frame = matches.to_pandas()
    for due in (match["a"]["due"], frame["a.due"][0]):
        assert (due if zone is None else due.tz_convert(None)) == pd.Timestamp(instant)
    assert frame["b.due"].isna().all()
    assert all(map(str, (frame, matches, ck.profile(stream))))
