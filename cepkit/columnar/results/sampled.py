"""A uniform sample of the matches of a query.

Where that is cheaper, random walks meet matches and a coin of the right bias keeps some, so that
each match is as likely as any other (see `statistics/measuring/walks.py`); repeats are dropped.
Otherwise all matches are found, and those with the least hashes are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from cepkit.columnar.results.held import Held, Ints, _HeldMatches
from cepkit.columnar.results.matches import Matches
from cepkit.errors import UnsupportedError
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.query import Query
from cepkit.statistics.measuring.walks import Walks
from cepkit.statistics.slice_events import Events
from cepkit.stream.columns import EventColumns
from cepkit.stream.stream import Stream

_PILOT, _AT_ONCE = 1 << 14, 1 << 17
_FEW = 20
"""With fewer matches for each one asked for, repeats would be frequent."""
_REPEATS = 10
_STEP = 5e-7
"""Seconds of a step of a walk."""


class _SampledMatches(_HeldMatches):
    """A uniform sample of the matches of a query, without repeats.

    Args:
        stream: A local stream.
        query: A query that passed `check_walks`.
        plan: Its plan.
        columns: The events, with all attributes that the query reads.
        sample: The most matches.
        seed: The seed of what is drawn.
        options: As for `Matches`.
    """

    def __init__(
        self,
        stream: Stream,
        query: Query,
        plan: Any,
        columns: EventColumns,
        sample: int,
        seed: int,
        **options: Any,
    ) -> None:
        super().__init__(stream, query, plan, columns=columns, **options)
        self._sample, self._seed = sample, seed

    def _count_all(self) -> NoReturn:
        raise UnsupportedError("the work of a sample", hint="detect(...) without sample=")

    def _title(self, shown_rows: int) -> str:
        return f"a random sample of {self.count():,}: {super()._title(shown_rows)}"

    def _find(self) -> Iterator[Held]:
        events = Events(self._columns, self.query.partition_by)
        walks = [Walks(events, branch) for branch in normal_form(self.query)]
        bounds = np.array([each.bound for each in walks])
        if not bounds.sum():
            return iter(())
        rng = np.random.default_rng(self._seed)
        number = sum(each.draw(rng, _PILOT)[1].sum() / _PILOT for each in walks)
        share = number / bounds.sum()
        if number > _FEW * self._sample:
            steps = max(len(each.order) for each in walks)
            seconds = self.plan.seconds
            if seconds is None or seconds > self._sample / share * steps * _STEP:
                found = self._walked(rng, walks, bounds, share)
                if found is not None:
                    return self._parted(found)
        return self._parted(self._searched_for())

    def _walked(
        self, rng: np.random.Generator, walks: list[Walks], bounds: Any, share: float
    ) -> Ints | None:
        """Return different matches met by walks; None if most are repeats."""
        found = np.empty((0, len(self.variables) + 1), np.int64)
        met = 0
        while len(found) < self._sample:
            if met > _REPEATS * self._sample:
                return None
            left = self._sample - len(found)
            counts = rng.multinomial(
                min(_AT_ONCE, int(left / share) + 1_000), bounds / bounds.sum()
            )
            new = np.concatenate(
                [
                    self._table(place, each.uniform(rng, int(count)))
                    for place, (each, count) in enumerate(zip(walks, counts, strict=True))
                ]
            )
            met += len(new)
            found = np.concatenate((found, rng.permutation(new)))  # else branches come in order
            found = found[np.sort(np.unique(found, axis=0, return_index=True)[1])]
        return found[: self._sample]

    def _searched_for(self) -> Ints:
        """Return the matches with the least hashes, of all."""
        places = {id(program): place for place, program in enumerate(self._programs)}
        found, hashes = np.empty((0, len(self.variables) + 1), np.int64), np.empty(0, np.uint64)
        for program, block in Matches.blocks(self):
            rows = {v: block.events(v).astype(np.int64) for v in program.variables}
            new = self._table(places[id(program)], rows)
            own = _hashed(new, self._seed)
            found, hashes = np.concatenate((found, new)), np.concatenate((hashes, own))
            if len(hashes) > 2 * self._sample:
                kept = np.argpartition(hashes, self._sample)[: self._sample]
                found, hashes = found[kept], hashes[kept]
        return found[np.argsort(hashes)[: self._sample]]

    def _table(self, place: int, rows: dict[str, Ints]) -> Ints:
        """Return matches as a table of numbers: the branch, and the event of each variable."""
        size = len(next(iter(rows.values())))
        none = np.full(size, -1)
        columns = [np.full(size, place), *(rows.get(v, none) for v in self.variables)]
        return np.stack(columns, axis=1)

    def _parted(self, found: Ints) -> Iterator[Held]:
        for place, program in enumerate(self._programs):
            own = found[found[:, 0] == place]
            if len(own):
                at = {v: self.variables.index(v) + 1 for v in program.variables}
                yield Held(place, {v: own[:, column] for v, column in at.items()})


def _hashed(table: Ints, seed: int) -> Any:
    """Return a hash of each row (splitmix64): the same whatever the order of rows."""
    value = np.full(len(table), seed & (2**64 - 1), np.uint64)
    for column in table.T:
        value = (value ^ column.astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        value ^= value >> np.uint64(31)
    return value
