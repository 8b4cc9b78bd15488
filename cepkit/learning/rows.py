"""The possible matches of a candidate in the events to learn from, and what they score.

They are joined from the last event backwards. Where there are too many, false alarms are sampled
and weighted; the alarms before incidents all stay, with their latest events.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cepkit.calibration.labels import Integers
from cepkit.indexing import bin_counts, reduced
from cepkit.learning.candidate import Absence, Candidate
from cepkit.learning.training import Floats, Training, Truths, ranges


@dataclass(frozen=True, slots=True)
class Score:
    """How well alarms announce incidents, on the events to learn from.

    Attributes:
        hits: The incidents with an alarm.
        true: The alarms that hit.
        false: The others; a weighted sum.
        total: The number of incidents.
    """

    hits: float
    true: float
    false: float
    total: int

    @property
    def f1(self) -> float:
        """The harmonic mean of the share of alarms that hit, and of incidents with an alarm."""
        if not self.true:
            return 0.0
        precision, recall = self.true / (self.true + self.false), self.hits / self.total
        return 2 * precision * recall / (precision + recall)


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """Possible matches, those of one alarm side by side.

    Attributes:
        events: For each variable the places of its events.
        spans: Their lengths.
        begins: The first row of each alarm.
        weights: For how many false alarms each alarm stands.
        is_near: Whether each alarm hits.
        pairs: The alarms of the pairs of an alarm and an incident that it hits.
        hit: The incidents of these pairs.
        total: The number of incidents.
        apart: How many false alarms are independent of each other, being far apart.
    """

    events: tuple[Integers, ...]
    spans: Integers
    begins: Integers
    weights: Floats
    is_near: Truths
    pairs: Integers
    hit: Integers
    total: int
    apart: int

    def score(self, passing: Truths | None = None) -> Score:
        """Return the score of the alarms; with `passing` only of those with a row that passes."""
        near = self.is_near
        if passing is None or not len(self.begins):
            alarms = np.ones(len(self.begins), np.bool_)
        else:
            alarms = reduced(np.logical_or, passing, self.begins)
        hits = int(np.count_nonzero(bin_counts(self.hit[alarms[self.pairs]])))
        true = int(np.count_nonzero(alarms & near))
        return Score(hits, true, float(self.weights[alarms & ~near].sum()), self.total)


def rows_of(training: Training, candidate: Candidate, most: int, *, late: bool = False) -> Rows:
    """Return the possible matches of a candidate.

    Args:
        training: The events.
        candidate: The candidate.
        most: How many there may be.
        late: Whether alarms are at the end of the window although nothing has to be absent there.
    """
    late = late or candidate.ends_late
    joined = _Join(training, candidate, most, late=late)
    events, weights = joined.rows()
    clock = training.clock
    times = np.stack([clock[each] for each in events])
    starts, ends = times.min(axis=0), times.max(axis=0)
    passing = np.ones(len(starts), np.bool_)
    for each in candidate.conditions:
        if each.right >= 0:
            passing &= each.holds(training, events[each.left], events[each.right])
    alarms = starts + candidate.window if late else ends
    for absence in candidate.absences:
        passing &= absent(training, candidate, absence, times)
    if late:
        passing &= training.counts(alarms)
    chosen = np.flatnonzero(passing)
    chosen = chosen[np.argsort(alarms[chosen], kind="stable")]
    distinct, begins = np.unique(alarms[chosen], return_index=True)
    pairs, hit = training.near(distinct)
    weight = training.weight(distinct) * weights[chosen][begins] if len(distinct) else np.zeros(0)
    near = np.zeros(len(distinct), np.bool_)
    near[pairs] = True
    false = distinct[~near]
    apart = len(np.unique(false // max(1, training.within)))
    return Rows(
        tuple(each[chosen] for each in events),
        (ends - starts)[chosen],
        begins,
        weight,
        near,
        pairs,
        hit,
        training.total,
        apart,
    )


def between(
    training: Training, candidate: Candidate, events: Integers, place: int, times: Integers
) -> tuple[Integers, Integers]:
    """Return which of some events lie in a place of matches: from the first to before the last.

    Args:
        training: The events to learn from.
        candidate: The candidate of the matches.
        events: The places of events of a type.
        place: As in `Absence`.
        times: Those of the events of the matches.
    """
    clock = training.clock[events]
    first, last = times.min(axis=0), times.max(axis=0)
    if place == 0:
        low = np.searchsorted(clock, last - candidate.window, "left")
        return low, np.searchsorted(clock, first, "left")
    if place == len(candidate.types):
        low = np.searchsorted(clock, last, "right")
        return low, np.searchsorted(clock, first + candidate.window, "right")
    low = np.searchsorted(clock, times[place - 1], "right")
    return low, np.searchsorted(clock, times[place], "left")


def absent(training: Training, candidate: Candidate, absence: Absence, times: Integers) -> Truths:
    """Return where no such event is in its place of matches with the times of their events."""
    low, high = between(training, candidate, absence.events(training), absence.place, times)
    return np.asarray(low >= high)


class _Join:
    """A join of the events of a candidate."""

    def __init__(self, training: Training, candidate: Candidate, most: int, *, late: bool) -> None:
        self.training, self.candidate, self.most, self.late = training, candidate, most, late
        self.parts = []
        for number, code in enumerate(candidate.types):
            events = training.events[code]
            for each in candidate.conditions:
                if each.right < 0 and each.left == number:
                    events = events[each.holds(training, events, None)]
            self.parts.append(events)

    def rows(self) -> tuple[list[Integers], Floats]:
        """Return for each variable its events, and for how many alarms each row stands."""
        size = len(self.parts)
        if self.candidate.operator == "SEQ":
            return self._with_last(size - 1)
        tables = [self._with_last(last) for last in range(size)]
        events = [np.concatenate([table[0][at] for table in tables]) for at in range(size)]
        return events, np.concatenate([table[1] for table in tables])

    def _with_last(self, last: int) -> tuple[list[Integers], Floats]:
        """Return the rows in which an event is the last one."""
        training, clock = self.training, self.training.clock
        first = self.parts[last]
        if not self.late:
            first = first[training.counts(clock[first])]
        table = {last: first}
        weights = np.ones(len(first))
        is_sequence = self.candidate.operator == "SEQ"
        others = [at for at in range(len(self.parts)) if at != last]
        for at in reversed(others):
            ends = clock[table[last]]
            times = clock[self.parts[at]]
            # Of two events of one time in AND, the later variable is the last one.
            side = "right" if not is_sequence and at < last else "left"
            bound = clock[table[at + 1]] if is_sequence else ends
            high = np.searchsorted(times, bound, "right" if side == "right" else "left")
            low = np.searchsorted(times, ends - self.candidate.window, "left")
            kept, low, weights = self._thinned(ends, low, high, weights)
            owners, places = ranges(low, high[kept])
            rows = kept[owners]
            table = {name: events[rows] for name, events in table.items()}
            table[at] = self.parts[at][places]
            weights = weights[owners]
        return [table[at] for at in range(len(self.parts))], weights

    def _thinned(
        self, ends: Integers, low: Integers, high: Integers, weights: Floats
    ) -> tuple[Integers, Integers, Floats]:
        """Return the rows to go on with, their first places and weights."""
        counts = np.maximum(high - low, 0)
        rows = np.arange(len(ends))
        if counts.sum() <= self.most:
            return rows, low, weights
        pairs, _ = self.training.near(ends)
        near = np.zeros(len(ends), np.bool_)
        near[pairs] = True
        needed = int(counts[near].sum())
        if needed > self.most // 2:
            latest = max(1, self.most // 2 // int(np.count_nonzero(near)))
            low = np.maximum(low, high - latest)
            counts = np.maximum(high - low, 0)
            needed = int(counts[near].sum())
        share = max(0.01, min(1.0, (self.most - needed) / max(1, int(counts[~near].sum()))))
        distinct, which = np.unique(ends, return_inverse=True)
        drawn = np.random.default_rng(0).random(len(distinct))[which] < share
        kept = rows[near | drawn]
        return kept, low[kept], np.where(near, weights, weights / share)[kept]
