"""The figure of aggregates draws the rows of the result."""

from __future__ import annotations

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import CepkitError
from cepkit.figures.charts.aggregates import draw_aggregates, groups, lines
from cepkit.stream.stream import Stream
from tests.unit.figures.cases import SCRIPT


def shop(n: int = 400) -> Stream:
    frame = pd.DataFrame(
        {
            "ts": range(n),
            "kind": ["A", "B", "C"] * (n // 3) + ["A"] * (n % 3),
            "g": [["x", SCRIPT, None][i // 3 % 3] for i in range(n)],
            "p": [float(i % 7) for i in range(n)],
        }
    )
    return ck.events(frame, time="ts", type="kind", unit="s")


QUERY = "PATTERN SEQ(A a, B b, C c) WITHIN 30 s AGG COUNT, AVG(b.p), MIN(a.g)"


def test_a_panel_for_each_aggregate_and_a_line_for_each_group():
    result = ck.aggregate(shop(), QUERY + " GROUP BY g", emit="changes")
    made = ck.draw(result)
    assert len(made.data) == 9
    frame = result.to_pandas()
    first = lines(result, "count")[0]
    assert first.group == next(iter(groups(result)))
    assert first.values == frame[frame["g"].fillna("none") == first.group]["count"].to_list()
    assert made.data[0].line.shape == "hv"
    assert {trace.name for trace in made.data} >= {"x", "none"}
    assert not any("<script" in (trace.name or "") for trace in made.data)


def test_value_between_rows_without_one_is_marked_and_small_counts_have_whole_steps():
    n = 900
    kinds = ["A", "B", *["C"] * 8] * (n // 10)
    table = pd.DataFrame({"ts": [i * (1 + i % 10 // 3) for i in range(n)], "kind": kinds})
    stream = ck.events(table.assign(p=1.5), time="ts", type="kind", unit="s")
    result = ck.aggregate(stream, "PATTERN SEQ(A a, B b, C c) WITHIN 2 s AGG COUNT, AVG(b.p)")
    counts, means = ck.draw(result).data
    present = pd.Series(means.y).notna()
    assert (
        present & ~present.shift(1, fill_value=False) & ~present.shift(-1, fill_value=False)
    ).any()
    assert (counts.mode, means.mode) == ("lines", "lines+markers")
    assert ck.draw(result).layout.yaxis.dtick == 1
    assert ck.draw(result).layout.yaxis2.dtick is None


def test_only_the_wanted_columns_and_groups():
    result = ck.aggregate(shop(), QUERY + " GROUP BY g")
    made = draw_aggregates(result, columns=["avg(b.p)"], groups=2)
    assert len(made.data) == 2
    assert "the 2 of 3 groups" in made.layout.title.text
    with pytest.raises(CepkitError, match="no aggregate 'nix'"):
        ck.draw(result, columns=["nix"])
    with pytest.raises(CepkitError, match="'aggregates' has no option 'column='"):
        ck.draw(result, column="count")
    assert len(draw_aggregates(result, columns="avg(b.p)", groups=2).data) == 2


def test_totals_are_bars():
    result = ck.aggregate(shop(), QUERY + " GROUP BY g", emit="total")
    made = ck.draw(result)
    assert [trace.type for trace in made.data] == ["bar"] * 3
    counts = result.to_pandas().sort_values("count", ascending=False)["count"]
    assert list(made.data[0].text) == [f"{count:,}" for count in counts]


def test_axis_of_texts_keeps_their_order_and_parses_nothing():
    texts = ["10", "9", "2024-01-01", SCRIPT]
    frame = pd.DataFrame({"ts": range(4), "kind": "A", "note": texts})
    stream = ck.events(frame, time="ts", type="kind", unit="s")
    result = ck.aggregate(stream, "PATTERN A a WITHIN 0 s AGG MIN(a.note)", emit="new")
    made = ck.draw(result)
    assert list(made.data[0].y) == [0, 2, 1, 3]
    assert list(made.layout.yaxis.ticktext) == [
        "10", "2024-01-01", "9", "&lt;script&gt;alert(1)&lt;/scrip…",
    ]  # fmt: skip
    total = ck.aggregate(stream, "PATTERN A a WITHIN 0 s AGG MAX(a.note)", emit="total")
    bars = ck.draw(total)
    assert list(bars.data[0].text) == ["&lt;script&gt;alert(1)&lt;/scrip…"]
    assert bars.layout.xaxis.visible is False


def test_numbers_beyond_any_float_are_drawn_by_their_logarithm():
    frame = pd.DataFrame({"ts": range(1_100), "kind": "A"})
    stream = ck.events(frame, time="ts", type="kind", unit="s")
    result = ck.aggregate(stream, "PATTERN KL(A a) AGG COUNT", emit="total")
    assert result.to_pandas()["count"][0] > 10**309
    assert "e+3" in ck.draw(result).data[0].text[0]


def test_long_lines_are_thinned_but_keep_their_extremes():
    frame = pd.DataFrame(
        {"ts": range(20_000), "kind": "A", "p": [float(i == 7777) for i in range(20_000)]}
    )
    stream = ck.events(frame, time="ts", type="kind", unit="s")
    result = ck.aggregate(stream, "PATTERN A a WITHIN 0 s AGG MAX(a.p)")
    (line,) = lines(result, "max(a.p)")
    assert len(line.values) < 5000 < line.rows
    assert max(line.values) == 1.0
    assert "thinned out" in ck.draw(result).layout.title.text


def test_figure_without_rows_says_no_event():
    result = ck.aggregate(
        shop(1), "PATTERN SEQ(A a, A b, A c, A d) WITHIN 1 s AGG COUNT GROUP BY g", emit="total"
    )
    assert "no event" in ck.draw(result).layout.annotations[0].text


def test_a_panel_without_values_says_so():
    frame = pd.DataFrame({"ts": [1, 2], "type": ["A", "B"], "p": [None, None]})
    stream = ck.events(frame, time="ts", type="type", unit="s")
    made = ck.draw(ck.aggregate(stream, "PATTERN SEQ(A a, B b) AGG COUNT, SUM(b.p)"))
    assert [note.text for note in made.layout.annotations] == ["count", "sum(b.p): no value"]


def test_counters_of_no_step_say_so():
    nothing = ck.events(pd.DataFrame({"ts": [], "type": []}), time="ts", type="type", unit="s")
    made = ck.draw(ck.simulate(nothing, "PATTERN SEQ(A a, B b)", "prefix-counters"), of="counters")
    assert "no step" in made.layout.annotations[0].text
