"""Checks of queries; each error points at its place in the text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never
from weakref import WeakValueDictionary

from cepkit.errors import PatternError, UnsupportedError, nearest
from cepkit.pattern.aggregates import AGGREGATES, NAMES
from cepkit.pattern.bound_checks import check_bounds
from cepkit.pattern.condition_checks import Events, check_condition, check_forms, check_result
from cepkit.pattern.conditions import Aggregate, Attribute, Comparison, Literal, conjuncts, walk
from cepkit.pattern.limits import (
    refuse_too_deep,
    refuse_too_large,
    refuse_too_long,
    refuse_too_many_together,
)
from cepkit.pattern.names import is_repetition
from cepkit.pattern.nodes import (
    And,
    Event,
    First,
    Kleene,
    Next,
    Not,
    Opt,
    Or,
    Seq,
    Structure,
    absent_in,
    bound_events_of,
    ends_of_loops_in,
    events_of,
    group_of,
)
from cepkit.pattern.nodes import walk as walk_structure
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import SkipTo, Strategy
from cepkit.pattern.printer import aggregate_text, expression_text, structure_text
from cepkit.pattern.query import RESULT_ENDS, Query
from cepkit.pattern.repetitions import Repetitions
from cepkit.pattern.run_checks import check_loops, check_runs
from cepkit.pattern.structure_hints import (
    instead_of_next,
    instead_of_not,
    instead_of_part,
    one_event_for,
)
from cepkit.pattern.unrolling.checks import check_group, word_for
from cepkit.pattern.unrolling.structures import unrolled

_sound: WeakValueDictionary[int, Query] = WeakValueDictionary()
"""Queries that have been checked. By identity: as values 1, 1.0 and TRUE are equal."""


def check(query: Query) -> Query:
    """Return a valid query with its repeated groups unrolled; refuse one without a meaning.

    The parser and the builder call it, so that users only ever hold checked queries.

    Raises:
        PatternError: The query means nothing; the error names the place.
    """
    if _sound.get(id(query)) is query:
        return query
    original = query
    if query.unrolled_from is not None:
        query = replace(query, structure=query.written, groups=(), unrolled_from=None)
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
    _check_after_match(query)
    _check_returned(query)
    part = _may_be_all(query.structure)
    if part is not None:
        raise PatternError(
            f"a match could consist of nothing but the absence of {_names(part)}"
            if isinstance(part, Event | Seq | And)
            else f"a match could be without any event, as {structure_text(part)} may be left out",
            expected="at least one event that is not under NOT or OPT, in every branch of an OR",
            span=part.span,
        )
    check_bounds(query)
    check_runs(query)
    check_loops(query)
    sound = original if query is not original else unrolled(query)
    _sound[id(sound)] = sound
    return sound


def _may_be_all(structure: Structure) -> Event | Seq | And | Opt | None:
    """Return the absence or the OPT that may make a branch without any event; else None."""
    match structure:
        case Opt():
            return structure
        case Not(Next(Event() as absent)) | Not((Event() | Seq() | And()) as absent):
            return absent
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
        PatternError: An attribute is no column.
    """
    columns = tuple(known)
    uses: list[tuple[str, object]] = [(name, None) for name in query.partition_by]
    uses += [(name, None) for name in query.group_by]
    results = (result.value for result in query.returned)
    expressions = [*conjuncts(query.where), *query.aggregates, *results]
    for expression in expressions:
        for node in walk(expression):
            if isinstance(node, Attribute):
                uses.append((node.name, node))
            elif isinstance(node, Aggregate) and node.attribute is not None:
                uses.append((node.attribute, node))
    for name, reader in uses:
        if name not in columns:
            raise PatternError(
                f"the stream has no column '{name}'",
                expected=f"one of {', '.join(sorted(columns))}",
                hint=nearest(name, columns),
                span=reader.span if isinstance(reader, Attribute | Aggregate) else None,
            )


def check_carried(query: Query, carried: Iterable[str]) -> None:
    """Check that the output has the columns that RETURN reads.

    Args:
        query: The query.
        carried: The columns of the stream that the output has.

    Raises:
        PatternError: The output lacks one.
    """
    columns = frozenset(carried)
    for result in query.returned:
        if result.source is not None and result.source.name not in columns:
            name = result.source.name
            raise PatternError(
                f"RETURN of '{name}', which columns= leaves out of the output",
                hint=f"events(..., columns=[..., '{name}'])",
                span=result.value.span,
            )


