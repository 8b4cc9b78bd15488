"""Small streams as the papers write them: `a@1 b@2` is an A after one second and a B after two."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

import cepkit as ck

METHODS = ("prefix-counters", "window-product", "detect")


def stream(text: str, **columns: list[Any]) -> ck.api.Stream:
    """Return a stream of events; without `@` an event comes a second after the one before it."""
    rows = []
    moment = 0.0
    for word in text.split():
        name, _, ts = word.partition("@")
        moment = float(ts) if ts else moment + 1
        kind = re.sub(r"\d", "", name).upper()
        rows.append((pd.Timestamp(0) + pd.Timedelta(moment, "s"), kind))
    frame = pd.DataFrame(rows, columns=["ts", "kind"]).assign(**columns)
    return ck.events(frame, time="ts", type="kind")


def values(events: ck.api.Stream, pattern: str, **options: Any) -> list[tuple[Any, ...]]:
    """Return the rows of an aggregation: seconds, then the other columns."""
    frame = ck.aggregate(events, pattern, **options).to_pandas().astype(object)
    if "ts" in frame:
        frame["ts"] = [(ts - pd.Timestamp(0)).total_seconds() for ts in frame["ts"]]
    frame = frame.where(frame.notna(), None)
    return [tuple(row) for row in frame.itertuples(index=False)]
