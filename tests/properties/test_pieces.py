"""Matches in files that are read piece by piece are those of the files loaded as a whole."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.columnar.compile.query import compile_query
from cepkit.columnar.pieces import Pieces, cut_of, large_parts
from cepkit.columnar.results.in_pieces import matches_in_pieces
from cepkit.columnar.results.matches import Matches
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import Strategy
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.stream.reading import column_cache, marks
from cepkit.stream.stream import Stream, events
from tests.properties.test_after_match import with_skip
from tests.strategies import OPERATORS, Case, WindowKind, as_table, cases, orders, result_of

WINDOWED: tuple[WindowKind, ...] = ("time", "time-exclusive")
ANY = cases((*OPERATORS, "GROUP"), 4, windows=WINDOWED, unsorted=True, ties=None, max_events=30)
SORTED = cases(OPERATORS, 4, windows=(*WINDOWED, "count"), ties=None, max_events=30)
SKIPPING = cases(
    ("SEQ", "AND", "OR", "NOT", "KL", "FIRST", "OPT"),
    max_variables=4,
    strategies=tuple(s for s in Strategy if s is not Strategy.SKIP_TILL_NEXT_MATCH),
    windows=WINDOWED,
    max_events=24,
    unsorted=True,
    change=with_skip,
)


@pytest.fixture(autouse=True, scope="module")
def large() -> Any:
    """Let every file count as large and as settled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marks, "_SETTLED", -(10**18))
        patch.setattr(column_cache, "MOST_KEPT", -1)
        yield


def written(case: Case, data: st.DataObject, folder: str) -> Stream:
    """Write the events as one file or several, in small row groups of any size."""
    table, path = as_table(case.events), Path(folder, "events")
    sizes = st.sampled_from((1, 2, 3, 5, 8, 100))
    path.mkdir()
    half = data.draw(st.integers(0, len(table)), label="rows of the first file")
    for number, part in enumerate((table.slice(0, half), table.slice(half))):
        size = data.draw(sizes, label="rows of a row group")
        pq.write_table(part, path / f"{number}.parquet", row_group_size=size)
    return events(path, time="ts", type="kind", ties=case.ties)


def work(matches: Matches) -> list[tuple[Any, ...]]:
    """Return what each step did, but for the time."""
    steps = matches.explain().steps
    return [(s.branch, s.variable, s.candidates, s.survivors, s.removed) for s in steps]


@pytest.mark.parametrize("drawn", [ANY, SORTED, SKIPPING], ids=["any", "sorted", "skipping"])
@given(data=st.data())
def test_matches_in_pieces_are_those_of_the_whole_in_the_same_order(
    drawn: st.SearchStrategy[Case], data: st.DataObject
) -> None:
    case = data.draw(drawn)
    chosen = st.tuples(*map(orders, normal_form(case.query)))
    plan = Plan(tuple(map(OrderPlan, data.draw(chosen))), "by hand")
    rows = data.draw(st.sampled_from([1, 3, 7]), label="slice_rows")
    limit = data.draw(st.sampled_from([None, None, 1, 5]), label="limit")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        stream = written(case, data, folder)
        compiled = compile_query(case.query, plan)
        large = large_parts(stream, compiled, compiled.attributes)
        if large is None:  # arrival is counted, and is not in the order of time
            return
        parts, cut = large[0], replace(large[1], least=rows)
        pieces = matches_in_pieces(stream, case.query, plan, parts, cut, limit=limit)
        whole = Matches(stream, case.query, plan, slice_rows=rows, limit=limit)
        assert pieces.schema.equals(whole.schema)
        assert pieces.count() == whole.count()
        if not compiled.chooses:  # else partitions and alternatives come one after the other
            # As texts, in which NaN equals NaN.
            assert repr(pieces.to_arrow().to_pylist()) == repr(whole.to_arrow().to_pylist())
            pd.testing.assert_frame_equal(pieces.to_pandas(), whole.to_pandas())
        if limit is None:
            assert result_of(pieces.to_arrow(), case.variables) == case.matches
            if not compiled.chooses:
                assert work(pieces) == work(whole)


@given(data=st.data())
def test_each_event_has_one_piece_and_pieces_see_no_more_than_windows(data: st.DataObject) -> None:
    case = data.draw(cases(("SEQ", "NOT"), max_variables=3, windows=WINDOWED, max_events=40))
    plan = Plan(tuple(OrderPlan(b.variables) for b in normal_form(case.query)), "by hand")
    compiled = compile_query(case.query, plan)
    with tempfile.TemporaryDirectory() as folder:
        stream = written(case, data, folder)
        parts, cut = stream.parts(()), cut_of(compiled, 1)
        assert parts is not None
        if cut is None or cut.window < 0:  # of places in a partition; or nothing can match
            return
        rows = 0
        for piece in Pieces(parts, cut, compiled.attributes, ("ts",))(1):
            ts, owned = piece.columns.ts, piece.owned
            since = ts[0] if owned.since is None else owned.since
            own = ts[(ts >= since) & (owned.until is None or ts < owned.until)]
            assert ts[0] >= own[0] - cut.window
            assert ts[-1] <= own[-1] + cut.reach
            rows += len(own)
        assert rows == sum(g.rows for g in parts.with_types(cut.types).groups)
