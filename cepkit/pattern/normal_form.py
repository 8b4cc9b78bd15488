"""The normal form: a pattern as a union of conjunctive patterns.

Nested SEQ, AND and OR become branches, one for each choice at the ORs. A branch has its variables,
a strict partial order over them, its negated and repeated variables, and its conditions. Planners
and engines work on branches alone.
`FIRST B b` becomes `NOT(B x), B b`, where x fulfils the conditions on b and the events before it;
GREEDY and UNTIL become absences beside a set; `NEXT B b` becomes a condition on arrival numbers
(`numbers.py`); see `choices.py`.
The number of branches is the product of the numbers of choices at independent ORs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter

from cepkit.pattern.calendar_windows import calendar_bounds
from cepkit.pattern.choices import (
    choices_of,
    is_implied,
    names_of_implied,
    of_one_member,
    sets_in,
    without_repeats,
)
from cepkit.pattern.conditions import (
    NUMBER,
    NUMBER_BEFORE,
    Comparison,
    Expression,
    attributes_of,
    conjuncts,
    variables_of,
    walk,
)
from cepkit.pattern.nodes import Beside, Event, First, bound_events_of, groups_in
from cepkit.pattern.policies import StepBound, Strategy, TimeWindow, Window
from cepkit.pattern.query import Query
from cepkit.pattern.repetitions import Repetitions, in_first
from cepkit.pattern.rewrite import renamed
from cepkit.pattern.unrolling import unrolled


@dataclass(frozen=True)
class Branch:
    """A conjunctive pattern: events, their order, and conditions.

    Attributes:
        positive: The events that a match binds, in pattern order, with repeated ones.
        negated: The absent events, with those that FIRST implies.
        repeated: For each Kleene variable its least and greatest number of events.
        order: The pairs (x, y) where x is strictly before y: transitive, over all variables.
        conditions: The conditions, all over variables of this branch; all must hold.
        window: The window of the query.
        strategy: The strategy of the query.
        partition_by: The partition attributes of the query.
        runs: The Kleene variables that take every event that fits between their first and last
            member.
        together: The negated variables of each NOT of several events. Such a NOT forbids all its
            events together, in their order and under their conditions, but allows some of them.
    """

    positive: tuple[Event, ...]
    negated: tuple[Event, ...]
    repeated: tuple[tuple[str, int, int | None], ...]
    order: frozenset[tuple[str, str]]
    conditions: tuple[Expression, ...]
    window: Window | None
    strategy: Strategy
    partition_by: tuple[str, ...]
    runs: frozenset[str] = frozenset()
    together: tuple[frozenset[str], ...] = ()

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The positive variables in pattern order."""
        return tuple(event.variable for event in self.positive)

    @cached_property
    def as_written(self) -> Branch:
        """The branch without the implications of FIRST, NEXT and GREEDY, as statistics use it."""
        implied = {event.variable for event in self.negated if is_implied(event)}
        if not implied and all(next_in(c) is None for c in self.conditions):
            return self
        return replace(
            self,
            negated=tuple(e for e in self.negated if e.variable not in implied),
            order=frozenset(pair for pair in self.order if not implied.intersection(pair)),
            conditions=tuple(
                c for c in self.conditions if not implied & variables_of(c) and next_in(c) is None
            ),
        )

    @cached_property
    def equates(self) -> bool:
        """Whether a condition, or its opposite, equates two values."""
        parts = (part for condition in self.conditions for part in walk(condition))
        return any(isinstance(part, Comparison) and part.operator in ("=", "!=") for part in parts)

    @cached_property
    def absences(self) -> tuple[tuple[Event, ...], ...]:
        """The events of each NOT: one, or several that are absent together."""
        groups: dict[frozenset[str], list[Event]] = {}
        for event in self.negated:
            groups.setdefault(self.absent_with(event.variable), []).append(event)
        return tuple(map(tuple, groups.values()))

    def absent_with(self, variable: str) -> frozenset[str]:
        """Return the variables under the same NOT as a negated one, itself included."""
        return next((names for names in self.together if variable in names), frozenset({variable}))

    def event(self, variable: str) -> Event:
        """Return the event node of `variable`."""
        return next(e for e in self.positive + self.negated if e.variable == variable)

    def until(self, variable: str) -> Event | None:
        """Return the event of the UNTIL of a set."""
        return next((e for e in self.negated if e.beside and e.beside.ends(variable)), None)

    @cached_property
    def _sides(self) -> Mapping[str, tuple[frozenset[str], frozenset[str]]]:
        """For each variable those before it, and those after it."""
        before: dict[str, set[str]] = {}
        after: dict[str, set[str]] = {}
        for x, y in self.order:
            before.setdefault(y, set()).add(x)
            after.setdefault(x, set()).add(y)
        none = frozenset[str]()
        return {
            v: (frozenset(before.get(v, none)), frozenset(after.get(v, none)))
            for v in {*before, *after}
        }

    def before(self, variable: str) -> frozenset[str]:
        """Return the variables that are strictly before `variable`."""
        return self._sides[variable][0] if variable in self._sides else frozenset()

    def after(self, variable: str) -> frozenset[str]:
        """Return the variables that are strictly after `variable`."""
        return self._sides[variable][1] if variable in self._sides else frozenset()

    def earliest(self, among: Collection[str]) -> list[str]:
        """Return the variables that no other one of them is before."""
        return [x for x in among if self.before(x).isdisjoint(among)]

    def latest(self, among: Collection[str]) -> list[str]:
        """Return the variables that no other one of them is after."""
        return [x for x in among if self.after(x).isdisjoint(among)]

    def neighbours(self, variable: str, among: Collection[str]) -> tuple[list[str], list[str]]:
        """Return the nearest of some variables before `variable`, and the nearest after it.

        Between a nearest variable and `variable` stands none of the others.
        """
        before, after = self.before(variable), self.after(variable)
        latest = self.latest([x for x in among if x in before])
        return latest, self.earliest([x for x in among if x in after])


