"""The verb `why_not`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from cepkit.api.arguments import Pattern, checked
from cepkit.arguments import typed
from cepkit.errors import StreamError, UnsupportedError
from cepkit.plan.checks import as_plan
from cepkit.progress import Progress, showing
from cepkit.stream.stream import Stream
from cepkit.threads import limited_to

if TYPE_CHECKING:
    from cepkit.diagnosis.result import WhyNot
    from cepkit.plan.nodes import OrderPlan, Plan

_MOST_MISSES = 1_000


@typed
def why_not(
    stream: Stream,
    pattern: Pattern,
    /,
    *,
    plan: Plan | OrderPlan | Sequence[str] | None = None,
    id: str | None = None,  # noqa: A002 - as users write it
    violations: int = 1,
    limit: int = 10,
    bindings: Mapping[str, Any] | None = None,
    clock_error: str | timedelta | None = None,
    threads: int | None = None,
    progress: Progress = "auto",
    **named: Any,
) -> WhyNot:
    """Say why events do not match - or, if none are named, why there is none.

    Events are named by variable: ``why_not(stream, pattern, a=17, c=30)`` asks about the events
    in rows 17 and 30 of the source, counted from 0. Variables that are not named are searched for
    what would complete them best. With none named, a funnel counts how many partial matches reach
    each requirement and pass it, and the nearest misses are ranked.

    Args:
        stream: From `events`. From Spark the events around the named ones are fetched, or
            the first 200,000 of the pattern's types.
        pattern: The query, or its text.
        plan: The order of the funnel's steps, as for `detect`; None for the pattern's own.
        id: A column that names events by its values instead of their rows; on Spark needed.
        violations: How many requirements a near miss may violate, 1 to 3.
        limit: The most near misses, up to 1,000.
        bindings: Named events, for variables whose names cannot be keywords here.
        clock_error: How far clocks may be off, or the column that says it, as for `detect`. Notes
            then say which clocks would have to be off, and by how much.
        threads: The most threads that look for near misses; None for all cores that the process may
            use.
        progress: "auto" for a bar where it takes more than two seconds; True, or False.
        **named: For variables, also those under NOT, the event; for those under KL one or a list.

    Returns:
        An answer that prints as a text and can be drawn; `found`, `requirements`, `funnel`,
        `near_misses` and `notes` hold its parts. Work is bounded; the notes say where it was cut.

    Raises:
        PatternError: A name that is not a variable of the pattern's.
        StreamError: No event has that row or id, or several have.
        UnsupportedError: The events are in Spark, and what is asked would need all of them.

    Example:
        >>> import cepkit as ck
        >>> trades = [
        ...     {"ts": 1, "type": "MSFT", "price": 30.0},
        ...     {"ts": 2, "type": "GOOG", "price": 31.0},
        ...     {"ts": 3, "type": "GOOG", "price": 29.0},
        ... ]
        >>> stream = ck.events(trades, time="ts", type="type", unit="s")
        >>> pattern = "PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price WITHIN 5 seconds"
        >>> print(ck.why_not(stream, pattern, a=0, b=2))
        No match: 1 requirement not fulfilled.
        <BLANKLINE>
          a = row 0: MSFT, price = 30
          b = row 2: GOOG, price = 29
        <BLANKLINE>
               requirement        what was found
        fails  a.price < b.price  30 < 29 fails by 1
        holds  MSFT a             row 0 is a MSFT
        holds  GOOG b             row 2 is a GOOG
        holds  a before b         a is 2 s before b
        holds  WITHIN 5 seconds   2 s
    """
    from cepkit.diagnosis.why_not import why_not as ask

    query = checked(stream, pattern)
    events_named = {**(bindings or {}), **named}
    if violations not in (1, 2, 3):
        raise StreamError(f"violations={violations}", expected="1, 2 or 3")
    if not 1 <= limit <= _MOST_MISSES:
        raise StreamError(f"limit={limit:,}", expected=f"1 to {_MOST_MISSES:,}")
    notes: tuple[str, ...] = ()
    if clock_error is not None:
        from cepkit.pattern.uncertain import uncertain_query

        uncertain_query(query, stream.schema.time)
        if stream.place == "spark" and clock_error in stream.column_names:
            raise UnsupportedError(
                f"why_not with clock_error='{clock_error}', a column of events in Spark",
                hint="clock_error='20 ms', say",
            )
    with limited_to(threads), showing("looking for reasons", progress):
        if stream.place == "spark":
            from cepkit.spark.diagnosis import local_part

            stream, notes = local_part(stream, query, events_named, id)
        order = as_plan(plan, query)
        answer = ask(
            stream, query, events_named, plan=order, id=id, violations=violations, limit=limit
        )
        if clock_error is not None:
            from cepkit.api.uncertain import with_clocks

            answer = with_clocks(answer, stream, query, clock_error)
    return replace(answer, notes=(*notes, *answer.notes))
