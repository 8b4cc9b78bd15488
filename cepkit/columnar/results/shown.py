"""Matches as text and HTML: one row for each event, or flat columns of a few attributes.

They work on any DataFrame of matches: an event is a mapping of its columns (or a Spark row), a
repeated variable holds several, a variable of another branch of an OR none.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from cepkit.columnar.results.output import END, START
from cepkit.errors import StreamError
from cepkit.lazy import pd
from cepkit.printing import cut, html_output, html_text
from cepkit.stream.schema import ONLY_TYPE
from cepkit.tables import number, text_table

_COLUMNS = 12
_WIDTH = 28
_SET_WIDTH = 36
_BYTES = 20_000
"""The most bytes of HTML, because notebooks store their outputs."""


def timeline(
    frame: pd.DataFrame, variables: Sequence[str], time: str, type_name: str | None
) -> pd.DataFrame:
    """Return one row for each event of each match, in time order inside a match.

    Args:
        frame: The matches: a column of events for each variable.
        variables: In the pattern's order.
        time: The name of the events' time.
        type_name: That of their type; None: they have only one.

    Returns:
        Columns match (from 1), variable, ts (a timestamp, or a number where times are numbers),
        type and attributes (a dictionary of the event's other columns).

    Raises:
        StreamError: A time is invalid.
    """
    rows = []
    for match, events in enumerate(zip(*(frame[v] for v in variables), strict=True), start=1):
        for variable, bound in zip(variables, events, strict=True):
            for event in events_in(bound):
                rest = {k: v for k, v in event.items() if k not in (time, type_name)}
                kind = ONLY_TYPE if type_name is None else event[type_name]
                rows.append((match, variable, event[time], kind, rest))
    match_numbers, names, times, types, attributes = (
        zip(*rows, strict=True) if rows else ((), (), (), (), ())
    )
    tidy = pd.DataFrame(
        {
            "match": np.array(match_numbers, dtype=np.int64),
            "variable": pd.Series(names, dtype=object),
            "ts": _moments(times, time),
            "type": pd.Series(types, dtype=object),
            "attributes": pd.Series(attributes, dtype=object),
        }
    )
    return tidy.sort_values(["match", "ts"], kind="stable", ignore_index=True)


def events_in(bound: object) -> list[Mapping[str, Any]]:
    """Return the events that a variable is bound to: one, several, or none."""
    if bound is None or (isinstance(bound, float) and np.isnan(bound)):
        return []
    if isinstance(bound, Mapping):
        return [bound]
    as_dict = getattr(bound, "asDict", None)
    if as_dict is not None:
        return [as_dict()]
    if isinstance(bound, list | tuple | np.ndarray):
        return [event for item in bound for event in events_in(item)]
    raise StreamError(
        f"a {type(bound).__name__} instead of the event of a match",
        expected="a DataFrame from to_pandas() of a result of detect, or rows of Spark",
    )


def flat(
    frame: pd.DataFrame | Mapping[str, Sequence[Any]],
    variables: Sequence[str],
    attributes: Iterable[str],
    most: int = _COLUMNS,
) -> tuple[list[tuple[str, str]], list[list[object]], int]:
    """Return matches as columns such as a.price, for as many variables as fit.

    Args:
        most: The most columns; those of one variable stay together.

    Returns:
        Variable and attribute of each column, the values of each match, and how many variables
        are left out. The values of a repeated variable are lists.
    """
    shown = tuple(dict.fromkeys(attributes))
    selected = variables[: max(1, most // max(1, len(shown)))]
    rows = []
    for events in zip(*(frame[v] for v in selected), strict=True):
        row: list[object] = []
        for bound in events:
            each = events_in(bound)
            one = len(each) == 1 and not isinstance(bound, list | tuple | np.ndarray)
            for name in shown:
                values = [event.get(name) for event in each]
                row.append(values[0] if one else values or None)
        rows.append(row)
    return [(v, name) for v in selected for name in shown], rows, len(variables) - len(selected)


@dataclass(frozen=True, slots=True)
class FirstMatches:
    """The first matches as a table.

    Attributes:
        head: The names of its columns.
        rows: The values of the matches there.
        more: How many variables are left out.
    """

    head: list[str]
    rows: list[list[object]]
    more: int = 0

    @classmethod
    def of_events(
        cls,
        matches: Sequence[Mapping[str, Any]],
        variables: Sequence[str],
        attributes: Iterable[str],
    ) -> FirstMatches:
        """Return some attributes of the events of matches; as for `flat`."""
        columns = {variable: [match[variable] for match in matches] for variable in variables}
        names, rows, more = flat(columns, variables, attributes)
        return cls([f"{cut(variable, 16)}.{cut(name, 24)}" for variable, name in names], rows, more)

    @classmethod
    def of_columns(cls, names: Sequence[str], matches: Sequence[Mapping[str, Any]]) -> FirstMatches:
        """Return the columns of RETURN."""
        shown = names[:_COLUMNS]
        rows = [[match[name] for name in shown] for match in matches]
        return cls([cut(name, 40) for name in shown], rows)

    def to_text(self, title: str) -> str:
        """Return the matches as a table for a terminal."""
        table = text_table(self.head, map(_cells, self.rows), left=0)
        return "\n".join([cut(title, 300), table, *_left_out(self.rows, self.more)])

    def to_html(self, title: str) -> str:
        """Return the matches as a table for a notebook, escaped, of at most 20 kB."""
        head = "".join(f"<th>{html_text(name)}</th>" for name in self.head)
        above = f"<p>{html_text(cut(title, 300))}</p><table><thead><tr>{head}</tr></thead><tbody>"
        remarks = "".join(f"<p>{line}</p>" for line in _left_out(self.rows, self.more))
        below = f"</tbody></table>{remarks}"
        lines, room = [], _BYTES - len(html_output(above, below).encode())
        for row in self.rows:
            cells = (f"<td{_aligned(v)}>{html_text(value_text(v))}</td>" for v in row)
            lines.append(f"<tr>{''.join(cells)}</tr>")
            room -= len(lines[-1].encode())
            if room < 0:
                lines.pop()
                break
        return html_output(above, *lines, below)


def value_text(value: object, width: int = _WIDTH) -> str:
    """Return a value as a short text on one line: times without zero parts, numbers rounded."""
    match value:
        case None:
            text = ""
        case bool() | np.bool_():
            text = str(value)
        case float() | np.floating():
            text = "" if np.isnan(value) else number(float(value))
        case datetime():
            text = moment_text(value)
        case list():
            return _several_text(value, max(width, _SET_WIDTH))
        case _:
            text = " ".join(str(value).split())
    return cut(text, width)


def _several_text(values: Sequence[object], width: int) -> str:
    """Return the values of a set: all if they fit, else the first ones and their number."""
    texts = [value_text(value, width) for value in values[:width]]
    joined = ", ".join(texts)
    if len(values) <= width and len(joined) <= width:
        return joined
    end = f" … ({len(values)})"
    text_so_far = ""
    for text in texts:
        longer = f"{text_so_far}, {text}" if text_so_far else text
        if len(longer) + len(end) > width:
            break
        text_so_far = longer
    return f"{text_so_far or cut(texts[0], width - len(end))}{end}"


def moment_text(value: object) -> str:
    """Return a time as a text in its own zone, without trailing zeros."""
    match value:
        case np.datetime64():
            text = str(value).replace("T", " ")
        case datetime() if str(value) != "NaT":
            text = value.replace(tzinfo=None).isoformat(sep=" ")
        case datetime():
            return ""
        case _:
            return f"{value:,.6g}" if isinstance(value, float) else str(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def is_number(value: object) -> bool:
    """Return whether a value is a number, to be aligned to the right."""
    return isinstance(value, numbers.Number | np.number) and not isinstance(value, bool | np.bool_)


def infer_time(frame: pd.DataFrame, variables: Sequence[str]) -> str | None:
    """Return the attribute whose minimum and maximum are the start and end of each match.

    That is the time; None if no attribute fits, or without matches.
    """
    candidates: list[str] | None = None
    for bound, start, end in zip(
        zip(*(frame[v] for v in variables), strict=True), frame[START], frame[END], strict=True
    ):
        each = [event for item in bound for event in events_in(item)]
        if candidates is None:
            candidates = list(each[0]) if each else []
        candidates = [name for name in candidates if _spans(each, name, start, end)]
    return candidates[0] if candidates else None


def _spans(events: Sequence[Mapping[str, Any]], name: str, start: object, end: object) -> bool:
    try:
        values = [event[name] for event in events]
        return bool(min(values) == start and max(values) == end)
    except (KeyError, TypeError, ValueError):
        return False


def _moments(values: Sequence[Any], name: str) -> pd.Series[Any]:
    if not values:
        return pd.Series([], dtype="datetime64[ns]")
    column = pd.Series(list(values))
    if all(is_number(value) for value in values):
        return pd.to_numeric(column)
    try:
        # Texts with different offsets become UTC; other times keep their zone.
        if any(isinstance(value, str) for value in values):
            return pd.to_datetime(column, utc=True, format="ISO8601")
        return pd.to_datetime(column)
    except (ValueError, TypeError, OverflowError) as error:
        raise StreamError(f"the column '{name}' holds no times that can be shown") from error


def _cells(row: Sequence[object]) -> list[str]:
    return [value_text(value) for value in row]


def _left_out(rows: Sequence[object], more: int) -> list[str]:
    lines = [] if rows else ["no matches"]
    return [*lines, f"and {more} more variable{'s' * (more > 1)}"] if more else lines


def _aligned(value: object) -> str:
    return ' style="text-align:right"' if is_number(value) else ' style="text-align:left"'
