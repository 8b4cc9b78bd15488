"""Loops, as compiled and as the Python functions that they are compiled from."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit import indexing
from cepkit.columnar.join import generated
from cepkit.columnar.join.generated import count_of, exists_of, join_of, source
from cepkit.columnar.kernels import loops
from cepkit.columnar.kleene import subsets
from cepkit.columnar.kleene.lists import Lists
from cepkit.columnar.kleene.neighbours import ANY_WAY
from tests.loops import in_python

SMALL = st.integers(0, 12)


def both(loop: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a compiled loop and its Python function."""
    return loop, loop.py_func


def times(draw: Any, size: int) -> Any:
    """Draw ascending times with ties."""
    return np.cumsum([draw(st.integers(0, 2)) for _ in range(size)], dtype=np.int64)


@given(data=st.data())
def test_partition(data: st.DataObject) -> None:
    types = np.array(data.draw(st.lists(st.integers(0, 3), max_size=30)), dtype=np.int32)
    slots = np.array(data.draw(st.permutations([0, 1, 2, 1])), dtype=np.int32)
    for partition in both(loops.partition):
        steps = np.array([0, 1, 1])
        begins = np.arange(3) * len(types) + np.array([[0], [len(types) // 2]])
        ends = begins.copy()
        rows = np.zeros(3 * len(types) + 1, dtype=np.int32)
        partition(types, slots, steps, ends, rows)
        halves = [[rows[begins[h, i] : ends[h, i]].tolist() for h in (0, 1)] for i in (1, 2)]
        parts = [first + second for first, second in halves]
        assert parts == [[i for i, t in enumerate(types) if slots[t] == s] for s in (1, 2)]


@given(st.lists(st.integers(-1, 4), max_size=30))
def test_counting_sort(drawn: list[int]) -> None:
    keys = np.array(drawn, dtype=np.int32)
    kept = sorted((k, i) for i, k in enumerate(drawn) if k >= 0)
    for counting_sort in both(loops.counting_sort):
        starts = np.zeros(6, dtype=np.int64)
        order = np.full(len(keys), -1, dtype=np.int32)
        counting_sort(keys, starts, order)
        assert order[: len(kept)].tolist() == [i for _, i in kept]
        assert starts.tolist() == [sum(k < key for k, _ in kept) for key in range(6)]


@given(st.lists(st.integers(0, 4), max_size=30))
def test_number_each_of_any_keys_is_the_rows_of_the_key_before(drawn: list[int]) -> None:
    keys = np.array(drawn, dtype=np.int32)
    for number_each in both(loops.number_each):
        counts, numbers = np.zeros(5, dtype=np.int64), np.full(len(keys), -1)
        number_each(keys, counts, numbers)
        assert numbers.tolist() == [drawn[:i].count(key) for i, key in enumerate(drawn)]
        assert counts.tolist() == [drawn.count(key) for key in range(5)]


@pytest.mark.parametrize("size", [7, indexing._FEW])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_take_of_few_and_of_many_indices_is_indexing(size: int, kind: type) -> None:
    values, at = np.arange(50.0), np.arange(size, dtype=kind) * 7 % 50
    assert np.array_equal(indexing.take(values, at), values[at])


@given(st.lists(st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 0.5, -np.nan])), max_size=30))
def test_values_are_ordered_as_by_a_stable_sort(drawn: list[float]) -> None:
    values = np.array(drawn, dtype=np.float64)
    assert loops.order_of(values).tolist() == np.argsort(values, kind="stable").tolist()


@given(st.lists(st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1)), max_size=30))
def test_numbers_are_sorted_by_their_digits(drawn: list[int]) -> None:
    keys = np.array(drawn, dtype=np.int64)
    for sort in both(loops._sort):
        order, other = np.empty((2, len(keys)), dtype=np.int32)
        passes = sort(keys, order, other)
        assert [order, other][passes % 2].tolist() == np.argsort(keys, kind="stable").tolist()


