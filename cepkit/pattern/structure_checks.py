"""Checks of the structure of a query; each error points at its place in the text."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from cepkit.errors import PatternError
from cepkit.pattern import nodes as n
from cepkit.pattern.limits import refuse_too_large, refuse_too_many_together
from cepkit.pattern.names import is_repetition
from cepkit.pattern.nodes import walk as walk_structure
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.printer import structure_text
from cepkit.pattern.query import Query


def instead_of_not(item: n.Structure) -> str | None:
    """Return an equivalent of NOT around an item that it does not take."""
    match item:
        case n.Kleene(n.Event() as event, 1, greedy=False, until=None) | n.First(
            n.Event() as event
        ):
            return f"write {structure_text(n.Not(event))}"
        case n.Or(items) if all(isinstance(one, n.Event) for one in items):
            return f"write {', '.join(structure_text(n.Not(one)) for one in items)}"
        case _:
            return None


def instead_of_part(part: n.Structure) -> str | None:
    """Return an equivalent of a part that NOT(SEQ(...)) or NOT(AND(...)) does not take."""
    match part:
        case n.Kleene(n.Event() as event, 1, greedy=False, until=None):
            return f"write {structure_text(event)}"
        case n.Or():
            return "write a NOT for each choice, with separate names"
        case _:
            return None


def instead_of_next(item: n.Structure) -> str | None:
    """Return an equivalent of NEXT before an item that it does not take."""
    match item:
        case n.Not(n.Event() as event):
            return f"write {structure_text(n.Not(n.Next(event)))}"
        case _:
            return None


def one_event_for(item: n.Structure) -> str | None:
    """Return a hint with one event of all the types of an OR."""
    match item:
        case n.Or(items):
            events = [one for one in items if isinstance(one, n.Event) and one.types is not None]
            if len(events) == len(items):
                types = frozenset[str]().union(*(event.types or () for event in events))
                return f"write {structure_text(n.Kleene(n.Event(events[0].variable, types)))}"
    return None


def check_structure(structure: n.Structure) -> None:
    """Refuse parts that cannot stand where they do, and sizes and names that mean nothing."""
    for node in walk_structure(structure):
        match node:
            case n.Not(item):
                _check_absent(item, node)
            case n.Kleene():
                _check_set(node)
            case n.Opt(item) if isinstance(item, n.Opt) or may_be_all(item) is not None:
                raise PatternError(
                    f"OPT stands around {structure_text(item)}, which may have no event",
                    expected="an item that always has an event, as in OPT(B b)",
                    span=node.span,
                )
            case n.Opt() if n.is_greedy(node) and n.absence_of(node) is None:
                raise PatternError(
                    f"GREEDY and OPT around {structure_text(node.item)}",
                    expected="an event, SEQ or AND of single events, or a set of one or more"
                    " without UNTIL, as in OPT(B b) GREEDY",
                    hint="OPT without GREEDY has the match without the item, too",
                    span=node.span,
                )
            case n.First(item) | n.Next(item) if (
                not isinstance(item, n.Event | n.Kleene) or n.group_of(item) is not None
            ):
                word = word_for(node)
                raise PatternError(
                    f"{word} stands before {word_for(item)}",
                    expected=f"a single event or a set, as in {word} B b",
                    hint=instead_of_next(item) if isinstance(node, n.Next) else None,
                    span=node.span,
                )
            case n.Seq(items) | n.And(items) | n.Or(items) if not items:
                raise PatternError(f"{word_for(node)} of nothing", span=node.span)
            case n.Event(variable, types):
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


def _check_set(node: n.Kleene) -> None:
    item, minimum, maximum, until = node.item, node.minimum, node.maximum, node.until
    group = n.group_of(node)
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
    if until is not None and not isinstance(until, n.Event):
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
        _check_group(node, group)


def _check_group(node: n.Kleene, group: n.Seq | n.And) -> None:
    """Refuse a group whose repetitions could differ in their events, or have no limit.

    Raises:
        PatternError: It has other items than single events, UNTIL or GREEDY, or no maximum.
    """
    for item in group.items:
        event = item.item if isinstance(item, n.First | n.Next | n.Not) else item
        if isinstance(item, n.Not) and isinstance(event, n.Next):
            event = event.item
        if not isinstance(event, n.Event):
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


def word_for(node: n.Structure) -> str:
    """Return the word for a part of a structure in messages."""
    if isinstance(node, n.Kleene):
        return "KL" if n.group_of(node) is None else "a group that repeats"
    return "a single event" if isinstance(node, n.Event) else type(node).__name__.upper()


def _check_absent(item: n.Structure, node: n.Not) -> None:
    """Refuse NOT around anything but an event, NEXT, or a SEQ or AND of events."""
    if isinstance(item, n.Event | n.Next):
        return
    if not isinstance(item, n.Seq | n.And):
        raise PatternError(
            f"NOT stands around {word_for(item)}",
            expected="a single event, as in NOT(B b), or NOT(SEQ(B b, C c))",
            hint=instead_of_not(item),
            span=node.span,
        )
    for part in walk_structure(item):
        if not isinstance(part, n.Event | n.Seq | n.And):
            raise PatternError(
                f"{word_for(part)} stands inside of NOT({word_for(item)}(...))",
                expected="single events in SEQ and AND, as in NOT(SEQ(B b, C c))",
                hint=instead_of_part(part),
                span=part.span,
            )
    refuse_too_many_together(node)


def _check_what_follows(structure: n.Structure, *, follows: bool) -> bool:
    """Refuse FIRST and NEXT where a match may have no event before them.

    Args:
        follows: Whether a match always has an event before this part.

    Returns:
        Whether a match always has an event in this part.
    """
    match structure:
        case n.Not(item) | n.Opt(item):
            _check_what_follows(item, follows=follows)
            return False
        case n.Kleene():
            return n.group_of(structure) is None or _check_what_follows(
                structure.item, follows=follows
            )
        case n.First() | n.Next():
            if not follows:
                word, variable = word_for(structure), n.events_of(structure)[0].variable
                other = "B b" if variable == "a" else "A a"
                raise PatternError(
                    f"no event is always before {word} '{variable}'",
                    expected=f"an event before it, as in SEQ({other}, {structure_text(structure)})",
                    hint=f'a type that is called {word} goes in double quotes: "{word}" a',
                    span=structure.span,
                )
            return True
        case n.Seq(items):
            binds = False
            for item in items:
                binds = _check_what_follows(item, follows=follows or binds) or binds
            return binds
        case n.And(items) | n.Or(items):
            bound = [_check_what_follows(item, follows=follows) for item in items]
            return any(bound) if isinstance(structure, n.And) else all(bound)
        case n.Event():
            return True
        case _:
            assert_never(structure)


def check_names(structure: n.Structure) -> None:
    """Refuse a variable that is named twice, and choices with the same variables."""
    events = n.events_of(structure)
    if len({event.variable for event in events}) == len(events):
        return
    _named(structure)
    # Two choices with the same variables could give the same match twice.
    first_choices: dict[frozenset[str], tuple[n.Event, ...]] = {}
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


def _named(structure: n.Structure) -> dict[str, n.Structure]:
    """Return the events of a part by variable, with NOT and KL around them.

    Raises:
        PatternError: Two events of one match have the same variable, or two different events in
            two choices do.
    """
    match structure:
        case (
            n.Event(variable)
            | n.Not(n.Event(variable) | n.Next(n.Event(variable)))
            | n.Kleene(
                n.Event(variable) | n.First(n.Event(variable)) | n.Next(n.Event(variable)),
                until=None,
            )
        ):
            return {variable: structure}
        case n.Kleene(item, until=n.Event() as until):
            (event,) = n.events_of(item)
            if event.variable == until.variable:
                _check_same_name(until.variable, event, until, structure)
            return {event.variable: structure, until.variable: n.Not(until)}
        case n.Kleene(item) if n.group_of(structure) is not None:
            return dict.fromkeys(_named(item), structure)
        case n.Not((n.Seq() | n.And()) as item):
            return dict.fromkeys(_named(item), structure)
        case n.First(item) | n.Next(item) | n.Opt(item) | n.Not(item) | n.Kleene(item):
            return _named(item)
        case n.Seq(items) | n.And(items) | n.Or(items):
            parts_by_name: dict[str, n.Structure] = {}
            for item in items:
                for name, part in _named(item).items():
                    _check_same_name(name, parts_by_name.setdefault(name, part), part, structure)
            return parts_by_name
        case _:
            assert_never(structure)


def _check_same_name(name: str, one: n.Structure, other: n.Structure, around: n.Structure) -> None:
    if one is other:
        return
    if not isinstance(around, n.Or):
        raise PatternError(
            f"the variable '{name}' is named twice",
            expected="a name of its own for each event",
            span=n.events_of(other)[0].span,
        )
    if structure_text(one) != structure_text(other):
        raise PatternError(
            f"'{name}' is {structure_text(one)} in one choice, {structure_text(other)} in another",
            expected="the same event in each choice at an OR, or another name",
            span=n.events_of(other)[0].span,
        )


def may_be_all(structure: n.Structure) -> n.Event | n.Seq | n.And | n.Opt | None:
    """Return the absence or the OPT that may make a branch without any event; else None."""
    match structure:
        case n.Opt():
            return structure
        case n.Not(n.Next(n.Event() as absent)) | n.Not((n.Event() | n.Seq() | n.And()) as absent):
            return absent
        case n.Or(items):
            return next((optional for item in items if (optional := may_be_all(item))), None)
        case n.Seq(items) | n.And(items):
            alone = [may_be_all(item) for item in items]
            return alone[0] if all(alone) else None
        case _:
            return None


def _is_one_event(item: n.Structure) -> bool:
    return isinstance(item.item if isinstance(item, n.First | n.Next) else item, n.Event)
