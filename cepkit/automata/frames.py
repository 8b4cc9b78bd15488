"""What a trace holds as DataFrames."""

from __future__ import annotations

from typing import Any

import pandas as pd

from cepkit.automata.journal import Counts
from cepkit.automata.trace import Trace


def matches_frame(trace: Trace) -> pd.DataFrame:
    """Return the matches, a column of events for each variable; see `Trace.matches_frame`."""
    events = trace.events
    times = pd.to_datetime(list(events.time), unit="us", utc=True)

    def row(event: int) -> dict[str, Any]:
        known = {name: column[event] for name, column in events.attributes.items()}
        return {"id": events.id[event], "time": times[event], "type": events.type[event], **known}

    def place(bound: int | tuple[int, ...] | None) -> Any:
        if bound is None:
            return None
        return [row(event) for event in bound] if isinstance(bound, tuple) else row(bound)

    columns: dict[str, Any] = {
        variable: pd.Series([place(m.events.get(variable)) for m in trace.matches], dtype=object)
        for variable in trace.variables
    }
    spans = [_span(match.events.values()) for match in trace.matches]
    columns["match_start"] = times[[first for first, _ in spans]]
    columns["match_end"] = times[[last for _, last in spans]]
    columns["step"] = [match.step for match in trace.matches]
    return pd.DataFrame(columns)


def counters_frame(trace: Trace) -> pd.DataFrame:
    """Return the counters after each step."""
    frame = pd.DataFrame(list(trace.counters), columns=list(Counts._fields))
    frame.index.name = "step"
    return frame


def _span(bound: Any) -> tuple[int, int]:
    """Return the first and the last event of a match; they are numbered in the order of time."""
    events = [e for item in bound for e in (item if isinstance(item, tuple) else (item,))]
    return min(events), max(events)
