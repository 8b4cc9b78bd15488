"""The HTML of an answer to "why not?"."""

from __future__ import annotations

from cepkit.diagnosis.result import WhyNot
from cepkit.pattern.requirements import text_of
from cepkit.printing import html_text
from cepkit_widgets.kit.parts import Cell, table

_WORDS = {True: "holds", False: "fails", None: "unknown"}


def answer_html(why: WhyNot) -> str:
    """Return the reason, the requirements or the funnel, and what comes nearest."""
    notes = "".join(f'<p class="soft">{html_text(note)}</p>' for note in why.notes)
    return (
        f"<p><b>{html_text(why.reason)}</b></p>"
        + _requirements(why)
        + _funnel(why)
        + _nearest(why)
        + notes
    )


def _requirements(why: WhyNot) -> str:
    if not len(why.requirements):
        return ""
    events = "".join(
        "<li>"
        + html_text(
            f"{event.variable} = {event.name}: "
            + ", ".join([event.type, *(f"{name} = {v}" for name, v in event.values.items())])
            + ("" if event.given else " (found for it)")
        )
        + "</li>"
        for event in why.events
    )
    ordered = sorted(why.requirements, key=lambda finding: finding.holds is not False)
    rows: list[list[str | Cell]] = [
        [
            _WORDS[finding.holds],
            Cell(html_text(text_of(finding.requirement)), "wide"),
            Cell(html_text(finding.detail), "wide"),
        ]
        for finding in ordered
    ]
    fails = [place for place, finding in enumerate(ordered) if finding.holds is False]
    caption = "what the pattern requires of these events"
    head = ["", "requirement", "what was found"]
    return f"<ul>{events}</ul>{table(caption, head, rows, chosen=fails)}"


def _funnel(why: WhyNot) -> str:
    if not len(why.funnel):
        return ""
    rows: list[list[str | Cell]] = []
    several = len({row.branch for row in why.funnel}) > 1
    emptied = []
    for row in why.funnel:
        if not row.after and row.removed:
            emptied.append(len(rows))
        step = row.variable or "NOT"
        rows.append(
            [
                f"{row.branch}: {step}" if several else step,
                Cell(html_text(row.text), "wide"),
                f"{row.before:,}",
                f"{row.after:,}",
                "" if row.alone is None else f"{row.alone:,}",
            ]
        )
    return table(
        "partial matches that pass each requirement; the first that none passes is marked",
        ["step", "requirement", "before", "after", "removed by this alone"],
        rows,
        numbers=(2, 3, 4),
        chosen=emptied,
    )


def _nearest(why: WhyNot) -> str:
    misses = "".join(
        "<li>"
        + html_text(f"{', '.join(f'{e.variable} = {e.name}' for e in miss.events)}: {miss.detail}")
        + "</li>"
        for miss in why.near_misses
    )
    return f'<p class="soft">nearest to a match:</p><ul>{misses}</ul>' if misses else ""
