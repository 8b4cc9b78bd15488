"""The nodes and edges of a mechanism, numbered as they come to be; diagram.py gives them places."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from cepkit.tracing.diagram import Edge, EdgeKind, Node, NodeKind


@dataclass(slots=True)
class Chart:
    """Nodes and edges, each made once."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    _known_nodes: dict[Hashable, int] = field(default_factory=dict)
    _known_edges: dict[Hashable, int] = field(default_factory=dict)

    def node(
        self, branch: int, key: Hashable, label: str, kind: NodeKind, variables: tuple[str, ...]
    ) -> int:
        """Return the number of the node of a branch that has this key."""
        found = self._known_nodes.get((branch, key))
        if found is None:
            found = self._known_nodes[branch, key] = len(self.nodes)
            self.nodes.append(Node(found, branch, label, kind, variables))
        return found

    def known(self, branch: int, key: Hashable) -> int | None:
        """Return the number of a node, or None where there is no such node yet."""
        return self._known_nodes.get((branch, key))

    def edge(
        self,
        begin: int,
        end: int,
        kind: EdgeKind,
        label: str,
        conditions: tuple[str, ...] = (),
        scope: str = "",
    ) -> int:
        """Return the number of the edge of this kind and label between two nodes."""
        key = (begin, end, kind, label)
        found = self._known_edges.get(key)
        if found is None:
            found = self._known_edges[key] = len(self.edges)
            self.edges.append(Edge(found, begin, end, kind, label, conditions, scope))
        return found
