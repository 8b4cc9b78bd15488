"""Several queries at once: shared counters, the choice of them, and results that stay the same."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit.aggregation.rows.result import Aggregates
from cepkit.errors import CepkitError, PatternError, PlanError, StreamError, UnsupportedError
from cepkit.routes.result import SeveralAggregates
from cepkit.routes.sharing import Shared
from tests.unit.aggregation.cases import stream

VIEWS = (
    "SEQ(VK a, BK b, VC c, BC d)",
    "SEQ(VK a, BK b, VF c)",
    "SEQ(VK a, BK b, VC c, BC d, VE e, BE f)",
    "SEQ(VK a, BK b, VC c, BC d, VL e, BL f)",
    "SEQ(VI a, VF b, VK c, BK d)",
)
"""The five queries of ASEQ, example 6."""


def asked(*structures: str, rest: str = "WITHIN 9 s EXCLUSIVE") -> list[str]:
    return [f"PATTERN {structure} {rest} AGG COUNT" for structure in structures]


def counts(found: SeveralAggregates[Aggregates]) -> list[list[int]]:
    return [each.to_pandas()["count"].tolist() for each in found]


def random_stream(types: str, events: int, seed: int = 5) -> Any:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            # A third at equal times.
            "ts": pd.Timestamp(0) + pd.to_timedelta(np.cumsum(rng.integers(0, 3, events)), "s"),
            "kind": rng.choice(list(types), events),
            "x": rng.integers(-5, 5, events),
            "w": rng.normal(size=events),
            "k": rng.integers(0, 3, events),
        }
    )
    return ck.events(frame, time="ts", type="kind")


def test_figure_10_connects_two_pieces() -> None:
    events = stream("a1@1 b1@2 c1@3 a2@4 b2@5 d1@6 c2@7 a3@8 d2@9 e1@10")
    queries = asked("SEQ(A a, B b, C c, D d, E e)", "SEQ(A a, B b, C c)", "SEQ(D d, E e)")
    found = ck.aggregate(events, queries, share=[(3, 2), (3,), (2,)])
    assert counts(found) == [[1], [1, 4], [2]]
    (cluster,) = found.plan.clusters
    # (A, B, C) and (D, E) are counted once each; one snapshot of the first at each D.
    assert len(cluster.forest.nodes) == 5
    assert len(cluster.forest.links) == 1


def test_figure_11_connects_three_pieces() -> None:
    text = "a b c d e a b c d e f g f g"
    queries = asked("SEQ(A a, B b, C c, D d, E e, F f, G g)", "SEQ(F f, G g)", rest="WITHIN 20 s")
    found = ck.aggregate(stream(text), queries, share=[(3, 2, 2), (2,)])
    alone = ck.aggregate(stream(text), queries, share="none")
    assert counts(found) == counts(alone) == [[6, 18], [1, 3]]


def test_figure_9_prefix_tree_counts_common_prefixes_once() -> None:
    events = stream("vk bk vc bc ve be vl bl vf")
    found = ck.aggregate(events, asked(*VIEWS[:4]), share="prefix")
    (cluster,) = found.plan.clusters
    # vk, bk, vc, bc, then ve be, vl bl, and vf after bk: 9 nodes for 19 positions.
    assert len(cluster.forest.nodes) == 9
    assert cluster.cuts == ((4,), (3,), (6,), (6,))


def test_chop_connect_shares_pieces_that_are_no_prefixes() -> None:
    frame = pd.DataFrame({"ts": pd.to_datetime([0]), "kind": ["VK"]})
    events = ck.events(frame, time="ts", type="kind")
    with pytest.warns(UserWarning, match="no event has the type"):
        found = ck.aggregate(events, asked(*VIEWS), share="chop-connect")
    (cluster,) = found.plan.clusters
    # The last query shares (VK, BK) with the others although it does not begin with it.
    assert cluster.cuts == ((4,), (3,), (6,), (6,), (2, 2))
    node_of_bk = [n for n in cluster.forest.nodes if str(n.position) == "BK"]
    assert len(node_of_bk) == 1


@pytest.mark.parametrize(
    "share",
    [
        "prefix",
        "chop-connect",
        [(1, 4), (2, 2), (3, 1), (1,) * 4],
        [(2, 1, 2), (1, 2, 1), (4,), (2, 2)],
    ],
)
@pytest.mark.parametrize("rest", ["", "GROUP BY k", "PARTITION BY k"])
@pytest.mark.parametrize("emit", ["trigger", "changes", "new", "total"])
def test_shared_results_stay_exact_with_hundreds_of_live_starts(
    share: Shared, rest: str, emit: Any
) -> None:
    events = random_stream("abcx", 2500)
    queries = [
        f"PATTERN SEQ({items}) {where} WITHIN {window} s AGG {functions} {rest}"
        for items, where, window, functions in (
            ("a p, b q, a r, b s, c t", "WHERE q.x > -5", 300, "COUNT, SUM(q.x)"),
            ("a p, b q, NOT(x n), a r, b s", "", 400, "MIN(r.w), SUM(p.x), AVG(q.x)"),
            ("c p, a q, b r, a s", "WHERE r.x > -5", 200, "COUNT"),
            ("a p, b q, NOT(x n), a r, c s", "", 100, "MAX(p.w), SUM(s.x), COUNT"),
        )
    ]
    together = ck.aggregate(events, queries, share=share, emit=emit)
    assert {r.method for r in together} == {"shared-counters"}
    for query, found in zip(queries, together, strict=True):
        alone = ck.aggregate(events, query, method="window-product", emit=emit)
        assert found.to_arrow().equals(alone.to_arrow())


def test_auto_shares_where_it_pays() -> None:
    # Few live STARTs: counters are cheap, and shared ones cheaper still.
    few = ck.aggregate(random_stream("abcd", 500), asked(*["SEQ(a p, b q, c r, d s)"] * 6))
    assert len(few.plan.clusters) == 1
    assert few.plan.clusters[0].cost < few.plan.clusters[0].alone
    # Many: a window product of its own does not depend on them.
    queries = asked("SEQ(a p, b q)", "SEQ(a p, c q)", rest="WITHIN 1 hour")
    many = ck.aggregate(random_stream("abcd", 5000), queries)
    assert not many.plan.clusters
    assert many.plan.reasons == dict.fromkeys(range(2), "that is cheaper than sharing")


def test_queries_that_cannot_share_run_alone_with_a_reason() -> None:
    events = random_stream("abcd", 200)
    queries = [
        "PATTERN SEQ(a p, b q) WITHIN 9 s AGG COUNT",
        "PATTERN SEQ(a p, b q) WITHIN 9 s AGG SUM(q.x), MAX(p.w)",
        "PATTERN SEQ(a p, KL(b q)) WITHIN 3 s AGG COUNT",
        "PATTERN SEQ(a p, b q) WHERE p.k = q.k WITHIN 9 s AGG COUNT",
        "PATTERN SEQ(a p, b q, c r) WITHIN 9 s AGG COUNT(p)",
        "PATTERN SEQ(c p, d q) WITHIN 9 s AGG COUNT",
    ]
    found = ck.aggregate(events, queries, share="prefix")
    assert [c.queries for c in found.plan.clusters] == [(0, 1, 4)]
    assert found.plan.reasons == {
        2: "counters of KL are not shared",
        3: "no other query has its keys, groups and kind of window",
        5: "it shares nothing with the others",
    }
    for query, each in zip(queries, found, strict=True):
        assert each.to_arrow().equals(ck.aggregate(events, query).to_arrow())
    assert "by itself  counters of KL are not shared" in str(found)
    assert "shared plan of 6 queries: 3 counters in place of 7" in str(found.plan)
    assert re.search(r"shared by +counters\n3 +\(a, b\)\n", str(found.plan))
    assert "<table>" in found._repr_html_()


@dataclass(frozen=True)
class Whether:
    """A function of one's own: whether there is a match."""

    reads: Any = ()
    zero: bool = False
    one: bool = True

    def plus(self, x: bool, y: bool) -> bool:
        return x or y

    def times(self, x: bool, y: bool) -> bool:
        return x and y

    def lift(self, _: str, __: Any, /) -> bool:
        return True

    def result(self, x: bool) -> str:
        return "yes" if x else "no"


