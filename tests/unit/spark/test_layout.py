"""How streams are cut: cells that fit a worker, enough of them, and never too short."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cepkit.columnar.compile.query import compile_query
from cepkit.columnar.slices.cutting import Owned, cutting_clock
from cepkit.errors import StreamError
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.spark.cells.keys import Key, common_key, key_hashes
from cepkit.spark.cells.layout import (
    LEAST_EVENTS,
    MOST_BYTES,
    Cut,
    Extent,
    Layout,
    choose_layout,
)
from cepkit.spark.passes.extent import share_of_heaviest
from cepkit.statistics.keys import KeyCounts
from cepkit.statistics.model import Statistics
from cepkit.stream.columns import Column

SECOND = 1_000_000
DAY = 86_400 * SECOND
KEY = Key(("k",), missing_agree=True)


def chosen(events: int, window: float | None, key: Key | None = None, **options) -> Layout:
    """Return the cells of a day with so many events."""
    of_work = [options.pop(name, 0) for name in ("heaviest", "seconds", "share")]
    microseconds = None if window is None else round(window * SECOND)
    cut = Cut(microseconds, key=key, **options)
    return choose_layout(Extent(events, 0, DAY, *of_work), cut, cores=8, row_bytes=64)


def test_slices_are_ten_windows_and_enough_events_or_more():
    few = chosen(1000, 10)
    assert few.cells == 1
    assert chosen(10_000_000, 1800).slice == 18_000 * SECOND
    many = chosen(10_000_000, 1)
    assert 8 <= many.cells <= 100
    assert 10_000_000 * many.slice / DAY >= LEAST_EVENTS


def test_slices_are_shorter_where_ten_windows_are_too_much_for_a_worker():
    layout = chosen(1_000_000_000, 3600)
    assert 3600 * SECOND <= layout.slice < 36_000 * SECOND
    held = 1_000_000_000 * layout.slice / DAY * 64
    assert held <= MOST_BYTES or layout.slice == 3600 * SECOND


def test_without_a_window_there_is_one_cell_unless_there_is_a_key():
    assert str(chosen(10**9, None)) == "one slice: there is no window to cut by"
    layout = chosen(10**9, None, KEY)
    assert layout.slice is None
    assert 10**9 / layout.buckets * 64 <= MOST_BYTES


def test_keys_need_no_slices_unless_one_is_too_heavy():
    assert chosen(10_000_000, 60, KEY, heaviest=1000).slice is None
    heavy = chosen(100_000_000, 60, KEY, heaviest=50_000_000)
    assert heavy.slice is not None
    assert heavy.cells > 8


def test_heavy_key_is_cut_by_time_if_that_costs_less():
    # Of a day's 3 million events one key has half: a core's share is an eighth.
    half = chosen(3_000_000, 60, KEY, heaviest=1_500_000)
    assert half.slice is not None
    assert 1_500_000 * half.slice / DAY <= 3_000_000 / 8
    assert half.cells >= 8
    # Halos of a window of four hours would cost more than the waiting.
    assert chosen(3_000_000, 4 * 3600, KEY, heaviest=400_000).slice is None
    assert chosen(3_000_000, 60, KEY, heaviest=380_000).slice is None
    # Of a window of an hour there are three slices: keys are dealt out in each.
    wide = chosen(3_000_000, 3600, KEY, heaviest=1_500_000)
    assert wide.slice == 36_000 * SECOND
    assert wide.buckets == 3


def test_few_events_that_take_long_to_search_are_cut_for_all_cores():
    assert chosen(40_000, 10).cells == 1
    assert chosen(40_000, 10, seconds=0.001).cells == 1
    layout = chosen(40_000, 10, seconds=60)
    assert layout.cells >= 8
    assert layout.slice >= 100 * SECOND
    assert chosen(40_000, 3600, seconds=math.inf).slice == 36_000 * SECOND
    assert chosen(40_000, 10, KEY, heaviest=40, seconds=60).buckets >= 8
    # Where a task has more to bring than to search, nothing changes.
    assert chosen(10_000_000, 10, seconds=0.1) == chosen(10_000_000, 10)


def test_key_with_long_searches_is_cut_by_time_even_with_few_events():
    even = {"heaviest": 200_000, "seconds": 60}
    assert chosen(3_000_000, 60, KEY, **even, share=0.01).slice is None
    heavy = chosen(3_000_000, 60, KEY, **even, share=0.8)
    assert heavy.slice is not None
    assert heavy.cells >= 8
    # What is searched once is brought to more slices: halos weigh less the longer it takes.
    wide = 4 * 3600
    assert chosen(3_000_000, wide, KEY, heaviest=400_000).slice is None
    assert chosen(3_000_000, wide, KEY, heaviest=400_000, seconds=60, share=0.8).slice is not None


def test_share_of_the_heaviest_key_counts_squares_of_events():
    extent, key = Extent(1000, 0, DAY, 200), Key(("k",), missing_agree=False)
    known = Statistics(rates={"a": 1.0}, keys=(KeyCounts(("k",), 1000, 801, (("x", 200),)),))
    assert share_of_heaviest(known, key, extent) == pytest.approx(200**2 / (200**2 + 800))
    assert share_of_heaviest(None, key, extent) == 0.2
    assert share_of_heaviest(known, Key(("j",), missing_agree=False), extent) == 0.2
    assert share_of_heaviest(known, None, Extent(0, 0, 0, 0)) == 0.0


def test_a_given_length_is_taken_but_for_absurd_ones():
    assert chosen(1000, 10, length=0.5).slice == SECOND // 2
    assert choose_layout(None, Cut(5, length=1e300), cores=2, row_bytes=8).slice > DAY
    with pytest.raises(StreamError, match="every event would be copied 10,000 times"):
        chosen(1000, 10, length=0.001)


def test_windows_in_events_are_cut_by_numbers():
    layout = choose_layout(
        Extent(2_000_000, 0, 99_999_999, 0), Cut(500, "arrival"), cores=2, row_bytes=64
    )
    assert str(layout).endswith("events in the order of arrival")
    assert 8 <= layout.cells <= 40
    assert layout.owned(3) == Owned(3 * layout.slice, 4 * layout.slice, "arrival")
    assert choose_layout(None, Cut(5, "arrival", length=40), cores=2, row_bytes=8).slice == 40
    with pytest.raises(StreamError, match="slices of 2 events are too short for a window of 9000"):
        choose_layout(None, Cut(9000, "arrival", length=2), cores=2, row_bytes=8)


def test_heavy_key_is_cut_by_places_in_its_partition():
    cut = Cut(50, "place", key=KEY)
    light = choose_layout(Extent(10_000_000, 0, 9_999, 10_000), cut, cores=2, row_bytes=64)
    assert light.slice is None
    heavy = choose_layout(Extent(60_000_000, 0, 49_999_999, 40_000_000), cut, cores=2, row_bytes=64)
    assert str(heavy).endswith("events of each partition")
    assert 40_000_000 * heavy.slice / 50_000_000 * 64 <= MOST_BYTES


@pytest.mark.parametrize(
    ("text", "clock", "window"),
    [
        ("PATTERN SEQ(A a, B b) WITHIN 9 EVENTS", "arrival", 8),
        ("PATTERN SEQ(A a, NOT(B b), C c) WITHIN 9 EVENTS EXCLUSIVE", "arrival", 7),
        ("PATTERN SEQ(A a, B b) WITHIN 9 EVENTS PARTITION BY k", "place", 8),
        ("PATTERN SEQ(A a, OR(B b, SEQ(B c, C d))) STRATEGY strict-contiguity", "arrival", 2),
        ("PATTERN SEQ(A a, B b) WITHIN 1 us STRATEGY strict-contiguity", "time", 1),
        ("PATTERN SEQ(A a, B b) STRATEGY partition-contiguity PARTITION BY k", "place", 1),
        ("PATTERN SEQ(A a, NOT(B b), C c) STRATEGY strict-contiguity", "time", None),
        ("PATTERN SEQ(A a, KL(B b)) STRATEGY strict-contiguity", "time", None),
        ("PATTERN SEQ(A a, KL(B b)) WITHIN 9 EVENTS STRATEGY strict-contiguity", "arrival", 8),
        ("PATTERN SEQ(A a, B b)", "time", None),
    ],
)
def test_cutting_clock_is_that_of_the_window_of_a_query(text, clock, window):
    query = parse(text)
    plan = Plan(tuple(OrderPlan(branch.variables) for branch in normal_form(query)), "by hand")
    assert cutting_clock(compile_query(query, plan).programs) == (clock, window)


@pytest.mark.parametrize("window", [0, -1, 10**30])
def test_extreme_windows_and_spans_stay_within_64_bits(window):
    for first, last in ((0, 0), (-(2**61), 2**61)):
        layout = choose_layout(Extent(3, first, last, 3), Cut(window), cores=2, row_bytes=8)
        assert 0 < layout.slice <= 2**60
        assert abs(layout.origin) <= 2**60
        assert layout.tasks(2) >= 1


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("PATTERN SEQ(A a, B b) PARTITION BY k, j", Key(("k", "j"), missing_agree=True)),
        ("PATTERN SEQ(A a, B b) WHERE a.k = b.k", Key(("k",), missing_agree=False)),
        ("PATTERN SEQ(A a, B b, C c) WHERE a.k = b.k AND c.k = a.k", Key(("k",), False)),
        ("PATTERN SEQ(A a, B b, C c) WHERE a.k = b.k", None),
        ("PATTERN SEQ(A a, B b) WHERE a.k = b.j", None),
        ("PATTERN SEQ(A a, B b) WHERE a.k = b.k OR a.x = 1", None),
        ("PATTERN SEQ(A a, OR(B b, C c)) WHERE a.k = b.k AND a.k = c.k", Key(("k",), False)),
        ("PATTERN SEQ(A a, OR(B b, C c)) WHERE a.k = b.k", None),
        ("PATTERN SEQ(A a, KL(B b)) STRATEGY strict-contiguity", None),
    ],
)
def test_common_key_has_the_attributes_equal_in_all_events(text, key):
    query = parse(text)
    plan = Plan(tuple(OrderPlan(branch.variables) for branch in normal_form(query)), "by hand")
    assert common_key(compile_query(query, plan).programs) == key


@pytest.mark.parametrize(
    ("other", "key"),
    [
        ("PATTERN SEQ(A a, B b) PARTITION BY k, j", Key(("k", "j"), missing_agree=True)),
        ("PATTERN SEQ(A a, B b) PARTITION BY k", Key(("k",), missing_agree=True)),
        ("PATTERN SEQ(A a, B b) WHERE a.k = b.k", Key(("k",), missing_agree=True)),
        ("PATTERN SEQ(A a, B b)", None),
    ],
)
def test_common_key_of_two_queries_has_their_common_attributes(other, key):
    programs = []
    for text in ("PATTERN SEQ(A a, B b) PARTITION BY k, j", other):
        query = parse(text)
        programs.extend(compile_query(query, as_plan(None, query)).programs)
    assert common_key(programs) == key
    assert common_key(programs[::-1]) == key


def test_equal_keys_have_equal_hashes():
    def texts(*values: str) -> Column:
        names = np.array(sorted(set(values)), dtype=object)
        return Column("text", np.searchsorted(names, values).astype(np.int32), names)

    first, second = key_hashes([texts("b", "a", "b")]), key_hashes([texts("c", "b")])
    assert first[0] == first[2] == second[1]
    assert len({*first, *second}) == 3
    floats = np.array([0.0, -0.0, np.nan, np.float64("-nan"), 1.0])
    zero, minus, nan, other, one = key_hashes([Column("float", floats, has_missing=True)])
    assert zero == minus
    assert nan == other
    assert len({zero, nan, one}) == 3
    numbers = key_hashes([Column("integer", np.arange(100_000))])
    assert np.bincount((numbers % np.uint64(10)).astype(int)).min() > 9000
