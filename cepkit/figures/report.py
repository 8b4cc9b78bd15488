"""The report of a run as one HTML file: pattern, statistics, plan, counts and matches.

No scripts and no network: pictures are inline SVG, so the file is small (some 100 kB) and can be
mailed, printed and read on a phone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from cepkit.columnar.results import shown as showing
from cepkit.columnar.results.explanation import Explanation
from cepkit.columnar.results.flat import nested_frame
from cepkit.columnar.results.output import END, START
from cepkit.errors import CepkitError
from cepkit.figures import page
from cepkit.figures.charts.explained import StepNumber, step_numbers
from cepkit.figures.charts.matches import tidy_frame
from cepkit.figures.charts.plan_comparison import bars
from cepkit.figures.charts.stream_profile import shares
from cepkit.figures.diagrams import plan_canvas
from cepkit.figures.diagrams.pictures import notes_in_words, pictures, steps_in_words
from cepkit.figures.diagrams.timeline import draw_timeline, timeline
from cepkit.figures.kit.responsive import as_layouts, layouts_of
from cepkit.files import HTML, write_text
from cepkit.lazy import pd
from cepkit.pattern.conditions import attributes_of
from cepkit.pattern.nodes import events_of, labels_of
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.planners.compare import PlanComparison
from cepkit.printing import html_lines
from cepkit.statistics.model import Statistics
from cepkit.tables import number

_DRAWN = 20
_WIDTH = 860
"""Of the timeline, in pixels."""
_LISTED = 20
_COLUMNS = 24
_AS_TREES = (
    "Orders and trees are compared as trees: an order is a tree that leans left, and the events "
    "that wait at its leaves count as well."
)


def write_report(
    path: str | os.PathLike[str],
    *,
    query: Query,
    plan: Plan,
    matches_frame: pd.DataFrame,
    statistics: Statistics | None = None,
    comparison: PlanComparison | None = None,
    explanation: Explanation | None = None,
    facts: Mapping[str, str] | None = None,
    title: str = "Matches of a pattern",
    overwrite: bool = False,
) -> Path:
    """Write the report of a run; it appears when it is whole.

    Args:
        path: The HTML file.
        matches_frame: Some of the matches, as `matches.head(20)` gives them, flat or nested.
        statistics: The statistics that the plan was made with.
        explanation: The numbers of the steps.
        facts: Facts to show first, as {"events": "200,000", "matches": "1,234"}.
        title: Of the page.
        overwrite: Whether to replace a file that exists.

    Returns:
        The path.

    Raises:
        FileError: The file exists already, or cannot be written.
    """
    sections = [
        page.section("Pattern", html_lines(query.text or str(query))),
        _plan(plan, query),
        *([_comparison(comparison)] if comparison is not None else []),
        *([_explanation(explanation)] if explanation is not None else []),
        *_matches(matches_frame, query),
        *([_statistics(statistics)] if statistics is not None else []),
    ]
    html = page.page(title, facts or {}, sections)
    return write_text(path, html, HTML, overwrite=overwrite)


def _plan(plan: Plan, query: Query) -> str:
    parts = pictures(plan, query)
    picture = as_layouts(layouts_of(lambda room: plan_canvas.layout(parts, room)))
    several = len(parts) > 1
    rows = [
        (f"{number_}.{i}" if several else str(i), *step)
        for number_, part in enumerate(parts, start=1)
        for i, step in enumerate(steps_in_words(part), start=1)
    ]
    steps = page.table("The steps in words", ("step", "takes", "where", "checks"), rows, wide=[3])
    notes = [page.paragraph(note) for part in parts for note in notes_in_words(part)]
    head = page.paragraph(f"By the planner {plan.planner}.")
    return page.section("Plan", head, picture, steps, *notes)


def _comparison(comparison: PlanComparison) -> str:
    rows_of_plans = bars(comparison)
    rows = [
        (
            f"{row.plan} ★" if row.best else row.plan,
            ", ".join(
                f"{name} ({number(float(f'{1000 * seconds:.3g}'))} ms)"
                for name, seconds in row.planners
            ),
            row.cost,
            number(row.relative),
        )
        for row in rows_of_plans
    ]
    cost = "cost as a tree" if comparison.has_trees else "cost"
    head = ("plan", "planners (planning time)", cost, "x best")
    remarks = [page.paragraph(f"{planner}: {reason}.") for planner, reason in comparison.refused]
    if comparison.has_trees:
        remarks.insert(0, page.paragraph(_AS_TREES))
    return page.section(
        "Plans compared",
        page.paragraph(", ".join(labels_of(comparison.query.structure).values())),
        page.table(
            f"What the planners find (★ the cheapest); cost: {comparison.cost_model}",
            head,
            rows,
            numbers=range(2, len(head)),
            wide=[0, 1],
            marked=[i for i, row in enumerate(rows_of_plans) if row.best],
        ),
        *remarks,
    )


def _explanation(explanation: Explanation) -> str:
    numbers = step_numbers(explanation)
    rows = [
        (
            candidates.step,
            *_against(candidates),
            *_against(survivors),
            f"{step.peak_rows:,}",
            f"{step.seconds:.3f}",
        )
        for candidates, survivors, step in zip(
            numbers[::2], numbers[1::2], explanation.steps, strict=True
        )
    ]
    head = (
        "step", "candidates", "expected", "ratio", "survivors", "expected", "ratio",
        "peak rows", "seconds",
    )  # fmt: skip
    return page.section(
        "Expected and actual",
        page.table("What each step did, and what was expected", head, rows, numbers=range(1, 9)),
    )


def _against(row: StepNumber) -> tuple[str, str, str]:
    expected = "" if row.expected is None else number(row.expected)
    ratio = "" if row.ratio is None else f"{row.ratio:,.3g}"
    return f"{row.actual:,.0f}", expected, ratio


def _matches(frame: pd.DataFrame, query: Query) -> tuple[str, str]:
    heading = "Timeline of the first matches"
    frame = nested_frame(frame)
    variables = [str(name) for name in frame.columns if name not in (START, END)]
    if not len(frame):
        return (
            page.section(heading, page.paragraph("There are no matches.")),
            page.section("First matches", page.paragraph("There are no matches.")),
        )
    try:
        tidy = tidy_frame(frame[:_DRAWN], variables, events=events_of(query.written))
    except CepkitError as error:
        # Without it the rest of the report is still useful.
        picture_html = page.paragraph(f"No timeline: {error.found}.")
    else:
        picture = draw_timeline(timeline(tidy, variables))
        # The page has the title; the room for it goes to the ticks, which have two lines.
        height, below = picture.layout.height - 18, picture.layout.margin.b + 16
        picture.update_layout(title_text="", height=height, margin={"t": 30, "b": below})
        picture_html = page.drawing(picture.to_inline_svg(_WIDTH), "timeline of the first matches")
    return page.section(heading, picture_html), page.section("First matches", _table(frame, query))


def _table(frame: pd.DataFrame, query: Query) -> str:
    variables = [str(name) for name in frame.columns if name not in (START, END)]
    time = showing.infer_time(frame, variables)
    attributes_in_conditions = {name for _, name in attributes_of(query.where)}
    present = [e for v in variables for item in frame[v] for e in showing.events_in(item)][:1]
    names = list(present[0]) if present else []
    # Time and the attributes in conditions first; then the rest if the event is narrow.
    names_to_show = [time] if time else []
    names_to_show += [n for n in names if n in attributes_in_conditions or n in query.partition_by]
    names_to_show += [n for n in names if isinstance(present[0][n], str)][:1]
    attributes = dict.fromkeys(names_to_show or names[:4])
    heads, rows, more = showing.flat(frame[:_LISTED], variables, attributes, _COLUMNS)
    numbers = {i + 1 for i in range(len(heads)) if any(showing.is_number(row[i]) for row in rows)}
    note = f", without {more} more variables" if more else ""
    return page.table(
        f"The first {len(rows)} matches{note}",
        ("match", *(f"{variable}.{name}" for variable, name in heads)),
        ((str(i), *(showing.value_text(v, 48) for v in row)) for i, row in enumerate(rows, 1)),
        numbers=numbers,
    )


def _statistics(statistics: Statistics) -> str:
    labels = labels_of(statistics.query.structure) if statistics.query else {}
    arriving = page.table(
        f"{statistics.events:,} events in {number(statistics.span_seconds)} s",
        ("variable", "events/s", "after its own conditions, events/s"),
        [
            (labels.get(v, v), number(rate), number(statistics.rate(v)))
            for v, rate in statistics.rates.items()
        ],
        numbers=(1, 2),
    )
    measured = shares(statistics)
    fitting = page.table(
        "Shares that satisfy the conditions between variables",
        ("conditions between", "selectivity (share)", "95 % interval", "sampled pairs"),
        [
            (
                s.variables,
                number(s.share),
                f"{number(s.low)} to {number(s.high)}" if s.low < s.high else "",
                "" if s.pairs is None else f"{s.pairs:,}",
            )
            for s in measured
        ],
        numbers=(1, 2, 3),
    )
    return page.section("The stream", arriving, fitting if measured else "")
