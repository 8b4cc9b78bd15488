"""The search: a beam over the events of patterns, level by level, each narrowed by conditions.

A longer pattern has at most the incidents of a shorter one, so types that few incidents have before
them are left out. Every part has a price, which falls with the number of incidents. The pool of the
best is there at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import combinations, product

import numpy as np

from cepkit.learning.candidate import Candidate
from cepkit.learning.conditions import evidence, narrower, surely, without_events
from cepkit.learning.rows import rows_of
from cepkit.learning.training import Training

_LENGTH = 4
_MOST_TYPES = 14
_PARENTS = 10
_PLAIN_PARENTS = 4
_NARROWED = 24
_FINISHED, _FILTERED = 12, 3
_QUICK_ROWS, _ROWS = 10_000, 40_000
_SPARED = 4.0
_LEAST_RECALL = 0.2
_MOST_CONDITIONS = 4
_WAYS = 4
"""How many first conditions are gone on with."""


@dataclass(slots=True)
class Pool:
    """The best candidates so far.

    Attributes:
        training: The events to learn from.
        best: For each shape its best candidate, with its F1 less the price of its parts.
        tried: How many candidates were looked at.
        narrowed: Those whose conditions were looked for.
    """

    training: Training
    best: dict[tuple[object, ...], tuple[float, Candidate]] = field(default_factory=dict)
    tried: int = 0
    narrowed: set[Candidate] = field(default_factory=set)

    @property
    def price(self) -> float:
        """The F1 that a part of a pattern should be worth."""
        return 0.01 + 0.3 / self.training.total

    def ranked(self) -> list[tuple[float, Candidate]]:
        """Return the candidates, best first."""

        def order(pair: tuple[float, Candidate]) -> tuple[float, int, bool, str]:
            worth, candidate = pair
            is_and = candidate.operator == "AND"
            return -worth, candidate.size, is_and, candidate.text(self.training)

        return sorted(self.best.values(), key=order)

    def add(self, candidate: Candidate, f1: float) -> None:
        """Add a candidate unless there is a better one of its shape."""
        self.tried += 1
        worth = f1 - self.price * candidate.size
        if candidate.shape not in self.best or worth > self.best[candidate.shape][0]:
            self.best[candidate.shape] = (worth, candidate)

    def search(self, tell: Callable[[float], None]) -> None:
        """Search; the pool grows meanwhile, so it may be interrupted."""
        types = self._types()
        self._narrow_all((self._plain((code,)) for code in types), tell, 0.0, 0.05)
        pairs = [self._plain(pair) for pair in product(types, repeat=2)]
        pairs += [self._plain(pair, "AND") for pair in combinations(sorted(types), 2)]
        self._narrow_all(pairs, tell, 0.05, 0.4)
        for length in range(2, _LENGTH):
            children = self._children(length, types)
            begin = 0.4 + 0.2 * (length - 2)
            self._narrow_all(children, tell, begin, begin + 0.2)
        self._finish(tell)

    def _plain(self, types: tuple[int, ...], operator: str = "SEQ") -> Candidate:
        return Candidate("AND" if operator == "AND" else "SEQ", types, self.training.within)

    def _types(self) -> list[int]:
        """Return the types before incidents, those with the most lift if they are many."""
        training = self.training
        lifts: dict[int, float] = {}
        everywhere = len(training.clock)
        before, _ = training.near(training.clock, 2)
        inside = max(1, len(np.unique(before)))
        for code, events in enumerate(training.events):
            pairs, hit = training.near(training.clock[events], 2)
            if len(np.unique(hit)) < max(2.0, _LEAST_RECALL * training.total):
                continue
            lifts[code] = len(np.unique(pairs)) / inside / (len(events) / everywhere)
        return sorted(sorted(lifts, key=lambda code: -lifts[code])[:_MOST_TYPES])

    def _narrow_all(
        self,
        candidates: Iterable[Candidate],
        tell: Callable[[float], None],
        begin: float,
        end: float,
    ) -> None:
        chosen = list(candidates)
        for number, candidate in enumerate(chosen):
            tell(begin + (end - begin) * number / len(chosen))
            self._narrow(candidate, _QUICK_ROWS)

    def _narrow(self, candidate: Candidate, most: int, ways: int = _WAYS) -> Candidate:
        """Add a candidate and its narrowings by conditions; return the best of them."""
        if candidate in self.narrowed:
            return candidate
        self.narrowed.add(candidate)
        rows = rows_of(self.training, candidate, most)
        self.add(candidate, rows.score().f1)
        if len(candidate.conditions) < _MOST_CONDITIONS:
            for step in narrower(self.training, candidate, rows, self.price)[:ways]:
                self._narrow(step.candidate, most, 1)
        return self.best[candidate.shape][1]

    def _children(self, length: int, types: list[int]) -> list[Candidate]:
        """Return the most promising candidates of one more event."""
        of_length = [each for each in self.ranked() if len(each[1].types) == length]
        parents = [candidate for _, candidate in of_length[:_PARENTS]]
        plain = [candidate for _, candidate in of_length if not candidate.conditions]
        parents += [candidate for candidate in plain[:_PLAIN_PARENTS] if candidate not in parents]
        children: dict[Candidate, float] = {}
        for parent in parents:
            wider = rows_of(
                self.training, replace(parent, window=self.training.within), _QUICK_ROWS
            )
            before, least = wider.score(), surely(len(types) * (length + 1))
            for code in types:
                if parent.operator == "AND":
                    if code in parent.types:
                        continue
                    places: Iterable[int] = [sum(each < code for each in parent.types)]
                else:
                    places = range(length + 1)
                for place in places:
                    child = replace(parent.inserted(code, place), window=self.training.within)
                    if child in children:
                        continue
                    score = rows_of(self.training, child, _QUICK_ROWS).score()
                    if evidence(wider.apart, before, score) >= least:
                        children[child] = score.f1
        best = sorted(children, key=lambda child: -children[child])
        return best[:_NARROWED]

    def _finish(self, tell: Callable[[float], None]) -> None:
        """Add absences to the best candidates, drop superfluous conditions, set bounds anew."""
        best = self.ranked()[:_FINISHED]
        singles = (each for each in self.ranked() if len(each[1].types) == 1)
        best += [each for each in singles if each not in best]
        final: dict[tuple[object, ...], tuple[float, Candidate]] = {}
        for number, (_, candidate) in enumerate(best):
            tell(0.8 + 0.2 * number / len(best))
            best_one = self._narrow(candidate, _ROWS)
            plain = replace(best_one, conditions=(), window=self.training.within)
            starts = [best_one, self._with_absences(best_one), self._with_absences(plain)]
            if number < _FILTERED:
                starts += [self._with_filtered(best_one), self._with_filtered(plain)]
            for start in starts:
                lean = self._lean(self._set_anew(start))
                final[lean.shape] = self.best[lean.shape]
        self.best = final

    def _lean(self, candidate: Candidate) -> Candidate:
        """Return a candidate without the parts that are not surely needed."""
        score = rows_of(self.training, candidate, _ROWS).score()
        for wider in candidate.narrowed_from():
            self.add(wider, rows_of(self.training, wider, _ROWS).score().f1)
            rows = rows_of(self.training, wider, _ROWS, late=candidate.ends_late)
            before = rows.score()
            # One that hits less is none that the part narrows: alarms end at another event.
            narrows = before.false and before.hits >= score.hits
            if narrows and evidence(rows.apart, before, score) < _SPARED:
                return self._lean(wider)
        return candidate

    def _with_absences(self, candidate: Candidate) -> Candidate:
        while True:
            steps = without_events(self.training, candidate, self.price, _ROWS)
            if not steps:
                return candidate
            candidate = self._narrow(steps[0].candidate, _ROWS)

    def _with_filtered(self, candidate: Candidate) -> Candidate:
        """Return it with an absence of events that pass a filter."""
        steps = without_events(self.training, candidate, self.price, _QUICK_ROWS, filtered=True)
        return self._narrow(steps[0].candidate, _ROWS) if steps else candidate

    def _set_anew(self, candidate: Candidate) -> Candidate:
        """Return the best of other windows, and of each condition taken away and found anew."""
        if candidate.absences:
            self._narrow(replace(candidate, window=self.training.within), _ROWS)
            for tenths in range(1, 10):
                shorter = replace(candidate, window=self.training.within * tenths // 10)
                self.add(shorter, rows_of(self.training, shorter, _ROWS).score().f1)
            candidate = self.best[candidate.shape][1]
        for condition in candidate.conditions:
            left = tuple(each for each in candidate.conditions if each != condition)
            self._narrow(replace(candidate, conditions=left), _ROWS)
            candidate = self.best[candidate.shape][1]
            if condition not in candidate.conditions:
                break
        return self.best[candidate.shape][1]
