"""Streams of events: their schema, their columns in memory, readers and generators."""
