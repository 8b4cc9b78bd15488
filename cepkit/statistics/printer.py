"""Statistics as tables, in a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cepkit.pattern.nodes import labels_of
from cepkit.printing import html_of, html_output, html_text, text_of
from cepkit.statistics.model import Statistics
from cepkit.statistics.selectivity import Selectivity
from cepkit.tables import html_table, number, text_table

_RATES = ("variable", "events/s", "share that passes its conditions", "left, events/s")
_SHARES = ("conditions between", "selectivity (share)", "95 % interval", "sampled pairs")
_EQUALITIES = ("equal keys of", "share in the window", "95 % interval", "share by frequency")
_TIMES = ("events/s over time", "smallest", "mean", "largest", "drift", "bursts")
_OF_TIMES = (
    "drift: the last quarter of the stream against the first; "
    "bursts: 1 if events come at random, more if they come in bursts"
)
_KEYS = ("key", "different", "of events", "largest share", "times the mean", "most frequent")

_NAMED = 3
"""The number of frequent keys in the table; `Statistics.keys` has ten."""

Rows = list[tuple[str, ...]]


@text_of.register
def to_text(statistics: Statistics) -> str:
    """Return the stream in a few lines, then tables of its statistics."""
    parts = []
    for part in (statistics, *statistics.others):
        parts += ["\n".join([*_pattern(statistics, part), *_stream(part)])]
        parts += [text_table(head, rows) for head, rows in _tables(part)]
    return "\n\n".join([*parts, *_notes(statistics)])


@html_of.register
def to_html(statistics: Statistics) -> str:
    """Return the stream and the tables as HTML, with all names and values escaped."""
    parts = []
    for part in (statistics, *statistics.others):
        parts += [
            f"<p>{html_text(line)}</p>" for line in (*_pattern(statistics, part), *_stream(part))
        ]
        parts += [html_table(head, rows) for head, rows in _tables(part)]
    return html_output(*parts, *(f"<p>{html_text(note)}</p>" for note in _notes(statistics)))


def _pattern(statistics: Statistics, part: Statistics) -> list[str]:
    """Return the pattern of each part of the statistics, to tell the parts apart."""
    return [str(part.query)] if statistics.others and part.query is not None else []


def _tables(statistics: Statistics) -> Iterable[tuple[tuple[str, ...], Rows]]:
    """Yield the heads and rows of the tables; empty ones are left out, except the rates."""
    yield _RATES, _rates(statistics)
    for head, rows in (
        (_SHARES, _shares(statistics)),
        (_EQUALITIES, _equalities(statistics)),
        (_TIMES, _times(statistics)),
        (_KEYS, _keys(statistics)),
    ):
        if rows:
            yield head, rows


def _notes(statistics: Statistics) -> list[str]:
    return [_OF_TIMES] if _times(statistics) else []


def _stream(statistics: Statistics) -> list[str]:
    head = f"{statistics.events:,} events"
    if statistics.first is not None and statistics.last is not None:
        first, last = (np.datetime64(t, "us") for t in (statistics.first, statistics.last))
        head += f" in {number(statistics.span_seconds)} s, {first} to {last}"
    lines = [head]
    if statistics.dropped:
        dropped = statistics.dropped
        lines.append(
            f"dropped: {dropped.null_time:,} rows without time, {dropped.null_type:,} without type"
        )
    if statistics.never_occurring:
        names = ", ".join(repr(name) for name in statistics.never_occurring)
        lines.append(f"types that never occur: {names}")
    if statistics.same_key < 1:
        lines.append(f"pairs of events in one partition: {number(statistics.same_key)}")
    absent = [f"{name} {_percent(share)}" for name, share in statistics.missing.items() if share]
    if absent:
        lines.append(f"missing values: {', '.join(absent)}")
    if statistics.lateness is not None and statistics.lateness.late:
        late = statistics.lateness
        lines.append(
            f"out of order: {late.late:,} events ({_percent(late.share)}), at most "
            f"{number(late.longest_seconds)} s late, 99 % of them at most "
            f"{number(late.percentile_99_seconds)} s"
        )
    if statistics.forecast is not None:
        lines += statistics.forecast.lines()
    return lines


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _rates(statistics: Statistics) -> Rows:
    labels = _labels(statistics)
    return [
        (
            labels.get(variable, variable),
            number(rate),
            number(statistics.filters.get(variable, 1.0)),
            number(statistics.rate(variable)),
        )
        for variable, rate in statistics.rates.items()
    ]


def _labels(statistics: Statistics) -> dict[str, str]:
    """Return the variables with their types, if the pattern is known."""
    return {} if statistics.query is None else labels_of(statistics.query.structure)


def _shares(statistics: Statistics) -> Rows:
    rows: Rows = []
    for names, share in statistics.selectivities.items():
        name = _names(statistics, names)
        sampled = "" if share.pairs is None else f"{share.pairs:,}"
        rows.append((name, number(share.share), _interval(share), sampled))
    return rows


def _equalities(statistics: Statistics) -> Rows:
    rows: Rows = []
    for names, equality in statistics.equalities.items():
        near, all_of_it = equality.in_window, equality.by_frequency
        often = "" if all_of_it is None else number(all_of_it)
        rows.append((_names(statistics, names), number(near.share), _interval(near), often))
    return rows


def _times(statistics: Statistics) -> Rows:
    over_time = statistics.over_time
    if over_time is None or over_time.buckets < 2:
        return []
    labels = _labels(statistics)
    return [
        (
            labels.get(variable, variable),
            number(over_time.smallest_rate(variable)),
            number(over_time.mean_rate(variable)),
            number(over_time.largest_rate(variable)),
            f"{100 * over_time.drift(variable):+.0f} %",
            number(over_time.burst(variable)),
        )
        for variable in over_time.counts
    ]


def _keys(statistics: Statistics) -> Rows:
    rows: Rows = []
    for keys in statistics.keys:
        often = ", ".join(f"{key[:20]} ({count:,})" for key, count in keys.most_frequent[:_NAMED])
        rows.append(
            (
                ", ".join(keys.attributes),
                f"{keys.distinct:,}",
                f"{keys.events:,}",
                _percent(keys.largest_share),
                number(keys.skew),
                often,
            )
        )
    return rows


def _names(statistics: Statistics, names: Iterable[str]) -> str:
    return ", ".join(sorted(names, key=list(statistics.rates).index))


def _interval(share: Selectivity) -> str:
    low, high = share.interval()
    return "" if low == high else f"{number(low)} to {number(high)}"
