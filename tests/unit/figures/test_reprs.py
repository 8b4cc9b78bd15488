"""Outputs in a notebook: small, escaped, and never an error."""

import pandas as pd
import pyarrow as pa

from cepkit.columnar.results import shown
from cepkit.columnar.results.frames import to_frame
from cepkit.figures.kit.texts import cut, fitted, plain, width_of, wrapped
from cepkit.figures.kit.texts import shown as as_shown
from cepkit.pattern.parsing.parser import parse
from cepkit.planners.choose import choose_plan
from cepkit.planners.compare import compare_plans
from cepkit.statistics import Selectivity, Statistics
from cepkit.tables import html_table
from tests.unit.figures.cases import NONE, ROWS, SCRIPT, THREE, find, sequence


def test_a_title_tells_whether_all_are_shown():
    many = [*ROWS, *((60, "C", 4.5) for _ in range(20))]
    titles = [str(find(THREE, rows, ["c", "a", "b"])).splitlines()[0] for rows in (NONE, many)]
    assert titles[0].endswith("; there is none")
    assert titles[1].endswith("; the first 10:")


def test_repr_of_matches_has_the_columns_that_conditions_read():
    matches = find(THREE, ROWS, ["c", "a", "b"])
    lines = str(matches).splitlines()
    assert lines[0] == "Matches of a, b, c by the plan c → a → b; all 1:"
    assert lines[1].split() == [f"{v}.{n}" for v in "abc" for n in ("ts", "kind", "price")]
    assert lines[2].split()[:4] == ["2024-03-04", "10:00:00", "A", "1"]
    html = matches._repr_html_()
    assert "<th>b.price</th>" in html
    assert '<td style="text-align:right">4.5</td>' in html
    assert '<td style="text-align:left">B</td>' in html
    assert "no matches" in repr(find(THREE, NONE))


def test_a_repr_of_matches_never_raises(monkeypatch):
    matches = find(THREE, ROWS)
    monkeypatch.setattr(type(matches), "first", lambda *_, **__: 1 / 0)
    assert repr(matches) == "Matches: cannot be shown (ZeroDivisionError)"
    assert "ZeroDivisionError" in matches._repr_html_()


def test_times_of_events_are_times_in_a_data_frame():
    for frame in (
        find(THREE, ROWS).to_pandas(nested=True),
        find(THREE, ROWS).head(nested=True),
    ):
        assert frame["a"][0] == {
            "ts": pd.Timestamp("2024-03-04 10:00", tz="UTC"), "kind": "A", "price": 1.0,
        }  # fmt: skip
        assert frame["match_start"][0] == frame["a"][0]["ts"]


def test_data_frame_keeps_null_events_and_null_attributes_apart():
    events = [{"n": 1, "t": None}, None, {"n": None, "t": "x"}]
    frame = to_frame(pa.table({"a": pa.array(events), "match_start": [1, 2, 3]}))
    assert frame["a"].tolist() == events
    assert to_frame(pa.table({"a": pa.array(events)[:0]}))["a"].tolist() == []


def test_sets_in_a_data_frame_are_lists_of_events_with_exact_values():
    moment, large = pd.Timestamp("2024-03-04 10:00:00.123456789", tz="UTC"), 2**60 + 1
    event = pa.struct([("t", pa.timestamp("ns", "UTC")), ("n", pa.int64())])
    sets = [[{"t": moment, "n": large}, {"t": moment, "n": None}], None, [{"t": moment, "n": 2}]]
    table = pa.table({"b": pa.array(sets, pa.list_(event))})
    assert to_frame(table)["b"].tolist() == sets
    assert to_frame(pa.concat_tables([table[1:], table[:1]]))["b"].tolist() == [*sets[1:], sets[0]]
    assert to_frame(table[:0])["b"].tolist() == []


