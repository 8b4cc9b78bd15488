"""Flat matches, nested ones and those of the judge are the same, value for value."""

from __future__ import annotations

import datetime as dt
import warnings
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from cepkit.columnar.results.flat import flat_name, nested_frame
from cepkit.columnar.results.matches import Matches
from cepkit.pattern.nodes import repeated_in
from cepkit.plan.checks import as_plan
from cepkit.stream.stream import events
from tests.strategies import Case, as_table, cases, result_of

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = cases(("SEQ", "AND", "OR", "NOT", "KL"), max_variables=4, unsorted=True)

MOMENT = dt.datetime(2024, 3, 31, 0, 30, tzinfo=dt.UTC)
CARRIED = {
    "category": (["one", "two", None], pa.dictionary(pa.int8(), pa.string())),
    "zoned": ([MOMENT, None, MOMENT + dt.timedelta(microseconds=1)], pa.timestamp("us", "CET")),
    "duration": ([dt.timedelta(microseconds=1), None], pa.duration("us")),
    "a.b": ([2**63 - 1, None, -(2**63)], pa.int64()),
    "date": ([dt.date(1, 1, 1), None], pa.date32()),
    "list": ([[1.5, None], [], None], pa.list_(pa.float64())),
    "struct": ([[{"x": MOMENT}], None], pa.list_(pa.struct({"x": pa.timestamp("ns", "UTC")}))),
}
"""Columns that conditions do not read: some values, and their type."""


@st.composite
def tables(draw: st.DrawFn, case: Case) -> pa.Table:
    """Draw the events of a case with columns of many types beside those that the query reads."""
    table = as_table(case.events)
    for name, (values, kind) in CARRIED.items():
        size = len(table)
        drawn = draw(st.lists(st.sampled_from(values), min_size=size, max_size=size))
        table = table.append_column(name, pa.array(drawn, kind))
    return table


def plain(value: Any) -> Any:
    """Return a value of a frame as Arrow has it, None for a missing one."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    return None if value is None or value is pd.NA or value is pd.NaT or value != value else value


def rows_of(frame: pd.DataFrame, case: Case) -> Iterator[dict[str, Any]]:
    """Yield matches as events with all of their columns, from flat columns."""
    names = [*as_table([]).column_names, *CARRIED]
    sets = repeated_in(case.query.structure)
    for row in frame.to_dict("records"):
        match = {}
        for variable in case.variables:
            if flat_name(variable, "id") not in row:
                continue  # it must be absent
            event = {name: plain(row[flat_name(variable, name)]) for name in names}
            if event["id"] is None:
                assert not any(event.values())
                match[variable] = None
            elif variable in sets:
                members = zip(*event.values(), strict=True)
                match[variable] = [dict(zip(names, member, strict=True)) for member in members]
            else:
                match[variable] = event
        yield match


@given(data=st.data())
def test_flat_and_nested_matches_are_those_of_the_judge(data: st.DataObject) -> None:
    case = data.draw(CASES)
    table = data.draw(tables(case))
    rows = data.draw(st.sampled_from([None, 1, 7]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        matches = Matches(
            events(table, time="ts", type="kind"),
            case.query,
            as_plan(None, case.query),
            slice_rows=rows,
        )
    flat, nested = matches.to_pandas(), matches.to_pandas(nested=True)
    rebuilt = list(rows_of(flat, case))
    assert result_of(rebuilt, case.variables) == result_of(nested, case.variables) == case.matches
    written = {row["id"]: row for row in table.to_pylist()}
    for match in rebuilt:
        for bound in match.values():
            for event in bound if isinstance(bound, list) else [bound] if bound else []:
                assert event == {name: plain(v) for name, v in written[event["id"]].items()}
    assert repr(list(matches)) == repr(nested.to_dict("records"))  # there may be arrays
    # Some matches have the categories of these.
    assert_frame_equal(without_categories(matches.head(2)), without_categories(flat.head(2)))
    again = nested_frame(flat)
    assert result_of(again, case.variables) == case.matches


def without_categories(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype(dict.fromkeys(frame.select_dtypes("category"), object))
