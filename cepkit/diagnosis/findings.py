"""Findings: the outcome of each requirement in one combination, with the values on both sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain, product
from typing import assert_never

import numpy as np

from cepkit.diagnosis.event_table import Ints
from cepkit.diagnosis.measures import Measures, forbidden_together
from cepkit.diagnosis.words import duration_text, failure, list_text, value_text, with_values
from cepkit.pattern import requirements as req
from cepkit.pattern.conditions import Expression, reach_back, set_of_members, set_of_prev
from cepkit.pattern.names import attribute_text, variable_text
from cepkit.pattern.nodes import Beside, Event, Structure
from cepkit.pattern.numbers import set_of_neighbours
from cepkit.pattern.policies import TimeWindow
from cepkit.tables import count_text

Binding = Mapping[str, tuple[int, ...]]
"""The events of each variable: one, or the members of a Kleene variable's set."""

_NAMED = 3
"""The most events, types or values that a sentence names."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one requirement in one combination.

    Attributes:
        holds: Whether it holds; None where that could not be decided.
        detail: The finding in words, with the values on both sides.
        by: By how much it is violated, in `unit`; None where it holds or is no quantity.
        unit: "s" for times, "events" for counts, "" for values as they are.
        relative: The violation in units of its scale.
        events: The events that violate it.
        given: Whether all events that it is about were named in the question.
    """

    requirement: req.Requirement
    holds: bool | None
    detail: str
    by: float | None = None
    unit: str = ""
    relative: float = 0.0
    events: tuple[int, ...] = ()
    given: bool = True


