"""Cells of a Spark stream: how it is cut, what is sent, and what workers make cells of."""
