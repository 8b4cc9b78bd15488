"""The conditions of a branch on its events, pairs and larger sets, without variable names.

Two sets of variables of two branches are the same sub-pattern if a mapping preserves the events
(types, filters, bounds of KL), the order and the conditions of each pair, and the conditions on
three events or more. Equalities are closed transitively: `a.k = b.k AND b.k = c.k` implies `a.k =
c.k` for the pair a, c. A NOT belongs to the variables that it depends on; if the window ends it on
one side, the window belongs to it. O(n^2 c) for n variables and c conditions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, permutations
from typing import TypeAlias, assert_never

from cepkit.pattern import requirements as req
from cepkit.pattern.canonical import (
    PLACEHOLDER,
    CanonicalEvent,
    canonical,
    canonical_conditions,
    canonical_event,
)
from cepkit.pattern.conditions import (
    Attribute,
    Comparison,
    Expression,
    conjuncts,
    is_filter,
    variables_of,
)
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import CountWindow, TimeWindow
from cepkit.pattern.printer import expression_text
from cepkit.pattern.rewrite import without_not
from cepkit.plan.negation import depends_on

EventKey: TypeAlias = tuple[tuple[str, ...], ...]
PairKey: TypeAlias = tuple[int, tuple[str, ...]]
Family: TypeAlias = tuple[str, tuple[str, ...], str]
"""The clock of the window, the PARTITION BY attributes, and a unique number if it cannot share."""


@dataclass(frozen=True, slots=True)
class Item:
    """A condition or a NOT, with the positive variables that must be bound before its check."""

    variables: frozenset[str]
    condition: Expression | None
    absent: str | None = None

    def text(self, branch: Branch, places: Mapping[str, int]) -> tuple[str, ...]:
        """Return its text with `_0`, `_1`, ... in place of the variables."""
        names = {variable: f"_{places[variable]}" for variable in self.variables}
        if self.condition is not None:
            return tuple(map(expression_text, canonical_conditions([self.condition], names)))
        assert self.absent is not None
        return _absence(branch, self.absent, self.variables, names)


def _absence(
    branch: Branch, variable: str, needed: frozenset[str], names: Mapping[str, str]
) -> tuple[str, ...]:
    event, beside = canonical_event(branch, variable), branch.event(variable).beside
    before, after = branch.before(variable) & needed, branch.after(variable) & needed
    about = (
        c for c in branch.conditions if variable in variables_of(c) and len(variables_of(c)) > 1
    )
    return (
        "NOT",
        *_event_texts(event)[0],
        "where",
        *_event_texts(event)[1],
        "after",
        *sorted(names[x] for x in before),
        "before",
        *sorted(names[x] for x in after),
        "and",
        *map(expression_text, canonical_conditions(about, {**names, variable: PLACEHOLDER})),
        "within",
        str(_inclusive(branch)) if ends_with_window(branch, variable) else "",
        *([beside.place, names[beside.variable]] if beside is not None else []),
    )


def ends_with_window(branch: Branch, variable: str) -> bool:
    """Return whether the window, or the stream, ends the place of an absent event."""
    positive = {*branch.variables}
    both = branch.before(variable) & positive and branch.after(variable) & positive
    return isinstance(branch.window, CountWindow) or not both


def _event_texts(event: CanonicalEvent) -> tuple[tuple[str, ...], tuple[str, ...]]:
    types = () if event.types is None else tuple(sorted(event.types))
    return types, tuple(map(expression_text, event.filters))


def _inclusive(branch: Branch) -> int:
    window = branch.window
    return 0 if window is None else window.most + isinstance(window, CountWindow)


@dataclass(frozen=True)
class Description:
    """A branch without names; variables are numbers of places in `variables`.

    Attributes:
        branch: The branch, its positive events in the order of `variables`.
        variables: The positive variables in an order independent of names and of the text.
        events: The requirements on each event.
        pairs: For two places the conditions on both; the first is `_0`.
        wider: Conditions on three variables or more, or that depend on as many.
        text_order: The variables in the order of the text.
    """

    branch: Branch
    variables: tuple[str, ...]
    events: tuple[EventKey, ...]
    pairs: Mapping[tuple[int, int], PairKey]
    wider: tuple[tuple[int, Item], ...]
    text_order: tuple[str, ...]

    @cached_property
    def window(self) -> int:
        """The window in units of its clock, never exclusive; 0 for none."""
        return _inclusive(self.branch)

    @cached_property
    def conditions(self) -> tuple[Expression, ...]:
        """The conditions on positive events, including implied equalities."""
        negated = {event.variable for event in self.branch.negated}
        closed = (*self.branch.conditions, *_implied(self.branch))
        return tuple(c for c in closed if not variables_of(c) & negated)

    @cached_property
    def shares(self) -> bool:
        """Whether other branches can share its partial matches."""
        for requirement in req.requirements_of(self.branch):
            match requirement:
                case req.SideBySide() | req.Unconsumed():
                    return False
                case req.Absent(others=others):
                    if others:
                        return False
                case req.SamePartition() | req.Within():
                    continue  # of the family
                case req.OfType() | req.Before() | req.Distinct() | req.Holds() | req.Size():
                    continue  # the items
                case _:
                    assert_never(requirement)
        return True

    @cached_property
    def family(self) -> Family:
        """The properties that two branches must have in common to share anything."""
        clock = {TimeWindow: "time", CountWindow: "events", type(None): ""}[
            type(self.branch.window)
        ]
        return clock, tuple(sorted({*self.branch.partition_by})), self.branch.strategy.value


def described(branch: Branch) -> Description:
    """Return the description of a branch."""
    closed = replace(branch, conditions=(*branch.conditions, *_implied(branch)))
    items = list(_items(closed))
    about: dict[frozenset[str], list[Item]] = {}
    for item in items:
        about.setdefault(item.variables, []).append(item)
    events = {v: _event_key(closed, v, about.get(frozenset((v,)), ())) for v in branch.variables}
    alike = len({*events.values()}) < len(events)
    in_form = canonical(closed, branch.variables)[1] if alike else branch.variables
    variables = tuple(sorted(in_form, key=events.__getitem__))
    at = {variable: place for place, variable in enumerate(variables)}
    return Description(
        replace(branch, positive=tuple(map(branch.event, variables))),
        variables,
        tuple(events[v] for v in variables),
        {
            (at[x], at[y]): _pair_key(closed, x, y, about.get(frozenset((x, y)), ()))
            for x, y in permutations(variables, 2)
        },
        tuple(
            (sum(1 << at[v] for v in item.variables), item)
            for item in items
            if len(item.variables) > 2
        ),
        branch.variables,
    )


def _items(branch: Branch) -> Iterator[Item]:
    negated = {event.variable for event in branch.negated}
    for condition in branch.conditions:
        if not is_filter(condition) and not variables_of(condition) & negated:
            yield Item(variables_of(condition), condition)
    # Where several events are absent together nothing is shared: nobody asks what that says.
    for variable in sorted(negated.difference(*branch.together)):
        # Without a window a NOT in AND may depend on nothing: then it is about the whole match.
        needed = depends_on(branch, variable) or frozenset(branch.variables)
        yield Item(needed, None, variable)


def _event_key(branch: Branch, variable: str, about: Sequence[Item]) -> EventKey:
    bounds = next((rest for v, *rest in branch.repeated if v == variable), [])
    alone = sorted(item.text(branch, {variable: 0}) for item in about)
    bound_texts = (*map(str, bounds), *(["run"] if variable in branch.runs else []))
    return (*_event_texts(canonical_event(branch, variable)), bound_texts, *alone)


def _pair_key(branch: Branch, x: str, y: str, about: Sequence[Item]) -> PairKey:
    relation = ((x, y) in branch.order) - ((y, x) in branch.order)
    if not about:
        return relation, ()
    texts = {item.text(branch, {x: 0, y: 1}) for item in about}
    return relation, tuple(sorted({part for text in texts for part in _parts(text)}))


def _parts(text: tuple[str, ...]) -> tuple[str, ...]:
    return ("\n".join(text),) if text[:1] == ("NOT",) else text


def _implied(branch: Branch) -> Iterator[Expression]:
    """Yield the equalities of positive variables that follow from others."""
    positive = {*branch.variables}
    classes: list[frozenset[tuple[str, str]]] = []
    for condition in branch.conditions:
        if variables_of(condition) <= positive and len(variables_of(condition)) == 2:
            for part in conjuncts(without_not(condition)):
                match part:
                    case Comparison("=", Attribute(str(x), of_x), Attribute(str(y), of_y)) if (
                        x != y
                    ):
                        linked = frozenset(((x, of_x), (y, of_y)))
                        touched = [c for c in classes if c & linked]
                        classes = [c for c in classes if not c & linked]
                        classes.append(linked.union(*touched))
                    case _:
                        pass
    for members in classes:
        if len(members) > 2:
            for (x, of_x), (y, of_y) in combinations(sorted(members), 2):
                if x != y:
                    yield Comparison("=", Attribute(x, of_x), Attribute(y, of_y))
