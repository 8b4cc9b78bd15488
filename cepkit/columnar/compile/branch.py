"""Compiles a branch and a plan to a program: assigns each condition to a step.

Each condition goes to the first step at which all its variables are bound. There it becomes, from
cheap to expensive,

- a class, looked up by key: an equality of two attributes. Classes are closed:
  `a.k = b.k` and `b.k = c.k` link a with c too, in any order;
- a band, if one side depends only on the new variable and the other on bound ones:
  `least <= column <= most` in the inner loop;
- a residual predicate: anything else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import combinations

from cepkit.columnar.compile.demands import Demands
from cepkit.columnar.compile.kleene import (
    Parts,
    Repeated,
    cap_of,
    core_of,
    deal,
    repeated_of,
    with_ends,
)
from cepkit.columnar.compile.links import (
    band_of,
    classes_of,
    ends_of,
    is_link,
    names_of,
    parts_of,
)
from cepkit.columnar.compile.program import (
    RUN,
    Absence,
    AnyStep,
    Bound,
    Further,
    GroupStep,
    Member,
    Program,
    SetStep,
    Step,
)
from cepkit.columnar.compile.windows import lower_bounds, upper_bounds
from cepkit.pattern.conditions import (
    NUMBER,
    NUMBER_BEFORE,
    TIME,
    Aggregate,
    Comparison,
    Expression,
    Literal,
    attributes_of,
    has_functions_of,
    variables_of,
)
from cepkit.pattern.nodes import Beside
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.rewrite import renamed
from cepkit.plan.nodes import BranchPlan, OrderPlan, TreePlan, Unit, work_of


def _may_follow(branch: Branch) -> bool:
    """Return whether an event under NOT could come after all events of a match, in any plan."""
    bound = set(branch.variables)
    ahead = (e for e in branch.negated if e.beside is None or e.beside.place != "until")
    return any(not branch.after(event.variable) & bound for event in ahead)


def _chain(branch: Branch, demands: Demands) -> tuple[str, ...]:
    """Return the variables in order if each must be the next event after the one before, or ()."""
    strict = demands.gapless == "arrival"
    positive = set(branch.variables)
    before = {v: len(branch.before(v) & positive) for v in branch.variables}
    in_order = sorted(branch.variables, key=before.__getitem__)
    places = [before[v] for v in in_order]
    total = places == list(range(len(places)))
    return tuple(in_order) if strict and total and not branch.repeated else ()


def compile_branch(
    branch: Branch, plan: BranchPlan | Sequence[str], earlier: Sequence[Branch] = ()
) -> Program:
    """Return the program that evaluates `branch` by `plan`.

    Args:
        branch: One branch of a normal form.
        plan: A plan for it, or a permutation of its variables.
        earlier: The branches before it in the normal form.
    """
    same = [other for other in earlier if set(other.variables) == set(branch.variables)]
    demands = Demands.of(branch)
    conditions = [*demands.conditions, *(c for one in (branch, *same) for c in one.conditions)]
    repeated = repeated_of(branch, demands, same, parts_of(conditions))
    if not isinstance(plan, OrderPlan | TreePlan):
        plan = OrderPlan(tuple(plan))
    compiler = _Compiler(branch, demands, plan, same, repeated)
    steps = compiler.steps(compiler.units)
    listings = {r.variable: compiler.listing(r) for r in repeated}
    absences, inner = compiler.placed(compiler.absences(branch), compiler.units)
    steps = _with_absences(steps, inner)
    otherwise = tuple(compiler.absences(other) for other in same)
    single = [v for v in branch.variables if v not in listings]
    if demands.in_turn:
        single += [r.last for r in repeated if r.last is not None]
    single = single or [next(end for r in repeated for end in r.ends)]
    read = frozenset(name for c in conditions for _, name in attributes_of(c))
    # Members of a set with no single event after it can follow the owners.
    followed = any(not branch.after(variable) & set(single) for variable in listings)
    return Program(
        variables=branch.variables,
        steps=steps,
        sets=tuple(listings[v] for v in plan.variables if v in listings),
        on_sets=compiler.on_sets,
        overlapping=compiler.overlapping(),
        side_by_side=demands.gapless if repeated else None,
        chain=_chain(branch, demands),
        absences=absences,
        otherwise=otherwise,
        classes=tuple(compiler.classes),  # includes those of absences, so compute it after them
        linked=compiler.linked,
        owners=tuple(compiler.core.latest(single)),
        looks_ahead=followed or any(map(_may_follow, (branch, *same))),
        followed=followed,
        window=demands.length,
        windows=demands.windows,
        attributes=read - {NUMBER, NUMBER_BEFORE, TIME},
        partition_by=branch.partition_by,
        next_clock=demands.clock_of_next if NUMBER in read else None,
        constants=tuple(part for part in compiler.parts if not variables_of(part)),
    )


class _Compiler:
    """Assigns the conditions of a branch to the steps of a plan."""

    def __init__(
        self,
        branch: Branch,
        demands: Demands,
        plan: BranchPlan,
        same: Sequence[Branch],
        repeated: Sequence[Repeated],
    ) -> None:
        self._demands = demands
        self._repeated = {r.variable: r for r in repeated}
        self._absences: dict[str, Absence] = {}
        # What an absence needs: one variable of each of these bound; None: Kleene sets chosen.
        self._needs: dict[str, list[set[str]] | None] = {}
        parts = deal(parts_of(demands.conditions), repeated)
        self.core = core_of(branch, repeated, parts.single)
        # The ends of sets come after all single events.
        order = [v for v in plan.variables if v in self._repeated]
        ends = (Unit((end,), (), end) for v in order for end in self._repeated[v].ends)
        self.units = (*work_of(plan, self._repeated), *ends)
        self.order = tuple(v for unit in self.units for v in unit.variables)
        self._events = {e.variable: e for e in self.core.positive}
        self._events |= {r.variable: r.event for r in repeated}
        self._events |= {e.variable: e for one in (branch, *same) for e in one.negated}
        self.classes, self.parts, self.on_sets = self._classes_and_rest(parts)
        self.linked = len(self.classes)

    def _classes_and_rest(
        self, parts: Parts
    ) -> tuple[list[frozenset[Member]], list[Expression], tuple[Expression, ...]]:
        """Return the equality classes, the other conditions, and those on sets."""
        links = [part for part in (*parts.single, *parts.members, *parts.sets) if is_link(part)]
        positive = [v for v in self._events if not self._is_negated(v)]
        known: list[frozenset[Member]] = []
        if self._demands.partitioned:
            known.append(frozenset((v, None) for v in self._events))
        if self._repeated and self._demands.gapless and not self._demands.bounded:
            known.append(frozenset((v, RUN) for v in positive))
        following = (r for r in self._repeated.values() if r.run == "next")
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
        return variable not in self._repeated and variable not in self.order

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
        scopes = tuple(self._step(self.core, v, bound, (), ()) for v in unit.variables)
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

    def placed(
        self, absences: Sequence[Absence], units: Sequence[Unit]
    ) -> tuple[tuple[Absence, ...], dict[tuple[str, ...], tuple[Absence, ...]]]:
        """Return the absences to check after the steps, and inside each subtree.

        An absence that depends only on a subtree is checked there.
        """
        inner: dict[tuple[str, ...], tuple[Absence, ...]] = {}
        rest = list(absences)
        for unit in units:
            if unit.inner:
                own = [a for a in rest if self._is_known(a, unit.variables)]
                rest = [a for a in rest if a not in own]
                inner[unit.variables], deeper = self.placed(own, unit.inner)
                inner |= deeper
        after = [self._ending(replace(a, after=self._after(a, units)), units) for a in rest]
        return tuple(sorted(after, key=lambda absence: absence.after)), inner

    def _ending(self, absence: Absence, units: Sequence[Unit]) -> Absence:
        """Return an absence, with a flag if FIRST implies it and it is known before its step."""
        step, variable = absence.step, absence.step.event.earlier_than
        if variable is None or absence.after == len(units) or absence.conditions or absence.apart:
            return absence
        if self._demands.in_turn:
            return absence  # the search of this strategy has its own loops
        if variable in self._repeated:
            variable = self._repeated[variable].first or variable
        before = (Bound(variable, 0, "order"),)
        if units[absence.after].variables != (variable,) or step.upper != before:
            return absence
        known = {v for unit in units[: absence.after] for v in unit.variables}
        others = [*step.residuals, *(band.other for band in step.bands)]
        needed = {bound.variable for bound in step.lower}.union(*map(variables_of, others))
        linked = all(names_of(self.classes[number]) & known for number in step.classes)
        in_time = all(clock == "time" for _, clock in step.windows)
        ends = linked and in_time and not step.distinct_from and needed <= known | {step.variable}
        return replace(absence, ends=ends)

    def _after(self, absence: Absence, units: Sequence[Unit]) -> int:
        """Return the number of the step after which an absence can be checked."""
        bound: tuple[str, ...] = ()
        for number, unit in enumerate(units):
            bound += unit.variables
            if self._is_known(absence, bound):
                return number
        return len(units)

    def _is_known(self, absence: Absence, bound: Sequence[str]) -> bool:
        """Return whether an absence can be checked once these variables are bound."""
        needs = self._needs[absence.step.variable]
        return needs is not None and all({*names} & {*bound} for names in needs)

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
        step = self._step(self.core, variable, bound, due, classes)
        for r in self._repeated.values():
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
        if repeated.first is None and early and self._demands.windows:
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
        everyone = tuple(self._repeated.values())
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
            (x, y)
            for x, y in combinations(self._repeated, 2)
            if self._may_coincide(self.core, x, y)
        )

    def absences(self, branch: Branch) -> tuple[Absence, ...]:
        """Return the negated variables of `branch`, in the order in which they can be checked."""
        core = core_of(branch, tuple(self._repeated.values()), ())
        absences = []
        for events in branch.absences:
            name = events[0].variable
            if name not in self._absences:
                self._absences[name] = self._together(branch, core, [e.variable for e in events])
            absences.append(self._absences[name])
        placed = (replace(a, after=self._after(a, self.units)) for a in absences)
        return tuple(sorted(placed, key=lambda absence: absence.after))

    def _together(self, branch: Branch, core: Branch, names: Sequence[str]) -> Absence:
        """Return the absence of one event, or of several together."""
        later, absences = [*names], list[Absence]()
        while later:
            bound = {*self.order, *(one.step.variable for one in absences)}
            # Events linked to bound ones are sought first: that leaves the fewest choices.
            variable = max(later, key=lambda name: self._known_about(branch, name, bound))
            later.remove(variable)
            absences.append(self._absence(branch, core, variable, absences, later))
        needs = [self._needs.pop(one.step.variable) for one in absences]
        whole: Absence | None = None
        for one in reversed(absences):
            whole = replace(one, then=whole)
        assert whole is not None
        outside = {*self.order}
        self._needs[whole.step.variable] = (
            None
            if any(each is None for each in needs)
            else [known for each in needs if each for part in each if (known := part & outside)]
        )
        return whole

    def _known_about(self, branch: Branch, variable: str, bound: Set[str]) -> tuple[int, int]:
        """Return the number of equalities of an event with bound ones, and of other conditions."""
        parts = parts_of(c for c in branch.conditions if variable in variables_of(c))
        due = [p for p in parts if {variable} < variables_of(p) <= {*bound, variable}]
        links = sum(map(is_link, due))
        return links, len(due) - links

    def _absence(
        self,
        branch: Branch,
        core: Branch,
        variable: str,
        before: Sequence[Absence] = (),
        later: Collection[str] = (),
    ) -> Absence:
        """Return how to look for one event under NOT.

        Args:
            before: The events of the same NOT that are sought before it.
            later: The events of the same NOT that are sought after it.
        """
        # A condition of a NOT belongs to it with all its parts.
        due = [
            with_ends(part, tuple(self._repeated.values()))
            for part in parts_of(c for c in branch.conditions if variable in variables_of(c))
            if not variables_of(part) & {*later}
        ]
        beside_it = (*self.order, *(one.step.variable for one in before))
        numbers = [i for i, members in enumerate(self.classes) if (variable, None) in members]
        earlier = {number for one in before for number in one.step.classes if number >= self.linked}
        # An equality with an event under NOT holds only for that event: it links no other
        # variables, but every variable equal to the bound side can be the partner.
        for link in [p for p in due if is_link(p) and variable in variables_of(p)]:
            ends = ends_of(link)
            own = frozenset(member for member in ends if member[0] == variable)
            others = ends - own
            holding = (*self.classes[: self.linked], *(self.classes[number] for number in earlier))
            known = [members for members in holding if members & others]
            linked = own.union(others, *known)
            if names_of(linked) & {*beside_it}:
                numbers.append(len(self.classes))
                self.classes.append(linked)
                due.remove(link)
        on_sets = tuple(part for part in due if variables_of(part) & self._repeated.keys())
        beside = self._events[variable].beside
        of_members = [part for part in due if has_functions_of(part, variable)]
        due = [part for part in due if part not in of_members]
        further = None if beside is None else self._further(branch, variable, beside, of_members)
        if beside is not None and beside.maximum is not None:
            size, most = Aggregate("count", beside.variable), Literal(beside.maximum)
            on_sets += (Comparison("<", size, most),)
        due = [part for part in due if part not in on_sets]
        step = self._step(core, variable, beside_it, due, numbers)
        for r in self._repeated.values():
            # An event before the first member is also before the last one.
            step = replace(
                step,
                lower=_without(step.lower, r.first, r.last),
                upper=_without(step.upper, r.last, r.first),
            )
        if beside is not None:
            step = _beside(step, beside, self._repeated[beside.variable])
        counted = any(clock != "time" for _, clock in step.windows)
        apart = tuple(v for v in self._repeated if self._may_coincide(core, v, variable))
        if on_sets or apart or further is not None or (counted and self._repeated):
            self._needs[variable] = None
            return Absence(step, 0, on_sets, apart, further=further)
        needed = {bound.variable for bound in (*step.lower, *step.upper)}
        needed.update(step.distinct_from)
        if counted:
            needed.update(beside_it)  # arrival need not follow time
        for condition in (*step.residuals, *(band.other for band in step.bands)):
            needed |= variables_of(condition)
        # One partner in a class is enough; the partition has one in every step.
        partners = [names_of(self.classes[number]) & {*beside_it} for number in step.classes]
        self._needs[variable] = [*({name} for name in needed - {variable}), *partners]
        return Absence(step, 0)

    def _further(
        self, branch: Branch, variable: str, beside: Beside, of_members: Sequence[Expression]
    ) -> Further | None:
        """Return the part of a GREEDY absence that depends on the members of its set."""
        if beside.place not in ("before", "behind"):
            return None
        until = branch.until(beside.variable)
        end = None if until is None else self._absences[until.variable]
        if end is not None:
            step = replace(end.step, lower=(), upper=(), follows=(), precedes=())
            end = replace(end, step=_beside(step, beside, self._repeated[beside.variable]))
        elif not of_members:
            return None
        own = {variable: beside.variable}
        conditions = tuple(renamed(part, own) for part in of_members)
        return Further(beside.variable, conditions, end, beside.place == "behind")

    def _step(
        self,
        core: Branch,
        variable: str,
        bound: Sequence[str],
        due: Sequence[Expression],
        classes: Iterable[int],
    ) -> Step:
        absent = self._is_negated(variable)
        windows = self._demands.around if absent else self._demands.windows
        bands = [band_of(part, {variable}) for part in due]
        return Step(
            self._events[variable],
            tuple(part for part in due if variables_of(part) == {variable}),
            tuple(classes),
            lower_bounds(core, variable, bound, windows),
            upper_bounds(core, variable, bound, windows),
            windows,
            tuple(band for band in bands if band is not None),
            tuple(
                part
                for part, band in zip(due, bands, strict=True)
                if band is None and variables_of(part) != {variable}
            ),
            tuple(x for x in bound if self._may_coincide(core, x, variable)),
        )

    def _may_coincide(self, core: Branch, x: str, y: str) -> bool:
        beside = self._events[y].beside
        if beside is not None and (
            beside.place == "until" or x in self._repeated[beside.variable].images
        ):
            return False
        if (x, y) in core.order or (y, x) in core.order:
            return False
        if any(x in r.images and y in r.images for r in self._repeated.values()):
            return False
        return self._events[x].overlaps(self._events[y])


def _without(bounds: tuple[Bound, ...], end: str | None, other: str | None) -> tuple[Bound, ...]:
    """Return bounds without those in time on one end of a set that the other end implies."""
    if other not in {bound.variable for bound in bounds}:
        return bounds
    return tuple(b for b in bounds if b.variable != end or b.clock not in ("time", "order"))


def _beside(step: Step, beside: Beside, repeated: Repeated) -> Step:
    """Return a step that searches for an event beside a set, in stream order."""
    if (begin := beside.begin) is not None:
        end = repeated.end(begin.end)
        step = replace(step, lower=(Bound(end, 0),), follows=((end, begin.apart),))
    if (last := beside.end) is not None:
        end = repeated.end(last.end)
        step = replace(step, upper=(Bound(end, 1),), precedes=((end, last.apart),))
    return step


def _with_absences(
    steps: tuple[AnyStep, ...], inner: Mapping[tuple[str, ...], tuple[Absence, ...]]
) -> tuple[AnyStep, ...]:
    """Return the steps with the absences inside their subtrees."""
    return tuple(
        replace(
            step, steps=_with_absences(step.steps, inner), absences=inner.get(step.variables, ())
        )
        if isinstance(step, GroupStep)
        else step
        for step in steps
    )
