"""Queries that A-Seq can aggregate, and the reason if it cannot.

A sequence has positions with filters, perhaps events that must not come between two positions, keys
on which all its events agree, and a window in time. A position of KL takes any set of events that
fit it one by one: a counter that also feeds itself counts them. Anything more needs the matches
themselves; the reason names it.

Source: ASEQ, sections 3.3 and 3.4; counters that feed themselves are those of GRETA.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import NoReturn, TypeAlias, assert_never

from cepkit.errors import Span, UnsupportedError
from cepkit.pattern import nodes as n
from cepkit.pattern import requirements as req
from cepkit.pattern.conditions import (
    AllOf,
    Attribute,
    Comparison,
    Expression,
    attributes_of,
    conjuncts,
    has_set_functions,
    variables_of,
)
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.policies import CountWindow, Strategy
from cepkit.pattern.printer import expression_text
from cepkit.pattern.query import Query
from cepkit.pattern.rewrite import without_not

_Link: TypeAlias = tuple[Attribute, Attribute]
Member: TypeAlias = tuple[str, str]
"""(variable, attribute)"""


@dataclass(frozen=True, slots=True)
class EventSequence:
    """A query that prefix counting can aggregate.

    Attributes:
        positive: The events, each strictly later than the one before it.
        negated: (p, event): no such event between the positions p and p + 1, counted from 1.
        filters: For each variable the conditions on its events, without NOT (`rewrite`).
        constants: Conditions without any event.
        keys: For each key the attribute of each variable; equal, and not missing, in a match.
        partition_by: Attributes on which events agree; missing agrees with missing.
        group_by: The attributes among them that group the aggregates.
        window: The greatest difference of times in microseconds, None for any; negative if no match
            is possible.
        repeated: The variables of KL: any set of events takes the position.
    """

    positive: tuple[n.Event, ...]
    negated: tuple[tuple[int, n.Event], ...]
    filters: tuple[tuple[str, tuple[Expression, ...]], ...]
    constants: tuple[Expression, ...]
    keys: tuple[tuple[Member, ...], ...]
    partition_by: tuple[str, ...]
    group_by: tuple[str, ...]
    window: int | None
    repeated: frozenset[str] = frozenset()

    @property
    def places(self) -> tuple[str, ...]:
        """The variable of each position of prefixes.

        A set with an absence right after it has two: first the prefixes that such an event has
        ended, which only a further member continues, then the others.
        """
        ended = {self.positive[p - 1].variable for p, _ in self.negated} & self.repeated
        return tuple(v for e in self.positive for v in (e.variable,) * (1 + (e.variable in ended)))

    @property
    def attributes(self) -> frozenset[str]:
        """The columns that it reads, without those of aggregates."""
        parts = [c for _, conditions in self.filters for c in conditions]
        names = {name for part in parts for _, name in attributes_of(part)}
        names |= {name for key in self.keys for _, name in key}
        return frozenset(names | set(self.partition_by))


def sequence_of(query: Query) -> EventSequence:
    """Return the query as a sequence.

    Raises:
        UnsupportedError: It is not a sequence; the error names the part and points at it.
    """
    if query.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
        _refuse(f"the strategy {query.strategy.value} chooses among matches")
    if query.after_match is not None:
        _refuse("AFTER MATCH SKIP chooses among matches")
    if isinstance(query.window, CountWindow):
        _refuse("a window in events counts events of every type")
    if query.groups:
        _refuse("a group that repeats has sets of events")
    _check_sequence(query.structure)
    (branch,) = normal_form(query)
    positive = branch.positive
    repeated = frozenset(variable for variable, _, _ in branch.repeated)
    negated = tuple(
        (len(branch.before(event.variable) & {*branch.variables}), event)
        for event in branch.negated
    )
    filters: dict[str, list[Expression]] = {}
    constants: list[Expression] = []
    links: list[_Link] = []
    absent = frozenset(event.variable for _, event in negated)
    for condition in branch.conditions:
        # The condition of an absent event stays whole; other conditions are split at AND.
        if has_set_functions(condition):
            _refuse(
                f"the condition {expression_text(condition)} is about a whole set",
                _span(condition),
            )
        expression = without_not(condition)
        parts = (expression,) if variables_of(condition) & absent else conjuncts(expression)
        for part in parts:
            about = variables_of(part)
            if len(about) > 1:
                links.append(_link(part, condition))
            elif about:
                filters.setdefault(min(about), []).append(part)
            else:
                constants.append(part)
    keys = []
    for members in _classes(links, absent):
        keys.append(_key(members, branch, links))
        for one, other in combinations(sorted(members), 2):
            if one[0] == other[0]:  # a.k = b.k AND a.j = b.k implies a condition on a alone
                same = Comparison("=", Attribute(*one), Attribute(*other))
                filters.setdefault(one[0], []).append(same)
    return EventSequence(
        positive,
        negated,
        tuple((variable, tuple(parts)) for variable, parts in filters.items()),
        tuple(constants),
        tuple(keys),
        tuple(dict.fromkeys((*query.partition_by, *query.group_by))),
        query.group_by,
        _window_of(branch),
        repeated,
    )


def _window_of(branch: Branch) -> int | None:
    """Return the greatest time between two events of a sequence; None for any."""
    length = None
    for requirement in req.requirements_of(branch):
        match requirement:
            case req.Within(window):
                length = window.most
            case req.SideBySide() | req.Unconsumed() | req.Size():
                raise AssertionError("refused above")
            case req.OfType() | req.Before() | req.Distinct() | req.SamePartition():
                pass  # each event has a place of its own in a sequence of one partition
            case req.Holds() | req.Absent():
                pass
            case _:
                assert_never(requirement)
    return length


def _check_sequence(structure: n.Structure) -> None:
    began = False
    last: n.Event | None = None  # must be absent after all events so far
    items = tuple(_items(structure))
    match items[:2]:
        case n.Kleene(n.Event(variable)), (n.First(n.Event()) | n.Not(n.Event())) as beside:
            name = n.events_of(beside)[0].variable
            _refuse(f"'{name}' depends on where the first set, '{variable}', ends", beside.span)
    for item in items:
        match item:
            case (
                n.Event()
                | n.First(n.Event())
                | n.Kleene(n.Event(), 1, None, greedy=False, until=None)
            ):
                began, last = True, None
            case n.Kleene(n.Event(variable), greedy=False, until=None):
                _refuse(f"only sets of any size are counted: '{variable}' is bounded", item.span)
            case n.Next(n.Event(variable)) | n.Not(n.Next(n.Event(variable))):
                _refuse(f"whether '{variable}' came next depends on all events", item.span)
            case n.Not(n.Seq() | n.And()):
                names = " and ".join(f"'{event.variable}'" for event in n.events_of(item))
                _refuse(f"{names} must be absent together", item.span)
            case n.Not(n.Event() as event) if not began:
                _refuse(f"'{event.variable}' must be absent before the first event", item.span)
            case n.Not(n.Event() as event):
                last = last or event
            case n.And() | n.Or():
                name = "AND" if isinstance(item, n.And) else "OR"
                _refuse(f"{name} is not a sequence", item.span)
            case n.Opt():
                _refuse("OPT leaves events out", item.span)
            case _:
                _refuse("events beside a set decide its members", item.span)
    if last is not None:
        _refuse(f"'{last.variable}' must be absent after the last event", last.span)


def _items(structure: n.Structure) -> Iterable[n.Structure]:
    if isinstance(structure, n.Seq):
        for item in structure.items:
            yield from _items(item)
    elif isinstance(structure, n.Not) and len(n.events_of(structure)) == 1:
        (event,) = n.events_of(structure.item)  # SEQ(B b) is B b
        yield structure if isinstance(structure.item, n.Next) else n.Not(event, structure.span)
    else:
        yield structure


def _link(part: Expression, condition: Expression) -> _Link:
    match part:
        case Comparison("=", Attribute() as left, Attribute() as right) if (
            left.variable != right.variable
        ):
            return left, right
    return _refuse(
        f"the condition {expression_text(condition)} compares events of a match", _span(condition)
    )


def _span(condition: Expression) -> Span | None:
    if isinstance(condition, AllOf):
        return condition.items[0].span
    return condition.span


def _classes(links: Iterable[_Link], absent: frozenset[str]) -> list[set[Member]]:
    """Return the classes of equal attributes: a.k = b.k and b.k = c.k make one class.

    An absent event does not merge classes: it joins the class that it is compared with.
    """
    classes: list[set[Member]] = []
    about_absent = []
    for link in links:
        if {attribute.variable for attribute in link} & absent:
            about_absent.append(link)
            continue
        new = {(attribute.variable, attribute.name) for attribute in link}
        apart = []
        for known in classes:
            if known & new:
                new |= known
            else:
                apart.append(known)
        classes = [*apart, new]
    for link in about_absent:
        new = {(attribute.variable, attribute.name) for attribute in link}
        joined = next((known for known in classes if known & new), None)
        if joined is None:
            _refuse(
                f"{expression_text(Comparison('=', *link))} does not partition the stream: the "
                "other events need not agree",
                link[0].span,
            )
        joined |= new
    return classes


def _key(members: set[Member], branch: Branch, links: Iterable[_Link]) -> tuple[Member, ...]:
    events = branch.positive + branch.negated
    by_variable = dict(sorted(members, reverse=True))
    left_out = [event for event in events if event.variable not in by_variable]
    if left_out:
        first = left_out[0].earlier_than
        what = (
            f"'{left_out[0].variable}'" if first is None else f"the events before FIRST '{first}'"
        )
        left, right = next(
            (left, right) for left, right in links if (left.variable, left.name) in members
        )
        _refuse(
            f"{expression_text(Comparison('=', left, right))} does not include {what}, "
            "so it does not partition the stream",
            left.span,
            hint="equate an attribute of all events, also of absent ones, or write PARTITION BY",
        )
    return tuple((event.variable, by_variable[event.variable]) for event in events)


def _refuse(reason: str, span: Span | None = None, hint: str | None = None) -> NoReturn:
    raise UnsupportedError(
        f"this cannot be aggregated without matches: {reason}",
        expected="a SEQ of single events, and of KL of any size, with conditions on each alone, "
        "keys that all events share, and a window in time",
        hint=hint or "`aggregate` by the method 'auto' detects such matches, and aggregates them",
        span=span,
    )
