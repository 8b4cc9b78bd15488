"""Aggregates of matches without the matches: A-Seq, made exact, and faster than its source.

What a query's AGG asks for is a product of elements of a semiring (`functions.py`). Events become
operations on prefixes of the pattern (`sequence.py`, `operations.py`); three methods carry
aggregates along the prefixes (`prefix_counters.py`, `window_product.py`) or construct the matches
after all (`two_step.py`, the baseline); `emission.py` makes rows of what they say. All of it knows
columns of events only; which way a query goes is decided in `cepkit.routes`.

Source: ASEQ.
"""
