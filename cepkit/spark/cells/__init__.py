"""Cells of a Spark stream: the cut, and the data sent to workers."""
