"""An order plan as the chain NFA that follows it: what is taken, checked, stored and ignored.

Source: *Lazy Evaluation Methods for Detecting Complex Events* (DEBS 2015), section 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cepkit.errors import PlanError, UnsupportedError
from cepkit.pattern.conditions import Expression, variables_of
from cepkit.pattern.names import name_text
from cepkit.pattern.nodes import Kleene
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.printer import expression_text, structure_text
from cepkit.pattern.query import Query
from cepkit.plan.checks import check_plan
from cepkit.plan.nodes import ExpectedStep, Plan, TreePlan
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class State:
    """A state of the chain.

    Attributes:
        name: q0, q1, ... and F, the last.
        stored: The variables whose events are kept for later.
        ignored: The variables that are taken already.
    """

    name: str
    stored: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Take:
    """The edge from one state to the next.

    Attributes:
        variable: What it binds.
        event: Its types and name, as in the pattern's text.
        scope: Where in time the event lies, as "after a, before c"; empty for anywhere.
        conditions: What is checked: the conditions all of whose variables are now bound.
        expected: What is expected of the step; None without statistics.
    """

    variable: str
    event: str
    scope: str
    conditions: tuple[str, ...]
    expected: ExpectedStep | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """The automaton of one branch.

    Attributes:
        name: Which branch it is; empty where there is one only.
        states: From q0 to F.
        takes: One fewer than states.
        absences: What must not be there, in words: where, and with which conditions.
    """

    name: str
    states: tuple[State, ...]
    takes: tuple[Take, ...]
    absences: tuple[str, ...] = ()


def chains(plan: Plan, query: Query | None = None) -> tuple[Chain, ...]:
    """Return the automaton of each branch of a plan.

    Args:
        plan: The plan.
        query: What it evaluates. Without it types and conditions are not known; the statistics
            of the plan, if any, still say between which variables there are conditions.

    Raises:
        PlanError: The plan does not belong to the query.
    """
    if query is not None:
        check_plan(plan, query)
    branches: Sequence[Branch | None] = (
        (None,) * len(plan.branches) if query is None else normal_form(query)
    )
    if plan.expected and len(plan.expected) != len(plan.branches):
        raise PlanError("the plan expects something of other branches than its own")
    made = []
    for number, (ordered, branch) in enumerate(zip(plan.branches, branches, strict=True)):
        if isinstance(ordered, TreePlan):
            raise UnsupportedError(
                f"this release cannot draw the tree {ordered} yet",
                hint="print(plan) shows what is expected of it, matches.explain() what it did",
            )
        order = ordered.order
        takes = (
            _takes_by_statistics(order, plan.statistics)
            if branch is None
            else _takes(order, branch)
        )
        if plan.expected:
            expected = {step.variable: step for step in plan.expected[number]}
            takes = [
                Take(t.variable, t.event, t.scope, t.conditions, expected[t.variable])
                for t in takes
            ]
        name = f"branch {number + 1} of {len(branches)}" if len(branches) > 1 else ""
        absences = () if branch is None else _absences(branch)
        made.append(Chain(name, _states(order), tuple(takes), absences))
    return tuple(made)


def _states(order: Sequence[str]) -> tuple[State, ...]:
    inner = (State(f"q{i}", tuple(order[i + 1 :]), tuple(order[:i])) for i in range(len(order)))
    return (*inner, State("F"))


def _takes(order: Sequence[str], branch: Branch) -> list[Take]:
    repeated = {variable: (least, most) for variable, least, most in branch.repeated}
    takes: list[Take] = []
    left = list(branch.conditions)
    for i, variable in enumerate(order):
        bound = set(order[: i + 1])
        due = [c for c in left if variables_of(c) <= bound]
        left = [c for c in left if c not in due]
        conditions = [expression_text(c) for c in due]
        if i and branch.partition_by:
            conditions.insert(0, f"same {', '.join(map(name_text, branch.partition_by))}")
        node = branch.event(variable)
        event = Kleene(node, *repeated[variable]) if variable in repeated else node
        scope = _scope(branch, variable, order[:i])
        takes.append(Take(variable, structure_text(event), scope, tuple(conditions)))
    return takes


def _scope(branch: Branch, variable: str, bound: Sequence[str]) -> str:
    """Say between which of the bound variables the next one lies: the nearest on either side."""
    before = [x for x in bound if x in branch.before(variable)]
    after = [x for x in bound if x in branch.after(variable)]
    latest = [x for x in before if not branch.after(x) & set(before)]
    earliest = [x for x in after if not branch.before(x) & set(after)]
    parts = [
        f"{word} {' and '.join(map(name_text, names))}"
        for word, names in (("after", latest), ("before", earliest))
        if names
    ]
    return ", ".join(parts)


def _takes_by_statistics(order: Sequence[str], statistics: Statistics | None) -> list[Take]:
    takes = []
    for i, variable in enumerate(order):
        conditions = []
        if statistics is not None:
            bound = set(order[: i + 1])
            if variable in statistics.filters:
                conditions.append(f"conditions on {name_text(variable)}")
            conditions += [
                f"conditions between {_listed(v for v in order if v in names)}"
                for names in statistics.selectivities
                if variable in names and names <= bound
            ]
        takes.append(Take(variable, name_text(variable), "", tuple(conditions)))
    return takes


def _absences(branch: Branch) -> tuple[str, ...]:
    found = []
    for event in branch.negated:
        about: list[Expression] = [
            c for c in branch.conditions if event.variable in variables_of(c)
        ]
        where = " AND ".join(map(expression_text, about))
        parts = [f"no {structure_text(event)}", _scope(branch, event.variable, branch.variables)]
        text = " ".join(part for part in parts if part)
        found.append(f"{text}, where {where}" if where else text)
    return tuple(found)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(name_text, names))
