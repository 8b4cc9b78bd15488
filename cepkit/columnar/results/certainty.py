"""Which matches are certain and which only possible, where clocks are uncertain.

The true times of the events of a match are a point of a box. What the pattern demands of them are
differences, and some times fulfil all of them just if no cycle of limits adds up to less than zero
(Floyd and Warshall, for many matches at once). That all times fulfil one is seen at its worst
corner. An absent event must escape its place: at least one of its differences must fail, which
limits the time of a single other event. So choices of what fails are smaller boxes, and a match is
possible if one of them is left when all absent events have escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepkit.columnar.results.held import Ints, Truth
from cepkit.errors import LimitError
from cepkit.pattern.uncertain import Difference

_FAR = 2**60
_AT_ONCE = 1 << 16
_MOST = 2_000_000
"""The most boxes of all matches together."""


@dataclass(frozen=True, slots=True)
class Box:
    """For each of some matches the least and the greatest true time of each event.

    Attributes:
        names: The variables, one for each column.
        low: The least times, in microseconds from the event of the first variable.
        high: The greatest ones.
    """

    names: tuple[str, ...]
    low: Ints
    high: Ints

    @classmethod
    def of(cls, times: Mapping[str, Ints], errors: Mapping[str, Ints]) -> Box:
        """Return the boxes of the times of each variable, and of the errors of its clocks."""
        names = tuple(times)
        at = np.stack([times[name] for name in names], axis=1)
        at = at - at[:, :1]
        off = np.stack([errors[name] for name in names], axis=1)
        return cls(names, at - off, at + off)

    def take(self, at: npt.NDArray[np.integer] | Truth) -> Box:
        """Return the boxes of the matches at `at`."""
        return Box(self.names, self.low[at], self.high[at])

    def always(self, demands: Sequence[Difference]) -> Truth:
        """Return where all times fulfil the demands."""
        hold = np.ones(len(self.low), np.bool_)
        for one in demands:
            later, earlier = self.names.index(one.later), self.names.index(one.earlier)
            hold &= self.high[:, later] - self.low[:, earlier] <= one.most
        return hold

    def sometimes(self, demands: Sequence[Difference]) -> Truth:
        """Return where some times fulfil the demands."""
        parts = range(0, len(self.low), _AT_ONCE)
        some = [self._some(demands, slice(begin, begin + _AT_ONCE)) for begin in parts]
        return np.concatenate(some) if some else np.zeros(0, np.bool_)

    def _some(self, demands: Sequence[Difference], part: slice) -> Truth:
        low, high = self.low[part], self.high[part]
        zero = len(self.names)
        limits = np.full((len(low), zero + 1, zero + 1), _FAR, np.int64)
        limits[:, :zero, zero], limits[:, zero, :zero] = high, -low
        limits[:, range(zero + 1), range(zero + 1)] = 0
        for one in demands:
            limits[:, self.names.index(one.later), self.names.index(one.earlier)] = one.most
        for middle in range(zero + 1):
            through = limits[:, :, middle, None] + limits[:, middle, None, :]
            np.minimum(limits, through, out=limits)
        return np.asarray((np.diagonal(limits, axis1=1, axis2=2) >= 0).all(axis=1))


@dataclass(frozen=True, slots=True)
class Absent:
    """Events that may break a NOT of some matches.

    Attributes:
        variable: The variable under NOT, a column of `boxes` as well.
        matches: The number of the match of each event.
        boxes: The times of that match and of the event.
        demands: What the event's times must fulfil to break it.
    """

    variable: str
    matches: npt.NDArray[np.int64]
    boxes: Box
    demands: Sequence[Difference]


def certainty(
    box: Box, demands: Sequence[Difference], absent: Sequence[Absent]
) -> tuple[Truth, Truth]:
    """Return which matches are possible, and which of these are certain.

    Args:
        box: The times of their events.
        demands: What these must fulfil.
        absent: The events that may break the NOTs; those that surely do are in no match here.
    """
    certain = box.always(demands)
    possible = certain.copy()
    unsure = ~certain
    possible[unsure] = box.take(unsure).sometimes(demands)
    for group in absent:
        breaks = group.boxes.sometimes([*demands, *group.demands])
        certain[group.matches[breaks]] = False
    in_doubt = np.flatnonzero(possible & ~certain)
    _escape(box, demands, absent, possible, in_doubt)
    return possible, certain


def _escape(
    box: Box,
    demands: Sequence[Difference],
    absent: Sequence[Absent],
    possible: Truth,
    in_doubt: npt.NDArray[np.integer],
) -> None:
    """Keep those of the matches in doubt where all absent events can escape at the same time."""
    rows, lows, highs, choices = [], [], [], []
    for number, group in enumerate(absent):
        own = group.boxes.names.index(group.variable)
        rows.append(group.matches)
        lows.append(group.boxes.low[:, own])
        highs.append(group.boxes.high[:, own])
        choices.append(np.full(len(group.matches), number))
    if not rows:
        return
    matches, low, high, which = map(np.concatenate, (rows, lows, highs, choices))
    kept = np.isin(matches, in_doubt)
    matches, low, high, which = matches[kept], low[kept], high[kept], which[kept]
    order = np.argsort(matches, kind="stable")
    matches, low, high, which = matches[order], low[order], high[order], which[order]
    begins = np.searchsorted(matches, in_doubt)
    ends = np.searchsorted(matches, in_doubt, side="right")
    owners: npt.NDArray[np.integer] = np.flatnonzero(ends > begins)
    state, rank = box.take(in_doubt[owners]), 0
    left = np.zeros(len(in_doubt), np.bool_)
    while len(owners):
        done = begins[owners] + rank >= ends[owners]
        left[owners[done]] = True
        going = ~done & ~left[owners]  # one box is enough
        owners, state = owners[going], state.take(going)
        if not len(owners):
            break
        event = begins[owners] + rank
        owners, state = _boxes(owners, state, absent, which[event], low[event], high[event])
        fits = state.sometimes(demands)
        owners, state = owners[fits], state.take(fits)
        if len(owners) > _MOST:
            raise LimitError(
                "too many ways in which absent events may escape",
                hint="a smaller clock_error=, or a shorter window",
            )
        rank += 1
    with_events = ends > begins
    possible[in_doubt[with_events & ~left]] = False


def _boxes(
    owners: npt.NDArray[np.integer],
    state: Box,
    absent: Sequence[Absent],
    which: npt.NDArray[np.integer],
    low: Ints,
    high: Ints,
) -> tuple[npt.NDArray[np.integer], Box]:
    """Return the boxes where one more absent event has escaped, without repeats.

    Args:
        owners: The match of each box.
        state: The boxes.
        absent: The groups of absent events.
        which: The group of the event of each box.
        low: The least time of that event.
        high: Its greatest time.
    """
    parts = []
    for number, group in enumerate(absent):
        of_group = which == number
        for one in group.demands:
            lows, highs = state.low[of_group], state.high[of_group]
            if one.later == group.variable:  # fails if the event may be late enough
                own = state.names.index(one.earlier)
                highs[:, own] = np.minimum(highs[:, own], high[of_group] - one.most - 1)
            else:
                own = state.names.index(one.later)
                lows[:, own] = np.maximum(lows[:, own], low[of_group] + one.most + 1)
            ok = lows[:, own] <= highs[:, own]
            parts.append(np.column_stack((owners[of_group], lows, highs))[ok])
    some = np.unique(np.concatenate(parts), axis=0)
    size = len(state.names)
    return some[:, 0], Box(state.names, some[:, 1 : size + 1], some[:, size + 1 :])
