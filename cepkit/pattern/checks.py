"""Checks of queries; each error points at its place in the text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never
from weakref import WeakValueDictionary

from cepkit.errors import PatternError, UnsupportedError, nearest
from cepkit.pattern.aggregates import AGGREGATES, NAMES
from cepkit.pattern.condition_checks import Events, check_condition, check_forms
from cepkit.pattern.conditions import Aggregate, Attribute, conjuncts, walk
from cepkit.pattern.limits import refuse_too_deep, refuse_too_large, refuse_too_long
from cepkit.pattern.nodes import And, Event, First, Kleene, Not, Opt, Or, Seq, Structure, events_of
from cepkit.pattern.nodes import walk as walk_structure
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import Strategy
from cepkit.pattern.printer import structure_text
from cepkit.pattern.query import Query

_sound: WeakValueDictionary[int, Query] = WeakValueDictionary()
"""Queries that have been checked. By identity: as values 1, 1.0 and TRUE are equal."""


def check(query: Query) -> Query:
    """Return `query` unchanged if it means something.

    The parser and the builder call it, so that a `Query` in a user's hands is always a sound one.

    Raises:
        PatternError: It does not; the error says where, and what would.
    """
    if _sound.get(id(query)) is query:
        return query
    refuse_too_deep(query.structure)
    refuse_too_deep(query.where)
    _check_structure(query.structure)
    _check_names(query.structure)
    _check_policies(query)
    names = [event.variable for event in events_of(query.structure)]
    if query.where is not None:
        check_forms(query.where)
        events = Events.of(query.structure)
        for condition in conjuncts(query.where):
            check_condition(condition, events)
    _check_aggregates(query, names)
    alone = _may_be_all(query.structure)
    if alone is not None:
        raise PatternError(
            f"a match could consist of nothing but the absence of '{alone.variable}'"
            if isinstance(alone, Event)
            else f"a match could be without any event, as {structure_text(alone)} may be left out",
            expected="at least one event that is not under NOT or OPT, in every branch of an OR",
            span=alone.span,
        )
    _sound[id(query)] = query
    return query


def _may_be_all(structure: Structure) -> Event | Opt | None:
    """Return what may be all of a branch with no event beside it: an absent event, or an OPT."""
    match structure:
        case Opt():
            return structure
        case Not(Event() as event):
            return event
        case Or(items):
            return next((optional for item in items if (optional := _may_be_all(item))), None)
        case Seq(items) | And(items):
            alone = [_may_be_all(item) for item in items]
            return alone[0] if all(alone) else None
        case _:
            return None


def check_attributes(query: Query, known: Iterable[str]) -> None:
    """Check that every attribute that `query` reads is a column of the stream.

    Raises:
        PatternError: One is not.
    """
    columns = tuple(known)
    nodes: list[tuple[str, object]] = [(name, None) for name in query.partition_by]
    nodes += [(name, None) for name in query.group_by]
    expressions = [*conjuncts(query.where), *query.aggregates]
    for expression in expressions:
        for node in walk(expression):
            if isinstance(node, Attribute):
                nodes.append((node.name, node))
            elif isinstance(node, Aggregate) and node.attribute is not None:
                nodes.append((node.attribute, node))
    for name, place in nodes:
        if name not in columns:
            raise PatternError(
                f"the stream has no column '{name}'",
                expected=f"one of {', '.join(sorted(columns))}",
                hint=nearest(name, columns),
                span=place.span if isinstance(place, Attribute | Aggregate) else None,
            )


def _check_structure(structure: Structure) -> None:
    for node in walk_structure(structure):
        match node:
            case Not(item) if not isinstance(item, Event):
                raise PatternError(
                    f"NOT stands around {_name(item)}",
                    expected="a single event, as in NOT(B b)",
                    hint=_instead_of_not(item),
                    span=node.span,
                )
            case Kleene(item) if not isinstance(item, Event):
                raise PatternError(
                    f"KL stands around {_name(item)}",
                    expected="a single event, as in KL(B b)",
                    hint=_one_event_for(item),
                    span=node.span,
                )
            case Opt(item) if isinstance(item, Opt) or _may_be_all(item) is not None:
                raise PatternError(
                    f"OPT stands around {structure_text(item)}, which may be no event",
                    expected="what always has an event, as in OPT(B b)",
                    span=node.span,
                )
            case First(item) if not isinstance(item, Event):
                raise PatternError(
                    f"FIRST stands before {_name(item)}",
                    expected="a single event, as in FIRST B b",
                    span=node.span,
                )
            case Kleene(_, minimum, maximum):
                if minimum < 1 or (maximum is not None and maximum < minimum):
                    raise PatternError(
                        f"KL with bounds {{{minimum},{'' if maximum is None else maximum}}}",
                        expected="{m,n} with 1 <= m <= n",
                        span=node.span,
                    )
            case Seq(items) | And(items) | Or(items) if not items:
                raise PatternError(f"{_name(node)} of nothing", span=node.span)
            case Event(variable, types):
                if not variable:
                    raise PatternError("an event without a variable", span=node.span)
                if types is not None and not types:
                    raise PatternError(f"'{variable}' has an empty list of types", span=node.span)
    _check_firsts(structure, follows=False)
    refuse_too_large(structure)


def _check_firsts(structure: Structure, *, follows: bool) -> bool:
    """Refuse FIRST where nothing is before it; return whether a match always has an event here.

    Args:
        structure: A part of the pattern.
        follows: Whether a match always has an event before this part.
    """
    match structure:
        case Not():
            return False
        case Opt(item):
            _check_firsts(item, follows=follows)
            return False
        case First(Event(variable)):
            if not follows:
                raise PatternError(
                    f"no event is always before FIRST '{variable}'",
                    expected=f"an event before it, as in SEQ(A a, {structure_text(structure)})",
                    hint='a type that is called FIRST stands in double quotes: "FIRST" a',
                    span=structure.span,
                )
            return True
        case Seq(items):
            binds = False
            for item in items:
                binds = _check_firsts(item, follows=follows or binds) or binds
            return binds
        case And(items) | Or(items):
            bound = [_check_firsts(item, follows=follows) for item in items]
            return any(bound) if isinstance(structure, And) else all(bound)
        case _:
            return True


def _check_names(structure: Structure) -> None:
    events = events_of(structure)
    if len({event.variable for event in events}) == len(events):
        return
    _named(structure)
    # A match of two choices would be found twice, or be one of the first alone.
    known: dict[frozenset[str], tuple[Event, ...]] = {}
    for branch in normal_form(Query(structure)):
        names = frozenset(branch.variables)
        other = known.setdefault(names, branch.positive)
        again = [e for e in branch.positive if not any(e is known for known in other)]
        if again:
            raise PatternError(
                f"two choices at an OR have the same variables: {', '.join(sorted(names))}",
                expected="names that tell the choices apart",
                hint="AND(A a, B b) says any order",
                span=again[0].span,
            )


def _named(structure: Structure) -> dict[str, Structure]:
    """Return the events of a part by their names, NOT and KL around them included.

    Raises:
        PatternError: Two that a match could have together have one name, or two of different
            choices differ in more than their place.
    """
    match structure:
        case Event(variable) | Not(Event(variable)) | Kleene(Event(variable)):
            return {variable: structure}
        case First(item) | Opt(item) | Not(item) | Kleene(item):
            return _named(item)
        case Seq(items) | And(items) | Or(items):
            named: dict[str, Structure] = {}
            for item in items:
                for name, part in _named(item).items():
                    _check_same_name(name, named.setdefault(name, part), part, structure)
            return named
        case _:
            assert_never(structure)


def _check_same_name(name: str, one: Structure, other: Structure, around: Structure) -> None:
    if one is other:
        return
    if not isinstance(around, Or):
        raise PatternError(
            f"the variable '{name}' is named twice",
            expected="a name of its own for each event",
            span=events_of(other)[0].span,
        )
    if structure_text(one) != structure_text(other):
        raise PatternError(
            f"'{name}' is {structure_text(one)} in one choice, {structure_text(other)} in another",
            expected="the same event in each choice at an OR, or another name",
            span=events_of(other)[0].span,
        )


def _check_policies(query: Query) -> None:
    refuse_too_long(query.window)
    if query.strategy is Strategy.PARTITION_CONTIGUITY and not query.partition_by:
        raise PatternError(
            "partition-contiguity without partitions",
            hint="add PARTITION BY attribute, or use STRATEGY strict-contiguity",
        )


def _check_aggregates(query: Query, names: list[str]) -> None:
    absent = {
        node.item.variable
        for node in walk_structure(query.structure)
        if isinstance(node, Not) and isinstance(node.item, Event)
    }
    for aggregate in query.aggregates:
        variable = aggregate.variable
        if variable is None and aggregate.attribute is not None:
            raise PatternError(
                f"AGG {aggregate.function.upper()} of '{aggregate.attribute}' of no variable",
                expected=f"a variable, as in {names[0]}.{aggregate.attribute}",
                span=aggregate.span,
            )
        if variable is not None and variable not in names:
            problem = f"'{variable}' is not a variable of the pattern"
            raise PatternError.unknown(problem, variable, names, span=aggregate.span)
        if variable is not None and variable in absent:
            raise PatternError(
                f"AGG {aggregate.function.upper()} of '{variable}', which is under NOT",
                expected="an event that matches have",
                span=aggregate.span,
            )
        definition = AGGREGATES.get(aggregate.function)
        if definition is None:
            raise PatternError(
                f"AGG {aggregate.function.upper()}", expected=NAMES, span=aggregate.span
            )
        if definition.takes != "anything" and aggregate.attribute is None:
            raise PatternError(
                f"AGG {aggregate.function.upper()} of no attribute",
                expected=f"an attribute, as in {aggregate.function.upper()}"
                f"({variable or names[0]}.price)",
                span=aggregate.span,
            )
    if query.group_by and not query.aggregates:
        raise PatternError("GROUP BY without AGG", hint="add AGG COUNT, or drop GROUP BY")


def _instead_of_not(item: Structure) -> str | None:
    """Return what says the same as NOT around what it cannot stand around."""
    match item:
        case Kleene(Event() as event, 1) | First(Event() as event):
            return f"write {structure_text(Not(event))}"
        case Or(items) if all(isinstance(one, Event) for one in items):
            return f"write {', '.join(structure_text(Not(one)) for one in items)}"
        case _:
            return None


def _one_event_for(item: Structure) -> str | None:
    """Return one event of all the types that an OR chooses among."""
    match item:
        case Or(items):
            events = [one for one in items if isinstance(one, Event) and one.types is not None]
            if len(events) == len(items):
                types = frozenset[str]().union(*(event.types or () for event in events))
                return f"write {structure_text(Kleene(Event(events[0].variable, types)))}"
    return None


def _name(node: Structure) -> str:
    names = {Seq: "SEQ", And: "AND", Or: "OR", Not: "NOT", Kleene: "KL", First: "FIRST", Opt: "OPT"}
    return names[type(node)]


def check_asks_for_matches(query: Query) -> None:
    """Check that a query asks for its matches.

    Raises:
        UnsupportedError: It asks for their aggregates.
    """
    if query.aggregates:
        raise UnsupportedError(
            "AGG asks for aggregates, not for matches",
            hint="`aggregate` gives them; to detect, leave AGG out",
        )
