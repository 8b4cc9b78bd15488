"""Lines up several traces in common moments.

Mechanisms take one step for each event, so their traces are aligned already. Prefix counters act at
the same events, however a sequence is cut; but a cut adds STARTs, and with them expiries. A
*moment* is a step that one or several traces take: one action of an event, something that happens
without an event, or an event that does nothing. O(moments and traces).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cepkit.errors import TraceError
from cepkit.tracing import AnyTrace
from cepkit.tracing.counters import CounterCounts


@dataclass(frozen=True, slots=True)
class Moment:
    """A step of traces that are played together.

    Attributes:
        time: Its time in microseconds.
        event: The event; None if none causes it.
        steps: For each trace its step, None where nothing happens to it.
    """

    time: int
    event: int | None
    steps: tuple[int | None, ...]


def first_of(traces: Sequence[AnyTrace]) -> AnyTrace:
    """Return the first of some traces, which are of one kind.

    Raises:
        TraceError: There is no trace, or they are not of one kind.
    """
    if not traces:
        raise TraceError("no trace to show", expected="one trace or several of the same stream")
    first = traces[0]
    for other in traces:
        if other.of != first.of:
            raise TraceError(
                f"traces of {first.of} ('{first.name}') and of {other.of} ('{other.name}')",
                expected="traces of one kind",
                hint="draw each kind by itself",
            )
    return first


def moments_of(traces: Sequence[AnyTrace]) -> tuple[Moment, ...]:
    """Return the moments of one trace or several of one query over one stream.

    Raises:
        TraceError: They are not of one query and stream.
    """
    first = traces[0]
    for other in traces[1:]:
        if different := first.difference(other):
            raise TraceError(
                f"the traces '{first.name}' and '{other.name}' have different {different}",
                expected="traces of one pattern over one stream",
            )
    merged = _merged(traces)
    busy = {moment.event for moment in merged}
    nothing = (None,) * len(traces)
    times = enumerate(first.events.time)
    idle = [Moment(time, event, nothing) for event, time in times if event not in busy]
    if idle:
        # An event that does nothing comes last at its time: sorting keeps that order.
        merged = sorted([*merged, *idle], key=lambda moment: moment.time)
    return tuple(merged)


def counts_at(trace: AnyTrace, number: int, moments: Sequence[Moment]) -> tuple[Any, ...]:
    """Return the counters of a trace after each moment.

    Args:
        trace: One of those that the moments are of.
        moments: From `moments_of`.
    """
    counts: list[Any] = []
    now: Any = CounterCounts(0, 0, 0, 0, 0)
    for moment in moments:
        step = moment.steps[number]
        # Only traces of counters have moments without a step.
        now = now._replace(new=0) if step is None else trace.counters[step]
        counts.append(now)
    return tuple(counts)


def _merged(traces: Sequence[AnyTrace]) -> list[Moment]:
    """Return the moments at which some trace has a step."""
    places = [trace.places for trace in traces]
    at = [0] * len(traces)
    moments: list[Moment] = []
    while True:
        heads = [own[i] if i < len(own) else None for own, i in zip(places, at, strict=True)]
        present = [head for head in heads if head is not None]
        if not present:
            return moments
        # All reach the same event next; expiries before it come first.
        expiries = [head.time for head in present if head.event is None]
        time = min(expiries) if expiries else present[0].time
        mine = [head is not None and (head == (time, None) or not expiries) for head in heads]
        steps = tuple(i if one else None for i, one in zip(at, mine, strict=True))
        moments.append(Moment(time, None if expiries else present[0].event, steps))
        at = [i + one for i, one in zip(at, mine, strict=True)]
