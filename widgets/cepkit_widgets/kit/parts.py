"""The parts of apps as HTML: all texts that come from data are escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files

from cepkit.errors import CepkitError
from cepkit.printing import html_text

STEPS = 400
"""The number of steps of a slider."""
ERROR_PLACE = '<div class="fault"></div>'
"""Where an app shows its error: below the controls, over what follows, which stays where it is."""
_SIDE_BY_SIDE = 820
"""Panes are side by side from this width in pixels."""
CLOSE = "close"
"""The action that takes an app's error away."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on a slider.

    Attributes:
        position: From 0 to `STEPS`.
        text: Its label.
        kind: "crossing", or "measured".
    """

    position: float
    text: str
    kind: str = "crossing"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table that is more than a text.

    Attributes:
        html: Its content, escaped.
        kind: "number", "wide" or "".
        sort: Of a heading: "ascending" or "descending" if rows are sorted by it.
    """

    html: str
    kind: str = ""
    sort: str = ""


def slider(
    name: str, label: str, position: float, text: str, ticks: Iterable[Tick] = (), *, moved: bool
) -> str:
    """Return a slider with its name, its value as a text and marks.

    Args:
        name: Its name in the app.
        label: Its name for the user.
        position: From 0 to `STEPS`.
        text: The value with its unit.
        ticks: Marks; crossings are also described below.
        moved: Whether the user has changed it.
    """
    ticks = tuple(ticks)
    marks = "".join(
        f'<span class="tick {tick.kind}" style="left:{100 * tick.position / STEPS:.2f}%" '
        f'title="{html_text(tick.text)}"></span>'
        for tick in ticks
    )
    words = "; ".join(html_text(tick.text) for tick in ticks if tick.kind == "crossing")
    hint = f'<span class="hint">{words}</span>' if words else ""
    return (
        f'<div class="slider{" moved" if moved else ""}" data-key="{html_text(name)}">'
        f'<span class="name">{html_text(label)}</span>'
        f'<span class="track"><span class="ticks">{marks}</span>'
        f'<input type="range" min="0" max="{STEPS}" step="1" value="{round(position)}" '
        f'data-set="{html_text(name)}" aria-label="{html_text(label)}" '
        f'aria-valuetext="{html_text(text)}"></span>'
        f"<output>{html_text(text)}</output>{hint}</div>"
    )


def button(
    action: str,
    text: str,
    value: str | None = None,
    *,
    label: str = "",
    pressed: bool | None = None,
    disabled: bool = False,
    kind: str = "",
) -> str:
    """Return a button.

    Args:
        text: Its text.
        label: Its full name, if the text on it is shorter; it contains that text.
        pressed: Whether a toggle button is down.
        disabled: Whether it is disabled.
        kind: "small" or "link".
    """
    given = "" if value is None else f' data-value="{html_text(value)}"'
    named = f' aria-label="{html_text(label)}" title="{html_text(label)}"' if label else ""
    down = "" if pressed is None else f' aria-pressed="{str(pressed).lower()}"'
    return (
        f'<button type="button" class="{kind}" data-do="{html_text(action)}"{given}{named}{down}'
        f"{' disabled' if disabled else ''}>{html_text(text)}</button>"
    )


def choice(name: str, label: str, values: Sequence[str], chosen: str) -> str:
    """Return a list to choose one value from."""
    options = "".join(
        f"<option{' selected' if value == chosen else ''}>{html_text(value)}</option>"
        for value in values
    )
    return (
        f"<label><span>{html_text(label)}</span>"
        f'<select data-set="{html_text(name)}">{options}</select></label>'
    )


