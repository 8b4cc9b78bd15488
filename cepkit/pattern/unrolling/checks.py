"""Checks of groups that repeat, `KL(SEQ(A a, B b)){2,5}`."""

from __future__ import annotations

from dataclasses import replace

from cepkit.errors import PatternError
from cepkit.pattern.nodes import And, Event, First, Kleene, Next, Not, Seq, Structure, group_of
from cepkit.pattern.printer import structure_text


def check_group(node: Kleene, group: Seq | And) -> None:
    """Refuse a group whose repetitions could differ in their events, or have no limit.

    Raises:
        PatternError: It has other items than single events, UNTIL or GREEDY, or no maximum.
    """
    for item in group.items:
        event = item.item if isinstance(item, First | Next | Not) else item
        if isinstance(item, Not) and isinstance(event, Next):
            event = event.item
        if not isinstance(event, Event):
            raise PatternError(
                f"KL stands around {word_for(group)} with {word_for(item)} inside",
                expected="single events in a group that repeats, as in KL(SEQ(A a, B b)){1,5}",
                span=item.span or node.span,
            )
    if node.greedy or node.until is not None:
        word, written = ("GREEDY", "GREEDY") if node.greedy else ("UNTIL", "UNTIL C c")
        raise PatternError(
            f"{word} behind a group that repeats",
            expected=f"a set of single events before it, as in KL(B b) {written}",
            span=node.span,
        )
    if node.maximum is None:
        minimum = max(node.minimum, 1)
        bounded = replace(node, minimum=minimum, maximum=max(5, minimum))
        raise PatternError(
            "a group that repeats without a maximum",
            expected="the greatest number of repetitions",
            hint=f"write {structure_text(bounded)}",
            span=node.span,
        )


def word_for(node: Structure) -> str:
    """Return the word for a part of a structure in messages."""
    if isinstance(node, Kleene):
        return "KL" if group_of(node) is None else "a group that repeats"
    return "a single event" if isinstance(node, Event) else type(node).__name__.upper()