def test_queries_with_user_defined_functions_are_not_shared() -> None:
    queries = asked("SEQ(A a, B b)", "SEQ(A a, B b, C c)")
    own: Any = {"any": Whether()}
    found = ck.aggregate(stream("b a b c"), queries, functions=own, share="prefix")
    assert found.plan.reasons == dict.fromkeys(range(2), "its functions are not the language's own")
    assert [each.to_pandas()["any"].tolist() for each in found] == [["no", "yes"], ["yes"]]


def test_shared_counters_keep_infinities() -> None:
    frame = pd.DataFrame(
        {
            "ts": pd.Timestamp(0) + pd.to_timedelta(range(6), "s"),
            "kind": list("ABABAB"),
            "w": [math.inf, 1.0, 2.0, -math.inf, 3.0, math.inf],
        }
    )
    events = ck.events(frame, time="ts", type="kind")
    texts = ("SEQ(A a, B b, A c)", "SEQ(A a, B b, A c, B d)")
    queries = [f"PATTERN {text} WITHIN 9 s AGG SUM(b.w), MIN(c.w), SUM(a.w)" for text in texts]
    for share in ("prefix", [(1, 2), (2, 2)]):
        together: Any = ck.aggregate(events, queries, share=share, emit="new")
        assert len(together.plan.clusters) == 1
        for query, each in zip(queries, together, strict=True):
            alone = ck.aggregate(events, query, emit="new")
            pd.testing.assert_frame_equal(each.to_pandas(), alone.to_pandas())