def table(
    caption: str,
    head: Sequence[str | Cell],
    rows: Iterable[Sequence[str | Cell]],
    *,
    numbers: Iterable[int] = (),
    chosen: Iterable[int] = (),
    keys: str = "",
) -> str:
    """Return a table in a frame that scrolls if there is no room.

    Args:
        caption: The caption.
        head: The names of the columns.
        rows: A text or a cell for each column.
        numbers: The columns of numbers.
        chosen: The highlighted rows.
        keys: The action of its arrow keys; none if empty.
    """
    right, marked = set(numbers), set(chosen)

    def cell(tag: str, column: int, content: str | Cell, scope: str = "") -> str:
        made = content if isinstance(content, Cell) else Cell(html_text(content))
        kind = made.kind or ("number" if column in right else "")
        sort = f' aria-sort="{made.sort}"' if made.sort else ""
        return f'<{tag}{scope}{sort} class="{kind}">{made.html}</{tag}>'

    names = "".join(cell("th", i, name, ' scope="col"') for i, name in enumerate(head))
    body = []
    for number, row in enumerate(rows):
        cells = "".join(
            cell("th" if not i else "td", i, content, "" if i else ' scope="row"')
            for i, content in enumerate(row)
        )
        down = ' class="chosen" aria-selected="true"' if number in marked else ""
        body.append(f"<tr{down}>{cells}</tr>")
    label = html_text(caption)
    moves = f' data-keys="{html_text(keys)}"' if keys else ""
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{label}"{moves}><table>'
        f"<caption>{label}</caption><thead><tr>{names}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggested word below an editor.

    Attributes:
        text: As it is listed.
        detail: Its description.
        insert: The text that is inserted for it.
    """

    text: str
    detail: str
    insert: str


@dataclass(frozen=True, slots=True)
class Suggestions:
    """The suggestions below an editor; places count characters of its text.

    Attributes:
        words: The likeliest first.
        begin: The first character that a word replaces.
        end: The character after the last one.
        caret: The place of the caret.
        asked: Whether the user asked for them.
    """

    words: Sequence[Suggestion] = ()
    begin: int = 0
    end: int = 0
    caret: int = 0
    asked: bool = False


def editor(
    name: str,
    label: str,
    text: str,
    *,
    wrong: tuple[int, int] | None = None,
    described_by: str = "",
    suggestions: Suggestions | None = None,
) -> str:
    """Return a text of several lines to be edited, with words to choose from.

    Args:
        name: Its name in the app.
        label: Its name for the user.
        text: Its text.
        wrong: The characters that are underlined.
        described_by: The id of the element with the error message.
        suggestions: The words, and where they belong.
    """
    offered = suggestions or Suggestions()

    def units(place: int) -> int:
        # A browser counts UTF-16 units.
        return len(text[:place].encode("utf-16-le")) // 2

    begin, end = wrong or (0, 0)
    # An error at the end of the text needs a place, too.
    marked = text[begin : max(end, begin + 1)].rstrip("\n") or "\u00a0"
    under = f"{escape(text[:begin])}<mark>{escape(marked)}</mark>" if wrong else ""
    options = "".join(
        f'<li role="option" id="{html_text(name)}-{i}" aria-selected="false" '
        f'data-insert="{html_text(word.insert)}">'
        f"<b>{html_text(word.text)}</b> <span>{html_text(word.detail)}</span></li>"
        for i, word in enumerate(offered.words)
    )
    count = len(offered.words)
    said = f"{count} completion{'s' * (count != 1)}, arrow keys choose" if count else ""
    faulty = (
        f' aria-invalid="true" aria-describedby="{html_text(described_by)}"' if described_by else ""
    )
    rows = max(5, text.count("\n") + 2)
    # The HTML parser drops a leading line break.
    return (
        f'<div class="editor" data-editor><pre aria-hidden="true">{under}</pre>'
        f'<pre aria-hidden="true">{escape(text[: offered.begin])}<span data-mark></span></pre>'
        f'<textarea data-set="{html_text(name)}" aria-label="{html_text(label)}" rows="{rows}" '
        f'spellcheck="false" autocapitalize="off" autocomplete="off" aria-autocomplete="list" '
        f'aria-controls="{html_text(name)}-words"{faulty}>\n{escape(text)}</textarea>'
        f'<ul role="listbox" id="{html_text(name)}-words" aria-label="completions" hidden '
        f'data-length="{units(len(text))}" data-caret="{units(offered.caret)}" '
        f'data-begin="{units(offered.begin)}" data-end="{units(offered.end)}" '
        f'data-asked="{str(offered.asked).lower()}">{options}</ul>'
        f'<p class="only-read" aria-live="polite">{said}</p></div>'
    )


def progress_bar(label: str, share: float | None) -> str:
    """Return a progress bar; a share of None means unknown."""
    done = "" if share is None else f' value="{max(0.0, min(1.0, share)):.3f}"'
    return f'<progress max="1" aria-label="{html_text(label)}"{done}></progress>'


def code_block(summary: str, code: str) -> str:
    """Return code that the user can unfold and copy."""
    # Unlike in other texts, lines stay lines.
    lines = [html_text(line) for line in code.splitlines()]
    return (
        f"<details><summary>{html_text(summary)}</summary>"
        f'<button type="button" data-copy="{"&#10;".join(lines)}">Copy</button>'
        f'<pre class="code">{chr(10).join(lines)}</pre></details>'
    )


def place_after(key: str, at: int, count: int, page: int = 10) -> int:
    """Return the place that a key of a table leads to: the next, a page away, or an end.

    Args:
        at: The current place of `count`; -1 for none.
        page: How many places a page has.
    """
    by = {"ArrowUp": -1, "ArrowDown": 1, "PageUp": -page, "PageDown": page}
    ends = {"Home": 0, "End": count - 1}
    return max(0, min(count - 1, ends.get(key, at + by.get(key, 0))))


def bar_of(share: float) -> str:
    """Return a bar for a share from 0 to 1."""
    return f'<span class="share" style="width:{2 + 68 * max(0.0, min(1.0, share)):.0f}px"></span>'


def error_note(error: Exception) -> str:
    """Return the text of an error, announced to screen readers."""
    text = str(error) if isinstance(error, CepkitError) else f"{type(error).__name__}: {error}"
    return f'<div class="error" role="alert">{html_text_lines(text)}</div>'


def error_over(error: Exception) -> str:
    """Return the place of errors with one, which can be closed."""
    return (
        ERROR_PLACE.removesuffix("</div>")
        + f'<div class="over">{error_note(error)}{button(CLOSE, "Close")}</div></div>'
    )


def scrolling(label: str, html: str) -> str:
    """Return HTML in a frame that scrolls if there is no room."""
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{html_text(label)}">'
        f"{html}</div>"
    )


def two_panes(room: float) -> tuple[float, float]:
    """Return the widths of two panes, which are one above the other where there is no room.

    Args:
        room: The width of both, in pixels; style.css says where they stand side by side.
    """
    if room < _SIDE_BY_SIDE:
        return room, room
    left = max(300.0, 0.4 * (room - 20))
    return left, room - 20 - left


def html_text_lines(text: str) -> str:
    """Return a text of several lines, escaped."""
    return "\n".join(map(html_text, text.splitlines()))


def read_part(name: str) -> str:
    """Return a file of the kit as text."""
    return files("cepkit_widgets.kit").joinpath(name).read_text(encoding="utf-8")


@cache
def style() -> str:
    """Return the style sheet of all apps."""
    return read_part("style.css")
