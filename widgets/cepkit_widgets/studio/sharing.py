"""A studio as one file: the pattern, some events, their matches, the plan and a player, offline."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import cepkit as ck
from cepkit.columnar.results.matches import Matches
from cepkit.errors import LimitError, StreamError
from cepkit.figures.diagrams.pictures import pictures
from cepkit.figures.diagrams.plan_canvas import side_by_side
from cepkit.figures.kit.svg import to_svg
from cepkit.pattern.query import Query
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.printing import html_text
from cepkit.stream.stream import Stream
from cepkit.tables import count_text
from cepkit_widgets.in_words import in_words
from cepkit_widgets.kit.parts import Cell, html_text_lines, scrolling, style, table
from cepkit_widgets.matches.known import KnownMatches
from cepkit_widgets.matches.look import Looker
from cepkit_widgets.matches.timeline import timeline_svg

MOST_EVENTS = 2_000
"""The most events of a shared page."""
_MOST_MATCHES = 100
_STEPS = 2 * MOST_EVENTS
"""The most steps: events, and windows that end."""
_WIDTH = 960
_LINK = "studio"
# The players of a page listen to this, whatever moves them.
_MOVES = """<script>
for (const button of document.querySelectorAll("[data-step]")) button.onclick = () => {
  const detail = { link: "studio", step: Number(button.dataset.step) };
  document.dispatchEvent(new CustomEvent("cepkit-step", { detail }));
};
</script>"""


def shared_page(
    sample: Stream, query: Query, match: tuple[int, ...], plan: Plan | None, redact: Sequence[str]
) -> str:
    """Return the page; it has no data but the times, the types and what the pattern reads.

    Args:
        sample: The events; those around the match are taken.
        match: The events of the chosen match.
        plan: Whose steps are played; None: the cheapest.
        redact: Columns whose values are replaced by numbers, equal ones by the same.

    Raises:
        StreamError: There is no such column, or it is the time or the type.
    """
    check_redacted(sample, redact)
    plan = plan or ck.choose_plan(query, ck.profile(sample, query, progress=False), progress=False)
    picture = to_svg(side_by_side([("", pictures(plan, query))], _WIDTH))
    begin = first_shared(sample, match)
    part, trace = _traced(sample, begin, query, plan)
    hidden = [name for name in redact if name in trace.events.attributes]
    chosen = tuple(event - begin for event in match)
    step_of = {tuple(sorted(set(m.members))): m.step + 1 for m in reversed(trace.matches)}
    start = step_of.get(chosen, trace.matches[0].step + 1 if trace.matches else 0)
    player = ck.draw(trace, of="player", redact=hidden, link=_LINK, start=start, steps=_STEPS)
    document = json.loads(player.document)
    pattern = html_text_lines(str(query))
    words = "".join(f"<li>{html_text(sentence)}</li>" for sentence in in_words(query))
    events = count_text(len(part), "event")
    body = (
        f'<div class="cepkit-app"><style>{style()}</style><h3>A pattern and its matches</h3>'
        f'<pre class="code">{pattern}</pre><ul class="words">{words}</ul>'
        f"{_lanes(part, query, chosen, hidden)}{_matches(document)}"
        f"{_heading('The plan by ' + plan.planner)}{scrolling('the plan', picture)}"
        f"{_heading('Step by step, over ' + events)}</div>{_MOVES}"
    )
    page: str = player.to_page("A pattern and its matches", body)
    return page


def check_redacted(sample: Stream, redact: Sequence[str]) -> None:
    """Check the names of columns whose values are not to be shared.

    Raises:
        StreamError: There is no such column, or it is the time or the type.
    """
    for name in redact:
        if name in (sample.schema.time, sample.schema.type):
            raise StreamError(f"redact: '{name}'", expected="no column of the time or the type")
        if name not in sample.column_names:
            raise StreamError.unknown(f"redact: no column '{name}'", name, sample.column_names)


def first_shared(sample: Stream, match: tuple[int, ...]) -> int:
    """Return the first event of those around a match that a page has."""
    return max(0, min(match[0] - 50, len(sample) - MOST_EVENTS)) if match else 0


def _heading(text: str) -> str:
    return f'<div class="bar apart"><h4>{html_text(text)}</h4></div>'


def _traced(sample: Stream, begin: int, query: Query, plan: Plan) -> tuple[Stream, Any]:
    """Return as many events as can be followed, and the trace."""
    columns = sample.columns(())
    most = MOST_EVENTS
    while True:
        rows = columns.source_rows(np.arange(begin, min(begin + most, len(columns))))
        part = Stream(columns.source.take(rows), sample.schema, sample.column_names)
        try:
            orders = all(isinstance(branch, OrderPlan) for branch in plan.branches)
            mechanism = "chain-nfa" if orders else "evaluation-tree"
            trace = ck.simulate(part, query, mechanism, plan, max_steps=_STEPS, progress=False)
        except LimitError:
            most //= 2
            if most < 10:
                raise
            continue
        return part, trace


def _lanes(part: Stream, query: Query, chosen: tuple[int, ...], hidden: Sequence[str]) -> str:
    matches = ck.detect(part, query, progress=False)
    assert isinstance(matches, Matches)
    known = KnownMatches(matches)
    known.at_least(_MOST_MATCHES)
    if not known.size:
        return '<p class="soft">no match among these events</p>'
    around = Looker(known, hidden).around(known.binding(known.number_of(chosen) or 0))
    svg = timeline_svg(around, known.variables, _WIDTH, action=None)
    return f"{_heading('A match, from ' + around.start)}{scrolling('a match in time', svg)}"


def _matches(document: Mapping[str, Any]) -> str:
    """Return the matches of the player, with a button that moves it."""
    (trace,), events = document["traces"], document["events"]
    variables = list(dict.fromkeys(v for match in trace["matches"] for v in match["events"]))
    names = list(events["attributes"])
    rows: list[list[str | Cell]] = []
    for place, match in enumerate(trace["matches"][:_MOST_MATCHES]):
        step = match["step"] + 1
        label = f"Match {place}"
        move = f'<button type="button" class="small" data-step="{step}">{label}</button>'
        cells: list[str | Cell] = [Cell(move)]
        for variable in variables:
            bound = match["events"].get(variable, [])
            each = bound if isinstance(bound, list) else [bound]
            said = [events["name"][event] for event in each[:3]]
            if len(each) == 1:
                values = (f"{name} = {events['attributes'][name][each[0]]}" for name in names)
                said.append("; ".join(values))
            elif len(each) > 3:
                said.append(f"and {len(each) - 3} more")
            cells.append(Cell(html_text(", ".join(filter(None, said))), "wide"))
        rows.append(cells)
    if not rows:
        return ""
    total = trace["totals"]["matches"]
    caption = f"{min(len(rows), total):,} of {count_text(total, 'match', 'matches')}"
    return table(caption, ["moves the player", *variables], rows)
