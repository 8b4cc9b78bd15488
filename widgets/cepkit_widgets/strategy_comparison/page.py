"""The HTML of a strategy comparison."""

from __future__ import annotations

import numpy as np

from cepkit.diagnosis.words import duration_text
from cepkit.pattern.policies import Strategy
from cepkit.printing import cut, html_text
from cepkit.tables import count_text
from cepkit_widgets.kit.parts import ERROR_PLACE, Cell, bar_of, button, code_block, table
from cepkit_widgets.matches.bars import Band, Bar, lanes_of
from cepkit_widgets.matches.look import Around, Looker
from cepkit_widgets.matches.timeline import key_of, timeline_svg
from cepkit_widgets.strategy_comparison.state import (
    ANY,
    Comparison,
    Key,
    Owners,
    StrategyState,
)

_PADDING = 20
_ROWS = 8
_LANES = 5
_TRIED = 200
_TAKES = {
    Strategy.SKIP_TILL_ANY_MATCH: "every match",
    Strategy.SKIP_TILL_NEXT_MATCH: "no event twice: the first match of free events",
    Strategy.STRICT_CONTIGUITY: "no other event between",
    Strategy.PARTITION_CONTIGUITY: "no other event of the partition between",
}


def comparison_html(
    state: StrategyState, comparison: Comparison, looker: Looker, width: int, *, code: str
) -> str:
    """Return the comparison as HTML.

    Args:
        state: The selection of the user.
        comparison: The matches of each strategy.
        looker: Computes the details of a match.
        width: The room, in pixels.
        code: The cell that finds the matches of the chosen strategy.
    """
    assert comparison.known is not None
    # The strategies differ, so the text shows none of them.
    query = comparison.outcomes[ANY].query
    lines = "\n".join(map(html_text, str(query).splitlines()))
    return (
        f'<h3>Strategy comparison</h3><pre class="soft">{lines}</pre>'
        f'<p class="soft">over {comparison.extent}</p>{ERROR_PLACE}'
        f'<div class="panes even"><div class="pane">{_strategies(state, comparison)}</div>'
        f'<div class="pane">{_groups(state, comparison)}</div></div>'
        f"{_matches(state, comparison, looker)}{_match(state, comparison, looker, width)}"
        f"{code_block(f'The cell that finds the matches of {state.chosen}', code)}"
    )


def _strategies(state: StrategyState, comparison: Comparison) -> str:
    most = max((o.count or 0 for o in comparison.outcomes.values()), default=0)
    rows: list[list[str | Cell]] = []
    for strategy, outcome in comparison.outcomes.items():
        chosen = strategy is state.chosen
        if outcome.count is None:
            assert outcome.error is not None
            hint = f" Hint: {outcome.error.hint}" if outcome.error.hint else ""
            said = f"cannot be run: {outcome.error.found}.{hint}"
            rows.append([str(strategy), Cell(html_text(said), "wide"), "", "", ""])
            continue
        name = Cell(button("strategy", strategy, strategy, pressed=chosen, kind="small"))
        share = np.log1p(outcome.count) / np.log1p(most) if most else 0.0
        bar = Cell(bar_of(float(share)) if outcome.count else "")
        lacks = f"{comparison.lacks(strategy) or 0:,}"
        rows.append([name, Cell(_TAKES[strategy], "wide"), f"{outcome.count:,}", bar, lacks])
    note = "".join(
        f'<p class="note">Of {strategy} the first {outcome.held:,} matches are held.</p>'
        for strategy, outcome in comparison.outcomes.items()
        if outcome.held < (outcome.count or 0)
    )
    return note + table(
        f"strategies{comparison.extent.within}; bars are logarithmic; "
        "an arrow key chooses the next one",
        ["strategy", "takes", "matches", "", "lacks"],
        rows,
        numbers=(2, 4),
        chosen=[list(comparison.outcomes).index(state.chosen)],
        keys="step-strategy",
    )


def group_text(owners: Owners) -> str:
    """Return the name of the control that lists the matches of a group of strategies."""
    return " and ".join(strategy for strategy in Strategy if strategy in owners)


def _groups(state: StrategyState, comparison: Comparison) -> str:
    ran = comparison.ran
    rows: list[list[str | Cell]] = []
    chosen = []
    for owners, size in comparison.groups.items():
        named = group_text(owners)
        if owners == state.group:
            chosen.append(len(rows))
        down = owners == state.group
        verb = "has" if len(owners) == 1 else "have"
        label = f"list the {count_text(size, 'match', 'matches')} that only {named} {verb}"
        here = button("group", f"{size:,}", named, label=label, pressed=down, kind="small")
        rows.append([Cell(here), *(_owned(strategy in owners) for strategy in ran)])
    return table(
        f"who has the same matches{comparison.extent.within}",
        ["matches", *(_short(s) for s in ran)],
        rows,
        chosen=chosen,
    )


def _owned(has: bool) -> Cell:
    word = "has them" if has else "lacks them"
    mark = "●" if has else "○"
    return Cell(
        f'<span aria-hidden="true">{mark}</span><span class="only-read">{word}</span>', "mark-of"
    )


