"""Hostile names and values are shown as plain text: no link, no image, no script."""

from __future__ import annotations

import json

import pytest
from plotly.offline import get_plotlyjs

import cepkit as ck
from tests.browser.cases import stream_of
from tests.unit.figures import hostile
from tests.unit.figures.hostile import DRAWN, TAG

pytest.importorskip("playwright.sync_api", reason="make test-browser installs it")

# The pointer on each trace: what is told there is drawn by the same rules.
_READ = """async (figures) => {
  const found = [];
  for (const { data, layout } of figures) {
    const plot = document.createElement('div');
    document.body.replaceChildren(plot);
    await Plotly.newPlot(plot, data, layout, { displaylogo: false });
    const texts = [plot.textContent];
    plot.data.forEach(({ x, xaxis, yaxis, hoverinfo }, curveNumber) => {
      if (!x?.length || hoverinfo === 'skip') return;
      Plotly.Fx.hover(plot, [{ curveNumber, pointNumber: 0 }], `${xaxis ?? 'x'}${yaxis ?? 'y'}`);
      texts.push(plot.querySelector('.hoverlayer').textContent);
    });
    const live = 'a[href], svg a, image, img, iframe, script, foreignObject, math, mjx-container';
    found.push([texts.join(' '), [...plot.querySelectorAll(live)].map((one) => one.outerHTML)]);
    Plotly.purge(plot);
  }
  return found;
}"""


@pytest.fixture
def plotly(page, tmp_path):
    """The page with plotly, and nothing drawn yet: pages of all figures would take long to load."""
    path = tmp_path / "figures.html"
    path.write_text(f'<meta charset="utf-8"><script>{get_plotlyjs()}</script>', encoding="utf-8")
    page.goto(path.as_uri())
    return page


def test_figures_show_texts_and_nothing_else(plotly):
    linked = {"data": [], "layout": {"title": {"text": '<a href="https://evil.example">x</a>'}}}
    [[_, live]] = plotly.evaluate(_READ, [linked])
    assert live, "what is live would not be found"
    told = []
    for things in DRAWN.values():
        made = [ck.draw(thing, **chosen) for thing, chosen in things()]
        figures = [json.loads(one.to_json()) for one in made if hasattr(one, "to_plotly_json")]
        read = plotly.evaluate(_READ, figures)
        assert len(read) == len(figures)
        assert not [live for _, live in read if live]
        told += [TAG in text for text, _ in read]
    # Only an automaton that follows no plan, and no proposals, have no name of the stream's.
    assert told.count(False) <= 4
    assert len(told) > 40
    assert plotly.evaluate("window.broken") is None


@pytest.mark.parametrize("make", [hostile.trace, hostile.counter_trace])
def test_the_player_shows_texts_and_nothing_else(make, opened, page):
    player = opened(make())
    player.press("End", "ArrowLeft")
    shown = player.frame.inner_text()
    assert TAG in shown
    assert "\u202e" not in shown
    assert player.frame.locator("a, img, script, iframe").count() == 0
    assert page.evaluate("window.broken") is None


def test_a_column_of_any_name_is_shown(opened):
    frame = stream_of([("A", 1), ("B", 2)]).source.rename(columns={"price": "__proto__"})
    events = ck.events(frame, time="ts", type="type", unit="s")
    pattern = 'PATTERN SEQ(A a, B b) WHERE a."__proto__" < b."__proto__"'
    player = opened(ck.simulate(events, pattern))
    player.press("ArrowRight")
    assert "__proto__ 1" in player.sentence


def test_values_are_no_formulas_in_a_notebook(lab, page):
    value = r"$\href{https://evil.example}{evil}$"
    made = f"""
import pandas as pd
import cepkit as ck
from IPython.display import HTML
value = {value!r}
frame = pd.DataFrame({{"ts": [0, 1], "type": ["A", "B"], "note": [value, value]}})
stream = ck.events(frame, time="ts", type="type", unit="s")
matches = ck.detect(stream, 'PATTERN SEQ(A a, B "$x$") WHERE a.note = "$x$".note')
"""
    # The last one shows that MathJax has been here.
    lab.write("values.ipynb", made, "stream", "matches", "matches.query", f"HTML({value!r})")
    lab.run(page, "values.ipynb")
    outputs = page.locator(".jp-Notebook .jp-OutputArea-output")
    outputs.nth(3).locator("mjx-container").wait_for()
    for number in range(3):
        assert outputs.nth(number).locator("a, mjx-container").count() == 0
        assert "$" in outputs.nth(number).inner_text()
