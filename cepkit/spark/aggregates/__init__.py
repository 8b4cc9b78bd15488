"""Aggregates over a Spark stream."""
