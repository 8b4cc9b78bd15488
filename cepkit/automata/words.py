"""Operations in sentences, as a player or a print-out says them."""

from __future__ import annotations

from typing import assert_never

from cepkit.automata import operations as ops
from cepkit.automata.operations import REASONS, Checked, Operation
from cepkit.automata.records import Step
from cepkit.automata.trace import Trace


def sentence(trace: Trace, operation: Operation) -> str:
    """Return what an operation does, as a sentence without a full stop."""
    name = trace.events.name
    match operation:
        case ops.Evaluate(instance, edge, event, checked, held, other):
            with_what = f"instance {other}" if event is None else name(event)
            what = trace.diagram.edges[edge].label
            verdict = checks(checked) or ("nothing to check" if held else "fails")
            if event is None:
                return f"instance {instance} meets {with_what}: {verdict}"
            return f"instance {instance} looks at {with_what} for {what}: {verdict}"
        case ops.Create(instance, parents, node, variable, event):
            place = trace.diagram.nodes[node].node.label
            if event is None or variable is None:
                of = f" joins {' and '.join(map(str, parents))}" if parents else " begins"
                return f"instance {instance}{of} at {place}"
            of = f" = instance {parents[0]} and" if parents else ":"
            return f"instance {instance}{of} {variable} = {name(event)}, at {place}"
        case ops.Discard(instance, reason, event):
            by = "" if event is None else f" ({name(event)})"
            return f"instance {instance} ends: {REASONS[reason]}{by}"
        case ops.Close(instance, checked, held, event):
            by = "" if event is None else f"{name(event)} must not be there"
            verdict = checks(checked) or by or "nothing to check"
            return f"the set of instance {instance} may {'' if held else 'not '}end: {verdict}"
        case ops.Refuse(event, variable, checked):
            return f"{name(event)} cannot be {variable}: {checks(checked)}"
        case ops.Store(event, variable):
            return f"{name(event)} is stored for {variable}"
        case ops.Forget(event, variable):
            return f"{name(event)} is forgotten for {variable}"
        case ops.Match(instance, number):
            return f"MATCH {number}: instance {instance} binds {bound(trace, number)}"
        case ops.Visit(node):
            return f"the state {trace.diagram.nodes[node].node.label} is instantiated"
        case ops.Leave(node):
            return f"the state {trace.diagram.nodes[node].node.label} is removed"
        case _:
            assert_never(operation)


def checks(checked: tuple[Checked, ...]) -> str:
    """Return ``3 < 7 holds, 9 < 7 fails``."""
    return ", ".join(f"{one.text} {'holds' if one.held else 'fails'}" for one in checked)


def bound(trace: Trace, match: int) -> str:
    """Return ``a = A 0, b = B 3 and B 4``."""
    parts = []
    for variable, events in trace.matches[match].events.items():
        several = events if isinstance(events, tuple) else (events,)
        parts.append(f"{variable} = {' and '.join(map(trace.events.name, several))}")
    return ", ".join(parts)


def heading(trace: Trace, step: Step) -> str:
    """Return what a step is: ``step 3: B 3 arrives``."""
    what = "the stream ends" if step.event is None else f"{trace.events.name(step.event)} arrives"
    return f"step {step.number}: {what}"
