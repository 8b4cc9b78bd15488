"""Small streams to ask about, and the answers in short."""

import pandas as pd

import cepkit as ck


def stream_of(rows, columns=("at", "kind", "price"), **options):
    """Return a stream of rows of (seconds, type, price ...)."""
    frame = pd.DataFrame(rows, columns=list(columns))
    frame.insert(0, "ts", pd.Timestamp("2024-03-04 10:00") + pd.to_timedelta(frame.pop("at"), "s"))
    return ck.events(frame, time="ts", type="kind", **options)


def failing(why):
    """Return the failures, as pairs of a requirement and its finding."""
    table = why.requirements.to_pandas()
    table = table[table["holds"].eq(False)]
    return list(zip(table["requirement"], table["detail"], strict=True))


def missed(why):
    """Return the requirements that near misses violate."""
    return [miss.detail for miss in why.near_misses]