class Inspector:
    """Checks the requirements of one branch on single combinations."""

    def __init__(self, measures: Measures, name: Callable[[int], str]) -> None:
        self.measures = measures
        self._table = measures.table
        self._branch = measures.branch
        self.name = name

    def others(self, variable: str, event: int, most: int) -> list[int]:
        """Return the other events that a variable might be bound to, nearest in time first."""
        ts = self._table.ts
        events = self._table.of_types(self._branch.event(variable).types)
        events = events[events != event]
        nearest = np.argsort(np.abs(ts[events] - ts[event]), kind="stable")[:most]
        return [int(e) for e in events[nearest]]

    def findings(self, binding: Binding) -> list[Finding]:
        """Return the finding on each requirement that is about bound variables alone.

        Consumption is left out: it depends on the matches before this one.
        """
        findings = []
        complete = set(self._branch.variables) <= binding.keys()
        unbound_sets = any(name not in binding for name, _, _ in self._branch.repeated)
        for requirement in req.requirements_of(self._branch):
            about = req.variables_in(requirement, self._branch.variables)
            match requirement:
                case req.Unconsumed():
                    continue
                case req.SideBySide() if unbound_sets:
                    continue  # members of these sets may lie between the events
                case req.SamePartition() | req.Within() | req.SideBySide():
                    if complete or sum(map(len, binding.values())) > 1:
                        findings.append(self.finding(requirement, binding))
                case req.Absent():
                    if complete:
                        findings.append(self.finding(requirement, binding))
                case req.OfType() | req.Before() | req.Distinct() | req.Holds() | req.Size():
                    if about <= binding.keys():
                        findings.append(self.finding(requirement, binding))
                case _:
                    assert_never(requirement)
        return _without_implied(findings)

    def finding(self, requirement: req.Requirement, binding: Binding) -> Finding:
        """Return the finding on one requirement whose variables are bound."""
        match requirement:
            case req.OfType(event):
                return self._type(requirement, event, binding)
            case req.Before(first, second):
                return self._before(requirement, binding[first], binding[second])
            case req.Distinct(first, second):
                both = sorted({*binding[first]} & {*binding[second]})
                if both:
                    detail = f"both are {self._names(both)}"
                    return Finding(requirement, False, detail, relative=1.0, events=tuple(both))
                return Finding(requirement, True, "two events")
            case req.SamePartition(names):
                return self._partition(requirement, names, binding)
            case req.Within() | req.SideBySide():
                return self._near(requirement, binding)
            case req.Holds(condition):
                return self._condition(requirement, condition, binding)
            case req.Size(variable, minimum, maximum):
                size = len(binding[variable])
                off = max(minimum - size, 0 if maximum is None else size - maximum, 0)
                detail = count_text(size, "event") + (
                    f", {off} too {'few' if size < minimum else 'many'}" if off else ""
                )
                return Finding(
                    requirement, not off, detail, off or None, "events", off / max(1, minimum),
                    binding[variable] if off else (),
                )  # fmt: skip
            case req.Absent():
                return self._absent(requirement, binding)
            case req.Unconsumed():
                raise AssertionError("`verdict.consumption` says that")
            case _:
                assert_never(requirement)

    def _type(self, requirement: req.OfType, event: Event, binding: Binding) -> Finding:
        columns = self._table.columns
        types = {e: columns.type_names[int(columns.types[e])] for e in binding[event.variable]}
        wrong = [e for e, kind in types.items() if event.types and kind not in event.types]
        if not wrong:
            is_one = [f"{self.name(e)} is {_article(kind)}" for e, kind in types.items()]
            return Finding(requirement, True, list_text(is_one, _NAMED))
        is_none = list_text([f"{self.name(e)} is {_article(types[e])}" for e in wrong], _NAMED)
        expected = " or ".join(map(_article, sorted(event.types or ())))
        detail = f"{is_none}, {variable_text(event.variable)} must be {expected}"
        return Finding(requirement, False, detail, relative=1.0, events=tuple(wrong))

    def _before(
        self, requirement: req.Before, first: tuple[int, ...], second: tuple[int, ...]
    ) -> Finding:
        ts, order = self._table.ts, self._table.order
        last, soonest = max(first, key=lambda e: order[e]), min(second, key=lambda e: order[e])
        late = int(ts[last] - ts[soonest])
        x, y = variable_text(requirement.first), variable_text(requirement.second)
        apart = duration_text(late)
        if late < 0:
            return Finding(requirement, True, f"{x} is {apart} before {y}")
        if order[last] < order[soonest]:
            return Finding(requirement, True, f"{x} came before {y}, at the same time")
        when = f"{y} is {apart} before {x}" if late else f"{x} and {y} are at the same time"
        if not late and order[soonest] < order[last]:
            when = f"{y} came before {x}, at the same time"
        detail = f"{when}, {y} must be after"
        relative = late / self.measures.time_scale
        return Finding(requirement, False, detail, late / 1e6, "s", relative, (last, soonest))

    def _partition(
        self, requirement: req.SamePartition, names: tuple[str, ...], binding: Binding
    ) -> Finding:
        events = list(chain.from_iterable(binding.values()))
        codes = self._table.partition[events]
        differing = events[int(np.argmax(codes != codes[0]))] if len(codes) else events[0]
        details = []
        for name in names:
            columns = [self._table.columns.attributes[name].take(np.array([e])) for e in events]
            values = list(dict.fromkeys(map(value_text, columns)))
            if len(values) > 1 or (codes == codes[0]).all():
                details.append(f"{attribute_text(name)} = {list_text(values, _NAMED)}")
        if (codes == codes[0]).all():
            return Finding(requirement, True, ", ".join(details))
        return Finding(
            requirement, False, ", ".join(details), relative=1.0, events=(events[0], differing)
        )

    def _near(self, requirement: req.Within | req.SideBySide, binding: Binding) -> Finding:
        events = np.array(list(chain.from_iterable(binding.values())))
        # Events of unbound variables may still lie between the bound ones.
        unbound = [v for v in self._branch.variables if v not in binding]
        limit = self.measures.limit(requirement, len(events) + len(unbound))
        times = self._table.clock(limit.clock)[events]
        ends = (int(events[times.argmin()]), int(events[times.argmax()]))
        span = int(np.ptp(times))
        beyond = span - limit.most
        if isinstance(requirement, req.SideBySide):
            others = span + 1 - len(events)
            detail = f"{count_text(others, 'other event')} between" if others else "side by side"
            by, unit = float(beyond), "events"
        elif isinstance(requirement.window, TimeWindow):
            detail = duration_text(span)
            if beyond > 0:
                excess = span - requirement.window.microseconds
                detail += f", {duration_text(excess)} too long" if excess else ", must be less"
            by, unit = beyond / 1e6, "s"
        else:
            detail = count_text(span + 1, "event") + (
                f", {beyond:,} too many" if beyond > 0 else ""
            )
            by, unit = float(beyond), "events"
        if beyond <= 0:
            return Finding(requirement, True, detail)
        return Finding(requirement, False, detail, by, unit, beyond / limit.scale, ends)

    def _condition(
        self, requirement: req.Holds, condition: Expression, binding: Binding
    ) -> Finding:
        rewritten = self.measures.rewritten(condition)
        names = sorted(req.variables_in(requirement, ()))
        rows = _members(binding, names)
        if (repeated := set_of_prev(condition)) is not None:
            places = np.searchsorted(np.sort(binding[repeated]), rows[repeated])
            later = places >= reach_back(condition)
            rows = {v: events[later] for v, events in rows.items()}
            if not later.any():
                few = "one event" if len(places) == 1 else "too few events"
                return Finding(requirement, True, few)
        size = max((len(events) for events in rows.values()), default=1)
        read = self._table.reader(rows, binding)
        violation = self.measures.condition(condition, read, size)
        worst = int(np.argmax(np.where(violation.broken, violation.relative + 1.0, 0.0)))
        one = {v: events[worst : worst + 1] for v, events in rows.items()}
        read = self._table.reader(one, binding)
        if not violation.broken.any():
            return Finding(requirement, True, with_values(rewritten, read))
        leaf = self.measures.leaf(rewritten, read)
        detail, by, unit = failure(leaf, read)
        events = tuple(int(events[0]) for events in one.values())
        if (members := set_of_members(condition)) is not None:
            own = sorted(binding[members])
            at = own.index(int(one[members][0]))
            before = f" after {self.name(own[at - 1])}" if at else ""
            detail = f"{self.name(own[at])}{before}: {detail}"
        elif set_of_neighbours((condition,)) and by is not None:
            between = count_text(round(by), "other event")
            detail = f"{between} between" if by >= 0 else detail
        relative = float(violation.relative[worst])
        return Finding(requirement, False, detail, by, unit, relative, events)

    def _absent(self, requirement: req.Absent, binding: Binding) -> Finding:
        events = self.forbidden(requirement.events, binding)
        if not len(events):
            run = req.kind_of(requirement) == "run"
            return Finding(requirement, True, "nothing is left out" if run else "there is none")
        which = [" and ".join(self._placed(int(e), binding) for e in each) for each in events]
        detail = _presence(requirement.event, which)
        return Finding(
            requirement, False, detail, float(len(events)), "events", float(len(events)),
            tuple(map(int, events[:100].ravel())),
        )  # fmt: skip

    def forbidden(self, absent: tuple[Event, ...], binding: Binding) -> Ints:
        """Return the events that a NOT forbids beside a combination: a row for each choice."""
        rows = _members(binding, self._branch.variables)
        size = len(next(iter(rows.values())))
        # They break the NOT only if they break it beside each member of the sets.
        forbidden = np.hstack(
            [new for _, new in forbidden_together(self.measures, absent, rows, size, sets=binding)]
            or [np.empty((len(absent), 0), dtype=np.int64)]
        )
        together, times = np.unique(forbidden, axis=1, return_counts=True)
        return np.asarray(together[:, times == size].T)

    def _placed(self, event: int, binding: Binding) -> str:
        """Return an event with its type and its distance from the nearest event of the match."""
        columns = self._table.columns
        kind = columns.type_names[int(columns.types[event])]
        return f"{self.name(event)} ({kind}, {self.apart(event, binding)})"

    def apart(self, event: int, binding: Binding) -> str:
        """Return how far an event is from the nearest one of a binding: `2 s after c`."""
        ts = self._table.ts
        near = min(
            ((e, v) for v, events in binding.items() for e in events),
            key=lambda pair: abs(int(ts[pair[0]] - ts[event])),
        )
        gap = int(ts[event] - ts[near[0]])
        if not gap:
            return f"at the time of {variable_text(near[1])}"
        side = "after" if gap > 0 else "before"
        return f"{duration_text(gap)} {side} {variable_text(near[1])}"

    def _names(self, events: list[int]) -> str:
        return list_text([self.name(e) for e in events], _NAMED)


