"""Kinds of events that a pattern defines itself: DEFINE, lowered to types and conditions.

`hot a` with `DEFINE hot AS temp > 30` is `ANY a` with the condition `a.temp > 30`. So plans,
statistics and all engines see filters; only texts and pictures read the kinds of an event.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from cepkit.errors import PatternError, nearest
from cepkit.pattern import conditions as c
from cepkit.pattern.limits import refuse_too_deep
from cepkit.pattern.names import name_text
from cepkit.pattern.nodes import Event, Kind, Structure, events_of, with_events
from cepkit.pattern.query import Query
from cepkit.pattern.rewrite import renamed, replaced


def resolved(structure: Structure, definitions: Sequence[Kind]) -> Structure:
    """Return a structure whose events have the kinds that their types name.

    Args:
        definitions: The kinds of DEFINE; the types of one may name an earlier one.

    Raises:
        PatternError: A kind is defined twice, unused, or of another kind that comes later.
    """
    refuse_too_deep(structure)
    if not definitions:
        return structure
    variables = frozenset(event.variable for event in events_of(structure))
    names = [kind.name for kind in definitions]
    kinds: dict[str, Kind] = {}
    for kind in definitions:
        if kind.name in kinds:
            raise PatternError(f"DEFINE has '{kind.name}' twice", span=kind.span)
        kinds[kind.name] = _complete(kind, kinds, names, variables)
    used = {name for event in events_of(structure) for name in event.types or ()}
    used |= {name for kind in definitions for name in kind.types or ()}
    for kind in definitions:
        if kind.name not in used:
            raise PatternError(
                f"no event of the pattern is of the kind '{kind.name}'",
                expected=f"an event such as {name_text(kind.name)} a",
                hint=nearest(kind.name, used),
                span=kind.span,
            )
    return with_events(structure, lambda event: _with_kinds(event, kinds))


def defined(name: str, condition: c.Expression, base: str | Kind | None) -> Kind:
    """Return a kind as DEFINE has it, alone; its base has been defined before.

    Raises:
        PatternError: Its condition is not about one event.
    """
    if isinstance(base, Kind):
        own = Kind(name, frozenset({base.name}), condition)
        return _complete(own, {base.name: base}, [base.name], frozenset())
    return _complete(
        Kind(name, None if base is None else frozenset({base}), condition), {}, [], frozenset()
    )


def _complete(
    kind: Kind, earlier: dict[str, Kind], names: list[str], variables: frozenset[str]
) -> Kind:
    """Return a kind with its base's types and condition, its attributes without a variable."""

    def alone(node: c.Attribute | c.Aggregate) -> c.Expression:
        if isinstance(node, c.Aggregate):
            raise PatternError(
                f"{c.plain_function(node.function)} of a set in DEFINE",
                expected="a condition on one event, as in DEFINE hot AS temp > 30",
                hint="conditions on sets go in WHERE",
                span=node.span,
            )
        if node.variable in variables:
            raise PatternError(
                f"'{node.variable}.{node.name}' in DEFINE",
                expected=f"a column of the event alone: {name_text(node.name)}",
                hint="conditions between events go in WHERE",
                span=node.span,
            )
        # Elsewhere what stands before the dot is a variable; here it is a field with fields.
        name = f"{node.variable}.{node.name}" if node.variable else node.name
        return c.Attribute("", name, node.span)

    condition = replaced(kind.condition, alone)
    (base,) = kind.types or (None,)
    if base is None or base not in names:
        return replace(kind, condition=condition)
    if base not in earlier:
        raise PatternError(
            f"'{kind.name}' is a kind of '{base}', which is not defined before it",
            expected="a type, or a kind that is defined before it",
            span=kind.span,
        )
    parts = (*c.conjuncts(earlier[base].condition), *c.conjuncts(condition))
    return replace(kind, types=earlier[base].types, condition=c.AllOf(parts))


def _with_kinds(event: Event, definitions: dict[str, Kind]) -> Event:
    kinds = tuple(definitions[name] for name in sorted(event.types or ()) if name in definitions)
    if not kinds:
        return event
    if len(kinds) < len(event.types or ()) or len({kind.types for kind in kinds}) > 1:
        listed = ", ".join(sorted(event.types or ()))
        raise PatternError(
            f"{event.variable} IN ({listed}) mixes kinds of DEFINE that differ in their types",
            expected="types alone, or kinds of the same type",
            hint="OR(...) has a choice for each",
            span=event.span,
        )
    return replace(event, types=kinds[0].types, kinds=kinds)


def lowered(query: Query) -> Query:
    """Return a query with the conditions of its events' kinds in WHERE, before its own.

    Raises:
        PatternError: Two kinds of one name differ, as the builder may have them.
    """
    refuse_too_deep(query.written)
    parts = _conditions_of(query.written)
    if not parts:
        return query
    seen: dict[str, Kind] = {}
    for kind in kinds_of(query.written):
        if seen.setdefault(kind.name, kind) != kind:
            raise PatternError(f"two kinds are called '{kind.name}'", span=kind.span)
    parts += _own_conditions(query, parts)
    return replace(query, where=c.all_of(parts))


def raised(query: Query) -> tuple[tuple[Kind, ...], Query]:
    """Return the kinds of a query and the query with only its own WHERE: what a text writes.

    Without the condition of a kind in WHERE, the events are of their types alone.
    """
    kinds = kinds_of(query.written)
    if not kinds:
        return (), query
    parts = _conditions_of(query.written)
    if not set(map(repr, parts)) <= set(map(repr, c.conjuncts(query.where))):
        return (), without_kinds(query)
    return kinds, replace(query, where=c.all_of(_own_conditions(query, parts)))


def without_kinds(query: Query) -> Query:
    """Return a query whose events are of their types alone; WHERE stays."""
    plain = with_events(query.written, lambda event: replace(event, kinds=()))
    return replace(query, structure=plain, groups=(), unrolled_from=None)


def check_no_type_is_a_kind(kinds: Iterable[Kind], types: Collection[str]) -> None:
    """Refuse a kind of DEFINE that is called like one of the stream's types.

    Raises:
        PatternError: One is.
    """
    for kind in kinds:
        if kind.name in types:
            raise PatternError(
                f"DEFINE of '{kind.name}', which is a type of the stream",
                expected="a name of its own",
                hint=f"a kind of this type is DEFINE my_{kind.name} AS {kind.name} WHERE ...",
                span=kind.span,
            )


def kinds_of(structure: Structure) -> tuple[Kind, ...]:
    """Return the kinds of a structure's events, in the order of the text."""
    return tuple(dict.fromkeys(kind for event in events_of(structure) for kind in event.kinds))


def _conditions_of(structure: Structure) -> tuple[c.Expression, ...]:
    """Return the conjuncts that the kinds of the events stand for."""
    conjuncts: list[c.Expression] = []
    for event in events_of(structure):
        choices = [renamed(kind.condition, {"": event.variable}) for kind in event.kinds]
        if choices:
            whole = choices[0] if len(choices) == 1 else c.AnyOf(tuple(choices))
            conjuncts += c.conjuncts(whole)
    return tuple({repr(part): part for part in conjuncts}.values())


def _own_conditions(query: Query, parts: Sequence[c.Expression]) -> tuple[c.Expression, ...]:
    # As values 1, 1.0 and TRUE are equal.
    known = set(map(repr, parts))
    return tuple(part for part in c.conjuncts(query.where) if repr(part) not in known)
