"""Hints for structures that are refused: what says the same and is known."""

from __future__ import annotations

from cepkit.pattern.nodes import Event, First, Kleene, Next, Not, Or, Structure
from cepkit.pattern.printer import structure_text


def instead_of_not(item: Structure) -> str | None:
    """Return an equivalent for NOT around an operand that it does not allow."""
    match item:
        case Kleene(Event() as event, 1, greedy=False, until=None) | First(Event() as event):
            return f"write {structure_text(Not(event))}"
        case Or(items) if all(isinstance(one, Event) for one in items):
            return f"write {', '.join(structure_text(Not(one)) for one in items)}"
        case _:
            return None


def instead_of_part(part: Structure) -> str | None:
    """Return what to write instead of a part that NOT(SEQ(...)) or NOT(AND(...)) cannot have."""
    match part:
        case Kleene(Event() as event, 1, greedy=False, until=None):
            return f"write {structure_text(event)}"
        case Or():
            return "write a NOT for each choice, with names of its own"
        case _:
            return None


def instead_of_next(item: Structure) -> str | None:
    """Return an equivalent for NEXT before an operand that it does not allow."""
    match item:
        case Not(Event() as event):
            return f"write {structure_text(Not(Next(event)))}"
        case _:
            return None


def one_event_for(item: Structure) -> str | None:
    """Return one event of all the types that an OR chooses among."""
    match item:
        case Or(items):
            events = [one for one in items if isinstance(one, Event) and one.types is not None]
            if len(events) == len(items):
                types = frozenset[str]().union(*(event.types or () for event in events))
                return f"write {structure_text(Kleene(Event(events[0].variable, types)))}"
    return None
