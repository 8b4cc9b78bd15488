"""Aggregates of matches without the matches: A-Seq, made exact, and faster than its source.

`semirings/` says what is added up, `sequence/` which events are operations on prefixes of the
pattern, `methods/` how one sequence is aggregated, `sharing/` how several are, `kernels/` holds
their compiled loops and `rows/` makes the output; `tracing/` counts step by step. All of it knows
columns of events only; which way a query goes is decided in `cepkit.routes`.
"""
