"""What ends a greedy run of neighbours: one rule, the same as that of SQL's DEFINE."""

from __future__ import annotations

import random

import pandas as pd
import pytest

import cepkit as ck
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.errors import PatternError
from cepkit.pattern.builder import event, first, kl, last, running, var

ENDING = {
    "the member alone": ("a[i].v < 5", "a.v < 5"),
    "the first": ("a[i].v - a[1].v <= 2", "a.v - FIRST(a.v) <= 2"),
    "first()": ("first(a.v) - a.v <= 1", "FIRST(a.v) - a.v <= 1"),
    "the second": (
        "(a[2].v IS NULL OR a[i].v <= a[2].v + 1)",
        "COUNT(a.v) < 2 OR a.v <= FIRST(a.v, 1) + 1 AND (COUNT(a.v) > 2 OR FIRST(a.v) <= a.v + 1)",
    ),
    "the one before": ("a[i].v >= a[i-1].v - 1", "(COUNT(a.v) = 1 OR a.v >= LAST(a.v, 1) - 1)"),
    "two before": ("a.v <= prev(a.v, 2) + 1", "(COUNT(a.v) <= 2 OR a.v <= LAST(a.v, 2) + 1)"),
    "the first up to": ("a.v - first(a[..i].v) <= 2", "a.v - FIRST(a.v) <= 2"),
    "the first before": ("a.v > first(a[..i-1].v)", "(COUNT(a.v) = 1 OR a.v > FIRST(a.v))"),
    "the last up to": ("last(a[..i].v) < 4", "LAST(a.v) < 4"),
    "the last before": ("last(a[..i-1].v) <= a.v", "(COUNT(a.v) = 1 OR LAST(a.v, 1) <= a.v)"),
    "a running sum": ("sum(a[..i].v) <= 7", "SUM(a.v) <= 7"),
    "a running mean": ("avg(a[..i].v) < 3", "AVG(a.v) < 3"),
    "a running minimum": ("a.v <= min(a[..i].v) + 2", "a.v <= MIN(a.v) + 2"),
    "a running maximum": ("a.v >= max(a[..i].v) - 2", "a.v >= MAX(a.v) - 2"),
    "a running number": ("count(a[..i]) <= 3", "COUNT(a.v) <= 3"),
    "the time since the first": ("a[i].t - a[1].t <= 3 seconds", "a.t - FIRST(a.t) <= 3"),
    "a gap": ("a[i].t - a[i-1].t <= 1 second", "(COUNT(a.v) = 1 OR a.t - LAST(a.t, 1) <= 1)"),
}
"""Conditions that end a run, here and in DEFINE."""

CHOOSING = {
    "the last": ("a[last].v - a[1].v >= 1", "l - f >= 1"),
    "a sum": ("sum(a.v) >= 6", "s >= 6"),
    "a number": ("count(a) <= 2", "n <= 2"),
    "the last but one": ("a[last-1].v > last(a.v)", "b > l"),
}
"""Conditions on the whole run, and what SQL asks of the measures."""

NAMES = [*ENDING]
PAIRS = [(one, NAMES[(at + 5) % len(NAMES)]) for at, one in enumerate(NAMES)]


def table(seed: str) -> pd.DataFrame:
    draw = random.Random(seed)
    times = [0]
    while len(times) < 12:
        times.append(times[-1] + draw.choice((1, 1, 2)))
    return pd.DataFrame({"t": times, "kind": "r", "v": [draw.randint(0, 6) for _ in times]})


def stream(rows: pd.DataFrame) -> ck.Stream:
    return ck.events(rows, time="t", type="kind", unit="s")


def runs(rows, conditions, skip="PAST LAST EVENT"):
    """Return the first and the last time of each run."""
    text = f"PATTERN KL(NEXT r a) GREEDY WHERE {' AND '.join(conditions)} AFTER MATCH SKIP {skip}"
    found = ck.detect(stream(rows), f"{text} RETURN first(a.t) AS f, last(a.t) AS l").to_pandas()
    return sorted(zip(found["f"], found["l"], strict=True))


def rows_of_sql(rows, conditions, skip="PAST LAST ROW", where="TRUE"):
    found = ck.from_match_recognize(
        f"""SELECT * FROM r MATCH_RECOGNIZE (
            ORDER BY t
            MEASURES FIRST(a.t) AS began, LAST(a.t) AS ended, FIRST(a.v) AS f, LAST(a.v) AS l,
              LAST(a.v, 1) AS b, SUM(a.v) AS s, COUNT(a.v) AS n
            AFTER MATCH SKIP {skip} PATTERN (a+)
            DEFINE a AS {" AND ".join(f"({each})" for each in conditions)}) WHERE {where}""",
        rows,
    ).to_pandas()
    return sorted(zip(found.iloc[:, 0], found.iloc[:, 1], strict=True))


