"""Cells of a Spark stream: how it is cut, and what is sent to workers."""
