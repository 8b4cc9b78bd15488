"""The HTML of a pattern editor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from cepkit.diagnosis.findings import Binding
from cepkit.diagnosis.result import NearMiss
from cepkit.diagnosis.words import duration_text
from cepkit.errors import CepkitError
from cepkit.figures.diagrams.pictures import pictures
from cepkit.figures.diagrams.plan_canvas import side_by_side
from cepkit.figures.kit.svg import to_svg
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.printing import html_text
from cepkit.tables import count_text, number
from cepkit_widgets.in_words import in_words
from cepkit_widgets.kit.parts import (
    ERROR_PLACE,
    Suggestions,
    button,
    code_block,
    editor,
    error_note,
    html_text_lines,
    progress_bar,
    two_panes,
)
from cepkit_widgets.matches.answer import answer_html
from cepkit_widgets.matches.bars import Band, Bar, lanes_of
from cepkit_widgets.matches.known import Ints, KnownMatches
from cepkit_widgets.matches.look import Looker
from cepkit_widgets.matches.timeline import key_of, timeline_svg
from cepkit_widgets.pattern_editor.running import Running
from cepkit_widgets.pattern_editor.state import Reading
from cepkit_widgets.pattern_editor.trial import Trial

_PADDING = 20
_MOST_BRANCHES = 6
"""The most branches to draw, a picture each."""
_LANES = 6
_MOST_COLUMNS = 12
_HINT = "pattern-hint"


@dataclass(frozen=True, slots=True)
class EditorOutlook:
    """The content of the editor.

    Attributes:
        reading: The parsed text.
        suggestions: Words that may follow at the caret.
        good: The last valid query; None if there was none.
        events: How many events the sample has.
        trial: The result of the last query tried.
        refused: Why the query cannot be tried.
        trying: Whether a query is being tried.
        chosen: The number of the current match.
        running: The last run over the whole stream.
        code: The cell that finds the matches.
        columns: The names of the stream's columns.
        values: The values of parameters that are in force.
        alone: Whether it is no panel of another app, which shows the automaton and the code.
    """

    reading: Reading
    suggestions: Suggestions
    good: Query | None
    events: int
    trial: Trial | None
    refused: CepkitError | None
    trying: bool
    chosen: int
    running: Running | None
    code: str
    columns: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    alone: bool = True


def editor_html(outlook: EditorOutlook, width: int) -> str:
    """Return the editor as HTML.

    Args:
        outlook: The state that is shown.
        width: The room, in pixels.
    """
    room = max(300, width - _PADDING)
    _, right = two_panes(room)
    below = ""
    if outlook.alone:
        code = code_block("The cell that finds the matches", outlook.code)
        below = f"{_automaton(outlook, room)}{code}"
    return (
        '<h3>Pattern editor</h3><div class="panes two">'
        f'<div class="pane">{_text(outlook)}</div>'
        f'<div class="pane">{_trial(outlook, right)}{_run(outlook)}</div></div>{below}'
    )


def _text(outlook: EditorOutlook) -> str:
    reading = outlook.reading
    wrong = (reading.span.start, reading.span.end) if reading.span else None
    area = editor(
        "text",
        "pattern",
        reading.text,
        wrong=wrong,
        described_by=_HINT if reading.error else "",
        suggestions=outlook.suggestions,
    )
    names = ", ".join(outlook.columns[:_MOST_COLUMNS])
    more = ", …" if len(outlook.columns) > _MOST_COLUMNS else ""
    keys = f'<p class="soft">Columns: {html_text(names)}{more}. Ctrl+Space: suggestions</p>'
    if reading.query is not None and reading.written is not None and reading.written.parameters:
        force = ", ".join(f"${n} = {_value(outlook.values[n])}" for n in reading.written.parameters)
        keys = f"<p>With <b>{html_text(force)}</b></p>{keys}"
    # The element always exists, so that a screen reader announces its changes.
    hint = f'<div id="{_HINT}" aria-live="polite">{_error(outlook)}</div>'
    return f"{area}{ERROR_PLACE}{hint}{keys}{_words(outlook)}"


def _value(value: Any) -> str:
    return number(value) if isinstance(value, int | float) else f"{value}"


def _words(outlook: EditorOutlook) -> str:
    """Return what the pattern means; while the text has a mistake, what the last one meant."""
    query = outlook.reading.written or outlook.good
    if query is None:
        return ""
    stale = "" if outlook.reading.written is not None else " stale"
    said = "".join(f"<li>{html_text(sentence)}</li>" for sentence in in_words(query))
    return (
        f'<h4>In words</h4><ul class="words{stale}" aria-label="the pattern in words">{said}</ul>'
    )


def _error(outlook: EditorOutlook) -> str:
    reading = outlook.reading
    error = reading.error
    if error is None:
        return ""
    if not outlook.alone and reading.written is not None and reading.written.parameters:
        # The page knows a way without Python.
        said = f"{error.found}\nHint: choose one in the tab: curve"
        return f'<div class="error">{html_text_lines(said)}</div>'
    place = f"Line {reading.span.line}, column {reading.span.column}: " if reading.span else ""
    lines = [f"{place}{error.found}"]
    lines += [f"Expected: {error.expected}"] if error.expected else []
    lines += [f"Hint: {error.hint}"] if error.hint else []
    return f'<div class="error">{html_text_lines(chr(10).join(lines))}</div>'


def _automaton(outlook: EditorOutlook, room: float) -> str:
    query = outlook.good
    if query is None:
        return ""
    drawn = pictures(as_plan(None, query), query)
    more = len(drawn) - _MOST_BRANCHES
    svg = to_svg(side_by_side([("", drawn[:_MOST_BRANCHES])], room))
    stale = outlook.reading.query is None
    said = " of the last text without an error" if stale else ""
    left = f'<p class="soft">and {count_text(more, "more branch", "more branches")}</p>'
    return (
        f'<div class="bar apart"><h4>The automaton{said}</h4></div>'
        f'<div class="scroll{" stale" if stale else ""}" role="region" tabindex="0" '
        f'aria-label="the automaton">{svg}</div>{left if more > 0 else ""}'
    )


def _trial(outlook: EditorOutlook, room: float) -> str:
    trial = outlook.trial
    if outlook.good is None:
        return ""
    sample = f"the first {count_text(outlook.events, 'event')}"
    current = trial is not None and trial.query == outlook.good
    wrong = outlook.reading.query is None
    stale = wrong or outlook.trying or not (current or outlook.refused)
    state = " · trying …" if outlook.trying else ""
    if outlook.refused is not None:
        content = error_note(outlook.refused)
    elif trial is None:
        content = ""
    else:
        content = _count(trial)
        # Without a match the studio shows events, to ask about.
        events = outlook.events > 0 and not outlook.alone
        if trial.known is not None and (trial.size or trial.misses or events):
            content += _lanes(trial, outlook.chosen, room, alone=outlook.alone)
        if trial.why is not None:
            content += answer_html(trial.why)
    return (
        f'<div class="bar apart"><h4>On {sample}</h4><span class="soft">{state}</span></div>'
        f'<div class="{"stale" if stale else ""}">{content}</div>'
    )


def _count(trial: Trial) -> str:
    if trial.count is not None:
        said = count_text(trial.count, "match", "matches")
    elif trial.known is None:
        said = "It takes too long here to look for matches: give the editor a smaller sample."
    else:
        said = f"{trial.size:,} matches and more; it takes too long here to count them all"
    return f'<p aria-live="polite"><b>{said}</b></p>'


# Typing changes the text at each key, and the picture only where the trial is another.
@lru_cache(maxsize=2)
def _lanes(trial: Trial, chosen: int, room: float, *, alone: bool) -> str:
    """Return a match among its neighbours, the nearest miss, or events alone, on a time line."""
    known = trial.known
    assert known is not None
    number = min(chosen, trial.size - 1)
    looker = Looker(known)
    nearest = _binding(trial.misses[0]) if trial.misses else {}
    binding = known.binding(number) if trial.size else nearest
    around = looker.around(binding)
    ts = known.columns.ts
    start = min((int(ts[e]) for events in binding.values() for e in events), default=int(ts[0]))
    begin, end = start + around.begin * 1e6, start + around.end * 1e6
    gap = (around.end - around.begin) * 1e6 / 60
    every = {n: _span(ts, known.binding(n)) for n in range(trial.size)}
    # The chosen match is placed first.
    order = sorted(
        (n for n, (a, b) in every.items() if b >= begin and a <= end), key=lambda n: n != number
    )
    spans = [every[n] for n in order]
    bars = [
        Bar(
            n,
            _marks(known, known.binding(n), start),
            lane,
            f"match {n:,}, {duration_text(b - a)} long",
            n == number,
        )
        for n, (a, b), lane in zip(order, spans, lanes_of(spans, gap, _LANES), strict=True)
        if lane is not None
    ]
    bands = [Band("first matches", f"{len(order)} here, {len(bars)} drawn", tuple(bars))]
    every_miss = [(n, _binding(miss)) for n, miss in enumerate(trial.misses)]
    near = [(n, bound, _span(ts, bound)) for n, bound in every_miss]
    near = [(n, bound, span) for n, bound, span in near if span[1] >= begin and span[0] <= end]
    asks = None if alone else "miss"
    missed = [
        Bar(n, _marks(known, bound, start), lane, trial.misses[n].detail, absent=True, action=asks)
        for (n, bound, _), lane in zip(
            near, lanes_of([span for *_, span in near], gap, _LANES), strict=True
        )
        if lane is not None
    ]
    if missed:
        bands.append(Band("near misses", f"{len(near)} here, {len(missed)} drawn", tuple(missed)))
    action = None if alone else "ask"
    svg = timeline_svg(
        around, known.variables, room, action=action, bands=bands if trial.size else bands[1:]
    )
    more = "; - - no event may be there" if around.absences else ""
    more += f"; {around.left_out:,} of those around left out" if around.left_out else ""
    heading = "The first events"
    if trial.size:
        heading = f"Match {number:,}"
    elif trial.misses:
        heading = "The nearest miss"
    buttons = (
        button("choose", "Previous", str(number - 1), label="previous match", disabled=not number)
        + button(
            "choose", "Next", str(number + 1),
            label="next match", disabled=number + 1 >= trial.size,
        )
    )  # fmt: skip
    return (
        f'<div class="bar"><span>{heading}, from {html_text(around.start)}</span>'
        + (
            buttons
            if trial.size
            else button("miss", "Why not?", "0")
            if trial.misses and asks
            else ""
        )
        + '</div><div class="scroll" role="region" aria-label="the first matches on a time line">'
        + f'{svg}</div><p class="soft">{key_of(known.variables)}; ○ takes no part{more}</p>'
    )


def _binding(miss: NearMiss) -> dict[str, tuple[int, ...]]:
    """Return the events of each variable of a near miss."""
    variables = dict.fromkeys(event.variable for event in miss.events)
    return {v: tuple(e.event for e in miss.events if e.variable == v) for v in variables}


def _span(ts: Ints, binding: Binding) -> tuple[int, int]:
    times = ts[[event for events in binding.values() for event in events]]
    return int(np.min(times)), int(np.max(times))


def _marks(known: KnownMatches, binding: Binding, start: int) -> tuple[tuple[float, int], ...]:
    marks = [
        ((int(known.columns.ts[event]) - start) / 1e6, known.variables.index(variable))
        for variable, events in binding.items()
        for event in events
    ]
    return tuple(sorted(marks))


def _run(outlook: EditorOutlook) -> str:
    running = outlook.running
    goes_on = running is not None and running.running
    controls = (
        button("stop", "Stop", disabled=running is None or not goes_on)
        if goes_on
        else button("run", "Run on everything", disabled=outlook.reading.query is None)
    )
    said, bar = "", ""
    if running is not None and goes_on:
        bar = progress_bar("run on everything", running.share)
        said = f"{running.elapsed:.0f} s"
    elif running is not None:
        said = _outcome(running)
        if running.query != outlook.reading.query:
            said += " (of an earlier text)"
    error = running.error if running is not None else None
    note = error_note(error) if isinstance(error, Exception) else ""
    # The bar and the text have a fixed place, so that the button does not move.
    return (
        f'<div class="bar apart"><h4>On the whole stream</h4>{controls}<span>{bar}</span>'
        f'<span aria-live="{"off" if goes_on else "polite"}">{html_text(said)}</span></div>'
        f"<div>{note}</div>"
    )


def _outcome(running: Running) -> str:
    if isinstance(running.error, KeyboardInterrupt):
        return f"stopped after {running.seconds:.1f} s"
    if running.error is not None or running.count is None:
        return "failed"
    return f"{count_text(running.count, 'match', 'matches')} in {running.seconds:.2g} s"
