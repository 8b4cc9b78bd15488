"""Names, values and messages stay texts in every figure, table, report and widget."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import unicodedata
from collections.abc import Iterator
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import cepkit
import cepkit as ck
import cepkit_widgets
from cepkit.columnar.results.held import _HeldMatches
from cepkit.columnar.results.in_pieces import _MatchesInPieces
from cepkit.figures import FIGURES, Player, write_report
from cepkit.figures.charts.aggregates import draw_from_spark
from cepkit.figures.kit.drawing import Drawing
from cepkit.figures.player.page import embedded
from cepkit.spark.passes.part import Part
from cepkit_widgets import PlayerWidget
from tests.unit.figures import hostile
from tests.unit.figures.hostile import DRAWN, EVIL, SHOWN, TAG

OURS = re.compile(
    r"</?b>|<br>|</?sub>|</span>"
    r'|<span style="(color:(#[0-9a-fA-F]{6}|rgba\([\d.,]+\))|font-size:\d+px)">'
)
"""The markup that figures write themselves."""
FILLED_IN = {"hovertemplate", "texttemplate", "meta", "customdata"}
"""Fields of plotly with templates or data for them: figures have no use for these."""
BIDI = ("Cc", "Cf", "Zl", "Zp")


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TAGS = words("table caption thead tbody tr th td p b br pre ul li div code span")
PAGE_TAGS = words(
    "html head meta title style body header main footer section h1 h2 figure dl dt dd "
    "svg g path circle text tspan rect"
)
ATTRIBUTES = words("style class scope role tabindex aria-label data-cepkit lang border")
PAGE_ATTRIBUTES = words(
    "http-equiv content name charset viewbox width height fill stroke stroke-width stroke-linecap "
    "stroke-dasharray d x y cx cy r text-anchor font-size font-weight"
)
PICTURE_TAGS = PAGE_TAGS | words("figcaption img ellipse polygon")
PICTURE_ATTRIBUTES = PAGE_ATTRIBUTES | words(
    "xmlns xml:space font-family transform rx ry points src alt font-style"
)


def strings_in(part: Any) -> Iterator[str]:
    match part:
        case str():
            yield part
        case dict():
            for key, value in part.items():
                yield key
                yield from strings_in(value)
        case list():
            for value in part:
                yield from strings_in(value)
        case _:
            pass


def complaint(text: str) -> str | None:
    """Return the kind of thing, beside plain text, that plotly would make of a text."""
    left = OURS.sub("", text)
    if TAG in text or "<" in left or ">" in left:
        return "markup"
    if "$" in text:
        return "TeX"
    if any(unicodedata.category(c) in BIDI for c in text):
        return "a character that cannot be seen"
    return None


class Page(HTMLParser):
    """A page as a browser reads it: tags, attributes, texts outside of scripts, scripts."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[tuple[str, bool]] = []
        self.scripts: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attributes
        no_formulas = (dict(attributes).get("class") or "").split()
        inside = bool(self._open) and self._open[-1][1]
        if tag not in ("br", "meta", "img"):
            self._open.append((tag, inside or no_formulas == ["tex2jax_ignore", "mathjax_ignore"]))
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "script":
            self.scripts[-1] += data
        elif self._open and self._open[-1][0] != "style":
            self.texts.append((data, self._open[-1][1]))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.texts)

    def check(self, tags: frozenset[str], attributes: frozenset[str]) -> None:
        assert self.tags <= tags
        assert {name for name, _ in self.attributes} <= attributes
        for text in [self.text, *(value or "" for _, value in self.attributes)]:
            unseen = {c for c in text if unicodedata.category(c) in BIDI}
            assert unseen <= {"\n"}
        assert TAG in self.text


def check_output(html: str, *, pictures: bool = False) -> None:
    """Check the HTML of a notebook output: MathJax must look for no formulas in it."""
    found = Page(html)
    if pictures:
        found.check(TAGS | PICTURE_TAGS, ATTRIBUTES | PICTURE_ATTRIBUTES)
    else:
        found.check(TAGS, ATTRIBUTES)
    assert not found.scripts
    assert all(ignored for text, ignored in found.texts if "$" in text or "\\" in text)


def check_player(html: str, tags: frozenset[str], attributes: frozenset[str]) -> None:
    """Check HTML that plays: one script, in which data can end nothing."""
    found = Page(html)
    found.check(tags | {"script"}, attributes | {"type"})
    assert len(found.scripts) == 1
    [line] = [part for part in found.scripts[0].splitlines() if "cepkitDocument = " in part]
    assert "<" not in line
    assert "\u2028" not in found.scripts[0]


