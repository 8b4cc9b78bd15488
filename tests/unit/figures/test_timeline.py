import re
from datetime import UTC, datetime

import pandas as pd
import pytest

from cepkit.columnar.results import shown
from cepkit.errors import CepkitError, StreamError
from cepkit.figures import draw
from cepkit.figures.diagrams.timeline import draw_timeline, letters, names_of, timeline
from cepkit.figures.kit.style import colour_of
from tests.unit.figures.cases import NONE, ROWS, SCRIPT, THREE, find, measured_like_frame, sequence


def test_one_row_for_each_event_in_the_order_of_time():
    tidy = find(THREE, ROWS, ["c", "a", "b"]).timeline()
    assert tidy.columns.tolist() == ["match", "variable", "ts", "type", "attributes"]
    assert tidy[["match", "variable", "type"]].values.tolist() == [
        [1, "a", "A"], [1, "b", "B"], [1, "c", "C"],
    ]  # fmt: skip
    assert tidy["ts"].iloc[1] == pd.Timestamp("2024-03-04 10:00:01", tz="UTC")
    assert tidy["attributes"].tolist() == [{"price": 1.0}, {"price": 2.0}, {"price": 4.5}]


def test_absent_and_repeated_variables():
    frame = pd.DataFrame(
        {"a": [None, {"t": 4, "k": "A"}], "b": [[{"t": 2, "k": "B"}, {"t": 1, "k": "B"}], None]}
    )
    tidy = shown.timeline(frame, ["a", "b"], "t", "k")
    assert tidy[["match", "variable", "ts"]].values.tolist() == [
        [1, "b", 1], [1, "b", 2], [2, "a", 4],
    ]  # fmt: skip


def test_times_of_every_kind():
    for value in (3, 2.5, "2024-03-01T10:00:00+02:00", datetime(2024, 3, 1, tzinfo=UTC)):
        frame = pd.DataFrame({"a": [{"t": value, "k": "A"}]})
        tidy = shown.timeline(frame, ["a"], "t", "k")
        numeric = pd.api.types.is_numeric_dtype(tidy["ts"])
        assert numeric == isinstance(value, int | float)
    with pytest.raises(StreamError, match="no times"):
        shown.timeline(pd.DataFrame({"a": [{"t": "soon", "k": "A"}]}), ["a"], "t", "k")


def test_marks_lie_at_their_times_and_close_ones_in_lanes():
    tidy = find(THREE, ROWS).timeline()
    found = timeline(tidy, ["a", "b", "c"])
    assert not found.since_start
    assert found.clock == pd.Timestamp("2024-03-04 10:00", tz="UTC")
    assert [(m.variable, m.at, m.lane) for m in found.marks] == [
        (0, 0.0, 0), (1, 1.0, 1), (2, 60.0, 0),
    ]  # fmt: skip
    assert found.lanes(0) == 2
    assert found.marks[0].hover == ("a: A", "2024-03-04 10:00:00", "price = 1.0")


def test_short_matches_far_apart_begin_at_zero_each():
    frame = pd.DataFrame(
        {
            "a": [{"t": t, "k": "A"} for t in (0, 100_000)],
            "b": [{"t": t + 7, "k": "B"} for t in (0, 100_000)],
        }
    )
    tidy = shown.timeline(frame, ["a", "b"], "t", "k")
    found = timeline(tidy, ["a", "b"])
    assert found.since_start
    assert [mark.at for mark in found.marks] == [0, 7, 0, 7]
    assert found.starts == ("0", "100000")
    assert [m.at for m in timeline(tidy, ["a", "b"], False).marks] == [0, 7, 100_000, 100_007]


def test_matches_of_one_event_each_share_one_clock():
    frame = pd.DataFrame({"a": [{"t": t, "k": "A"} for t in (3, 100_000)]})
    found = timeline(shown.timeline(frame, ["a"], "t", "k"), ["a"])
    assert not found.since_start
    assert [mark.at for mark in found.marks] == [3, 100_000]


def test_a_match_is_named_by_its_start_where_the_axis_does_not_tell_it():
    frame = pd.DataFrame({"a": [{"t": 4, "k": "A"}], "b": [{"t": 7, "k": "B"}]})
    tidy = shown.timeline(frame, ["a", "b"], "t", "k")
    assert names_of(timeline(tidy, ["a", "b"], False)) == ["1"]
    assert names_of(timeline(tidy, ["a", "b"], True)) == ["1 · 4"]
    moments = timeline(find(THREE, ROWS).timeline(), ["a", "b", "c"])
    assert names_of(moments) == ["1 · 2024-03-04 10:00:00"]


