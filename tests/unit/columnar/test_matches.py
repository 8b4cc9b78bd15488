"""Local detection as a user meets it: every kind of input, good and bad."""

from __future__ import annotations

import tracemalloc
import warnings
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepkit as ck
from cepkit.columnar import parts
from cepkit.columnar.compile.query import compile_query
from cepkit.columnar.detector import Detector
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.slices import candidates
from cepkit.columnar.slices.cutting import EVERYTHING
from cepkit.errors import (
    CepkitError,
    FileError,
    PatternError,
    PlanError,
    StreamError,
    UnsupportedError,
)
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.stream.warnings import StreamWarning

TEXT = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 seconds"


def frame(*rows: tuple[object, object, object]) -> pd.DataFrame:
    """Return events (seconds, type, x)."""
    columns = list(zip(*rows, strict=True)) or [[], [], []]
    kinds = (float, object, float)
    return pd.DataFrame(
        {
            name: pd.Series(list(values), dtype=kind)
            for name, values, kind in zip(("t", "kind", "x"), columns, kinds, strict=True)
        }
    )


def stream(*rows: tuple[object, object, object]) -> ck.api.Stream:
    """Return the same as a stream."""
    return ck.events(frame(*rows), time="t", type="kind", unit="s")


def pairs(matches: object) -> set[tuple[float, float]]:
    """Return the times of a and b in each match."""
    table = matches.to_arrow().to_pylist()
    assert len(table) == matches.count()
    return {(row["a"]["t"], row["b"]["t"]) for row in table}


def test_a_match_has_its_events_and_its_ends() -> None:
    matches = ck.detect(stream((1, "A", 1), (2, "X", 5), (3, "B", 2)), TEXT, ["a", "b"])
    assert matches.to_arrow().to_pylist() == [
        {
            "a": {"t": 1.0, "kind": "A", "x": 1.0},
            "b": {"t": 3.0, "kind": "B", "x": 2.0},
            "match_start": 1.0,
            "match_end": 3.0,
        }
    ]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_frames_tables_and_files_give_the_same(suffix: str, tmp_path: Path) -> None:
    data = ck.sample_stocks(3000)
    text = "PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price WITHIN 20 seconds"
    path = tmp_path / f"events{suffix}"
    if suffix == ".csv":
        data.to_csv(path, index=False)
    else:
        data.to_parquet(path)
    counts = {
        ck.detect(ck.events(source, time="ts", type="ticker"), text).count()
        for source in (data, pa.Table.from_pandas(data), path, str(path))
    }
    assert len(counts) == 1
    assert counts.pop() > 0


def test_an_empty_stream_has_no_matches() -> None:
    with pytest.warns(StreamWarning, match="the stream has no events"):
        matches = ck.detect(stream(), TEXT)
    assert matches.count() == 0
    nested = ["a", "b", "match_start", "match_end"]
    assert matches.to_pandas(nested=True).columns.tolist() == nested
    flat = [f"{variable}.{name}" for variable in "ab" for name in ("t", "kind", "x")]
    assert matches.to_pandas().columns.tolist() == [*flat, "match_start", "match_end"]
    assert "0" in str(matches.explain())
    assert repr(matches)


def test_a_type_that_never_occurs_is_named() -> None:
    with pytest.warns(StreamWarning, match="'B'"):
        matches = ck.detect(stream((1, "A", 1), (2, "b", 2)), TEXT, ["a", "b"])
    assert matches.count() == 0


def test_a_stream_of_one_type() -> None:
    matches = ck.detect(stream(*((t, "A", t) for t in range(4))), "PATTERN SEQ(A a, A b)")
    assert pairs(matches) == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}


def test_unsorted_input_is_sorted_and_duplicate_rows_are_events() -> None:
    rows = [(3, "B", 2), (1, "A", 1), (1, "A", 1), (3, "B", 2)]
    assert ck.detect(stream(*rows), TEXT).count() == 4


