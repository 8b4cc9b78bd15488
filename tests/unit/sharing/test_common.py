from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.errors import PatternError
from cepkit.sharing import pattern_graph
from cepkit.sharing.graph import maximal_common
from cepkit.sharing.workload import Workload
from tests.unit.sharing.cases import drawn


def common(*texts):
    """Return the maximal common sub-patterns of two patterns as texts."""
    graph = pattern_graph([ck.parse(f"PATTERN {text}") for text in texts])
    return {str(each) for each in graph.edges.get(("pattern 1", "pattern 2"), ())}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("SEQ(A a, B b, C c, D d)", "SEQ(A a, E e, C c, D d)", {"SEQ(A, C, D)"}),
        ("SEQ(A a, B b, C c)", "SEQ(A a, C c, B b)", {"SEQ(A, B)", "SEQ(A, C)"}),
        ("SEQ(A a, B b)", "AND(A a, B b)", {"A", "B"}),
        ("SEQ(A a, B b)", "SEQ(C c, D d)", set()),
        ("SEQ(A a, B b)", "SEQ(A x, B y)", {"SEQ(A, B)"}),
        ("SEQ(A a, A b, B c)", "SEQ(A a, B b)", {"SEQ(A, B)"}),
    ],
)
def test_maximal_common_sub_patterns(one, other, expected):
    assert common(one, other) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        # Filters belong to events.
        ("SEQ(A a, B b) WHERE a.x > 1", "SEQ(A a, B b)", {"B"}),
        ("SEQ(A a, B b) WHERE a.x > 1", "SEQ(A z, B b) WHERE 1 < z.x", {"SEQ(A, B) where A.x > 1"}),
        # Conditions belong to pairs, or to all three that they are about.
        ("SEQ(A a, B b) WHERE a.x < b.x", "SEQ(A a, B b)", {"A", "B"}),
        (
            "SEQ(A a, B b, C c) WHERE a.x + b.x < c.x",
            "SEQ(A a, B b, C c)",
            {"SEQ(A, B)", "SEQ(A, C)", "SEQ(B, C)"},
        ),
        (
            "SEQ(A a, B b, C c) WHERE a.x + b.x < c.x",
            "SEQ(A u, B v, C w) WHERE u.x + v.x < w.x",
            {"SEQ(A, B, C) where A.x + B.x < C.x"},
        ),
        # What equalities imply is in common too.
        (
            "SEQ(A a, B b, C c) WHERE a.k = b.k AND b.k = c.k",
            "SEQ(A a, D d, C c) WHERE a.k = c.k",
            {"SEQ(A, C)"},
        ),
        (
            "SEQ(A a, B b, C c) WHERE a.k = b.k AND b.k = c.k",
            "SEQ(A a, B b, C c) WHERE a.k = c.k AND c.k = b.k",
            {"SEQ(A, B, C) where A.k = B.k and B.k = C.k"},
        ),
        # A NOT belongs to the variables that it depends on.
        ("SEQ(A a, NOT(N n), B b)", "SEQ(A a, B b)", {"A", "B"}),
        (
            "SEQ(A a, NOT(N n), B b, C c)",
            "SEQ(A a, NOT(N n), B b, D d)",
            {"SEQ(A, B) where NOT(N after A before B)"},
        ),
        ("SEQ(A a, NOT(N n), B b, C c)", "SEQ(A a, C c)", {"SEQ(A, C)"}),
        # Bounds of KL must be equal.
        ("SEQ(A a, KL(B b))", "SEQ(A a, KL(B b))", {"SEQ(A, KL(B))"}),
        ("SEQ(A a, KL(B b){1,3})", "SEQ(A a, KL(B b))", {"A"}),
        ("SEQ(A a, KL(B b)) WHERE count(b) > 2", "SEQ(A a, KL(B b))", {"A"}),
        # Partitions and clocks must be equal.
        ("SEQ(A a, B b) PARTITION BY k", "SEQ(A a, B b)", set()),
        ("SEQ(A a, B b) WITHIN 10 EVENTS", "SEQ(A a, B b) WITHIN 10 seconds", set()),
        ("SEQ(A a, B b) WITHIN 10 seconds", "SEQ(A a, B b) WITHIN 20 seconds", {"SEQ(A, B)"}),
        # Every branch of an OR is a pattern.
        ("SEQ(A a, OR(B b, C c))", "SEQ(A a, C c)", {"SEQ(A, C)"}),
        # What takes an event away from others shares nothing.
        ("SEQ(A a, B b) STRATEGY skip-till-next-match", "SEQ(A a, B b)", set()),
    ],
)
def test_common_sub_patterns_agree_in_conditions_bounds_and_partition(one, other, expected):
    assert common(one, other) == expected