def test_legend_names_only_variables_that_have_marks():
    frame = pd.DataFrame({"a": [{"t": 4, "k": "A"}], "n": [None], "b": [{"t": 7, "k": "B"}]})
    variables = ["a", "n", "b"]
    found = timeline(shown.timeline(frame, variables, "t", "k"), variables)
    marks = [trace for trace in draw_timeline(found).data if trace.name]
    assert [trace.name for trace in marks] == ["a", "b"]
    assert [trace.marker.color for trace in marks] == [colour_of(0), colour_of(2)]


def test_rows_of_a_picture_do_not_touch_above_a_long_legend():
    names = [f"a rather long name of number {i}" for i in range(9)]
    query = sequence(names, ["A"] + [f"T{i}" for i in range(8)])
    rows = [(i, kind, 1.0) for i, kind in enumerate(["A", "A", *(f"T{i}" for i in range(8))])]
    svg = draw(find(query, rows)).to_svg()
    first, second = (float(re.search(rf'y="([\d.]+)">{i} ·', svg)[1]) for i in (1, 2))
    assert second - first > 20  # the diameter of a mark


def test_events_at_one_time_have_different_lanes():
    frame = pd.DataFrame({v: [{"t": 5, "k": v}] for v in "abcd"})
    found = timeline(shown.timeline(frame, list("abcd"), "t", "k"), list("abcd"))
    assert sorted(mark.lane for mark in found.marks) == [0, 1, 2, 3]


def test_letters_are_short_names_or_the_alphabet():
    assert letters(["a", "b2"]) == ("a", "b2")
    assert letters(["first", "b"]) == ("A", "B")
    assert len(set(letters([f"variable {i}" for i in range(40)]))) == 40


def test_timeline_marks_each_event_and_titles_the_number_of_matches():
    rows = [(i, kind, 4.0 + i) for i, kind in enumerate("AABBCC")]
    matches = find(THREE, rows)
    assert matches.count() == 8
    made = draw(matches)
    assert made.layout.title.text == "8 matches"
    assert sum(len(trace.x) for trace in made.data[1:]) == 24
    assert [trace.name for trace in made.data[1:]] == ["a", "b", "c"]
    assert draw(matches, limit=3).layout.title.text == "the first 3 matches"
    # Marks of one match are never in one place.
    places = {(x, y) for trace in made.data[1:] for x, y in zip(trace.x, trace.y, strict=True)}
    assert len(places) == 24


def test_no_matches_say_so():
    made = draw(find(THREE, NONE))
    assert [a.text for a in made.layout.annotations] == ["no matches"]
    empty = measured_like_frame(0)
    assert [a.text for a in draw(empty).layout.annotations] == ["no matches"]


def test_a_data_frame_of_matches_finds_out_its_time_and_type():
    frame = measured_like_frame()
    made = draw(frame)
    assert [trace.name for trace in made.data[1:]] == ["a", "b"]
    assert made.data[1].hovertext[0] == (
        "a: A<br>0<br>note = &lt;script&gt;alert(1)&lt;/script&gt;"
    )
    assert draw(frame, time="t", type="note").data[1].hovertext[0].startswith("a: &lt;script")
    frame["match_start"] = -1
    with pytest.raises(CepkitError, match="time of the events"):
        draw(frame)


def test_rows_as_spark_gives_them():
    class Row(tuple):
        def asDict(self):  # noqa: N802
            return dict(zip(("t", "kind"), self, strict=True))

    class Found:
        columns = ("a", "b", "match_start", "match_end")
        variables = ("a", "b")

        def head(self, n):
            row = {"a": Row((1, "A")), "b": Row((9, "B")), "match_start": 1, "match_end": 9}
            return [row] * min(n, 2)

    made = draw(Found())
    assert made.layout.title.text == "2 matches"


def test_types_and_values_are_never_read_as_html():
    query = sequence(["<i>v</i>", "w"], ["<b>T</b>", SCRIPT])
    matches = find(query, [(0, "<b>T</b>", 1.0), (9, SCRIPT, 2.0)])
    made = draw(matches)
    texts = [t for trace in made.data[1:] for t in (trace.name, *trace.text, *trace.hovertext)]
    assert any("&lt;script&gt;" in text for text in texts)
    assert not any("<" in text.replace("<br>", "") for text in texts)


def test_a_limit_of_nothing_is_refused():
    with pytest.raises(CepkitError, match="0 matches"):
        draw(find(THREE, ROWS), limit=0)


def test_draw_refuses_unknown_values_and_options_and_lists_known_ones():
    with pytest.raises(CepkitError, match="no figure of the type int") as caught:
        draw(3)
    assert "statistics" in str(caught.value)
    with pytest.raises(CepkitError, match=r"no option 'color='(.|\n)*per_row"):
        draw(THREE, color="red")
