"""Statistics as a table, in a terminal and in a notebook."""

from __future__ import annotations

from html import escape

import numpy as np

from cepkit.statistics.model import Selectivity, Statistics
from cepkit.statistics.tables import html_table, number, text_table

_RATES = ("variable", "events/s", "pass own conditions", "left/s")
_SHARES = ("conditions between", "selectivity", "95 % interval", "sampled")


def to_text(statistics: Statistics) -> str:
    """Return the stream in a few lines, then a table of rates and one of selectivities."""
    parts = ["\n".join(_stream(statistics)), text_table(_RATES, _rates(statistics))]
    if statistics.selectivities:
        parts.append(text_table(_SHARES, _shares(statistics)))
    return "\n\n".join(parts)


def to_html(statistics: Statistics) -> str:
    """Return the same as HTML, everything that comes from outside escaped."""
    parts = [f"<p>{escape(line)}</p>" for line in _stream(statistics)]
    parts.append(html_table(_RATES, _rates(statistics)))
    if statistics.selectivities:
        parts.append(html_table(_SHARES, _shares(statistics)))
    return "".join(parts)


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
    return lines


def _rates(statistics: Statistics) -> list[tuple[str, ...]]:
    return [
        (v, number(rate), number(statistics.filters.get(v, 1.0)), number(statistics.rate(v)))
        for v, rate in statistics.rates.items()
    ]


def _shares(statistics: Statistics) -> list[tuple[str, ...]]:
    in_order = list(statistics.rates)
    rows: list[tuple[str, ...]] = []
    for names, found in statistics.selectivities.items():
        shown = ", ".join(sorted(names, key=in_order.index))
        rows.append((shown, number(found.share), _interval(found), _sampled(found)))
    return rows


def _interval(found: Selectivity) -> str:
    low, high = found.interval()
    return "" if low == high else f"{number(low)} to {number(high)}"


def _sampled(found: Selectivity) -> str:
    return "" if found.pairs is None else f"{found.pairs:,}"
