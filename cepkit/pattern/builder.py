"""Queries written in Python: the same frozen values that a text gives.

For example::

    a, b = var("a"), var("b")
    rising = (
        seq(event("a", "MSFT"), event("b", "GOOG"))
        .where(a.price < b.price)
        .within("4 hours")
    )
    rising.query == parse("PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price WITHIN 4 hours")

The nodes themselves compare by value, so conditions are built from wrappers (terms.py) whose
operators make nodes. Every step returns a new value; nothing is changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from numbers import Real
from typing import cast

from cepkit.arguments import typed
from cepkit.errors import ArgumentError, PatternError, shown
from cepkit.pattern import nodes as n
from cepkit.pattern.checks import check
from cepkit.pattern.conditions import Aggregate, AllOf, Comparison, Expression, all_of
from cepkit.pattern.kinds import lowered, resolved
from cepkit.pattern.parsing.parser import parse, parse_condition, parse_part, parse_window
from cepkit.pattern.policies import CountWindow, StepBound, Strategy, TimeWindow, Window
from cepkit.pattern.printer import to_text
from cepkit.pattern.query import Query, ResultColumn
from cepkit.pattern.terms import (
    Term,
    Variable,
    aggregate_of,
    avg,
    count,
    expression_of,
    first,
    fn,
    kind,
    last,
    max_,
    min_,
    prev,
    running,
    same_day,
    same_week,
    sum_,
    var,
)
from cepkit.pattern.zones import known_zone

__all__ = [
    "Pattern", "Term", "Variable", "and_", "any_event", "as_query", "avg", "count", "event",
    "first", "first_of", "fn", "kind", "kl", "last", "max_", "min_", "not_", "opt", "or_", "prev",
    "running", "same_day", "same_week", "seq", "sum_", "var",
]  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Pattern:
    """A query under construction; every function that takes a query takes it.

    `event`, `any_event`, `seq`, `and_`, `or_`, `not_`, `kl`, `first_of` and `opt` return one.
    """

    parts: Query

    @property
    def query(self) -> Query:
        """The finished query.

        Raises:
            PatternError: The query means nothing (`checks.check`).
        """
        return check(lowered(self.parts))

    def where(self, *conditions: Term | str) -> Pattern:
        """Return the pattern with more conditions; all must hold.

        Args:
            conditions: Terms built from variables (`var`), or texts as after WHERE.
        """
        items: list[Expression] = []
        for condition in (self.parts.where, *map(_condition, conditions)):
            if isinstance(condition, AllOf):
                items.extend(condition.items)
            elif condition is not None:
                items.append(condition)
        return Pattern(replace(self.parts, where=all_of(items)))

    def within(
        self,
        duration: str | timedelta | None = None,
        *,
        events: int | None = None,
        exclusive: bool = False,
        between: tuple[Variable | str, Variable | str] | None = None,
    ) -> Pattern:
        """Return the pattern with a window, or with a bound between two of its events.

        Args:
            duration: ``"4 hours"`` as after WITHIN, or a timedelta.
            events: A number of events, in place of a duration.
            exclusive: Whether events exactly a window apart are too far apart.
            between: Two variables, the earlier one first. The duration then bounds these two
                events, as WITHIN with FROM and TO.

        Example:
            >>> pattern = seq(event("a", "A"), event("b", "B"), event("c", "C"))
            >>> print(pattern.within("1 hour").within("5 minutes", between=("a", "b")))
            PATTERN SEQ(A a, B b, C c)
            WITHIN 1 hour
            WITHIN 5 minutes FROM a TO b
        """
        window = _window(duration, events, exclusive)
        if between is None:
            return Pattern(replace(self.parts, window=window))
        bound = StepBound(*_two_variables(between), window)
        return Pattern(replace(self.parts, bounds=(*self.parts.bounds, bound)))

    @typed
    def at_time_zone(self, zone: str) -> Pattern:
        """Return the pattern with the zone of its clock, as ``"Europe/Rome"``."""
        return Pattern(replace(self.parts, zone=known_zone(zone)))

    @typed
    def strategy(self, name: str) -> Pattern:
        """Return the pattern with a selection strategy, such as ``"skip-till-next-match"``."""
        try:
            return Pattern(replace(self.parts, strategy=Strategy(name)))
        except ValueError:
            raise PatternError.unknown(f"'{name}' is not a strategy", name, Strategy) from None

    @typed
    def partition_by(self, *attributes: str) -> Pattern:
        """Return the pattern with attributes whose values all events of a match share."""
        return Pattern(replace(self.parts, partition_by=attributes))

    @typed
    def agg(self, *aggregates: Term | str) -> Pattern:
        """Return the pattern with aggregates: it asks for these instead of its matches.

        Args:
            aggregates: ``count()``, ``sum_(c.w)`` ..., or texts as after AGG.
        """
        items: list[Aggregate] = []
        for item in aggregates:
            if isinstance(item, str):
                items += parse_part(item, "aggregates")
            else:
                items.append(aggregate_of(item))
        return Pattern(replace(self.parts, aggregates=tuple(items)))

    @typed
    def group_by(self, *attributes: str) -> Pattern:
        """Return the pattern with attributes that group its aggregates."""
        return Pattern(replace(self.parts, group_by=attributes))

    @typed
    def having(self, *thresholds: Term | str) -> Pattern:
        """Return the pattern with thresholds that the rows of its aggregates satisfy.

        Args:
            thresholds: ``count() > 10``, or texts as after HAVING.
        """
        items: list[Comparison] = []
        for item in thresholds:
            if isinstance(item, str):
                items += parse_part(item, "thresholds")
                continue
            expression = expression_of(item)
            if not isinstance(expression, Comparison):
                raise PatternError(f"{shown(item)} is no threshold", expected="count() > 10")
            items.append(expression)
        return Pattern(replace(self.parts, having=tuple(items)))

    @typed
    def after_match(self, skip: str) -> Pattern:
        """Return the pattern with the place where the next match may start.

        Args:
            skip: As after AFTER MATCH SKIP: ``"PAST LAST EVENT"``, ``"TO FIRST b"``.
        """
        return Pattern(replace(self.parts, after_match=parse_part(skip, "skip")))

    @typed
    def returns(self, *results: str, **named: Term | str) -> Pattern:
        """Return the pattern with columns for its matches.

        Args:
            results: Texts as after RETURN: ``"a.price, max(b.price) AS top"``.
            named: Terms built from variables (`var`), or texts, by the names of their columns.

        Example:
            >>> a, b = var("a"), var("b")
            >>> rising = seq(event("a", "A"), event("b", "B"))
            >>> print(rising.returns(paid=a.price, gain=b.price - a.price))
            PATTERN SEQ(A a, B b)
            RETURN a.price AS paid, b.price - a.price AS gain
        """
        columns = [column for text in results for column in parse_part(text, "results")]
        for name, value in named.items():
            if isinstance(value, str):
                columns.append(ResultColumn(name, parse_part(value, "results")[0].value))
            else:
                columns.append(ResultColumn(name, expression_of(value)))
        return Pattern(replace(self.parts, returned=tuple(columns)))

    def __str__(self) -> str:
        return to_text(lowered(self.parts))

    def __repr__(self) -> str:
        return f"<Pattern\n{self}>"


@typed
def event(variable: str, *types: str | n.Kind) -> Pattern:
    """Return one event of any of `types`, bound to `variable`; the type defaults to that name.

    Args:
        variable: Its name in the pattern.
        types: Types, or kinds from `kind`.

    Example:
        >>> print(seq(event("a", "MSFT"), event("b", "GOOG", "AAPL")))
        PATTERN SEQ(MSFT a, b IN (AAPL, GOOG))
    """
    for each in types:
        if not isinstance(each, str | n.Kind):
            raise ArgumentError(f"types={shown(each)}", expected="texts, or kinds from `kind`")
    names = [each.name if isinstance(each, n.Kind) else each for each in types]
    node = n.Event(variable, frozenset(names or (variable,)))
    return Pattern(Query(resolved(node, [each for each in types if isinstance(each, n.Kind)])))


@typed
def any_event(variable: str) -> Pattern:
    """Return one event of any type, bound to `variable`."""
    return Pattern(Query(n.Event(variable, None)))


def seq(*items: Pattern | n.Structure) -> Pattern:
    """Return all items, each strictly later than the one before it."""
    return Pattern(Query(n.Seq(tuple(map(_structure, items)))))


def and_(*items: Pattern | n.Structure) -> Pattern:
    """Return all items, in any order."""
    return Pattern(Query(n.And(tuple(map(_structure, items)))))


def or_(*items: Pattern | n.Structure) -> Pattern:
    """Return one of the items."""
    return Pattern(Query(n.Or(tuple(map(_structure, items)))))


def not_(item: Pattern | n.Structure) -> Pattern:
    """Return the absence of an event, or of several together: `not_(seq(...))`."""
    return Pattern(Query(n.Not(_structure(item))))


def first_of(item: Pattern | n.Structure) -> Pattern:
    """Return the first event that fits `item` after the events before it in a sequence.

    Example:
        >>> print(seq(event("a", "A"), first_of(event("b", "B"))))
        PATTERN SEQ(A a, FIRST B b)
    """
    return Pattern(Query(n.preceded(n.First, _structure(item))))


def next_of(item: Pattern | n.Structure) -> Pattern:
    """Return the very next event of the partition, which must fit `item`.

    Example:
        >>> print(seq(event("a", "A"), next_of(event("b", "B"))))
        PATTERN SEQ(A a, NEXT B b)
    """
    return Pattern(Query(n.preceded(n.Next, _structure(item))))


@typed
def opt(item: Pattern | n.Structure, *, greedy: bool = False) -> Pattern:
    """Return the item as optional; if `greedy`, it is left out only where none fits."""
    return Pattern(Query(n.Opt(_structure(item), greedy=greedy)))


@typed
def kl(
    item: Pattern | n.Structure,
    minimum: int = 1,
    maximum: int | None = None,
    *,
    greedy: bool = False,
    until: Pattern | n.Structure | None = None,
) -> Pattern:
    """Return a set of `minimum` to `maximum` events (None: no upper bound).

    Args:
        item: The event, or the group of events, that repeats.
        minimum: The least number of members; 0: the set is optional.
        maximum: The greatest number of members.
        greedy: Whether the set goes on as long as it can.
        until: The event before which the set ends.

    Example:
        >>> print(seq(event("a", "A"), kl(event("b", "B"), until=event("c", "C"))))
        PATTERN SEQ(A a, KL(B b) UNTIL C c)
        >>> print(seq(event("a", "A"), kl(event("b", "B"), greedy=True), event("c", "C")))
        PATTERN SEQ(A a, KL(B b) GREEDY, C c)
    """
    end = None if until is None else cast("n.Event", _structure(until))  # or checks refuse it
    kleene = n.Kleene(_structure(item), minimum, maximum, greedy=greedy, until=end)
    return Pattern(Query(n.optional_set(kleene)))


def as_query(pattern: Query | Pattern | str) -> Query:
    """Return a text or a builder's value as a checked query.

    Raises:
        PatternError: The pattern is of another type, or means nothing.
    """
    match pattern:
        case str():
            return parse(pattern)
        case Pattern():
            return pattern.query
        case Query():
            return check(pattern)
    raise PatternError(
        f"a pattern of the type {type(pattern).__name__}",
        expected="a text, a Query, or a Pattern as seq(...) returns it",
        hint="are two arguments swapped?"
        if type(pattern).__module__.startswith("cepkit.")
        else None,
    )


def _window(duration: object, events: int | None, exclusive: bool) -> Window:
    _check_window(events, exclusive)
    if (duration is None) == (events is None):
        raise PatternError(
            "a window of " + ("nothing" if duration is None else "both a duration and events"),
            expected='within("4 hours"), within(timedelta(hours=4)) or within(events=100)',
        )
    if events is not None:
        return CountWindow(int(events), exclusive)
    if isinstance(duration, timedelta):
        return TimeWindow(duration // timedelta(microseconds=1), exclusive)
    if not isinstance(duration, str):
        seconds = f"{shown(duration)} seconds" if isinstance(duration, Real) else "4 hours"
        raise PatternError(
            f"a window of {shown(duration)}",
            expected="a duration with its unit",
            hint=f'within("{seconds}")',
        )
    window = parse_window(duration)
    return replace(window, exclusive=exclusive or window.exclusive)


def _two_variables(between: object) -> tuple[str, str]:
    if isinstance(between, tuple) and len(between) == 2:
        first, last = between
        if isinstance(first, Variable | str) and isinstance(last, Variable | str):
            return str(first), str(last)
    raise PatternError(
        f"a bound between {shown(between)}", expected='two variables, as in between=("a", "c")'
    )


@typed
def _check_window(events: int | None, exclusive: bool) -> None:
    """Check the types of a window's settings; `typed` does it."""


def _structure(item: Pattern | n.Structure) -> n.Structure:
    match item:
        case Pattern(parts):
            if parts != Query(parts.structure):
                raise PatternError(
                    "a part of a pattern has its own condition, window or other clause",
                    expected="such clauses on the whole pattern only",
                    hint="call .where(), .within() ... after the outermost seq(...) is closed",
                )
            return parts.structure
        case (
            n.Event()
            | n.Seq()
            | n.And()
            | n.Or()
            | n.Not()
            | n.Kleene()
            | n.First()
            | n.Next()
            | n.Opt()
        ):
            return item
    raise PatternError(
        f"{shown(item)} as a part of a pattern",
        expected='event("a", "MSFT"), or a Pattern as seq(...) returns it',
    )


def _condition(condition: Term | str) -> Expression:
    return parse_condition(condition) if isinstance(condition, str) else expression_of(condition)
