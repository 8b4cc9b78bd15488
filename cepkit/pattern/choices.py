"""Choices at the ORs of a structure, with the absences that FIRST, GREEDY and UNTIL imply."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TypeAlias, assert_never

from cepkit.pattern import nodes as n
from cepkit.pattern.bounds import bound_condition
from cepkit.pattern.conditions import (
    RUNNING,
    Aggregate,
    AllOf,
    Attribute,
    Expression,
    distance_of,
    functions_in,
    of_neighbours,
    reads_ahead,
    variables_of,
)
from cepkit.pattern.numbers import next_condition, side_by_side
from cepkit.pattern.policies import StepBound
from cepkit.pattern.rewrite import renamed, replaced

Names: TypeAlias = "Mapping[tuple[str, str], str]"
"""The names of implied absences, by kind ("earlier", or a place beside a set) and variable."""

Sets: TypeAlias = frozenset[str]
"""The variables whose whole sets a condition reads."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A structure after a choice at every OR."""

    positive: tuple[n.Event, ...] = ()
    negated: tuple[n.Event, ...] = ()
    repeated: tuple[tuple[str, int, int | None], ...] = ()
    order: frozenset[tuple[str, str]] = frozenset()
    next: tuple[n.Event, ...] = ()
    runs: tuple[tuple[n.Event, type[n.First | n.Next]], ...] = ()
    together: tuple[frozenset[str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All variables, also those of absent events."""
        return tuple(event.variable for event in self.positive + self.negated)

    def beside(self, other: Choice, in_order: bool) -> Choice:
        """Return the union with `other`; with `in_order`, all of `other` is later."""
        across = {(x, y) for x in self.names for y in other.names} if in_order else set()
        return Choice(
            self.positive + other.positive,
            self.negated + other.negated,
            self.repeated + other.repeated,
            self.order | other.order | across,
            self.next + other.next,
            self.runs + other.runs,
            self.together + other.together,
        )

    @property
    def absent(self) -> tuple[n.Event, ...]:
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
        yield from (side_by_side(event) for event, word in self.runs if word is n.Next)
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
        """
        positive = {event.variable for event in self.positive}
        for absent in filter(is_implied, self.negated):
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
        absent: n.Event,
        beside: n.Beside,
        conditions: Sequence[Expression],
        bounds: Sequence[StepBound],
    ) -> Iterator[Expression]:
        """Yield the conditions on an event that could extend a greedy set.

        Args:
            absent: The event, which must be absent.
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
        if beside.place == "behind" and runs[variable] is n.Next:
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

    def counts(self, variables: Collection[str], left_out: Collection[str]) -> bool:
        """Return whether a condition over some variables of this choice counts in it.

        Args:
            left_out: The variables that a greedy OPT leaves out here. None of them may be there, as
                under NOT, so a condition over two such events is about neither.
        """
        absent = {event.variable for event in self.negated}.intersection(variables)
        return (
            len(absent) < 2
            or absent.isdisjoint(left_out)
            or any(absent <= group for group in self.together)
        )

    def bound_conditions(
        self, bounds: Iterable[StepBound], left_out: Collection[str]
    ) -> Iterator[Expression]:
        """Yield the conditions of the bounds whose events are both in this choice."""
        repeated = [variable for variable, _, _ in self.repeated]
        runs = [event.variable for event, _ in self.runs]
        for bound in bounds:
            ends = {bound.first, bound.last}
            if ends <= {*self.names} and self.counts(ends, left_out):
                yield bound_condition(bound, self.order, repeated, runs)


def choices_of(structure: n.Structure, names: Names) -> tuple[Choice, ...]:
    """Return the choices at the ORs of a structure.

    Args:
        names: The names of the absences that FIRST and GREEDY imply.
    """
    match structure:
        case n.Event():
            return (Choice(positive=(structure,)),)
        case n.First((n.Event() | n.Kleene()) as item):
            (choice,) = choices_of(item, names)
            (event,) = choice.positive
            absent = n.Event(
                names["earlier", event.variable], event.types, earlier_than=event.variable
            )
            return (Choice(negated=(absent,)).beside(choice, in_order=True),)
        case n.Next((n.Event() | n.Kleene()) as item):
            (choice,) = choices_of(item, names)
            return (replace(choice, next=choice.positive),)
        case n.Not(n.Next(n.Event() as event)):
            return (Choice(negated=(event,), next=(event,)),)
        case n.Not(n.Event() as event):
            return (Choice(negated=(event,)),)
        case n.Not((n.Seq() | n.And()) as item):
            (choice,) = choices_of(item, names)
            several = (frozenset(choice.names),) if len(choice.names) > 1 else ()
            return (Choice(negated=choice.positive, order=choice.order, together=several),)
        case n.Kleene(n.Event() | n.First() | n.Next()):
            return (_choice_of_set(structure, names),)
        case n.Opt(item):
            absence = n.absence_of(structure) if n.is_greedy(structure) else None
            without = (Choice(),) if absence is None else choices_of(absence, names)
            return (*choices_of(item, names), *without)
        case n.Or(items):
            return tuple(choice for item in items for choice in choices_of(item, names))
        case n.Seq(items) | n.And(items):
            unions = []
            for parts in product(*(choices_of(item, names) for item in items)):
                union = parts[0]
                for part in parts[1:]:
                    union = union.beside(part, in_order=isinstance(structure, n.Seq))
                unions.append(union)
            return tuple(unions)
        case n.Not() | n.Kleene() | n.First() | n.Next():
            raise AssertionError("checks.py refuses these")
        case _:
            assert_never(structure)


def _choice_of_set(node: n.Kleene, names: Names) -> Choice:
    """Return a set with the absences that UNTIL and GREEDY imply."""
    (event,) = n.events_of(node.item)
    variable, run = event.variable, n.run_of(node)
    absent: tuple[n.Event, ...] = ()
    if node.until is not None:
        absent += (replace(node.until, beside=n.Beside("until", variable)),)
    if node.greedy and isinstance(node.item, n.Event):
        missed = n.Beside("before", variable)
        absent += (n.Event(names["before", variable], event.types, beside=missed),)
    if node.greedy:
        further = n.Beside("behind", variable, node.maximum)
        absent += (n.Event(names["behind", variable], event.types, beside=further),)
    sizes = ((variable, node.minimum, node.maximum),)
    return Choice((event,), absent, sizes, runs=() if run is None else ((event, run),))


def of_one_member(condition: Expression, variable: str) -> Expression | None:
    """Return a condition on a set for a single event in its place.

    Returns:
        The condition; None if a single member does not decide it.
    """
    if not _functions_of(condition, variable) <= _OF_ONE_MEMBER:
        return None

    def of_event(node: Attribute | Aggregate) -> Expression:
        if isinstance(node, Attribute) or node.variable != variable:
            return node
        return Attribute(variable, node.attribute or "", node.span)

    return replaced(condition, of_event)


_OF_ONE_MEMBER = {"first", *(RUNNING + function for function in ("sum", "avg", "min", "max"))}


def without_repeats(choices: Sequence[Choice]) -> Iterator[Choice]:
    """Yield the choices that may add matches to those before them."""
    demands_of: dict[tuple[n.Event, ...], list[set[n.Event]]] = {}
    for choice in choices:
        absent = {*choice.negated}
        demands = demands_of.setdefault(choice.positive, [])
        if not any(fewer <= absent for fewer in demands):
            demands.append(absent)
            yield choice


def names_of_implied(structure: n.Structure) -> Names:
    """Return unused names for the absences that FIRST and GREEDY imply."""
    used = {event.variable for event in n.events_of(structure)}
    names = {}
    for node in n.walk(structure):
        if isinstance(node, n.First):
            words = {"earlier": "earlier"}
        elif isinstance(node, n.Kleene) and node.greedy:
            words = {"before": "missed", "behind": "further"}
        else:
            continue
        variable = n.events_of(node)[0].variable
        for place, word in words.items():
            if (place, variable) in names:  # of another choice
                continue
            name = f"{word} {variable}"
            while name in used:
                name += "'"
            used.add(name)
            names[place, variable] = name
    return names


def is_implied(event: n.Event) -> bool:
    """Return whether FIRST or a set implies this absence, not a NOT."""
    beside = event.beside is not None and event.beside.place != "until"
    return beside or event.earlier_than is not None


def sets_in(condition: Expression) -> Sets:
    """Return the variables whose whole sets a condition reads."""
    return frozenset(part.variable or "" for part in functions_in(condition))


def _functions_of(condition: Expression, variable: str) -> set[str]:
    return {node.function for node in functions_in(condition) if node.variable == variable}


def _of_next_member(variable: str, name: str, node: Attribute | Aggregate) -> Expression:
    """Return a node of a condition between neighbours for the last member and the event behind."""
    if node.variable != variable:
        return node
    if isinstance(node, Attribute):
        return Attribute(name, node.name, node.span)
    return replace(node, function="last") if distance_of(node.function) else node
