"""Every text can be read: at least 4.5:1 (WCAG 2, AA) on every fill that it may stand on."""

import re
from pathlib import Path

import pytest

import cepkit as ck
from cepkit.figures import page
from cepkit.figures.diagrams.layered import SHADES
from cepkit.figures.kit import style
from cepkit.figures.kit.canvas import Canvas, Card, Circle, Text
from cepkit.figures.kit.drawing import _THEMES, Drawing, in_page_colours
from cepkit.figures.kit.plotly_canvas import to_figure
from cepkit.figures.kit.style import BLUE, COLOURS, INK, TEXT, TINTS, ink, on_white
from cepkit.tracing import AdaptedTrace
from tests.unit.figures import hostile

LEAST = 4.5
PAPERS = {
    "notebook": ("#ffffff", "#000000de"),
    "dark notebook": ("#111111", "#ffffffff"),
    **{theme: (paper, letters) for theme, (letters, paper) in _THEMES.items()},
}
"""The paper behind figures, and the colour of its texts; the first two are JupyterLab's."""


def channels(colour, behind=(255, 255, 255)):
    """The colour that is seen, as red, green and blue."""
    if colour.startswith("rgba"):
        *parts, share = (float(part) for part in re.findall(r"[\d.]+", colour))
    else:
        digits = colour[1:]
        digits = digits if len(digits) > 4 else "".join(digit * 2 for digit in digits)
        parts = [int(digits[i : i + 2], 16) for i in (0, 2, 4)]
        share = int(digits[6:] or "ff", 16) / 255
    return tuple(
        share * one + (1 - share) * other for one, other in zip(parts, behind, strict=True)
    )


def luminance(colour):
    shares = (part / 255 for part in colour)
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(letters, *papers):
    """The contrast of a text on papers that lie on each other, the lowest first."""
    behind = (255.0, 255.0, 255.0)
    for paper in papers:
        behind = channels(paper, behind)
    light, dark = sorted((luminance(channels(letters, behind)), luminance(behind)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_computed_as_defined():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("where", PAPERS)
@pytest.mark.parametrize("tint", [None, style.GRID, *TINTS])
def test_page_texts_have_contrast_on_paper_and_tints(where, tint):
    paper, letters = PAPERS[where]
    assert contrast(letters, paper, *([tint] if tint else [])) >= LEAST


@pytest.mark.parametrize("colour", COLOURS + tuple(shade for _, shade in SHADES))
def test_texts_on_colours(colour):
    assert contrast(ink(colour), colour) >= LEAST


@pytest.mark.parametrize("tint", TINTS)
def test_texts_on_tints_that_are_opaque(tint):
    assert contrast(INK, on_white(tint)) >= LEAST


def test_the_grey_on_pages_that_do_not_tell_their_colour():
    assert contrast(TEXT, "#ffffff") >= LEAST
    # What is best on one is worst on the other: no grey has 4.5 on both.
    assert contrast(TEXT, "#111111") > 4.1


def _variables(css):
    """The colours of a style sheet by name: those for light and those for dark pages."""
    found = [
        (name, colour)
        for name, value in re.findall(r"--(\w+): ([^;]+);", css)
        for colour in re.findall(r"#[0-9a-fA-F]{6}|rgba\([^)]+\)", value)[-1:]
    ]
    names = [name for name, _ in found]
    second = names.index("ink", 1)
    return dict(found[:second]), {**dict(found[:second]), **dict(found[second:])}


def _player():
    return (Path(page.__file__).parent / "player" / "parts" / "style.js").read_text("utf-8")


@pytest.mark.parametrize("css", [page._STYLE, _player()], ids=["report", "player"])
def test_texts_of_pages(css):
    for colours in _variables(css):
        texts = [name for name in ("ink", "soft", "accent", "fire", "good") if name in colours]
        for text in texts:
            for papers in ((), (colours["shade"],)):
                assert contrast(colours[text], colours["paper"], *papers) >= LEAST, (text, papers)


def test_fills_of_the_player():
    assert contrast("#111111", "#F0E442") >= LEAST
    assert contrast("#111111", "#CDE7F7") >= LEAST
    assert contrast("#ffffff", BLUE) >= LEAST


def _fill_below(made, note):
    """The fill of the topmost shape that holds the middle of an annotation; None for paper."""
    found = None
    for shape in made.layout.shapes:
        fill = shape.fillcolor
        if fill is None or fill == "rgba(0,0,0,0)":
            continue
        if shape.type == "path":
            numbers = [float(n) for n in re.findall(r"-?[\d.]+", shape.path)]
            box = min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2])
        else:
            box = shape.x0, shape.y0, shape.x1, shape.y1
        lines = note.text.count("<br>") + 1
        if (
            box[0] <= note.x <= box[2]
            and box[1] <= note.y + 0.65 * note.font.size * lines <= box[3]
        ):
            found = fill
    return found


