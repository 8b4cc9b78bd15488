"""KL under skip-till-next-match: worked examples, and batches of any size on dense streams."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.skip_till_next import batches as next_match_batches
from cepkit.errors import LimitError
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.checks import as_plan

Row = tuple[float, str, float]


def typed(text: str) -> list[Row]:
    """Return events of these types, a second apart."""
    return [(second, kind, 0.0) for second, kind in enumerate(text.split())]


def stream(rows: list[Row]) -> Any:
    frame = pd.DataFrame(rows, columns=["ts", "type", "x"]).assign(id=range(len(rows)))
    return ck.events(frame, time="ts", type="type", unit="s")


def taken(rows: list[Row], pattern: str) -> list[tuple[Any, ...]]:
    """Return the matches as arrival numbers in pattern order, those of a set as a list."""
    query = f"PATTERN {pattern} WITHIN 9 s STRATEGY skip-till-next-match"
    return ids(ck.detect(stream(rows), query))


def ids(matches: Matches) -> list[tuple[Any, ...]]:
    def of(bound: Any) -> Any:
        return [event["id"] for event in bound] if isinstance(bound, list) else bound["id"]

    rows = matches.to_arrow().to_pylist()
    found = [tuple(of(row[v]) for v in matches.variables if row[v] is not None) for row in rows]
    return sorted(found, key=str)


def test_a_set_takes_all_it_can() -> None:
    assert taken(typed("A B B C C"), "SEQ(A a, KL(B b), C c)") == [(0, [1, 2], 3)]


def test_a_set_at_the_end_is_taken_with_its_first_event() -> None:
    assert taken(typed("A B B A B"), "SEQ(A a, KL(B b))") == [(0, [1]), (3, [4])]
    assert taken(typed("A B B A B"), "SEQ(A a, KL(B b){2,})") == [(0, [1, 2])]


def test_set_takes_only_events_that_earlier_matches_left_free() -> None:
    assert taken(typed("A B A B C B C"), "SEQ(A a, KL(B b), C c)") == [(0, [1, 3], 4), (2, [5], 6)]


def test_a_bounded_set_takes_the_earliest_and_leaves_the_others() -> None:
    rows = typed("A A B B B C C")
    assert taken(rows, "SEQ(A a, KL(B b){1,2}, C c)") == [(0, [2, 3], 5), (1, [4], 6)]
    assert taken(rows, "SEQ(A a, KL(B b){2,2}, C c)") == [(0, [2, 3], 5)]


def test_condition_on_a_set_chooses_the_first_set_that_fulfils_it() -> None:
    rows = [(0, "A", 0.0), (1, "B", 3.0), (2, "B", 2.0), (3, "B", 1.0), (4, "C", 0.0)]
    pattern = "SEQ(A a, KL(B b), C c) WHERE sum(b.x) <= 4"
    assert taken(rows, pattern) == [(0, [1, 3], 4)]
    again = [(-1, "A", 0.0), *rows, (5, "C", 0.0)]
    assert taken(again, pattern) == [(0, [2, 4], 5), (1, [3], 6)]


def test_search_of_many_sets_ends_at_the_first_that_holds() -> None:
    rows = [(0, "A", 0.0), *((1 + i / 10, "B", 1.0) for i in range(40)), (6, "C", 0.0)]
    pattern = "SEQ(A a, KL(B b), C c) WHERE sum(b.x) < 40"
    assert taken(rows, pattern) == [(0, [*range(1, 40)], 41)]
    assert taken(rows, f"{pattern} AND avg(b.x) = 1") == [(0, [*range(1, 40)], 41)]


def test_a_window_counts_from_the_last_event() -> None:
    rows = [(0, "B", 0.0), (5, "A", 0.0), (8, "B", 0.0), (12, "B", 0.0), (13, "B", 0.0)]
    # With the b at 8 the first b is in the window.
    assert taken(rows, "AND(A a, KL(B b){2,})") == [(1, [0, 2])]
    assert taken(rows, "AND(A a, KL(B b){3,})") == [(1, [2, 3, 4])]


def test_earliest_means_arrival_where_that_is_not_the_order_of_time() -> None:
    rows = [(0, "A", 0.0), (2, "B", 0.0), (1, "B", 0.0), (3, "C", 0.0)]
    assert taken(rows, "SEQ(A a, KL(B b){1,1}, C c)") == [(0, [1], 3)]
    assert taken(rows, "SEQ(A a, KL(B b), C c)") == [(0, [2, 1], 3)]


def test_several_sets_share_no_event() -> None:
    assert taken(typed("B B C"), "SEQ(AND(KL(B a), KL(B b)), C c)") == [([0], [1], 2)]
    assert taken(typed("A A B B B"), "SEQ(KL(A a), KL(B b){2,})") == [([0, 1], [2, 3])]


def test_set_in_one_branch_wins_unless_the_single_event_comes_first() -> None:
    pattern = "OR(SEQ(KL(A a), C c), SEQ(A d, C e))"
    assert taken(typed("A A C"), pattern) == [([0, 1], 2)]
    assert taken(typed("A C"), pattern) == [(0, 1)]


def test_an_absence_may_depend_on_members() -> None:
    rows = [(0, "A", 0.0), (1, "B", 1.0), (2, "B", 5.0), (3, "C", 0.0), (4, "N", 3.0)]
    pattern = "AND(SEQ(A a, KL(B b), C c), NOT(N n)) WHERE n.x < b.x"
    assert taken(rows, "AND(SEQ(A a, KL(B b), C c), NOT(N n))") == []
    # An n is in the way only where it is below every member.
    assert taken(rows, pattern) == [(0, [1, 2], 3)]


def test_matches_are_counted_and_explained() -> None:
    matches = ck.detect(
        stream(typed("A B B C A B C")),
        "PATTERN SEQ(A a, KL(B b), C c) WITHIN 9 s STRATEGY skip-till-next-match",
    )
    assert matches.count() == 2
    assert matches.explain().steps[-1].survivors == 2
    assert len(matches.head(1)) == 1


def test_more_sets_than_can_be_tried_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = typed("A B B B B C")
    pattern = "SEQ(A a, KL(B b), C c) WHERE avg(b.x) > 1"
    assert taken(rows, pattern) == []
    monkeypatch.setattr(next_match_batches, "MOST_TRIED", 14)
    with pytest.raises(LimitError, match=r"too many sets of 'b' to check"):
        taken(rows, pattern)


PATTERNS = [
    "SEQ(A a, KL(B b), C c)",
    "SEQ(A a, KL(B b))",
    "SEQ(KL(A a), B b)",
    "SEQ(KL(A a), KL(B b){1,3})",
    "AND(A a, KL(B b), C c)",
    "SEQ(A a, KL(B b){2,3}, C c) WHERE b.x > a.x",
    "SEQ(A a, KL(B b), C c, D d) WHERE b.k = a.k",
    "SEQ(A a, KL(B b), NOT(D n), C c)",
    "SEQ(A a, KL(B b){1,2}, C c) WHERE sum(b.x) < a.x + c.x",
    "OR(SEQ(A a, KL(B b), C c), SEQ(B d, D e))",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("in_order", [True, False])
def test_batches_of_one_event_and_of_many_take_the_same(pattern: str, in_order: bool) -> None:
    query = parse(f"PATTERN {pattern} WITHIN 0.2 s STRATEGY skip-till-next-match")
    events = ck.events(_dense(in_order), time="ts", type="type")
    plan = as_plan(None, query)
    first = ids(Matches(events, query, plan))
    assert first
    for rows in (1, 125):
        assert ids(Matches(events, query, plan, slice_rows=rows)) == first


def _dense(in_order: bool) -> pd.DataFrame:
    """Return 200 events of four types, some 10 ms apart, a third of them at equal times."""
    random = np.random.default_rng(3)
    n = 200
    gaps = random.choice([0, 10_000, 20_000], n)
    frame = pd.DataFrame(
        {
            "ts": pd.to_datetime(np.cumsum(gaps), unit="us"),
            "type": random.choice(list("ABCD"), n, p=[0.3, 0.4, 0.2, 0.1]),
            "x": random.random(n),
            "k": random.integers(0, 4, n),
        }
    )
    if not in_order:
        frame = frame.iloc[np.argsort(np.arange(n) + random.integers(0, 9, n), kind="stable")]
    return frame.assign(id=range(n))
