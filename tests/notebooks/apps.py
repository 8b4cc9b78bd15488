"""What apps show at the end of a notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

STATE = "application/vnd.jupyter.widget-state+json"
_NOTHING = re.compile(r"(^|\s)(0 of|no match(es)? (fits?|found|satisf)|nothing)\b", re.IGNORECASE)


def emptied(notebook: Any) -> Iterator[str]:
    """Yield the text of each app that shows nothing at the end: no rows, or none of its matches."""
    models = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    for model in models.values():
        html = model["state"].get("html")
        if html is None:
            continue
        page = _Page()
        page.feed(html)
        text = " ".join(page.texts)
        if page.empty or not page.texts or _NOTHING.search(text):
            yield text


class _Page(HTMLParser):
    """The texts of a page, and whether one of its tables has no rows."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.empty = False
        self._rows = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tbody":
            self._rows = 0
        self._rows += tag == "tr"

    def handle_endtag(self, tag: str) -> None:
        if tag == "tbody" and not self._rows:
            self.empty = True

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())