def _short(strategy: Strategy) -> Cell:
    words = strategy.removeprefix("skip-till-")
    return Cell(html_text(words), "mark-of")


def _matches(state: StrategyState, comparison: Comparison, looker: Looker) -> str:
    numbers = comparison.numbers(state)
    known = comparison.known
    assert known is not None
    listed = group_text(state.group) + " alone" if state.group else str(state.chosen)
    if not numbers:
        return f'<p class="soft">No match of {listed} is held.</p>'
    at = numbers.index(state.current) if state.current in numbers else 0
    begin = at // _ROWS * _ROWS
    ran = comparison.ran
    rows: list[list[str | Cell]] = []
    for number in numbers[begin : begin + _ROWS]:
        start, end = (int(times[number]) for times in comparison.times)
        down = number == state.current
        chooser = button(
            "choose", f"{number:,}", str(number),
            label=f"look at match {number:,}", pressed=down, kind="small",
        )  # fmt: skip
        owners = comparison.owners[number]
        rows.append(
            [
                Cell(chooser),
                *(_owned(strategy in owners) for strategy in ran),
                looker.moment(start),
                duration_text(end - start),
                cut(_rows_text(number, comparison), 28),
            ]
        )
    last = begin + len(rows)
    caption = (
        f"matches of {listed}{comparison.extent.within}: "
        f"{begin + 1:,} to {last:,} of {len(numbers):,}; arrow keys choose"
    )
    return table(
        caption,
        ["match", *(_short(s) for s in ran), "start", "length", "rows"],
        rows,
        numbers=(len(ran) + 2,),
        chosen=[at - begin],
        keys="step",
    )


def _rows_text(number: int, comparison: Comparison) -> str:
    """Return the rows of a match's events in the source, those of a set in brackets."""
    assert comparison.known is not None
    source = comparison.known.columns.source_rows
    parts = []
    for variable, events in comparison.binding(number).items():
        text = " ".join(map(str, source(np.array(events)).tolist()))
        parts.append(f"({text})" if variable in comparison.known.repeated else text)
    return ", ".join(parts)


def _match(state: StrategyState, comparison: Comparison, looker: Looker, width: int) -> str:
    if state.current is None:
        return ""
    known, number = comparison.known, state.current
    assert known is not None
    around = looker.around(comparison.binding(number))
    bands = [_band(strategy, number, comparison, around) for strategy in comparison.ran]
    out = f"; {around.left_out:,} events around are left out" if around.left_out else ""
    lacking = [s for s in comparison.ran if s not in comparison.owners[number]]
    reasons: list[list[str | Cell]] = [
        [str(s), Cell(html_text(comparison.why_lacks(number, s)), "wide")] for s in lacking
    ]
    return (
        f'<div class="bar apart"><h4>Match {number:,}, from {html_text(around.start)}</h4>'
        + button("step", "Previous", "ArrowUp", label="previous match")
        + button("step", "Next", "ArrowDown", label="next match")
        + '</div><div class="scroll" role="region" aria-label="the strategies on one time line">'
        + timeline_svg(
            around, known.variables, max(300, width - _PADDING), action=None, bands=bands
        )
        + f'</div><p class="soft">{key_of(known.variables)}; ○ takes no part{out}. Below, the '
        "matches of each strategy at that time; a dashed line: it lacks this match.</p>"
        + (table("why they lack it", ["strategy", "what was found"], reasons) if lacking else "")
    )


def _band(strategy: Strategy, chosen: int, comparison: Comparison, around: Around) -> Band:
    """Return the matches of a strategy around the chosen one, as many as fit."""
    begins, ends = comparison.times
    start = int(begins[chosen])
    there = [
        int(number)
        for number in np.flatnonzero(
            (ends >= start + around.begin * 1e6) & (begins <= start + around.end * 1e6)
        )
        if strategy in comparison.owners[number]
    ]
    # The chosen match, or its absence, is placed first; of very many matches only few fit.
    lacks = strategy not in comparison.owners[chosen]
    listed = [chosen, *[n for n in there if n != chosen][:_TRIED]]
    spans = [(float(begins[n]), float(ends[n])) for n in listed]
    lanes = lanes_of(spans, (around.end - around.begin) * 1e6 / 60, _LANES)
    bars = []
    for number, lane in zip(listed, lanes, strict=True):
        if lane is None:
            continue
        absent = lacks and number == chosen
        name = f"{strategy} lacks match" if absent else "match"
        text = f"{name} {number:,}, {duration_text(int(ends[number] - begins[number]))} long"
        marks = _marks(comparison.keys[number], comparison, start)
        action = None if absent else "choose"
        bars.append(Bar(number, marks, lane, text, number == chosen, absent, action))
    hidden = len(there) + lacks - len(bars)
    note = f"{len(there):,} here" + (f", {hidden:,} not drawn" if hidden else "")
    return Band(str(strategy), note, tuple(bars))


def _marks(key: Key, comparison: Comparison, start: int) -> tuple[tuple[float, int], ...]:
    """Return the events of a match: when, and the number of the variable."""
    assert comparison.known is not None
    ts = comparison.known.columns.ts
    marks = [((int(ts[e]) - start) / 1e6, i) for i, events in enumerate(key) for e in events]
    return tuple(sorted(marks))
