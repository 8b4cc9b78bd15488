"""A page in which the pattern may be changed, on the site of `make lite`, which must be built."""

from __future__ import annotations

import functools
import re
import shutil
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import cepkit as ck

SITE = Path(__file__).parents[2] / "build" / "lite"
TEXT = "PATTERN SEQ(MSFT a, GOOG b)\nWHERE a.price < b.price\nWITHIN 3 seconds"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def log_message(self, *_):
        pass


@pytest.fixture
def address(tmp_path):
    """The address of a copy of the site, with links to its folders."""
    if not (SITE / "evaluator.js").exists():
        pytest.skip("build/lite is not there: make lite PYODIDE=...")
    for part in ("static", "pypi"):
        (tmp_path / part).symlink_to(SITE / part)
    shutil.copy(SITE / "evaluator.js", tmp_path)
    handler = functools.partial(Quiet, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_changed_pattern_is_answered_in_the_browser(page, address, tmp_path) -> None:
    from playwright.sync_api import expect

    stream = ck.events(ck.sample_stocks(2_000), time="ts", type="ticker")
    studio = ck.studio(stream, TEXT)
    assert studio.wait()
    studio.save_html(tmp_path / "page.html", editable=True)
    page.goto(f"{address}/page.html")
    told, text = page.locator("#told"), page.locator("#pattern")
    inside = page.frame_locator("#answer")
    for window in (2, 1):
        begun = time.perf_counter()
        changed = f"PATTERN SEQ(GOOG a, MSFT b) WHERE a.volume < b.volume WITHIN {window} s"
        text.fill(changed)
        text.press("Control+Enter")
        number = ck.detect(stream, changed).count()
        table = inside.get_by_text(f"of {number} matches")
        expect(table).to_be_visible(timeout=240_000)
        print(f"answered after {time.perf_counter() - begun:.1f} s")
    text.fill("PATTERN SEQ(GOOG a MSFT b)")
    expect(page.locator("#error")).to_contain_text("^^^^")
    expect(told).to_contain_text(re.compile("last pattern"))
