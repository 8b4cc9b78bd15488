"""The sharing of several sequences: sequences are cut into pieces, and pieces form trees.

A sequence is cut into pieces, most often just one. Pieces with a common beginning share nodes
(prefix tree); a piece that is not the first is connected to the earlier ones by snapshots
(chop-connect). Events of two sequences are the same if their types, filters, keys and the events
that must be absent after them are the same; names do not matter.

Source: ASEQ, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cepkit.aggregation.sequence.definition import EventSequence, Member
from cepkit.pattern.canonical import CanonicalEvent
from cepkit.pattern.nodes import Event

Cuts: TypeAlias = tuple[int, ...]
"""The lengths of the pieces of a sequence, from first to last."""


@dataclass(frozen=True, slots=True)
class Spec(CanonicalEvent):
    """A canonical event of a sequence: types, filters and keys, without its name.

    Attributes:
        keys: For each key the attribute that must agree with the other events.
    """

    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Position:
    """A position of a sequence: its event, and the negated events after it."""

    event: Spec
    absent: tuple[Spec, ...] = ()

    def __str__(self) -> str:
        return " ".join([str(self.event), *(f"!{spec}" for spec in self.absent)])


@dataclass(frozen=True, slots=True)
class Node:
    """A counter in the tree of pieces.

    Attributes:
        position: The position that it counts.
        parent: The node before it in its piece; None at the beginning of a piece.
        tree: The first node of its tree.
        depth: The number of nodes from there to it.
    """

    position: Position
    parent: int | None
    tree: int
    depth: int


@dataclass(frozen=True, slots=True)
class Chain:
    """The first pieces of one or several sequences.

    Attributes:
        end: The last node.
        before: The chain that its last piece follows; None if there is only one piece.
        tree: The tree in which its first piece begins.
    """

    end: int
    before: int | None
    tree: int


@dataclass(frozen=True, slots=True)
class Forest:
    """The trees of pieces that count several sequences.

    Attributes:
        nodes: Parents before children.
        chains: The chain before another one comes first.
        of: The chain of each sequence.
    """

    nodes: tuple[Node, ...]
    chains: tuple[Chain, ...]
    of: tuple[int, ...]

    @property
    def links(self) -> tuple[tuple[int, int], ...]:
        """(chain before, tree of the piece after), each once: the places of snapshots."""
        pairs = ((c.before, self.nodes[c.end].tree) for c in self.chains if c.before is not None)
        return tuple(dict.fromkeys(pairs))

    def link_of(self, number: int) -> int | None:
        """Return the link that connects the last piece of a chain; None if there is none."""
        chain = self.chains[number]
        if chain.before is None:
            return None
        return self.links.index((chain.before, self.nodes[chain.end].tree))


def positions_of(sequence: EventSequence) -> tuple[Position, ...]:
    """Return the positions of a sequence without names."""
    filters = dict(sequence.filters)
    keys = [dict(key) for key in sorted_keys(sequence)]

    def spec(event: Event) -> Spec:
        alone = CanonicalEvent.of(event, filters.get(event.variable, ()))
        names = tuple(key[event.variable] for key in keys)
        return Spec(alone.types, alone.filters, names)

    return tuple(
        Position(
            spec(event),
            tuple(sorted((spec(e) for p, e in sequence.negated if p == position), key=str)),
        )
        for position, event in enumerate(sequence.positive, 1)
    )


def sorted_keys(sequence: EventSequence) -> list[tuple[Member, ...]]:
    """Return the keys of a sequence in an order independent of names."""
    return sorted(sequence.keys, key=lambda key: sorted({attribute for _, attribute in key}))


def forest_of(positions: Sequence[Sequence[Position]], cuts: Sequence[Cuts]) -> Forest:
    """Return the forest of sequences that are cut into these pieces."""
    nodes: dict[tuple[Position, int | None], int] = {}
    tree_nodes: list[Node] = []
    chains: dict[Chain, int] = {}
    of = []
    for each, lengths in zip(positions, cuts, strict=True):
        assert sum(lengths) == len(each)
        chain: int | None = None
        tree = 0
        begin = 0
        for length in lengths:
            node: int | None = None
            for position in each[begin : begin + length]:
                parent = node
                node = nodes.setdefault((position, parent), len(tree_nodes))
                if node == len(tree_nodes):
                    above = None if parent is None else tree_nodes[parent]
                    tree_nodes.append(
                        Node(
                            position,
                            parent,
                            node if above is None else above.tree,
                            1 if above is None else above.depth + 1,
                        )
                    )
            assert node is not None
            tree = tree_nodes[node].tree if chain is None else tree
            chain = chains.setdefault(Chain(node, chain, tree), len(chains))
            begin += length
        assert chain is not None
        of.append(chain)
    return Forest(tuple(tree_nodes), tuple(chains), tuple(of))


def path_of(forest: Forest, chain: int) -> tuple[tuple[int, int], ...]:
    """Return (node, chain that ends with its piece) for each position of a chain."""
    path: list[tuple[int, int]] = []
    at: int | None = chain
    while at is not None:
        node: int | None = forest.chains[at].end
        while node is not None:
            path.append((node, at))
            node = forest.nodes[node].parent
        at = forest.chains[at].before
    return tuple(reversed(path))
