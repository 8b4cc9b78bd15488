"""Figures of a stream over time and of its keys: their contents, and names that stay texts."""

import itertools

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import CepkitError
from cepkit.figures import draw
from cepkit.statistics import KeyCounts, OverTime, Statistics
from tests.unit.figures.cases import SCRIPT

NAMES = ("a", SCRIPT, "$x$ <b>bold</b>")
MEASURED = Statistics(
    dict.fromkeys(NAMES, 1.0),
    over_time=OverTime(
        1_700_000_000_000_000,
        60.0,
        {"a": (60, 120, 0, 180), SCRIPT: (1, 1, 1, 1), "$x$ <b>bold</b>": (0, 0, 0, 0)},
    ),
    keys=(
        KeyCounts(("k",), 40, 4, (("x", 31), (SCRIPT, 7), ("$y$", 1), ("z", 1))),
        KeyCounts(("none",), 0, 0, ()),
        KeyCounts((SCRIPT, "m"), 2, 2, (("1, 2", 1), ("3, 4", 1))),
    ),
)


def texts_of(made):
    """All texts of a figure that plotly would read as HTML."""
    layout = made.layout.to_plotly_json()
    found = [note["text"] for note in layout.get("annotations", ())]
    for name, settings in layout.items():
        if name.startswith(("xaxis", "yaxis")):
            found += settings.get("ticktext", ())
    for trace in made.data:
        found += trace.hovertext or ()
    return found


def test_rates_over_time():
    made = draw(MEASURED, of="time")
    # A line and its mean for each variable, each in a panel that touches no other.
    assert len(made.data) == 6
    assert list(made.data[0].y) == [1, 2, 0, 3, 3]
    moments = list(map(str, made.data[0].x))
    assert (moments[0], moments[-1]) == ("2023-11-14T22:13:20.000000", "2023-11-14T22:17:20.000000")
    assert list(made.data[1].y) == [1.5, 1.5]
    assert "mean 0.0167, drift +0 %, bursts 0" in made.layout.annotations[1].text
    domains = sorted(made.layout[axis].domain for axis in ("yaxis", "yaxis2", "yaxis3"))
    assert all(one[1] < other[0] for one, other in itertools.pairwise(domains))
    assert "drift +67 %" in made.layout.annotations[0].text


def test_keys():
    made = draw(MEASURED, of="keys")
    bars, numbers, mean = (made.data[i::3] for i in range(3))
    assert [list(trace.x) for trace in bars] == [[31, 7, 1, 1], [1, 1]]
    assert list(mean[0].x) == [10, 10]
    # What is said of a bar stands beyond the line of the mean.
    assert list(numbers[0].x) == [31, 10, 10, 10]
    assert [text.strip() for text in numbers[0].text] == ["31", "7", "1", "1"]
    assert "4 keys, top 3.1 x mean" in made.layout.annotations[0].text


@pytest.mark.parametrize("of", ["time", "keys"])
def test_names_are_never_read_as_html(of):
    for text in texts_of(draw(MEASURED, of=of)):
        left = text
        for ours in ("<b>", "</b>", "<br>"):
            left = left.replace(ours, "", 2)
        assert "<" not in left
        assert "$" not in left


def test_without_anything_to_draw():
    nothing = Statistics({"a": 1.0})
    assert "nothing was counted" in draw(nothing, of="time").layout.annotations[0].text
    assert "no keys" in draw(nothing, of="keys").layout.annotations[0].text
    one = Statistics({"a": 1.0}, over_time=OverTime(0, 1.0, {"a": (1,)}))
    assert len(draw(one, of="time").data) == 2


def test_other_figures_are_refused():
    with pytest.raises(CepkitError, match=r"'tim'(.|\n)*did you mean 'time'"):
        draw(MEASURED, of="tim")


def test_a_stream_is_drawn_as_its_profile():
    stream = ck.events(ck.sample_clicks(2_000), time="ts", type="action")
    chart = ck.draw(stream)
    assert chart == ck.draw(ck.profile(stream))
    headings = [note.text for note in chart.layout.annotations]
    assert headings[0].startswith("<b>ViewKindle</b><br>")
    assert "gaps " in headings[0]
    assert headings[-1].startswith("<b>channel</b><br>3 keys, ")
    assert len(headings) == 8 + len(ck.profile(stream).keys)


def test_rare_types_of_a_stream_are_left_out_and_counted():
    chart = ck.draw(ck.events(ck.sample_stocks(500), time="ts", type="ticker"), types=2)
    drawn = [note.text for note in chart.layout.annotations]
    assert sum("gaps " in text for text in drawn) == 2
    assert "rarer types left out" in chart.layout.title.text


def test_a_stream_without_events_is_drawn_as_a_message():
    empty = pd.DataFrame({"t": pd.Series([], dtype=float), "k": pd.Series([], dtype=str)})
    chart = ck.draw(ck.events(empty, time="t", type="k", unit="s"))
    assert chart.layout.title.text == "0 events"


def test_a_value_without_a_figure_is_answered_with_a_table_of_verbs():
    with pytest.raises(CepkitError, match=r"parse\(text\) makes a pattern"):
        ck.draw("PATTERN SEQ(A a)")
    with pytest.raises(CepkitError, match="there is no figure of the type int") as error:
        ck.draw(3)
    verbs = str(error.value).splitlines()[3:]
    assert len(verbs) <= 12
    assert all("  " in line for line in verbs)
