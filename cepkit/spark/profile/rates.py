"""Rates of a Spark stream's events from a sample, to plan shared counters.

One job counts the rows, unless file footers have the number; a second one fetches a random sample.
This process then counts the events that pass the queries' filters, and those that agree in their
keys.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from cepkit.aggregation.sequence.definition import EventSequence
from cepkit.aggregation.sharing import together as shared
from cepkit.aggregation.sharing.planner import Rates
from cepkit.routes.sharing import RatesOf
from cepkit.spark.cells.schemas import arrow_columns
from cepkit.spark.passes.extent import measured_extent
from cepkit.spark.passes.rows import StreamRows
from cepkit.spark.passes.scanned import rows_in_files
from cepkit.spark.session.progress import run_with_progress
from cepkit.stream.stream import Stream

SAMPLE = 100_000
"""The approximate size of the sample: a rate of one event in a hundred is accurate to 3 %."""


def unknown_rates(sequences: Sequence[EventSequence]) -> Rates:
    """Return unmeasured rates, all NaN."""
    return Rates(
        dict.fromkeys(shared.kinds_of(sequences), math.nan), shared.longest_window(sequences)
    )


def sampled_rates(stream: Stream, frame: DataFrame) -> RatesOf:
    """Return a function for the rates of events."""

    def rates_of(sequences: Sequence[EventSequence]) -> Rates:
        kinds, names = shared.kinds_of(sequences), stream.column_names
        read = {name for sequence in sequences for name in sequence.attributes}
        types = [kind.types for kind in kinds if kind.types is not None]
        all_types = frozenset().union(*types) if len(types) == len(kinds) else None
        size = rows_in_files(frame)
        if size is None:
            size = measured_extent(stream, all_types, None)[0].events
        fraction = min(1.0, SAMPLE / max(1, size))
        schema = replace(stream.schema, arrival=None, columns=tuple(sorted(read)))
        needed = schema.needed(names, ())
        source = StreamRows(stream)
        rows = source.rows.where(source.may_have(all_types)).select(*map(source.place, needed))
        rows = rows if fraction == 1 else rows.sample(fraction=fraction, seed=0)
        table = run_with_progress(rows.toArrow, "measuring rates").rename_columns(list(needed))
        local = Stream(table.cast(arrow_columns(frame, names, needed)), schema, needed)
        rates = shared.rates_of(sequences, local.columns(sorted(read)))
        return replace(rates, events={kind: n / fraction for kind, n in rates.events.items()})

    return rates_of
