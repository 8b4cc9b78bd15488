"""Figures as pictures: without a browser, in the width that there is."""

import re
import sys
from xml.etree import ElementTree as ET

import plotly.io as pio
import pytest

import cepkit as ck
from cepkit.errors import FileError, MissingPackageError
from cepkit.figures.kit.image.axes import axis_of, kind_of, numbers
from cepkit.figures.kit.image.markup import Label
from cepkit.figures.kit.style import figure
from tests.unit.figures.test_charts import STATISTICS

QUERY = ck.parse("PATTERN SEQ(A a, B b, C c, D d, E e) WHERE a.x < c.x AND a.x < e.x WITHIN 9 s")
PLOTLY = "application/vnd.plotly.v1+json"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def in_a_notebook(monkeypatch):
    monkeypatch.setattr(type(pio.renderers), "default", "plotly_mimetype")


def parts(svg, tag):
    return list(ET.fromstring(svg).iter(f"{SVG}{tag}"))


def bars(**settings):
    chart = figure("bars", 200)
    chart.add_bar(x=[1.0, 2.0, 4.0], y=[0, 1, 2], orientation="h", **settings)
    return chart


def test_bars_are_as_long_as_their_numbers():
    widths = [float(bar.get("width")) for bar in parts(bars().to_svg(), "rect")]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.2)
    assert widths[2] == pytest.approx(4 * widths[0], abs=0.2)


def test_bars_of_several_series_stand_beside_each_other_or_over_each_other():
    chart = bars()
    chart.add_bar(x=[1.0, 1.0, 1.0], y=[0, 1, 2], orientation="h")
    tops = [float(bar.get("y")) for bar in parts(chart.to_svg(), "rect")]
    assert len({*tops}) == 6
    chart.update_layout(barmode="overlay")
    assert len({float(bar.get("y")) for bar in parts(chart.to_svg(), "rect")}) == 3


def test_line_breaks_at_missing_numbers():
    chart = figure("line", 300)
    chart.add_scatter(x=[0, 1, 2, 3, 4], y=[0.0, 1.0, None, 1.0, 0.0], mode="lines", name="it")
    chart.update_xaxes(range=[0, 4])
    chart.update_yaxes(range=[0, 1])
    drawn = [p.get("d") for p in parts(chart.to_svg(), "path") if p.get("stroke-width") == "2"]
    places = [[float(n) for n in re.findall(r"[\d.]+", path)] for path in drawn]
    (x0, low, x1, high), (x3, high_again, x4, low_again) = places
    assert (low, high) == (low_again, high_again)
    assert low > high
    assert x4 - x3 == pytest.approx(x1 - x0, abs=0.2)


def test_equal_heights_of_steps_are_one_stroke():
    chart = figure("steps", 300)
    chart.add_scatter(x=list(range(500)), y=[1.0] * 499 + [2.0], mode="lines", line={"shape": "hv"})
    assert len(chart.to_svg()) < 3000


@pytest.mark.parametrize(
    ("settings", "values", "texts"),
    [
        ({"range": [0, 100]}, [1.0], ["0", "20", "40", "60", "80", "100"]),
        ({"range": [0, 30_000]}, [1.0], ["0", "5,000", "10k", "15k", "20k", "25k", "30k"]),
        ({"range": [0, 2], "dtick": 1}, [1.0], ["0", "1", "2"]),
        ({"type": "log", "range": [0, 3]}, [1.0], ["1", "10", "100", "1,000"]),
        ({}, ["2024-03-04T10:00:00", "2024-03-04T10:00:04"],
         ["10:00:00<br>2024-03-04", "10:00:01", "10:00:02", "10:00:03", "10:00:04"]),
        ({"tickvals": [1, 9], "ticktext": ["one", "nine"], "range": [0, 5]}, [1.0], ["one"]),
        ({"visible": False}, [1.0, 2.0], []),
    ],
)  # fmt: skip
def test_an_axis_is_written_as_plotly_would(settings, values, texts):
    chart = figure("axis", 100)
    chart.update_xaxes(**settings)
    axis = chart.layout.xaxis
    kind = kind_of(axis, values)
    found = axis_of(axis, [numbers(values, kind)], kind, padded=False)
    assert [text for _, text in found.ticks] == texts


def test_markup_of_ours_is_kept_and_all_else_is_text():
    label = Label('a &lt;b&gt; <b>c</b><br><span style="color:#0072B2">d</span> <i', 12, "#111")
    texts = ET.fromstring(label.at(0, 0).replace("xml:space", "s"))
    assert "".join(texts.itertext()) == "a <b> cd <i"
    assert [t.get("fill") for t in texts.iter("tspan")].count("#0072B2") == 1


