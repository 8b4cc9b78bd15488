"""Conditions read the clock of the zone: of the pattern, else of the stream, else of its column."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
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

SOURCES = ("pandas in UTC", "pandas in the zone", "Arrow in the zone", "Parquet", "CSV", "numbers")
MECHANISMS = ("eager-nfa", "chain-nfa", "tree-nfa", "evaluation-tree")
HARDEST = "Australia/Lord_Howe"
"""Its clock changes by half an hour, before midnight in UTC."""


def in_zones(others: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return each zone with one of some others in turn, and each of these with the hardest zone."""
    return sorted({*zip(ZONES, itertools.cycle(others)), *((HARDEST, other) for other in others)})


def stream(zone: str, source: str, folder: Path) -> Any:
    """Return the events of a zone in a source."""
    events: Any = frame(zone)
    options: dict[str, str] = {"timezone": zone}
    match source:
        case "pandas in the zone":
            events, options = events.assign(ts=events.ts.dt.tz_convert(zone)), {}
        case "Arrow in the zone":
            table = pa.Table.from_pandas(events)
            events, options = (
                table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us", zone))),
                {},
            )
        case "Parquet":
            pq.write_table(pa.Table.from_pandas(events), folder / "events.parquet")
            events = folder / "events.parquet"
        case "CSV":
            events.to_csv(folder / "events.csv", index=False)
            events = folder / "events.csv"
        case "numbers":
            events, options = events.assign(ts=events.ts.astype("int64")), {**options, "unit": "us"}
    return ck.events(events, time="ts", type="kind", **options)


def ids(matches: Any, *variables: str) -> list[Any]:
    """Return the events of each match, sorted."""
    rows = matches.to_arrow().to_pylist()
    return sorted(
        row["a"]["id"] if not variables else tuple(row[v]["id"] for v in variables) for row in rows
    )


@pytest.mark.parametrize(("zone", "source"), in_zones(SOURCES))
def test_conditions_read_the_clock_of_the_zone(zone: str, source: str, tmp_path: Path) -> None:
    events = stream(zone, source, tmp_path)
    for condition in OF_ONE:
        matches = ck.detect(events, f"PATTERN ANY a WHERE {condition}")
        assert ids(matches) == sorted(expected(zone, condition)), condition
    for condition in OF_TWO:
        pattern = f"PATTERN SEQ(A a, B b) WHERE {condition}"
        pairs = sorted(expected_pairs(zone, condition))
        assert ids(ck.detect(events, pattern), "a", "b") == pairs, condition
        counted = ck.aggregate(events, f"{pattern} AGG COUNT", emit="total")
        assert counted.to_pandas()["count"].sum() == len(pairs)


@pytest.mark.parametrize(("zone", "mechanism"), in_zones(MECHANISMS))
def test_mechanisms_read_the_clock_of_the_zone(zone: str, mechanism: str) -> None:
    events = ck.events(frame(zone)[:30], time="ts", type="kind", timezone=zone)
    for condition in (*OF_ONE, *OF_TWO):
        pattern = f"PATTERN SEQ(A a, B b) WHERE {condition} WITHIN 3 hours"
        trace = ck.simulate(events, pattern, mechanism)
        assert len(trace.matches) == ck.detect(events, pattern).count()


def test_statistics_and_plans_of_a_pattern_serve_any_zone() -> None:
    pattern = "PATTERN SEQ(A a, B b) WHERE hour(a.ts) = 2 AND b.ts < TIMESTAMP '2024-04-01'"
    events = {
        zone: ck.events(frame("Europe/Rome"), time="ts", type="kind", timezone=zone)
        for zone in (None, "Europe/Rome")
    }
    counts = []
    for one in events.values():
        statistics = ck.profile(one, pattern)
        plan = ck.choose_plan(pattern, statistics)
        shared = ck.choose_plan(
            [pattern, "PATTERN SEQ(A a, B b)"],
            statistics=ck.profile(one, [pattern, "PATTERN SEQ(A a, B b)"]),
        )
        counts.append(ck.detect(one, pattern, plan=plan).count())
        both = ck.detect(one, [pattern, "PATTERN SEQ(A a, B b)"], plan=shared)
        assert both.counts().tolist()[0] == counts[-1]
        assert both.remove(both.names[1]).counts().tolist() == counts[-1:]
    assert counts[0] != counts[1]


