"""The HTML of a match browser."""

from __future__ import annotations

import json

import numpy as np

from cepkit.diagnosis.words import duration_text, value_text
from cepkit.pattern import conditions as c
from cepkit.pattern.names import name_text
from cepkit.printing import html_text
from cepkit_widgets.kit.parts import ERROR_PLACE, Cell, button, choice, table
from cepkit_widgets.match_browser.state import (
    LENGTH,
    NUMBER,
    SIZES,
    START,
    BrowserState,
    Key,
    can_search,
    searched,
    values_of,
)
from cepkit_widgets.matches.known import Ints, Known
from cepkit_widgets.matches.look import Looker
from cepkit_widgets.matches.paged import MOST_AROUND, PagedMatches
from cepkit_widgets.matches.timeline import key_of, timeline_svg

_PADDING = 20
_MOST_COLUMNS = 12


def browser_html(
    state: BrowserState,
    known: Known,
    order: Ints,
    looker: Looker,
    width: int,
    total: str,
    typed: str,
    doing: str = "",
) -> str:
    """Return the browser as HTML.

    Args:
        order: The numbers of the visible matches, in table order.
        looker: Computes the details of a match.
        width: The room, in pixels.
        total: The text about the number of all matches.
        typed: The text in the filter, valid or not.
        doing: The rows being fetched, in words; empty if none are.
    """
    lines = "\n".join(map(html_text, str(known.query).splitlines()))
    return (
        f'<h3>Match browser</h3><pre class="soft">{lines}</pre>'
        f"{_controls(state, known, order, looker, total, typed, doing)}"
        f'<div class="panes">'
        f'<div class="pane">{_table(state, known, order, looker)}{_pages(state, order)}</div>'
        f'<div class="pane">{_match(state, known, looker, width, doing)}</div></div>'
    )


def columns_of(known: Known) -> tuple[Key, ...]:
    """Return the columns of the table: the attributes of each variable that conditions read."""
    read = [
        (node.variable, node.name)
        for condition in c.conjuncts(known.query.where)
        for node in c.walk(condition)
        if isinstance(node, c.Attribute) and node.variable in known.variables
    ]
    keys = sorted(dict.fromkeys(read), key=lambda key: known.variables.index(key[0]))
    return (NUMBER, START, LENGTH, *keys[:_MOST_COLUMNS])


def _controls(
    state: BrowserState,
    known: Known,
    order: Ints,
    looker: Looker,
    total: str,
    typed: str,
    doing: str,
) -> str:
    examples = [f"{name_text(v)}.{name}" for v, name in columns_of(known)[3:5]]
    example = f"{examples[0]} > 100" if examples else "a condition"
    filtered = ""
    if state.event is not None:
        event = looker.name(state.event)
        filtered = button(
            "all", f"✕ only with {event}", label=f"take away the filter: only with {event}"
        )
    every = _has_all(state, known)
    wanted = min(known.most, state.wanted * 10)
    busy = bool(doing)
    more = search = stop = ""
    if not every and state.wanted < known.most:
        more = button("more", f"Look at {wanted:,}", disabled=busy)
    if can_search(state, known):
        what = " and ".join(
            name
            for name, is_so in (("filter", state.condition), ("sort", state.sort != NUMBER))
            if is_so
        )
        search = button("search", f"{what.capitalize()} all {known.place}", disabled=busy)
    if doing:
        stop = f'<span role="status">{html_text(doing)} …</span>{button("stop", "Stop")}'
    return (
        '<div class="bar"><label><span>filter</span><input type="search" size="34" '
        f'data-set="filter" value="{html_text(typed)}" '
        f'placeholder="as in WHERE: {html_text(example)}" aria-label="filter"></label>'
        f"{filtered}"
        + choice("rows", "rows", [str(size) for size in SIZES], str(state.rows))
        + more
        + search
        + button("count", "Count all", disabled=bool(total))
        + stop
        + f'</div>{ERROR_PLACE}<p class="soft" aria-live="polite">'
        + f"{_said(state, known, order, total)}</p>"
    )


def _has_all(state: BrowserState, known: Known) -> bool:
    """Return whether the browser shows all matches."""
    return known.complete and known.looked_at(state.wanted) == known.size


def _said(state: BrowserState, known: Known, order: Ints, total: str) -> str:
    marked = f" · {len(state.marked):,} marked" if state.marked else ""
    looked, size = known.looked_at(state.wanted), f"{len(order):,}"
    search = searched(state, known)
    if _has_all(state, known):
        said = f"all {looked:,} matches"
        return html_text(f"{said if len(order) == looked else f'{size} of {said}'}{marked}")
    if search is not None:
        so = " that satisfy the filter" if state.condition.strip() else ""
        those = f"all {size}" if search.complete else f"{size} of the"
        if search.sort is not None and not search.complete:
            those = f"the first {size} of the"
        said = f"{those} matches {known.place}{so}"
        more = "" if search.complete else total or "there are more"
    else:
        those = f"{looked:,} matches fetched" if known.place else f"first {looked:,} matches found"
        said = f"the {those}" if len(order) == looked else f"{size} of the {those}"
        if known.place and state.sort != NUMBER:
            said += " · sorted among these"
        more = total or f"there are more{f' {known.place}' if known.place else ''}"
    return html_text(f"{said}{f' · {more}' if more else ''}{marked}")


