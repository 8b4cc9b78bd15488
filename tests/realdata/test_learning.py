"""Patterns learned from recorded events, judged on an attack left out, and on later congestion."""

from __future__ import annotations

import pytest

from benchmarks.datasets import absent
from benchmarks.learning import intrusions, traffic

ATTACKS, TRAFFIC = absent("windows-intrusion"), absent("aarhus-traffic")


@pytest.mark.skipif(ATTACKS is not None, reason=str(ATTACKS))
def test_attack_left_out_is_announced_by_its_pipe_or_nothing_is_proposed() -> None:
    rows = {row["judged on"]: row for row in intrusions()}
    for attack in ("psexec", "smbexec"):
        assert rows[attack]["F1"] == 1.0
        assert rows[attack]["first"].startswith('PATTERN "sysmon 17" a')
    for attack in ("wmic_backdoor", "dcsync"):
        assert rows[attack]["proposals"] == 0


@pytest.mark.skipif(TRAFFIC is not None, reason=str(TRAFFIC))
def test_congestion_is_announced_by_slow_readings_of_many_vehicles_at_any_segment() -> None:
    every, *single = traffic()
    assert every["incidents"] == 333
    assert every["precision"] > 10 * every["base rate"]
    assert "b.share < " in every["first"]
    assert "a.vehicle_count > " in every["first"]
    # Each alone has 39 incidents at most: whatever is proposed is better than the base rate.
    assert all(row["precision"] is None or row["precision"] > row["base rate"] for row in single)
