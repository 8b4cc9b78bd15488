"""Streams of events: their schema, their columns in memory, readers and generators."""

from cepkit.events.columns import MISSING_INTEGER, Column, Dropped, EventColumns, Kind
from cepkit.events.ingest import event_columns, from_batches
from cepkit.events.schema import Schema
from cepkit.events.stream import Stream, events

__all__ = [
    "MISSING_INTEGER",
    "Column",
    "Dropped",
    "EventColumns",
    "Kind",
    "Schema",
    "Stream",
    "event_columns",
    "events",
    "from_batches",
]