def _table(state: BrowserState, known: Known, order: Ints, looker: Looker) -> str:
    keys = columns_of(known)
    begin = state.page * state.rows
    numbers = order[begin : begin + state.rows]
    starts, ends = known.times()
    values = {key: values_of(known, *key) for key in keys[3:]}
    rows = []
    for number in map(int, numbers):
        cells: list[str | Cell] = [
            _chooser(number, state),
            looker.moment(int(starts[number])),
            duration_text(int(ends[number] - starts[number])),
        ]
        for key in keys[3:]:
            column, absent = values[key]
            text = "" if absent[number] else value_text(column.take(np.array([number])))
            several = len(known.binding(number).get(key[0], ())) if not absent[number] else 1
            cells.append(f"{text} … ({several})" if several > 1 else text)
        rows.append(cells)
    chosen = [i for i, number in enumerate(numbers) if number == state.current]
    head = [_header(key, state) for key in keys]
    caption = "matches; an arrow key chooses the next one"
    return table(caption, head, rows, numbers=range(2, len(keys)), chosen=chosen, keys="step")


def _chooser(number: int, state: BrowserState) -> Cell:
    marked = number in state.marked
    return Cell(
        f'<input type="checkbox" data-set="mark:{number}" aria-label="mark match {number:,}"'
        f"{' checked' if marked else ''}> "
        + button(
            "choose", f"{number:,}", str(number),
            label=f"look at match {number:,}", pressed=number == state.current, kind="small",
        )
    )  # fmt: skip


def _header(key: Key, state: BrowserState) -> Cell:
    variable, name = key
    titles = {NUMBER: "match", START: "start", LENGTH: "length"}
    title = titles.get(key) or f"{name_text(variable)}.{name}"
    sort = "" if key != state.sort else "descending" if state.descending else "ascending"
    arrow = {"": "", "ascending": " ▲", "descending": " ▼"}[sort]
    html = button("sort", f"{title}{arrow}", json.dumps(key), label=f"sort by {title}", kind="link")
    return Cell(html, "" if key in (NUMBER, START) else "number", sort)


def _pages(state: BrowserState, order: Ints) -> str:
    last = max(0, (len(order) - 1) // state.rows)
    first, end = state.page * state.rows + 1, min(len(order), (state.page + 1) * state.rows)
    here = f"{first:,} to {end:,} of {len(order):,}" if len(order) else "none"
    begins, ends = state.page == 0, state.page >= last
    return (
        '<div class="bar">'
        + button("page", "|<", "0", label="first page", disabled=begins, kind="small")
        + button(
            "page", "<", str(state.page - 1), label="previous page", disabled=begins, kind="small"
        )
        + f"<span>{here}</span>"
        + button("page", ">", str(state.page + 1), label="next page", disabled=ends, kind="small")
        + button("page", ">|", str(last), label="last page", disabled=ends, kind="small")
        + "</div>"
    )


def _match(state: BrowserState, known: Known, looker: Looker, width: int, doing: str) -> str:
    if state.current is None:
        return '<p class="soft">No match is chosen.</p>'
    binding = known.binding(state.current)
    around = looker.around(binding)
    conditions = looker.conditions(binding)
    out = f", {around.left_out:,} of those around left out" if around.left_out else ""
    fetch = ""
    if known.lacking:
        out += f"; {html_text(known.lacking)}"
    if isinstance(known, PagedMatches):
        covers = known.covers(state.current)
        if covers is None:
            out += f"; only the nearest {MOST_AROUND:,} events around are here"
        elif not covers:
            out += f"; the other events around are {known.place}"
            fetch = button("around", "Fetch the events around", disabled=bool(doing))
    return (
        '<div class="bar apart">'
        f"<h4>Match {state.current:,}, from {html_text(around.start)}</h4>"
        + button("step", "Previous", "ArrowUp", label="previous match")
        + button("step", "Next", "ArrowDown", label="next match")
        + fetch
        + '</div><div class="scroll" role="region" aria-label="time line of the match">'
        + timeline_svg(around, known.variables, max(300, width - _PADDING))
        + f'</div><p class="soft">{key_of(known.variables)}; ○ takes no part{out}. '
        "Choose an event to see the matches that it is in.</p>"
        + table(
            "what the pattern requires, with the values of this match",
            ["condition", "values", "held"],
            [(Cell(html_text(x.text), "wide"), Cell(html_text(x.values), "wide"), x.margin)
             for x in conditions],
            numbers=(2,),
        )
    )  # fmt: skip
