"""Conditions read the clock of the zone: of the pattern, else of the stream, else of its column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepkit as ck
from tests.clocks import OF_ONE, OF_TWO, ZONES, expected, expected_pairs, frame

SOURCES = ("pandas in UTC", "pandas in the zone", "Arrow in the zone", "Parquet", "CSV", "numbers")


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


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("zone", ZONES)
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


@pytest.mark.parametrize("mechanism", ["eager-nfa", "chain-nfa", "tree-nfa", "evaluation-tree"])
@pytest.mark.parametrize("zone", ZONES)
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
    text = str(ck.why_not(events, "PATTERN SEQ(A a, B b) WHERE hour(a.ts) = 2 AND b.id < 0"))
    a = sum(1 for n in expected("Europe/Rome", "hour(a.ts) BETWEEN 1 AND 2") if n % 2 == 0)
    assert a
    assert text
