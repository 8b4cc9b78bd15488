"""Compiles Kleene variables: single events at the ends, free choice in between.

A set matters to the rest of a match in few ways. Where it is enough that each member fits the
single events, all candidates together stand for all sets, and nothing is enumerated. Where the
rest depends on where the set begins or ends - an absence beside it, another set, a window with
nothing else before or after - its first or its last member is bound as a single event of its
own, and the choice between them is free again. So is the first member of a set that the plan has
before a single event: where such members are few, little is left to look at. What is left are
conditions on whole sets (`avg(b.price) > a.price`) and between the members of two sets: these need
the sets themselves.

So a branch becomes a branch of single events, which the engine joins as any other, and for each
Kleene variable a step that lists candidates. Source: the semantics of all non-empty subsets is
that of *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 5.2; the factorised form is ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal as Words

from cepkit.pattern import conditions as c
from cepkit.pattern.nodes import Event
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.numbers import set_of_neighbours
from cepkit.pattern.requirements import MOST_MEMBERS, Demands
from cepkit.pattern.rewrite import MIRRORED, replaced
from cepkit.plan.nodes import first_member


@dataclass(frozen=True, slots=True)
class Repeated:
    """A Kleene variable: the size of its sets, and which of their ends are bound as single events.

    Attributes:
        event: The variable and its types.
        minimum: The fewest members.
        maximum: The most; None: any number.
        first: The variable that stands for the first member in stream order, if one is needed.
        last: The same for the last member.
        run: "first": it takes all events that fit between its ends; "next": its members are
            neighbours; empty: any set.
    """

    event: Event
    minimum: int
    maximum: int | None
    first: str | None = None
    last: str | None = None
    run: Words["", "first", "next"] = ""

    @property
    def variable(self) -> str:
        """The Kleene variable."""
        return self.event.variable

    @property
    def ends(self) -> tuple[str, ...]:
        """The variables of its ends."""
        return tuple(end for end in (self.first, self.last) if end is not None)

    def end(self, which: Words["first", "last"]) -> str:
        """Return the variable of an end that is bound."""
        variable = self.first if which == "first" else self.last
        assert variable is not None
        return variable

    @property
    def images(self) -> tuple[str, ...]:
        """All variables that a condition on its members is about."""
        return (self.variable, *self.ends)


@dataclass(frozen=True, slots=True)
class Parts:
    """The conditions of a branch, grouped by what they need.

    Attributes:
        single: About single events, ends of sets among them.
        members: About one member of one set and single events.
        sets: About whole sets, or members of several.
    """

    single: tuple[c.Expression, ...]
    members: tuple[c.Expression, ...]
    sets: tuple[c.Expression, ...]


def repeated_of(
    branch: Branch,
    demands: Demands,
    same: Sequence[Branch],
    parts: Sequence[c.Expression],
    begun: frozenset[str],
) -> tuple[Repeated, ...]:
    """Return the Kleene variables of a branch with the ends that must be bound.

    Args:
        same: Earlier branches over the same positive variables: their absences count as well.
        parts: The conditions on the positive variables, as `rewrite.without_not` gives them.
        begun: The sets whose first member the plan binds in their place.
    """
    names = {e.variable for one in (branch, *same) for e in one.positive + one.negated}
    ends = _Ends(branch, demands, same, parts)
    following = set_of_neighbours(branch.conditions)
    ends.first |= branch.runs | following | begun
    ends.last |= branch.runs | following
    repeated = []
    for variable, minimum, maximum in branch.repeated:
        low, high = _bounds(variable, parts, minimum, maximum)
        repeated.append(
            Repeated(
                branch.event(variable),
                low,
                high,
                _new_name(first_member(variable), names) if variable in ends.first else None,
                _new_name(f"last({variable})", names) if variable in ends.last else None,
                "first" if variable in branch.runs else "next" if variable in following else "",
            )
        )
    return tuple(repeated)


def _new_name(name: str, names: set[str]) -> str:
    while name in names:
        name += "'"
    return name


class _Ends:
    """The sets whose first member must be bound, and those whose last member must be."""

    def __init__(
        self,
        branch: Branch,
        demands: Demands,
        same: Sequence[Branch],
        parts: Sequence[c.Expression],
    ) -> None:
        self.first: set[str] = set()
        self.last: set[str] = set()
        repeated = [variable for variable, _, _ in branch.repeated]
        single = frozenset(branch.variables) - set(repeated)
        for part in parts:
            for node in c.walk(part):
                if isinstance(node, c.Aggregate) and node.variable is not None:
                    if node.function == "first":
                        self.first.add(node.variable)
                    if node.function == "last":
                        self.last.add(node.variable)
        for one in (branch, *same):
            for event in one.negated:
                self._beside(one, event)
            absent_between = (e.variable for e in one.negated if not _is_until(e))
            others = [*repeated, *absent_between]
            for x in repeated:
                for y in others:
                    if (x, y) in one.order and not one.after(x) & one.before(y) & single:
                        self.last.add(x)
                    if (y, x) in one.order and not one.after(y) & one.before(x) & single:
                        self.first.add(x)
        # The sets that can have the first or the last event of a match.
        early = [x for x in repeated if not branch.before(x) & single]
        late = [x for x in repeated if not branch.after(x) & single]
        contiguous, in_turn = demands.gapless is not None, demands.in_turn
        absent = [
            (one, e.variable) for one in (branch, *same) for e in one.negated if not _is_until(e)
        ]
        windowed = bool(demands.around)
        if in_turn:
            # The last event of a match decides when it is taken, and where its window begins.
            everything = set(branch.variables)
            self.last.update(x for x in repeated if not branch.after(x) & everything)
        if contiguous or (windowed and late and not in_turn):
            self.first.update(early)
        if contiguous or (windowed and early and not in_turn):
            self.last.update(late)
        if any(not one.before(n) & set(branch.variables) for one, n in absent):
            self.last.update(late)
        if any(not one.after(n) & set(branch.variables) for one, n in absent):
            self.first.update(early)
        if repeated and not single and not in_turn:
            self.first.add(repeated[0])  # something must be bound to begin with

    def _beside(self, branch: Branch, event: Event) -> None:
        """Bind the members of sets that limit where an absent event beside one may lie."""
        beside = event.beside
        if beside is None:
            return
        for limit in (beside.begin, beside.end):
            if limit is not None:
                (self.first if limit.end == "first" else self.last).add(beside.variable)
        # Of sets before it, the last member of each.
        sets = {variable for variable, _, _ in branch.repeated}
        self.last |= branch.before(event.variable) & sets


def _is_until(event: Event) -> bool:
    return event.beside is not None and event.beside.place == "until"


def _bounds(
    variable: str, parts: Iterable[c.Expression], minimum: int, maximum: int | None
) -> tuple[int, int | None]:
    """Return the bounds on the size of a set, narrowed by the conditions on count(variable)."""
    most = math.inf if maximum is None else maximum
    for part in parts:
        bounds = _count_bound(variable, part)
        if bounds is not None:
            minimum, most = max(minimum, bounds[0]), min(most, bounds[1])
    return min(minimum, MOST_MEMBERS), None if most >= MOST_MEMBERS else int(most)


def _count_bound(variable: str, part: c.Expression) -> tuple[int, float] | None:
    """Return the least and greatest size that a comparison of count(variable) allows."""
    match part:
        case c.Comparison(
            operator, c.Aggregate("count", name, None), c.Literal(int() | float() as n)
        ):
            pass
        case c.Comparison(
            mirrored, c.Literal(int() | float() as n), c.Aggregate("count", name, None)
        ):
            operator = MIRRORED[mirrored]
        case _:
            return None
    if name != variable or isinstance(n, bool) or not math.isfinite(n):
        return None
    match operator:
        case ">=":
            return max(1, math.ceil(n)), math.inf
        case ">":
            return max(1, math.floor(n) + 1), math.inf
        case "<=":
            return 1, max(0, math.floor(n))
        case "<":
            return 1, max(0, math.ceil(n) - 1)
        case "=":
            return (int(n), int(n)) if n == int(n) and n >= 1 else (1, 0)
        case _:
            return None


def deal(parts: Iterable[c.Expression], repeated: Sequence[Repeated]) -> Parts:
    """Return the conditions, grouped by what they need.

    Args:
        parts: The conditions on the positive variables, as `rewrite.without_not` gives them.
    """
    single: list[c.Expression] = []
    members: list[c.Expression] = []
    sets: list[c.Expression] = []
    others = (p for p in parts if all(_count_bound(r.variable, p) is None for r in repeated))
    for part in (with_ends(p, repeated) for p in others):
        each = [r for r in repeated if r.variable in _read_of_members(part)]
        set_variables = {node.variable for node in c.walk(part) if isinstance(node, c.Aggregate)}
        if set_variables or len(each) > 1:
            sets.append(part)
            # If the ends fail the condition, so does every set between them.
            if not set_variables:
                single += _on_ends(part, each)
            of_members = _of_members(part, repeated)
            # An event that fails is left out of the list; but a run must not leave it out.
            if of_members is not None and not any(r.run for r in of_members[1]):
                members.append(of_members[0])
                single += _on_ends(*of_members)
        elif each:
            members.append(part)
            single += _on_ends(part, each)
        else:
            single.append(part)
    return Parts(tuple(single), tuple(members), tuple(sets))


def with_ends(part: c.Expression, repeated: Sequence[Repeated]) -> c.Expression:
    """Return `part` with first(b.x) and last(b.x) as attributes of the ends of the set."""
    by_name = {r.variable: r for r in repeated}

    def new(node: c.Attribute | c.Aggregate) -> c.Expression:
        match node:
            case c.Aggregate("first", str(variable), str(name), span) if variable in by_name:
                end = by_name[variable].first
            case c.Aggregate("last", str(variable), str(name), span) if variable in by_name:
                end = by_name[variable].last
            case _:
                return node
        assert end is not None
        return c.Attribute(end, name, span)

    return replaced(part, new)


def _read_of_members(part: c.Expression) -> set[str]:
    return {node.variable for node in c.walk(part) if isinstance(node, c.Attribute)}


def _members_in(part: c.Expression, repeated: Sequence[Repeated]) -> bool:
    return bool({r.variable for r in repeated} & c.variables_of(part))


def _on_ends(part: c.Expression, each: Sequence[Repeated]) -> list[c.Expression]:
    """Return the conditions on the ends of sets that follow from one on their members."""
    parts = [part]
    for r in each:
        parts = [_of(r.variable, end, p) for p in parts for end in r.ends]
    return parts


def _of(variable: str, other: str, part: c.Expression) -> c.Expression:
    """Return a condition about another variable in place of `variable`."""

    def new(node: c.Attribute | c.Aggregate) -> c.Expression:
        return replace(node, variable=other) if node.variable == variable else node

    return replaced(part, new)


def _of_members(
    part: c.Expression, repeated: Sequence[Repeated]
) -> tuple[c.Expression, list[Repeated]] | None:
    """Return the condition on each member that a bound on min(b.x) or max(b.x) implies, if any.

    The bound must be about single events. min and max leave out a member whose attribute is
    missing, so it may stay.
    """
    if not isinstance(part, c.Comparison):
        return None
    least: c.ComparisonOperator
    for whole, other, operator in (
        (part.left, part.right, part.operator),
        (part.right, part.left, MIRRORED[part.operator]),
    ):
        match whole:
            case c.Aggregate("max", str(variable), str(name)) if operator in ("<", "<=", "="):
                least = operator if operator != "=" else "<="
            case c.Aggregate("min", str(variable), str(name)) if operator in (">", ">=", "="):
                least = operator if operator != "=" else ">="
            case _:
                continue
        if _members_in(other, repeated):
            continue
        own = c.Attribute(variable, name)
        implied = c.AnyOf((c.IsNull(own), c.Comparison(least, own, other, part.span)), part.span)
        return implied, [r for r in repeated if r.variable == variable]
    return None


@dataclass(frozen=True, slots=True)
class Cap:
    """`function <= limit`: a sum or a count over a set, which further members can only raise.

    A sum is a cap only where no value is negative.
    """

    function: c.Aggregate
    limit: c.Expression


def cap_of(part: c.Expression, variable: str, repeated: Sequence[Repeated]) -> Cap | None:
    """Return the limit that `part` puts on the growth of a set; None if there is none."""
    if not isinstance(part, c.Comparison):
        return None
    for whole, limit, operator in (
        (part.left, part.right, part.operator),
        (part.right, part.left, MIRRORED[part.operator]),
    ):
        if operator not in ("<", "<=", "=") or _members_in(limit, repeated):
            continue
        match whole:
            case c.Aggregate("sum" | "count", name, str()) if name == variable:
                return Cap(whole, limit)
    return None


def core_of(branch: Branch, repeated: Sequence[Repeated], parts: Sequence[c.Expression]) -> Branch:
    """Return the branch of single events: Kleene variables are replaced by their ends.

    The order keeps the Kleene variables beside their ends, for the steps that list members.

    Args:
        branch: A branch of which `repeated` are the Kleene variables.
        parts: The conditions that the new branch has.
    """
    images = {r.variable: r.images for r in repeated}
    types = {r.variable: r.event.types for r in repeated}
    single = [event for event in branch.positive if event.variable not in images]
    ends = [Event(end, types[r.variable]) for r in repeated for end in r.ends]
    order = frozenset(
        (x, y)
        for before, after in branch.order
        for x in images.get(before, (before,))
        for y in images.get(after, (after,))
    )
    return replace(
        branch, positive=(*single, *ends), repeated=(), order=order, conditions=tuple(parts)
    )
