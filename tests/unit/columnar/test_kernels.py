"""The compiled inner loops do what their NumPy judges do."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cepkit.columnar.kernels import compiled, plain

SMALL = st.integers(0, 12)


def times(draw: Any, size: int) -> Any:
    """Draw ascending times with ties."""
    return np.cumsum([draw(st.integers(0, 2)) for _ in range(size)], dtype=np.int64)


@given(data=st.data())
def test_partition(data: st.DataObject) -> None:
    types = np.array(data.draw(st.lists(st.integers(0, 3), max_size=30)), dtype=np.int32)
    slots = np.array(data.draw(st.permutations([0, 1, 2, 1])), dtype=np.int32)
    results = []
    for kernels in (compiled, plain):
        steps = np.array([0, 1, 1])
        begins = np.arange(3) * len(types)
        ends = begins.copy()
        rows = np.zeros(3 * len(types) + 1, dtype=np.int32)
        kernels.partition(types, slots, steps, ends, rows)
        results.append([rows[begins[i] : ends[i]].tolist() for i in (1, 2)])
    assert results[0] == results[1]
    assert results[0] == [[i for i, t in enumerate(types) if slots[t] == s] for s in (1, 2)]


@given(st.lists(st.integers(-1, 4), max_size=30))
def test_counting_sort(drawn: list[int]) -> None:
    keys = np.array(drawn, dtype=np.int32)
    kept = sorted((k, i) for i, k in enumerate(drawn) if k >= 0)
    for kernels in (compiled, plain):
        starts = np.zeros(6, dtype=np.int64)
        order = np.full(len(keys), -1, dtype=np.int32)
        kernels.counting_sort(keys, starts, order)
        assert order[: len(kept)].tolist() == [i for _, i in kept]
        assert starts.tolist() == [sum(k < key for k, _ in kept) for key in range(6)]


@given(data=st.data(), delta=st.integers(-3, 4))
def test_bounds(data: st.DataObject, delta: int) -> None:
    x, y = times(data.draw, data.draw(SMALL)), times(data.draw, data.draw(SMALL))
    expected = [sum(t < moment + delta for t in y) for moment in x]
    for kernels in (compiled, plain):
        table = np.full(len(x), -1, dtype=np.int32)
        kernels.bounds(x, y, delta, table)
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
    for kernels in (compiled, plain):
        for search in (
            lambda out, k=kernels: k.keyed_bounds(x, x_keys, y, starts, delta, out),
            lambda out, k=kernels: k.searched_bounds(x + delta, x_keys, y, starts, out),
        ):
            table = np.full(len(x), -1, dtype=np.int32)
            search(table)
            assert table.tolist() == expected


@given(data=st.data(), bands=st.integers(0, 3), room=st.integers(1, 40))
def test_joins(data: st.DataObject, bands: int, room: int) -> None:
    size, candidates = data.draw(SMALL), 12
    low = np.array([data.draw(SMALL) for _ in range(size)], dtype=np.int32)
    high = np.array([data.draw(SMALL) for _ in range(size)], dtype=np.int32)
    number = st.sampled_from([0.0, 1.0, 2.0, np.nan, np.inf, -np.inf])
    triples = []
    for _ in range(bands):
        lengths = (size, size, candidates)
        triples += [np.array([data.draw(number) for _ in range(n)]) for n in lengths]
    expected = [
        (p, y)
        for p in range(size)
        for y in range(low[p], high[p])
        if all(
            triples[i][p] <= triples[i + 2][y] <= triples[i + 1][p]
            for i in range(0, len(triples), 3)
        )
    ]
    for kernels in (compiled, plain):
        parents, found = np.empty(room, np.int32), np.empty(room, np.int32)
        pairs, done = [], 0
        while done < size:
            stopped, count = kernels.JOINS[bands](low, high, done, parents, found, *triples)
            pairs += list(zip(parents[:count].tolist(), found[:count].tolist(), strict=True))
            if stopped == done:  # no room for the whole range of one partial match
                assert high[done] - low[done] > room
                parents = np.empty(high[done] - low[done], np.int32)
                found = parents.copy()
            done = stopped
        assert pairs == expected


def test_take() -> None:
    values = np.array([1.5, 2.5, 3.5])
    at = np.array([2, 0], dtype=np.int32)
    assert compiled.take(values, at).tolist() == plain.take(values, at).tolist() == [3.5, 1.5]
