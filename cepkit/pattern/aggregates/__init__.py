"""The aggregates of the language: a shelf (`contract.py` says what one is)."""

from __future__ import annotations

from cepkit.pattern.aggregates.contract import AggregateFunction
from cepkit.pattern.aggregates.spread import STDDEV, VARIANCE
from cepkit.pattern.aggregates.usual import AVG, COUNT, MAX, MIN, SUM
from cepkit.shelf import Shelf

AGGREGATES: Shelf[AggregateFunction] = Shelf(
    "aggregate",
    (COUNT, "how many values there are; of matches, or of events, how many these are"),
    (SUM, "their sum"),
    (AVG, "their mean"),
    (MIN, "the least of them"),
    (MAX, "the greatest of them"),
    (VARIANCE, "their variance as of a sample, missing for fewer than two values"),
    (STDDEV, "the square root of that"),
    method="finish",
)

*_FIRST, _LAST = (name.upper() for name in AGGREGATES)
NAMES = f"{', '.join(_FIRST)} or {_LAST}"
"""All aggregates, for error messages."""
