"""The multi-pattern graph: the maximal common sub-patterns of patterns, as a value.

It has two tables: from maximal sub-patterns to patterns, and from patterns to theirs; smaller
sub-patterns follow from them. Patterns with a common event are compared by their branches; patterns
that differ only in names are compared once. O(n^2) comparisons for n patterns at worst; adding one
needs n. Source: MULTI, section on the multi-pattern graph.

What two branches have in common are the cliques of their agreement graph. Its vertices are pairs of
variables, one of each branch, with equal events; its edges join pairs whose conditions on each
other agree. Conditions on three variables or more are checked on the cliques, which drop a variable
if they disagree. The enumeration is exponential at worst, but patterns are small. Source: MULTI,
which reduces sets of types instead, and so finds only one of several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any, TypeAlias

from cepkit.errors import LimitError
from cepkit.lazy import nx, pd
from cepkit.pattern.builder import as_query
from cepkit.pattern.query import Query
from cepkit.pattern.several import free_name, number_of, queries_of
from cepkit.printing import Printed, cut, html_output
from cepkit.sharing.texts import sub_pattern_text
from cepkit.sharing.workload import Form, Places, Sharer, Workload
from cepkit.tables import count_text, first_rows, html_table

_Mapping: TypeAlias = frozenset[tuple[int, int]]
"""Pairs of a variable of the first branch and one of the second."""


def maximal_common(one: Sharer, other: Sharer) -> dict[Form, tuple[Places, Places]]:
    """Return the maximal common sub-patterns, with the variables that each branch has for them."""
    if one.family != other.family:
        return {}
    found = _maximal(_cliques(one, other), one, other)
    common: dict[Form, tuple[Places, Places]] = {}
    for mapping in sorted(found, key=lambda m: (-len(m), sorted(m))):
        form, places = one.form(sum(1 << x for x, _ in mapping))
        to = dict(mapping)
        common.setdefault(form, (places, tuple(to[place] for place in places)))
    return common


def _cliques(one: Sharer, other: Sharer) -> list[_Mapping]:
    vertices = [
        (x, y)
        for x, event in enumerate(one.events)
        for y, same in enumerate(other.events)
        if event == same
    ]
    edges = [
        ((x, y), (v, w))
        for (x, y), (v, w) in combinations(vertices, 2)
        if x != v and y != w and one.pairs[x][v] == other.pairs[y][w]
    ]
    if not edges:
        return [frozenset((vertex,)) for vertex in vertices]
    graph: nx.Graph[tuple[int, int]] = nx.Graph()
    graph.add_nodes_from(vertices)
    graph.add_edges_from(edges)
    return [frozenset(clique) for clique in nx.find_cliques(graph)]


def _maximal(mappings: list[_Mapping], one: Sharer, other: Sharer) -> set[_Mapping]:
    """Return the largest parts of mappings that also agree on conditions of several variables."""
    agreed: set[_Mapping] = set()
    tried: set[_Mapping] = set()
    while mappings:
        mapping = mappings.pop()
        if mapping in tried or not mapping:
            continue
        tried.add(mapping)
        if _agree(mapping, one, other):
            agreed.add(mapping)
        else:
            mappings += [mapping - {pair} for pair in mapping]
    return {mapping for mapping in agreed if not any(mapping < larger for larger in agreed)}


def _agree(mapping: _Mapping, one: Sharer, other: Sharer) -> bool:
    left, right = zip(*sorted(mapping), strict=True)
    texts = one.wider_texts(sum(1 << x for x in left), left)
    return texts == other.wider_texts(sum(1 << y for y in right), right)


_HEAD = ("patterns", "variables", "common sub-pattern", "of")
MOST_PAIRS = 1_000_000
"""The most pairs of patterns to compare: some ten microseconds and 200 bytes each."""

_WIDEST = 60


@dataclass(frozen=True, slots=True, order=True)
class CommonPattern:
    """A maximal common sub-pattern of at least two patterns.

    Attributes:
        text: The sub-pattern as a text, with types as names.
        size: The number of its variables.
    """

    text: str
    size: int

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, repr=False)
class PatternGraph(Printed):
    """The common sub-patterns of several patterns.

    Attributes:
        names: Of the patterns.
        edges: For two patterns with something in common, by their names in order, all their maximal
            common sub-patterns.
    """

    names: tuple[str, ...]
    queries: tuple[Query, ...]
    edges: Mapping[tuple[str, str], tuple[CommonPattern, ...]] = field(hash=False)

    @property
    def holders(self) -> dict[CommonPattern, tuple[str, ...]]:
        """The holders of each maximal sub-pattern; the largest possible saving first."""
        holders: dict[CommonPattern, dict[str, None]] = {}
        for pair, commons in self.edges.items():
            for common in commons:
                holders.setdefault(common, {}).update(dict.fromkeys(pair))
        rank = {name: i for i, name in enumerate(self.names)}
        items = [(common, sorted(names, key=rank.__getitem__)) for common, names in holders.items()]
        items.sort(key=lambda item: (-len(item[1]) * (item[0].size - 1), item[0].text))
        return {common: tuple(names) for common, names in items}

    def common(self, name: str) -> tuple[CommonPattern, ...]:
        """Return the maximal sub-patterns that a pattern has in common with others.

        Raises:
            PatternError: No pattern has that name.
        """
        number_of(name, self.names)
        return tuple(common for common, names in self.holders.items() if name in names)

    @property
    def components(self) -> tuple[tuple[str, ...], ...]:
        """Groups of patterns that have nothing in common with each other, largest first."""
        graph: nx.Graph[str] = nx.Graph()
        graph.add_nodes_from(self.names)
        graph.add_edges_from(self.edges)
        rank = {name: i for i, name in enumerate(self.names)}
        groups = [sorted(group, key=rank.__getitem__) for group in nx.connected_components(graph)]
        return tuple(map(tuple, sorted(groups, key=lambda g: (-len(g), rank[g[0]]))))

    def add(self, pattern: str | Query | Any, name: str | None = None) -> PatternGraph:
        """Return the graph with one more pattern, which is compared with all others.

        Args:
            pattern: The query, its text, or a pattern of the builder.
            name: The name of the pattern; None for a free number.

        Raises:
            PatternError: `pattern` is not a pattern, or the name is in use.
        """
        taken = free_name(self.names, name)
        queries = (*self.queries, as_query(pattern))
        names = (*self.names, taken)
        found = _edges(names, queries, len(self.queries))
        return PatternGraph(names, queries, {**self.edges, **found})

    def remove(self, name: str) -> PatternGraph:
        """Return the graph without one pattern; it compares nothing again.

        Raises:
            PatternError: No pattern has that name.
        """
        number = number_of(name, self.names)
        return PatternGraph(
            self.names[:number] + self.names[number + 1 :],
            self.queries[:number] + self.queries[number + 1 :],
            {pair: common for pair, common in self.edges.items() if name not in pair},
        )

    def to_networkx(self) -> nx.Graph[Any]:
        """Return the graph with vertices for patterns and for maximal sub-patterns.

        Vertices are ("pattern", name) and ("common", text), with the attributes `kind`, `label` and
        for sub-patterns `size`; an edge says that a pattern has a sub-pattern.
        """
        graph: nx.Graph[Any] = nx.Graph()
        for name in self.names:
            graph.add_node(("pattern", name), kind="pattern", label=name)
        for common, names in self.holders.items():
            vertex = ("common", common.text)
            graph.add_node(vertex, kind="common", label=common.text, size=common.size)
            graph.add_edges_from((("pattern", name), vertex) for name in names)
        return graph

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each maximal sub-pattern: sub_pattern, variables, patterns."""
        rows = [(common.text, common.size, list(names)) for common, names in self.holders.items()]
        return pd.DataFrame.from_records(rows, columns=["sub_pattern", "variables", "patterns"])

    def _title(self) -> str:
        patterns = count_text(len(self.names), "pattern")
        groups = count_text(len(self.components), "connected group")
        pairs = len(self.names) * (len(self.names) - 1) // 2
        shared = f"{len(self.edges):,} of {count_text(pairs, 'pair')} have something in common"
        return f"{patterns} in {groups}; {shared}"

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (
                f"{len(names)}",
                f"{common.size}",
                cut(common.text, _WIDEST),
                cut(", ".join(names), 40),
            )
            for common, names in self.holders.items()
        ]

    def __str__(self) -> str:
        cells = self._cells()
        table = [first_rows(_HEAD, cells, "sub-patterns", left=4)] if cells else []
        return "\n".join((self._title(), *table))

    def _repr_html_(self) -> str:
        return html_output(html_table(_HEAD, self._cells(), self._title(), left=4))


