"""Pieces of the report's page: its frame and its tables. Everything given as text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cepkit.printing import html_text

# No scripts, no network: the browser enforces this.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #5c6066; --line: #d5d8dc;
  --paper: #ffffff; --shade: #f4f5f7; --accent: #00684c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e7e9; --soft: #a4a8ae; --line: #3c4046;
  --paper: #15171a; --shade: #202327; --accent: #4ac7a0; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main, header, footer { max-width: 62rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 1.5rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p { overflow-wrap: anywhere; }
pre { background: var(--shade); padding: .8rem 1rem; border-radius: 6px; white-space: pre-wrap;
  overflow-wrap: anywhere;
  font: .9rem/1.5 ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace; margin: 0; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: .6rem;
  margin: 0; }
dl div { background: var(--shade); border-radius: 6px; padding: .5rem .75rem; }
dt { color: var(--soft); font-size: .8rem; overflow-wrap: anywhere; }
dd { margin: 0; font-size: 1.05rem; font-weight: 600; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: 0 0 1rem; }
.scroll:focus-visible { outline: 2px solid var(--accent); }
figure { margin: 0; }
figure svg { display: block; color: var(--soft); font-family: inherit; }
.scroll svg { max-width: 100%; min-width: 40rem; height: auto; }
figure svg text { color: var(--ink); }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding: 0 0 .35rem; font-size: .875rem; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; white-space: nowrap; }
thead th { color: var(--soft); font-weight: 600; border-bottom-width: 2px; }
tbody th { font-weight: 600; }
td.wide { white-space: normal; min-width: 9rem; overflow-wrap: anywhere; }
.number { text-align: right; }
tr.marked th, tr.marked td { color: var(--accent); font-weight: 600; }
footer { color: var(--soft); font-size: .8rem; margin-top: 2.5rem; padding-bottom: 2rem; }
@media (max-width: 60rem) { table { font-size: .8125rem; } th, td { padding: .3rem .45rem; } }
@media print { .scroll { overflow: visible; } section { break-inside: avoid; } }
"""


def page(title: str, facts: Mapping[str, str], sections: Iterable[str]) -> str:
    """Return the whole page.

    Args:
        facts: Numbers for its head, by their names.
        sections: HTML, from `section`.
    """
    items = "".join(
        f"<div><dt>{html_text(name)}</dt><dd>{html_text(value)}</dd></div>"
        for name, value in facts.items()
    )
    head = f"<header><h1>{html_text(title)}</h1>{f'<dl>{items}</dl>' if items else ''}</header>"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html_text(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body>{head}\n<main>{''.join(sections)}</main>\n"
        "<footer>Made by cepkit. This file needs no network.</footer></body></html>\n"
    )


def section(heading: str, *parts: str) -> str:
    """Return a section: its heading as text, its parts as HTML."""
    return f"<section><h2>{html_text(heading)}</h2>{''.join(parts)}</section>\n"


def paragraph(text: str) -> str:
    """Return a paragraph of text."""
    return f"<p>{html_text(text)}</p>"


def drawing(svg: str, name: str) -> str:
    """Return an SVG element in a frame that scrolls on a narrow page."""
    return f"<figure>{_scrolling(svg, name)}</figure>"


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Iterable[int] = (),
    wide: Iterable[int] = (),
    marked: Iterable[int] = (),
) -> str:
    """Return a table; the first cell of each row is its heading.

    Args:
        head: The name of each column.
        rows: A text for each column.
        numbers: The columns of numbers, aligned to the right.
        wide: The columns whose texts may be broken into lines.
        marked: The rows to stand out.
    """
    right, broken, strong = set(numbers), set(wide), set(marked)

    def kind(column: int) -> str:
        classes = "number" if column in right else "wide" if column in broken else ""
        return f' class="{classes}"' if classes else ""

    names = "".join(
        f'<th scope="col"{kind(i)}>{html_text(name)}</th>' for i, name in enumerate(head)
    )
    body = []
    for number, row in enumerate(rows):
        first, *rest = row
        cells = "".join(
            f"<td{kind(i)}>{html_text(cell)}</td>" for i, cell in enumerate(rest, start=1)
        )
        strong_row = ' class="marked"' if number in strong else ""
        body.append(f'<tr{strong_row}><th scope="row">{html_text(first)}</th>{cells}</tr>')
    html = (
        f"<table><caption>{html_text(caption)}</caption><thead><tr>{names}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table>"
    )
    return _scrolling(html, caption)


def _scrolling(html: str, name: str) -> str:
    # A scrolling region must have a name and be reachable by keyboard.
    label = html_text(name)
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{label}">{html}</div>'
