"""Aggregates over files that are read piece by piece are the judge's, in the order of the whole."""

from __future__ import annotations

import tempfile
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.columnar import pieces
from cepkit.columnar.pieces import Cut, cut_of
from cepkit.columnar.slices import cutting
from cepkit.pattern.policies import Strategy
from cepkit.routes.aggregates import aggregate
from cepkit.routes.functions import functions_of
from cepkit.routes.ways import EMITS
from cepkit.stream.reading import column_cache, marks
from cepkit.stream.stream import events
from cepkit.threads import VARIABLE, limited_to
from tests.aggregates import plain, rows_in
from tests.properties.test_aggregation import (
    AGGREGATED,
    COUNTED,
    a_sequence,
    expected,
    with_aggregates,
)
from tests.properties.test_pieces import WINDOWED, written
from tests.strategies import Case, as_table, cases

SEQUENCES = cases(
    ("SEQ",),
    strategies=(Strategy.SKIP_TILL_ANY_MATCH,),
    windows=WINDOWED,
    condition_kinds=("filter", "is-null", "truth", "constant", "between"),
    max_conditions=2,
    unsorted=True,
    varying=AGGREGATED,
    change=a_sequence,
)
ANYTHING = cases(
    max_variables=4,
    strategies=(Strategy.SKIP_TILL_ANY_MATCH, Strategy.STRICT_CONTIGUITY),
    windows=WINDOWED,
    max_events=20,
    budget=10_000,
    unsorted=True,
    ties=None,
    varying=AGGREGATED,
    change=with_aggregates,
)


@pytest.fixture(autouse=True, scope="module")
def large() -> Any:
    """Let every file count as large and as settled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marks, "_SETTLED", -(10**18))
        patch.setattr(column_cache, "MOST_KEPT", -1)
        yield


def listed(rows: Any) -> list[list[Any]]:
    """Return rows in their order, floats as far as they do not depend on the order of additions."""
    return [[plain(value) for value in row.values()] for row in rows.to_arrow().to_pylist()]


def check(case: Case, data: st.DataObject, method: str) -> None:
    """Compare with the judge and with the table as a whole."""
    emit = data.draw(st.sampled_from(EMITS), label="emit")
    least = data.draw(st.sampled_from([1, 3, 7]), label="least")
    functions = [functions_of(case.query, {})]

    def cut(query: Any) -> Cut | None:
        return cut_of(query, least)

    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # of types that never occur
        patch.setattr(pieces, "cut_of", cut)
        stream = written(case, data, folder)
        (rows,) = aggregate(stream, {"": case.query}, functions, method, emit)
        table = events(as_table(case.events), time="ts", type="kind", ties=case.ties)
        (alone,) = aggregate(table, {"": case.query}, functions, method, emit)
    assert rows_in(rows.to_arrow(), case.query) == expected(case, emit)
    assert rows.to_arrow().schema.names == alone.to_arrow().schema.names
    assert listed(rows) == listed(alone)


@given(case=SEQUENCES, data=st.data())
def test_sequences_in_pieces_have_the_judges_aggregates(case: Case, data: st.DataObject) -> None:
    check(case, data, data.draw(st.sampled_from(["a-seq", "detect"])))


@given(case=SEQUENCES, data=st.data())
def test_sequences_in_slices_have_the_judges_aggregates(case: Case, data: st.DataObject) -> None:
    emit = data.draw(st.sampled_from(EMITS), label="emit")
    least = data.draw(st.sampled_from([1, 3, 7]), label="least")
    several = data.draw(st.integers(2, 4), label="threads")
    table = events(as_table(case.events), time="ts", type="kind", ties=case.ties)
    functions = [functions_of(case.query, {})]

    def found(threads: int) -> Any:
        with limited_to(threads):
            (rows,) = aggregate(table, {"": case.query}, functions, "a-seq", emit)
        return rows

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        patch.setenv(VARIABLE, "4")
        whole = found(1)
        patch.setattr(cutting, "SLICE_ROWS", least)
        patch.setattr(cutting, "WINDOWS_PER_SLICE", 0)
        one, rows = found(1), found(several)
    assert rows_in(rows.to_arrow(), case.query) == expected(case, emit)
    assert rows.to_arrow().equals(one.to_arrow())
    assert listed(rows) == listed(whole)


@given(case=ANYTHING, data=st.data())
def test_any_pattern_in_pieces_has_the_judges_aggregates(case: Case, data: st.DataObject) -> None:
    check(case, data, "auto" if case.ties == "none" else "detect")


@given(case=COUNTED, data=st.data())
def test_windows_in_events_are_aggregated_as_a_whole(case: Case, data: st.DataObject) -> None:
    check(case, data, "auto")
