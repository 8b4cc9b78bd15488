"""Several queries at once give each its own result, for every way of sharing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.query import Query
from cepkit.pattern.several import named
from cepkit.routes.aggregates import aggregate
from cepkit.routes.functions import functions_of
from cepkit.routes.sharing import SHARES, Shared
from cepkit.routes.ways import EMITS
from cepkit.stream.stream import Stream, events
from tests.strategies import as_table, streams


def _aggregates(draw: st.DrawFn, length: int) -> str:
    """Draw the aggregates of a sequence: any functions of any of its events."""
    asked = {"COUNT"}
    for _ in range(draw(st.integers(0, 3))):
        function = draw(st.sampled_from([*AGGREGATES]))
        textual = AGGREGATES[function].takes not in ("amounts", "numbers")
        attribute = draw(st.sampled_from(("x", "y", "z", "s") if textual else ("x", "y", "z")))
        asked.add(f"{function.upper()}(v{draw(st.integers(0, length - 1))}.{attribute})")
    return ", ".join(sorted(asked))


@st.composite
def sequences(draw: st.DrawFn, window: str, rest: str, key: tuple[str, str] | None) -> Query:
    """Draw a sequence of few types, so that sequences have common parts."""
    length = draw(st.integers(1, 5))
    items, conditions = [], []
    for i in range(length):
        items.append(f"{draw(st.sampled_from('AABBC'))} v{i}")
        if draw(st.integers(0, 5)) == 5:
            conditions.append(f"v{i}.x > 0")
        if i + 1 < length and draw(st.integers(0, 5)) == 5:
            items.append(f"NOT({draw(st.sampled_from('CX'))} n{i})")
            if key is not None:
                conditions.append(f"v0.{key[0]} = n{i}.{key[1]}")
        if key is not None and i:
            conditions.append(f"v0.{key[0]} = v{i}.{key[i % 2]}")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    if window:
        window = f" WITHIN {draw(st.sampled_from((3, 6, 12)))} s{window}"
    return parse(
        f"PATTERN SEQ({', '.join(items)}){where}{window} AGG {_aggregates(draw, length)}{rest}"
    )


@st.composite
def cuts(draw: st.DrawFn, query: Query) -> tuple[int, ...]:
    """Draw the lengths of the pieces of a sequence."""
    left = sum(name.startswith("v") for name in _names(query))
    whole = query.window is None
    lengths = []
    while left:
        lengths.append(left if whole else draw(st.integers(1, left)))
        left -= lengths[-1]
    return tuple(lengths)


def _names(query: Query) -> list[str]:
    from cepkit.pattern.nodes import events_of

    return [event.variable for event in events_of(query.structure)]


@st.composite
def workloads(draw: st.DrawFn) -> tuple[list[Query], Stream, Shared]:
    """Draw queries, a stream, and the way of sharing."""
    window = draw(st.sampled_from((" ", " ", " EXCLUSIVE", "")))
    rest = draw(st.sampled_from(("", "", " GROUP BY k", " PARTITION BY z")))
    key = draw(st.sampled_from((None, None, ("k", "k"), ("z", "z"), ("k", "z"))))
    queries = draw(st.lists(sequences(window, rest, key), min_size=2, max_size=4))
    found = draw(streams(40, types=("A", "B", "C", "X"), attributes=("x", "y", "k", "z", "s")))
    share: Shared = draw(st.sampled_from(SHARES))
    if draw(st.integers(0, 3)):
        share = [draw(cuts(query)) for query in queries]
    return queries, events(as_table(found), time="ts", type="kind"), share


@given(workload=workloads(), emit=st.sampled_from(EMITS))
def test_shared_counts_are_those_of_each_query_alone(
    workload: tuple[list[Query], Stream, Shared], emit: Any
) -> None:
    queries, stream, share = workload
    functions = [functions_of(query, {}) for query in queries]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        together = aggregate(stream, named(queries), functions, "auto", emit, share)
        for query, asked, found in zip(queries, functions, together, strict=True):
            (alone,) = aggregate(stream, {"": query}, [asked], "prefix-counters", emit)
            shared, own = found.to_arrow(), alone.to_arrow()
            assert shared.schema == own.schema, str(query)
            for name, kind in zip(own.column_names, own.schema.types, strict=True):
                values, expected = shared.column(name), own.column(name)
                if pa.types.is_floating(kind):  # a product of other sizes adds in another order
                    assert values.is_null().equals(expected.is_null()), str(query)
                    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)
                else:
                    assert values.equals(expected), str(query)
    if not isinstance(share, str) and all(len(each) > 1 for each in map(_names, queries)):
        assert {q for cluster in together.plan.clusters for q in cluster.queries} == set(
            range(len(queries))
        )
