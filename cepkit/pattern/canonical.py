"""The canonical form of events and sub-patterns: equal where renaming variables makes them equal.

Conditions are written over placeholders and in one form, so that `3 < a.x` equals `b.x > 3` and the
order inside AND, OR and IN does not matter. Implied conditions, as `a.k = c.k` by `a.k = b.k AND
b.k = c.k`, are not added. Neither names nor the order of the text decide the order of the variables
of a sub-pattern: colours are refined, then all permutations of variables of one colour are tried.
Beyond `MOST_ARRANGEMENTS` permutations the order of the text decides, and equal sub-patterns may
have different forms; different ones never have equal forms.
Cost: O(n^2 c) for n variables and c conditions, times the permutations that are tried.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, permutations, product
from typing import TypeVar, assert_never

from cepkit.pattern import conditions as c
from cepkit.pattern.names import name_text
from cepkit.pattern.nodes import Event
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import CountWindow, Strategy, TimeWindow, Window
from cepkit.pattern.printer import expression_text
from cepkit.pattern.rewrite import MIRRORED, about, replaced, without_not

Name = TypeVar("Name")

PLACEHOLDER = "_"
"""The variable of the conditions of a canonical event."""

MOST_ARRANGEMENTS = 720
"""The most orders of variables that are tried: those of six variables of one colour, or of two
groups of four."""


@dataclass(frozen=True, slots=True)
class CanonicalEvent:
    """The types of an event and the conditions about it alone, without its name.

    Attributes:
        types: Its types; None for any.
        filters: The conditions about it alone, over the variable `PLACEHOLDER`, without NOT.
    """

    types: frozenset[str] | None
    filters: tuple[c.Expression, ...] = ()

    @classmethod
    def of(cls, event: Event, conditions: Iterable[c.Expression]) -> CanonicalEvent:
        """Return an event with the conditions about it alone."""
        return cls(event.types, canonical_conditions(conditions, {event.variable: PLACEHOLDER}))

    def __str__(self) -> str:
        types = "ANY" if self.types is None else " | ".join(map(name_text, sorted(self.types)))
        about = " and ".join(expression_text(part) for part in self.filters)
        return f"{types} [{about}]" if about else types


@dataclass(frozen=True, slots=True)
class SubPattern:
    """Some variables of a branch with their order and conditions.

    Variables are positions in `events`; conditions call them `_0`, `_1`, and so on.

    Attributes:
        events: The events with the conditions about each alone, without conditions on whole sets.
        absent: The positions under NOT.
        repeated: For each Kleene position its least and greatest number of events.
        order: The pairs (x, y) where x is strictly before y: transitive.
        beside: The positions under UNTIL, each with the position of its set.
        conditions: All other conditions, without NOT.
        window: The window of the pattern; an exclusive one is inclusive here, one unit shorter.
        partition_by: The partition attributes of the pattern, sorted.
        together: The positions under each NOT of several events.
    """

    events: tuple[CanonicalEvent, ...]
    absent: frozenset[int]
    repeated: tuple[tuple[int, int, int | None], ...]
    order: frozenset[tuple[int, int]]
    beside: frozenset[tuple[int, str, int]]
    conditions: tuple[c.Expression, ...]
    window: Window | None
    strategy: Strategy
    partition_by: tuple[str, ...]
    together: frozenset[frozenset[int]] = frozenset()


def canonical_event(branch: Branch, variable: str) -> CanonicalEvent:
    """Return the event of a variable of a branch."""
    about = (each for each in branch.conditions if c.variables_of(each) == {variable})
    alone = filter(c.is_filter, about)
    return CanonicalEvent.of(branch.event(variable), alone)


def canonical(
    branch: Branch, variables: Collection[str] | None = None
) -> tuple[SubPattern, tuple[str, ...]]:
    """Return a sub-pattern of a branch, and the variables at its positions.

    Args:
        variables: Some of its variables, with those under NOT that belong to the sub-pattern
            (`plan.negation` knows on which variables a NOT depends); None for all.
    """
    events = [
        e for e in branch.positive + branch.negated if variables is None or e.variable in variables
    ]
    names = tuple(event.variable for event in events)
    part = _Part(
        branch,
        {name: canonical_event(branch, name) for name in names},
        [
            condition
            for condition in branch.conditions
            if c.variables_of(condition) <= {*names} and not c.is_filter(condition)
        ],
    )
    # Under skip-till-next-match the order of the text decides which match is preferred.
    by_text = branch.strategy is Strategy.SKIP_TILL_NEXT_MATCH
    arrangements = [names] if by_text else part.arrangements()
    forms = [(part.form(arrangement), arrangement) for arrangement in arrangements]
    return forms[0] if len(forms) == 1 else min(forms, key=lambda form: _key(form[0]))


@dataclass(frozen=True, slots=True)
class _Part:
    """Some variables of a branch, and the conditions about several of them."""

    branch: Branch
    events: Mapping[str, CanonicalEvent]
    conditions: Sequence[c.Expression]

    def form(self, names: tuple[str, ...]) -> SubPattern:
        """Return the sub-pattern with its variables in the order of `names`."""
        branch, at = self.branch, {name: place for place, name in enumerate(names)}
        return SubPattern(
            tuple(self.events[name] for name in names),
            frozenset(at[e.variable] for e in branch.negated if e.variable in at),
            tuple(sorted((at[v], low, high) for v, low, high in branch.repeated if v in at)),
            frozenset((at[x], at[y]) for x, y in branch.order if x in at and y in at),
            frozenset(
                (at[e.variable], e.beside.place, at[e.beside.variable])
                for e in branch.negated
                if e.beside is not None and e.variable in at and e.beside.variable in at
            ),
            canonical_conditions(
                self.conditions, {name: f"_{place}" for name, place in at.items()}
            ),
            _inclusive(branch.window),
            branch.strategy,
            tuple(sorted({*branch.partition_by})),
            frozenset(
                frozenset(at[e.variable] for e in events)
                for events in branch.absences
                if len(events) > 1 and all(e.variable in at for e in events)
            ),
        )

    def arrangements(self) -> Iterator[tuple[str, ...]]:
        """Return the candidate orders of the variables; the least form among them is canonical."""
        colours = self._colours()
        groups = [
            [name for name in self.events if colours[name] == colour]
            for colour in sorted({*colours.values()})
        ]
        return arranged(groups)

    def _colours(self) -> dict[str, int]:
        """Return a number for each variable; variables that the branch distinguishes differ."""
        bounds = {v: repr(rest) for v, *rest in self.branch.repeated}
        absent = {event.variable for event in self.branch.negated}
        colours = _ranks(
            {v: (str(e), bounds.get(v, ""), v in absent) for v, e in self.events.items()}
        )
        while len({*colours.values()}) < len(colours):
            finer = _ranks({v: (colours[v], *self._seen_from(v, colours)) for v in self.events})
            if len({*finer.values()}) == len({*colours.values()}):
                break
            colours = finer
        return colours

    def _seen_from(self, variable: str, colours: Mapping[str, int]) -> tuple[object, ...]:
        order = self.branch.order
        others = sorted(
            (((variable, v) in order) - ((v, variable) in order), colour)
            for v, colour in colours.items()
        )
        names = {v: f"_{colour}" for v, colour in colours.items()} | {variable: PLACEHOLDER}
        about = [each for each in self.conditions if variable in c.variables_of(each)]
        return others, sorted(map(expression_text, canonical_conditions(about, names)))


def arranged(groups: Sequence[Sequence[Name]]) -> Iterator[tuple[Name, ...]]:
    """Yield the orders of groups, each in any order; if these are too many, the given one alone."""
    many = math.prod(math.factorial(len(group)) for group in groups) > MOST_ARRANGEMENTS
    orders = ((group,) for group in groups) if many else map(permutations, groups)
    return (tuple(chain.from_iterable(each)) for each in product(*orders))


def _ranks(keys: Mapping[str, tuple[object, ...]]) -> dict[str, int]:
    ranks = {key: rank for rank, key in enumerate(sorted({*map(repr, keys.values())}))}
    return {name: ranks[repr(key)] for name, key in keys.items()}


def _key(form: SubPattern) -> tuple[object, ...]:
    return sorted(form.order), tuple(map(expression_text, form.conditions))


def canonical_conditions(
    conditions: Iterable[c.Expression], names: Mapping[str, str]
) -> tuple[c.Expression, ...]:
    """Return the conjuncts of conditions over new names, each once and in one order."""

    def renamed(node: c.Attribute | c.Aggregate) -> c.Expression:
        return node if node.variable is None else about(node, names[node.variable])

    parts: set[c.Expression] = set()
    for condition in conditions:
        whole = without_not(condition)
        split = c.conjuncts(whole)
        # A part about fewer variables would change meaning: under NOT, and as a filter.
        alike = all(c.variables_of(part) == c.variables_of(whole) for part in split)
        parts.update(_in_one_form(replaced(p, renamed)) for p in (split if alike else (whole,)))
    return _sorted(parts)


def _in_one_form(condition: c.Expression) -> c.Expression:
    """Return a condition without NOT, its items and its sides in one order."""
    match condition:
        case c.AllOf(items) | c.AnyOf(items):
            kind = type(condition)
            forms = map(_in_one_form, items)
            parts = {part for f in forms for part in (f.items if isinstance(f, kind) else (f,))}
            return kind(_sorted(parts)) if len(parts) > 1 else parts.pop()
        case c.Comparison(operator, left, right) if _place(left) > _place(right):
            return c.Comparison(MIRRORED[operator], right, left)
        case c.InList(operand, choices, negated):
            return c.InList(operand, _sorted({*choices}), negated)
        case _:
            return condition


def _place(side: c.Expression) -> tuple[bool, str]:
    # Constants sort last, so that they stand on the right, as people write.
    return not c.variables_of(side), expression_text(side)


def _sorted(expressions: Iterable[c.Expression]) -> tuple[c.Expression, ...]:
    items = tuple(expressions)
    return items if len(items) < 2 else tuple(sorted(items, key=expression_text))


def _inclusive(window: Window | None) -> Window | None:
    match window:
        case TimeWindow():
            return TimeWindow(window.most)
        case CountWindow():
            return CountWindow(window.most + 1)
        case None:
            return None
        case _:
            assert_never(window)
