"""Streams of events: their schema, their columns in memory, readers and generators."""

from cepkit.stream.columns import MISSING_INTEGER, Column, Dropped, EventColumns, Kind
from cepkit.stream.reading.ingest import event_columns
from cepkit.stream.schema import Schema
from cepkit.stream.stream import Stream, events

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
]
