"""Passes over a Spark stream: prepared, delivered, run into sinks, reported."""
