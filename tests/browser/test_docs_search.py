"""The search of the documentation where its pages are opened as files: it shows texts."""

from __future__ import annotations

from pathlib import Path

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="make test-browser installs it").expect

DOCS = Path(__file__).parents[2] / "docs"
INDEX = """# Events

```{toctree}
rare
common
```
"""
RARE = """# Far behind

## Where it stands

The okapi comes after the giraffe, `a.price < b.price`, within three minutes.
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site of three pages, with the settings of the documentation."""
    main = pytest.importorskip("sphinx.cmd.build", reason="make docs installs it").build_main
    folder = tmp_path_factory.mktemp("site")
    pages = folder / "pages" / "docs"
    pages.mkdir(parents=True)
    (pages / "index.md").write_text(INDEX)
    (pages / "rare.md").write_text(RARE)
    (pages / "common.md").write_text("# Near\n\nThe giraffe is here as well.\n")
    built = folder / "built"
    options = ["--quiet", "--fail-on-warning", "-c", str(DOCS)]
    assert main([*options, str(folder / "pages"), str(built)]) == 0
    return built


def test_search_of_a_site_opened_as_files_shows_texts(site, page, elsewhere):
    page.goto((site / "docs" / "index.html").as_uri())
    box = page.get_by_role("textbox", name="Search")
    box.fill("okapi")
    box.press("Enter")
    results = page.locator("ul.search li")
    expect(results).to_have_count(1)
    expect(results.locator("a").first).to_have_text("Far behind")
    expect(results.locator(".context")).to_contain_text("The okapi comes after the giraffe")
    results.locator("a").first.click()
    expect(page.get_by_role("heading", name="Where it stands")).to_be_visible()
    assert page.url.startswith("file:")
    assert elsewhere == []


def test_search_finds_each_page_that_has_a_word(site, page):
    page.goto(f"{(site / 'search.html').as_uri()}?q=giraffe")
    expect(page.locator("ul.search li a")).to_have_text(["Far behind", "Near"], use_inner_text=True)
    texts = page.locator("ul.search .context")
    expect(texts).to_have_count(2)
    expect(texts.last).to_contain_text("here as well")