def _check_structure(structure: Structure) -> None:
    for node in walk_structure(structure):
        match node:
            case Not(item):
                _check_absent(item, node)
            case Kleene(item) if not _is_one_event(item) and group_of(node) is None:
                raise PatternError(
                    f"KL stands around {word_for(item)}",
                    expected="a single event, as in KL(B b), or a group, as in"
                    " KL(SEQ(A a, B b)){1,5}",
                    hint=one_event_for(item),
                    span=node.span,
                )
            case Kleene(item) if group_of(node) is not None and _may_be_all(item) is not None:
                raise PatternError(
                    f"KL stands around {structure_text(item)}, which may have no event",
                    expected="a group with an event, as in KL(SEQ(A a, B b)){1,5}",
                    span=node.span,
                )
            case Opt(item) if isinstance(item, Opt) or _may_be_all(item) is not None:
                raise PatternError(
                    f"OPT stands around {structure_text(item)}, which may have no event",
                    expected="an item that always has an event, as in OPT(B b)",
                    span=node.span,
                )
            case First(item) | Next(item) if (
                not isinstance(item, Event | Kleene) or group_of(item) is not None
            ):
                word = word_for(node)
                raise PatternError(
                    f"{word} stands before {word_for(item)}",
                    expected=f"a single event or a set, as in {word} B b",
                    hint=instead_of_next(item) if isinstance(node, Next) else None,
                    span=node.span,
                )
            case Kleene(_, minimum, maximum, until=until):
                if until is not None and not isinstance(until, Event):
                    raise PatternError(
                        f"UNTIL stands before {word_for(until)}",
                        expected="a single event, as in KL(B b) UNTIL C c",
                        span=node.span,
                    )
                if minimum < 1 or (maximum is not None and maximum < minimum):
                    raise PatternError(
                        f"KL with bounds {{{minimum},{'' if maximum is None else maximum}}}",
                        expected="{m,n} with 1 <= m <= n",
                        span=node.span,
                    )
                if (group := group_of(node)) is not None:
                    check_group(node, group)
            case Seq(items) | And(items) | Or(items) if not items:
                raise PatternError(f"{word_for(node)} of nothing", span=node.span)
            case Event(variable, types):
                if not variable:
                    raise PatternError("an event without a variable", span=node.span)
                if is_repetition(variable):
                    raise PatternError(
                        f"the variable {variable!r} is called like a member of a set",
                        expected="a name without brackets and a number at its end",
                        span=node.span,
                    )
                if types is not None and not types:
                    raise PatternError(f"'{variable}' has an empty list of types", span=node.span)
    _check_what_follows(structure, follows=False)
    refuse_too_large(structure)


def _check_absent(item: Structure, node: Not) -> None:
    """Refuse NOT around anything but an event, NEXT, or a SEQ or AND of events."""
    if isinstance(item, Event | Next):
        return
    if not isinstance(item, Seq | And):
        raise PatternError(
            f"NOT stands around {word_for(item)}",
            expected="a single event, as in NOT(B b), or NOT(SEQ(B b, C c))",
            hint=instead_of_not(item),
            span=node.span,
        )
    for part in walk_structure(item):
        if not isinstance(part, Event | Seq | And):
            raise PatternError(
                f"{word_for(part)} stands inside of NOT({word_for(item)}(...))",
                expected="single events in SEQ and AND, as in NOT(SEQ(B b, C c))",
                hint=instead_of_part(part),
                span=part.span,
            )
    refuse_too_many_together(node)


def _check_what_follows(structure: Structure, *, follows: bool) -> bool:
    """Refuse FIRST and NEXT where a match may have no event before them.

    Args:
        structure: A part of the pattern.
        follows: Whether a match always has an event before this part.

    Returns:
        Whether a match always has an event in this part.
    """
    match structure:
        case Not(item) | Opt(item):
            _check_what_follows(item, follows=follows)
            return False
        case Kleene():
            return group_of(structure) is None or _check_what_follows(
                structure.item, follows=follows
            )
        case First() | Next():
            if not follows:
                word, variable = word_for(structure), events_of(structure)[0].variable
                other = "B b" if variable == "a" else "A a"
                raise PatternError(
                    f"no event is always before {word} '{variable}'",
                    expected=f"an event before it, as in SEQ({other}, {structure_text(structure)})",
                    hint=f'a type that is called {word} goes in double quotes: "{word}" a',
                    span=structure.span,
                )
            return True
        case Seq(items):
            binds = False
            for item in items:
                binds = _check_what_follows(item, follows=follows or binds) or binds
            return binds
        case And(items) | Or(items):
            bound = [_check_what_follows(item, follows=follows) for item in items]
            return any(bound) if isinstance(structure, And) else all(bound)
        case _:
            return True


def _check_names(structure: Structure) -> None:
    events = events_of(structure)
    if len({event.variable for event in events}) == len(events):
        return
    _named(structure)
    # Two choices with the same variables could give the same match twice.
    first_choices: dict[frozenset[str], tuple[Event, ...]] = {}
    for branch in normal_form(Query(structure)):
        names = frozenset(branch.variables)
        first = first_choices.setdefault(names, branch.positive)
        repeats = [e for e in branch.positive if not any(e is other for other in first)]
        if repeats:
            raise PatternError(
                f"two choices at an OR have the same variables: {', '.join(sorted(names))}",
                expected="different names for the choices",
                hint="AND(A a, B b) allows any order",
                span=repeats[0].span,
            )


