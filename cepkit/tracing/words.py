"""Operations of mechanisms as sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from cepkit.tracing import operations as ops
from cepkit.tracing.diagram import Diagram
from cepkit.tracing.events import EventTable
from cepkit.tracing.operations import REASONS, TOGETHER, Checked, Operation, forbidden_in
from cepkit.tracing.records import Step, TracedMatch


@dataclass(frozen=True, slots=True)
class Words:
    """Writes the operations of a trace as sentences.

    Attributes:
        diagram: Its nodes and edges.
    """

    events: EventTable
    diagram: Diagram
    matches: Sequence[TracedMatch]

    def sentence(self, operation: Operation) -> str:
        """Return an operation as a sentence without a full stop."""
        name = self.events.name
        match operation:
            case ops.Evaluate(instance, edge, event, checked, held, other):
                verdict = checks(checked) or ("nothing to check" if held else "fails")
                if event is None:
                    return f"instance {instance} meets instance {other}: {verdict}"
                what = self.diagram.edges[edge].label
                return f"instance {instance} looks at {name[event]} for {what}: {verdict}"
            case ops.Create(instance, parents, node, variable, event):
                place = self._label(node)
                if event is None or variable is None:
                    of = f" joins {' and '.join(map(str, parents))}" if parents else " begins"
                    return f"instance {instance}{of} at {place}"
                of = f" = instance {parents[0]} and" if parents else ":"
                return f"instance {instance}{of} {variable} = {name[event]}, at {place}"
            case ops.Discard(instance, reason, event):
                why = TOGETHER if isinstance(event, tuple) else REASONS[reason]
                by = f" ({self._forbidden(operation)})" if event is not None else ""
                return f"instance {instance} ends: {why}{by}"
            case ops.Close(instance, checked, held, event):
                are = "are" if isinstance(event, tuple) else "is"
                by = "" if event is None else f"{self._forbidden(operation)} {are} there"
                verdict = checks(checked) or by or "nothing to check"
                return f"the set of instance {instance} may {'' if held else 'not '}end: {verdict}"
            case ops.Refuse(event, variable, checked):
                return f"{name[event]} cannot be {variable}: {checks(checked)}"
            case ops.Store(event, variable):
                return f"{name[event]} is stored for {variable}"
            case ops.Forget(event, variable):
                return f"{name[event]} is forgotten for {variable}"
            case ops.Match(instance, number):
                of = f" of {pattern}" if (pattern := self.matches[number].pattern) else ""
                return f"MATCH {number}{of}: instance {instance} binds {self.bound(number)}"
            case ops.Visit(node):
                return f"the state {self._label(node)} is instantiated"
            case ops.Leave(node):
                return f"the state {self._label(node)} is removed"
            case _:
                assert_never(operation)

    def _forbidden(self, operation: Operation) -> str:
        """Return ``B 3 and C 5``, the events that must not be there."""
        return " and ".join(self.events.name[event] for event in forbidden_in(operation))

    def bound(self, match: int) -> str:
        """Return ``a = A 0, b = B 3 and B 4``."""
        parts = []
        for variable, events in self.matches[match].events.items():
            several = events if isinstance(events, tuple) else (events,)
            parts.append(f"{variable} = {' and '.join(self.events.name[e] for e in several)}")
        return ", ".join(parts)

    def heading(self, step: Step) -> str:
        """Return the heading of a step: ``step 3: B 3 arrives``."""
        what = (
            "the stream ends" if step.event is None else f"{self.events.name[step.event]} arrives"
        )
        return f"step {step.number}: {what}"

    def _label(self, node: int) -> str:
        return self.diagram.nodes[node].node.label


def checks(checked: tuple[Checked, ...]) -> str:
    """Return ``3 < 7 holds, 9 < 7 fails``."""
    return ", ".join(f"{one.text} {'holds' if one.held else 'fails'}" for one in checked)
