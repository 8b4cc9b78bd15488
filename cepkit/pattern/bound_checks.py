"""Checks of bounds of steps, `WITHIN 5 minutes FROM a TO c`."""

from __future__ import annotations

from cepkit.errors import PatternError
from cepkit.pattern.durations import window_text
from cepkit.pattern.limits import refuse_too_long
from cepkit.pattern.nodes import Not, Opt, absent_in, events_of, repeated_in, together_in, walk
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import CountWindow, StepBound, TimeWindow
from cepkit.pattern.printer import bound_text, structure_text
from cepkit.pattern.query import Query
from cepkit.pattern.repetitions import Repetitions
from cepkit.pattern.unrolling.structures import unrolled
from cepkit.stream.warnings import warn_of_short_window


def check_bounds(query: Query) -> None:
    """Refuse bounds that restrict no match, and warn of those that the window cuts short.

    Raises:
        PatternError: A bound restricts none.
    """
    for bound in query.bounds:
        _check_window(bound)
        _check_ends(bound, query)
        _check_order(bound, query)
        if (absent := _cut_short(bound, query)) is not None:
            assert query.window is not None
            warn_of_short_window(
                structure_text(absent), bound_text(bound), window_text(query.window), query
            )


def _cut_short(bound: StepBound, query: Query) -> Not | Opt | None:
    """Return the NOT, or greedy OPT, whose bound reaches further than the window; else None.

    There the window decides. A NOT between two events of a match lies in its window in any case.
    """
    window = query.window
    if not isinstance(window, TimeWindow) or not isinstance(bound.window, TimeWindow):
        return None
    if bound.window.most <= window.most:
        return None
    for branch in normal_form(query):
        positive = {*branch.variables}
        open_ended = {
            event.variable
            for event in branch.negated
            if event.beside is None
            and not (
                branch.before(event.variable) & positive and branch.after(event.variable) & positive
            )
        }
        names = {event.variable for event in (*branch.positive, *branch.negated)}
        for each in Repetitions(unrolled(query).groups, names).bounds(bound):
            ends = {each.first, each.last}
            if ends <= names and ends & open_ended:
                absent = (node for node in walk(query.structure) if isinstance(node, Not | Opt))
                own = {bound.first, bound.last}
                return next(n for n in absent if own & {e.variable for e in events_of(n)})
    return None


def _check_window(bound: StepBound) -> None:
    if isinstance(bound.window, CountWindow):
        raise PatternError(
            "a number of events between two events of a match",
            expected="a duration, as in WITHIN 5 minutes FROM a TO c",
            hint="WITHIN 100 EVENTS without FROM is about the whole match",
            span=bound.window.span or bound.span,
        )
    refuse_too_long(bound.window)


def _check_ends(bound: StepBound, query: Query) -> None:
    names = tuple(event.variable for event in events_of(query.structure))
    for name in (bound.first, bound.last):
        if name not in names:
            problem = f"'{name}' is not a variable of the pattern"
            raise PatternError.unknown(problem, name, names, span=bound.span)
    if bound.first == bound.last and bound.first not in repeated_in(query.structure):
        raise PatternError(
            f"the time from '{bound.first}' to itself, which is one event",
            expected="two events, or a set: its first and last member",
            span=bound.span,
        )
    ends = {bound.first, bound.last}
    together = any(ends <= names for names in together_in(query.structure))
    if ends <= absent_in(query.structure) and not together:
        raise PatternError(
            f"the time between two absent events, '{bound.first}' and '{bound.last}'",
            expected="events under at most one NOT",
            span=bound.span,
        )


def _check_order(bound: StepBound, query: Query) -> None:
    orders = []
    for branch in normal_form(query):
        names = {event.variable for event in (*branch.positive, *branch.negated)}
        repetitions = Repetitions(unrolled(query).groups, names)
        pairs = [(each.last, each.first) for each in repetitions.bounds(bound)]
        if all(names.issuperset(pair) for pair in pairs):
            orders.append(branch.order.issuperset(pairs))
    if not orders:
        raise PatternError(
            f"'{bound.first}' and '{bound.last}' stand in two branches of an OR",
            expected="variables that a match can have together",
            hint="write one bound for each branch",
            span=bound.span,
        )
    if all(orders):
        turned = StepBound(bound.last, bound.first, bound.window)
        raise PatternError(
            f"'{bound.last}' is before '{bound.first}'",
            hint=f"write {bound_text(turned)}",
            span=bound.span,
        )
