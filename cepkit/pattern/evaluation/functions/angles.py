"""Functions of angles in radians, and the distance of two places on Earth."""

from __future__ import annotations

import math

import numpy as np

from cepkit.pattern.evaluation.functions.contract import Function, OnNumbers
from cepkit.pattern.evaluation.functions.numbers import Floats, of_number

_RADIUS = 6371.0088
"""The mean radius of the Earth in kilometres."""


def sine(x: float) -> float:
    """Return the sine, NaN for infinity."""
    return math.sin(x) if math.isfinite(x) else math.nan


def cosine(x: float) -> float:
    """Return the cosine, NaN for infinity."""
    return math.cos(x) if math.isfinite(x) else math.nan


def tangent(x: float) -> float:
    """Return the tangent, NaN for infinity."""
    return math.tan(x) if math.isfinite(x) else math.nan


def arc_sine(x: float) -> float:
    """Return the angle of a sine, NaN outside of -1 to 1."""
    return math.asin(x) if -1.0 <= x <= 1.0 else math.nan


def arc_cosine(x: float) -> float:
    """Return the angle of a cosine, NaN outside of -1 to 1."""
    return math.acos(x) if -1.0 <= x <= 1.0 else math.nan


def arc_tangent(x: float) -> float:
    """Return the angle of a tangent."""
    return math.atan(x)


def angle(y: float, x: float) -> float:
    """Return the angle of the point (x, y)."""
    return math.atan2(y, x)


def radians(x: float) -> float:
    """Return degrees as radians."""
    return x * (math.pi / 180.0)


def degrees(x: float) -> float:
    """Return radians as degrees."""
    return x * (180.0 / math.pi)


def distance(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    """Return the distance of two places in kilometres, by the haversine formula."""
    if not math.isfinite(lat1 + lon1 + lat2 + lon2):
        return math.nan
    degree = math.pi / 180.0
    north = math.sin((lat2 - lat1) * degree / 2.0)
    east = math.sin((lon2 - lon1) * degree / 2.0)
    h = north * north + math.cos(lat1 * degree) * math.cos(lat2 * degree) * east * east
    # Rounding takes it past 1 where the places are opposite, a latitude beyond 90 below 0.
    return 2.0 * _RADIUS * math.asin(math.sqrt(min(max(h, 0.0), 1.0)))


def _distances(lat1: Floats, lon1: Floats, lat2: Floats, lon2: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        north = np.sin(np.radians(np.subtract(lat2, lat1)) / 2)
        east = np.sin(np.radians(np.subtract(lon2, lon1)) / 2)
        h = north * north + np.cos(np.radians(lat1)) * np.cos(np.radians(lat2)) * east * east
        half: Floats = np.arcsin(np.sqrt(np.clip(h, 0.0, 1.0)))
        return 2 * _RADIUS * half


SIN = of_number("sin", OnNumbers(np.sin, sine))
COS = of_number("cos", OnNumbers(np.cos, cosine))
TAN = of_number("tan", OnNumbers(np.tan, tangent))
ASIN = of_number("asin", OnNumbers(np.arcsin, arc_sine))
ACOS = of_number("acos", OnNumbers(np.arccos, arc_cosine))
ATAN = of_number("atan", OnNumbers(np.arctan, arc_tangent))
ATAN2 = Function(
    "atan2", "y, x", "two numbers", ((("number", "number"), "float"),), OnNumbers(np.arctan2, angle)
)
RADIANS = of_number("radians", OnNumbers(lambda x: x * (np.pi / 180.0), radians))
DEGREES = of_number("degrees", OnNumbers(lambda x: x * (180.0 / np.pi), degrees))
HAVERSINE = Function(
    "haversine",
    "lat1, lon1, lat2, lon2",
    "four numbers",
    ((("number",) * 4, "float"),),
    OnNumbers(_distances, distance),
)