# What is written by hand has all figures of the register; "every figure" finds a new one.
@pytest.mark.parametrize(
    "things",
    [
        pytest.param(things, id=kind, marks=[pytest.mark.slow] if kind == "every figure" else [])
        for kind, things in DRAWN.items()
    ],
)
def test_texts_stay_texts_in_every_figure(things):
    told: list[str] = []
    for thing, options in things():
        made = ck.draw(thing, **options)
        if isinstance(made, Player):
            check_player(made.to_html(), TAGS, ATTRIBUTES)
            continue
        found = list(strings_in(json.loads(made.to_json())))
        wrong = {f"{complaint(text)}: {text}" for text in found if complaint(text)}
        assert not wrong, options
        assert not FILLED_IN & set(found)
        told += found
        picture = Page(made.to_svg())
        assert picture.tags <= PICTURE_TAGS
        assert {name for name, _ in picture.attributes} <= ATTRIBUTES | PICTURE_ATTRIBUTES
        assert "nan" not in str(picture.attributes).lower().replace(EVIL.lower(), "")
    assert any(escape(TAG) in text for text in told)


@pytest.mark.parametrize("kind", SHOWN, ids=lambda kind: kind.__name__)
def test_texts_stay_texts_in_everything_that_a_notebook_shows(kind):
    thing = SHOWN[kind]()
    assert isinstance(thing, kind)
    html = thing._repr_html_()
    if kind is Player:
        check_player(html, TAGS, ATTRIBUTES)
    else:
        check_output(html, pictures=kind is Drawing)


def test_no_figure_and_no_option_is_left_out():
    used: dict[int, set[str]] = {}
    for things in DRAWN.values():
        for thing, options in things():
            entry = FIGURES.find(thing, options.get("of"))
            used.setdefault(id(entry), set()).update(options)
    for entry in FIGURES:
        if entry.draw is not draw_from_spark:  # has those of the figure of local aggregates
            assert set(entry.options) <= used[id(entry)], entry
    assert len(used) == len(FIGURES.entries)


def test_all_classes_with_html_output_are_checked():
    # Spark's are in tests/spark/test_hostile_on_spark.py.
    local = {kind for kind in classes() if not kind.__module__.startswith("cepkit.spark.")}
    assert local == set(SHOWN)


def classes() -> set[type]:
    """Return our classes that notebooks show as HTML, without base classes."""
    found: set[type] = set()
    for package in (cepkit, cepkit_widgets):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                imported = importlib.import_module(module.name)
                found |= {kind for _, kind in inspect.getmembers(imported, inspect.isclass)}
    ours = {kind for kind in found if kind.__module__.startswith("cepkit")}
    # A part is a stream, and matches in pieces are matches; so are those that are held.
    ours -= {Part, _MatchesInPieces, _HeldMatches, *_HeldMatches.__subclasses__()}
    shown = {kind for kind in ours if hasattr(kind, "_repr_html_")}
    return shown - {base for kind in shown for base in kind.__mro__[1:]}


def report(path: Path) -> Path:
    found = hostile.matches()
    return write_report(
        path,
        query=hostile.QUERY,
        plan=hostile.plans()[1],
        matches_frame=found.head(20),
        statistics=hostile.statistics(),
        comparison=hostile.comparison(),
        explanation=hostile.explanation(),
        facts={EVIL: EVIL},
        title=EVIL,
    )


def test_texts_stay_texts_in_a_report(tmp_path):
    page = Page(report(tmp_path / "report.html").read_text(encoding="utf-8"))
    page.check(TAGS | PICTURE_TAGS, ATTRIBUTES | PICTURE_ATTRIBUTES)
    assert not page.scripts


def test_saved_pages_forbid_requests(tmp_path):
    pages = {
        report(tmp_path / "report.html"): "style-src 'unsafe-inline'",
        ck.draw(hostile.trace()).save_html(tmp_path / "player.html"): (
            "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
        ),
    }
    for path, allowed in pages.items():
        html = path.read_text(encoding="utf-8")
        policy = f"default-src 'none'; {allowed}"
        assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in html
        assert html.index("Content-Security-Policy") < html.index("<style")


@pytest.mark.parametrize("make", [hostile.trace, hostile.counter_trace])
def test_texts_stay_texts_in_a_page_and_in_a_widget(make, tmp_path):
    path = ck.draw(make()).save_html(tmp_path / "player.html")
    html = path.read_text(encoding="utf-8")
    check_player(html, TAGS | PAGE_TAGS, ATTRIBUTES | PAGE_ATTRIBUTES)
    data, _ = PlayerWidget(make())._repr_mimebundle_()
    check_player(data["text/html"], TAGS, ATTRIBUTES)


def test_proto_key_stays_a_plain_key_in_the_player():
    # In source "__proto__": would not be a property, but what the object inherits from.
    document = '{"a":{"__proto__":[1],"x":"\\",\\"__proto__\\":"},"b":"__proto__"}'
    assert embedded(document) == document.replace('{"__proto__":', '{["__proto__"]:')


def test_complaint_finds_live_markup_and_passes_plain_markup():
    for text in (
        '<a href="x">', "<b onclick=1>", TAG, "x<", "<span style='color:#000000'>", "a$b$",
        "\u202e", "\u2066", "<br", "</a>",
    ):  # fmt: skip
        assert complaint(text)
    for text in ('<b>a</b><br><span style="color:#aaBB00">x</span>', "&lt;a&gt; %{x} ${y}"[:13]):
        assert complaint(text) is None