def test_why_not_reads_the_clock_of_the_zone() -> None:
    events = ck.events(frame("Europe/Rome"), time="ts", type="kind", timezone="Europe/Rome")
    text = "PATTERN ANY a WHERE hour(a.ts) BETWEEN 1 AND 2 AND a.id < 0"
    (line,) = (row for row in str(ck.why_not(events, text)).splitlines() if "hour(" in row)
    assert line.split()[-3] == str(len(expected("Europe/Rome", "hour(a.ts) BETWEEN 1 AND 2")))


@pytest.mark.parametrize("zone", ZONES)
def test_windows_of_calendar_days_go_by_the_clock(zone: str) -> None:
    frame = hourly_frame(zone)
    events = ck.events(frame, time="ts", type="kind", timezone=zone)
    for pattern in CALENDAR:
        pairs = sorted(expected_windows(zone, pattern))
        assert ids(ck.detect(events, f"PATTERN {pattern}"), "a", "b") == pairs, pattern
        in_utc = f"PATTERN {pattern} AT TIME ZONE 'UTC'".replace("calendar ", "")
        same = ck.detect(events, f"PATTERN {pattern} AT TIME ZONE 'UTC'")
        assert same.count() == ck.detect(events, in_utc).count()
    changes = zone in ("Europe/Rome", "Australia/Lord_Howe")
    assert (pairs != ids(ck.detect(events, in_utc), "a", "b")) == changes


@pytest.mark.parametrize("zone", ["Europe/Rome", "Australia/Lord_Howe"])
def test_absences_and_sets_lie_in_the_window_of_calendar_days(zone: str) -> None:
    frame = hourly_frame(zone)
    events = ck.events(frame, time="ts", type="kind", timezone=zone)
    pairs = expected_windows(zone, "SEQ(A a, B b) WITHIN 1 calendar day")
    near = expected_windows(zone)
    kinds = dict(enumerate(frame.kind))
    a_events = [n for n, kind in kinds.items() if kind == "A"]
    later = {(m, n) for m, n in pairs if any(k > n and (m, k) in near for k in a_events)}
    earlier = {(m, n) for m, n in pairs if any(k < m and (k, n) in near for k in a_events)}
    for text, broken in (("A a, B b, NOT(A n)", later), ("NOT(A n), A a, B b", earlier)):
        matches = ck.detect(events, f"PATTERN SEQ({text}) WITHIN 1 calendar day")
        assert broken
        assert ids(matches, "a", "b") == sorted(pairs - broken)
    counts = [sum(1 for m, _ in pairs if m == a) for a in kinds]
    sets = ck.detect(events, "PATTERN SEQ(A a, KL(B b){1,2}) WITHIN 1 calendar day")
    assert sets.count() == sum(k + k * (k - 1) // 2 for k in counts)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(A a, B b, NOT(A n)) WITHIN 1 calendar day",
        "KL(SEQ(A a, B b)){1,2} WITHIN 1 calendar day EXCLUSIVE",
        "AND(OR(A a, SEQ(B b, OPT(A c))), B d) WITHIN 1 calendar day",
    ],
)
def test_mechanisms_know_windows_of_calendar_days(pattern: str, mechanism: str) -> None:
    frame = hourly_frame("Europe/Rome")[::6]
    events = ck.events(frame, time="ts", type="kind", timezone="Europe/Rome")
    text = f"PATTERN {pattern}"
    statistics = ck.profile(events, text)
    count = ck.detect(events, text, plan=ck.choose_plan(text, statistics)).count()
    assert count
    assert len(ck.simulate(events, text, mechanism).matches) == count
    assert ck.detect(events, [text, "PATTERN SEQ(A a, B b) WITHIN 1 day"]).counts()[0] == count


def test_times_of_matches_are_in_the_zone_of_the_stream():
    frame = pd.DataFrame(
        {"ts": pd.date_range("2024-03-31", periods=4, freq="1h", tz="UTC"), "type": [*"ABAB"]}
    )
    stream = ck.events(frame, time="ts", type="type", timezone="Europe/Rome")
    for clauses, names in (
        ("", ["a.ts", "b.ts"]),
        (" RETURN a.ts, b.ts + 1 hours AS x", ["a.ts", "x"]),
    ):
        matches = ck.detect(stream, f"PATTERN SEQ(A a, B b) WITHIN 1 hour{clauses}")
        frame = matches.to_pandas()
        for name in (*names, "match_start", "match_end"):
            assert str(frame[name].dt.tz) == "Europe/Rome", name
        assert frame["match_end"].tolist() == [
            pd.Timestamp("2024-03-31 03:00", tz="Europe/Rome"),
            pd.Timestamp("2024-03-31 05:00", tz="Europe/Rome"),
        ]
        assert matches.to_arrow().schema == matches.schema