@given(data=st.data(), delta=st.integers(-3, 4))
def test_bounds(data: st.DataObject, delta: int) -> None:
    x, y = times(data.draw, data.draw(SMALL)), times(data.draw, data.draw(SMALL))
    expected = [sum(t < moment + delta for t in y) for moment in x]
    for bounds in both(loops.bounds):
        table = np.full(len(x), -1, dtype=np.int32)
        bounds(x, y, delta, table)
        assert table.tolist() == expected


@given(data=st.data(), delta=st.integers(-3, 4))
def test_keyed_and_searched_bounds(data: st.DataObject, delta: int) -> None:
    keys = 3
    groups = [times(data.draw, data.draw(st.integers(0, 5))) for _ in range(keys)]
    y, starts = np.concatenate(groups), np.cumsum([0, *map(len, groups)])
    x = times(data.draw, data.draw(SMALL))
    x_keys = np.array([data.draw(st.integers(0, keys - 1)) for _ in x], dtype=np.int32)
    expected = [
        starts[k] + sum(t < moment + delta for t in groups[k])
        for moment, k in zip(x, x_keys, strict=True)
    ]
    for keyed_bounds in both(loops.keyed_bounds):
        table = np.full(len(x), -1, dtype=np.int32)
        keyed_bounds(x, x_keys, y, starts, delta, table)
        assert table.tolist() == expected
    for searched_bounds in both(loops.searched_bounds):
        table = np.full(len(x), -1, dtype=np.int32)
        searched_bounds(x + delta, x_keys, y, starts, table)
        assert table.tolist() == expected


def test_where_of_some_columns_is_indexing_by_the_mask() -> None:
    held, one, other = np.array([True, False, True]), np.arange(3), np.arange(3.0)
    found = indexing.where(held, one, other)
    assert [column.tolist() for column in found] == [[0, 2], [0.0, 2.0]]


def test_take_by_the_loop_is_indexing() -> None:
    values, at = np.array([1.5, 2.5, 3.5]), np.array([2, 0], dtype=np.int32)
    for take in both(indexing._take):
        out = np.zeros(2)
        take(values, at, out)
        assert out.tolist() == [3.5, 1.5]


def ranges_and_bands(draw: Any, bands: int) -> tuple[Any, Any, list[Any], list[tuple[int, int]]]:
    """Draw ranges and bands, and return them with the pairs that they let through."""
    size, candidates = draw(SMALL), 12
    low = np.array([draw(SMALL) for _ in range(size)], dtype=np.int32)
    high = np.array([draw(SMALL) for _ in range(size)], dtype=np.int32)
    number = st.sampled_from([0.0, 1.0, 2.0, np.nan, np.inf, -np.inf])
    triples = []
    for _ in range(bands):
        lengths = (size, size, candidates)
        triples += [np.array([draw(number) for _ in range(n)]) for n in lengths]
    pairs = [
        (p, y)
        for p in range(size)
        for y in range(low[p], high[p])
        if all(
            triples[i][p] <= triples[i + 2][y] <= triples[i + 1][p]
            for i in range(0, len(triples), 3)
        )
    ]
    return low, high, triples, pairs


@given(data=st.data(), bands=st.integers(0, 4), room=st.integers(1, 40))
def test_joins(data: st.DataObject, bands: int, room: int) -> None:
    low, high, triples, expected = ranges_and_bands(data.draw, bands)
    for join in (join_of(bands), in_python(source("join", bands)).join):
        parents, found = np.empty(room, np.int32), np.empty(room, np.int32)
        pairs, done = [], 0
        while done < len(low):
            stopped, count = join(low, high, done, parents, found, *triples)
            pairs += list(zip(parents[:count].tolist(), found[:count].tolist(), strict=True))
            if stopped == done:  # no room for the whole range of one partial match
                assert high[done] - low[done] > room
                parents = np.empty(high[done] - low[done], np.int32)
                found = parents.copy()
            done = stopped
        assert pairs == expected