@pytest.mark.parametrize("kind", ["query", "plan", "trace", "counter trace"])
def test_texts_on_cards_where_plotly_draws_them(kind):
    """There texts do not follow the page: fills are opaque, and texts on them dark."""
    on_fills = 0
    for thing, options in hostile.DRAWN[kind]():
        if options.get("of", "diagram") != "diagram" or isinstance(thing, AdaptedTrace):
            continue
        made = ck.draw(thing, **options)
        for note in made.layout.annotations:
            fill = _fill_below(made, note)
            if fill is not None:
                on_fills += 1
                assert re.fullmatch("#[0-9a-fA-F]{6}", fill)
                assert contrast(note.font.color, fill) >= LEAST, (note.text, fill)
    assert on_fills


@pytest.mark.parametrize(
    "kind",
    [k if k == "every figure" else pytest.param(k, marks=pytest.mark.slow) for k in hostile.DRAWN],
)
def test_texts_have_only_page_and_ink_colours(kind):
    """Beside the colour of the page there is that of texts on fills; meaning has words or marks."""
    allowed = {None, TEXT, INK, style.PALE}
    for thing, options in hostile.DRAWN[kind]():
        made = ck.draw(thing, **options)
        if not isinstance(made, Drawing):
            continue  # a player has a style sheet
        for canvas in made._layouts:
            assert {item.colour for item in canvas.items if isinstance(item, Text)} <= allowed
        for note in made.layout.annotations:
            assert note.font.color in allowed or note.text in "●■◆▲▼○", note.text
        for trace in made.data:
            colours = trace.textfont.color if "textfont" in trace else None
            colours = [colours] if isinstance(colours, str) or colours is None else colours
            assert {*colours} <= allowed


def test_a_text_beside_a_fill_stays_grey():
    canvas = Canvas(
        200, 100,
        (Circle(50, 50, 20, fill=style.PLAIN), Card(100, 10, 80, 40), Text(50, 43, ("on",)),
         Text(50, 80, ("below",)), Text(140, 20, ("on an outline",))),
    )  # fmt: skip
    on, *others = to_figure(canvas, "title").layout.annotations
    assert on.font.color == INK
    assert {note.font.color for note in others} == {TEXT}


def test_in_notebooks_the_grey_gives_way_to_the_colour_of_the_page():
    made = style.figure("title", 200)
    made.add_scatter(x=[1, 2], y=[1, 2], mode="markers+text", text=["p", ""], name="n")
    made.add_scatter(x=[1], y=[1], mode="text", text=["q"], textfont={"color": INK})
    made.add_annotation(text="grey", x=1, y=1)
    made.add_annotation(text="own", x=1, y=1, font={"color": INK})
    made.update_xaxes(title_text="x", ticksuffix="s")
    made.update_yaxes(tickvals=[1], ticktext=["one"])
    before = made.to_plotly_json()
    drawn = in_page_colours(before, TEXT)
    begin, end = drawn["layout"]["title"]["text"].split("title")
    assert "var(--jp-content-font-color1" in begin
    assert TEXT in begin
    layout, data = drawn["layout"], drawn["data"]
    assert [note["text"] for note in layout["annotations"]] == [f"{begin}grey{end}", "own"]
    assert layout["xaxis"]["title"]["text"] == f"{begin}x{end}"
    assert (layout["xaxis"]["tickprefix"], layout["xaxis"]["ticksuffix"]) == (begin, f"s{end}")
    assert layout["yaxis"]["ticktext"] == [f"{begin}one{end}"]
    assert (data[0]["name"], data[0]["text"]) == (f"{begin}n{end}", [f"{begin}p{end}", ""])
    assert data[1]["text"] == ["q"]
    assert made.to_plotly_json() == before
