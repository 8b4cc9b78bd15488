"""Traces of prefix counters side by side: one row of moments that all of them have in common.

The same events do the same in every trace of a query, however it is cut; but a cut adds STARTs, and
with them expiries. A *moment* is what one event does once, an expiry, or an event that does
nothing. O(moments and traces).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepkit.aggregation.tracing.records import CounterCounts
from cepkit.aggregation.tracing.trace import CounterTrace
from cepkit.errors import TraceError


@dataclass(frozen=True, slots=True)
class Moment:
    """What happens at once in traces that are played together.

    Attributes:
        time: When, in microseconds.
        event: The event, None for an expiry.
        steps: For each trace its step, None where nothing happens to it.
    """

    time: int
    event: int | None
    steps: tuple[int | None, ...]


def moments_of(traces: Sequence[CounterTrace]) -> tuple[Moment, ...]:
    """Return the moments of one trace or several of one query over one stream.

    Raises:
        TraceError: They are not of one query and stream.
    """
    first = traces[0]
    for other in traces[1:]:
        different = "patterns" if other.pattern != first.pattern else "streams"
        if other.pattern != first.pattern or other.events != first.events:
            raise TraceError(
                f"the traces '{first.name}' and '{other.name}' have different {different}",
                expected="traces of one pattern over one stream",
            )
    merged = _merged(traces)
    busy = {moment.event for moment in merged}
    nothing = (None,) * len(traces)
    times = enumerate(first.events.time)
    # An event that does nothing comes after all else of its time: sorting keeps that order.
    idle = [Moment(time, event, nothing) for event, time in times if event not in busy]
    return tuple(sorted([*merged, *idle], key=lambda moment: moment.time))


def counts_at(
    trace: CounterTrace, number: int, moments: Sequence[Moment]
) -> tuple[CounterCounts, ...]:
    """Return what there is in a trace after each moment.

    Args:
        trace: One of those that the moments are of.
        number: Which.
        moments: From `moments_of`.
    """
    counters = trace.counters
    found = []
    now = CounterCounts(0, 0, 0, 0, 0)
    for moment in moments:
        step = moment.steps[number]
        now = now._replace(new=0) if step is None else counters[step]
        found.append(now)
    return tuple(found)


def _merged(traces: Sequence[CounterTrace]) -> list[Moment]:
    """Return the moments at which some trace has a step."""
    at = [0] * len(traces)
    found: list[Moment] = []
    while True:
        heads = [t.steps[i] if i < len(t) else None for t, i in zip(traces, at, strict=True)]
        present = [head for head in heads if head is not None]
        if not present:
            return found
        # All come to the same event next; what expires in some before that comes first.
        expiries = [head.ts for head in present if head.number is None]
        time = min(expiries) if expiries else present[0].ts
        mine = [
            head is not None and ((head.number is None and head.ts == time) or not expiries)
            for head in heads
        ]
        steps = tuple(i if one else None for i, one in zip(at, mine, strict=True))
        found.append(Moment(time, None if expiries else present[0].number, steps))
        at = [i + one for i, one in zip(at, mine, strict=True)]
