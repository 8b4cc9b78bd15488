"""The figure of aggregates over time: a panel for each aggregate and a line for each group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from cepkit.aggregation.rows.result import Aggregates
from cepkit.errors import CepkitError, LimitError
from cepkit.figures.kit import style
from cepkit.figures.kit.panels import Panels, add_bars, add_points, axis_name, hover_text, rows_of
from cepkit.figures.kit.scales import Scale, TextScale, log10
from cepkit.figures.kit.texts import cut, shown
from cepkit.lazy import pd
from cepkit.stream.sessions import run_job
from cepkit.tables import value_text

_PANEL, _GAP = 150, 36
_ABOVE, _BELOW = 80, 52
_ROW = 26
_MOST_BARS = 20
_BUCKETS = 1000
"""A longer line keeps only the first, least, greatest and last point of each bucket."""
_NAME_LENGTH = 24
_HEAD_LENGTH = 90
"""Characters of the names of all panels side by side."""


@dataclass(frozen=True, slots=True)
class GroupLine:
    """An aggregate of a group over time.

    Attributes:
        group: The group in words; "" without groups.
        ts: The times, as pandas times.
        values: The values: numbers, texts or times; None if there is none.
        rows: How many rows of the result the line stands for.
    """

    group: str
    ts: pd.Series[Any]
    values: list[Any]
    rows: int


_FEW = 200
"""Fewer points have marks on their line."""
_MOST_ROWS = 500_000
"""The most rows of a Spark DataFrame to fetch for drawing."""


def is_from_spark(value: object) -> bool:
    """Return whether a value is the aggregates of a Spark stream."""
    return all(hasattr(value, name) for name in ("query", "emit", "method", "reason", "toArrow"))


def draw_from_spark(
    aggregates: Any, *, columns: str | Sequence[str] | None = None, groups: int = 8
) -> go.Figure:
    """Fetch aggregates of a Spark stream, and return their figure (`draw_aggregates`).

    Raises:
        LimitError: There are more rows than should be fetched.
    """
    rows = run_job(
        aggregates, lambda: aggregates.select("*").limit(_MOST_ROWS + 1).toArrow(), "fetching"
    )
    if len(rows) > _MOST_ROWS:
        raise LimitError(
            "there are too many rows to be fetched for a figure",
            expected=f"at most {_MOST_ROWS:,}",
            hint="emit='total' has a row for each group",
        )
    if "ts" in rows.column_names:
        rows = rows.sort_by("ts")
    values = {name: rows[name].combine_chunks() for name in rows.column_names}
    result = Aggregates(
        aggregates.query, aggregates.emit, aggregates.method, aggregates.reason, values
    )
    return draw_aggregates(result, columns=columns, groups=groups)


def groups(result: Aggregates) -> dict[str, pd.DataFrame]:
    """Return the rows of each group in words, those with the most matches first."""
    frame = result.to_pandas()
    names = list(result.query.group_by)
    if not names:
        return {"": frame}
    parts = {
        ", ".join(map(_named, key)): part
        for key, part in frame.groupby(names, dropna=False, sort=False)
    }
    size = "new_matches" if "new_matches" in frame else _aggregates(result)[0]
    sizes = {text: _size(part[size]) for text, part in parts.items()}
    return {text: parts[text] for text in sorted(parts, key=lambda text: (-sizes[text], text))}


def _named(value: Any) -> str:
    return "none" if pd.isna(value) else str(value)


def _size(values: pd.Series[Any]) -> float:
    numbers = pd.to_numeric(values, errors="coerce")
    return float(np.nansum(numbers.to_numpy(dtype=float, na_value=np.nan)))


def lines(result: Aggregates, name: str, most: int = 8) -> tuple[GroupLine, ...]:
    """Return an aggregate over time for the groups with the most matches."""
    series = []
    for group, part in list(groups(result).items())[:most]:
        values = part[name].astype(object)
        values[values.isna()] = None
        places = _thinned(values)
        series.append(
            GroupLine(
                group,
                part["ts"].iloc[np.array(places, dtype=np.int64)],
                [values.iloc[i] for i in places],
                len(part),
            )
        )
    return tuple(series)


def _thinned(values: pd.Series[Any]) -> list[int]:
    """Return the rows to draw: all, or a thinned line that looks the same."""
    if len(values) <= 4 * _BUCKETS:
        return list(range(len(values)))
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    places: set[int] = set()
    for part in np.array_split(np.arange(len(values)), _BUCKETS):
        places |= {int(part[0]), int(part[-1])}
        if not np.isnan(numbers[part]).all():
            places |= {
                int(part[np.nanargmin(numbers[part])]),
                int(part[np.nanargmax(numbers[part])]),
            }
    return sorted(places)


def draw_aggregates(
    result: Aggregates, *, columns: str | Sequence[str] | None = None, groups: int = 8
) -> go.Figure:
    """Return aggregates as a figure; it is returned, not shown.

    Over time, each value holds until the next row if expiries have rows (`emit="changes"`);
    otherwise rows are single points. Totals are bars. An axis is logarithmic if its numbers differ
    much.

    Args:
        result: From `cepkit.aggregate`.
        columns: Which aggregates, or the name of one; None for all.
        groups: The most groups to draw: those with the most matches.

    Raises:
        CepkitError: There is no such column.
    """
    names = _aggregates(result)
    chosen = names if columns is None else [columns] if isinstance(columns, str) else list(columns)
    for name in chosen:
        if name not in names:
            raise CepkitError.unknown(f"the result has no aggregate '{name}'", name, names)
    title = f"{len(result):,} row{'' if len(result) == 1 else 's'} by {result.method}"
    if not len(result):
        return style.message(title, "no event could end a match")
    if result.emit == "total":
        return _bars(result, chosen, title)
    number_of_groups = len(_keys(result))
    if number_of_groups > groups:
        title += f"; the {groups} of {number_of_groups:,} groups with the most matches"
    panels = {name: lines(result, name, groups) for name in chosen}
    if any(len(line.values) < line.rows for some in panels.values() for line in some):
        title += "; thinned out"
    return _over_time(panels, title, step=result.emit == "changes", joined=result.emit != "new")


def _aggregates(result: Aggregates) -> list[str]:
    others = ("ts", "cause", "new_matches", *result.query.group_by)
    return [name for name in result.columns if name not in others]


def _keys(result: Aggregates) -> pd.DataFrame:
    names = list(result.query.group_by)
    return result.to_pandas()[names].drop_duplicates() if names else pd.DataFrame(index=[0])


def _over_time(
    panels: dict[str, tuple[GroupLine, ...]], title: str, *, step: bool, joined: bool
) -> go.Figure:
    named = [shown(cut(line.group, _NAME_LENGTH)) for line in next(iter(panels.values()), ())]
    made = Panels.of(
        _titled("aggregates over time", title), [_PANEL] * len(panels), _GAP, above=_ABOVE,
        below=_BELOW, legend=[name for name in named if name],
    )  # fmt: skip
    for place, (name, some) in enumerate(panels.items()):
        values = [value for line in some for value in line.values if value is not None]
        scale = _scale(values)
        axis = axis_name("y", place)
        for i, line in enumerate(some):
            mode = "lines+markers" if _has_marks(line.values) else "lines"
            add_points(
                made.chart,
                mode if joined else "markers",
                line.ts,
                [_place(scale, value) for value in line.values],
                name=shown(cut(line.group or name, _NAME_LENGTH)),
                legendgroup=str(i),
                showlegend=place == 0 and bool(line.group),
                connectgaps=False,
                line={"color": style.colour_of(i), "width": 1.8,
                      "dash": style.dash_of(i // 2) if joined else "solid",
                      "shape": "hv" if step else "linear"},
                marker={"color": style.colour_of(i), "size": 5, "symbol": i},
                hovertext=[
                    f"<b>{shown(cut(name, 60))}</b> {shown(_text(value))}"
                    + (f"<br>{shown(cut(line.group, 60))}" if line.group else "")
                    for value in line.values
                ],
                hoverinfo="text+x",
                xaxis="x",
                yaxis=axis,
            )  # fmt: skip
        made.set_axis(axis, place, anchor="x", **_axis(scale, values))
        made.add_heading(place, shown(cut(name, 60)) + ("" if values else ": no value"))
    made.chart.update_layout(hovermode="closest", xaxis={"anchor": "free", "position": 0})
    return made.chart


def _has_marks(values: Sequence[Any]) -> bool:
    """Return whether points are marked: few of them, or one that no line leads to."""
    there = [value is not None for value in values]
    alone = zip([False, *there], there, [*there[1:], False], strict=False)
    return sum(there) < _FEW or (False, True, False) in alone


def _axis(scale: Scale | TextScale | None, values: Sequence[Any]) -> dict[str, Any]:
    """Return the settings of an axis; small counts have whole steps."""
    if scale is not None:
        return scale.axis()
    whole = bool(values) and all(isinstance(value, int) for value in values)
    return {"dtick": 1} if whole and max(values) - min(values) < 4 else {}


def _scale(values: Sequence[Any]) -> Scale | TextScale | None:
    """Return a scale for texts and for numbers beyond a float; None for other numbers."""
    texts = [v for v in values if isinstance(v, str)]
    if texts:
        return TextScale.of(texts)
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    positive = [v for v in numbers if v > 0]
    if (
        not positive
        or any(v < 0 for v in numbers)
        or len(numbers) < sum(v is not None for v in values)
    ):
        return None
    if max(positive) < 1e5 * min(positive) and max(positive) < 1e15:
        return None
    return Scale.of(_log10(v) for v in numbers)


def _log10(value: float) -> float:
    # Python's integers may exceed any float.
    return math.log10(value) if isinstance(value, int) and value > 0 else log10(float(value))


def _place(scale: Scale | TextScale | None, value: Any) -> Any:
    match scale:
        case Scale() if value is not None:
            return scale.place(_log10(value))
        case TextScale() if value is not None:
            return scale.place(value)
        case _:
            return value


def _bars(result: Aggregates, columns: Sequence[str], title: str) -> go.Figure:
    """Return totals: panels side by side for the aggregates, a bar for each group."""
    parts = list(groups(result).items())
    if len(parts) > _MOST_BARS:
        title += f"; the {_MOST_BARS} of {len(parts):,} groups with the most matches"
        parts = parts[:_MOST_BARS]
    names = [shown(cut(group, _NAME_LENGTH)) for group, _ in parts]
    whole = _titled("aggregates of the whole stream", title)
    made = Panels.of(whole, [(len(parts) + 1) * _ROW], above=_ABOVE, below=_BELOW)
    chart = made.chart
    width = 1 / len(columns)
    notes = []
    for place, name in enumerate(columns):
        left = place * width + (0.03 if place else 0)
        values = [part[name].astype(object).iloc[0] for _, part in parts]
        values = [None if pd.isna(value) else value for value in values]
        plain = [v if isinstance(v, int | float) else None for v in values]
        logs = [_log10(abs(v)) for v in plain if v is not None]
        scale = Scale.of(logs, room=0.3) if all(v is None or v >= 0 for v in plain) else None
        begin = scale.begin if scale is not None else 0.0
        ends = [None if v is None else (v if scale is None else _place(scale, v)) for v in plain]
        add_bars(
            chart,
            [0.0 if end is None else end - begin for end in ends],
            list(range(len(parts))),
            orientation="h",
            base=begin,
            text=[shown(cut(_text(value), _NAME_LENGTH)) for value in values],
            textposition="outside",
            textangle=0,
            cliponaxis=False,
            marker={"color": style.COLOURS[place % len(style.COLOURS)]},
            hovertext=[
                hover_text(group, f"{shown(name)} {shown(_text(value))}")
                for (group, _), value in zip(parts, values, strict=True)
            ],
            xaxis=axis_name("x", place),
        )
        axis: dict[str, Any] = {"domain": [left, min(1.0, (place + 1) * width)], "anchor": "y"}
        if not logs:
            axis["visible"] = False  # texts have no length
        axis |= scale.axis() if scale is not None else {}
        made.set_axis(axis_name("x", place), None, **axis)
        text = shown(cut(name, _HEAD_LENGTH // len(columns)))
        notes.append({**style.heading(text, 1, font={"size": style.SMALL}), "x": left})
    chart.update_layout(annotations=notes, yaxis=rows_of(names))
    return chart


def _titled(title: str, counted: str) -> str:
    return f"{title}<br><sub>{shown(counted)}</sub>"


def _text(value: Any) -> str:
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    return "none" if missing else value_text(value)