def test_sets_are_shown_for_every_unit_of_time():
    query = parse("PATTERN SEQ(A a, KL(B b)) WHERE b.price > a.price WITHIN 1 hour")
    for unit in ("ns", "us", "s"):
        matches = find(query, ROWS, unit=unit, sets="maximal")
        assert matches.timeline()["variable"].tolist() == ["a", "b", "b", "a", "b"]
        assert "10:00:01" in str(matches)
        assert "datetime" not in str(matches)


def test_many_variables_are_left_out_whole_and_counted():
    frame = pd.DataFrame({v: [{"t": 1, "x": 2.5}] for v in "abcdefghij"})
    names, [row], more = shown.flat(frame, list("abcdefghij"), ["t", "x"])
    assert names == [(v, n) for v in "abcdef" for n in ("t", "x")]
    assert row == [1, 2.5] * 6
    assert more == 4


def test_values_as_short_texts():
    assert shown.value_text(None) == ""
    assert shown.value_text(float("nan")) == ""
    assert shown.value_text(1234567.0) == "1,234,567"
    assert shown.value_text(pd.Timestamp("2024-03-04 10:00:00.250", tz="UTC")) == (
        "2024-03-04 10:00:00.25"
    )
    assert shown.value_text(pd.Timestamp("2024-03-04 10:00:00")) == "2024-03-04 10:00:00"
    assert shown.value_text("x\n" * 100).endswith("…")
    assert shown.value_text([29.5, 30.0]) == "29.5, 30"
    assert shown.value_text([7] * 100) == "7, 7, 7, 7, 7, 7, 7, 7, 7, 7 … (100)"
    assert shown.value_text([pd.Timestamp("2024-03-04 10:00")] * 2) == "2024-03-04 10:00:00 … (2)"
    assert shown.value_text(["x" * 100, "y"]) == "x" * 29 + "… … (2)"


def test_all_reprs_are_escaped_and_small():
    names = [f"<b>{i}</b>" for i in range(12)]
    query = sequence(names, [SCRIPT] * 12, f'WHERE "<b>0</b>".price > 0 {"AND 1 = 1 " * 20}')
    shares = {frozenset((a, b)): Selectivity(0.5, 10) for a in names for b in names if a != b}
    statistics = Statistics(dict.fromkeys(names, 1.0), selectivities=shares)
    plan = choose_plan(query, statistics)
    rows = [(i, SCRIPT, SCRIPT * 10) for i in range(14)]
    matches = find(sequence(names, [SCRIPT] * 12), rows)
    for thing in (
        query, statistics, plan, compare_plans(query, statistics), matches, matches.explain(),
    ):  # fmt: skip
        html = thing._repr_html_()
        assert len(html.encode()) <= 20_000
        assert "<script" not in html
        assert "<b>0" not in html


def test_a_name_that_looks_like_a_placeholder_is_a_name():
    html = find(sequence(["a%s", "b"], ["A", "B"]), ROWS)._repr_html_()
    assert "<th>a%s.ts</th>" in html
    assert html.count("<tr>") == 1 + 3


def test_a_table_of_too_many_rows_counts_those_it_leaves_out():
    html = html_table(["a", "b"], [("x" * 100, "1")] * 1000)
    assert len(html) < 20_000
    left_out = int(html.split("and ")[1].split(" more")[0])
    assert html.count("<tr>") + left_out == 1001


def test_texts_for_figures():
    assert plain("a\n\tb\u202e\x00c") == "a b c"
    assert as_shown("<b>$x$ & y") == "&lt;b&gt;&#36;x&#36; &amp; y"
    assert cut("abcdef", 4) == "abc…"
    long = "some words that are longer than a line and the next"
    for line in wrapped(long, 11, 90, 2):
        assert width_of(line, 11) <= 90
    assert wrapped(long, 11, 90, 2)[-1].endswith("…")
    assert wrapped("short", 11, 90, 2) == ["short"]
    assert width_of(fitted("日本語" * 20, 11, 90), 11) <= 90
