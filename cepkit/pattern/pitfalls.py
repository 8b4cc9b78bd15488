"""Warnings about patterns that are valid and hardly meant: `x = NULL`, NEXT over all keys."""

from __future__ import annotations

from collections.abc import Iterator

from cepkit.pattern.conditions import Attribute, Comparison, Expression, InList, Literal, conjuncts
from cepkit.pattern.conditions import walk as walk_condition
from cepkit.pattern.names import name_text
from cepkit.pattern.nodes import Next, absent_in, events_of, walk
from cepkit.pattern.policies import Strategy
from cepkit.pattern.printer import expression_text, structure_text
from cepkit.pattern.query import Query
from cepkit.stream.warnings import warn_of_condition

_NULL = Literal(None)


def warn_of_pitfalls(query: Query) -> None:
    """Warn of comparisons with NULL, and of NEXT between events of one key without PARTITION BY."""
    for condition in conjuncts(query.where):
        for node in walk_condition(condition):
            for instead in _without_null(node):
                warn_of_condition(
                    f"a comparison with NULL never holds: {instead}",
                    condition.span if node.span is None else node.span,
                    query,
                )
    _warn_of_neighbours(query)


def _without_null(node: Expression) -> Iterator[str]:
    """Yield what to write instead of a comparison with NULL."""
    match node:
        case Comparison(operator, left, right) if _NULL in (left, right):
            test = "IS NOT NULL" if operator == "!=" else "IS NULL"
            yield f"write {expression_text(left if right == _NULL else right)} {test}"
        case InList(operand, choices, negated) if _NULL in choices and (
            negated or len(choices) == 1
        ):
            test = "IS NOT NULL" if negated else "IS NULL"
            yield f"write {expression_text(operand)} {test}{', and NOT IN without NULL' * negated}"
        case _:
            pass


def _warn_of_neighbours(query: Query) -> None:
    """Warn where all events of a match share a key, and NEXT goes by the events of all keys."""
    if query.partition_by:
        return
    nexts = [node for node in walk(query.structure) if isinstance(node, Next)]
    strict = query.strategy is Strategy.STRICT_CONTIGUITY
    if not nexts and not strict:
        return
    equal: dict[str, list[Comparison]] = {}
    for condition in conjuncts(query.where):
        match condition:
            case Comparison("=", Attribute(x, name), Attribute(y, other)):
                if name == other and x != y:
                    equal.setdefault(name, []).append(condition)
            case _:
                pass
    present = {e.variable for e in events_of(query.structure)} - absent_in(query.structure)
    for name, conditions in equal.items():
        if present <= {variable for each in conditions for variable in each.variables}:
            what = str(query.strategy) if strict else structure_text(nexts[0])
            instead = f"PARTITION BY {name_text(name)}"
            if strict:
                instead += " STRATEGY partition-contiguity"
            warn_of_condition(
                f"{what} goes by all events of the stream, so one of another '{name}' in between"
                f" leaves a match out; to go by the events of each: {instead}",
                conditions[0].span,
                query,
            )
            return
