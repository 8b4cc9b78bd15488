"""A question put to a stream: the pattern, the events, and what both answers need of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cepkit.diagnosis.consumption import taken
from cepkit.diagnosis.findings import Binding, Finding, Inspector
from cepkit.diagnosis.measures import Measures
from cepkit.diagnosis.naming import Naming
from cepkit.diagnosis.scene import Scene
from cepkit.diagnosis.search import Search
from cepkit.diagnosis.tables import NearMiss, Seen
from cepkit.diagnosis.words import value_text
from cepkit.diagnosis.work import Work
from cepkit.errors import nearest as did_you_mean
from cepkit.pattern.conditions import attributes_of
from cepkit.pattern.nodes import events_of
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan


@dataclass(frozen=True)
class Question:
    """What is asked, of which events.

    Attributes:
        query: The pattern.
        scene: The events.
        naming: What they are called.
        plan: The order of the funnel's steps.
        violations: How many requirements a near miss may violate.
        limit: The most near misses.
        budget: The most events in combinations that each part of the answer may look at.
    """

    query: Query
    scene: Scene
    naming: Naming
    plan: Plan
    violations: int
    limit: int
    budget: int

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        """The branches of the pattern."""
        return normal_form(self.query)

    @cached_property
    def measures(self) -> tuple[Measures, ...]:
        """What measures each branch."""
        return tuple(Measures(self.scene, branch) for branch in self.branches)

    @cached_property
    def inspectors(self) -> tuple[Inspector, ...]:
        """What tells of each branch."""
        return tuple(Inspector(measured, self.naming.name) for measured in self.measures)

    @cached_property
    def taken(self) -> list[Mapping[str, int]] | None:
        """What skip-till-next-match takes; None where that cannot be said."""
        orders = [self.cheapest(number) for number in range(len(self.branches))]
        return taken(self.measures, orders, Work(self.budget), len(self.scene.columns))

    def cheapest(self, number: int) -> list[str]:
        """Return an order of a branch's variables, the rarest first."""
        search = Search(self.measures[number], self.branches[number].variables, Work(0))
        counts = {v: len(search.candidates(v)) for v in self.branches[number].variables}
        return sorted(counts, key=lambda v: counts[v])

    def near_miss(
        self, number: int, binding: Binding, violated: list[Finding] | tuple[Finding, ...]
    ) -> NearMiss:
        """Return a combination of a branch as a row of the answer.

        Args:
            number: Of the branch, from 0.
            binding: Its events.
            violated: What it violates.
        """
        branch = self.branches[number]
        events = [self.seen(branch, v, e) for v in branch.variables for e in binding[v]]
        return NearMiss(
            number + 1, tuple(events), tuple(violated), sum(f.relative for f in violated)
        )

    def seen(self, branch: Branch, variable: str, event: int, *, given: bool = False) -> Seen:
        """Return an event as a row of the answer shows it."""
        columns = self.scene.columns
        at = np.array([event])
        read = {name for c in branch.conditions for v, name in attributes_of(c) if v == variable}
        names = [n for n in columns.attributes if n in read or n in self.query.partition_by]
        return Seen(
            variable,
            event,
            self.naming.id(event),
            self.naming.name(event),
            columns.type_names[int(columns.types[event])],
            int(columns.ts[event]),
            {name: value_text(columns.attributes[name].take(at)) for name in names},
            given,
        )

    def absent_types(self) -> list[str]:
        """Return a note for each type that the pattern names and that never occurs."""
        known = self.scene.columns.type_names
        named = {t for event in events_of(self.query.structure) for t in event.types or ()}
        notes = []
        for name in sorted(named - set(known)):
            hint = did_you_mean(name, known)
            notes.append(f"no event has the type '{name}'" + (f": {hint}" if hint else ""))
        return notes
