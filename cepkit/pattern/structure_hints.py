"""Hints for refused structures: an equivalent that the language has."""

from __future__ import annotations

from cepkit.pattern.nodes import Event, First, Kleene, Next, Not, Or, Structure
from cepkit.pattern.printer import structure_text


def instead_of_not(item: Structure) -> str | None:
    """Return an equivalent of NOT around an item that it does not take."""
    match item:
        case Kleene(Event() as event, 1, greedy=False, until=None) | First(Event() as event):
            return f"write {structure_text(Not(event))}"
        case Or(items) if all(isinstance(one, Event) for one in items):
            return f"write {', '.join(structure_text(Not(one)) for one in items)}"
        case _:
            return None


def instead_of_part(part: Structure) -> str | None:
    """Return an equivalent of a part that NOT(SEQ(...)) or NOT(AND(...)) does not take."""
    match part:
        case Kleene(Event() as event, 1, greedy=False, until=None):
            return f"write {structure_text(event)}"
        case Or():
            return "write a NOT for each choice, with names of its own"
        case _:
            return None


def instead_of_next(item: Structure) -> str | None:
    """Return an equivalent of NEXT before an item that it does not take."""
    match item:
        case Not(Event() as event):
            return f"write {structure_text(Not(Next(event)))}"
        case _:
            return None


def one_event_for(item: Structure) -> str | None:
    """Return a hint with one event of all the types of an OR."""
    match item:
        case Or(items):
            events = [one for one in items if isinstance(one, Event) and one.types is not None]
            if len(events) == len(items):
                types = frozenset[str]().union(*(event.types or () for event in events))
                return f"write {structure_text(Kleene(Event(events[0].variable, types)))}"
    return None
