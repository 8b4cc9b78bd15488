"""Checks of the structure of a query; each error points at its place in the text."""

from __future__ import annotations

from typing import assert_never

from cepkit.errors import PatternError
from cepkit.pattern.limits import refuse_too_large, refuse_too_many_together
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
    absence_of,
    events_of,
    group_of,
    is_greedy,
)
from cepkit.pattern.nodes import walk as walk_structure
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.printer import structure_text
from cepkit.pattern.query import Query
from cepkit.pattern.unrolling.checks import check_group, word_for


def instead_of_not(item: Structure) -> str | None:
    """Return an equivalent of NOT around an item that it does not take."""
    match item:
        case Kleene(Event() as event, 1, greedy=False, until=None) | First(Event() as event):
            return f"write {structure_text(Not(event))}"
        case Or(items) if all(isinstance(one, Event) for one in items):
            return f"write {', '.join(structure_text(Not(one)) for one in items)}"
        case _:
            return None


def instead_of_part(part: Structure) -> str | None:
    """Return an equivalent of a part that NOT(SEQ(...)) or NOT(AND(...)) does not take."""
    match part:
        case Kleene(Event() as event, 1, greedy=False, until=None):
            return f"write {structure_text(event)}"
        case Or():
            return "write a NOT for each choice, with names of its own"
        case _:
            return None


def instead_of_next(item: Structure) -> str | None:
    """Return an equivalent of NEXT before an item that it does not take."""
    match item:
        case Not(Event() as event):
            return f"write {structure_text(Not(Next(event)))}"
        case _:
            return None


def one_event_for(item: Structure) -> str | None:
    """Return a hint with one event of all the types of an OR."""
    match item:
        case Or(items):
            events = [one for one in items if isinstance(one, Event) and one.types is not None]
            if len(events) == len(items):
                types = frozenset[str]().union(*(event.types or () for event in events))
                return f"write {structure_text(Kleene(Event(events[0].variable, types)))}"
    return None


def check_structure(structure: Structure) -> None:
    """Refuse parts that cannot stand where they do, and sizes and names that mean nothing."""
    for node in walk_structure(structure):
        match node:
            case Not(item):
                _check_absent(item, node)
            case Kleene():
                _check_set(node)
            case Opt(item) if isinstance(item, Opt) or may_be_all(item) is not None:
                raise PatternError(
                    f"OPT stands around {structure_text(item)}, which may have no event",
                    expected="an item that always has an event, as in OPT(B b)",
                    span=node.span,
                )
            case Opt() if is_greedy(node) and absence_of(node) is None:
                raise PatternError(
                    f"GREEDY and OPT around {structure_text(node.item)}",
                    expected="an event, SEQ or AND of single events, or a set of one or more"
                    " without UNTIL, as in OPT(B b) GREEDY",
                    hint="OPT without GREEDY has the match without the item, too",
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


def _check_set(node: Kleene) -> None:
    item, minimum, maximum, until = node.item, node.minimum, node.maximum, node.until
    group = group_of(node)
    if group is None and not _is_one_event(item):
        raise PatternError(
            f"KL stands around {word_for(item)}",
            expected="a single event, as in KL(B b), or a group, as in KL(SEQ(A a, B b)){1,5}",
            hint=one_event_for(item),
            span=node.span,
        )
    if group is not None and may_be_all(item) is not None:
        raise PatternError(
            f"KL stands around {structure_text(item)}, which may have no event",
            expected="a group with an event, as in KL(SEQ(A a, B b)){1,5}",
            span=node.span,
        )
    if until is not None and not isinstance(until, Event):
        raise PatternError(
            f"UNTIL stands before {word_for(until)}",
            expected="a single event, as in KL(B b) UNTIL C c",
            span=node.span,
        )
    if minimum < 1 or (maximum is not None and maximum < minimum):
        raise PatternError(
            f"KL with bounds {{{minimum},{'' if maximum is None else maximum}}}",
            expected="{m,n} with 0 <= m <= n and 1 <= n",
            span=node.span,
        )
    if group is not None:
        check_group(node, group)


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
        case Event():
            return True
        case _:
            assert_never(structure)


def check_names(structure: Structure) -> None:
    """Refuse a variable that is named twice, and choices with the same variables."""
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


def may_be_all(structure: Structure) -> Event | Seq | And | Opt | None:
    """Return the absence or the OPT that may make a branch without any event; else None."""
    match structure:
        case Opt():
            return structure
        case Not(Next(Event() as absent)) | Not((Event() | Seq() | And()) as absent):
            return absent
        case Or(items):
            return next((optional for item in items if (optional := may_be_all(item))), None)
        case Seq(items) | And(items):
            alone = [may_be_all(item) for item in items]
            return alone[0] if all(alone) else None
        case _:
            return None


def _is_one_event(item: Structure) -> bool:
    return isinstance(item.item if isinstance(item, First | Next) else item, Event)
