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


def test_a_column_whose_values_come_back_is_a_key():
    rows = [(t, "AB"[t % 2], t % 3, "xy"[t > 3]) for t in range(12)]
    keys = {each.attributes: each for each in summary(rows).keys}
    assert keys[("x",)].most_frequent == (("0", 4), ("1", 4), ("2", 4))
    assert keys[("word",)].most_frequent == (("y", 8), ("x", 4))
    assert (keys[("word",)].events, keys[("word",)].distinct) == (12, 2)


def test_values_that_hardly_come_back_and_a_constant_are_no_keys():
    assert summary([(t, "A", t // 2 if t else 9, "x") for t in range(6)]).keys == ()


def test_types_are_counted_over_time():
    found = summary([(t, "AB"[t % 4 == 0], 1.0, "") for t in range(40)])
    assert found.over_time is not None
    assert found.over_time.counts == {"A": (7, 8, 7, 8), "B": (3, 2, 3, 2)}
    data = json.loads(found.to_json())["over_time"]
    assert data["begin"] == "1970-01-01T00:00:00+00:00"
    assert data["counts"] == {"A": [7, 8, 7, 8], "B": [3, 2, 3, 2]}
