"""Prints traces: totals, tables, and steps in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from cepkit.printing import html_lines, html_of, html_output, html_text, text_of
from cepkit.tables import html_table, number, text_table, whole
from cepkit.tracing.counter_rows import StartCounters
from cepkit.tracing.counters import CounterStep, CounterTrace
from cepkit.tracing.mechanisms import MechanismTrace, Steps

_MATCHES = 10
_LINES = 400
_STEPS = 60
"""The most steps to print."""
_HEAD = ("counter", "total", "peak")


@text_of.register
def _(trace: MechanismTrace) -> str:
    """Return the totals of a trace and its first matches."""
    places = range(min(_MATCHES, len(trace.matches)))
    lines = [trace.pattern, "", *_notes(trace), "", text_table(_HEAD, _totals(trace))]
    return "\n".join([*lines, *(f"{_match(trace, i)}: {trace.words.bound(i)}" for i in places)])


@html_of.register
def _(trace: MechanismTrace) -> str:
    """Return the same as HTML, names escaped."""
    matches = [
        (_match(trace, i).removeprefix("match "), str(match.step), trace.words.bound(i))
        for i, match in enumerate(trace.matches[:_MATCHES])
    ]
    parts = [html_lines(trace.pattern), *(f"<p>{html_text(note)}</p>" for note in _notes(trace))]
    parts.append(html_table(_HEAD, _totals(trace)))
    if matches:
        parts.append(html_table(("match", "step", "events"), matches, left=3))
    return html_output(*parts)


@text_of.register
def _(steps: Steps) -> str:
    """Return some steps as sentences."""
    lines = list(_sentences(steps))
    more = len(lines) - _LINES
    return "\n".join([*lines[:_LINES], *([f"... and {more:,} lines more"] if more > 0 else [])])


def _sentences(steps: Steps) -> Iterator[str]:
    words = steps.trace.words
    for step in steps:
        yield words.heading(step)
        yield from (f"  {words.sentence(operation)}" for operation in step.operations)


def _totals(trace: MechanismTrace) -> list[tuple[str, str, str]]:
    counts, totals = trace.totals.counts, trace.totals
    return [
        ("evaluations", whole(counts.evaluations), ""),
        ("instances", whole(counts.created), whole(totals.peak_instances)),
        ("instances that expired", whole(counts.expired), ""),
        ("events stored", whole(counts.stored + counts.forgotten), whole(totals.peak_stored)),
        ("matches", whole(counts.matches), ""),
        *((f"  of {name}", whole(count), "") for name, count in totals.by_pattern.items()),
    ]


def _match(trace: MechanismTrace, number: int) -> str:
    pattern = trace.matches[number].pattern
    return f"match {number} of {pattern}" if pattern else f"match {number}"


def _notes(trace: MechanismTrace) -> list[str]:
    notes = [f"{trace.name} over {trace.totals.events:,} events"]
    cut = trace.truncated
    if cut is not None and cut.ran is not None:
        notes.append(f"interrupted after {cut.ran:,} of {cut.of:,} steps; the totals are of these")
    if cut is not None and cut.shown < (cut.ran or cut.of):
        of = "all" if cut.ran is None else "them"
        notes.append(
            f"the first {cut.shown:,} of {cut.ran or cut.of:,} steps are kept;"
            f" the totals are those of {of}"
        )
    return notes


@text_of.register
def _(trace: CounterTrace) -> str:
    """Return the first steps as a table, a row for each counter after each step."""
    return f"{_title(trace)}\n{text_table(_columns(trace), _cells(trace), left=4)}"


@html_of.register
def _(trace: CounterTrace) -> str:
    """Return the same as HTML, names escaped."""
    return html_output(html_table(_columns(trace), _cells(trace), _title(trace), left=4))


def _title(trace: CounterTrace) -> str:
    cut = " | ".join(map(" ".join, trace.pieces))
    more = f", the first {_STEPS} shown" if len(trace) > _STEPS else ""
    return f"Prefix counters of {cut}: {len(trace):,} steps{more}"


def _columns(trace: CounterTrace) -> list[str]:
    prefixes = [" ".join(piece[: n + 1]) for piece in trace.pieces for n in range(len(piece))]
    saved = ["before it"] if len(trace.pieces) > 1 else []
    return ["time", "event", "does", "counter", "live until", *prefixes, *saved, "matches"]


def _cells(trace: CounterTrace) -> list[list[str]]:
    began = trace.steps[0].ts if trace.steps else 0
    cells = []
    for step in trace.steps[:_STEPS]:
        head = [_seconds(step.ts, began), step.event, _action(trace, step)]
        count = whole(step.count) + (" out" if step.trigger else "")
        for counter in step.counters or (None,):
            cells.append([*head, *_counted(trace, counter, began), count])
            head, count = ["", "", ""], ""
    return cells


def _action(trace: CounterTrace, step: CounterStep) -> str:
    place = trace.variables[step.position - 1]
    match step.action:
        case "start":
            return "starts"
        case "extend":
            return f"extends to {place}"
        case "end":
            return f"ends those at {place}"
        case "expire":
            return "expires"
        case _:
            assert_never(step.action)


def _counted(trace: CounterTrace, counter: StartCounters | None, began: int) -> list[str]:
    cells = [""] * (2 + len(trace.variables) + (len(trace.pieces) > 1))
    if counter is None:
        return cells
    cells[0] = counter.start or "all"
    if trace.keys[counter.key]:
        cells[0] += f" of {trace.keys[counter.key]}"
    cells[1] = "" if counter.expires is None else _seconds(counter.expires, began)
    first = 2 + sum(map(len, trace.pieces[: counter.piece]))
    cells[first : first + len(counter.counts)] = map(whole, counter.counts)
    if counter.piece:
        saved = (f"{row.start or 'all'} {whole(row.count)}" for row in counter.snapshot)
        cells[-1] = ", ".join(saved) or "none"
    return cells


def _seconds(ts: int, began: int) -> str:
    return f"{number((ts - began) / 1e6)} s"