@pytest.mark.parametrize("names", [*((name,) for name in NAMES), *PAIRS], ids=" and ".join)
def test_a_condition_on_members_up_to_each_ends_a_run_as_in_sql(names):
    rows = table(" ".join(names))
    mine, sql = zip(*(ENDING[name] for name in names), strict=True)
    assert runs(rows, mine) == rows_of_sql(rows, sql) != []
    assert runs(rows, mine, "TO NEXT") == rows_of_sql(rows, sql, "TO NEXT ROW")


@pytest.mark.parametrize("name", CHOOSING)
def test_a_condition_on_the_whole_run_chooses_among_those_that_ended(name):
    whole, where = CHOOSING[name]
    rows = table(name)
    for mine, sql in (ENDING["the first"], ENDING["a gap"]):
        expected = rows_of_sql(rows, [sql], "TO NEXT ROW", where)
        assert runs(rows, [mine, whole], "TO NEXT") == expected != []


@pytest.mark.parametrize(
    ("condition", "instead"),
    [
        ("a[i].v - a[last].v <= 2", "last(a[..i].v)"),
        ("a.v < avg(a.v) + 3", "avg(a[..i].v)"),
        ("a.v > a[last-1].v OR a.v < 2", "prev(a.v)"),
        ("a[i].v + a[1].v < sum(a.v)", "first(a.v) < sum(a[..i].v)"),
        ("a.v < count(a)", "count(a[..i])"),
    ],
)
def test_each_member_beside_the_whole_run_is_refused_with_a_rewrite(condition, instead):
    with pytest.raises(PatternError) as error:
        ck.parse(f"PATTERN KL(NEXT r a) GREEDY WHERE {condition}")
    assert "'a'" in str(error.value)
    assert instead in " ".join(str(error.value).split())
    ck.parse(f"PATTERN KL(NEXT r a) WHERE {condition}")  # there a run of each length is a match


def test_event_before_the_run_ends_it_with_its_members():
    rows = pd.DataFrame({"t": range(6), "kind": list("xrrrry"), "v": [1, 3, 5, 4, 9, 0]})
    text = "PATTERN SEQ(x b, NEXT KL(NEXT r a) GREEDY) WHERE a[i].v - a[1].v < 3 + b.v"
    assert [len(match["a"]) for match in ck.detect(stream(rows), text)] == [3]
    behind = "PATTERN SEQ(x b, NEXT KL(NEXT r a) GREEDY, y c) WHERE a[i].v - a[1].v < 3 + c.v"
    assert ck.detect(stream(rows), behind).count() == 0  # asked of all four


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_mechanisms_end_runs_by_the_same_rule(mechanism):
    rows = table("mechanisms").head(6)
    names = ("the first", "the second", "the first before", "the time since the first")
    texts = [ENDING[name][0] for name in names]
    for condition in (*texts, CHOOSING["the last"][0]):
        text = f"PATTERN KL(NEXT r a) GREEDY WHERE {condition} WITHIN 1 hour"
        found = ck.detect(stream(rows), text)
        trace = ck.simulate(stream(rows), text, mechanism)
        expected = sorted([event["t"] for event in match["a"]] for match in found)
        assert sorted([int(rows["t"][e]) for e in m.events["a"]] for m in trace.matches) == expected


@pytest.mark.parametrize(
    "condition", ["a[i].v - a[1].v <= 2", "a[2].v IS NULL OR a[i].v <= a[2].v + 1"]
)
def test_why_not_ends_runs_by_the_same_rule(condition):
    rows = pd.DataFrame({"t": range(4), "kind": "r", "v": [10, 11, 12, 20]})
    text = f"PATTERN KL(NEXT r a) GREEDY WHERE {condition}"
    short = str(ck.why_not(stream(rows), text, a=[0, 1]))
    assert "fails  KL(NEXT r a) GREEDY" in short
    assert "row 2 (r, 1 s after a) fits as well" in short
    assert "A match after all" in str(ck.why_not(stream(rows), text, a=[0, 1, 2]))


def test_running_first_and_last_are_known_to_the_builder_and_in_groups():
    a = var("a")
    condition = (running(last(a.v)) - running(first(a.v)) < 3) & (
        running(last(a.v), before=True) < 9
    )
    pattern = kl(event("a", "r")).where(condition)
    text = "PATTERN KL(r a) WHERE last(a[..i].v) - first(a[..i].v) < 3 AND last(a[..i-1].v) < 9"
    assert pattern.query == ck.parse(text) == ck.parse(str(pattern))
    rows = pd.DataFrame({"t": range(6), "kind": list("rsrsrs"), "v": [1, 2, 3, 4, 1, 6]})
    group = "PATTERN KL(SEQ(r a, NEXT s b)){2} WHERE b.v > first(a[..i-1].v) + 2 RETURN b.v"
    found = [match["b.v"] for match in ck.detect(stream(rows), group)]
    assert sorted(found) == [[2, 4], [2, 6], [4, 6]]
