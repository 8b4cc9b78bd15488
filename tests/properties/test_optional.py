"""A greedy OPT: with its item where there is one, else without, in every way to detect."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cepkit.errors import PatternError
from cepkit.pattern import conditions as c
from cepkit.pattern.checks import check
from cepkit.pattern.nodes import And, Event, First, Kleene, Next, Opt, Seq, Structure
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from tests.judge import judge
from tests.properties.test_engine import found, plans
from tests.strategies import Case, cases

ITEMS = ("event", "first", "next", "set", "greedy set", "run", "next run", "sequence", "together")


def item_of(name: str, event: Event) -> Structure:
    """Return an item for OPT."""
    also = Event("d", frozenset("BD"))
    match name:
        case "event":
            return event
        case "first":
            return First(event)
        case "next":
            return Next(event)
        case "set":
            return Kleene(event, 1, 3)
        case "greedy set":
            return Kleene(event, greedy=True)
        case "run":
            return Kleene(Next(event), greedy=True)
        case "next run":
            return Next(Kleene(Next(event), greedy=True))
        case "sequence":
            return Seq((event, also))
        case _:
            return And((event, also))


def _optional(draw: st.DrawFn, query: Query) -> Query:
    """Draw a pattern with a greedy OPT, and conditions on its item."""
    name = draw(st.sampled_from(ITEMS))
    item = Opt(item_of(name, Event("b", frozenset("BX"))), greedy=True)
    a, e = Event("a", frozenset("A")), Event("c", frozenset("C"))
    more = Opt(Event("e", frozenset("D")), greedy=True)
    whole = draw(
        st.sampled_from(
            [Seq((a, item, e)), Seq((a, item)), Seq((a, item, e)), Seq((a, And((item, e))))]
            + [Seq((a, item, more, e)), Seq((And((a, more)), item, Next(e)))]
            + ([] if name in ("first", "next", "next run") else [Seq((item, e)), And((a, item))])
        )
    )
    sign = draw(st.sampled_from(("<=", ">", "=")))
    others = [c.Attribute("a", "x"), c.Attribute("c", "x"), c.Attribute("e", "y"), c.Literal(1)]
    other = draw(st.sampled_from(others))
    own: c.Expression = c.Attribute("b", "x")
    if "set" in name or "run" in name:
        functions = ["running sum", "running count", "first", "prev", "count", "member 2"]
        function = draw(st.sampled_from(functions))
        function = draw(st.sampled_from((function, "")))
        of = c.Aggregate(function, "b", None if function.endswith("count") else "x")
        own = of if function else own
    if name in ("sequence", "together") and draw(st.booleans()):
        other = c.Attribute("d", "x")
    where = draw(st.sampled_from((c.Comparison(sign, own, other), query.where, query.where)))
    try:
        return check(replace(query, structure=whole, where=where))
    except PatternError:  # a run does not allow every condition
        assume(False)
        raise


OPTIONAL = cases(
    ("SEQ",),
    max_variables=2,
    max_events=16,
    unsorted=True,
    partitions=True,
    condition_kinds=("filter", "comparison", "equality"),
    change=_optional,
)


def without(match: frozenset[Any]) -> frozenset[Any]:
    """Return the other events of a match."""
    return frozenset((v, events) for v, events in match if v not in ("b", "d"))


@pytest.mark.parametrize("way", ["numpy", "python"])
@given(data=st.data())
def test_greedy_opt_has_the_judges_matches(way: Any, data: st.DataObject) -> None:
    case: Case = data.draw(OPTIONAL)
    plan = data.draw(plans(case))
    rows = data.draw(st.sampled_from([None, 1, 3, 7]))
    assert found(case, plan, way=way, slice_rows=rows) == case.matches


EVENTS = cases(
    ("SEQ",),
    max_variables=1,
    strategies=(Strategy.SKIP_TILL_ANY_MATCH,),
    max_events=16,
    condition_kinds=("filter",),
)


@given(data=st.data())
def test_the_item_is_left_out_only_where_no_match_has_it(data: st.DataObject) -> None:
    case: Case = data.draw(EVENTS)
    b = Event("b", frozenset("BX"))
    item = data.draw(st.sampled_from((b, Next(b), Kleene(b, 1, 2), Kleene(b, greedy=True))))
    sign = data.draw(st.sampled_from(("<=", ">")))
    where = c.Comparison(sign, c.Attribute("b", "x"), c.Attribute("a", "x"))

    def matches(node: Structure) -> set[Any]:
        parts = (Event("a", frozenset("A")), node, Event("c", frozenset("C")))
        query = check(replace(case.query, structure=Seq(parts), where=where))
        return judge(case.events, query)

    every, having = matches(Opt(item) if item != Kleene(b, greedy=True) else Opt(b)), matches(item)
    bare = {match for match in every if all(v != "b" for v, _ in match)}
    alone = {match for match in bare if match not in {without(m) for m in having}}
    assert matches(Opt(item, greedy=True)) == having | alone
