"""Limits on the size of patterns."""

from __future__ import annotations

from itertools import chain
from math import log10, prod
from typing import assert_never

from cepkit.errors import PatternError
from cepkit.pattern import nodes as n
from cepkit.pattern.conditions import Expression
from cepkit.pattern.policies import CountWindow, TimeWindow, Window
from cepkit.pattern.trees import children

# About 4,000 conditions, which take a second to parse.
MAX_CHARACTERS = 100_000
# Functions over nodes are recursive; this keeps them far from Python's limit.
MAX_DEPTH = 100
# A branch takes about 30 ms to plan and compile.
MAX_BRANCHES = 1_000
# Work for each pair of events stays within a second.
MAX_EVENTS = 1_000
# The search tries each event with all choices of those before it.
MOST_TOGETHER = 12

# Each number of repetitions is a branch of up to this many events.
MAX_IN_GROUP = 40

# Times lie within 2**62 microseconds of 1970; a slice adds ten windows and stays far from 2**63.
_YEAR = 31_557_600_000_000
LONGEST_WINDOW = 10_000 * _YEAR
MOST_IN_WINDOW = 10**15


def refuse_too_much_text(text: str) -> None:
    """Refuse a text that is too long for a pattern.

    Raises:
        PatternError: It has more than `MAX_CHARACTERS` characters.
    """
    if len(text) > MAX_CHARACTERS:
        raise PatternError(
            f"a text of {len(text):,} characters instead of a pattern",
            expected=f"at most {MAX_CHARACTERS:,}",
            hint="data are read by events(...); many constants are better looked up in a column",
        )


def refuse_too_deep(part: n.Structure | Expression | None) -> None:
    """Refuse a part that is nested too deeply for recursive functions.

    Raises:
        PatternError: It has more than `MAX_DEPTH` levels.
    """
    level: list[n.Structure | Expression] = [] if part is None else [part]
    for _ in range(MAX_DEPTH):
        level = list(chain.from_iterable(map(children, level)))
        if not level:
            return
    raise PatternError(
        f"nested more than {MAX_DEPTH} levels deep",
        expected=f"at most {MAX_DEPTH} levels of operators around and beside each other",
        hint="a long sum or product counts one level for each of its operators",
        span=level[0].span,
    )


def refuse_too_large(structure: n.Structure) -> None:
    """Refuse a structure with too many choices, or with too many events in one.

    Raises:
        PatternError: It exceeds `MAX_BRANCHES`, `MAX_EVENTS` or `MAX_IN_GROUP`.
    """
    groups = n.groups_in(structure)
    for node in groups:
        size, times = len(n.events_of(node.item)), node.maximum or 0
        if size * times > MAX_IN_GROUP:
            raise PatternError(
                f"a group that repeats with {size * times:,} events, {times:,} times {size}",
                expected=f"at most {MAX_IN_GROUP}, so up to {MAX_IN_GROUP // size} times",
                span=node.span,
            )
    branches = count_branches(structure)
    if branches > MAX_BRANCHES:
        # Python refuses to format an integer of thousands of digits.
        number = f"{branches:,}" if branches < 10**12 else f"about 10^{log10(branches):.0f}"
        raise PatternError(
            f"{'OR, OPT and groups' if groups else 'OR and OPT'} expand to {number} patterns",
            expected=f"at most {MAX_BRANCHES:,}",
            hint="for a choice among types write a IN (A, B)",
            span=next(
                node.span for node in n.walk(structure) if isinstance(node, n.Or | n.Opt | n.Kleene)
            ),
        )
    largest = _largest(structure)
    if len(largest) > MAX_EVENTS:
        raise PatternError(
            f"{len(largest):,} events in one pattern",
            expected=f"at most {MAX_EVENTS}, those under NOT included",
            hint="a repeated event is written KL(A a)",
            span=largest[MAX_EVENTS].span,
        )


def refuse_too_many_together(node: n.Not) -> None:
    """Refuse a NOT around more than `MOST_TOGETHER` events.

    Raises:
        PatternError: It has more.
    """
    number = len(n.events_of(node))
    if number > MOST_TOGETHER:
        raise PatternError(
            f"NOT stands around {number} events",
            expected=f"at most {MOST_TOGETHER} events that are absent together",
            span=node.span,
        )


def count_branches(structure: n.Structure) -> int:
    """Return the number of branches of `structure`, without building them."""
    match structure:
        case n.Kleene(_, minimum, int(maximum)) if n.group_of(structure) is not None:
            return maximum - minimum + 1
        case n.Event() | n.Not() | n.Kleene() | n.First() | n.Next():
            return 1
        case n.Or(items):
            return sum(map(count_branches, items))
        case n.Opt(item):
            return 1 + count_branches(item)
        case n.Seq(items) | n.And(items):
            return prod(map(count_branches, items))
        case _:
            assert_never(structure)


def _largest(structure: n.Structure) -> list[n.Structure]:
    """Return the events of the largest branch."""
    match structure:
        case n.Kleene(item, _, int(maximum)) if n.group_of(structure) is not None:
            return [*n.events_of(item)] * maximum
        case n.Event() | n.Kleene() | n.First() | n.Next():
            return [structure]
        case n.Not(item):
            return [*n.events_of(item)]
        case n.Or(items):
            return max(map(_largest, items), key=len)
        case n.Opt(item):
            return _largest(item)
        case n.Seq(items) | n.And(items):
            return list(chain.from_iterable(map(_largest, items)))
        case _:
            assert_never(structure)


def refuse_too_long(window: Window | None) -> None:
    """Refuse a window that is negative, empty, or so long that sums with it would overflow.

    Raises:
        PatternError: The window is out of range.
    """
    match window:
        case TimeWindow(microseconds) if microseconds < 0:
            raise PatternError(
                f"a window of {microseconds} microseconds", expected="0 or more", span=window.span
            )
        case TimeWindow(microseconds) if microseconds > LONGEST_WINDOW:
            raise PatternError(
                "a window of more than 10,000 years",
                hint="for no limit leave WITHIN out",
                span=window.span,
            )
        case CountWindow(events) if events < 1:
            raise PatternError(
                f"a window of {events} events", expected="at least one event", span=window.span
            )
        case CountWindow(events) if events > MOST_IN_WINDOW:
            raise PatternError(
                f"a window of more than {MOST_IN_WINDOW:,} events",
                hint="for no limit leave WITHIN out",
                span=window.span,
            )
