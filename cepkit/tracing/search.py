"""Searches in a trace: the history of an instance, and operations by kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cepkit.errors import TraceError
from cepkit.printing import Printed, html_output
from cepkit.tables import html_table
from cepkit.tracing import operations as ops
from cepkit.tracing.records import Step
from cepkit.tracing.words import Words

Births: TypeAlias = Mapping[int, tuple[int, ops.Create]]
"""For each instance the step of its creation, and the operation."""


@dataclass(frozen=True, slots=True)
class Found:
    """An operation with its step and its sentence."""

    step: int
    operation: ops.Operation
    text: str


@dataclass(frozen=True, slots=True, repr=False)
class Fate(Printed):
    """The history of an instance.

    Attributes:
        instance: Its number.
        created: The operation that created it.
        lineage: Its ancestors, eldest first; for a join those of one side.
        binding: The event of each variable that it or its ancestors bound.
        taken: The evaluations that held and so created a child.
        refused: The evaluations that failed, with the failed clause.
        children: The instances that it is a parent of.
        matches: The matches that it became.
        ended: The operation that ended it; None if it was alive at the end of the trace.
    """

    instance: int
    created: Found
    lineage: tuple[int, ...]
    binding: tuple[tuple[str, int], ...]
    taken: tuple[Found, ...]
    refused: tuple[Found, ...]
    children: tuple[int, ...]
    matches: tuple[int, ...]
    ended: Found | None

    @property
    def reason(self) -> ops.Reason | None:
        """Why it ended."""
        ended = None if self.ended is None else self.ended.operation
        return ended.reason if isinstance(ended, ops.Discard) else None

    def __str__(self) -> str:
        return "\n".join(f"step {step}: {text}" for step, text in self._rows())

    def _repr_html_(self) -> str:
        rows = [(str(step), text) for step, text in self._rows()]
        return html_output(html_table(("step", f"instance {self.instance}"), rows, left=2))

    def _rows(self) -> list[tuple[int, str]]:
        entries = [self.created, *sorted((*self.taken, *self.refused), key=lambda f: f.step)]
        if self.ended is not None:
            entries.append(self.ended)
        return [(entry.step, entry.text) for entry in entries]


def fate(
    steps: Sequence[Step], words: Words, births: Births, variables: Sequence[str], instance: int
) -> Fate:
    """Return the history of an instance.

    Args:
        births: Where each instance came to be.
        variables: The variables of a match, in pattern order.

    Raises:
        TraceError: The trace has no such instance.
    """
    created = births.get(instance)
    if created is None:
        raise TraceError(
            f"there is no instance {instance} in this trace",
            expected=f"one of 0 to {len(births) - 1}" if births else None,
        )
    lineage: set[int] = set()
    binding: list[tuple[str, int]] = []
    elders = [instance]
    while elders:
        one = elders.pop()
        if one in lineage:
            continue
        birth = births[one][1]
        if one != instance:
            lineage.add(one)
        if birth.variable is not None and birth.event is not None:
            binding.append((birth.variable, birth.event))
        elders += birth.parents
    own = find(steps, words, instance=instance)
    step_number, birth = created
    return Fate(
        instance,
        Found(step_number, birth, words.sentence(birth)),
        tuple(sorted(lineage)),
        tuple(sorted(binding, key=lambda pair: (variables.index(pair[0]), pair[1]))),
        tuple(f for f in own if isinstance(f.operation, ops.Evaluate) and f.operation.held),
        tuple(f for f in own if isinstance(f.operation, ops.Evaluate) and not f.operation.held),
        tuple(n for n, (_, other) in births.items() if instance in other.parents),
        tuple(f.operation.match for f in own if isinstance(f.operation, ops.Match)),
        next((f for f in own if isinstance(f.operation, ops.Discard)), None),
    )


def find(
    steps: Sequence[Step],
    words: Words,
    name: str | None = None,
    instance: int | None = None,
    clause: int | None = None,
    after: int = -1,
    **parts: object,
) -> tuple[Found, ...]:
    """Return the operations of a trace that satisfy the criteria.

    Args:
        words: Makes sentences of them.
        name: The operation; None, as for all below except `after`, if it does not matter.
        clause: A clause that they checked.
        after: The step after which to begin.
        **parts: Required values of fields of operations.

    Raises:
        TraceError: No operation has that name.
    """
    if name is not None and name not in ops.OPERATIONS:
        raise TraceError.unknown(f"no operation is called '{name}'", name, ops.OPERATIONS)
    filters = {part: value for part, value in parts.items() if value is not None}

    def is_so(operation: ops.Operation, part: str, value: object) -> bool:
        among = part == "event" and value in ops.forbidden_in(operation)
        return among or getattr(operation, part, None) == value

    def fits(operation: ops.Operation) -> bool:
        return (
            (name is None or ops.name_of(operation) == name)
            and (instance is None or _concerns(operation, instance))
            and (clause is None or any(one.clause == clause for one in ops.checked_in(operation)))
            and all(is_so(operation, part, value) for part, value in filters.items())
        )

    return tuple(
        Found(step.number, operation, words.sentence(operation))
        for step in steps[after + 1 :]
        for operation in step.operations
        if fits(operation)
    )


def _concerns(operation: ops.Operation, instance: int) -> bool:
    """Whether an operation is about an instance."""
    match operation:
        case ops.Evaluate():
            return instance in (operation.instance, operation.other)
        case ops.Create() | ops.Close() | ops.Discard() | ops.Match():
            return operation.instance == instance
        case _:
            return False
