"""Curves: the counts of matches, hits and false alarms for each value, from one detection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.calibration.labels import Incidents, Integers
from cepkit.calibration.result import CalibratedRow
from cepkit.calibration.thresholds import Threshold, Values
from cepkit.indexing import repeated

_DAY = 86_400_000_000
_POINTS = 50
"""The most values of a parameter where none are given."""


@dataclass(frozen=True, slots=True)
class Alarms:
    """The parts of one detection's matches that counting needs.

    Attributes:
        values: For each threshold what it compares.
        ends: Their ends in microseconds.
        keys: Their keys; None for no key.
    """

    values: tuple[Values, ...]
    ends: Integers
    keys: Sequence[Any] | None


@dataclass(frozen=True, slots=True)
class Near:
    """Which matches are near which incidents.

    Attributes:
        incidents: How many there are.
        matches: A match for each pair of a match and an incident near it.
        hit: The incident of each pair.
        days: The length of the stream in days.
    """

    incidents: int
    matches: Integers
    hit: Integers
    days: float

    @classmethod
    def of(cls, alarms: Alarms, incidents: Incidents, span: int) -> Near:
        """Return the pairs of matches and incidents."""
        first, last = incidents.near(alarms.ends, alarms.keys)
        counts = last - first
        matches = repeated(np.arange(len(counts)), counts)
        offsets = np.arange(len(matches)) - repeated(np.cumsum(counts) - counts, counts)
        hit = repeated(first, counts) + offsets
        return cls(len(incidents.times), matches, hit, max(span, 1) / _DAY)


def grid(values: Values) -> list[float]:
    """Return values of a parameter where its curve changes; some of many, by rank and by size."""
    distinct = np.unique(values)
    if len(distinct) > _POINTS:
        by_rank = np.linspace(0, len(distinct) - 1, _POINTS // 2).round().astype(np.int64)
        sizes = np.linspace(float(distinct[0]), float(distinct[-1]), _POINTS - len(by_rank))
        by_size = np.searchsorted(distinct, sizes).clip(max=len(distinct) - 1)
        distinct = distinct[np.union1d(by_rank, by_size)]
    # A difference of two prices is no round number: 0.010000000000001563.
    short = dict.fromkeys(value if value == int(value) else _short(value) for value in distinct)
    return [int(value) if value == int(value) else float(value) for value in short]


def _short(value: float) -> float:
    return float(f"{value:.12g}")


def row(
    values: tuple[Any, ...], passing: npt.NDArray[np.bool_], near: Near | None
) -> CalibratedRow:
    """Return the counts of the matches that pass."""
    matches = int(np.count_nonzero(passing))
    if near is None:
        return CalibratedRow(values, matches)
    pairs = passing[near.matches]
    hits = len(np.unique(near.hit[pairs]))
    true_alarms = len(np.unique(near.matches[pairs]))
    false = matches - true_alarms
    return CalibratedRow(values, matches, hits, near.incidents - hits, false, false / near.days)


def rows(
    thresholds: Sequence[Threshold],
    grids: Sequence[Sequence[Any]],
    alarms: Alarms,
    near: Near | None,
) -> tuple[CalibratedRow, ...]:
    """Return the counts for each choice of values.

    Without labels, and for one parameter, the values are sorted once.
    """
    if len(thresholds) == 1 and near is None:
        (threshold,), (values,) = thresholds, alarms.values
        ordered = np.sort(values)
        counts = (threshold.count(ordered, threshold.limit(value)) for value in grids[0])
        pairs = zip(grids[0], counts, strict=True)
        return tuple(CalibratedRow((value,), count) for value, count in pairs)
    counted = []
    for chosen in product(*grids):
        passing = np.ones(len(alarms.ends), np.bool_)
        for threshold, values, value in zip(thresholds, alarms.values, chosen, strict=True):
            passing &= threshold.passes(values, threshold.limit(value))
        counted.append(row(chosen, passing, near))
    return tuple(counted)
