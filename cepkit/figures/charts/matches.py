"""The timeline of matches: of a local result, a DataFrame, or one from Spark.

Nothing here knows Spark: any object with columns that returns its first rows will do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from cepkit.columnar.results import shown as tidying
from cepkit.columnar.results.flat import nested_frame
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.results.output import END, START
from cepkit.columnar.results.rows import Rows
from cepkit.errors import CepkitError, LimitError
from cepkit.figures.diagrams.timeline import draw_timeline, timeline
from cepkit.lazy import pd
from cepkit.pattern.nodes import Event

LIMIT = 50
MOST = 1_000
"""The most matches in a figure, a row each."""


def is_matches(value: object) -> bool:
    """Return whether a value looks like matches: columns of events, a start and an end."""
    columns = getattr(value, "columns", None)
    if isinstance(columns, Iterable) and {START, END} <= set(map(str, columns)):
        return True
    return isinstance(getattr(value, "variables", None), tuple) and callable(
        getattr(value, "head", None)
    )


def draw_matches(
    matches: Any,
    limit: int = LIMIT,
    *,
    time: str | None = None,
    type: str | None = None,  # noqa: A002 - the word for it
    since_start: bool | None = None,
) -> go.Figure:
    """Return the first matches in time; the figure is returned, not shown.

    Args:
        matches: From `detect`, or a DataFrame of them.
        limit: The most matches to draw, up to 1,000; a Spark job fetches them.
        time: The name of the events' time; None to find it out.
        type: The name of their type; None to find it out.
        since_start: Whether each match begins at zero; None: only if matches are too short to be
            seen on one clock.

    Raises:
        CepkitError: The time of the events is not known.
        LimitError: A limit out of range, or matches that do not fit the free memory.
    """
    if not 1 <= limit <= MOST:
        raise LimitError(
            f"a timeline of {limit:,} matches",
            expected=f"1 to {MOST:,}",
            hint="matches.timeline(n) is a table of their events",
        )
    # One more tells whether these are all.
    if isinstance(matches, Matches) and time is None and type is None:
        variables = matches.variables
        tidy = matches.timeline(limit + 1)
    else:
        frame = first(matches, limit + 1)
        variables = variables_of(matches, frame)
        tidy = tidy_frame(frame, variables, time=time, type_name=type)
    more = bool((tidy["match"] > limit).any())
    shown_rows = tidy[tidy["match"] <= limit]
    return draw_timeline(timeline(shown_rows, variables, since_start), more=more)


def first(matches: Any, n: int) -> pd.DataFrame:
    """Return the first matches of any result, with a column of events for each variable."""
    if isinstance(matches, Rows):
        return matches.head(n, nested=True)
    rows = matches.head(n)
    if isinstance(rows, pd.DataFrame):
        return nested_frame(rows)
    names = [str(name) for name in matches.columns]
    return pd.DataFrame([[row[name] for name in names] for row in rows], columns=names)


def variables_of(matches: Any, frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the variables that the matches name, or else all columns that hold events."""
    variables = getattr(matches, "variables", None)
    if isinstance(variables, tuple):
        return variables
    return tuple(str(name) for name in frame.columns if name not in (START, END))


def tidy_frame(
    frame: pd.DataFrame,
    variables: Sequence[str],
    *,
    time: str | None = None,
    type_name: str | None = None,
    events: Sequence[Event] = (),
) -> pd.DataFrame:
    """Return `columnar.results.shown.timeline` of a frame whose time and type are to be found.

    Args:
        time: The name of the events' time; None: the attribute that start and end of the matches
            come from.
        type_name: The name of their type; None: the attribute that fits `events`, or else the first
            text.

    Raises:
        CepkitError: No attribute can be the time.
    """
    if not len(frame):
        return tidying.timeline(frame, variables, time or "", type_name or "")
    when = time or tidying.infer_time(frame, variables)
    if when is None:
        raise CepkitError("the time of the events is not known", hint="name it: time='ts'")
    what = type_name or _type(frame, variables, when, {e.variable: e.types for e in events})
    if what is None:
        raise CepkitError("the type of the events is not known", hint="name it: type='ticker'")
    return tidying.timeline(frame, variables, when, what)


def _type(
    frame: pd.DataFrame,
    variables: Sequence[str],
    time: str,
    types: Mapping[str, frozenset[str] | None],
) -> str | None:
    events_by_variable = [
        (variable, event)
        for variable in variables
        for item in frame[variable]
        for event in tidying.events_in(item)
    ]
    names = (
        [name for name in events_by_variable[0][1] if name != time] if events_by_variable else []
    )
    fitting = [
        name
        for name in names
        if types
        and all(
            str(e.get(name)) in (types.get(v) or {str(e.get(name))}) for v, e in events_by_variable
        )
    ]
    texts = [
        name for name in names if all(isinstance(e.get(name), str) for _, e in events_by_variable)
    ]
    return next(iter([*fitting, *texts, *names]), None)
