"""What the tabs of a studio show, made in the background."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

import cepkit as ck
from cepkit.diagnosis.why_not import why_not
from cepkit.errors import ArgumentError, CepkitError, PatternError
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.stream.stream import Stream
from cepkit.tables import number
from cepkit_widgets.kit.app import App
from cepkit_widgets.kit.parts import Cell, button, code_block, scrolling, table, two_panes
from cepkit_widgets.match_browser.view import MatchBrowser
from cepkit_widgets.matches.answer import answer_html
from cepkit_widgets.pattern_editor.trial import Trial
from cepkit_widgets.pattern_editor.view import PatternEditor
from cepkit_widgets.plan_explorer.outlook import Outlook
from cepkit_widgets.plan_explorer.view import PlanExplorer
from cepkit_widgets.player.view import PlayerWidget
from cepkit_widgets.studio.handing import handed
from cepkit_widgets.studio.state import StudioState, named

_BUDGET = 4_000_000
"""The most events in combinations that a search for a reason examines: about a second."""

_MOST_ROWS = 60
"""The most choices of values in a table."""


@dataclass(frozen=True, eq=False, slots=True)
class Shown:
    """What a tab shows that is no app.

    Attributes:
        html: Its HTML.
        value: What it shows.
    """

    html: str
    value: Any


@dataclass(frozen=True, eq=False, slots=True)
class Played:
    """A player over a part of the stream.

    Attributes:
        begin: The number of the first event that it plays.
        matches: After how many steps each match is complete, by its events in the stream.
    """

    player: PlayerWidget
    begin: int
    matches: Mapping[tuple[int, ...], int]


def played(sample: Stream, part: tuple[int, int], query: Query, plan: Plan | None) -> Shown:
    """Return the steps of a plan on some events: of an order by the chain, of a tree as a tree."""
    begin, end = part
    columns = sample.columns(())
    rows = columns.source_rows(np.arange(begin, end))
    events = Stream(columns.source.take(rows), sample.schema, sample.column_names)
    if plan is None:
        trace: Any = ck.simulate(events, query, "chain-nfa", progress=False)
    else:
        orders = all(isinstance(branch, OrderPlan) for branch in plan.branches)
        mechanism = "chain-nfa" if orders else "evaluation-tree"
        trace = ck.simulate(events, query, mechanism, plan, progress=False)
    matches = {
        tuple(sorted({begin + event for event in match.members})): match.step + 1
        for match in reversed(trace.matches)
    }
    said = (
        f"Events {begin:,} to {end - 1:,}, in the order of time; a match that is chosen moves it."
    )
    return Shown(f'<p class="soft">{said}</p>', Played(PlayerWidget(trace), begin, matches))


def reason(sample: Stream, query: Query, asked: tuple[int, ...]) -> Shown:
    """Return why events are no match, or why there is none.

    Raises:
        PatternError: The pattern has no variable for such an event.
    """
    columns = sample.columns(())
    events = sorted(event for event in asked if event < len(columns))
    types = [columns.type_names[int(columns.types[event])] for event in events]
    rows = columns.source_rows(np.array(events, dtype=np.int64))
    variables = named(query, types) if events else ()
    if len(variables) < len(events):
        raise PatternError(
            f"the pattern has no variable for {' and '.join(types)} together",
            hint="choose another event, or ask about one of them",
        )
    question = dict(zip(variables, map(int, rows), strict=True))
    answer = why_not(sample, query, question, plan=as_plan(None, query), limit=5, budget=_BUDGET)
    picture = scrolling("the events in question", ck.draw(answer).to_inline_svg()) if events else ""
    hint = "Choose events or a near miss on the time line, to ask why they are no match."
    return Shown(f'<p class="soft">{hint}</p>{picture}{answer_html(answer)}', answer)


def curve(
    stream: Stream,
    sample: Stream,
    query: Query,
    grids: Mapping[str, Any],
    *,
    whole: bool,
    width: float,
) -> Shown:
    """Return how many matches there are for many values of the parameters, and choices of them.

    Args:
        stream: All events.
        sample: The first of them, in which matches are counted unless in all.
        query: The pattern, with parameters.
        grids: Values to try, by parameter.
        whole: Whether to count in all events.
        width: The room, in pixels.

    Raises:
        PatternError: The pattern has no parameter.
    """
    calibration = ck.calibrate(stream if whole else sample, query, progress=False, **grids)
    said = f"Counted in the first {len(sample.columns(())):,} events, a sample."
    offer = button("whole", "Count in the whole stream")
    if stream.place == "spark":
        offer = "<span>All events are on Spark, where matches are counted for one value.</span>"
    elif whole:
        said, offer = "Counted in the whole stream.", ""
    drawn = ck.draw(calibration).to_inline_svg(two_panes(width)[1])
    picture = scrolling("matches by value", drawn)
    names = [f"${name}" for name in query.parameters]
    rows: list[tuple[str | Cell, ...]] = [
        (
            Cell(
                button(
                    "use", "Use", str(place),
                    label=f"Use {', '.join(map(_text, row.values))}", kind="small",
                )
            ),
            *map(_text, row.values),
            f"{row.matches:,}",
        )
        for place, row in enumerate(calibration.rows[:_MOST_ROWS])
    ]  # fmt: skip
    listed = table(
        "matches for each choice of values", ["", *names, "matches"], rows,
        numbers=range(1, len(names) + 2),
    )  # fmt: skip
    values = scrolling("values to choose from", listed)
    return Shown(
        f'<div class="bar"><span>{said}</span>{offer}</div><div class="panes two">'
        '<div class="pane"><p class="soft">A value that you use is in force above.</p>'
        f'<div class="low">{values}</div></div><div class="pane">{picture}</div></div>',
        calibration,
    )


def _text(value: Any) -> str:
    return number(value) if isinstance(value, int | float) else f"{value}"


def hand_over(stream: Stream, query: Query, code: str) -> Shown:
    """Return the pattern for other systems, each as a text to copy."""
    texts = handed(stream, query, code)
    blocks = "".join(code_block(title, text) for title, text in texts.items())
    return Shown(blocks.replace("<details>", "<details open>", 1), texts)


def maker(
    tab: str,
    owner: App,
    editor: PatternEditor,
    stream: Stream,
    asked: tuple[int, ...],
    *,
    part: tuple[int, int],
    plan: Plan | None,
    grids: Mapping[str, Any],
    whole: bool,
) -> Callable[[], Any]:
    """Return what makes the content of a tab; it takes long, and reads no state any more.

    Args:
        owner: The app that the panels belong to.
        editor: Where the pattern is written, and tried on a sample.
        stream: All events.
        asked: The events that "why not" is about.
        part: The events that the player takes: the first one, and the one after the last.
        plan: Whose steps are played; None: rare events first.
        grids: Values of parameters to count for.
        whole: Whether to count for them in all events.
    """
    sample, query, written = editor.sample, editor.tried, editor.written
    if tab == "curve":
        assert written is not None
        return lambda: curve(stream, sample, written, grids, whole=whole, width=owner.width)
    assert query is not None
    match tab:
        case "matches":
            return lambda: MatchBrowser.panel_of(owner, ck.detect(stream, query))
        case "plan":
            return lambda: PlanExplorer.panel_of(
                owner, query, ck.profile(stream, query), stream=stream
            )
        case "steps":
            return lambda: played(sample, part, query, plan)
        case "why not":
            return lambda: reason(sample, query, asked)
        case "hand over":
            code = editor.as_code()
            return lambda: hand_over(stream, query, code)
        case _:
            raise ArgumentError(f"there is no tab '{tab}'")


def follow(panel: Any, state: StudioState) -> None:
    """Give a panel the filter, the sliders, the planner of a state, as far as they fit it."""
    with suppress(CepkitError):
        match panel:
            case MatchBrowser() if panel.state.condition != state.filter:
                panel.filter(state.filter)
            case PlanExplorer(outlook=Outlook() as before):
                if before.state.moved != state.moved:
                    panel.reset()
                    for name, value in state.moved.items():
                        panel.move(name, value)
                if state.planner and panel.outlook is not None:
                    panel.outlook = panel.outlook.choose(state.planner)


def missed(trial: Trial | None, number: int) -> tuple[int, ...]:
    """Return the events of a near miss, one for each variable, in the order of time."""
    assert trial is not None
    first: dict[str, int] = {}
    for event in trial.misses[number].events:
        first.setdefault(event.variable, event.event)
    return tuple(sorted(first.values()))
