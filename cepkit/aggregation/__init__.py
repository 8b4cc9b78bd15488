"""Aggregates of matches without the matches: A-Seq, exact and faster than published.

`semirings/` defines the aggregates, `sequence/` turns events into operations on prefixes of the
pattern, `methods/` aggregates one sequence, `sharing/` several, `kernels/` holds the compiled
loops, `rows/` makes the output, and `tracing/` counts step by step. All of it works on columns of
events; `cepkit.routes` decides which route a query takes.
"""