def test_a_notebook_shows_the_layout_for_which_there_is_room(in_a_notebook):
    bundle = ck.draw(QUERY)._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    found = re.findall(r'<svg role="img"[^>]* width="(\d+)"', bundle["text/html"])
    widths = [int(width) for width in found]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 1000
    assert widths[-1] < 460
    assert bundle["text/html"].count("@container") == len(widths)
    assert "take A a, then B b" in bundle["text/html"]


def test_one_layout_is_one_where_it_was_asked_for():
    assert ck.draw(QUERY, per_row=2)._repr_html_().count("<svg") == 1


def test_an_exported_notebook_has_an_image_of_a_chart_with_a_text(in_a_notebook):
    bundle = ck.draw(STATISTICS)._repr_mimebundle_()
    assert PLOTLY in bundle
    assert 'src="data:image/svg+xml;base64,' in bundle["text/html"]
    assert 'alt="rates and selectivities 1,000 events in 100 s; axes: ' in bundle["text/html"]


def test_drawing_has_no_mimebundle_without_a_default_renderer(monkeypatch):
    monkeypatch.setattr(type(pio.renderers), "default", "")
    assert ck.draw(STATISTICS)._repr_mimebundle_() == {}


def test_pictures_are_saved_without_a_browser(tmp_path):
    path = ck.draw(QUERY).save_image(tmp_path / "plan.svg", theme="dark")
    root = ET.fromstring(path.read_bytes())
    assert root.find(f"{SVG}rect").get("fill") == "#111111"
    assert "#767676" not in path.read_text()
    narrow = ck.draw(STATISTICS).save_image(tmp_path / "narrow.svg", width=500)
    assert ET.fromstring(narrow.read_bytes()).get("width") == "500"
    with pytest.raises(FileError, match="exists"):
        ck.draw(QUERY).save_image(path)
    with pytest.raises(FileError, match=r"'\.gif' files"):
        ck.draw(QUERY).save_image(tmp_path / "plan.gif")


def test_a_png_needs_a_package_and_says_which(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingPackageError, match=r"cepkit\[image\]"):
        ck.draw(QUERY).save_image(tmp_path / "plan.png")
    assert not any(tmp_path.iterdir())


def test_a_png_is_as_large_as_asked_for(tmp_path):
    pytest.importorskip("resvg_py")
    path = ck.draw(STATISTICS).save_image(tmp_path / "plan.png", width=400, scale=1)
    content = path.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(content[16:20], "big") == 400


@pytest.mark.parametrize("width", [150, 300, 800, 1400])
def test_picture_in_a_width_is_laid_out_for_it_or_all_of_it_is_smaller(width):
    root = ET.fromstring(ck.draw(QUERY).to_svg(width=width))
    _, _, wide, high = map(float, root.get("viewBox").split())
    assert float(root.get("width")) == width <= wide
    assert wide == width or width == 150
    assert float(root.get("height")) == pytest.approx(high * width / wide)
    circles = [float(e.get("cx")) + float(e.get("rx")) for e in root.iter(f"{SVG}ellipse")]
    assert max(circles) <= wide
    assert {float(e.get("rx")) for e in root.iter(f"{SVG}ellipse")} == {16.0, 20.0}


def test_numbers_of_keys_stand_right_of_their_bars():
    rows = [{"ts": i, "type": "A", "k": i % 3} for i in range(30)]
    root = ET.fromstring(ck.draw(ck.events(rows, time="ts", type="type", unit="s")).to_svg())
    texts = [e for e in root.iter(f"{SVG}text") if "".join(e.itertext()) == " 10"]
    ends = [float(e.get("x")) + float(e.get("width")) for e in root.iter(f"{SVG}rect")]
    assert [text.get("text-anchor") for text in texts] == ["start"] * 3
    assert [float(text[0].get("x")) for text in texts] == pytest.approx(ends[-3:], abs=0.2)


def test_axis_of_small_counters_has_whole_numbers():
    rows = [{"ts": i, "type": "AB"[i % 2]} for i in range(4)]
    trace = ck.simulate(
        ck.events(rows, time="ts", type="type", unit="s"), "PATTERN SEQ(A a, B b) WITHIN 2 s"
    )
    figure = ck.draw(trace, of="counters")
    assert figure.layout.yaxis2.dtick == 1
