"""How often the events of a Spark stream come that several queries may share: from a sample.

One job counts the types, time and type alone; a second one fetches some rows, drawn from all of
them, and what the filters of the queries let through of those is counted here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from cepkit.aggregation import shared
from cepkit.aggregation.shared_plan import Position, Spec
from cepkit.aggregation.sharing import Rates
from cepkit.pattern.conditions import attributes_of
from cepkit.routes.several import RatesOf
from cepkit.spark.extent import has_type, measured_extent, positional
from cepkit.spark.schemas import arrow_columns
from cepkit.stream.stream import Stream

SAMPLE = 100_000
"""Rows that are fetched, about: a rate of one event in a hundred is good to 3 %."""


def unknown_rates(positions: Sequence[Sequence[Position]], windows: Sequence[int | None]) -> Rates:
    """Return rates that nobody has asked for, all NaN."""
    known = [window for window in windows if window is not None]
    return Rates(dict.fromkeys(_kinds(positions), math.nan), max(known) / 1e6 if known else None)


def sampled_rates(stream: Stream, frame: DataFrame) -> RatesOf:
    """Return what tells how often events come.

    Args:
        stream: The stream.
        frame: Its DataFrame.
    """

    def rates_of(positions: Sequence[Sequence[Position]], windows: Sequence[int | None]) -> Rates:
        kinds, names = _kinds(positions), stream.column_names
        read = {name for kind in kinds for part in kind.filters for _, name in attributes_of(part)}
        types = [kind.types for kind in kinds if kind.types is not None]
        wanted = frozenset().union(*types) if len(types) == len(kinds) else None
        extent, _ = measured_extent(frame, names, stream.schema, wanted, None)
        fraction = min(1.0, SAMPLE / max(1, extent.events))
        schema = replace(stream.schema, arrival=None, columns=tuple(sorted(read)))
        needed = schema.needed(names, ())
        rows = positional(frame)
        at = names.index(schema.type)
        fitting = has_type(rows[f"c{at}"], frame.schema.fields[at].dataType, wanted)
        rows = rows if fitting is None else rows.where(fitting)
        rows = rows.select(*(f"c{names.index(name)}" for name in needed))
        rows = rows if fraction == 1 else rows.sample(fraction=fraction, seed=0)
        table = rows.toArrow().rename_columns(list(needed))
        local = Stream(table.cast(arrow_columns(frame, names, needed)), schema, needed)
        found = shared.rates_of(positions, windows, local.columns(sorted(read)))
        return replace(found, events={kind: n / fraction for kind, n in found.events.items()})

    return rates_of


def _kinds(positions: Sequence[Sequence[Position]]) -> set[Spec]:
    return {spec for each in positions for place in each for spec in (place.event, *place.absent)}
