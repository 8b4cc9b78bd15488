"""The matches of each strategy in one stream, and the selection of the user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TypeAlias

import numpy as np

from cepkit import detect, why_not
from cepkit.columnar.results.matches import Matches
from cepkit.diagnosis.findings import Binding
from cepkit.errors import ArgumentError, CepkitError
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.stream.stream import Stream
from cepkit.tables import count_text
from cepkit_widgets.kit.parts import place_after
from cepkit_widgets.matches.known import Ints, KnownMatches

MOST = 20_000
"""The most matches of each strategy that are held and compared."""
ANY = Strategy.SKIP_TILL_ANY_MATCH

Owners: TypeAlias = frozenset[Strategy]
"""The strategies that have a match; no other has it."""
Key: TypeAlias = tuple[tuple[int, ...], ...]
"""A match: for each variable its events."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one strategy.

    Attributes:
        query: The pattern under the strategy.
        count: How many matches it finds; None if it cannot run.
        held: How many of them are held.
        error: Why it cannot run.
    """

    query: Query
    count: int | None = None
    held: int = 0
    error: CepkitError | None = None


@dataclass(frozen=True, slots=True)
class Extent:
    """Which events are compared: all, or the first of a stream.

    Attributes:
        taken: How many are compared.
        there: How many the stream has; None if that is not known.
    """

    taken: int
    there: int | None

    @classmethod
    def of(cls, stream: Stream, most: int) -> tuple[Stream, Extent]:
        """Return the first events of a stream, at most so many, and what they are of it."""
        first = stream.head(most)
        taken = len(first)
        if taken < most:
            return first, cls(taken, taken)
        return first, cls(taken, len(stream) if stream.place == "local" else None)

    @property
    def within(self) -> str:
        """What a number must be read with: empty if it is of the whole stream."""
        return "" if self.taken == self.there else f" in the first {self.taken:,} events"

    def __str__(self) -> str:
        if not self.within:
            return count_text(self.taken, "event")
        return f"the first {self.taken:,}{f' of {self.there:,}' if self.there else ''} events"


class Comparison:
    """The matches of a pattern under each strategy, with common numbers.

    Attributes:
        outcomes: The result of each strategy.
        extent: Which events are compared.
        known: Matches that give access to the events; None if no strategy can run.
        keys: The matches that are held, in the order of their events.
        owners: For each match the strategies that have it.

    Args:
        stream: A local stream.
        query: The pattern; its own strategy is ignored.
        extent: What the stream is of the one that was given.
    """

    def __init__(self, stream: Stream, query: Query, extent: Extent) -> None:
        self._stream = stream
        self.extent = extent
        self._reasons: dict[tuple[int, Strategy], str] = {}
        self.known: KnownMatches | None = None
        self.outcomes: dict[Strategy, Outcome] = {}
        has: dict[Key, set[Strategy]] = {}
        refusals = []
        for strategy in Strategy:
            own = replace(query, strategy=strategy, text=None)
            try:
                matches = detect(stream, own)
                assert isinstance(matches, Matches)
                known = KnownMatches(matches)
                # One more says whether there are more.
                known.at_least(MOST + 1)
                complete = known.complete and known.size <= MOST
                count = known.size if complete else matches.count()
            except CepkitError as error:
                self.outcomes[strategy] = Outcome(own, error=error)
                refusals.append(error)
                continue
            self.known = self.known or known
            self.outcomes[strategy] = Outcome(own, count, min(known.size, MOST))
            for number in range(min(known.size, MOST)):
                binding = known.binding(number)
                key = tuple(binding.get(variable, ()) for variable in known.variables)
                has.setdefault(key, set()).add(strategy)
        if len(refusals) == len(Strategy):
            raise refusals[0]
        if ANY in self.ran:
            # Every match of another strategy is also one of this strategy, held or not.
            for owners in has.values():
                owners.add(ANY)
        self.keys = sorted(has, key=lambda key: sorted(chain.from_iterable(key)))
        self.owners: list[Owners] = [frozenset(has[key]) for key in self.keys]

    @property
    def ran(self) -> tuple[Strategy, ...]:
        """The strategies that could be run."""
        return tuple(s for s, outcome in self.outcomes.items() if outcome.error is None)

    @cached_property
    def groups(self) -> Mapping[Owners, int]:
        """How many matches each group of strategies has that no other has, largest first.

        If not all matches of skip-till-any-match are held, the others count as its own.
        """
        sizes = Counter(self.owners)
        every = self.outcomes[ANY]
        if every.count is not None:
            sizes[frozenset({ANY})] += every.count - len(self.keys)
        return {owners: size for owners, size in sizes.most_common() if size}

    @cached_property
    def times(self) -> tuple[Ints, Ints]:
        """When each match that is held begins and ends, in microseconds."""
        assert self.known is not None
        ts = self.known.columns.ts
        spans = [ts[[*chain.from_iterable(key)]] for key in self.keys]
        every = np.array([(span.min(), span.max()) for span in spans], dtype=np.int64)
        return tuple(every.reshape(-1, 2).T)  # type: ignore[return-value]  # two columns

    def lacks(self, strategy: Strategy) -> int | None:
        """Return how many matches of others a strategy lacks; None if it did not run."""
        count = self.outcomes[strategy].count
        return None if count is None else sum(self.groups.values()) - count

    def numbers(self, state: StrategyState) -> list[int]:
        """Return the matches that are listed."""
        if state.group is not None:
            return [i for i, owners in enumerate(self.owners) if owners == state.group]
        return [i for i, owners in enumerate(self.owners) if state.chosen in owners]

    def binding(self, number: int) -> dict[str, tuple[int, ...]]:
        """Return the events of each variable that a match binds."""
        assert self.known is not None
        pairs = zip(self.known.variables, self.keys[number], strict=True)
        return {variable: events for variable, events in pairs if events}

    def why_lacks(self, number: int, strategy: Strategy) -> str:
        """Return why a strategy does not have a match."""
        outcome = self.outcomes[strategy]
        if outcome.error is not None:
            return outcome.error.found
        if (number, strategy) not in self._reasons:
            self._reasons[number, strategy] = self._reason(self.binding(number), outcome.query)
        return self._reasons[number, strategy]

    def _reason(self, binding: Binding, query: Query) -> str:
        assert self.known is not None
        source = self.known.columns.source_rows
        rows = {v: source(np.array(events)).tolist() for v, events in binding.items()}
        rows = {v: at if v in self.known.repeated else at[0] for v, at in rows.items()}
        answer = why_not(self._stream, query, bindings=rows)
        failing = [finding.detail for finding in answer.requirements if finding.holds is False]
        return "; ".join(failing) or answer.reason


@dataclass(frozen=True, slots=True)
class StrategyState:
    """The selection of the user.

    Attributes:
        chosen: The strategy whose matches are listed.
        group: List only the matches that exactly these strategies have; None for all.
        current: The number of the current match; None if there is none.
    """

    chosen: Strategy = ANY
    group: Owners | None = None
    current: int | None = None

    def of(self, comparison: Comparison) -> StrategyState:
        """Return the state with a listed match as the current one, if there is one."""
        numbers = comparison.numbers(self)
        if self.current in numbers:
            return self
        return replace(self, current=numbers[0] if numbers else None)

    def choose(self, strategy: Strategy, comparison: Comparison) -> StrategyState:
        """Return the state that lists the matches of a strategy.

        Raises:
            ArgumentError: The strategy cannot run the pattern.
        """
        error = comparison.outcomes[strategy].error
        if error is not None:
            raise ArgumentError(f"{strategy} cannot be run: {error.found}", hint=error.hint)
        return replace(self, chosen=strategy, group=None).of(comparison)

    def grouped(self, group: Owners, comparison: Comparison) -> StrategyState:
        """Return the state that lists only the matches of a group; a second call undoes it."""
        if group == self.group:
            return replace(self, group=None).of(comparison)
        return _in_group(self, group).of(comparison)

    def at(self, number: int, comparison: Comparison) -> StrategyState:
        """Return the state with another current match.

        Raises:
            ArgumentError: There is no such match.
        """
        if not 0 <= number < len(comparison.keys):
            raise ArgumentError(
                f"no match {number}", expected=f"one of {len(comparison.keys):,}, from 0"
            )
        there = replace(self, current=number)
        if number in comparison.numbers(self):
            return there
        # A match of another strategy: switch to that list.
        return _in_group(there, comparison.owners[number])

    def stepped(self, move: str, comparison: Comparison) -> StrategyState:
        """Return the state with the next or previous match of the list as the current one.

        Args:
            move: The name of a key: an arrow for the next or the previous one.
            comparison: The matches.
        """
        numbers = comparison.numbers(self)
        if not numbers:
            return self
        at = numbers.index(self.current) if self.current in numbers else -1
        return replace(self, current=numbers[place_after(move, at, len(numbers))])


def _in_group(state: StrategyState, group: Owners) -> StrategyState:
    chosen = state.chosen if state.chosen in group else min(group, key=list(Strategy).index)
    return replace(state, group=group, chosen=chosen)