def test_absence_at_the_edge_is_shared_only_for_equal_windows():
    one, other = "SEQ(A a, NOT(N n)) WITHIN 10 seconds", "SEQ(A a, NOT(N n)) WITHIN 20 seconds"
    assert common(one, one) == {"A where NOT(N after A)"}
    assert common(one, other) == set()


@given(st.integers(0, 10_000))
def test_cliques_are_the_largest_sets_with_equal_forms(seed):
    texts, _ = drawn(2, types=4, size=4, share=0.3, seed=seed)
    one, other = Workload.of([ck.parse(text) for text in texts]).sharers
    forms = [
        {sharer.form(mask)[0]: mask for mask in range(1, 1 << sharer.size)}
        for sharer in (one, other)
    ]
    shared = {form: mask for form, mask in forms[0].items() if form in forms[1]}
    largest = {
        form
        for form, mask in shared.items()
        if not any(mask & more == mask != more for more in shared.values())
    }
    assert set(maximal_common(one, other)) == largest


def test_names_and_the_order_of_the_text_do_not_matter():
    one = "AND(A a, B b, A c) WHERE a.x < b.x AND b.x < c.x AND a.y = c.y WITHIN 1 s"
    other = "AND(A v, A u, B w) WHERE w.x > u.x AND v.y = u.y AND w.x < v.x WITHIN 1 s"
    first, second = Workload.of([ck.parse(f"PATTERN {t}") for t in (one, other)]).sharers
    assert first.form(first.full)[0] == second.form(second.full)[0]


TEXTS = [
    "PATTERN SEQ(A a, B b, C c) WITHIN 1 s",
    "PATTERN SEQ(A a, B b, D d) WITHIN 1 s",
    "PATTERN SEQ(C c, D d) WITHIN 1 s",
    "PATTERN SEQ(X x, Y y) WITHIN 1 s",
]


def test_the_graph_has_two_tables_and_connected_groups():
    graph = pattern_graph(dict(zip("pqrs", map(ck.parse, TEXTS), strict=True)))
    holders = {str(common): names for common, names in graph.holders.items()}
    assert holders == {"SEQ(A, B)": ("p", "q"), "C": ("p", "r"), "D": ("q", "r")}
    assert [str(each) for each in graph.common("p")] == ["SEQ(A, B)", "C"]
    assert graph.components == (("p", "q", "r"), ("s",))
    assert "4 patterns in 2 connected groups; 3 of 6 pairs" in str(graph)
    assert list(graph.to_pandas()["sub_pattern"]) == ["SEQ(A, B)", "C", "D"]
    drawn_graph = graph.to_networkx()
    assert drawn_graph.has_edge(("pattern", "p"), ("common", "SEQ(A, B)"))
    assert drawn_graph.number_of_nodes() == 7


def test_patterns_can_be_added_and_removed():
    queries = list(map(ck.parse, TEXTS))
    whole = pattern_graph(queries)
    assert pattern_graph(queries[:3]).add(TEXTS[3]) == whole
    for name in whole.names:
        less = whole.remove(name)
        left = [n for n in whole.names if n != name]
        assert less.edges == {
            pair: whole.edges[pair] for pair in combinations(left, 2) if pair in whole.edges
        }
    with pytest.raises(PatternError, match=r"no pattern 'pattern 5'(.|\n)*did you mean"):
        whole.remove("pattern 5")
    with pytest.raises(PatternError, match="there is a pattern 'pattern 1'"):
        whole.add(TEXTS[0], "pattern 1")
    with pytest.raises(PatternError):
        pattern_graph([])
