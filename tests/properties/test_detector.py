"""A stream in parts has the judge's matches, for every cut and plan."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.columnar.compile.query import compile_query
from cepkit.columnar.detector import Detector
from cepkit.columnar.results.output import MatchColumns, Writer
from cepkit.errors import StreamError
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.policies import Strategy
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.stream.schema import Schema
from cepkit.stream.stream import events
from tests.properties.test_after_match import with_skip
from tests.properties.test_engine import plans
from tests.strategies import UNIT, Case, as_table, cases, result_of


def parts(data: st.DataObject, case: Case) -> list[tuple[pa.Table, int]]:
    """Draw the cuts of the rows, and the time up to which the stream is complete after each."""
    table = as_table(case.events)
    rows = sorted(case.events, key=lambda event: event.arrival)
    ends = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=6)))
    cut, begin = [], 0
    for end in (*ends, len(rows)):
        ahead = [event.ts for event in rows[end:]]
        last = max((event.ts for event in rows), default=0)
        until = min(ahead, default=last + UNIT) - data.draw(st.sampled_from((0, 0, 1, 2 * UNIT)))
        cut.append((table.slice(begin, end - begin), until))
        begin = end
    return cut


def found(case: Case, cut: list[tuple[pa.Table, int]], chosen: list[Plan]) -> set[Any]:
    """Return the matches of a detector that starts from its saved state at each part."""
    compiled = [compile_query(case.query, plan) for plan in chosen]
    state, tables = Detector(compiled[0]).state(), []
    for number in range(len(cut) + 1):
        detector = Detector(compiled[(number - 1) % len(compiled)])
        detector.restore(pickle.loads(pickle.dumps(state)))
        now = compiled[number % len(compiled)]
        if number < len(cut):
            table, until = cut[number]
            stream = events(table, time="ts", type="kind")
            blocks = detector.feed(stream.columns(now.attributes), until, now)
        else:
            blocks = detector.finish()
        for branch, block in blocks:
            assert detector.events is not None
            writer = Writer(detector.events, MatchColumns.of(case.query, Schema("ts", "kind")))
            tables += writer.batches(block, detector.query.programs[branch].variables)
        state = detector.state()
    return result_of([row for table in tables for row in table.to_pylist()], case.variables)


@pytest.mark.parametrize("unsorted", [False, True])
@given(data=st.data())
def test_parts_with_a_plan_each_have_the_matches_of_the_whole(
    unsorted: bool, data: st.DataObject
) -> None:
    case = data.draw(cases(unsorted=unsorted))
    cut = parts(data, case)
    chosen = data.draw(st.lists(plans(case), min_size=1, max_size=3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        assert found(case, cut, chosen) == case.matches


@given(data=st.data())
def test_skip_over_a_stream_in_parts_leaves_the_judges_matches(data: st.DataObject) -> None:
    strategies = tuple(s for s in Strategy if s is not Strategy.SKIP_TILL_NEXT_MATCH)
    case = data.draw(cases(max_variables=4, strategies=strategies, max_events=24, change=with_skip))
    cut = parts(data, case)
    chosen = data.draw(st.lists(plans(case), min_size=1, max_size=3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        assert found(case, cut, chosen) == case.matches


PAIRS = parse("PATTERN SEQ(A a, B b) WHERE a.s = b.s WITHIN 10 seconds")
ARRAYS = parse("PATTERN A a WHERE corr(a.s, a.s) > 0.5")
BY_B, BY_A = (Plan((OrderPlan(order),), "by hand") for order in (("b", "a"), ("a", "b")))


def part(*rows: tuple[float, str, Any]) -> Any:
    """Return events of time, type and `s`."""
    ts, kinds, values = zip(*rows, strict=True) if rows else ((), (), ())
    table = pa.table(
        {"ts": pa.array(ts, pa.float64()), "kind": pa.array(kinds, pa.string()), "s": list(values)}
    )
    return events(table, time="ts", type="kind", unit="s").columns(("s",))


def numbers(detector: Detector, blocks: Any) -> list[int]:
    return [block.size for _, block in blocks]


def test_a_match_is_found_when_all_events_before_its_end_have_come() -> None:
    detector = Detector(compile_query(PAIRS, BY_A))
    assert numbers(detector, detector.feed(part((1, "A", "x"), (2, "B", "x")), 2 * UNIT)) == []
    assert numbers(detector, detector.feed(part(), 2 * UNIT + 1)) == [1]
    assert numbers(detector, detector.finish()) == []


def test_an_earlier_event_that_comes_later_may_join_a_set_in_a_window_of_events() -> None:
    query = parse("PATTERN SEQ(KL(A a), B b) WITHIN 2 events")
    detector = Detector(compile_query(query, Plan((OrderPlan(("a", "b")),), "by hand")))
    assert numbers(detector, detector.feed(part((2, "B", "x")), UNIT)) == []
    assert numbers(detector, detector.feed(part((1, "A", "x")), UNIT)) == [1]


def test_only_events_of_the_last_window_are_held() -> None:
    detector = Detector(compile_query(PAIRS, BY_A))
    for second in range(0, 1000, 5):
        fed = part((second, "A", "x"), (second, "N", "y"), (second + 1, "B", "x"))
        for _ in detector.feed(fed, (second + 2) * UNIT):
            pass
        held = detector.events
        assert held is not None
        assert len(held) <= 3 * 3
        assert held.source.num_rows == len(held)


def test_every_plan_has_its_counters() -> None:
    first, second = compile_query(PAIRS, BY_A), compile_query(PAIRS, BY_B)
    detector = Detector(first)
    [*_] = detector.feed(part((1, "A", "x"), (2, "B", "x")), 3 * UNIT)
    [*_] = detector.feed(part((4, "B", "x"), (4, "B", "y")), 5 * UNIT, second)
    [(earlier, counters)] = detector.earlier
    assert earlier == first
    assert [step.survivors for step in counters[0]] == [1, 1]
    assert [step.variable for step in detector.counters[0]] == ["b", "a"]
    assert detector.counters[0][-1].survivors == 1


def test_an_event_that_is_late_is_refused() -> None:
    detector = Detector(compile_query(PAIRS, BY_A))
    [*_] = detector.feed(part((9, "A", "x")), 9 * UNIT)
    with pytest.raises(StreamError, match="an event at 1970-01-01T00:00:08") as error:
        detector.feed(part((8, "B", "x")), 10 * UNIT)
    assert "none before 1970-01-01T00:00:09" in str(error.value)


@pytest.mark.parametrize(
    ("first", "second", "matches"),
    [
        ("x", None, 0),  # text, then nothing but nulls
        (None, "x", 0),
        (1, 1.0, 1),
        (1.0, 1, 1),
        (True, True, 1),
    ],
)
def test_columns_of_parts_become_one(first: Any, second: Any, matches: int) -> None:
    detector = Detector(compile_query(PAIRS, BY_A))
    [*_] = detector.feed(part((1, "A", first)), UNIT)
    blocks = detector.feed(part((2, "B", second)), 3 * UNIT)
    assert sum(numbers(detector, blocks)) == matches


def test_arrays_of_parts_are_as_wide_as_the_widest() -> None:
    detector = Detector(compile_query(ARRAYS, Plan((OrderPlan(("a",)),), "by hand")))
    [*_] = detector.feed(part((1, "A", [1.0, 2.0])), UNIT)
    [*_] = detector.feed(part((2, "A", [1.0, 2.0, 3.0])), UNIT)
    assert detector.events is not None
    assert detector.events.attributes["s"].values.shape == (2, 3)
    assert numbers(detector, detector.finish()) == [2]


def test_columns_that_cannot_become_one_are_refused() -> None:
    detector = Detector(compile_query(PAIRS, BY_A))
    [*_] = detector.feed(part((1, "A", "x")), UNIT)
    with pytest.raises(StreamError, match="the column 's' held values of the kind text"):
        detector.feed(part((2, "B", 1)), 3 * UNIT)
