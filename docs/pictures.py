"""Takes the pictures of README.md into docs/pictures: `make pictures`. Needs Chromium."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from playwright.sync_api import Page, sync_playwright

import cepkit as ck
from cepkit_widgets.kit.app import style

FOLDER = Path(__file__).parent / "pictures"

_PATTERN = """
PATTERN SEQ(MSFT a, GOOG b, AAPL c)
WHERE a.price < b.price AND b.price < c.price
WITHIN 1 minute
"""
_STUDIO = """
PATTERN SEQ(MSFT a, NOT(INTC n), GOOG b, AAPL c)
WHERE a.price < b.price AND b.price < c.price AND n.volume > 400
WITHIN 3 minutes
"""
_FEW = pd.DataFrame(
    {
        "ts": [0, 5, 11, 17, 24, 31, 40],
        "ticker": ["MSFT", "MSFT", "GOOG", "MSFT", "GOOG", "GOOG", "AAPL"],
        "price": [20.1, 20.6, 20.4, 21.3, 21.0, 21.9, 21.5],
    }
)
_SCALE = 1.5  # pixels for each of a picture, so that it is sharp on most screens


def pictures(folder: Path) -> Iterator[tuple[str, Path, tuple[int, int], int]]:
    """Yield name, page, width and height, and how many steps to play, of each picture."""
    pattern = ck.parse(_PATTERN)
    few = ck.events(_FEW, time="ts", type="ticker", unit="s")
    eager = ck.simulate(few, pattern, "eager-nfa")
    lazy = ck.simulate(few, pattern, "chain-nfa", ["c", "b", "a"])
    page = folder / "player.html"
    ck.draw([eager, lazy]).save_html(page)
    yield "player", page, (1000, 800), len(_FEW)

    page = folder / "quiz.html"
    ck.draw(eager, quiz=4, start=4).save_html(page)
    yield "quiz", page, (1000, 560), len(_FEW)

    stream = ck.events(ck.sample_stocks(20_000), time="ts", type="ticker")
    studio = ck.studio(stream, _STUDIO)
    studio.resize(1_180)
    studio.refresh()
    page = folder / "studio.html"
    page.write_text(
        f"<style>body {{ margin: 0 }} {style()}</style>"
        f'<div class="cepkit-app" data-theme="light">{studio.html}</div>',
        encoding="utf-8",
    )
    yield "studio", page, (1_200, 980), 0
    page = studio.save_html(folder / "shared.html", redact=["price"])
    yield "shared", page, (1_000, 900), 0
    four = ck.parse(
        "PATTERN SEQ(MSFT a, INTC b, GOOG c, AAPL d) "
        "WHERE a.price < c.price AND b.volume > d.volume AND c.price < d.price WITHIN 1 minute"
    )
    comparison = ck.compare_plans(four, ck.profile(stream, four))
    figures: dict[str, Any] = {
        "plans": ck.draw(comparison, of="costs"),
        "matches": ck.draw(ck.detect(stream, pattern, limit=8)),
    }
    for name, figure in figures.items():
        page = folder / f"{name}.html"
        figure.write_html(page, include_plotlyjs=True)
        yield name, page, (1000, int(figure.layout.height or 450) + 16), 0


def take(page: Page, steps: int, target: Path) -> None:
    """Play some steps of what a page shows, and keep what it then looks like."""
    page.wait_for_timeout(1_500)
    if steps:
        page.locator("input[type=range]").first.fill(str(steps))
        page.wait_for_timeout(500)
    page.screenshot(path=target)


def main() -> None:
    """Take all pictures."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if chromium is None:
        sys.exit("no Chromium was found; on Debian: apt-get install chromium")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, page, (width, height), steps in pictures(Path(folder)):
            context = browser.new_context(
                viewport={"width": width, "height": height}, device_scale_factor=_SCALE
            )
            shown = context.new_page()
            shown.goto(page.as_uri())
            take(shown, steps, FOLDER / f"{name}.png")
            context.close()


if __name__ == "__main__":
    main()
