"""Recorded intrusions are found: by the time of the events, with the tolerance of the clocks."""

from __future__ import annotations

import pytest

from benchmarks.attacks import (
    ATTACKS,
    DCSYNC,
    PSEXEC,
    SMBEXEC,
    WMIC,
    Attack,
    dcsync_with_set,
    pattern,
    wmic_with_first_logon,
    wmic_with_own_logon,
)
from benchmarks.datasets import absent
from benchmarks.intrusion import crossed, found, stream
from cepkit import detect
from cepkit.columnar.results.matches import Matches

REASON = absent("windows-intrusion")
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

each_attack = pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.recording)


def names(attack: Attack) -> list[str]:
    return [step.variable for step in attack.steps]


@each_attack
def test_known_attack_is_among_the_matches(attack: Attack) -> None:
    matches = found(stream(attack.recording), pattern(attack), names(attack))
    assert attack.known in matches
    assert len(matches) == (3 if attack is WMIC else 1)


@each_attack
def test_types_and_order_alone_find_them_among_few_others(attack: Attack) -> None:
    text = pattern(attack, narrow=False)
    matches = found(stream(attack.recording), text, names(attack))
    assert attack.known in matches
    expected = {"psexec": 10, "smbexec": 15, "wmic_backdoor": 12, "dcsync": 2}
    assert len(matches) == expected[attack.recording]


@each_attack
def test_seq_by_clocks_that_are_cut_off_misses_them(attack: Attack) -> None:
    source = stream(attack.recording, "cut")
    assert attack.known not in found(source, pattern(attack, sequence=True), names(attack))


@pytest.mark.parametrize("attack", [PSEXEC, SMBEXEC], ids=lambda attack: attack.recording)
def test_arrival_puts_the_service_behind_the_program_that_it_starts(attack: Attack) -> None:
    for clock in ("arrival", "number"):
        assert found(stream(attack.recording, clock), pattern(attack), names(attack)) == []


def test_arrival_order_finds_the_attacks_if_the_collector_kept_it() -> None:
    for attack in (WMIC, DCSYNC):
        source = stream(attack.recording, "number")
        assert found(source, pattern(attack), names(attack)) == [attack.known]


@each_attack
@pytest.mark.parametrize("narrow", [True, False])
def test_order_by_conditions_equals_seq_on_an_exact_clock(attack: Attack, narrow: bool) -> None:
    for clock in ("cut", "arrival"):
        source = stream(attack.recording, clock)
        by_conditions = found(source, pattern(attack, narrow=narrow), names(attack))
        text = pattern(attack, narrow=narrow, sequence=True)
        assert sorted(by_conditions) == sorted(found(source, text, names(attack)))


def test_seq_of_groups_orders_whole_second_times_before_exact_ones() -> None:
    text = pattern(PSEXEC, sequence=True)
    text = text.replace('"security 4624" logon', 'AND("security 4624" logon', 1)
    text = text.replace('"system 7045" installed', '"system 7045" installed)', 1)
    assert found(stream("psexec"), text, names(PSEXEC)) == [PSEXEC.known]


def test_condition_chooses_the_first_logon_or_that_of_the_session() -> None:
    source = stream("wmic_backdoor")
    assert found(source, wmic_with_first_logon(), names(WMIC)) == [WMIC.known]
    assert found(source, wmic_with_own_logon(), names(WMIC)) == [(165, 640, 414, 781)]


def test_no_attack_is_seen_where_it_did_not_happen() -> None:
    for row in crossed():
        # What psexec looks for happens in smbexec as well: a service, started from afar.
        alike = {row["pattern"], "smbexec" if row["pattern"] == "psexec" else row["pattern"]}
        assert {name for name, count in row.items() if name != "pattern" and count} == alike


def test_three_equal_events_are_found_once() -> None:
    text = pattern(DCSYNC).replace("  AND d1.seq < d2.seq\n  AND d2.seq < d3.seq\n", "")
    assert len(found(stream("dcsync"), text, names(DCSYNC))) == 6


def test_three_equal_events_are_one_set() -> None:
    matches = detect(stream("dcsync"), dcsync_with_set())
    assert isinstance(matches, Matches)
    (row,) = matches.to_arrow().to_pylist()
    known = row["whoami"]["seq"], row["logon"]["seq"], *(event["seq"] for event in row["d"])
    assert known == DCSYNC.known
