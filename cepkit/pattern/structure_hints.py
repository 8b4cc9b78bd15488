"""Hints for structures that are refused: what says the same and is known."""

from __future__ import annotations

from itertools import chain

from cepkit.pattern.nodes import And, Event, First, Kleene, Next, Not, Or, Seq, Structure
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
    """Return what says the same as a part of what is absent together that cannot stand there."""
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


_MOST_WRITTEN_OUT = 12
"""So many events of a group that repeats are written out."""


def written_out(item: Structure, minimum: int, maximum: int | None) -> str | None:
    """Return a group of events that repeats, each repetition written out."""
    if not isinstance(item, Seq | And) or not all(isinstance(one, Event) for one in item.items):
        return None
    most = max(minimum, 2) if maximum is None else maximum
    if not 1 <= minimum <= most or most * len(item.items) > _MOST_WRITTEN_OUT:
        return "a group that repeats has to be written out, each repetition with its own variables"
    choices = []
    for number in range(minimum, most + 1):
        times = [
            tuple(
                Event(f"{event.variable}_{time}", event.types)
                for event in item.items
                if isinstance(event, Event)
            )
            for time in range(1, number + 1)
        ]
        groups = chain.from_iterable(times) if isinstance(item, Seq) else map(And, times)
        choices.append(Seq(tuple(groups)))
    text = structure_text(choices[0] if len(choices) == 1 else Or(tuple(choices)))
    up_to = f"up to {most} times it is written out as " if maximum is None else "write it out: "
    return f"{up_to}{text}"
