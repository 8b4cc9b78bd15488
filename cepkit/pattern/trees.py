"""Trees of frozen nodes: the children of a node, all nodes below it, copies with other children.

A node is a frozen dataclass. Its children are the nodes in its fields, and in tuples there, in the
order of the fields; a field that does not count in comparisons has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

Tree = TypeVar("Tree", bound="Node")


class Node:
    """The base of the nodes of a tree."""

    __slots__ = ()


@cache
def _fields(kind: Any) -> tuple[tuple[str, bool], ...]:
    """Return for each field of a kind of nodes its name, and whether it may hold nodes."""
    hints = get_type_hints(kind)
    return tuple((f.name, f.compare and _may_be_node(hints[f.name])) for f in fields(kind))


def _may_be_node(hint: Any) -> bool:
    if isinstance(hint, type) and issubclass(hint, Node):
        return True
    return any(map(_may_be_node, get_args(hint)))


def children(node: Node) -> tuple[Any, ...]:
    """Return the nodes directly below a node."""
    kind: Any = type(node)
    below: list[Node] = []
    for name, holds_nodes in _fields(kind):
        if holds_nodes:
            value = getattr(node, name)
            if isinstance(value, tuple):
                below += value
            elif value is not None:
                below.append(value)
    return tuple(below)


def walk(node: Node) -> Iterator[Any]:
    """Yield a node and all nodes below it, in the order of the text."""
    pending = [node]
    while pending:
        first = pending.pop()
        yield first
        pending.extend(reversed(children(first)))


def mapped(node: Tree, new: Callable[[Any], Any]) -> Tree:
    """Return a copy of a node with `new` of each of its children."""
    kind: Any = type(node)
    copy: Tree = object.__new__(kind)
    for name, holds_nodes in _fields(kind):
        value = getattr(node, name)
        if holds_nodes and value is not None:
            value = tuple(map(new, value)) if isinstance(value, tuple) else new(value)
        object.__setattr__(copy, name, value)  # dataclasses.replace would take most of the time
    return copy