def test_equal_times_are_not_in_order() -> None:
    assert ck.detect(stream((1, "A", 1), (1, "B", 2)), TEXT).count() == 0
    both = "PATTERN AND(A a, B b) WITHIN 0 seconds"
    assert ck.detect(stream((1, "A", 1), (1, "B", 2)), both).count() == 1


@pytest.mark.parametrize(("text", "found"), [("", 1), ("EXCLUSIVE", 0)])
def test_the_edge_of_the_window(text: str, found: int) -> None:
    query = f"PATTERN SEQ(A a, B b) WITHIN 10 seconds {text}"
    assert ck.detect(stream((0, "A", 1), (10, "B", 2)), query).count() == found


def test_a_window_of_zero_holds_equal_times_only() -> None:
    assert (
        ck.detect(stream((1, "A", 1), (2, "B", 2)), "PATTERN SEQ(A a, B b) WITHIN 0 s").count() == 0
    )
    single = "PATTERN SEQ(A a) WITHIN 0 s"
    assert ck.detect(stream((1, "A", 1)), single).count() == 1
    assert ck.detect(stream((1, "A", 1)), f"{single} EXCLUSIVE").count() == 0


def test_missing_attributes_satisfy_no_condition() -> None:
    rows = [(1, "A", None), (2, "A", np.nan), (3, "A", 1), (4, "B", 2), (5, "B", None)]
    assert pairs(ck.detect(stream(*rows), TEXT)) == {(3, 4)}
    negated = "PATTERN SEQ(A a, B b) WHERE NOT (a.x < b.x)"
    assert ck.detect(stream(*rows), negated).count() == 0


def test_rows_without_time_or_type_are_counted_and_reported() -> None:
    rows = [(None, "A", 1), (1, "A", 1), (2, None, 3), (3, "B", 2)]
    with pytest.warns(StreamWarning, match="1 without a time and 1 without a type"):
        matches = ck.detect(stream(*rows), TEXT, ["a", "b"])
    assert matches.count() == 1


def test_a_missing_column_is_named_with_its_place() -> None:
    with pytest.raises(PatternError) as error:
        ck.detect(stream((1, "A", 1)), "PATTERN SEQ(A a, B b) WHERE a.xx < b.x")
    assert "^^^^" in str(error.value)
    assert "did you mean 'x'" in str(error.value)


