"""The chain NFA of an order plan: its states, and the event and checks of each edge.

Source: *Lazy Evaluation Methods for Detecting Complex Events* (DEBS 2015), section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cepkit.figures.diagrams import words
from cepkit.figures.kit.strokes import held_in_window
from cepkit.pattern.conditions import variables_of
from cepkit.pattern.names import variable_text
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.printer import expression_text
from cepkit.plan.logarithms import log
from cepkit.plan.nodes import ExpectedStep, first_member
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class State:
    """A state of the chain.

    Attributes:
        name: q0, q1, ... and F, the last.
        stored: The variables whose events are kept for later.
        ignored: The variables that are bound already.
    """

    name: str
    stored: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Take:
    """The edge from one state to the next.

    Attributes:
        variable: The variable that it binds.
        event: Its types and name, as in the pattern's text.
        scope: The place of the event in time, as "after a, before c"; empty for anywhere.
        conditions: The conditions to check: those whose variables are now all bound.
        expected: The expected numbers of the step; None without statistics.
        log_alive: The natural logarithm of the partial matches expected to be alive in a window
            after this step; None without statistics.
    """

    variable: str
    event: str
    scope: str
    conditions: tuple[str, ...]
    expected: ExpectedStep | None = None
    log_alive: float | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """The automaton of one branch.

    Attributes:
        name: The branch; empty if there is only one.
        states: From q0 to F.
        takes: One fewer than states.
        absences: The events that must be absent, in words: where, and with which conditions.
    """

    name: str
    states: tuple[State, ...]
    takes: tuple[Take, ...]
    absences: tuple[str, ...] = ()


def chain_of(
    name: str,
    order: Sequence[str],
    branch: Branch | None,
    statistics: Statistics | None = None,
    expected: Sequence[ExpectedStep] = (),
) -> Chain:
    """Return the automaton of one branch.

    Args:
        branch: The branch that the plan evaluates. Without it types and conditions are unknown; the
            statistics, if any, still tell which variables have conditions between them.
    """
    takes = _takes_by_statistics(order, statistics) if branch is None else _takes(order, branch)
    steps = {step.variable: step for step in expected}
    logs = {name: log(step.alive) for name, step in steps.items()}
    if branch is not None and statistics is not None:
        alive = held_in_window(branch, statistics)
        # The plan's own order: the engine completes sets last, wherever the plan has them.
        logs = {v: alive(order[: i + 1]) for i, v in enumerate(order)}

    def step_of(variable: str) -> str:
        """Return the step that takes a variable: of a set that begins in its place the first."""
        first = first_member(variable)
        return first if first in steps else variable

    takes = [
        replace(
            take,
            expected=steps.get(step_of(take.variable)),
            log_alive=logs.get(step_of(take.variable), logs.get(take.variable)),
        )
        for take in takes
    ]
    absences = () if branch is None else (words.absence_text(branch, e) for e in branch.absences)
    return Chain(name, _states(order), tuple(takes), tuple(absences))


def _states(order: Sequence[str]) -> tuple[State, ...]:
    inner = (State(f"q{i}", tuple(order[i + 1 :]), tuple(order[:i])) for i in range(len(order)))
    return (*inner, State("F"))


def _takes(order: Sequence[str], branch: Branch) -> list[Take]:
    takes: list[Take] = []
    left = list(branch.conditions)
    for i, variable in enumerate(order):
        bound = set(order[: i + 1])
        due = [c for c in left if variables_of(c) <= bound]
        left = [c for c in left if c not in due]
        conditions = [expression_text(c) for c in due]
        if i and branch.partition_by:
            conditions.insert(0, words.partition_text(branch))
        scope = words.scope_text(branch, variable, order[:i])
        takes.append(Take(variable, words.event_text(branch, variable), scope, tuple(conditions)))
    return takes


def _takes_by_statistics(order: Sequence[str], statistics: Statistics | None) -> list[Take]:
    takes = []
    for i, variable in enumerate(order):
        texts = words.statistics_texts(statistics, order[: i + 1], (order[:i],))
        takes.append(Take(variable, variable_text(variable), "", texts))
    return takes
