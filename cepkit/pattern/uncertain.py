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
    Arithmetic,
    Attribute,
    Comparison,
    Expression,
    Literal,
    Negative,
    all_of,
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
    absent_in,
    events_of,
    walk,
)
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.policies import CountWindow, Strategy, TimeWindow, in_microseconds
from cepkit.pattern.printer import expression_text, structure_text
from cepkit.pattern.query import Query
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
    """Return the bounds on differences of times in a branch: the strictest of each pair."""
    positive = branch.variables
    most = {(x, y): -1 for x, y in branch.order if x in positive or y in positive}
    pairs = list(combinations(positive, 2))
    pairs += [(x, event.variable) for x in positive for event in branch.negated]
    limits = [(one, branch.window.most) for one in pairs] if branch.window is not None else []
    for one in filter(None, map(_difference_of, branch.conditions)):
        pair = one.later, one.earlier
        most[pair] = min(most.get(pair, one.most), one.most)
    bounds = [bound for c in branch.conditions if (bound := bound_of(c)) is not None]
    limits += [((bound.first, bound.last), bound.window.most) for bound in bounds]
    for (x, y), limit in limits:
        for pair in ((x, y), (y, x)):
            most[pair] = min(most.get(pair, limit), limit)
    return tuple(Difference(*pair, limit) for pair, limit in sorted(most.items()))


def uncertain_query(query: Query, time: str) -> Query:
    """Return a query whose conditions on the time column are differences, in microseconds.

    Args:
        query: The query.
        time: The column of the time.

    Raises:
        UnsupportedError: Matches under uncertain clocks are not defined for it.
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
    query = _with_differences(query, time)
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
    return query


def _with_differences(query: Query, time: str) -> Query:
    absent = absent_in(query.written)
    where: list[Expression] = []
    for condition in conjuncts(query.where):
        if all(name != time for _, name in attributes_of(condition)):
            where.append(condition)
            continue
        differences = _differences(condition, time)
        if not differences or variables_of(condition) <= absent:
            raise _refusal(
                f"the condition {expression_text(condition)}, which reads the time",
                f"a bound of the time between two events, as b.{time} - a.{time} <= 5 seconds",
            )
        where += [_stored(each) for each in differences]
    return replace(query, where=all_of(where))


def _differences(condition: Expression, time: str) -> list[Difference]:
    """Return the differences that a comparison of two times demands; none for other conditions."""
    match condition:
        case Comparison("<" | "<=" | ">" | ">=" | "=" as sign, left, right):
            terms = _terms(Arithmetic("-", left, right), time)
        case _:
            return []
    if terms is None or sorted(factor for name, factor in terms.items() if name) != [-1, 1]:
        return []
    one, other = sorted(filter(None, terms), key=lambda name: -terms[name])
    constant, strict = terms.get("", 0), sign in ("<", ">")
    forward, backward = (
        Difference(one, other, -constant - strict),
        Difference(other, one, constant - strict),
    )
    if sign == "=":
        return [forward, backward]
    return [forward] if sign in ("<", "<=") else [backward]


def _terms(value: Expression, time: str) -> dict[str, int] | None:
    """Return the factors of the times of variables, and of "" the microseconds besides."""
    match value:
        case Attribute(variable, name) if name == time:
            return {variable: 1}
        case Literal(timedelta() as length):
            return {"": in_microseconds(length)}
        case Negative(operand):
            return _terms(Arithmetic("-", Literal(timedelta()), operand), time)
        case Arithmetic("+" | "-" as sign, left, right):
            terms, others = _terms(left, time), _terms(right, time)
            if terms is None or others is None:
                return None
            for name, factor in others.items():
                terms[name] = terms.get(name, 0) + (factor if sign == "+" else -factor)
            return {name: factor for name, factor in terms.items() if factor}
        case _:
            return None


def _stored(one: Difference) -> Expression:
    """Return a difference as a condition; `bound_of` takes it for no bound of a step."""
    gap = Arithmetic("-", Attribute(one.earlier, TIME), Attribute(one.later, TIME))
    return Comparison(">=", gap, Literal(timedelta(microseconds=-one.most)))


def _difference_of(condition: Expression) -> Difference | None:
    """Return the difference of a condition from `_stored`; None for any other."""
    match condition:
        case Comparison(
            ">=",
            Arithmetic("-", Attribute(earlier, name), Attribute(later, other)),
            Literal(timedelta() as least),
        ) if name == other == TIME:
            return Difference(later, earlier, -in_microseconds(least))
        case _:
            return None


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


def widened(query: Query, error: int, *, breaking: bool = False) -> Query:
    """Return a query with all possible matches, and perhaps others, in any order.

    Args:
        query: From `uncertain_query`.
        error: The greatest error of a clock in microseconds.
        breaking: Whether all events that may lie in the place of a NOT break it; else only those
            that surely do.
    """
    branches = normal_form(query)
    absent = absent_in(query.written)
    window = query.window.most if query.window is not None else None
    where = [c for c in conjuncts(query.where) if _difference_of(c) is None]
    for one in dict.fromkeys(one for branch in branches for one in differences_of(branch)):
        if one.about & absent:
            where.append(_condition(one, 2 * error if breaking else -2 * error))
        elif one.most != window:  # else it is the window of the query
            where.append(_condition(one, 2 * error))
    return replace(
        query,
        structure=_unordered(query.written),
        where=all_of(where),
        window=None if window is None else TimeWindow(window + 2 * error),
        bounds=(),
        text=None,
    )


def _condition(one: Difference, margin: int) -> Expression:
    gap = Arithmetic("-", Attribute(one.later, TIME), Attribute(one.earlier, TIME))
    return Comparison("<=", gap, Literal(timedelta(microseconds=one.most + margin)))


def _unordered(structure: Structure) -> Structure:
    """Return a structure with AND for SEQ."""
    if isinstance(structure, Seq | And):
        return And(tuple(map(_unordered, structure.items)))
    return mapped(structure, _unordered)