def _members(binding: Binding, names: list[str] | tuple[str, ...]) -> dict[str, Ints]:
    """Return all choices of one event for each variable."""
    members = np.array(list(product(*(binding[name] for name in names))), dtype=np.int64)
    return {name: members[:, i] for i, name in enumerate(names)}


def _without_implied(findings: list[Finding]) -> list[Finding]:
    """Return the findings without those that follow from others.

    If a is before b and b before c, then a is before c, and a is not c. GREEDY makes several
    requirements: of these the ones that fail are left, or else one.
    """
    pairs = {
        (f.requirement.first, f.requirement.second)
        for f in findings
        if isinstance(f.requirement, req.Before) and f.holds
    }
    names = {name for pair in pairs for name in pair}
    implied = {(x, y) for x, y in pairs if any((x, z) in pairs and (z, y) in pairs for z in names)}
    ordered = pairs | {(y, x) for x, y in pairs}
    absences: dict[Structure, list[Finding]] = {}
    for finding in findings:
        if isinstance(finding.requirement, req.Absent):
            absences.setdefault(finding.requirement.part, []).append(finding)
    repetitions = {
        f.requirement
        for same in absences.values()
        for f in sorted(same, key=lambda f: bool(f.holds))[1:]
        if f.holds
    }

    def follows(requirement: req.Requirement) -> bool:
        match requirement:
            case req.Before(first, second):
                return (first, second) in implied
            case req.Distinct(first, second):
                return (first, second) in ordered
            case _:
                return requirement in repetitions

    return [f for f in findings if not follows(f.requirement)]


def _presence(event: Event, which: list[str]) -> str:
    """Return in words that there are events that must not be there."""
    names = ", ".join(which[:_NAMED])
    if (more := len(which) - _NAMED) > 0:
        names += f" and {more:,} more"
    fit, are = ("fit", "are") if len(which) > 1 else ("fits", "is")
    match event.beside:
        case None:
            return f"there is {names}"
        case Beside(place="until"):
            return f"there is {names}, and no member may be behind that"
        case Beside(place="between"):
            return f"{names} {fit} as well, and {are} left out"
        case Beside():
            return f"{names} {fit} as well"


def _article(kind: str) -> str:
    return f"{'an' if kind[:1].lower() in 'aeiou' and kind[:1] else 'a'} {kind}"
