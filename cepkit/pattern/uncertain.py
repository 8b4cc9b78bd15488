"""Patterns whose clocks are uncertain: what a match demands of its times, and a wider pattern.

SEQ, windows and bounds are differences: the time of one event minus that of another is at most some
microseconds. With clocks that are off by up to `error` each, a match is possible only if it fulfils
them with `2 * error` added; an event surely breaks a NOT if it does with as much taken away. The
wider pattern is an ordinary one (AND, with bounds between the times), so the engine runs it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import combinations

from cepkit.errors import UnsupportedError
from cepkit.pattern.bounds import bound_of
from cepkit.pattern.conditions import (
    TIME,
    AllOf,
    Arithmetic,
    Attribute,
    Comparison,
    Expression,
    Literal,
    attributes_of,
    conjuncts,
    variables_of,
)
from cepkit.pattern.nodes import (
    And,
    Event,
    First,
    Kleene,
    Next,
    Not,
    Opt,
    Seq,
    Structure,
    events_of,
    walk,
)
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.policies import CountWindow, Strategy, TimeWindow
from cepkit.pattern.printer import expression_text, structure_text
from cepkit.pattern.query import Query
from cepkit.pattern.rewrite import renamed
from cepkit.pattern.trees import mapped

CERTAINTY = "certainty"
"""The column that says whether a match is certain."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A demand: the time of `later` minus that of `earlier` is at most `most` microseconds.

    That `a` is before `b` is one as well: `a` minus `b` is at most -1, as times are whole.
    """

    later: str
    earlier: str
    most: int

    @property
    def about(self) -> frozenset[str]:
        """Both variables."""
        return frozenset((self.later, self.earlier))


def differences_of(branch: Branch) -> tuple[Difference, ...]:
    """Return what a branch demands of times; of those that compare the same two, the strictest."""
    positive = branch.variables
    most = {(x, y): -1 for x, y in branch.order if x in positive or y in positive}
    pairs = list(combinations(positive, 2))
    pairs += [(x, event.variable) for x in positive for event in branch.negated]
    limits = [(one, branch.window.most) for one in pairs] if branch.window is not None else []
    bounds = [bound for c in branch.conditions if (bound := bound_of(c)) is not None]
    limits += [((bound.first, bound.last), bound.window.most) for bound in bounds]
    for (x, y), limit in limits:
        for pair in ((x, y), (y, x)):
            most[pair] = min(most.get(pair, limit), limit)
    return tuple(Difference(*pair, limit) for pair, limit in sorted(most.items()))


def check_uncertain(query: Query, time: str) -> None:
    """Check that matches under uncertain clocks are defined for a query.

    Args:
        query: The query.
        time: The column of the time.

    Raises:
        UnsupportedError: They are not.
    """
    names = [event.variable for event in events_of(query.written)]
    for name in names:
        if names.count(name) > 1:
            raise _refusal(f"'{name}' in several choices of an OR", "a name of its own in each")
    if CERTAINTY in names or any(each.name == CERTAINTY for each in query.returned):
        raise _refusal(f"a column '{CERTAINTY}'", "another name: the result has that column")
    for node in walk(query.written):
        problem, hint = _problem(node)
        if problem:
            raise _refusal(f"{problem} {structure_text(node)}", hint)
    windows = [query.window, *(bound.window for bound in query.bounds)]
    if query.strategy is not Strategy.SKIP_TILL_ANY_MATCH or query.after_match is not None:
        what = "AFTER MATCH SKIP" if query.after_match else f"STRATEGY {query.strategy}"
        raise _refusal(f"{what}, as it chooses by the order of events", "leave it out")
    if any(isinstance(window, CountWindow) for window in windows):
        raise _refusal(
            "a window in events, as it counts in the order of events", "WITHIN 5 minutes, say"
        )
    if any(isinstance(window, TimeWindow) and window.days is not None for window in windows):
        raise _refusal("a window in calendar days", "WITHIN 24 hours, say")
    for condition in conjuncts(query.where):
        if any(name == time for _, name in attributes_of(condition)):
            raise _refusal(
                f"the condition {expression_text(condition)}, which reads the time",
                "WITHIN 5 seconds FROM a TO c bounds the time between two events",
            )
    branches = normal_form(query)
    if len({frozenset(branch.variables) for branch in branches}) < len(branches):
        raise _refusal("an OR of absences", "detect one pattern for each choice")
    for branch in branches:
        for one, other in combinations(branch.negated, 2):
            if one.overlaps(other):
                raise _refusal(
                    f"one event could break both NOT of '{one.variable}' and of '{other.variable}'",
                    "absent events of one type each",
                )


def _refusal(what: str, hint: str) -> UnsupportedError:
    return UnsupportedError(f"clock_error= with {what}", hint=hint)


def _problem(node: Structure) -> tuple[str, str]:
    """Return why an operator has no meaning here, and what to do; empty if it has one."""
    match node:
        case Kleene():
            return "a set of events", "write its events one by one, as SEQ(A a, B b1, B b2)"
        case First() | Next():
            return "the first or next event in the order of time", "leave FIRST or NEXT out"
        case Opt(greedy=True):
            return "a choice that depends on the order of events", "OPT without GREEDY"
        case Not(item) if not isinstance(item, Event):
            return "several events that are absent together", "NOT of a single event"
        case _:
            return "", ""


def widened(query: Query, error: int, present: str | None = None) -> Query:
    """Return a query with all possible matches, and perhaps others, in any order.

    An event breaks its NOT if it surely lies in its place.

    Args:
        query: One that passed `check_uncertain`.
        error: The greatest error of a clock in microseconds.
        present: A negated variable. Its matches also bind, as `present_name`, each event that may
            lie in the place of that NOT.
    """
    branches = normal_form(query)
    absent = frozenset(event.variable for branch in branches for event in branch.negated)
    window = query.window.most if query.window is not None else None
    where = list(conjuncts(query.where))
    copies = {} if present is None else {present: present_name(query, present)}
    where += [renamed(c, copies) for c in where if {*copies} & variables_of(c)]
    for one in dict.fromkeys(one for branch in branches for one in differences_of(branch)):
        of_absent = one.about & absent
        if not of_absent and one.most == window:
            continue  # the window of the query
        where.append(_condition(one, -2 * error if of_absent else 2 * error))
        if present in one.about and one.most != window:
            where.append(renamed(_condition(one, 2 * error), copies))
    return replace(
        query,
        structure=_unordered(query.written, copies),
        where=AllOf(tuple(where)) if len(where) > 1 else where[0] if where else None,
        window=None if window is None else TimeWindow(window + 2 * error),
        bounds=(),
        returned=query.returned if present is None else (),
        text=None,
    )


def present_name(query: Query, variable: str) -> str:
    """Return a name, used by no other variable, for an event in the place of a NOT."""
    used = {event.variable for event in events_of(query.written)}
    name = f"present {variable}"
    while name in used:
        name += "'"
    return name


def _condition(one: Difference, margin: int) -> Expression:
    gap = Arithmetic("-", Attribute(one.later, TIME), Attribute(one.earlier, TIME))
    return Comparison("<=", gap, Literal(timedelta(microseconds=one.most + margin)))


def _unordered(structure: Structure, copies: dict[str, str]) -> Structure:
    """Return a structure with AND for SEQ, and with the copies of absent events beside these."""
    match structure:
        case Seq(items) | And(items):
            return And(tuple(_unordered(item, copies) for item in items))
        case Not(Event(variable) as event) if variable in copies:
            return And((structure, replace(event, variable=copies[variable])))
        case _:
            return mapped(structure, lambda item: _unordered(item, copies))