def test_numbers_beyond_64_bits_are_counted_alone() -> None:
    events = stream("a " * 90)
    structure = f"SEQ({', '.join(f'A v{i}' for i in range(40))})"
    queries = asked(structure, structure, rest="WITHIN 1 hour")
    found = ck.aggregate(events, queries, share="prefix", emit="total")
    assert not found.plan.clusters
    assert found.plan.reasons[0] == "its numbers may be beyond 64 bits"
    assert counts(found)[0] == counts(ck.aggregate(events, queries, emit="total"))[0]


@pytest.mark.parametrize(
    ("share", "error", "found"),
    [
        ("all", PlanError, "share='all'"),
        ("tree", PlanError, r"share='tree': subtrees of aggregates(.|\n)*chop-connect"),
        ([(2,)], PlanError, "a plan of 1 patterns for 2"),
        ([(2,), (1, 1)], PlanError, r"pattern 2\npieces of the lengths \[1, 1\]"),
        ([(2,), (0, 3)], PlanError, r"pattern 2\npieces of the lengths \[0, 3\]"),
        (3, PlanError, "share=3"),
        ([2, 3], PlanError, r"share=\[2, 3\]"),
        (["ab", None], PlanError, "share="),
    ],
)
def test_a_plan_that_is_none_is_refused(share: Any, error: type[Exception], found: str) -> None:
    with pytest.raises(error, match=found):
        ck.aggregate(stream("a b c"), asked("SEQ(A a, B b)", "SEQ(A a, B b, C c)"), share=share)


def test_one_query_may_be_cut_beside_others_that_are_not() -> None:
    events = stream("a b a b c a b c")
    queries = asked("SEQ(A a, B b, A c, B d)", "SEQ(A a, B b, C c)")
    found = ck.aggregate(events, queries, share=[(2, 2), None])
    (cluster,) = found.plan.clusters
    assert (len(cluster.forest.nodes), found[0].reason) == (2, "cut into pieces as asked")
    assert found.plan.reasons == {1: "as asked"}
    assert counts(found) == counts(ck.aggregate(events, queries, share="none"))


def test_pieces_without_a_window_are_refused() -> None:
    queries = asked("SEQ(A a, B b)", "SEQ(A a, B b, C c)", rest="")
    with pytest.raises(PlanError, match="without a window"):
        ck.aggregate(stream("a b c"), queries, share=[(1, 1), (3,)])
    found = ck.aggregate(stream("a a b c b"), queries, share="chop-connect")
    assert counts(found) == [[2, 4], [2]]


@pytest.mark.parametrize("share", ["prefix", [(3,), (2, 1)]])
def test_an_event_can_complete_one_query_and_spoil_another(share: Shared) -> None:
    queries = asked("SEQ(A a, A b, C c)", "SEQ(A a, A b, NOT(C n), A c)")
    found = ck.aggregate(stream("a b c a b c a a"), queries, share=share)
    assert counts(found) == [[0, 1], [0, 0, 0, 2]]