def _named(structure: Structure) -> dict[str, Structure]:
    """Return the events of a part by variable, with NOT and KL around them.

    Raises:
        PatternError: Two events of one match have the same variable, or two different events in
            two choices do.
    """
    match structure:
        case (
            Event(variable)
            | Not(Event(variable) | Next(Event(variable)))
            | Kleene(Event(variable) | First(Event(variable)) | Next(Event(variable)), until=None)
        ):
            return {variable: structure}
        case Kleene(item, until=Event() as until):
            (event,) = events_of(item)
            if event.variable == until.variable:
                _check_same_name(until.variable, event, until, structure)
            return {event.variable: structure, until.variable: Not(until)}
        case Kleene(item) if group_of(structure) is not None:
            return dict.fromkeys(_named(item), structure)
        case Not((Seq() | And()) as item):
            return dict.fromkeys(_named(item), structure)
        case First(item) | Next(item) | Opt(item) | Not(item) | Kleene(item):
            return _named(item)
        case Seq(items) | And(items) | Or(items):
            parts_by_name: dict[str, Structure] = {}
            for item in items:
                for name, part in _named(item).items():
                    _check_same_name(name, parts_by_name.setdefault(name, part), part, structure)
            return parts_by_name
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
    absent = absent_in(query.structure)
    ends = {event.variable for event in ends_of_loops_in(query.structure)}
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
            place = "after UNTIL" if variable in ends else "under NOT"
            raise PatternError(
                f"AGG {aggregate.function.upper()} of '{variable}', which is {place}",
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
    for threshold in query.having:
        _check_threshold(threshold, query.aggregates)


def _check_threshold(threshold: Comparison, aggregates: tuple[Aggregate, ...]) -> None:
    span = threshold.span
    if not aggregates:
        raise PatternError("HAVING without AGG", hint="add AGG COUNT, or drop HAVING", span=span)
    match threshold:
        case Comparison(_, Aggregate(), Literal(int() | float() as number)):
            if isinstance(number, bool):
                raise PatternError("HAVING with a truth value", expected="a number", span=span)
        case _:
            raise PatternError(
                f"HAVING {expression_text(threshold)}",
                expected="an aggregate compared with a number, as in COUNT > 10",
                span=span,
            )
    if threshold.left not in aggregates:
        assert isinstance(threshold.left, Aggregate)
        raise PatternError(
            f"HAVING {aggregate_text(threshold.left)}, which AGG does not ask for",
            expected=f"one of {', '.join(map(aggregate_text, aggregates))}",
            hint="add it to AGG",
            span=span,
        )


def _check_after_match(query: Query) -> None:
    skip = query.after_match
    if skip is None:
        return
    if query.strategy is Strategy.SKIP_TILL_NEXT_MATCH:
        raise PatternError(
            f"AFTER MATCH SKIP with {query.strategy}, which chooses among the matches itself",
            expected="one of them",
            span=skip.span,
        )
    if skip.variable is None:
        return
    name = skip.variable
    names = tuple(event.variable for event in bound_events_of(query.structure))
    if name not in names:
        problem = f"'{name}' is not an event that matches have"
        raise PatternError.unknown(problem, name, names, span=skip.span)
    groups = unrolled(query).groups
    for branch in normal_form(query):
        named = Repetitions(groups, branch.variables).named(name)
        member = named[-1 if skip.to is SkipTo.LAST else 0]
        if member not in branch.variables:
            problem = f"a match may lack '{name}', so the place of the next match is open"
        elif not branch.before(member) & {*branch.variables}:
            problem = f"a match may start with '{name}', so it would leave out no other match"
        else:
            continue
        raise PatternError(
            problem,
            expected="an event that always has another before it",
            hint="AFTER MATCH SKIP TO NEXT, or PAST LAST EVENT",
            span=skip.span,
        )


def _check_returned(query: Query) -> None:
    if query.returned and (query.aggregates or query.group_by):
        raise PatternError(
            "RETURN together with AGG: RETURN defines columns of matches, AGG asks for no matches",
            expected="one of them",
            span=query.returned[0].span,
        )
    events = Events.of(query.structure)
    names = {*RESULT_ENDS}
    for result in query.returned:
        refuse_too_deep(result.value)
        check_result(result.value, events)
        if not result.name or result.name in names:
            why = "is a column of all matches" if result.name in RESULT_ENDS else "occurs twice"
            raise PatternError(
                f"RETURN: '{result.name}' {why}" if result.name else "RETURN: a column of no name",
                expected="a name of its own for each column, as in a.price AS paid",
                span=result.span,
            )
        names.add(result.name)


def _is_one_event(item: Structure) -> bool:
    return isinstance(item.item if isinstance(item, First | Next) else item, Event)


def _names(part: Structure) -> str:
    return " and ".join(f"'{event.variable}'" for event in events_of(part))


def check_asks_for_matches(query: Query) -> None:
    """Check that a query asks for its matches.

    Raises:
        UnsupportedError: The query asks for aggregates.
    """
    if query.aggregates:
        raise UnsupportedError(
            "AGG asks for aggregates, not for matches",
            hint="`aggregate` gives them; to detect, leave AGG out",
        )