def pattern_graph(patterns: Sequence[Any] | Mapping[str, Any]) -> PatternGraph:
    """Return the common parts of several patterns: the maximal sub-patterns of each two.

    Args:
        patterns: Queries or their texts, in a list, or in a dict by name.

    Raises:
        PatternError: There is no pattern, or one that means nothing; the error says which.
        LimitError: Too many pairs of them have events in common.

    Example:
        >>> import cepkit as ck
        >>> rules = {
        ...     "p": "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 seconds",
        ...     "q": "PATTERN SEQ(A a, B b, D d) WHERE a.x < b.x WITHIN 10 seconds",
        ... }
        >>> print(ck.sharing.pattern_graph(rules))
        2 patterns in 1 connected group; 1 of 1 pair have something in common
        patterns  variables  common sub-pattern         of
        2         2          SEQ(A, B) where A.x < B.x  p, q
    """
    by_name = queries_of(patterns)
    names, listed = tuple(by_name), tuple(by_name.values())
    return PatternGraph(names, listed, _edges(names, listed))


def _edges(
    names: Sequence[str], queries: Sequence[Query], first: int = 0
) -> dict[tuple[str, str], tuple[CommonPattern, ...]]:
    """Return the common sub-patterns of queries with earlier ones, from number `first` on.

    Raises:
        LimitError: More pairs than `MOST_PAIRS` have an event in common.
    """
    branches: dict[int, list[Sharer]] = {}
    for sharer in Workload.of(queries).sharers:
        if sharer.description.shares:
            branches.setdefault(sharer.query, []).append(sharer)
    forms = {q: tuple(each.form(each.full)[0] for each in own) for q, own in branches.items()}
    known: dict[Form, CommonPattern] = {}
    # Patterns that differ only in names are compared once.
    alike: dict[object, tuple[CommonPattern, ...]] = {}
    edges = {}
    for i, j in list(_with_common_events(branches, first)):
        key = forms[i], forms[j]
        commons = alike.get(key)
        if commons is None:
            commons = alike[key] = _commons(branches[i], branches[j], known)
        if commons:
            edges[names[i], names[j]] = commons
    return edges


