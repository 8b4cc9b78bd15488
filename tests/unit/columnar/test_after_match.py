"""AFTER MATCH SKIP: one match after the other; verbs that find all matches refuse it."""

from __future__ import annotations

import pandas as pd
import pytest

import cepkit as ck
from cepkit.columnar.results.matches import Matches
from cepkit.errors import UnsupportedError
from cepkit.pattern.builder import event, seq
from cepkit.pattern.normal_form import normal_form
from cepkit.plan.nodes import OrderPlan, Plan

TABLE = pd.DataFrame(
    {"ts": pd.to_datetime(range(8), unit="s"), "kind": list("AABBCABC"), "x": range(8)}
)
TABLE["key"] = TABLE["x"] % 2
STREAM = ck.events(TABLE, time="ts", type="kind")
PATTERN = "PATTERN SEQ(A a, B b, C c)"


def taken(skip, more=""):
    found = ck.detect(STREAM, f"{PATTERN} {more} AFTER MATCH SKIP {skip} RETURN a.x, b.x, c.x")
    return [tuple(row)[:3] for row in found.to_pandas().itertuples(index=False)]


@pytest.mark.parametrize(
    ("skip", "expected"),
    [
        ("PAST LAST EVENT", [(0, 2, 4), (5, 6, 7)]),
        ("TO NEXT", [(0, 2, 4), (1, 2, 4), (5, 6, 7)]),
        ("TO FIRST b", [(0, 2, 4), (5, 6, 7)]),
        ("TO LAST c", [(0, 2, 4), (5, 6, 7)]),
    ],
)
def test_a_match_leaves_out_later_ones(skip, expected):
    assert taken(skip) == expected


def test_skip_applies_to_each_partition_separately():
    assert taken("PAST LAST EVENT", "PARTITION BY key") == [(0, 2, 4), (1, 3, 7)]


def test_count_and_aggregates_cover_only_matches_that_skip_leaves():
    text = f"{PATTERN} AFTER MATCH SKIP PAST LAST EVENT"
    assert ck.detect(STREAM, text).count() == 2
    assert ck.detect(STREAM, text, limit=1).count() == 1
    aggregates = ck.aggregate(STREAM, f"{text} AGG COUNT, SUM(a.x)", emit="total")
    assert "AFTER MATCH SKIP chooses among matches" in str(aggregates.reason)
    (row,) = aggregates.to_pandas().to_dict("records")
    assert list(row.values()) == [2, 5]
    several = ck.detect(STREAM, {"left": text, "all": PATTERN})
    assert several.counts().to_dict() == {"left": 2, "all": 11}


def test_builder_makes_after_match_skip():
    built = seq(event("a", "A"), event("b", "B"), event("c", "C")).after_match("TO FIRST b")
    assert built.query == ck.parse(f"{PATTERN} AFTER MATCH SKIP TO FIRST b")


def test_simulate_and_why_not_refuse_after_match_skip_by_name():
    text = f"{PATTERN} AFTER MATCH SKIP TO NEXT"
    with pytest.raises(UnsupportedError, match="cannot be simulated"):
        ck.simulate(STREAM, text)
    with pytest.raises(UnsupportedError, match="why_not of a pattern with AFTER MATCH SKIP"):
        ck.why_not(STREAM, text)


@pytest.mark.parametrize(
    ("rows", "structure", "expected"),
    [
        ("ABC", "SEQ(A a, OPT(B b), C c)", (0, 1, 2)),
        ("ABC", "AND(A a, OPT(B b), C c)", (0, 1, 2)),
        ("ABC", "AND(A a, C c, OPT(B b))", (0, None, 2)),
        ("AB2C1", "SEQ(A a, OPT(B b), C c)", (0, None, 2)),
        ("AC", "SEQ(OPT(A a), OPT(A b), C c)", (0, None, 1)),
        ("AC", "SEQ(OPT(A b), OPT(A a), C c)", (None, 0, 1)),
        ("AC", "OR(SEQ(A b, C c), SEQ(A a, C c))", (None, 0, 1)),
        ("AC", "OR(SEQ(A a, C c), SEQ(A b, C c))", (0, None, 1)),
    ],
)
@pytest.mark.parametrize("slice_rows", [None, 1])
@pytest.mark.parametrize("backwards", [False, True])
def test_of_choices_with_the_same_ends_the_order_of_the_pattern_decides(
    rows, structure, expected, slice_rows, backwards
):
    """A digit behind a type is the arrival number of the event."""
    kinds = [kind for kind in rows if kind.isalpha()]
    arrival = [2, 1] if "2" in rows else []
    frame = pd.DataFrame({"t": range(len(kinds)), "kind": kinds, "row": range(len(kinds))})
    frame["came"] = [0, *arrival] if arrival else frame["row"]
    stream = ck.events(frame, time="t", type="kind", unit="s", arrival="came")
    query = ck.parse(f"PATTERN {structure} WITHIN 9 s AFTER MATCH SKIP PAST LAST EVENT")
    orders = [branch.variables[:: -1 if backwards else 1] for branch in normal_form(query)]
    plan = Plan(tuple(map(OrderPlan, orders)), "by hand")
    matches = Matches(stream, query, plan, slice_rows=slice_rows)
    found = matches.to_arrow().to_pydict()
    events = zip(*(found[name] for name in "abc"), strict=True)
    assert [tuple(e and e["row"] for e in match) for match in events] == [expected]