def normal_form(query: Query) -> tuple[Branch, ...]:
    """Return the branches of `query`, in the order of its text; their union is its meaning.

    A condition belongs to every branch that has all of its variables. Two branches bind different
    variables, so no match comes twice, except where an OR chooses between absences only, as in
    AND(A a, OR(NOT(B b), NOT(C c))): there the union drops duplicates. OPT is a choice between its
    item and nothing. The query caches its branches.

    Args:
        query: A query that passed `checks.check`.
    """
    if query.unrolled_from is None and groups_in(query.structure):
        query = unrolled(query)
    cache: dict[str, tuple[Branch, ...]] = query.__dict__  # where cached_property caches
    if "normal form" not in cache:
        cache["normal form"] = _branches(query)
    return cache["normal form"]


def next_in(condition: Expression) -> str | None:
    """Return the variable under NEXT that implies a condition, None for a written condition."""
    read = attributes_of(condition)
    for number in (NUMBER_BEFORE, NUMBER):
        for variable, name in read:
            if name == number:
                return variable
    return None


def written_branches(query: Query) -> tuple[Branch, ...]:
    """Return the branches without the implications of FIRST and NEXT, for statistics."""
    return tuple(branch.as_written for branch in normal_form(query))


def runs_as_absences(branch: Branch) -> Branch:
    """Return a branch with an absence between the members of each run, which leaves nothing out."""
    absent: list[Event] = []
    order: set[tuple[str, str]] = set()
    conditions: list[Expression] = []
    used = {event.variable for event in branch.positive + branch.negated}
    for event in branch.positive:
        variable, name = event.variable, f"left out {event.variable}"
        if variable not in branch.runs:
            continue
        while name in used:
            name += "'"
        absent.append(Event(name, event.types, beside=Beside("between", variable)))
        before = branch.before(variable)
        order |= {(x, name) for x in before}
        allowed = (before & {*branch.variables}) | {variable}
        conditions += (
            renamed(condition, {variable: name})
            for condition in branch.conditions
            if variable in variables_of(condition) <= allowed and variable not in sets_in(condition)
        )
    if not absent:
        return branch
    return replace(
        branch,
        negated=(*branch.negated, *absent),
        order=branch.order | order,
        conditions=(*branch.conditions, *conditions),
    )


def _of_single_events(condition: Expression, variables: Iterable[str]) -> Expression | None:
    """Return a condition for single events in place of some sets, None if these do not decide."""
    single: Expression | None = condition
    for variable in sets_in(condition).intersection(variables):
        single = None if single is None else of_one_member(single, variable)
    return single


def _branches(query: Query) -> tuple[Branch, ...]:
    # By one variable each: an OR of many patterns has many branches and many conditions.
    conditions: dict[str | None, list[tuple[int, Expression, frozenset[str]]]] = {}
    # A choice has a group if it has its first repetition.
    once = in_first(query.groups) if query.groups else {}
    for number, condition in enumerate(conjuncts(query.where)):
        variables = frozenset(once.get(v, v) for v in variables_of(condition))
        first = min(variables, default=None)
        conditions.setdefault(first, []).append((number, condition, variables))
    branches = []
    implied = names_of_implied(query.structure)
    optional = {event.variable for event in bound_events_of(query.structure)}
    by_calendar: tuple[StepBound, ...] = ()
    if isinstance(query.window, TimeWindow) and query.window.days is not None:
        by_calendar = calendar_bounds(query.structure, query.window)
    for choice in without_repeats(choices_of(query.structure, implied)):
        names = frozenset(choice.names)
        about = [
            (number, condition)
            for first in (None, *names)
            for number, condition, variables in conditions.get(first, ())
            if variables <= names
        ]
        about.sort(key=itemgetter(0))
        left_out = {e.variable for e in choice.negated} & optional
        if left_out:
            about = [
                (number, single)
                for number, condition in about
                if choice.counts(variables_of(condition), left_out)
                and (single := _of_single_events(condition, left_out)) is not None
            ]
        pairs = [(condition, sets_in(condition)) for _, condition in about]
        bounds: Sequence[StepBound] = query.bounds
        if query.groups:
            repetitions = Repetitions(query.groups, names)
            pairs = [
                (one, sets | whole)
                for condition, sets in pairs
                for one, whole in repetitions.conditions(condition)
            ]
            bounds = [one for bound in bounds for one in repetitions.bounds(bound)]
        bounds = [*bounds, *by_calendar]
        branches.append(
            Branch(
                choice.positive,
                choice.absent,
                choice.repeated,
                choice.order,
                (
                    *(condition for condition, _ in pairs),
                    *choice.bound_conditions(bounds, left_out),
                    *choice.next_conditions(),
                    *choice.implied_conditions(pairs, bounds),
                ),
                query.window,
                query.strategy,
                query.partition_by,
                frozenset(event.variable for event, word in choice.runs if word is First),
                choice.together,
            )
        )
    return tuple(branches)