def test_a_text_is_not_compared_with_a_number_even_on_an_empty_stream() -> None:
    for rows in ([], [(1, "A", 1), (2, "B", 1)]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            query = "PATTERN SEQ(A a, B b) WHERE a.kind < b.x"
            with pytest.raises(PatternError, match="a text is compared with a number"):
                ck.detect(stream((0, "Z", 0), *rows), query, ["a", "b"]).count()


def test_a_result_far_larger_than_memory_streams_out() -> None:
    n = 20_000
    data = pa.table(
        {
            "t": pa.array(np.arange(n), pa.timestamp("us")),
            "kind": pa.array(np.resize(["A", "B", "C"], n)),
        }
    )
    matches = ck.detect(
        ck.events(data, time="t", type="kind"), "PATTERN SEQ(A a, B b, C c)", ["a", "b", "c"]
    )
    tracemalloc.start()
    seen = sum(len(batch) for batch in islice(matches.batches(), 50))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seen > 1_000_000  # of some 5e10
    assert peak < 100e6


def test_a_limit_stops_early() -> None:
    data = stream(*((t, "AB"[t % 2], 0) for t in range(2000)))
    matches = ck.detect(data, "PATTERN SEQ(A a, B b)", ["a", "b"], limit=7)
    assert (matches.count(), len(matches.to_pandas()), len(matches.head(3))) == (7, 7, 3)
    assert ck.detect(data, "PATTERN SEQ(A a, B b)", ["a", "b"], limit=0).count() == 0
    with pytest.raises(StreamError):
        ck.detect(data, "PATTERN SEQ(A a, B b)", limit=-1)


def test_parquet_is_whole_or_not_there(tmp_path: Path) -> None:
    matches = ck.detect(stream((1, "A", 1), (3, "B", 2)), TEXT, ["a", "b"])
    assert matches.write_parquet(tmp_path / "out.parquet") == 1
    assert pq.read_table(tmp_path / "out.parquet").equals(matches.to_arrow())
    with pytest.raises(FileError, match="there is no folder"):
        matches.write_parquet(tmp_path / "nowhere" / "out.parquet")
    ck.register_function("fails_in_the_middle", lambda x, y: 1 / 0)
    query = "PATTERN SEQ(A a, B b) WHERE fails_in_the_middle(a.x, b.x)"
    broken = ck.detect(stream((1, "A", 1), (3, "B", 2)), query, ["a", "b"])
    with pytest.raises(ZeroDivisionError):
        broken.write_parquet(tmp_path / "broken.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_type_that_parquet_lacks_is_refused_before_a_file_is_there(tmp_path: Path) -> None:
    months = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    rows = pa.table({"ts": pa.array([1], pa.timestamp("s")), "kind": ["A"], "wait": months})
    found = ck.detect(ck.events(rows, time="ts", type="kind"), "PATTERN A a")
    with pytest.raises(UnsupportedError, match="month_day_nano_interval"):
        found.write_parquet(tmp_path / "out.parquet")
    assert not [*tmp_path.iterdir()]


def test_the_events_are_not_overwritten_by_their_matches(tmp_path: Path) -> None:
    folder = tmp_path / "events"
    folder.mkdir()
    path = folder / "one.parquet"
    frame((1, "A", 1), (3, "B", 2)).to_parquet(path)
    before = path.read_bytes()
    for source in (path, folder):
        matches = ck.detect(ck.events(source, time="t", type="kind", unit="s"), TEXT)
        for target in (path, folder / "two.parquet") if source == folder else (path,):
            with pytest.raises(FileError, match="is the file of the events, or one of them"):
                matches.write_parquet(target, overwrite=True)
        assert matches.write_parquet(tmp_path / "out.parquet", overwrite=True) == 1
    assert path.read_bytes() == before
    assert [file.name for file in folder.iterdir()] == ["one.parquet"]


def test_functions_of_the_users_see_whole_columns() -> None:
    ck.register_function("close_to", lambda x, y: abs(x - y) < 1.5)
    query = "PATTERN SEQ(A a, B b) WHERE close_to(a.x, b.x)"
    rows = [(1, "A", 1), (2, "A", 5), (3, "B", 2), (4, "B", None)]
    assert pairs(ck.detect(stream(*rows), query)) == {(1, 3)}


def test_branches_of_an_or_leave_the_others_null() -> None:
    query = "PATTERN OR(SEQ(A a, B b), C c) WITHIN 10 s"
    table = ck.detect(stream((1, "A", 1), (2, "B", 1), (3, "C", 1)), query).to_arrow().to_pylist()
    assert [(row["a"] is None, row["b"] is None, row["c"] is None) for row in table] == [
        (False, False, True),
        (True, True, False),
    ]


def test_a_plan_of_another_pattern_is_refused() -> None:
    with pytest.raises(PlanError):
        ck.detect(stream((1, "A", 1)), TEXT, ["a", "c"])


def test_explain_counts_candidates_and_survivors_of_each_step() -> None:
    rows = [(1, "A", 1), (2, "A", 3), (3, "B", 2), (4, "B", 9)]
    matches = ck.detect(stream(*rows), TEXT, ["b", "a"])
    first, second = matches.explain().steps
    assert (first.variable, first.candidates, first.survivors) == ("b", 2, 2)
    assert (second.variable, second.candidates, second.survivors) == ("a", 4, 3)
    assert first.expected_candidates is None
    planned = ck.detect(stream(*rows), TEXT)
    assert planned.explain().steps[0].expected_candidates == pytest.approx(2)


def test_condition_on_a_negated_event_does_not_restrict_the_others() -> None:
    # That a.x is at most b.x is asked of an n, and there is none.
    rows = [(1, "A", 2), (2, "B", 1)]
    text = "PATTERN SEQ(A a, NOT(N n), B b) WHERE a.x BETWEEN n.x AND b.x WITHIN 9 s"
    assert pairs(ck.detect(stream(*rows), text, ["a", "b"])) == {(1, 2)}


def test_explain_counts_partial_matches_removed_by_not() -> None:
    rows = [(1, "A", 1), (2, "N", 3), (3, "B", 2), (4, "A", 1), (5, "B", 9)]
    matches = ck.detect(stream(*rows), "PATTERN SEQ(A a, NOT(N n), B b) WITHIN 9 s", ["a", "b"])
    last = matches.explain().steps[-1]
    assert (last.candidates, last.survivors, last.removed) == (3, 1, 2)
    assert "removed by NOT" in str(matches.explain())


def test_detect_refuses_agg_before_anything_runs() -> None:
    with pytest.raises(UnsupportedError):
        ck.detect(stream((1, "A", 1)), "PATTERN SEQ(A a, B b) AGG COUNT WITHIN 1 s")


@pytest.mark.parametrize("thing", [None, "text", 3, frame((1, "A", 1))])
def test_detect_refuses_values_that_are_no_stream(thing: object) -> None:
    with pytest.raises(StreamError, match=r"instead of a stream"):
        ck.detect(thing, TEXT)


def test_pattern_text_with_python_code_is_refused() -> None:
    for text in ("__import__('os').system('true')", "a.x; import os", "eval(a.x) > 1"):
        with pytest.raises(CepkitError):
            ck.detect(stream((1, "A", 1)), f"PATTERN SEQ(A a, B b) WHERE {text}")


def test_common_first_steps_of_branches_run_once() -> None:
    events = stream((1, "A", 1), (2, "A", 2), (3, "B", 5), (4, "C", 0), (5, "D", 0), (6, "D", 1))
    text = "PATTERN SEQ(A a, B b, OR(C c, D d)) WHERE a.x < b.x AND d.x >= a.x WITHIN 9 s"
    plan = Plan((OrderPlan(("a", "b", "c")), OrderPlan(("b", "a", "d"))), "by hand")
    apart = ck.detect(events, text, plan)
    plan = Plan((OrderPlan(("a", "b", "c")), OrderPlan(("a", "b", "d"))), "by hand")
    together = ck.detect(events, text, plan)
    assert apart.count() == together.count() == len(together.to_arrow()) == 3
    assert [s.shared_with for s in apart.explain().steps] == [0] * 6
    steps = together.explain().steps
    assert [s.shared_with for s in steps] == [0, 0, 0, 1, 1, 0]
    assert [s.candidates for s in steps] == [2, 2, 2, 0, 0, 4]
    assert "as in 1" in str(together.explain())


def test_branches_share_in_every_slice_if_a_shared_variable_owns_matches() -> None:
    rows = [(t, kind, 0) for t, kind in enumerate("ABDC" * 8 + "N")]
    query = parse("PATTERN SEQ(A a, B b, D d, OR(C c, NOT(N n))) WITHIN 4 s")
    plan = Plan((OrderPlan(("d", "b", "a", "c")), OrderPlan(("d", "b", "a"))), "by hand")
    whole, sliced = (Matches(stream(*rows), query, plan, slice_rows=n) for n in (None, 5))
    assert whole.count() == sliced.count() == len(sliced.to_arrow())
    steps = sliced.explain().steps
    assert [s.shared_with for s in steps] == [0, 0, 0, 0, 1, 1, 0]
    # The second branch never does by itself what it shares.
    assert [s.candidates for s in steps if s.shared_with] == [0, 0]


def test_steps_with_an_equality_of_one_branch_are_not_shared() -> None:
    rows = pd.DataFrame({"t": [1, 2, 3, 4], "kind": list("ABCD"), "k": [np.nan, 1, 1, 1]})
    events = ck.events(rows, time="t", type="kind", unit="s")
    text = "PATTERN SEQ(A a, B b, OR(C c, D d)) WHERE a.k = c.k WITHIN 9 s"
    plan = Plan((OrderPlan(("a", "b", "c")), OrderPlan(("a", "b", "d"))), "by hand")
    assert ck.detect(events, text, plan).count() == 1


def test_steps_of_a_subtree_are_indented_before_the_join() -> None:
    events = stream((1, "A", 1), (2, "B", 2), (3, "C", 5), (4, "D", 6), (5, "D", 0))
    text = "PATTERN SEQ(A a, B b, C c, D d) WHERE a.x < b.x AND c.x < d.x WITHIN 9 s"
    found = ck.detect(events, text, (("a", "b"), ("c", "d")))
    assert found.count() == len(found.to_arrow()) == 1
    lines = str(found.explain()).splitlines()
    assert lines[0] == "plan (a ⋈ b) ⋈ (c ⋈ d) (by hand)"
    assert [line[:9].rstrip() for line in lines[2:]] == ["a", "b", "  c", "  d", "(c ⋈ d)"]
    assert [step.survivors for step in found.explain().steps] == [1, 1, 1, 1, 1]
    assert "\N{NO-BREAK SPACE}d</td>" in found.explain()._repr_html_()


def test_negated_event_has_no_column() -> None:
    found = ck.detect(
        stream((1, "A", 1), (3, "B", 2)), "PATTERN SEQ(A a, NOT(N n), B b) WITHIN 9 s", ["a", "b"]
    )
    assert found.to_arrow().column_names == ["a", "b", "match_start", "match_end"]
    assert "expected" not in str(found.explain())


def test_a_partition_by_arrays_is_refused() -> None:
    rows = pd.DataFrame({"t": [1, 2], "kind": ["A", "B"], "h": [[1.0, 2.0], [1.0, 2.0]]})
    events = ck.events(rows, time="t", type="kind", unit="s")
    text = "PATTERN SEQ(A a, B b) PARTITION BY h"
    for ask in (ck.detect, ck.profile, ck.why_not):
        with pytest.raises(PatternError, match="PARTITION BY 'h', which holds arrays"):
            ask(events, text)


def test_a_plan_that_expects_much_work_cuts_more_slices(monkeypatch):
    n = 200_000
    table = pa.table({"ts": pa.array(range(n)), "kind": ["A", "B"] * (n // 2)})
    source = ck.events(table, time="ts", type="kind", unit="ms")
    ends = []
    run = parts.parts_of

    def noted(*given):
        for part in run(*given):
            ends.append(part.end)
            yield part

    monkeypatch.setattr(parts, "parts_of", noted)
    for window, slices in (("10 milliseconds", 1), ("1 second", 3)):
        ends.clear()
        query = f"PATTERN SEQ(A a, B b) WITHIN {window}"
        ck.detect(source, query).count()
        assert len(ends) == slices


@pytest.mark.parametrize("begin", [5, 2**31 - 4, 2**31 - 3, 2**40])
def test_rows_of_a_slice_are_those_of_the_stream_beyond_32_bits(begin):
    columns = stream((0, "A", 1), (1, "X", 0), (2, "B", 2)).columns(["x"])
    query = parse(TEXT)
    ((_, block),) = Detector(compile_query(query, as_plan(["a", "b"], query))).matches(columns)
    part = parts.Part(columns, begin, 0, len(columns), EVERYTHING)
    for placed in (part.placed(block), part.placed(block.held())):
        assert placed.events("a").tolist() == [begin]
        assert placed.events("b").tolist() == [begin + 2]


@pytest.mark.parametrize("at_once", [1, 2, 3, 7])
def test_types_found_for_few_events_at_a_time_give_the_same_matches(at_once, monkeypatch):
    rows = [(second, "ABX"[second * 7 % 11 % 3], second * 3 % 5) for second in range(20)]
    expected = ck.detect(stream(*rows), TEXT).to_pandas()
    assert len(expected) > 5
    monkeypatch.setattr(candidates, "_AT_ONCE", at_once)
    pd.testing.assert_frame_equal(ck.detect(stream(*rows), TEXT).to_pandas(), expected)
