"""Matches of a Spark stream."""
