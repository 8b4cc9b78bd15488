"""The summary of a stream without a pattern."""

import json
import math

import pandas as pd
import pytest

import cepkit as ck
from cepkit.api import planning
from cepkit.errors import UnsupportedError


def summary(rows, **options):
    frame = pd.DataFrame(rows, columns=["t", "k", "x", "word"])
    return ck.profile(ck.events(frame, time="t", type="k", unit="s", **options))


ROWS = [
    (10, "A", 1.0, "one"),
    (0, "A", None, "two"),
    (4, "B", 3.0, "two"),
    (None, "A", 9.0, "three"),
    (40, None, 9.0, None),
    (20, "A", math.nan, None),
]


def test_types_have_rates_and_gaps():
    found = summary(ROWS)
    assert (found.events, found.first, found.last) == (4, 0, 20_000_000)
    a, b = found.types
    assert (a.type, a.events, a.share, a.rate) == ("A", 3, 0.75, 3 / 20)
    assert (a.median_gap, a.longest_gap) == (10.0, 10.0)
    assert (b.type, b.events, b.median_gap, b.longest_gap) == ("B", 1, None, None)


def test_rows_that_are_no_events_and_events_out_of_order_are_counted():
    found = summary(ROWS)
    assert (found.dropped.null_time, found.dropped.null_type) == (1, 1)
    assert found.out_of_order == 2
    assert "2 out of order (50.0%)" in str(found)
    assert "left out: 1 row without a type" in str(found)


def test_summary_has_the_kind_and_range_of_each_column():
    columns = {column.column: column for column in summary(ROWS).columns}
    x, word = columns["x"], columns["word"]
    assert (x.holds, x.missing, x.different, x.smallest, x.largest) == ("numbers", 1 / 3, 3, 1, 9)
    assert (word.holds, word.different, word.smallest, word.largest) == ("texts", 3, "one", "two")


def test_an_empty_stream():
    found = summary([])
    assert (found.events, found.first, found.types) == (0, None, ())
    assert str(found).startswith("0 events")
    assert json.loads(found.to_json())["types"] == []
    assert list(found.to_pandas().columns)[:2] == ["type", "events"]


def test_events_of_one_moment_have_no_rate():
    found = summary([(1, "A", 1.0, ""), (1, "A", 1.0, "")])
    assert math.isnan(found.types[0].rate)
    assert json.loads(found.to_json())["types"][0]["rate"] is None


def test_html_escapes_types_and_values():
    assert "<b>" not in summary([(1, "<b>", 1.0, "<b>")])._repr_html_().replace("<br>", "")


def test_json_is_written(tmp_path):
    text = summary(ROWS).to_json(tmp_path / "s.json")
    assert json.loads((tmp_path / "s.json").read_text()) == json.loads(text)


def test_a_spark_stream_is_refused_with_a_way_out(monkeypatch):
    stream = ck.events(pd.DataFrame({"t": [1], "k": ["A"]}), time="t", type="k", unit="s")
    monkeypatch.setattr(type(stream), "place", "spark")
    monkeypatch.setattr(planning, "at_hand", lambda stream, *_, **__: stream)  # too large
    with pytest.raises(UnsupportedError, match=r"head\(200_000\)"):
        ck.profile(stream)
