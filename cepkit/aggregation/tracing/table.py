"""Traces of prefix counters as a table, a row for each counter after each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from cepkit.aggregation.tracing.records import StartCounters, Step
from cepkit.printing import html_output
from cepkit.statistics.tables import html_table, number, text_table, whole

if TYPE_CHECKING:
    from cepkit.aggregation.tracing.trace import CounterTrace

_SHOWN = 60


def to_text(trace: CounterTrace) -> str:
    """Return the first steps as a table in plain text."""
    return f"{_title(trace)}\n{text_table(_head(trace), _cells(trace), left=4)}"


def to_html(trace: CounterTrace) -> str:
    """Return the first steps as a table in HTML."""
    return html_output(html_table(_head(trace), _cells(trace), _title(trace), left=4))


def _title(trace: CounterTrace) -> str:
    cut = " | ".join(map(" ".join, trace.pieces))
    more = f", the first {_SHOWN} shown" if len(trace) > _SHOWN else ""
    return f"Prefix counters of {cut}: {len(trace):,} steps{more}"


def _head(trace: CounterTrace) -> list[str]:
    prefixes = [" ".join(piece[: n + 1]) for piece in trace.pieces for n in range(len(piece))]
    saved = ["before it"] if len(trace.pieces) > 1 else []
    return ["time", "event", "does", "counter", "live until", *prefixes, *saved, "matches"]


def _cells(trace: CounterTrace) -> list[list[str]]:
    began = trace.steps[0].ts if trace.steps else 0
    cells = []
    for step in trace.steps[:_SHOWN]:
        head = [_seconds(step.ts, began), step.event, _told(trace, step)]
        count = whole(step.count) + (" out" if step.trigger else "")
        for counter in step.counters or (None,):
            cells.append([*head, *_counted(trace, counter, began), count])
            head, count = ["", "", ""], ""
    return cells


def _told(trace: CounterTrace, step: Step) -> str:
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
