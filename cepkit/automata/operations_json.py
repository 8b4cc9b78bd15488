"""Operations as short lists and back; docs/trace.md has the list of them."""

from __future__ import annotations

from typing import Any, assert_never

from cepkit.automata.operations import (
    Checked,
    Close,
    Create,
    Discard,
    Evaluate,
    Forget,
    Leave,
    Match,
    Operation,
    Refuse,
    Store,
    Visit,
)
from cepkit.errors import TraceError


def encode_operation(operation: Operation) -> list[Any]:
    """Return an operation as a list whose first item names it."""
    match operation:
        case Evaluate(instance, edge, event, checked, held, other):
            row = ["evaluate", instance, edge, event, _checks(checked), int(held)]
            return row if other is None else [*row, other]
        case Create(instance, parents, node, variable, event):
            return ["create", instance, list(parents), node, variable, event]
        case Discard(instance, reason, event):
            row = ["discard", instance, reason]
            return row if event is None else [*row, event]
        case Close(instance, checked, held, event):
            row = ["close", instance, _checks(checked), int(held)]
            return row if event is None else [*row, event]
        case Refuse(event, variable, checked):
            return ["refuse", event, variable, _checks(checked)]
        case Store(event, variable):
            return ["store", event, variable]
        case Forget(event, variable):
            return ["forget", event, variable]
        case Match(instance, number):
            return ["match", instance, number]
        case Visit(node):
            return ["visit", node]
        case Leave(node):
            return ["leave", node]
        case _:
            assert_never(operation)


def decode_operation(row: list[Any]) -> Operation:
    """Return the operation that `encode_operation` made a list of."""
    match row:
        case ["evaluate", instance, edge, event, checked, held, *other]:
            parts = _checked(checked)
            return Evaluate(instance, edge, event, parts, bool(held), other[0] if other else None)
        case ["create", instance, parents, node, variable, event]:
            return Create(instance, tuple(parents), node, variable, event)
        case ["discard", instance, reason, *event]:
            return Discard(instance, reason, event[0] if event else None)
        case ["close", instance, checked, held, *event]:
            return Close(instance, _checked(checked), bool(held), event[0] if event else None)
        case ["refuse", event, variable, checked]:
            return Refuse(event, variable, _checked(checked))
        case ["store", event, variable]:
            return Store(event, variable)
        case ["forget", event, variable]:
            return Forget(event, variable)
        case ["match", instance, number]:
            return Match(instance, number)
        case ["visit", node]:
            return Visit(node)
        case ["leave", node]:
            return Leave(node)
        case _:
            raise TraceError(f"an operation {row!r} that is not known")


def _checks(checked: tuple[Checked, ...]) -> list[list[Any]]:
    return [[one.clause, one.text, int(one.held)] for one in checked]


def _checked(rows: list[list[Any]]) -> tuple[Checked, ...]:
    return tuple(Checked(clause, text, bool(held)) for clause, text, held in rows)