@pytest.mark.parametrize(
    ("pattern", "method", "error", "found"),
    [
        ("PATTERN SEQ(A a, B b) AGG COUT", "auto", PatternError, "'COUT' is not an aggregate"),
        ("PATTERN SEQ(A a, B b) AGG SUM(a.y)", "auto", PatternError, "no column 'y'"),
        ("PATTERN SEQ(A a, B b)", "auto", PatternError, "has no AGG"),
        ("PATTERN SEQ(A a, B b) AGG COUNT GROUP BY ts", "auto", PatternError, "GROUP BY 'ts'"),
        ("PATTERN AND(A a, B b) AGG COUNT", "a-seq", UnsupportedError, "AND is not a sequence"),
        (3, "auto", PatternError, "a pattern of the type int"),
    ],
)
def test_an_error_says_which_query_it_is_about(
    pattern: Any, method: str, error: type[CepkitError], found: str
) -> None:
    right = "PATTERN SEQ(A a, B b) AGG COUNT"
    with pytest.raises(error) as caught:
        ck.aggregate(stream("a b"), [right, pattern, right], method=method)
    assert re.match(r"pattern 2[,\n]", str(caught.value))
    assert found in str(caught.value)
    with pytest.raises(error) as caught:
        ck.aggregate(stream("a b"), pattern, method=method)
    assert "pattern 2" not in str(caught.value)


def test_error_about_the_stream_names_no_query() -> None:
    frame: Any = pd.DataFrame({"ts": [1], "kind": ["A"]})
    with pytest.raises(StreamError) as caught:
        ck.aggregate(frame, asked("SEQ(A a, B b)", "SEQ(A a, B b, C c)"))
    assert str(caught.value).startswith("a DataFrame instead of a stream")


def test_costs_are_explained_where_there_are_any() -> None:
    events = stream("a b c " * 20)
    shared = ck.aggregate(events, asked("SEQ(A a, B b)", "SEQ(A a, B b)"), share="prefix")
    assert "cost (ns for each second of the stream): " in str(shared)
    alone = ck.aggregate(events, asked("SEQ(A a, B b)"))
    assert str(alone).splitlines()[0] == "Aggregates of 1 query"
    assert "cost (" not in str(alone)


def test_patterns_that_are_no_list_are_refused() -> None:
    text = "PATTERN SEQ(A a, B b) AGG COUNT"
    for patterns in ({text}, (each for each in [text])):
        with pytest.raises(PatternError, match=r"patterns in a (set|generator)"):
            ck.aggregate(stream("a b"), patterns)
    assert len(ck.aggregate(stream("a b"), (text, text))) == 2
    for none in ([], {}):
        with pytest.raises(PatternError, match="no pattern"):
            ck.aggregate(stream("a b"), none)


def test_aggregates_have_the_names_of_their_patterns() -> None:
    first, second = asked("SEQ(A a, B b)", "SEQ(A a, B b, C c)")
    several = ck.aggregate(stream("a b c"), {"short": first, "long": second}, share="prefix")
    assert several.names == ("short", "long")
    assert several["long"] is several[1]
    assert [line.split()[0] for line in str(several.plan).splitlines()[-2:]] == ["short", "long"]
    with pytest.raises(PatternError, match=r"no pattern 'lang'(.|\n)*'long'"):
        several["lang"]
    with pytest.raises(PatternError, match="pattern 'odd'"):
        ck.aggregate(stream("a b"), {"odd": "PATTERN SEQ(A a"})


def test_the_plan_of_a_result_is_one_for_the_next() -> None:
    events = stream("a b a b c a b c")
    queries = asked("SEQ(A a, B b, A c, B d)", "SEQ(A a, B b, C c)", "SEQ(C c, A a)")
    first = ck.aggregate(events, queries, share=[(2, 2), (2, 1), None])
    again = ck.aggregate(events, queries, share=first.plan)
    assert again.plan.pieces == first.plan.pieces == ((2, 2), (2, 1), None)
    assert counts(again) == counts(first)
    with pytest.raises(PlanError, match="a plan of 3 patterns for 2"):
        ck.aggregate(events, queries[:2], share=first.plan)