def _with_common_events(
    branches: Mapping[int, Sequence[Sharer]], first: int
) -> Iterator[tuple[int, int]]:
    """Yield the pairs of queries that have an event in common, the second from `first` on.

    Raises:
        LimitError: There are too many.
    """
    before: dict[object, list[int]] = {}
    pairs = 0
    for j, own in branches.items():
        events = {(each.family, event) for each in own for event in each.events}
        if j >= first:
            others = sorted({i for event in events for i in before.get(event, ())})
            pairs += len(others)
            if pairs > MOST_PAIRS:
                raise LimitError(
                    f"more than {MOST_PAIRS:,} pairs of patterns have events in common",
                    expected="fewer patterns in one graph",
                    hint="detect and choose_plan take any number of patterns, without a graph",
                )
            yield from ((i, j) for i in others)
        for event in events:
            before.setdefault(event, []).append(j)


def _commons(
    ones: Sequence[Sharer], others: Sequence[Sharer], known: dict[Form, CommonPattern]
) -> tuple[CommonPattern, ...]:
    """Return the maximal sub-patterns of the branches of two queries; `known` keeps their texts."""
    found: dict[Form, tuple[Sharer, Places]] = {}
    for one, other in product(ones, others):
        for form, (places, _) in maximal_common(one, other).items():
            found.setdefault(form, (one, places))
    commons = []
    for form, (sharer, places) in found.items():
        if len(found) == 1 or not any(_contains(larger, form) for larger in found.values()):
            if form not in known:
                known[form] = CommonPattern(sub_pattern_text(sharer, places), len(places))
            commons.append(known[form])
    return tuple(sorted(commons, key=lambda c: (-c.size, c.text)))


def _contains(larger: tuple[Sharer, Places], form: Form) -> bool:
    """Return whether a sub-pattern contains another one, perhaps of two other branches."""
    sharer, places = larger
    size = len(form[1])
    parts = combinations(places, size) if size < len(places) else ()
    return any(sharer.form(sum(1 << place for place in part))[0] == form for part in parts)
