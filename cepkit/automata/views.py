"""A trace to be looked at where nothing plays it: a summary, and steps in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cepkit.automata.records import Step
from cepkit.automata.trace import Trace
from cepkit.automata.words import bound, heading, sentence
from cepkit.printing import html_lines, html_output, html_text
from cepkit.statistics.tables import html_table, text_table, whole

_MATCHES = 10
_LINES = 400
"""Of what is printed at most."""


def to_text(trace: Trace) -> str:
    """Return the totals of a trace and its first matches."""
    lines = [trace.pattern, "", *_notes(trace), "", text_table(_HEAD, _totals(trace))]
    lines += [f"match {i}: {bound(trace, i)}" for i in range(min(_MATCHES, len(trace.matches)))]
    return "\n".join(lines)


def to_html(trace: Trace) -> str:
    """Return the same as HTML, names escaped."""
    matches = [
        (str(i), str(match.step), bound(trace, i))
        for i, match in enumerate(trace.matches[:_MATCHES])
    ]
    parts = [html_lines(trace.pattern), *(f"<p>{html_text(note)}</p>" for note in _notes(trace))]
    parts.append(html_table(_HEAD, _totals(trace)))
    if matches:
        parts.append(html_table(("match", "step", "events"), matches, left=3))
    return html_output(*parts)


def steps_text(trace: Trace, steps: Sequence[Step]) -> str:
    """Return what happened at some steps, in sentences."""
    lines = [line for step in steps for line in _told(trace, step)]
    more = len(lines) - _LINES
    return "\n".join([*lines[:_LINES], *([f"... and {more:,} lines more"] if more > 0 else [])])


def steps_html(trace: Trace, steps: Sequence[Step]) -> str:
    """Return the same as HTML, names escaped."""
    return html_output(html_lines(steps_text(trace, steps)))


def _told(trace: Trace, step: Step) -> Iterable[str]:
    yield heading(trace, step)
    for operation in step.operations:
        yield f"  {sentence(trace, operation)}"


_HEAD = ("counter", "total", "peak")


def _totals(trace: Trace) -> list[tuple[str, str, str]]:
    counts, totals = trace.totals.counts, trace.totals
    return [
        ("evaluations", whole(counts.evaluations), ""),
        ("instances", whole(counts.created), whole(totals.peak_instances)),
        ("instances that expired", whole(counts.expired), ""),
        ("events stored", whole(counts.stored + counts.forgotten), whole(totals.peak_stored)),
        ("matches", whole(counts.matches), ""),
    ]


def _notes(trace: Trace) -> list[str]:
    notes = [f"{trace.name} over {trace.totals.events:,} events"]
    if trace.truncated is not None:
        notes.append(
            f"the first {trace.truncated.shown:,} of {trace.truncated.of:,} steps are kept;"
            " the totals are those of all"
        )
    return notes
