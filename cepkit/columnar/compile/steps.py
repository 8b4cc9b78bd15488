"""The steps of a plan: assigns each condition of a branch to one of them.

Each condition goes to the first step at which all its variables are bound. There it becomes, from
cheap to expensive,

- a class, looked up by key: an equality of two attributes. Classes are closed:
  `a.k = b.k` and `b.k = c.k` link a with c too, in any order;
- a band, if one side depends only on the new variable and the other on bound ones:
  `least <= column <= most` in the inner loop;
- a residual predicate: anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from datetime import timedelta
from itertools import combinations

from cepkit.columnar.compile.kleene import Parts, Repeated, cap_of, core_of, deal
from cepkit.columnar.compile.program import (
    RUN,
    AnyStep,
    Band,
    Bound,
    GroupStep,
    Member,
    SetStep,
    Step,
)
from cepkit.pattern.conditions import (
    Arithmetic,
    Attribute,
    Call,
    Comparison,
    Expression,
    Literal,
    conjuncts,
    set_of_prev,
    variables_of,
)
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import in_microseconds
from cepkit.pattern.requirements import Demands, Windows
from cepkit.pattern.rewrite import MIRRORED, without_not
from cepkit.plan.nodes import BranchPlan, Unit, work_of


class Steps:
    """The steps of a plan for a branch.

    Args:
        same: Earlier branches over the same variables.
        repeated: The Kleene variables.
        begun: Those whose first member is bound in the place of the set.

    Attributes:
        core: The branch of single events: sets are replaced by their ends.
        units: What the plan binds at a time, in order, with the ends of sets.
        order: Their variables.
        events: The event of each variable, also of absent ones.
        classes: The equality classes; absences add their own.
        linked: The number of those that link events of the match.
        parts: The conditions that are no equalities.
        on_sets: The conditions on whole sets.
    """

    def __init__(
        self,
        branch: Branch,
        demands: Demands,
        plan: BranchPlan,
        same: Sequence[Branch],
        repeated: Sequence[Repeated],
        begun: frozenset[str] = frozenset(),
    ) -> None:
        self.demands = demands
        self.repeated = {r.variable: r for r in repeated}
        conditions = parts_of(demands.conditions)
        self.core, parts = branch, Parts(tuple(conditions), (), ())
        if repeated:
            parts = deal(conditions, repeated)
            self.core = core_of(branch, repeated, parts.single)
        # The other ends of sets come after all single events.
        order = [v for v in plan.variables if v in self.repeated]
        firsts = {v: self.repeated[v].end("first") for v in begun}
        ends = [end for v in order for end in self.repeated[v].ends if end != firsts.get(v)]
        units = work_of(plan, self.repeated, firsts)
        self.units = (*units, *(Unit((end,), (), end) for end in ends))
        self.order = tuple(v for unit in self.units for v in unit.variables)
        self.events = {e.variable: e for e in self.core.positive}
        self.events |= {r.variable: r.event for r in repeated}
        self.events |= {e.variable: e for one in (branch, *same) for e in one.negated}
        self.classes, self.parts, self.on_sets = self._classes_and_rest(parts)
        self.linked = len(self.classes)

    def _classes_and_rest(
        self, parts: Parts
    ) -> tuple[list[frozenset[Member]], list[Expression], tuple[Expression, ...]]:
        """Return the equality classes, the other conditions, and those on sets."""
        links = [part for part in (*parts.single, *parts.members, *parts.sets) if is_link(part)]
        positive = [v for v in self.events if not self._is_negated(v)]
        known: list[frozenset[Member]] = []
        if self.demands.partitioned:
            known.append(frozenset((v, None) for v in self.events))
        if self.repeated and self.demands.gapless and not self.demands.bounded:
            known.append(frozenset((v, RUN) for v in positive))
        following = (r for r in self.repeated.values() if r.run == "next")
        known += (frozenset((v, RUN) for v in r.images) for r in following)
        classes = classes_of(links, known)
        rest = [part for part in (*parts.single, *parts.members) if part not in links]
        # An equality of members of two sets is implied if both equal a single event.
        on_sets = tuple(
            part
            for part in parts.sets
            if part not in links
            or not any(ends_of(part) <= c and names_of(c) & set(self.order) for c in classes)
        )
        return classes, rest, on_sets

    def _is_negated(self, variable: str) -> bool:
        return variable not in self.repeated and variable not in self.order

    def steps(self, units: Sequence[Unit]) -> tuple[AnyStep, ...]:
        """Return the steps of a tree, each with the steps of the subtree that it joins."""
        steps: list[AnyStep] = []
        bound: tuple[str, ...] = ()
        for unit in units:
            if unit.inner:
                steps.append(self._group(unit, bound))
            else:
                steps.append(self.step(unit.variables[0], bound))
            bound += unit.variables
        return tuple(steps)

    def _group(self, unit: Unit, bound: Sequence[str]) -> GroupStep:
        new = set(unit.variables)
        due = [
            part
            for part in self.parts
            if variables_of(part) <= new | {*bound}
            and variables_of(part) & new
            and variables_of(part) & {*bound}
        ]
        bands = [band_of(part, new) for part in due]
        scopes = tuple(self.step_in(self.core, v, bound, (), ()) for v in unit.variables)
        return GroupStep(
            unit.name,
            unit.variables,
            self.steps(unit.inner),
            (),
            scopes,
            tuple(
                number
                for number, members in enumerate(self.classes[: self.linked])
                if names_of(members) & new and names_of(members) & set(bound)
            ),
            tuple(band for band in bands if band is not None),
            tuple(part for part, band in zip(due, bands, strict=True) if band is None),
            tuple(pair for scope in scopes for pair in scope.distinct),
        )

    def step(self, variable: str, bound: Sequence[str]) -> Step:
        """Return the step that binds `variable` after those in `bound`."""
        due = [
            part
            for part in self.parts
            if variable in variables_of(part) and variables_of(part) <= {*bound, variable}
        ]
        classes = [
            number
            for number, members in enumerate(self.classes[: self.linked])
            if variable in names_of(members) and names_of(members) & set(bound)
        ]
        step = self.step_in(self.core, variable, bound, due, classes)
        for r in self.repeated.values():
            if variable == r.last and r.first is not None and r.first in bound:
                # The first and the last member of a set may be the same event.
                lower = (*step.lower, Bound(r.first, 0))
                step = replace(step, lower=lower, follows=((r.first, 0),))
        return step

    def listing(self, repeated: Repeated) -> SetStep:
        """Return the step that lists the members of a set between its ends."""
        choices = [repeated.ends, tuple(end for end in repeated.ends if end == repeated.last), ()]
        others = {*self.order} - {*repeated.ends}
        early = not self.core.before(repeated.variable) & others
        if repeated.first is None and early and self.demands.windows:
            choices = [()]  # the beginning of the window depends on the last member
        shared = next(ends for ends in choices if self._is_independent(repeated, ends))
        bound = [variable for variable in self.order if variable not in shared]
        step = self.step(repeated.variable, bound)
        if repeated.first in bound:
            lower = (*step.lower, Bound(repeated.first, 0))
            step = replace(step, lower=lower, follows=((repeated.first, 1),))
        if repeated.last in bound:
            upper = (*step.upper, Bound(repeated.last, 1))
            step = replace(step, upper=upper, precedes=((repeated.last, 1),))
        everyone = tuple(self.repeated.values())
        caps = (cap_of(part, repeated.variable, everyone) for part in self.on_sets)
        return SetStep(repeated, step, shared, tuple(cap for cap in caps if cap is not None))

    def _is_independent(self, repeated: Repeated, ends: tuple[str, ...]) -> bool:
        """Return whether members can be listed independently of these ends of their set."""
        for part in self.parts:
            if repeated.variable in variables_of(part) and variables_of(part) & {*ends}:
                return False
        rest = {*self.order} - {*ends}
        return all(
            names_of(members) & rest
            for members in self.classes[: self.linked]
            if repeated.variable in names_of(members) and names_of(members) & {*ends}
        )

    def overlapping(self) -> tuple[tuple[str, str], ...]:
        """Return the pairs of Kleene variables that could have a member in common."""
        return tuple(
            (x, y) for x, y in combinations(self.repeated, 2) if self.may_coincide(self.core, x, y)
        )

    def step_in(
        self,
        core: Branch,
        variable: str,
        bound: Sequence[str],
        due: Sequence[Expression],
        classes: Iterable[int],
    ) -> Step:
        """Return the step that binds a variable under an order.

        Args:
            core: The single events with their order.
            classes: The numbers of the classes that link it to bound variables.
        """
        absent = self._is_negated(variable)
        windows = self.demands.around if absent else self.demands.windows
        lower, upper = _bounds(core, variable, bound, windows)
        bands = [band_of(part, {variable}) for part in due]
        return Step(
            self.events[variable],
            tuple(part for part in due if variables_of(part) == {variable}),
            tuple(classes),
            lower,
            upper,
            windows,
            tuple(band for band in bands if band is not None),
            tuple(
                part
                for part, band in zip(due, bands, strict=True)
                if band is None and variables_of(part) != {variable}
            ),
            tuple(x for x in bound if self.may_coincide(core, x, variable)),
        )

    def may_coincide(self, core: Branch, x: str, y: str) -> bool:
        """Return whether a variable could have the event of another, which may be absent."""
        beside = self.events[y].beside
        if beside is not None and (
            beside.place == "until" or x in self.repeated[beside.variable].images
        ):
            return False
        if (x, y) in core.order or (y, x) in core.order:
            return False
        if any(x in r.images and y in r.images for r in self.repeated.values()):
            return False
        return self.events[x].overlaps(self.events[y])


def _bounds(
    core: Branch, variable: str, bound: Sequence[str], windows: Windows
) -> tuple[tuple[Bound, ...], tuple[Bound, ...]]:
    """Return the lower and the upper bounds in time of a variable, given the bound variables."""
    latest, soonest = core.neighbours(variable, bound)
    # It is later than the latest of those before it. The other bounds follow from that, and so
    # does the window in time: the latest are inside it already.
    lower = tuple(Bound(x, 1, "order") for x in latest)
    upper = tuple(Bound(x, 0, "order") for x in soonest)
    if not lower and windows:
        last = core.latest(bound)
        lower = tuple(Bound(x, -length, clock) for length, clock in windows for x in last)
    if not upper and windows:
        first = core.earliest(bound)
        upper = tuple(Bound(x, length + 1, clock) for length, clock in windows for x in first)
    return lower, upper


def parts_of(conditions: Iterable[Expression]) -> list[Expression]:
    """Return the conjuncts of conditions, with NOT pushed inwards.

    A condition between members is kept whole: it is about members with others before them, and so
    are all its parts.
    """
    return [
        part
        for c in conditions
        for one in ((without_not(c),) if set_of_prev(c) else conjuncts(without_not(c)))
        for part in _two_sided(one)
    ]


def _two_sided(part: Expression) -> list[Expression]:
    """Return `b.ts - a.ts < 5 seconds` as `b.ts < a.ts + 5 seconds`, which can be a band.

    Times and durations are integers below 2^62, and only constants as small are moved: so nothing
    overflows, and both forms mean the same.
    """
    match part:
        case Comparison(operator, Literal(timedelta()) as constant, gap) if variables_of(gap):
            return _two_sided(Comparison(MIRRORED[operator], gap, constant, part.span))
        case Comparison(
            "<" | "<=" as operator,
            Call("abs", (Arithmetic("-", Attribute(), Attribute()) as gap,)),
            Literal(timedelta() as most) as constant,
        ):
            above = Comparison(MIRRORED[operator], gap, Literal(-most), part.span)
            below = Comparison(operator, gap, constant, part.span)
            return [*_two_sided(above), *_two_sided(below)]
        case Comparison(
            operator,
            Arithmetic("-", Attribute() as own, Attribute() as other),
            Literal(timedelta() as least) as constant,
        ) if abs(in_microseconds(least)) <= 2**62:
            return [Comparison(operator, own, Arithmetic("+", other, constant), part.span)]
        case _:
            return [part]


def is_link(part: Expression) -> bool:
    """Return whether `part` is an equality of attributes of two variables."""
    match part:
        case Comparison("=", Attribute(x), Attribute(y)):
            return x != y
        case _:
            return False


def ends_of(link: Expression) -> frozenset[Member]:
    """Return the two members that an equality links."""
    assert isinstance(link, Comparison)
    assert isinstance(link.left, Attribute)
    assert isinstance(link.right, Attribute)
    return frozenset((side.variable, side.name) for side in (link.left, link.right))


def classes_of(
    links: Iterable[Expression], known: Iterable[frozenset[Member]]
) -> list[frozenset[Member]]:
    """Return the classes of members that the links make equal, then the known classes."""
    classes: list[frozenset[Member]] = []
    for link in links:
        linked = [members for members in classes if members & ends_of(link)]
        classes = [members for members in classes if not members & ends_of(link)]
        classes.append(ends_of(link).union(*linked))
    return [*classes, *known]


def names_of(members: Iterable[Member]) -> set[str]:
    """Return the variables of members."""
    return {variable for variable, _ in members}


def band_of(part: Expression, new: Set[str]) -> Band | None:
    """Return a comparison of a term of the new variables only with a bound term, or None."""
    if not isinstance(part, Comparison) or part.operator == "!=":
        return None
    for own, other, operator in (
        (part.left, part.right, part.operator),
        (part.right, part.left, MIRRORED[part.operator]),
    ):
        about, bound = variables_of(own), variables_of(other)
        if about and about <= new and bound and not bound & new:
            return Band(own, operator, other)
    return None
