"""Names and values that want to be more are shown as they are: no link, no image, no script."""

from __future__ import annotations

import pytest
from plotly.offline import get_plotlyjs

import cepkit as ck
from tests.browser.cases import stream_of
from tests.unit.figures import hostile
from tests.unit.figures.hostile import DRAWN, TAG

pytest.importorskip("playwright.sync_api", reason="make test-browser installs it")

# The pointer on each trace: what is told there is drawn by the same rules.
_READ = """() => {
  const found = [];
  for (const plot of document.querySelectorAll('.js-plotly-plot')) {
    const texts = [plot.textContent];
    plot.data.forEach(({ x, xaxis, yaxis, hoverinfo }, curveNumber) => {
      if (!x?.length || hoverinfo === 'skip') return;
      Plotly.Fx.hover(plot, [{ curveNumber, pointNumber: 0 }], `${xaxis ?? 'x'}${yaxis ?? 'y'}`);
      texts.push(plot.querySelector('.hoverlayer').textContent);
    });
    const live = 'a[href], svg a, image, img, iframe, script, foreignObject, math, mjx-container';
    found.push([texts.join(' '), [...plot.querySelectorAll(live)].map((one) => one.outerHTML)]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def figures():
    made = [ck.draw(thing, **chosen) for things in DRAWN.values() for thing, chosen in things()]
    return [figure for figure in made if hasattr(figure, "to_plotly_json")]


def test_figures_show_texts_and_nothing_else(figures, page, tmp_path):
    parts = [
        figure.to_html(full_html=False, include_plotlyjs=False, config={"displaylogo": False})
        for figure in figures
    ]
    path = tmp_path / "figures.html"
    head = f'<meta charset="utf-8"><script>{get_plotlyjs()}</script>'
    path.write_text(f"{head}{''.join(parts)}", encoding="utf-8")
    page.goto(path.as_uri())
    page.wait_for_function(
        "n => document.querySelectorAll('.main-svg .infolayer').length >= n", arg=len(figures)
    )
    read = page.evaluate(_READ)
    assert len(read) == len(figures)
    assert not [live for _, live in read if live]
    # Only an automaton that follows no plan has no name of the stream's in its figure.
    assert sum(TAG in text for text, _ in read) >= len(figures) - 2
    assert page.evaluate("window.broken") is None


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
