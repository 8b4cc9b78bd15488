"""skip-till-next-match: worked examples, and both methods on streams that are long and dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit.columnar.compile.query import compile_query
from cepkit.columnar.detector import Detector
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.skip_till_next import detection
from cepkit.columnar.skip_till_next.detection import search_programs
from cepkit.pattern.evaluation.functions import registered as functions
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.checks import as_plan

Row = tuple[float, str, float]


def taken(rows: list[Row], pattern: str, plan: Any = None) -> list[tuple[int, ...]]:
    """Return the matches as arrival numbers in pattern order, in the order of their numbers."""
    frame = pd.DataFrame(rows, columns=["ts", "type", "x"]).assign(id=range(len(rows)))
    frame["ts"] = pd.to_datetime(frame["ts"], unit="s")
    matches = ck.detect(
        ck.events(frame, time="ts", type="type"),
        f"PATTERN {pattern} STRATEGY skip-till-next-match",
        plan,
    )
    table = matches.to_arrow().to_pylist()
    names = matches.variables
    return sorted(tuple(row[v]["id"] for v in names if row[v] is not None) for row in table)


def typed(text: str) -> list[Row]:
    """Return events of these types, a second apart."""
    return [(second, kind, 0.0) for second, kind in enumerate(text.split())]


def test_an_event_is_used_once() -> None:
    assert taken(typed("A A B B B"), "SEQ(A a, B b) WITHIN 9 s") == [(0, 2), (1, 3)]


@pytest.mark.parametrize("plan", [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]])
def test_the_plan_does_not_matter(plan: list[str]) -> None:
    rows = typed("A B A B C C A B C")
    expected = [(0, 1, 4), (2, 3, 5), (6, 7, 8)]
    assert taken(rows, "SEQ(A a, B b, C c) WITHIN 9 s", plan) == expected


def test_numbers_are_compared_in_pattern_order() -> None:
    rows = [(0, "A", 2.0), (1, "A", 1.0), (2, "B", 1.0), (3, "B", 3.0), (4, "C", 0.0)]
    # The first b does not go with the first a, but the first a is what counts.
    assert taken(rows, "SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 9 s") == [(0, 3, 4)]
    assert taken(rows, "AND(B b, A a, C c) WHERE a.x <= b.x WITHIN 9 s") == [(2, 1, 4)]


def test_an_event_that_a_match_needs_later_is_gone() -> None:
    rows = typed("A B C")
    # The pair of a and b ends first and takes b.
    assert taken(rows, "OR(SEQ(A a, B b), SEQ(B d, C c)) WITHIN 9 s") == [(0, 1)]


def test_branch_with_smaller_numbers_wins_when_both_end_together() -> None:
    assert taken(typed("A B C"), "OR(SEQ(B b, C c), SEQ(A a, C d)) WITHIN 9 s") == [(0, 2)]
    # Numbers that others continue come before them.
    assert taken(typed("A B"), "OR(AND(B b, A a), B c) WITHIN 9 s") == [(1,)]


def test_event_of_not_breaks_a_match_even_when_consumed() -> None:
    pattern = "OR(SEQ(A a, NOT(N n), B b), N m) WITHIN 9 s"
    assert taken(typed("A N B A B"), pattern) == [(1,), (3, 4)]


def test_a_trailing_absence_is_looked_for_after_the_last_event() -> None:
    pattern = "SEQ(A a, B b, NOT(N n)) WITHIN 3 s"
    assert taken(typed("A B N A B C C C N"), pattern) == [(3, 4)]


def test_ties_are_no_sequence_but_have_an_order() -> None:
    together = [(0, "A", 0.0), (0, "B", 0.0), (0, "B", 0.0), (1, "B", 0.0)]
    assert taken(together, "SEQ(A a, B b) WITHIN 9 s") == [(0, 3)]
    assert taken(together, "AND(B b, A a) WITHIN 9 s") == [(1, 0)]
    # Of two last events at one time the one that came first is served first.
    later = [(0, "A", 0.0), (1, "B", 1.0), (1, "B", 2.0)]
    assert taken(later, "SEQ(A a, B b) WITHIN 9 s") == [(0, 1)]


def test_the_order_of_arrival_counts_where_it_is_not_that_of_time() -> None:
    rows = [(1, "A", 0.0), (0, "A", 0.0), (2, "B", 0.0)]
    assert taken(rows, "SEQ(A a, B b) WITHIN 9 s") == [(0, 2)]


def test_a_column_of_arrivals_decides_where_there_is_one() -> None:
    frame = pd.DataFrame({"ts": [0, 0, 1], "type": list("AAB"), "came": [7, 3, 9]})
    stream = ck.events(frame, time="ts", type="type", unit="s", arrival="came")
    matches = ck.detect(stream, "PATTERN SEQ(A a, B b) STRATEGY skip-till-next-match")
    assert [row["a"]["came"] for row in matches.to_arrow().to_pylist()] == [3]


def test_explain_counts_matches_as_survivors() -> None:
    rows = [(second, kind, 0.0) for second, kind in enumerate("AABBB")]
    frame = pd.DataFrame(rows, columns=["ts", "type", "x"])
    stream = ck.events(frame, time="ts", type="type", unit="s")
    for condition in ("", "WHERE a.x + b.x < 1"):
        text = f"PATTERN SEQ(A a, B b) {condition} WITHIN 9 s STRATEGY skip-till-next-match"
        matches = ck.detect(stream, text)
        last = matches.explain().steps[-1]
        assert (matches.count(), last.survivors) == (2, 2)
        assert last.candidates >= 2
        assert len(matches.head(1)) == 1


def test_comparison_implied_by_two_others_refuses_candidates_early() -> None:
    rows = [(0, "A", 5.0), (1, "A", 2.0), (2, "B", 6.0), (3, "B", 3.0), (4, "C", 4.0)]
    frame = pd.DataFrame(rows, columns=["ts", "type", "x"])
    stream = ck.events(frame, time="ts", type="type", unit="s")
    strategy = "WITHIN 9 s STRATEGY skip-till-next-match"
    text = f"PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND c.x > b.x {strategy}"
    matches = ck.detect(stream, text)
    assert matches.count() == 1
    # No b is looked at for the first a, which is not below c.
    looked_at = {step.variable: step.candidates for step in matches.explain().steps}
    assert looked_at == {"a": 2, "b": 2, "c": 1}


PATTERNS = [
    ("SEQ(A a, B b, C c)", True),
    ("SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x", True),
    ("SEQ(A a, B b, C c, D d) WHERE a.x < d.x AND c.x < d.x", True),
    ("SEQ(A a, B b, C c, D d) WHERE c.x < 0.1 * d.x", True),
    ("SEQ(A a, B b, C c) WHERE a.k = b.k", True),
    ("SEQ(A a, B b, C c, D d) WHERE a.k = c.k AND b.k = d.k", True),
    ("SEQ(A a, B b, C c) PARTITION BY k", True),
    ("SEQ(A a, B b, C c) WHERE a.rare = b.rare", True),
    ("SEQ(A a, B b, C c, D d) WHERE b.rare = c.rare AND a.x < 0.5 * d.x", True),
    ("SEQ(A a, B b, C c, D d) WHERE a.rare = c.rare AND b.x < 0.3 * a.x AND b.k = d.k", True),
    ("SEQ(A a, B b, C c, D d) WHERE a.x < b.x AND b.x < c.x AND c.x <= d.x", True),
    ("AND(SEQ(A a, B b), ANY c) WHERE b.x < 0.1 * a.x AND b.rare = c.rare", True),
    ("SEQ(A a, NOT(C n), B b, AND(C c, D d)) WHERE a.rare = b.rare AND n.x < b.x", True),
    ("AND(A a, B b, C c) WHERE a.x < b.x", True),
    ("AND(SEQ(A a, B b), SEQ(C c, D d)) WHERE a.k = d.k", True),
    ("AND(ANY a, B b, ANY c) WHERE a.x < c.x", True),
    ("SEQ(A a, AND(B b, C c), OR(D d, A e)) WHERE a.x < b.x", True),
    ("SEQ(A a, NOT(B n), C c, NOT(D m)) WHERE n.x < a.x", True),
    ("SEQ(A a, NOT(B n), C c, D d)", True),
    ("SEQ(A a, NOT(B n), C c, D d) WHERE n.k = d.k AND n.x < c.x", True),
    ("SEQ(A a, NOT(ANY n), AND(C c, D d)) WHERE n.x < 0.1 * a.x", True),
    ("OR(SEQ(A a, B b), SEQ(B c, C d), SEQ(A e, D f)) WHERE c.x < d.x", True),
    ("SEQ(A a, B b, C c) WHERE a.x + b.x < c.x", True),
    ("SEQ(A a, B b, C c) WHERE a.k != b.k OR b.x < c.x", True),
    ("SEQ(A a, B b, C c, D d) WHERE abs(b.x - a.x) < 0.1 AND b.rare % a.k = 1", True),
    ("SEQ(A a, B b, C c) WHERE least(a.x, b.x) / c.x < 0.5 AND sqrt(a.x - b.x) IS NULL", True),
    ("SEQ(A a, B b, C c) WHERE a.k + b.k IN (c.k, 3) AND NOT (a.x * b.x > 0.2)", True),
    ("SEQ(A a, NOT(B n), C c, D d) WHERE n.x + a.x < d.x AND log(c.x - a.x) < 0", True),
    ("SEQ(A a, NOT(B n), C c) WHERE n.k != a.k AND n.x < -a.x + greatest(a.x, c.x)", True),
    ("AND(A a, B b, C c) WHERE a.x - b.x > c.x - 0.3 OR a.rare = b.rare", True),
    ("SEQ(A a, B b, C c) WHERE a.y + b.y < c.y OR (a.y - b.y) IS NULL", True),
    ("SEQ(A a, B b, C c) WHERE a.y != b.y AND a.k / (b.k - 1) > 1 AND b.y % a.x < 0.1", True),
    ("SEQ(A a, B b, C c) WHERE a.t != b.t AND (b.t IN (c.t, 'q') OR c.t = 'r')", True),
    ("SEQ(A a, B b, C c) WHERE (a.t = 'p' OR b.t < c.t) AND -(a.k * b.k) < -c.k", True),
    ("SEQ(A a, B b, C c) WHERE c.x - 0.2 < b.x AND b.x < c.x + 0.1 AND a.x < 2 * b.x", True),
    ("SEQ(A a, B b, C c) WHERE b.x < c.x AND b.y > 0.3 * c.x AND b.m < 2 * a.m", True),
    ("SEQ(A a, B b, C c) WHERE twice(a.x) < b.x AND twice(c.x - a.x) < b.x", False),
    ("SEQ(A a, B b, C c) WHERE corr(a.history, b.history) > 0.5", False),
]


@pytest.mark.parametrize(("pattern", "searched"), PATTERNS)
@pytest.mark.parametrize(("window", "seed"), [("WITHIN 0.3 s", 0), ("WITHIN 40 EVENTS", 1)])
def test_searches_and_batches_agree_on_dense_streams(
    pattern: str, searched: bool, window: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(functions, "_registered", {"twice": lambda x: 2 * x})
    head, by, key = pattern.partition(" PARTITION BY ")
    query = parse(f"PATTERN {head} {window} STRATEGY skip-till-next-match{by}{key}")
    assert (search_programs(normal_form(query)) is not None) == searched
    stream = ck.events(_dense(seed), time="ts", type="type")
    found = _ids(stream, query)
    assert found
    monkeypatch.setattr(detection, "search_programs", lambda branches: None)
    assert _ids(stream, query) == found


def _dense(seed: int) -> pd.DataFrame:
    """Return 600 events of four types, some 10 ms apart, a third of them at equal times."""
    random = np.random.default_rng(seed)
    n = 600
    gaps = random.choice([0, 10_000, 20_000], n)
    return pd.DataFrame(
        {
            "ts": pd.to_datetime(np.cumsum(gaps), unit="us"),
            "type": random.choice(list("ABCD"), n, p=[0.4, 0.3, 0.2, 0.1]),
            "x": random.random(n),
            "k": random.integers(0, 4, n),
            "m": random.integers(0, 9, n),
            "rare": random.integers(0, 40, n),
            "y": np.where(random.random(n) < 0.1, np.nan, random.random(n)),
            "t": random.choice(np.array(["p", "q", "r", None], dtype=object), n),
            "history": list(random.random((n, 3))),
            "id": np.arange(n),
        }
    )


def _ids(stream: Any, query: Any) -> list[list[int | None]]:
    matches = Matches(stream, query, as_plan(None, query), slice_rows=250)
    rows = matches.to_arrow().to_pylist()
    return sorted(
        ([row[v] and row[v]["id"] for v in matches.variables] for row in rows),
        key=lambda ids: [-1 if i is None else i for i in ids],
    )


def test_end_of_a_stream_without_further_last_events_has_no_matches():
    query = parse("PATTERN SEQ(A a, B b) WITHIN 9 s STRATEGY skip-till-next-match")
    detector = Detector(compile_query(query, as_plan(["a", "b"], query)))
    rows = [{"t": t, "type": kind} for t, kind in enumerate("AB")]
    columns = ck.events(rows, time="t", type="type", unit="s").columns(())
    assert [block.size for _, block in detector.feed(columns, 2_000_000)] == [1]
    assert not [*detector.finish()]
