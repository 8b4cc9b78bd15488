"""On Spark the recorded streams give the local matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.attacks import PSEXEC, WMIC, Attack, pattern
from benchmarks.datasets import absent, intrusion, trades
from benchmarks.stock_patterns import ASEQ_2, TRADES
from cepkit import detect, events
from cepkit.columnar.results.matches import Matches
from cepkit.spark.matches.result import SparkMatches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("attack", [PSEXEC, WMIC], ids=lambda attack: attack.recording)
def test_known_attack_is_among_the_matches_on_spark(attack: Attack, spark: SparkSession) -> None:
    if reason := absent("windows-intrusion"):
        pytest.skip(reason)
    frame = intrusion(attack.recording)
    frame = frame.astype(object).where(frame.notna(), None)
    source = events(spark.createDataFrame(frame), time="time", type="type")
    rows = detect(source, pattern(attack)).collect()
    found = [tuple(row[step.variable]["seq"] for step in attack.steps) for row in rows]
    assert attack.known in found
    assert len(found) == (3 if attack is WMIC else 1)


def test_trades_with_an_absence(spark: SparkSession) -> None:
    if reason := absent(TRADES):
        pytest.skip(reason)
    frame = trades()
    local = detect(events(frame, time="ts_ms", type="ticker", unit="ms"), ASEQ_2[-1].text)
    source = events(spark.createDataFrame(frame), time="ts_ms", type="ticker", unit="ms")
    there = detect(source, ASEQ_2[-1].text)
    assert isinstance(local, Matches)
    assert isinstance(there, SparkMatches)
    assert there.count() == local.count()
