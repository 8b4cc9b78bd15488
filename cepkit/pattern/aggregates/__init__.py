"""The shelf of aggregates of the language; a new one follows `contract.py`."""

from __future__ import annotations

from cepkit.pattern.aggregates.contract import AggregateFunction
from cepkit.pattern.aggregates.spread import STDDEV, VARIANCE
from cepkit.pattern.aggregates.usual import AVG, COUNT, MAX, MIN, SUM
from cepkit.shelf import Shelf

AGGREGATES: Shelf[AggregateFunction] = Shelf(
    "aggregate",
    (COUNT, "the number of values, of events, or of matches"),
    (SUM, "the sum of the values"),
    (AVG, "the mean of the values"),
    (MIN, "the least value"),
    (MAX, "the greatest value"),
    (VARIANCE, "the variance of the values as a sample; missing for fewer than two"),
    (STDDEV, "the square root of the variance"),
    method="finish",
)

NAMES = f"{', '.join(map(str.upper, AGGREGATES))}, MEDIAN, P95 or PERCENTILE"
"""All aggregates, for error messages."""
