"""The match browser over a DataFrame of Spark, in JupyterLab."""

from __future__ import annotations

import pytest

from tests.browser.apps import AppPage, assert_fits

expect = pytest.importorskip("playwright.sync_api", reason="make test-browser installs it").expect

MATCHES = """
import cepkit as ck
spark = ck.get_session(cores=2)
frame = spark.createDataFrame(ck.sample_stocks(8_000))
stream = ck.events(frame, time="ts", type="ticker")
matches = ck.detect(
    stream,
    "PATTERN SEQ(MSFT a, GOOG b, AAPL c) WHERE a.price < b.price AND b.price < c.price "
    "WITHIN 10 minutes",
    spark=ck.SparkOptions(route="workers"),
)
"""
APP = """
from cepkit_widgets import MatchBrowser
app = MatchBrowser(matches)
app
"""


@pytest.mark.slow
def test_matches_on_spark_are_sorted_filtered_and_looked_at(lab, page):
    lab.write("spark.ipynb", MATCHES, APP)
    lab.run(page, "spark.ipynb")
    app = AppPage(page)
    app.frame.locator("h3").first.wait_for(timeout=120_000)
    expect(app.host.get_by_text("there are more on Spark")).to_be_visible()
    app.button("Fetch the events around").click()
    expect(app.button("Fetch the events around")).to_have_count(0, timeout=60_000)
    expect(app.host.locator("svg .mark").first).to_be_visible()
    search = app.host.get_by_role("searchbox", name="filter")
    search.fill("c.price > a.price + 0.1")
    app.press("Enter")
    app.button("Filter all on Spark").press("Enter")
    satisfy = app.host.get_by_text("matches on Spark that satisfy the filter")
    expect(satisfy).to_be_visible(timeout=60_000)
    app.button("sort by c.price").click()
    assert_fits(app, "on Spark")
    assert lab.evaluate(page, "app.error") == "None"
