"""Ways to narrow a candidate: conditions, a shorter window, absences.

A threshold is chosen on a curve from one pass: an alarm passes `a.x > k` if the greatest x of its
rows does, an incident if the greatest of its alarms does, so the bounds worth a look are the values
of incidents. A narrowing counts only if incidents pass it so much more often than false alarms that
the best of all that were tried would hardly do so by chance (a G test with a price for each try).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from cepkit.calibration.labels import Integers
from cepkit.indexing import bin_counts, reduced, repeated
from cepkit.learning.candidate import Absence, Candidate, Narrowing
from cepkit.learning.rows import Rows, Score, absent, between, rows_of
from cepkit.learning.training import Floats, Training, Truths

_CATEGORIES = 6
"""The most constants of an attribute that are tried: those most frequent before incidents."""
_SIGNS: tuple[Literal["<"], Literal[">"]] = ("<", ">")
_LOOSE = 0.5
"""How much worse a looser bound may be, in standard errors of the best F1."""
_SURE = 2.0
"""The least G of a narrowing, before the price of the tries."""


@dataclass(frozen=True, slots=True)
class Step:
    """A narrower candidate.

    Attributes:
        candidate: The candidate.
        score: What it scores.
        evidence: How sure it is that incidents pass more often than false alarms.
    """

    candidate: Candidate
    score: Score
    evidence: float


def narrower(training: Training, candidate: Candidate, rows: Rows, price: float) -> list[Step]:
    """Return the narrowings of a candidate by a condition or its window that count, best first."""
    steps = [] if not len(rows.begins) else list(_steps(training, candidate, rows))
    return _best(steps, rows, price)


def without_events(
    training: Training, candidate: Candidate, price: float, most: int, *, filtered: bool = False
) -> list[Step]:
    """Return the narrowings of a candidate by an absence that count, best first.

    Args:
        training: The events to learn from.
        candidate: The candidate.
        price: The F1 that a part should be worth.
        most: How many possible matches there may be.
        filtered: Whether absent events have a filter, or none does.
    """
    if len(candidate.absences) > 1:
        return []
    end = len(candidate.types)
    rows = rows_of(training, candidate, most)
    steps = []
    for place in (*range(end), end) if candidate.operator == "SEQ" else (0,):
        own = rows_of(training, candidate, most, late=True) if place == end else rows
        if not len(own.begins) or any(each.place in (place, end) for each in candidate.absences):
            continue
        times = np.stack([training.clock[each] for each in own.events])
        before = own.score()
        for code in range(len(training.type_names)):
            if not len(training.events[code]) or code in candidate.types:
                continue
            absence = Absence(code, place)
            filters: Iterable[Narrowing | None] = (None,)
            if filtered:
                filters = _filters(training, candidate, own, absence, times)
            for each in filters:
                tried = replace(absence, filter=each)
                wider = replace(candidate, absences=(*candidate.absences, tried))
                after = own.score(absent(training, candidate, tried, times))
                steps.append(Step(wider, after, evidence(own.apart, before, after)))
    return _best(steps, rows, (1 + filtered) * price)


def _filters(
    training: Training, candidate: Candidate, rows: Rows, absence: Absence, times: Integers
) -> Iterator[Narrowing]:
    """Yield filters of an absence: bounds that a curve suggests, and frequent categories."""
    events = training.events[absence.type]
    low, high = between(training, candidate, events, absence.place, times)
    inside = high > low
    if not inside.any():
        return
    ends = np.column_stack((low, high))[inside].ravel()
    for name, values in training.numbers.items():
        for sign in _SIGNS:
            own = values[events] if sign == ">" else -values[events]
            if np.isnan(own).all():
                continue
            own = np.append(np.where(np.isnan(own), -np.inf, own), -np.inf)
            # Where there is none, or none with a value, any bound is kept.
            least = own[own > -np.inf].min() - 1
            greatest = np.full(len(low), least)
            greatest[inside] = np.maximum(least, reduced(np.maximum, own, ends)[::2])
            bound = threshold(rows, -greatest)
            if bound is not None:
                yield Narrowing(name, sign, -1, constant=-bound if sign == ">" else bound)
    for name in training.constants:
        codes = training.codes[name][events]
        for code in bin_counts(codes[codes >= 0]).argsort()[::-1][:_CATEGORIES].tolist():
            yield Narrowing(name, "=", -1, constant=float(code), is_code=True)


def _best(steps: list[Step], rows: Rows, price: float) -> list[Step]:
    least, before = surely(len(steps)), rows.score().f1 + price
    sure = [step for step in steps if step.evidence >= least and step.score.f1 > before]
    return sorted(sure, key=lambda step: (-step.score.f1, -step.evidence))


def surely(tries: int) -> float:
    """Return the evidence that the best of `tries` narrowings needs at least."""
    return _SURE + 1.5 * math.log(max(1, tries))


def evidence(apart: int, before: Score, after: Score) -> float:
    """Return the G of a narrowing: 0 where incidents pass no more often than false alarms.

    Alarms of one incident, and false ones close to each other, are no independent witnesses: there
    are as many as incidents, and as false alarms far from each other.

    Args:
        apart: How many false alarms before are far from each other.
        before: The score without the narrowing.
        after: The score with it.
    """
    if not before.true or not before.false:
        return 0.0
    hits, alarms = after.hits / before.hits, after.true / before.true
    true, false = min(1.0, hits, alarms), min(1.0, after.false / before.false)
    if true <= false:
        return 0.0
    sizes = (before.hits, float(max(1, apart)))
    share = (true * sizes[0] + false * sizes[1]) / sum(sizes)
    total = 0.0
    for part, size in zip((true, false), sizes, strict=True):
        for observed, expected in ((part, share), (1 - part, 1 - share)):
            if observed > 0:
                total += size * observed * math.log(observed / expected)
    return 2 * total


def _steps(training: Training, candidate: Candidate, rows: Rows) -> Iterator[Step]:
    before = rows.score()
    near = repeated(rows.is_near, np.diff(np.append(rows.begins, len(rows.spans))))

    def step(narrowing: Narrowing, passing: Truths) -> Step:
        after = rows.score(passing)
        wider = replace(candidate, conditions=(*candidate.conditions, narrowing))
        return Step(wider, after, evidence(rows.apart, before, after))

    variables = range(len(candidate.types))
    for name, values in training.numbers.items():
        for at in variables:
            own = values[rows.events[at]]
            if np.isnan(own).all():
                continue
            for sign in _SIGNS:
                bound = threshold(rows, own if sign == ">" else -own)
                if bound is not None:
                    constant = bound if sign == ">" else -bound
                    narrowing = Narrowing(name, sign, at, constant=constant)
                    yield step(narrowing, own > constant if sign == ">" else own < constant)
        for left, right in combinations(variables, 2):
            for sign in _SIGNS:
                narrowing = Narrowing(name, sign, left, right)
                events = rows.events[left], rows.events[right]
                yield step(narrowing, narrowing.holds(training, *events))
    for name, codes in training.codes.items():
        for at in variables if name in training.constants else ():
            own_codes = codes[rows.events[at]]
            present = own_codes[near & (own_codes >= 0)]
            frequent = bin_counts(present).argsort()[::-1][:_CATEGORIES] if len(present) else ()
            for code in frequent:
                narrowing = Narrowing(name, "=", at, constant=float(code), is_code=True)
                yield step(narrowing, own_codes == code)
        for left, right in combinations(variables, 2):
            narrowing = Narrowing(name, "=", left, right, is_code=True)
            yield step(narrowing, narrowing.holds(training, rows.events[left], rows.events[right]))
    if len(candidate.types) > 1 and not candidate.absences:
        bound = threshold(rows, -rows.spans.astype(np.float64))
        if bound is not None and -bound < candidate.window:
            shorter = replace(candidate, window=max(1, int(-bound)))
            after = rows.score(rows.spans <= shorter.window)
            yield Step(shorter, after, evidence(rows.apart, before, after))


def threshold(rows: Rows, values: Floats) -> float | None:
    """Return the bound that alarms' greatest values should exceed, as a round number.

    The bound stands as far below the least value of the incidents as these are apart, since the
    true one is rarely just below a value that was seen.
    """
    values = np.where(np.isnan(values), -np.inf, values)
    greatest = reduced(np.maximum, values, rows.begins)
    of_incidents = np.full(rows.total, -np.inf)
    np.maximum.at(of_incidents, rows.hit, greatest[rows.pairs])
    of_incidents = np.sort(of_incidents[of_incidents > -np.inf])
    if len(of_incidents) < 2:
        return None
    near = rows.is_near
    false_order = np.argsort(greatest[~near])
    false_values = greatest[~near][false_order]
    behind = np.append(np.cumsum(rows.weights[~near][false_order][::-1])[::-1], 0.0)
    bounds, first = np.unique(of_incidents, return_index=True)
    hits = len(of_incidents) - first
    true_values = np.sort(greatest[near])
    true = len(true_values) - np.searchsorted(true_values, bounds, "left")
    false = behind[np.searchsorted(false_values, bounds, "left")]
    precision, recall = true / (true + false), hits / rows.total
    f1 = 2 * precision * recall / (precision + recall)
    # The loosest of those that are hardly worse: the best one fits chance as well.
    top = float(f1.max())
    best = int(np.argmax(f1 >= top - _LOOSE * math.sqrt(top * (1 - top) / rows.total)))
    kept = bounds[best:]
    apart = (kept[-1] - kept[0]) / max(1, hits[best] - 1)
    lower = [bounds[best - 1]] if best else []
    if not apart:  # all are one value: between it and the next
        below = false_values[false_values < kept[0]]
        lower += [(kept[0] + below[-1]) / 2] if len(below) and below[-1] > -np.inf else []
        apart = 1 + abs(kept[0])
    return _round_between(float(max([kept[0] - apart, *lower])), float(kept[0]))


def _round_between(low: float, high: float) -> float:
    """Return a number of few digits that is not below the one and below the other."""
    if not low < high:
        return float(np.nextafter(high, -np.inf))
    power = math.ceil(math.log10(max(abs(low), abs(high)))) + 1
    for digits in range(power, power - 18, -1):
        for step in (5, 2, 1):
            size = step * 10.0**digits
            value = math.ceil(low / size) * size
            if value < high:
                return round(value, max(0, -digits))
    return low
