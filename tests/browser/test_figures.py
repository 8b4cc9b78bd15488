"""Figures fit their cell, in both themes, and are images where no script runs."""

from __future__ import annotations

import base64
import os
import re

import nbformat
import plotly.io as pio
import pytest

import cepkit as ck
from cepkit_widgets import MatchBrowser

pytest.importorskip("playwright.sync_api", reason="make test-browser installs it")

PATTERN = ck.parse("PATTERN SEQ(A a, B b, C c, D d, E e) WHERE a.x < c.x AND a.x < e.x WITHIN 9 s")


def statistics():
    rows = [{"ts": i, "type": "ABCDE"[i % 5], "x": i} for i in range(40)]
    return ck.profile(ck.events(rows, time="ts", type="type", unit="s"), PATTERN)


_SEEN = """() => [...document.querySelectorAll("figure svg, img")]
  .map((e) => e.getBoundingClientRect())
  .filter((box) => box.width).map((box) => [box.left, box.right, box.height])"""


@pytest.fixture
def exported(monkeypatch, page, tmp_path):
    """Open a notebook that was executed and exported, with the network off."""
    nbconvert = pytest.importorskip("nbconvert")
    monkeypatch.setattr(type(pio.renderers), "default", "plotly_mimetype")
    figures = (ck.draw(PATTERN), ck.draw(statistics()))
    outputs = [
        nbformat.v4.new_output("execute_result", data=figure._repr_mimebundle_())
        for figure in figures
    ]
    cells = [nbformat.v4.new_code_cell("draw", outputs=[output]) for output in outputs]
    notebook = nbformat.v4.new_notebook(cells=cells)
    exporter = nbconvert.HTMLExporter(mathjax_url="", require_js_url="")
    path = tmp_path / "exported.html"
    path.write_text(exporter.from_notebook_node(notebook)[0], encoding="utf-8")
    page.goto(path.as_uri())
    return page


def test_every_figure_of_an_exported_notebook_is_seen_fits_and_has_a_text(exported):
    for width in (500, 800, 1400):
        exported.set_viewport_size({"width": width, "height": 900})
        seen = exported.evaluate(_SEEN)
        assert len(seen) == 2
        for left, right, height in seen:
            assert 0 <= left < right <= width
            assert height > 100
        assert exported.evaluate("document.documentElement.scrollWidth") <= width
    tree = exported.locator("main, body").first.aria_snapshot()
    assert re.search(r'img "automaton: take A a, then B b', tree)
    assert re.search(r'img "rates and selectivities 40 events in 39 s; axes: ', tree)
    source = exported.locator("img").last.get_attribute("src")
    exported.set_content(base64.b64decode(source.partition(",")[2]).decode())
    assert exported.locator("svg text").count() > 10


@pytest.mark.parametrize("system", ["light", "dark"])
def test_apps_and_players_follow_the_theme_of_the_docs(page, tmp_path, system):
    stream = ck.events([{"ts": i, "type": "AB"[i % 2]} for i in range(9)],
                       time="ts", type="type", unit="s")  # fmt: skip
    pattern = "PATTERN SEQ(A a, B b) WITHIN 3 s"
    app = MatchBrowser(ck.detect(stream, pattern)).to_html()
    player = ck.draw(ck.simulate(stream, pattern)).to_html()
    page.emulate_media(color_scheme=system)
    for theme in ("light", "dark", "auto"):
        path = tmp_path / f"{theme}.html"
        body = f"<body data-theme='{theme}'>{app}{player}"
        path.write_text(f"<!doctype html><meta charset='utf-8'>{_THEMES}{body}", "utf-8")
        page.goto(path.as_uri())
        dark = theme == "dark" or (theme == "auto" and system == "dark")
        for place in (".cepkit-app", ".cepkit-player .player"):
            paper = page.locator(place).evaluate("e => getComputedStyle(e).backgroundColor")
            assert paper == ("rgb(21, 23, 26)" if dark else "rgb(255, 255, 255)")
        if folder := os.environ.get("CEPKIT_PICTURES"):
            page.screenshot(path=f"{folder}/docs-{theme}-{system}.png", full_page=True)


_THEMES = """<style>
body[data-theme=dark] { color-scheme: dark; background: #131416; }
@media (prefers-color-scheme: dark) {
  body[data-theme=auto] { color-scheme: dark; background: #131416; }
}
</style>"""
