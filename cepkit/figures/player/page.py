"""HTML around the player: a fragment for notebooks, a page for files. Nothing is fetched.

The document contains data from streams and patterns: the page embeds it as JSON in which no
character can end a script, and the player shows it only as text.
"""

from __future__ import annotations

import re
import secrets
from functools import cache
from importlib.resources import files
from json import dumps

from cepkit.printing import html_text

# The browser enforces it: the page sends no request.
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"

_PAGE_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; background: #ffffff; }
@media (prefers-color-scheme: dark) { body { background: #15171a; } }
"""


_PARTS = (
    "base", "strip", "shapes", "diagram", "mechanism", "card", "counters", "charts", "quiz",
    "style", "player",
)  # fmt: skip
"""The files of the module, in the order in which they are joined."""


@cache
def script() -> str:
    """Return the player's ECMAScript module: no imports, `{ render, mount }` as its default."""
    folder = files("cepkit.figures.player").joinpath("parts")
    source = "\n".join(
        folder.joinpath(f"{part}.js").read_text(encoding="utf-8").strip("\n") + "\n"
        for part in _PARTS
    )
    # Inside a page these would end or hide the script; the module does not need them.
    assert "</" not in source
    assert "<!--" not in source
    return source


def fragment(
    document: str, fallback: str, *, step: int = 0, link: str | None = None, page: bool = False
) -> str:
    """Return HTML that plays a document wherever scripts run, and shows `fallback` elsewhere.

    Args:
        document: JSON, as `player_document` makes it.
        fallback: HTML for where no script runs, as in a notebook that is not trusted.
        step: Where to begin.
        link: Players with the same link move together; None: this one moves alone.
        page: Whether the player handles all keys of the page.
    """
    # A notebook may show an output twice, and a page may hold many: each needs its own ids.
    name = f"cepkit-{secrets.token_hex(6)}"
    linked = embedded(dumps(link))
    options = f"{{step: {step}, link: {linked}, page: {str(page).lower()}}}"
    start = (
        f"for (const place of window.document.querySelectorAll('[data-cepkit=\"{name}\"]')) {{\n"
        "  if (place.dataset.playing) continue;\n"
        "  place.dataset.playing = 'true';\n"
        f"  place.replaceChildren();\n  mount(place, cepkitDocument, {options});\n}}\n"
    )
    return (
        f'<div data-cepkit="{name}">{fallback}</div>\n'
        f'<script type="module">\n{script()}\nconst cepkitDocument = {embedded(document)};\n'
        f"{start}</script>\n"
    )


def page(title: str, body: str) -> str:
    """Return a whole page that needs no network."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html_text(title)}</title><style>{_PAGE_STYLE}</style></head>\n"
        f"<body>{body}</body></html>\n"
    )


def embedded(json: str) -> str:
    """Return JSON that is safe inside a script: no markup, no exotic line breaks."""
    # In source this property name would set the object's prototype.
    safe = re.sub(r'(?<=[{,])"__proto__":', '["__proto__"]:', json)
    # UTF-8 cannot encode lone surrogates.
    return re.sub("[<\u2028\u2029\ud800-\udfff]", lambda c: f"\\u{ord(c[0]):04x}", safe)
