"""Compiles the absences of a branch: how its negated variables are searched, and when.

An absence is checked as soon as all that it depends on is bound.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace

from cepkit.columnar.compile.kleene import Repeated, core_of, with_ends
from cepkit.columnar.compile.program import (
    Absence,
    AnyStep,
    Bound,
    Further,
    GroupStep,
    Step,
)
from cepkit.columnar.compile.steps import Steps, ends_of, is_link, names_of, parts_of
from cepkit.pattern.conditions import (
    Aggregate,
    Comparison,
    Expression,
    Literal,
    has_functions_of,
    variables_of,
)
from cepkit.pattern.nodes import Beside
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.rewrite import renamed
from cepkit.plan.nodes import Unit


class Absences:
    """The absences of a branch whose steps are known."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._absences: dict[str, Absence] = {}
        # What an absence needs: one variable of each of these bound; None: Kleene sets chosen.
        self._needs: dict[str, list[set[str]] | None] = {}

    def of(self, branch: Branch) -> tuple[Absence, ...]:
        """Return the negated variables of `branch`, in the order in which they can be checked."""
        if not branch.negated:
            return ()
        core = core_of(branch, tuple(self._steps.repeated.values()), ())
        absences = []
        for events in branch.absences:
            name = events[0].variable
            if name not in self._absences:
                self._absences[name] = self._together(branch, core, [e.variable for e in events])
            absences.append(self._absences[name])
        placed = (replace(a, after=self._after(a, self._steps.units)) for a in absences)
        return tuple(sorted(placed, key=lambda absence: absence.after))

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
        if self._steps.demands.in_turn:
            return absence  # the search of this strategy has its own loops
        if variable in self._steps.repeated:
            variable = self._steps.repeated[variable].first or variable
        before = (Bound(variable, 0, "order"),)
        if units[absence.after].variables != (variable,) or step.upper != before:
            return absence
        known = {v for unit in units[: absence.after] for v in unit.variables}
        others = [*step.residuals, *(band.other for band in step.bands)]
        needed = {bound.variable for bound in step.lower}.union(*map(variables_of, others))
        linked = all(names_of(self._steps.classes[number]) & known for number in step.classes)
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

    def _together(self, branch: Branch, core: Branch, names: Sequence[str]) -> Absence:
        """Return the absence of one event, or of several together."""
        later, absences = [*names], list[Absence]()
        while later:
            bound = {*self._steps.order, *(one.step.variable for one in absences)}
            # Events linked to bound ones are sought first: that leaves the fewest choices.
            variable = max(later, key=lambda name: self._known_about(branch, name, bound))
            later.remove(variable)
            absences.append(self._absence(branch, core, variable, absences, later))
        needs = [self._needs.pop(one.step.variable) for one in absences]
        whole: Absence | None = None
        for one in reversed(absences):
            whole = replace(one, then=whole)
        assert whole is not None
        outside = {*self._steps.order}
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
            with_ends(part, tuple(self._steps.repeated.values()))
            for part in parts_of(c for c in branch.conditions if variable in variables_of(c))
            if not variables_of(part) & {*later}
        ]
        beside_it = (*self._steps.order, *(one.step.variable for one in before))
        numbers = [
            i for i, members in enumerate(self._steps.classes) if (variable, None) in members
        ]
        earlier = {
            number for one in before for number in one.step.classes if number >= self._steps.linked
        }
        # An equality with an event under NOT holds only for that event: it links no other
        # variables, but every variable equal to the bound side can be the partner.
        for link in [p for p in due if is_link(p) and variable in variables_of(p)]:
            ends = ends_of(link)
            own = frozenset(member for member in ends if member[0] == variable)
            others = ends - own
            holding = (
                *self._steps.classes[: self._steps.linked],
                *(self._steps.classes[number] for number in earlier),
            )
            known = [members for members in holding if members & others]
            linked = own.union(others, *known)
            if names_of(linked) & {*beside_it}:
                numbers.append(len(self._steps.classes))
                self._steps.classes.append(linked)
                due.remove(link)
        on_sets = tuple(part for part in due if variables_of(part) & self._steps.repeated.keys())
        beside = self._steps.events[variable].beside
        of_members = [part for part in due if has_functions_of(part, variable)]
        due = [part for part in due if part not in of_members]
        further = None if beside is None else self._further(branch, variable, beside, of_members)
        if beside is not None and beside.maximum is not None:
            size, most = Aggregate("count", beside.variable), Literal(beside.maximum)
            on_sets += (Comparison("<", size, most),)
        due = [part for part in due if part not in on_sets]
        step = self._steps.step_in(core, variable, beside_it, due, numbers)
        for r in self._steps.repeated.values():
            # An event before the first member is also before the last one.
            step = replace(
                step,
                lower=_without(step.lower, r.first, r.last),
                upper=_without(step.upper, r.last, r.first),
            )
        if beside is not None:
            step = _beside(step, beside, self._steps.repeated[beside.variable])
        counted = any(clock != "time" for _, clock in step.windows)
        apart = tuple(
            v for v in self._steps.repeated if self._steps.may_coincide(core, v, variable)
        )
        if on_sets or apart or further is not None or (counted and self._steps.repeated):
            self._needs[variable] = None
            return Absence(step, 0, on_sets, apart, further=further)
        needed = {bound.variable for bound in (*step.lower, *step.upper)}
        needed.update(step.distinct_from)
        if counted:
            needed.update(beside_it)  # arrival need not follow time
        for condition in (*step.residuals, *(band.other for band in step.bands)):
            needed |= variables_of(condition)
        # One partner in a class is enough; the partition has one in every step.
        partners = [names_of(self._steps.classes[number]) & {*beside_it} for number in step.classes]
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
            end = replace(end, step=_beside(step, beside, self._steps.repeated[beside.variable]))
        elif not of_members:
            return None
        own = {variable: beside.variable}
        conditions = tuple(renamed(part, own) for part in of_members)
        return Further(beside.variable, conditions, end, beside.place == "behind")


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


def with_absences(
    steps: tuple[AnyStep, ...], inner: Mapping[tuple[str, ...], tuple[Absence, ...]]
) -> tuple[AnyStep, ...]:
    """Return the steps with the absences inside their subtrees."""
    return tuple(
        replace(
            step, steps=with_absences(step.steps, inner), absences=inner.get(step.variables, ())
        )
        if isinstance(step, GroupStep)
        else step
        for step in steps
    )
