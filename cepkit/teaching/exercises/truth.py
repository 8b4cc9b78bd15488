"""The truth about small streams, by detection."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from random import Random

import pandas as pd

from cepkit.columnar.results.matches import Matches
from cepkit.pattern.builder import as_query
from cepkit.pattern.checks import check
from cepkit.plan.checks import as_plan
from cepkit.stream.stream import events
from cepkit.stream.warnings import StreamWarning

ROW, TIME, TYPE = "row", "ts", "type"


def stream_of(types: Sequence[str], random: Random, most: int = 9, gap: int = 3) -> pd.DataFrame:
    """Return a table of events of these types, with a number x from 1 to `most`."""
    ts, rows = 0, []
    for row, kind in enumerate(types):
        rows.append((row, ts, kind, random.randint(1, most)))
        ts += random.randint(1, gap)
    return pd.DataFrame(rows, columns=[ROW, TIME, TYPE, "x"])


def found(data: pd.DataFrame, pattern: str, order: Sequence[str] | None = None) -> Matches:
    """Return the matches of a pattern in a table of events."""
    query = check(as_query(pattern))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StreamWarning)
        stream = events(data, time=TIME, type=TYPE, unit="s")
        return Matches(stream, query, as_plan(order, query))


def rows_found(data: pd.DataFrame, pattern: str) -> list[tuple[int, ...]]:
    """Return the rows of each match, ascending."""
    frame = found(data, pattern).to_pandas()
    frame = frame[[name for name in frame if str(name).endswith(f".{ROW}")]]
    found_rows = []
    for cells in frame.itertuples(index=False):
        sets = [cell if isinstance(cell, list) else [cell] for cell in cells]
        found_rows.append(tuple(sorted(int(row) for members in sets for row in members)))
    return sorted(found_rows)


def order_of(answer: object) -> tuple[str, ...]:
    """Return an order of variables that a reader wrote as a list or as a text."""
    if isinstance(answer, str):
        for sign in ("→", "->", ",", ">"):
            answer = answer.replace(sign, " ")
        answer = answer.split()
    return tuple(map(str, answer)) if isinstance(answer, list | tuple) else ()