@given(data=st.data(), bands=st.integers(0, 4), most=st.integers(1, 30))
def test_counts_of_joins(data: st.DataObject, bands: int, most: int) -> None:
    low, high, triples, expected = ranges_and_bands(data.draw, bands)
    for counted in (count_of(bands), in_python(source("count", bands)).count):
        number = done = 0
        while done < len(low):
            stopped, count = counted(low, high, done, most, *triples)
            assert stopped > done
            number, done = number + count, stopped
        assert number == len(expected)


@given(data=st.data(), bands=st.integers(0, 3))
def test_searches_for_any_candidate(data: st.DataObject, bands: int) -> None:
    low, high, triples, pairs = ranges_and_bands(data.draw, bands)
    for exists in (exists_of(bands), in_python(source("exists", bands)).exists):
        present = np.empty(len(low), dtype=np.bool_)
        exists(low, high, present, *triples)
        assert set(np.flatnonzero(present)) == {p for p, _ in pairs}


@pytest.mark.parametrize("falling", [False, True])
@given(data=st.data(), room=st.integers(1, 9))
def test_sets_are_chosen_in_order_within_their_bounds(
    falling: bool, room: int, data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, 4))
    lengths = [data.draw(st.integers(0, 4)) for _ in range(number)]
    ends = np.cumsum([0, *lengths]).astype(np.int32)
    sizes = st.integers(0, 4)
    given_ends = [data.draw(st.sampled_from([(-1, -1), (90, -1), (90, 91)])) for _ in lengths]
    firsts, lasts = np.array([*given_ends, (-1, -1)], dtype=np.int32).T[:, :number]
    lists = Lists(
        ends[:-1],
        ends[1:],
        np.arange(ends[-1], dtype=np.int32),
        np.array([data.draw(sizes) for _ in lengths], dtype=np.int32),
        np.minimum([data.draw(sizes) for _ in lengths], lengths).astype(np.int32),
        np.ascontiguousarray(firsts),
        np.ascontiguousarray(lasts),
    )
    weights = np.array([[data.draw(st.sampled_from([0.0, 1.0, 2.0])) for _ in range(ends[-1])]])
    limits = np.array([[data.draw(st.sampled_from([-1.0, 2.0, np.inf])) for _ in lengths]])
    caps = subsets.Caps(weights.reshape(1, -1), limits.reshape(1, -1))
    expected = []
    for p, (begin, end) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        chosen = [
            among
            for size in range(lists.least[p], lists.most[p] + 1)
            for among in combinations(range(begin, end), size)
            if weights[0, list(among)].sum() <= limits[0, p]
        ]
        # A set that goes on comes after the one that stops, or before it.
        chosen.sort(key=lambda among: [*among, np.inf] if falling else [*among])
        for among in chosen:
            expected.append((p, [r for r in (firsts[p], *among, lasts[p]) if r >= 0]))
    for choose in both(subsets.choose):
        cursor = subsets.Cursor(np.array([0, -1]), np.zeros(5, np.int32), np.zeros((1, 6)))
        found: list[Any] = []
        while cursor.state[0] < number:
            out = subsets.ChosenSets(
                np.empty(room, np.int32), np.empty(room + 1, np.int64), np.empty(9, np.int32)
            )
            count = choose(lists, caps, ANY_WAY, cursor, out, falling)
            for i in range(count):
                members = out.rows[out.starts[i] : out.starts[i + 1]].tolist()
                found.append((int(out.parents[i]), members))
        assert found == expected


def test_a_generated_module_is_whole_for_every_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, run = threading.Event(), generated._Source.exec_module

    def slowly(loader: Any, module: Any) -> None:
        begun.set()
        threading.Event().wait(0.2)
        run(loader, module)

    monkeypatch.setattr(generated._Source, "exec_module", slowly)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(generated.load, "answer = 42  # for every thread")
        begun.wait()
        second = pool.submit(generated.load, "answer = 42  # for every thread")
        assert second.result().answer == first.result().answer == 42


def test_a_generated_module_is_loaded_anew_after_an_interrupt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(loader: Any, module: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(generated._Source, "exec_module", interrupted)
        with pytest.raises(KeyboardInterrupt):
            generated.load("answer = 43  # after an interrupt")
    assert generated.load("answer = 43  # after an interrupt").answer == 43
