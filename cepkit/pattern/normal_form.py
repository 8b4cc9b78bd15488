"""The normal form: a pattern as a union of conjunctive patterns.

Nested SEQ, AND and OR become branches, one for each choice at the ORs. A branch has its variables,
a strict partial order over them, its negated and repeated variables, and its conditions. Planners
and engines work on branches alone.
`FIRST B b` becomes `NOT(B x), B b`, where x fulfils the conditions on b and the events before it;
GREEDY and UNTIL become absences beside a set; `NEXT B b` becomes a condition on arrival numbers
(`numbers.py`).
The number of branches is the product of the numbers of choices at independent ORs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from operator import itemgetter
from typing import TypeAlias, assert_never

from cepkit.pattern.bounds import bound_condition
from cepkit.pattern.conditions import (
    Aggregate,
    AllOf,
    Attribute,
    Expression,
    conjuncts,
    distance_of,
    has_set_functions,
    of_neighbours,
    reads_ahead,
    variables_of,
)
from cepkit.pattern.conditions import walk as parts_of_condition
from cepkit.pattern.nodes import (
    And,
    Beside,
    Event,
    First,
    Kleene,
    Next,
    Not,
    Opt,
    Or,
    Seq,
    Structure,
    events_of,
    run_of,
    walk,
)
from cepkit.pattern.numbers import next_condition, next_in, side_by_side
from cepkit.pattern.policies import StepBound, Strategy, Window
from cepkit.pattern.query import Query
from cepkit.pattern.repetitions import Repetitions, in_first
from cepkit.pattern.rewrite import renamed, replaced
from cepkit.pattern.unrolling.structures import unrolled

Names: TypeAlias = "Mapping[tuple[str, str], str]"
"""The names of implied absences, by kind ("earlier", or a place beside a set) and variable."""

Sets: TypeAlias = frozenset[str]
"""The variables whose whole sets a condition reads."""


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
        implied = {event.variable for event in self.negated if _is_implied(event)}
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
        """Return those of some variables that none of them is before."""
        return [x for x in among if self.before(x).isdisjoint(among)]

    def latest(self, among: Collection[str]) -> list[str]:
        """Return those of some variables that none of them is after."""
        return [x for x in among if self.after(x).isdisjoint(among)]

    def neighbours(self, variable: str, among: Collection[str]) -> tuple[list[str], list[str]]:
        """Return the nearest of some variables before `variable`, and the nearest after it.

        Between a nearest variable and `variable` stands none of the others.
        """
        before, after = self.before(variable), self.after(variable)
        latest = self.latest([x for x in among if x in before])
        return latest, self.earliest([x for x in among if x in after])


@dataclass(frozen=True, slots=True)
class _Choice:
    """A structure after a choice at every OR."""

    positive: tuple[Event, ...] = ()
    negated: tuple[Event, ...] = ()
    repeated: tuple[tuple[str, int, int | None], ...] = ()
    order: frozenset[tuple[str, str]] = frozenset()
    next: tuple[Event, ...] = ()
    runs: tuple[tuple[Event, type[First | Next]], ...] = ()
    together: tuple[frozenset[str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(event.variable for event in self.positive + self.negated)

    def beside(self, other: _Choice, in_order: bool) -> _Choice:
        """Return the union with `other`; with `in_order`, all of `other` is later."""
        across = {(x, y) for x in self.names for y in other.names} if in_order else set()
        return _Choice(
            self.positive + other.positive,
            self.negated + other.negated,
            self.repeated + other.repeated,
            self.order | other.order | across,
            self.next + other.next,
            self.runs + other.runs,
            self.together + other.together,
        )

    @property
    def absent(self) -> tuple[Event, ...]:
        """The absent events; an UNTIL knows whether events before its set begin its place."""
        positive = {event.variable for event in self.positive}
        return tuple(
            replace(event, beside=replace(event.beside, preceded=True))
            if event.beside
            and event.beside.place == "until"
            and any(y == event.variable and x in positive for x, y in self.order)
            else event
            for event in self.negated
        )

    def next_conditions(self) -> Iterator[Expression]:
        """Yield for each event under NEXT the condition that it came right after a nearest one."""
        yield from (side_by_side(event) for event, word in self.runs if word is Next)
        positive = [event.variable for event in self.positive]
        repeated = {variable for variable, _, _ in self.repeated}
        for event in self.next:
            before = [x for x in positive if (x, event.variable) in self.order]
            nearest = [x for x in before if not any((x, y) in self.order for y in before)]
            yield next_condition(event, nearest, repeated)

    def implied_conditions(
        self, about: Sequence[tuple[Expression, Sets]], bounds: Sequence[StepBound]
    ) -> Iterator[Expression]:
        """Yield the conditions on implied absences, copied from those on the event or set.

        Only conditions over earlier events count.

        Args:
            about: The conditions of this choice, and the variables of whole sets in each.
            bounds: The bounds of the query.
        """
        positive = {event.variable for event in self.positive}
        for absent in filter(_is_implied, self.negated):
            beside = absent.beside
            variable = absent.earlier_than if beside is None else beside.variable
            assert variable is not None
            allowed = {x for x, y in self.order if y == variable and x in positive} | {variable}
            relevant = [(c, sets) for c, sets in about if variable in variables_of(c) <= allowed]
            conditions = [condition for condition, _ in relevant]
            for condition, sets in relevant:
                if variable not in sets:
                    yield renamed(condition, {variable: absent.variable})
            if beside is not None:
                own = [b for b in bounds if b.last == variable and b.first in allowed]
                yield from self._beside_set(absent, beside, conditions, own)

    def _beside_set(
        self,
        absent: Event,
        beside: Beside,
        conditions: Sequence[Expression],
        bounds: Sequence[StepBound],
    ) -> Iterator[Expression]:
        """Yield the conditions on an event that could extend a greedy set.

        Args:
            absent: The event, which must be absent.
            beside: Its place beside the set.
            conditions: The conditions on the set and the events before it.
            bounds: The bounds from an event before the set, or its first member, to its last.
        """
        variable, name = beside.variable, absent.variable
        runs = {event.variable: word for event, word in self.runs}
        repeated = [v for v, _, _ in self.repeated]
        for bound in bounds:
            if beside.place == "behind":
                yield bound_condition(replace(bound, last=name), self.order, repeated, [*runs])
            elif bound.first == bound.last:
                yield bound_condition(replace(bound, first=name), self.order, repeated, [*runs])
        if beside.place == "behind" and runs[variable] is Next:
            follows = next_condition(absent, [variable], {variable})
            yield follows
            for condition in conditions:
                functions = _functions_of(condition, variable)
                if of_neighbours(condition, variable) or functions == {"first"}:
                    after = replaced(condition, partial(_of_next_member, variable, name))
                    # A condition on the earlier member alone still needs an event behind it.
                    about = name in variables_of(after)
                    yield after if about else AllOf((after, follows))
                elif functions and not reads_ahead(condition, variable):
                    # The event takes the place of the next member.
                    yield renamed(condition, {variable: name})

    def bound_conditions(self, bounds: Iterable[StepBound]) -> Iterator[Expression]:
        """Yield the conditions of the bounds whose events are both in this choice."""
        repeated = [variable for variable, _, _ in self.repeated]
        runs = [event.variable for event, _ in self.runs]
        for bound in bounds:
            if {bound.first, bound.last} <= {*self.names}:
                yield bound_condition(bound, self.order, repeated, runs)


def _choices(structure: Structure, names: Names) -> tuple[_Choice, ...]:
    """Return the choices at the ORs of a structure.

    Args:
        structure: The structure.
        names: The names of the absences that FIRST and GREEDY imply.
    """
    match structure:
        case Event():
            return (_Choice(positive=(structure,)),)
        case First((Event() | Kleene()) as item):
            (choice,) = _choices(item, names)
            (event,) = choice.positive
            absent = Event(
                names["earlier", event.variable], event.types, earlier_than=event.variable
            )
            return (_Choice(negated=(absent,)).beside(choice, in_order=True),)
        case Next((Event() | Kleene()) as item):
            (choice,) = _choices(item, names)
            return (replace(choice, next=choice.positive),)
        case Not(Next(Event() as event)):
            return (_Choice(negated=(event,), next=(event,)),)
        case Not(Event() as event):
            return (_Choice(negated=(event,)),)
        case Not((Seq() | And()) as item):
            (choice,) = _choices(item, names)
            several = (frozenset(choice.names),) if len(choice.names) > 1 else ()
            return (_Choice(negated=choice.positive, order=choice.order, together=several),)
        case Kleene(Event() | First() | Next()):
            return (_choice_of_set(structure, names),)
        case Opt(item):
            return (*_choices(item, names), _Choice())
        case Or(items):
            return tuple(choice for item in items for choice in _choices(item, names))
        case Seq(items) | And(items):
            unions = []
            for parts in product(*(_choices(item, names) for item in items)):
                union = parts[0]
                for part in parts[1:]:
                    union = union.beside(part, in_order=isinstance(structure, Seq))
                unions.append(union)
            return tuple(unions)
        case Not() | Kleene() | First() | Next():
            raise AssertionError("checks.py refuses these")
        case _:
            assert_never(structure)


def _choice_of_set(node: Kleene, names: Names) -> _Choice:
    """Return a set with the absences that UNTIL and GREEDY imply."""
    (event,) = events_of(node.item)
    variable, run = event.variable, run_of(node)
    absent: tuple[Event, ...] = ()
    if node.until is not None:
        absent += (replace(node.until, beside=Beside("until", variable)),)
    if node.greedy and isinstance(node.item, Event):
        missed = Beside("before", variable)
        absent += (Event(names["before", variable], event.types, beside=missed),)
    if node.greedy:
        further = Beside("behind", variable, node.maximum)
        absent += (Event(names["behind", variable], event.types, beside=further),)
    sizes = ((variable, node.minimum, node.maximum),)
    return _Choice((event,), absent, sizes, runs=() if run is None else ((event, run),))


def normal_form(query: Query) -> tuple[Branch, ...]:
    """Return the branches of `query`, in the order of its text; their union is its meaning.

    A condition belongs to every branch that has all of its variables. Two branches bind different
    variables, so no match comes twice, except where an OR chooses between absences only, as in
    AND(A a, OR(NOT(B b), NOT(C c))): there the union drops duplicates. OPT is a choice between its
    item and nothing. The query caches its branches.

    Args:
        query: A query that passed `checks.check`.
    """
    query = unrolled(query)
    cache: dict[str, tuple[Branch, ...]] = query.__dict__  # where cached_property caches
    if "normal form" not in cache:
        cache["normal form"] = _branches(query)
    return cache["normal form"]


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
            if variable in variables_of(condition) <= allowed
            and variable not in _sets_in(condition)
        )
    if not absent:
        return branch
    return replace(
        branch,
        negated=(*branch.negated, *absent),
        order=branch.order | order,
        conditions=(*branch.conditions, *conditions),
    )


def _branches(query: Query) -> tuple[Branch, ...]:
    # By one variable each: an OR of many patterns has many branches and many conditions.
    conditions: dict[str | None, list[tuple[int, Expression, frozenset[str]]]] = {}
    # A choice has a group if it has its first repetition.
    once = in_first(query.groups)
    for number, condition in enumerate(conjuncts(query.where)):
        variables = frozenset(once.get(v, v) for v in variables_of(condition))
        first = min(variables, default=None)
        conditions.setdefault(first, []).append((number, condition, variables))
    branches = []
    implied = _names_of_implied(query.structure)
    for choice in _without_repeats(_choices(query.structure, implied)):
        names = frozenset(choice.names)
        about = [
            (number, condition)
            for first in (None, *names)
            for number, condition, variables in conditions.get(first, ())
            if variables <= names
        ]
        about.sort(key=itemgetter(0))
        pairs = [(condition, _sets_in(condition)) for _, condition in about]
        bounds: Sequence[StepBound] = query.bounds
        if query.groups:
            repetitions = Repetitions(query.groups, names)
            pairs = [
                (one, sets | whole)
                for condition, sets in pairs
                for one, whole in repetitions.conditions(condition)
            ]
            bounds = [one for bound in bounds for one in repetitions.bounds(bound)]
        branches.append(
            Branch(
                choice.positive,
                choice.absent,
                choice.repeated,
                choice.order,
                (
                    *(condition for condition, _ in pairs),
                    *choice.bound_conditions(bounds),
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


def _without_repeats(choices: Sequence[_Choice]) -> Iterator[_Choice]:
    """Yield the choices that may add matches to those before them."""
    demands_of: dict[tuple[Event, ...], list[set[Event]]] = {}
    for choice in choices:
        absent = {*choice.negated}
        demands = demands_of.setdefault(choice.positive, [])
        if not any(fewer <= absent for fewer in demands):
            demands.append(absent)
            yield choice


def _names_of_implied(structure: Structure) -> Names:
    """Return unused names for the absences that FIRST and GREEDY imply."""
    used = {event.variable for event in events_of(structure)}
    names = {}
    for node in walk(structure):
        if isinstance(node, First):
            words = {"earlier": "earlier"}
        elif isinstance(node, Kleene) and node.greedy:
            words = {"before": "missed", "behind": "further"}
        else:
            continue
        variable = events_of(node)[0].variable
        for place, word in words.items():
            if (place, variable) in names:  # of another choice
                continue
            name = f"{word} {variable}"
            while name in used:
                name += "'"
            used.add(name)
            names[place, variable] = name
    return names


def _is_implied(event: Event) -> bool:
    """Return whether FIRST or a set implies this absence, not a NOT."""
    beside = event.beside is not None and event.beside.place != "until"
    return beside or event.earlier_than is not None


def _sets_in(condition: Expression) -> Sets:
    parts = parts_of_condition(condition) if has_set_functions(condition) else ()
    return frozenset(part.variable or "" for part in parts if isinstance(part, Aggregate))


def _functions_of(condition: Expression, variable: str) -> set[str]:
    nodes = (node for node in parts_of_condition(condition) if isinstance(node, Aggregate))
    return {node.function for node in nodes if node.variable == variable}


def _of_next_member(variable: str, name: str, node: Attribute | Aggregate) -> Expression:
    """Return a node of a condition between neighbours for the last member and the event behind."""
    if node.variable != variable:
        return node
    if isinstance(node, Attribute):
        return Attribute(name, node.name, node.span)
    return replace(node, function="last") if distance_of(node.function) else node
